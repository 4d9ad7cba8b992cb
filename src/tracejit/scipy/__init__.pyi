from tracejit.scipy import integrate as integrate
from tracejit.scipy import linalg as linalg
from tracejit.scipy import signal as signal
from tracejit.scipy import special as special
from tracejit.scipy import stats as stats
