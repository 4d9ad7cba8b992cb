"""SciPy's names for what is differentiable here: ``special``, ``stats``, ``linalg``, ``integrate``, ``signal``."""

from typing import TYPE_CHECKING

from ..core.lazy import lazily

if TYPE_CHECKING:
    from . import integrate, linalg, signal, special, stats
else:
    __getattr__, __dir__, __all__ = lazily(__name__)
