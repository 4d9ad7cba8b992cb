from tracejit.dask.blocks import map_blocks as map_blocks
from tracejit.dask.fitting import fit as fit
from tracejit.dask.sums import value_and_grad as value_and_grad
from tracejit.dask.trainer import Trainer as Trainer
