"""Positions known only at run time: checked, and written to. What ``x[i] = v`` needs beyond windows and sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.dim import Size
from ...core.errors import require
from ...core.op import defop, ops, sample
from ...core.spec import TensorSpec
from ...core.tracing.dispatch import as_tensor
from ..elementwise.arithmetic import converted
from ..lowering import Nests
from .gather import batch_scatter, canonical_scatter, chosen, fits, scatter_sample, scatter_tangent

INT64 = np.dtype(np.int64)


def _from_start(i: np.ndarray, *, size: int) -> np.ndarray:
    """`i` with negative positions counted from the end; IndexError where one lies outside."""
    wrong = i[(i < -size) | (i >= size)]
    if wrong.size:
        raise IndexError(f"index {wrong.flat[0]} is out of range for an axis of size {size}")
    return np.where(i < 0, i + size, i)


def _position_nests(b: Any, out: TensorSpec, i: Any, *, size: Size) -> Any:
    b.check_indices(i, size)
    return b.map(out, lambda ix: b.wrapped(b.load(i, ix), size))


@defop(
    vjp=(None,),
    kernel=_from_start,
    lower=Nests(_position_nests),
    canonicalize=lambda inputs, attrs: ((converted(as_tensor(inputs[0]), INT64),), attrs),
    batch=lambda batch, i, *, size: ops.checked_position(i, size=size),
    traits=("may_fail", "row_local"),
    samples=(sample((5,), size=4, dtypes=("index:4",)), sample((), size=1, dtypes=("index:1",))),
)
def checked_position(i: TensorSpec, *, size: Size) -> TensorSpec:
    """Positions along an axis of `size`, counted from its start; IndexError where one lies outside."""
    require(i.dtype == INT64, f"positions are int64, got {i}")
    return i


def _scatter_set_kernel(
    x: np.ndarray, indices: np.ndarray, values: np.ndarray, *, axis: int, batch_dims: int = 0
) -> np.ndarray:
    """The axes of the batch and `axis` become the rows of a matrix, of which the last of those that repeat stays."""
    rows, lead = _from_start(indices, size=x.shape[axis]), x.shape[:batch_dims]
    if batch_dims:
        start = np.arange(math.prod(lead)) * x.shape[axis]
        rows = rows + start.reshape(*lead, *(1,) * (rows.ndim - batch_dims))
    rows, own = rows.ravel(), range(indices.ndim - batch_dims)
    out = np.array(np.moveaxis(x, axis, batch_dims), order="C")
    values = np.moveaxis(values, [axis + k for k in own], [batch_dims + k for k in own])
    last = rows.size - 1 - np.unique(rows[::-1], return_index=True)[1]
    rest = out.shape[batch_dims + 1 :]
    out.reshape(math.prod(lead) * x.shape[axis], *rest)[rows[last]] = values.reshape(rows.size, *rest)[last]
    return np.moveaxis(out, batch_dims, axis)


def _scatter_set_nests(
    b: Any, out: TensorSpec, x: Any, indices: Any, values: Any, *, axis: int, batch_dims: int = 0
) -> Any:
    b.check_indices(indices, x.shape[axis])
    result = b.updated(x)
    last = axis + len(indices.shape) - batch_dims
    kinds = ["scan" if axis <= k < last else "parallel" for k in range(len(values.shape))]

    def element(ix: Sequence[Any]) -> None:
        b.store(result, chosen(b, x, indices, ix, axis, batch_dims), b.load(values, ix))

    b.each(values.shape, element, kinds)
    return result


def _x_cotangent(g: Any, y: Any, x: Any, indices: Any, values: Any, **attrs: Any) -> Any:
    zero = ops.fill(shape=values.shape, value=0.0, dtype=g.np_dtype)
    return ops.scatter_set(g, indices, zero, **attrs)


def _values_cotangent(
    g: Any, y: Any, x: Any, indices: Any, values: Any, *, axis: int, batch_dims: int = 0
) -> Any:
    """What was written last at a position gets its cotangent; what it replaced gets none."""
    cotangent = ops.gather(g, indices, axis=axis, batch_dims=batch_dims)
    if len(indices.shape) == batch_dims:
        return cotangent
    lead, own = indices.shape[:batch_dims], indices.shape[batch_dims:]
    number = ops.reshape(ops.iota(size=indices.spec.size, dtype=INT64), shape=indices.shape)
    nobody = ops.fill(shape=(*lead, x.shape[axis]), value=0, dtype=INT64)
    first = {"axis": batch_dims, "batch_dims": batch_dims}
    winner = ops.gather(ops.scatter_set(nobody, indices, number, **first), indices, **first)
    between, behind = x.shape[batch_dims:axis], x.shape[axis + 1 :]
    shape = (*lead, *(1 for _ in between), *own, *(1 for _ in behind))
    wins = ops.reshape(ops.equal(winner, number), shape=shape)
    return ops.where(wins, cotangent, ops.cast(0.0, dtype=g.np_dtype))


@defop(
    vjp=(_x_cotangent, None, _values_cotangent),
    jvp=lambda record, ts: scatter_tangent(record, ts, ops.scatter_set),
    vanishes_where="every element that depends on the source is overwritten, in: {this}",
    kernel=_scatter_set_kernel,
    lower=Nests(_scatter_set_nests, updates=0),
    canonicalize=canonical_scatter,
    batch=lambda batch, *tensors, **attrs: batch_scatter(ops.scatter_set, batch, tensors, **attrs),
    traits=("partial_access", "may_fail"),
    samples=(
        scatter_sample((4, 3), (5,), (5, 3), axis=0, complex=True),
        scatter_sample((3, 4), (2, 2), (3, 2, 2), axis=1),
        scatter_sample((4,), (), (), axis=0),
        scatter_sample((2, 4, 3), (2, 5), (2, 5, 3), axis=1, batch_dims=1, complex=True),
        scatter_sample((2, 3, 4), (2, 5), (2, 3, 5), axis=2, batch_dims=1),
        scatter_sample((2, 4), (2,), (2,), axis=1, batch_dims=1),
    ),
)
def scatter_set(
    x: TensorSpec, indices: TensorSpec, values: TensorSpec, *, axis: int, batch_dims: int = 0
) -> TensorSpec:
    """`x` with `values` written along `axis` at `indices`; at repeated indices the last one stays."""
    fits(x, indices, values, axis, batch_dims)
    return x
