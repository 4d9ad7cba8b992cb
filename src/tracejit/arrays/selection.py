"""Positions at which a condition holds, and sizes that tensors tell, which in traced functions show when those run."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.dim import Size, product
from ..core.op import ops
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from ..frontend.creation import is_known, known
from ..ops.arrays.reduce import size_tensor
from ..ops.arrays.shape import stack
from ..ops.symbolic_values import size_of

_INT64 = np.dtype("int64")


def largest(numbers: Any, least: int) -> Tensor:
    """The largest of some integers and `least` (int64, rank 0)."""
    x = as_tensor(numbers)
    flat = ops.reshape(ops.cast(x, dtype=_INT64), shape=(x.spec.size,))
    return ops.reduce_max(ops.concat(flat, np.asarray([least]), axis=0), axis=0)


def as_size(number: Tensor) -> Size:
    """What a scalar integer says, as a size: an int where it is known."""
    return int(known(number)) if is_known(number) else size_of(number)


def selected(condition: Any) -> Tensor:
    """The flat positions (int64) of the elements of a tensor that are not 0, in order."""
    c = as_tensor(condition)
    holds = ops.reshape(c if c.np_dtype.kind == "b" else ops.not_equal(c, 0), shape=(c.spec.size,))
    count = ops.reduce_sum(ops.cast(holds, dtype=_INT64), axis=0)
    first = ops.argsort(ops.cast(ops.logical_not(holds), dtype=np.dtype("uint8")), axis=0)
    return ops.gather(first, ops.iota(size=as_size(count), dtype=_INT64), axis=0)


def positions(condition: Any) -> Tensor:
    """Where the elements of a tensor are that are not 0: a position in each row, a column for each of its axes."""
    shape: tuple[Size, ...] = tuple(as_tensor(condition).shape)
    flat = selected(condition)
    columns = []
    for axis, size in enumerate(shape):
        along = ops.floordiv(flat, size_tensor(product(shape[axis + 1 :])))
        columns.append(ops.mod(along, size_tensor(size)))
    return stack(columns, axis=1) if columns else ops.reshape(flat, shape=(*flat.shape, 0))


def rows_at(x: Any, condition: Any, first: int) -> Tensor:
    """The elements of `x`, or rows, that a condition selects which covers its axes from `first` on."""
    covered = len(condition.shape)
    joined = (*x.shape[:first], product(x.shape[first : first + covered]), *x.shape[first + covered :])
    return ops.gather(ops.reshape(x, shape=joined), selected(condition), axis=first)


def repeated_positions(times: Tensor, size: Size) -> Tensor:
    """Each of ``range(size)`` as often in a row as its number in `times` says, negative ones being 0 (int64)."""
    counts = ops.broadcast_to(ops.maximum(ops.cast(times, dtype=_INT64), 0), shape=(size,))
    total, ends = as_size(ops.reduce_sum(counts, axis=0)), ops.cumsum(counts, axis=0)
    place = ops.reshape(ops.iota(size=total, dtype=_INT64), shape=(total, 1))
    return ops.reduce_sum(ops.cast(ops.less_equal(ends, place), dtype=_INT64), axis=1)


def of_size(x: Tensor, axis: int, size: Size) -> Tensor:
    """`x` with this size along an axis: it has it, or the program fails when it runs."""
    agrees = ops.equal(size_tensor(x.shape[axis]), size_tensor(size))
    message = f"{x.spec} is of another size along axis {axis} than {size}, which is asked for"
    ops.check(ops.cast(agrees, dtype=np.dtype("float32")), message=message, error="ValueError")
    return ops.gather(x, ops.iota(size=size, dtype=_INT64), axis=axis)
