"""Ahead of time: functions with their gradients as small libraries that need no Python. Names only."""

from ..core.lazy import lazily as _lazily

__getattr__, __dir__, __all__ = _lazily(__name__)
