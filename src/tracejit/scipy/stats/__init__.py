"""Densities and probabilities of distributions, by SciPy's names: ``stats.norm.logpdf(x, loc, scale)``. Names only."""

from typing import TYPE_CHECKING

from ...core.lazy import lazily

if TYPE_CHECKING:
    from . import beta, chi2, dirichlet, gamma, multivariate_normal, norm, poisson, t
else:
    __getattr__, __dir__, __all__ = lazily(__name__)
