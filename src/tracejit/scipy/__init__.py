"""SciPy's names for what is differentiable here: ``special``, ``stats``, ``linalg``, ``integrate``, ``signal``."""

from ..core.lazy import lazily as _lazily

__getattr__, __dir__, __all__ = _lazily(__name__)
