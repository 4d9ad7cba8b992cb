"""Exceptions: those that this package raises, and names by which programs for TensorFlow catch them. Names only."""

from ..core.lazy import lazily as _lazily

__getattr__, __dir__, __all__ = _lazily(__name__)
