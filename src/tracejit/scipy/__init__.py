"""SciPy's names for what tracejit has: ``tracejit.scipy.special``, ``.stats``, ``.signal``. Names only."""

from typing import TYPE_CHECKING

from ..core.lazy import lazily

if TYPE_CHECKING:
    from . import signal, special, stats
else:
    __getattr__, __dir__, __all__ = lazily(__name__)
