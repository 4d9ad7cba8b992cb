"""Slices whose ends a compiled function computes: ``x[:n]``, of which the size shows when it runs.

The part is read at positions counted from its start, clipped to the axis as Python clips them; its gradient goes back
to these positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.dim import Dim, Size, UnknownSize
from ...core.errors import DtypeError, at, user_location
from ...core.op import ops
from ...core.tracing.dispatch import as_tensor
from ..arrays.reduce import size_tensor, whole
from ..symbolic_values import size_of, symbolic_values

_INT64 = np.dtype(np.int64)


def is_late(entry: Any, size: Size) -> bool:
    """Is it a slice with an end that is known when the function runs, of an axis of that size?"""
    if not isinstance(entry, slice):
        return False
    ends = [end for end in (entry.start, entry.stop) if end is not None]
    return any(_is_traced(e) for e in ends) or (
        isinstance(size, int) and any(isinstance(e, Dim) for e in ends)
    )


def _is_traced(end: Any) -> bool:
    return bool(getattr(end, "is_symbolic", False))


def known_ends(entry: Any, size: Size) -> Any:
    """The slice with sizes in place of traced numbers that stand for them, where those say which part it is."""
    if not isinstance(entry, slice):
        return entry
    start, stop = (_as_size(end) for end in (entry.start, entry.stop))
    plain = all(end is None or isinstance(end, (int, np.integer)) for end in (start, stop))
    return slice(start, stop, entry.step) if plain or isinstance(size, Dim) else entry


def _as_size(end: Any) -> Any:
    if not _is_traced(end):
        return end
    tensor = as_tensor(end)
    held = symbolic_values(tensor) if not tensor.shape else None
    return end if held is None else held[0]


def taken(x: Any, entries: Sequence[Any]) -> tuple[Any, list[Any]]:
    """`x` without what such slices among the entries of an index leave out, and the entries with all in their place."""
    axis, left = 0, list[Any]()
    for entry in entries:
        if entry is None:
            left.append(entry)
            continue
        entry = known_ends(entry, x.shape[axis])
        if is_late(entry, x.shape[axis]):
            x = ops.gather(x, _positions(entry, x.shape[axis]), axis=axis)
            entry = slice(None)
        left.append(entry)
        axis += 1
    return x, left


def _positions(entry: slice, size: Size) -> Any:
    """The positions that a slice selects: int64, as many as it has when the function runs."""
    step = 1 if entry.step is None else whole(entry.step, "the step of a slice")
    if step == 0:
        raise ValueError(f"slice step cannot be zero{at(user_location())}")
    count = size_tensor(size)
    low, high = (0, count) if step > 0 else (-1, ops.subtract(count, 1))
    first, last = (low, high) if step > 0 else (high, low)
    start = first if entry.start is None else _clipped(entry.start, count, low, high)
    stop = last if entry.stop is None else _clipped(entry.stop, count, low, high)
    steps = ops.floordiv(ops.add(ops.subtract(stop, start), step - (1 if step > 0 else -1)), step)
    many = size_of(ops.maximum(ops.cast(steps, dtype=_INT64), 0))
    return ops.add(ops.multiply(ops.iota(size=many, dtype=_INT64), step), start)


def _clipped(end: Any, count: Any, low: Any, high: Any) -> Any:
    """An end, counted from the end of the axis where it is negative, within the axis."""
    number: Any = size_tensor(end) if isinstance(end, Dim) else as_tensor(end)
    if number.dtype.kind not in "iu" or number.shape:
        raise DtypeError(f"the ends of a slice are integers or None, got {number.spec}{at(user_location())}")
    if number.dtype == np.uint64:
        raise UnknownSize(
            f"the ends of a slice are signed integers, cast this uint64 first{at(user_location())}"
        )
    number = ops.cast(number, dtype=_INT64)
    number = ops.where(ops.less(number, 0), ops.add(number, count), number)
    return ops.minimum(ops.maximum(number, low), high)
