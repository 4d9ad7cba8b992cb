"""SciPy's names for what tracejit has: ``tracejit.scipy.special``, ``.stats``, ``.signal``. Names only.

Written by ``python -m stubs`` in `tests`: do not edit.
"""
from tracejit.scipy import signal as signal
from tracejit.scipy import special as special
from tracejit.scipy import stats as stats
