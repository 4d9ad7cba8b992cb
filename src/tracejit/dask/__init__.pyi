"""Compiled functions over Dask arrays, on one machine or many: ``tracejit.dask``. Names only.

Needs Dask: ``pip install 'tracejit[dask]'``. A function is compiled once, where it is called from; workers are sent
machine code, and need neither llvmlite nor a compiler.

Written by ``python -m stubs`` in `tests`: do not edit.
"""
from tracejit.dask.blocks import map_blocks as map_blocks
from tracejit.dask.fitting import fit as fit
from tracejit.dask.sums import value_and_grad as value_and_grad
from tracejit.dask.trainer import Trainer as Trainer
