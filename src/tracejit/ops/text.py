"""Which ops take text: those that move elements without looking at them. Eagerly; no trace holds text."""

from __future__ import annotations

import numpy as np

from ..core.op import ops
from .arrays import gather, index, shape
from .elementwise import compare

for _moves in (
    ops.slice,
    ops.reshape,
    ops.transpose,
    ops.broadcast_to,
    ops.concat,
    ops.gather,
    ops.identity,
    ops.stop_gradient,
    ops.where,
):
    _moves.accepted_dtypes.add(np.dtype(object).num)
