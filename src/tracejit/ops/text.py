"""Which ops take text: those that move elements without looking at them. Eagerly; no trace holds text."""

from __future__ import annotations

import numpy as np

from .arrays import gather, index, shape, unchanged
from .elementwise import compare

for _moves in (
    index.slice_,
    shape.reshape,
    shape.transpose,
    shape.broadcast_to,
    shape.concat,
    gather.gather,
    unchanged.identity,
    unchanged.stop_gradient,
    compare.where,
):
    _moves.accepted_dtypes.add(np.dtype(object).num)
