"""Slices and masks of a size known only at run time: ``x[:n]``, ``x[x > 0]``.

The part is read at positions: counted from its start, clipped to the axis as Python clips them, or those at which the
mask holds. Its gradient goes back to these positions, and what is written to it is.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ...core.dim import Dim, Size, UnknownSize, product, same, unknown
from ...core.errors import DtypeError, at, user_location
from ...core.ir.graph import Value
from ...core.op import ops
from ...core.spec import shape_text
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor, interpreting, state
from ...core.tracing.trace import Trace
from ..arrays.reduce import size_tensor, whole
from ..symbolic_values import home_of, origin, size_of, symbolic_values

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


def has_late_entries(index: Any) -> bool:
    """Has an index a slice with an end that is no number yet, or a mask that a compiled function computes?"""
    for entry in index if index.__class__ is tuple else (index,):
        if entry.__class__ is slice and not (_is_number(entry.start) and _is_number(entry.stop)):
            return True
        if is_late_mask(entry):
            return True
    return False


def _is_number(end: Any) -> bool:
    return end is None or end.__class__ is int or not (isinstance(end, Dim) or hasattr(end, "is_symbolic"))


def is_late_mask(entry: Any) -> bool:
    """Is it a mask, of which a compiled function computes where it holds?"""
    return _is_traced(entry) and getattr(entry, "np_dtype", _INT64).kind == "b"


#: What was taken from: the tensor, the axis along which, and at which positions.
Step = tuple[Any, int, Any]


def taken(x: Any, entries: Sequence[Any]) -> tuple[Any, list[Any], list[Step]]:
    """`x` without what such entries leave out, the entries with all in their place, and how it was taken."""
    axis, left, steps = 0, list[Any](), list[Step]()
    for entry in entries:
        if entry is None:
            left.append(entry)
            continue
        entry = known_ends(entry, x.shape[axis])
        positions = None
        if is_late_mask(entry):
            x, positions = _of_one_axis(x, entry, axis, entries), selected(entry)
        elif is_late(entry, x.shape[axis]):
            positions = _positions(entry, x.shape[axis])
        if positions is not None:
            steps.append((x, axis, positions))
            x, entry = ops.gather(x, positions, axis=axis), slice(None)
        left.append(entry)
        axis += 1
    return x, left, steps


def put_back(part: Any, steps: Sequence[Step]) -> Any:
    """What it was taken from, with `part` in the place of what was taken."""
    for x, axis, positions in reversed(steps):
        part = ops.scatter_set(x, positions, part, axis=axis)
    return part


def _of_one_axis(x: Any, mask: Any, axis: int, entries: Sequence[Any]) -> Any:
    """A tensor with the axes that a mask covers as one."""
    others = [e for e in entries if e is not None and not isinstance(e, slice) and e is not mask]
    if others:
        raise UnknownSize(
            f"a mask of {mask.spec} that is known only when the function runs selects together with slices, not with "
            f"other positions: index twice, x[mask][:, i]{at(user_location())}"
        )
    rank = len(mask.shape)
    covered = x.shape[axis : axis + rank]
    if len(covered) != rank or not all(map(same, covered, mask.shape)):
        raise IndexError(
            f"a mask of the shape {shape_text(mask.shape)} for axes of the sizes {shape_text(covered)} of the shape "
            f"{shape_text(x.shape)}{at(user_location())}"
        )
    joined = (*x.shape[:axis], product(covered), *x.shape[axis + rank :])
    return x if rank == 1 else ops.reshape(x, shape=joined)


def selected(mask: Any) -> Any:
    """The flat positions (int64) at which a traced mask holds, in order."""
    value = origin(mask)

    def positions() -> Any:
        whole = Tensor(value, value.spec)
        holds = ops.reshape(whole, shape=(whole.spec.size,))
        number = ops.reduce_sum(ops.cast(holds, dtype=_INT64), axis=0)
        first = ops.argsort(ops.cast(ops.logical_not(holds), dtype=np.dtype("uint8")), axis=0)
        return ops.gather(first, ops.iota(size=size_of(number), dtype=_INT64), axis=0)

    return _once((_meaning(value),), [value], positions)


def places(mask: Any) -> tuple[Any, ...]:
    """The same, one vector of positions (int64) per axis."""
    flat, found = selected(mask), list[Any]()
    for size in reversed(mask.shape[1:]):
        size = size_tensor(size)
        found.append(ops.mod(flat, size))
        flat = ops.floordiv(flat, size)
    return (flat, *reversed(found))


_known: WeakKeyDictionary[Trace, dict[Any, Any]] = WeakKeyDictionary()


def _meaning(value: Any, depth: int = 4) -> Any:
    """The same for values that are computed alike, within a few ops: ``x > 0`` and another ``x > 0``."""
    value = origin(Tensor(value, value.spec)) if value.__class__ is Value else value
    node = value.node if value.__class__ is Value else None
    if node is None or not depth or len(node.outputs) != 1 or not node.op.traits.isdisjoint(_OWN):
        return value
    if node.op is ops.constant:
        array = node.attrs["value"].array
        return (array.dtype, array.shape, array.tobytes()) if array.size < 9 else value
    if not all(isinstance(x, Hashable) for x in node.attrs.values()):
        return value
    attrs = tuple([(name, node.attrs[name]) for name in sorted(node.attrs)])
    return node.op, attrs, tuple([_meaning(v, depth - 1) for v in node.inputs])


_OWN = ("effect", "prints", "this_process", "no_cse", "may_fail", "runs_graphs")


def _once(key: tuple[Any, ...], numbers: Sequence[Any], positions: Callable[[], Any]) -> Any:
    """Positions, made once in the innermost trace of these numbers: parts of several tensors have one size."""
    inside = any(isinstance(n, Dim) and unknown(n) for n in key)
    now: Any = state.interpreter if inside else home_of(numbers)
    made = _known.setdefault(now, {}) if isinstance(now, Trace) else {}
    if key not in made or made[key]._payload.graph is not now.graph:
        with interpreting(now):
            made[key] = positions()
    return made[key]


def _positions(entry: slice, size: Size) -> Any:
    """The positions that a slice selects: int64, as many as it has when the function runs."""
    ends = [origin(as_tensor(end)) if _is_traced(end) else end for end in (entry.start, entry.stop)]
    start, stop = (Tensor(end, end.spec) if end.__class__ is Value else end for end in ends)
    return _once(
        (size, entry.step, *map(_meaning, ends)), ends, lambda: _counted(slice(start, stop, entry.step), size)
    )


def _counted(entry: slice, size: Size) -> Any:
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
