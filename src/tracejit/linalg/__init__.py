"""Linear algebra: ``tracejit.linalg``. Names only."""

from ..core.lazy import lazily as _lazily

__getattr__, __dir__, __all__ = _lazily(__name__)
