from tracejit.scipy.stats import beta as beta
from tracejit.scipy.stats import chi2 as chi2
from tracejit.scipy.stats import dirichlet as dirichlet
from tracejit.scipy.stats import gamma as gamma
from tracejit.scipy.stats import multivariate_normal as multivariate_normal
from tracejit.scipy.stats import norm as norm
from tracejit.scipy.stats import poisson as poisson
from tracejit.scipy.stats import t as t
