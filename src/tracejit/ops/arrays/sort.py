"""The order of elements along an axis. Sorted values are elements taken in that order, see ``math.sorting``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.dim import product
from ...core.op import Attrs, defop, ops, ordered, sample
from ...core.spec import TensorSpec
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor
from ..batch import inner
from ..lowering import Nests
from .reduce import one_axis

_INT64 = np.dtype(np.int64)


def _canonical(inputs: Sequence[Any], attrs: Attrs) -> tuple[Sequence[Any], Attrs]:
    x = as_tensor(inputs[0])
    axis = inputs[1] if len(inputs) > 1 else attrs.get("axis", -1)
    return (x,), {"axis": one_axis(axis, len(x.shape))}


def _argsort_kernel(x: np.ndarray, *, axis: int) -> np.ndarray:
    return np.asarray(np.argsort(x, axis=axis, kind="stable"), dtype=np.int64)


def _argsort_nests(b: Any, out: TensorSpec, x: Any, *, axis: int) -> Any:
    """Rows of keys and positions, merge sorted and brought back into the shape."""
    rank = len(x.shape)
    others = [a for a in range(rank) if a != axis]
    last = x.transposed((*others, axis))
    count, n = product(last.shape[:-1]), last.shape[-1]
    keys = b.empty(TensorSpec(last.shape, last.dtype), "temp")  # no local: it swaps with another
    order = b.empty(TensorSpec(last.shape, _INT64), "temp")
    b.copy(last, keys)
    b.each(order.shape, lambda ix: b.store(order, ix, b.position(ix[-1], _INT64)))
    flat = (count, n)
    positions = b.merge_sorted(keys.reshaped(flat), order.reshaped(flat)).reshaped(last.shape)
    back = [others.index(a) if a != axis else rank - 1 for a in range(rank)]
    return b.copied(positions.transposed(back))


@defop(
    vjp=(None,),
    kernel=_argsort_kernel,
    lower=Nests(_argsort_nests),
    canonicalize=_canonical,
    batch=lambda batch, x, *, axis: ops.argsort(x, axis=inner(axis)),
    traits=("expensive",),
    samples=(
        sample((2, 3), axis=1),
        sample((5, 2, 3), axis=0),
        sample((2, 7, 1), axis=1),
        sample((4,), axis=0),
    ),
)
def argsort(x: TensorSpec, *, axis: int) -> TensorSpec:
    """Positions (int64) along `axis` in ascending order of their elements; equal ones keep theirs, NaN is last."""
    return ordered(x).with_dtype(_INT64)


def descending(x: Tensor) -> Tensor:
    """Keys that ascend where `x` descends; NaN stays NaN, and no integer overflows."""
    if x.dtype.kind == "f":
        return ops.negative(x)
    if x.dtype.kind == "b":
        return ops.logical_not(x)
    if x.dtype.kind == "c":
        return x  # what orders them refuses
    return ops.subtract(-1 if x.dtype.kind == "i" else np.iinfo(x.np_dtype).max, x)
