"""Batch rules of more than one line, and what such rules share.

A rule gets the inputs with the lanes as their first axis where ``batch.flags`` says so, and returns results that
have them. Rules are written with public ops, so that batches can be differentiated, traced and batched again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.autodiff.batching import Batch, aligned, by_rows
from ..core.dim import Size, UnknownSize, product
from ..core.errors import require, take
from ..core.op import OPS, ops
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor

INT64 = np.dtype(np.int64)


def inner(axis: Any) -> Any:
    """An axis, or a tuple of them, of one lane as an axis of all."""
    return tuple([a + 1 for a in axis]) if isinstance(axis, tuple) else axis + 1


def every(batch: Batch, slices: Sequence[tuple[Size, Size, int]]) -> tuple[Any, ...]:
    """Static slices of one lane as slices of all."""
    return ((0, batch.size, 1), *slices)


def moved(x: Tensor, source: int, target: int) -> Tensor:
    """The tensor with one axis at another position."""
    if source == target:
        return x
    order = [a for a in range(len(x.shape)) if a != source]
    order.insert(target, source)
    return ops.transpose(x, perm=tuple(order))


def _size(size: Size) -> Tensor:
    return as_tensor(np.int64(size)) if isinstance(size, int) else ops.size_value(size=size)


def _along(x: Tensor, axis: int, rank: int) -> Tensor:
    """A vector as a tensor of `rank` that lies along `axis`."""
    return ops.reshape(x, shape=tuple([x.shape[0] if a == axis else 1 for a in range(rank)]))


def _lane_numbers(batch: Batch, rank: int) -> Tensor:
    return _along(ops.iota(size=batch.size, dtype=INT64), 0, rank)


# ---- shapes ---------------------------------------------------------------------------------------------


def batch_transpose(batch: Batch, x: Tensor, *, perm: tuple[int, ...]) -> Tensor:
    """Axes behind the lanes in another order."""
    return ops.transpose(x, perm=(0, *inner(perm)))


def batch_concat(batch: Batch, *xs: Tensor, axis: int) -> Tensor:
    """Join along the axis behind the lanes."""
    return ops.concat(*batch.all_spread(xs), axis=axis + 1)


def batch_fill(batch: Batch, *, shape: tuple[Size, ...], value: Any, dtype: np.dtype) -> Tensor:
    """Room for the rows of all lanes; asked for when a shape is that of rows whose number differs."""
    return ops.fill(shape=(batch.size, *shape), value=value, dtype=dtype)


def batch_size_value(batch: Batch, *, size: Size) -> Tensor | None:
    """The number of rows of each lane."""
    rows = batch.rows(size)
    return None if rows is None else rows.count


# ---- products -------------------------------------------------------------------------------------------


def batch_matmul(batch: Batch, a: Tensor, b: Tensor) -> Tensor:
    """One product of matrices where only one side has lanes; else many at once."""
    left, right = batch.rank(0, (a, b)), batch.rank(1, (a, b))
    if batch.flags == (True, False) and right == 2:
        rows = ops.reshape(a, shape=(product(a.shape[:-1]), a.shape[-1]))
        return ops.reshape(ops.matmul(rows, b), shape=(*a.shape[:-1], b.shape[-1]))
    if batch.flags == (False, True) and left == right == 2 and b.shape[-1] == 1:
        rows = ops.reshape(b, shape=b.shape[:-1])
        products = ops.matmul(rows, ops.transpose(a, perm=(1, 0)))
        return ops.reshape(products, shape=(*products.shape, 1))
    rank = max(left, right)
    return ops.matmul(*[aligned(x, rank) if f else x for x, f in zip((a, b), batch.flags, strict=True)])


def by_lanes(name: str) -> Any:
    """The rule of an op that has none of its own: lane by lane."""
    return lambda batch, *inputs, **attrs: by_rows(OPS[name], batch, inputs, attrs)


# ---- parts ----------------------------------------------------------------------------------------------


def batch_place(batch: Batch, *values: Tensor, shape: tuple[Size, ...], slices: tuple[Any, ...]) -> Tensor:
    """Place each value at the same slices of every lane."""
    where = tuple([every(batch, s) for s in slices])
    return ops.place(*batch.all_spread(values), shape=(batch.size, *shape), slices=where)


def _values_for(batch: Batch, x: Tensor, values: Sequence[Tensor]) -> tuple[Tensor, list[Tensor]]:
    """`x` with lanes, and the values so that they broadcast to parts of it as one lane's would."""
    rank = batch.rank(0, (x,))
    fitting = [aligned(v, rank) if f else v for v, f in zip(values, batch.flags[1:], strict=True)]
    return x if batch.flags[0] else batch.spread(x), fitting


def batch_slice_add(batch: Batch, x: Tensor, *values: Tensor, slices: tuple[Any, ...]) -> Tensor:
    """Add at the same slices of every lane."""
    whole, fitting = _values_for(batch, x, values)
    return ops.slice_add(whole, *fitting, slices=tuple([every(batch, s) for s in slices]))


def batch_slice_set(batch: Batch, x: Tensor, value: Tensor, *, slices: tuple[Any, ...]) -> Tensor:
    """Replace the same slices of every lane."""
    whole, fitting = _values_for(batch, x, (value,))
    return ops.slice_set(whole, *fitting, slices=every(batch, slices))


# ---- windows at run-time positions ----------------------------------------------------------------------


def _first_zero(starts: Tensor) -> Tensor:
    """Starts in one lane as starts in all."""
    return ops.concat(as_tensor(np.zeros(1, np.int64)), starts, axis=0)


def _leading(shape: Sequence[Size], window: Sequence[Size]) -> int:
    """How many axes there are up to the last one of which the window is a part."""
    parts = [a for a, (d, n) in enumerate(zip(shape, window, strict=True)) if d != n]
    return parts[-1] + 1 if parts else 0


def _start(starts: Tensor, axis: int, size: Size, window: Size, lanes: Size) -> Tensor:
    """Where the window of each lane begins along an axis: moved inside as the ops do."""
    try:
        fits = size == window or window <= size
    except UnknownSize as error:
        take(error)
        fits = False
    require(fits, f"vmap cannot tell that a window of {window} lies in an axis of {size}")
    column = ops.slice(starts, slices=((0, lanes, 1), (axis, 1, 1)))
    last = ops.subtract(_size(size), _size(window))
    return ops.minimum(ops.maximum(ops.reshape(column, shape=(lanes,)), 0), last)


def _window_positions(
    batch: Batch, starts: Tensor, shape: Sequence[Size], window: Sequence[Size], own: bool
) -> Tensor:
    """Per lane and element of the window its position in the array, flat; in all lanes' arrays when `own`."""
    rank = 1 + len(window)
    total = _lane_numbers(batch, rank) if own else ops.multiply(_lane_numbers(batch, rank), 0)
    for axis, (d, n) in enumerate(zip(shape, window, strict=True)):
        start = _along(_start(starts, axis, d, n, batch.size), 0, rank)
        position = ops.add(start, _along(ops.iota(size=n, dtype=INT64), axis + 1, rank))
        total = ops.add(ops.multiply(total, _size(d)), position)
    return total


def batch_dynamic_slice(batch: Batch, x: Tensor, starts: Tensor, *, sizes: tuple[Size, ...]) -> Tensor:
    """Windows that begin elsewhere in each lane are gathered element by element."""
    has_lanes, own_starts = batch.flags
    if not own_starts:
        return ops.dynamic_slice(x, _first_zero(starts), sizes=(batch.size, *sizes))
    shape = x.shape[1:] if has_lanes else x.shape
    k = _leading(shape, sizes)
    if k == 0:
        return x if has_lanes else batch.spread(x)
    lanes = batch.size if has_lanes else 1
    flat = ops.reshape(x, shape=(lanes * product(shape[:k]), *shape[k:]))
    positions = _window_positions(batch, starts, shape[:k], sizes[:k], has_lanes)
    return ops.gather(flat, positions, axis=0)


def batch_window_add(batch: Batch, x: Tensor, v: Tensor, starts: Tensor) -> Tensor:
    """Added, see `_batch_update`."""
    return _batch_update(batch, x, v, starts, ops.window_add, ops.scatter_add)


def batch_dynamic_update_slice(batch: Batch, x: Tensor, v: Tensor, starts: Tensor) -> Tensor:
    """Replaced, see `_batch_update`."""
    return _batch_update(batch, x, v, starts, ops.dynamic_update_slice, ops.scatter_set)


def _batch_update(batch: Batch, x: Tensor, v: Tensor, starts: Tensor, windows: Any, elements: Any) -> Tensor:
    """Windows that begin elsewhere in each lane are written element by element."""
    x = x if batch.flags[0] else batch.spread(x)
    v = v if batch.flags[1] else batch.spread(v)
    if not batch.flags[2]:
        return windows(x, v, _first_zero(starts))
    shape, window = x.shape[1:], v.shape[1:]
    k = _leading(shape, window)
    if k == 0:
        return windows(x, v, as_tensor(np.zeros(len(x.shape), np.int64)))
    flat = ops.reshape(x, shape=(batch.size * product(shape[:k]), *shape[k:]))
    positions = _window_positions(batch, starts, shape[:k], window[:k], True)
    return ops.reshape(elements(flat, positions, v, axis=0), shape=x.shape)


# ---- the rest -------------------------------------------------------------------------------------------


def batch_check(batch: Batch, test: Tensor, **attrs: Any) -> Tensor:
    """One assertion: that it holds in every lane."""
    holds = ops.cast(ops.not_equal(test, 0.0), dtype=test.np_dtype)
    ops.check(ops.reduce_min(holds, axis=(0,)), **attrs)
    return test


def any_of(flags: Tensor) -> Tensor:
    """Does a bool hold in any lane?"""
    return ops.reduce_max(flags, axis=(0,))
