"""Which ops take text: those that move elements without looking at them, and those that tell equal ones.

`text_values` has what looks at them.
"""

from __future__ import annotations

import numpy as np

from .arrays import gather, index, shape, unchanged
from .elementwise import compare

for _moves in (
    index.slice_,
    index.slice_set,
    index.dynamic_slice,
    index.dynamic_update_slice,
    shape.reshape,
    shape.with_sizes,
    shape.transpose,
    shape.broadcast_to,
    shape.concat,
    gather.gather,
    unchanged.identity,
    unchanged.stop_gradient,
    compare.where,
    compare.equal,
    compare.not_equal,
):
    _moves.accepted_dtypes.add(np.dtype(object).num)
