"""Ops that accept elements of any type, because they move elements without computing with them.

These are text, bfloat16, or both; equal text is told, too. `text_values` has what looks at text, and
`core.tracing.promotion` how bfloat16 is computed.
"""

from __future__ import annotations

import numpy as np

from . import state
from .arrays import gather, index, shape, unchanged
from .elementwise import arithmetic, bits, compare

_MOVES = (
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
)

for _op in (*_MOVES, compare.equal, compare.not_equal):
    _op.accepted_dtypes.add(np.dtype(object).num)
for _op in (*_MOVES, state.read, arithmetic.cast, bits.bitcast):
    _op.takes_bfloat16 = True
