"""Compiled functions over Dask arrays, on one machine or many: ``tracejit.dask``. Names only.

Needs Dask: ``pip install 'tracejit[dask]'``. A function is compiled once, where it is called from; workers are sent
machine code, and need neither llvmlite nor a compiler.
"""

from typing import TYPE_CHECKING

from ..core.lazy import lazily

if TYPE_CHECKING:
    from .blocks import map_blocks
    from .fitting import fit
    from .sums import value_and_grad
    from .trainer import Trainer
else:
    __getattr__, __dir__, __all__ = lazily(__name__, extra="dask")
