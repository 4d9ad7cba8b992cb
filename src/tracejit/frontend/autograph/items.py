"""``x[i]`` where the position is known only when the compiled function runs, and `x` is no tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.errors import SymbolicValue, at, user_location
from ...core.tensor_shape import TensorShape
from ...ops.tensor.indexing import view_of_array
from .values.kinds import traced


def item_of(x: Any, index: Any) -> Any:
    """``x[index]``: of NumPy's arrays elements at traced positions, too, as of the constants they are."""
    if isinstance(x, np.ndarray) and x.dtype.kind in "biufc" and holds_traced(index):
        return view_of_array(x, index)
    if x.__class__ in (list, tuple, TensorShape) and traced(index):
        raise SymbolicValue(
            f"a Python {type(x).__name__} has no element at a position known only when the compiled function runs: "
            f"index tracejit.stack(x){at(user_location())}"
        )
    return x[index]


def holds_traced(index: Any) -> bool:
    """Is an index, or a part of it, known only when the compiled function runs?"""
    if isinstance(index, tuple):
        return any(map(holds_traced, index))
    if index.__class__ is slice:
        return any(map(traced, (index.start, index.stop, index.step)))
    return traced(index)
