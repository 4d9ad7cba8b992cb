"""Positions out of range where they are allowed: clipped, or mapped to an extra element."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.dim import Size
from ...core.op import ops
from ...core.tracing.dispatch import as_tensor
from ..arrays.reduce import size_tensor

_INT64 = np.dtype(np.int64)


def clipped(number: Any, size: Size) -> Any:
    """Positions, negative ones counted from the end, as the nearest that an axis of that size has."""
    if isinstance(size, int) and _is_known(number, size):
        return np.clip(_from_front(number, size), 0, max(size - 1, 0))
    last = ops.maximum(ops.subtract(size_tensor(size), 1), 0)
    return ops.minimum(ops.maximum(_from_front(number, size), 0), last)


def spared(number: Any, size: Size) -> Any:
    """Positions, negative ones counted from the end; the one behind the last stands for all that are not there."""
    place = _from_front(number, size)
    if isinstance(size, int) and _is_known(number, size):
        return np.where((place >= 0) & (place < size), place, size)
    there = ops.logical_and(ops.less_equal(0, place), ops.less(place, size_tensor(size)))
    return ops.where(there, place, size_tensor(size))


def with_spare(x: Any, axis: int, value: Any = 0) -> Any:
    """`x` with one element more at the end of an axis, for `spared` positions."""
    shape = tuple([1 if k == axis else size for k, size in enumerate(x.shape)])
    return ops.concat(x, ops.broadcast_to(ops.cast(as_tensor(value), dtype=x.dtype), shape=shape), axis=axis)


def missing(dtype: np.dtype) -> Any:
    """What stands for an element that is not there: NaN, the least integer, the largest unsigned one, True."""
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return dtype.type(limits.min if dtype.kind == "i" else limits.max)
    return dtype.type(True if dtype.kind == "b" else np.nan)


def _is_known(number: Any, size: Size) -> bool:
    """Are they numbers, not tensors, of an axis of known size?"""
    return isinstance(number, (int, np.integer, np.ndarray)) and isinstance(size, int)


def _from_front(number: Any, size: Size) -> Any:
    if _is_known(number, size):
        number = np.asarray(number, _INT64)
        return np.where(number < 0, number + size, number)
    number = ops.cast(as_tensor(number), dtype=_INT64)
    return ops.where(ops.less(number, 0), ops.add(number, size_tensor(size)), number)
