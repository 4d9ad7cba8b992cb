"""Checkpoints, and logs and profiles that are not written: ``tracejit.train``. Names only."""

from ..core.lazy import lazily as _lazily

__getattr__, __dir__, __all__ = _lazily(__name__)
