"""Compiled functions over Dask arrays, on one machine or many: ``tracejit.dask``. Names only.

Needs Dask: ``pip install 'tracejit[dask]'``. A function is compiled once, where it is called from; workers are sent
machine code, and need neither llvmlite nor a compiler.
"""

from ..core.lazy import lazily as _lazily

__getattr__, __dir__, __all__ = _lazily(__name__, extra="dask")
