"""``x[...]`` and ``x.at[...]``: Python's and NumPy's index language, told in terms of the ops of `ops.index`.

An index becomes a plan, one entry per axis: a static slice, a position known only at run time, or an array of
positions. Positions given as tensors are clamped or checked as the ops say; static ones are checked here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.dim import Dim, Size
from ..core.dispatch import as_tensor
from ..core.errors import at, user_location
from ..core.op import ops
from ..core.spec import shape_text
from ..core.tensor import Tensor

INT64 = np.dtype(np.int64)


@dataclass
class Plan:
    """What an index asks of an array.

    Attributes
    ----------
    slices : list
        ``(start, size, step)`` per axis; the whole axis where a tensor does the indexing.
    tensors : dict
        Axis to the integer tensor or array that indexes it.
    dropped : set
        Axes indexed by a plain integer.
    order : list
        Axes in order, with None for every new axis.
    """

    slices: list[tuple[Size, Size, int]] = field(default_factory=list)
    tensors: dict[int, Any] = field(default_factory=dict)
    dropped: set[int] = field(default_factory=set)
    order: list[int | None] = field(default_factory=list)

    def static(self, shape: tuple[Size, ...]) -> bool:
        """Do the slices select anything less than everything?"""
        return any(s != (0, d, 1) for s, d in zip(self.slices, shape, strict=True))


def plan_for(shape: tuple[Size, ...], index: Any) -> Plan:
    """Read an index of an array of `shape`."""
    entries = _entries(index, len(shape))
    plan = Plan()
    for entry in entries:
        if entry is None:
            plan.order.append(None)
            continue
        axis = len(plan.slices)
        plan.order.append(axis)
        size = shape[axis]
        if isinstance(entry, slice):
            plan.slices.append(resolve(entry, size))
            continue
        if isinstance(entry, (int, np.integer)):
            plan.slices.append((_position(int(entry), size, shape), 1, 1))
            plan.dropped.add(axis)
            continue
        plan.slices.append((0, size, 1))
        plan.tensors[axis] = _checked(entry, size, shape)
    return plan


def _entries(index: Any, rank: int) -> list[Any]:
    """The index as a list with an entry per axis and None per new axis; Ellipsis and masks are written out."""
    given = list(index) if index.__class__ is tuple else [index]
    entries: list[Any] = []
    for entry in given:
        entries.extend(_written_out(entry))
    used = sum(e is not None and e is not Ellipsis for e in entries)
    if used > rank:
        raise IndexError(f"{used} indices for a tensor of rank {rank}{at(user_location())}")
    if sum(e is Ellipsis for e in entries) > 1:
        raise IndexError(f"an index has at most one Ellipsis{at(user_location())}")
    where = next((i for i, e in enumerate(entries) if e is Ellipsis), len(entries))
    return [*entries[:where], *[slice(None)] * (rank - used), *entries[where + 1 :]]


def _written_out(entry: Any) -> list[Any]:
    if (
        entry is None
        or entry is Ellipsis
        or (isinstance(entry, (slice, int, np.integer)) and entry is not True)
    ):
        if entry is False:
            raise IndexError(f"a bool is not an index{at(user_location())}")
        return [entry]
    if entry is True:
        raise IndexError(f"a bool is not an index{at(user_location())}")
    if isinstance(entry, (list, tuple, np.ndarray, range)):
        entry = np.asarray(entry) if len(entry) else np.zeros(0, np.int64)
    elif not isinstance(entry, Tensor):
        entry = as_tensor(entry)
    kind = entry.dtype.kind
    if kind == "b":
        return list(np.nonzero(np.asarray(entry)))
    if kind not in "iu":
        raise IndexError(
            f"an index is integers, slices, None, Ellipsis or bools, not {entry.dtype}{at(user_location())}"
        )
    if isinstance(entry, Tensor) and not entry.is_symbolic:
        entry = np.asarray(entry)
    return [int(entry)] if isinstance(entry, np.ndarray) and entry.ndim == 0 else [entry]


def _position(i: int, size: Size, shape: tuple[Size, ...]) -> Size:
    if not -size <= i < size:
        raise IndexError(f"index {i} is out of range for the shape {shape_text(shape)}{at(user_location())}")
    return i if i >= 0 else size + i


def _checked(entry: Any, size: Size, shape: tuple[Size, ...]) -> Any:
    """Static arrays of positions are checked here, and made non-negative."""
    if isinstance(entry, Tensor) or isinstance(size, Dim):
        return entry
    wrong = entry[(entry < -size) | (entry >= size)]
    if wrong.size:
        raise IndexError(
            f"index {wrong[0]} is out of range for the shape {shape_text(shape)}{at(user_location())}"
        )
    return np.where(entry < 0, entry + size, entry).astype(np.int64)


def resolve(s: slice, size: Size) -> tuple[Size, Size, int]:
    """A Python slice of an axis as ``(start, size, step)``; symbolic sizes record guards where they must."""
    step = 1 if s.step is None else int(s.step)
    if isinstance(size, int):
        positions = range(*s.indices(size))
        return (positions.start, len(positions), step) if positions else (0, 0, 1)
    if step == 0:
        raise ValueError(f"slice step cannot be zero{at(user_location())}")
    if step > 0:
        start = _clip(s.start, size, 0, size) if s.start is not None else 0
        stop = _clip(s.stop, size, 0, size) if s.stop is not None else size
        return (start, (stop - start + step - 1) // step, step) if stop > start else (0, 0, 1)
    start = _clip(s.start, size, -1, size - 1) if s.start is not None else size - 1
    stop = _clip(s.stop, size, -1, size - 1) if s.stop is not None else -1
    return (start, (start - stop - step - 1) // -step, step) if start > stop else (0, 0, 1)


def _clip(bound: Any, size: Size, low: Size, high: Size) -> Size:
    bound = bound if isinstance(bound, Dim) else int(bound)
    if bound < 0:
        bound = size + bound
    if bound < low:
        return low
    return high if bound > high else bound


# ---- reading --------------------------------------------------------------------------------------------


def get(x: Any, index: Any) -> Any:
    """``x[index]``."""
    x = as_tensor(x)
    if index.__class__ is int and x.shape:
        row = _position(index, x.shape[0], x.shape)
        rest = x.shape[1:]
        return ops.reshape(ops.slice(x, slices=((row, 1, 1), *((0, d, 1) for d in rest))), shape=rest)
    plan = plan_for(x.shape, index)
    if not plan.tensors:
        y = ops.slice(x, slices=tuple(plan.slices)) if plan.static(x.shape) else x
        return _shaped(y, [1 if a is None else y.shape[a] for a in plan.order if a not in plan.dropped])
    if all(not t.shape for t in plan.tensors.values()):
        return _get_scalars(x, plan)
    return _get_arrays(x, plan)


def _shaped(y: Any, shape: list[Size]) -> Any:
    return y if y.shape == tuple(shape) else ops.reshape(y, shape=tuple(shape))


def _get_scalars(x: Any, plan: Plan) -> Any:
    """Every tensor in the index is one position: a gather of one axis, or a window."""
    y = ops.slice(x, slices=tuple(plan.slices)) if plan.static(x.shape) else x
    sizes = [1 if a in plan.tensors else d for a, d in enumerate(y.shape)]
    gone = plan.dropped | set(plan.tensors)
    if len(plan.tensors) == 1:
        ((axis, position),) = plan.tensors.items()
        y = ops.gather(y, position, axis=axis)
    else:
        y = ops.dynamic_slice(y, _starts(y.shape, plan), sizes=tuple(sizes))
    return _shaped(y, [1 if a is None else sizes[a] for a in plan.order if a not in gone])


def _starts(shape: tuple[Size, ...], plan: Plan) -> Any:
    """The corner of the window: rank-1 int64, 0 on the axes that are read whole."""
    parts = [
        _wrapped(plan.tensors[a], d) if a in plan.tensors else as_tensor(np.int64(0))
        for a, d in enumerate(shape)
    ]
    return ops.concat(*(ops.reshape(p, shape=(1,)) for p in parts), axis=0)


def _wrapped(position: Any, size: Size) -> Any:
    """A run-time position with negative ones counted from the end."""
    position = ops.cast(as_tensor(position), dtype=INT64)
    end = as_tensor(np.int64(size)) if isinstance(size, int) else ops.size_value(size=size)
    return ops.where(position < 0, position + end, position)


def _get_arrays(x: Any, plan: Plan) -> Any:
    """Arrays of positions select together, as NumPy has it: plain integers take part."""
    for axis in plan.dropped:
        plan.tensors[axis] = np.int64(plan.slices[axis][0])
        plan.slices[axis] = (0, x.shape[axis], 1)
    positions = [i for i, a in enumerate(plan.order) if a in plan.tensors]
    adjacent = positions == list(range(positions[0], positions[-1] + 1))
    y = ops.slice(x, slices=tuple(plan.slices)) if plan.static(x.shape) else x
    axes = sorted(plan.tensors)
    rest = [a for a in range(len(y.shape)) if a not in plan.tensors]
    first = axes[0] if adjacent else 0
    y = ops.transpose(y, perm=(*rest[:first], *axes, *rest[first:])) if len(axes) > 1 and rest else y
    y, flat = _joined(y, first, [plan.tensors[a] for a in axes])
    inner = y.shape[:first], flat.shape, y.shape[first + 1 :]
    y = ops.gather(y, flat, axis=first)
    return _shaped(y, _result_shape(plan, inner, adjacent))


def _joined(y: Any, first: int, indices: list[Any]) -> tuple[Any, Any]:
    """Join the indexed axes into one, and their positions into positions along it."""
    sizes = y.shape[first : first + len(indices)]
    if len(indices) == 1:
        return y, ops.cast(as_tensor(indices[0]), dtype=INT64)
    total: Any = None
    for index, size in zip(indices, sizes, strict=True):
        position = as_tensor(index) if isinstance(index, (np.ndarray, np.generic)) else _wrapped(index, size)
        end = as_tensor(np.int64(size)) if isinstance(size, int) else ops.size_value(size=size)
        total = position if total is None else total * end + position
    count: Size = 1
    for size in sizes:
        count = count * size
    return ops.reshape(y, shape=(*y.shape[:first], count, *y.shape[first + len(indices) :])), total


def _result_shape(plan: Plan, inner: tuple, adjacent: bool) -> list[Size]:
    """Where the joint axes go: where the arrays stood when together, else in front; new axes where they stood."""
    before, joint, after = inner
    kept = iter((*before, *after))
    shape: list[Size] = [] if adjacent else [*joint]
    placed = not adjacent
    for axis in plan.order:
        if axis is None:
            shape.append(1)
        elif axis not in plan.tensors:
            shape.append(next(kept))
        elif not placed:
            shape.extend(joint)
            placed = True
    return shape


# ---- writing --------------------------------------------------------------------------------------------


def _add_one_slice(x: Any, value: Any, slices: Any) -> Any:
    return ops.slice_add(x, value, slices=(slices,))


class At:
    """``t.at[index]``: the part of a tensor that ``set`` and ``add`` change, in a copy."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any):
        self.tensor = as_tensor(tensor)

    def __getitem__(self, index: Any) -> Place:
        return Place(self.tensor, index)


class Place:
    """A part of a tensor."""

    __slots__ = ("tensor", "plan")

    def __init__(self, tensor: Any, index: Any):
        self.tensor = tensor
        self.plan = plan_for(tensor.shape, index)

    def set(self, value: Any) -> Any:
        """The tensor with this part replaced by `value`, which is broadcast to it."""
        return self._changed(value, ops.slice_set, ops.dynamic_update_slice)

    def add(self, value: Any) -> Any:
        """The tensor with `value` added to this part; positions that repeat add up."""
        return self._changed(value, _add_one_slice, ops.window_add)

    def _changed(self, value: Any, static: Any, dynamic: Any) -> Any:
        x, plan = self.tensor, self.plan
        value = _like(value, x.dtype)
        if not plan.tensors:
            return static(x, self._without_new(value), slices=tuple(plan.slices))
        if any(t.shape for t in plan.tensors.values()):
            return self._changed_rows(value, dynamic)
        if any(s != (0, d, 1) and s[2] != 1 for s, d in zip(plan.slices, x.shape, strict=True)):
            raise IndexError(f"steps and run-time positions do not mix in .at[]{at(user_location())}")
        sizes = [1 if a in plan.tensors else s[1] for a, s in enumerate(plan.slices)]
        starts = [
            _wrapped(plan.tensors[a], d) if a in plan.tensors else _size(plan.slices[a][0])
            for a, d in enumerate(x.shape)
        ]
        window = ops.broadcast_to(self._without_new(value), shape=tuple(sizes))
        return dynamic(x, window, ops.concat(*(ops.reshape(s, shape=(1,)) for s in starts), axis=0))

    def _without_new(self, value: Any) -> Any:
        """The value with an axis of size 1 for every axis an integer dropped, and none for new axes."""
        shown = [
            a
            for a in self.plan.order
            if a not in self.plan.dropped and (a is None or a not in self.plan.tensors)
        ]
        lead = len(shown) - len(value.shape)
        if lead < 0:
            raise ValueError(
                f"cannot write {value.spec} into a part of rank {len(shown)}{at(user_location())}"
            )
        sizes = dict(zip(shown[lead:], value.shape, strict=True))
        return _shaped(value, [sizes.get(a, 1) for a in range(len(self.plan.slices))])

    def _changed_rows(self, value: Any, dynamic: Any) -> Any:
        """Positions given as one array, along one axis: added by a scatter, set one by one, in order."""
        x, plan = self.tensor, self.plan
        if len(plan.tensors) > 1 or plan.dropped or plan.static(x.shape) or None in plan.order:
            raise IndexError(f".at[] takes an array of positions for one axis, alone{at(user_location())}")
        ((axis, index),) = plan.tensors.items()
        index = ops.cast(as_tensor(index), dtype=INT64)
        values = ops.broadcast_to(value, shape=(*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]))
        if dynamic is ops.window_add:
            return ops.scatter_add(x, index, values, axis=axis)
        count = index.spec.size
        index = ops.reshape(index, shape=(count,))
        values = ops.reshape(values, shape=(*x.shape[:axis], count, *x.shape[axis + 1 :]))
        for i in range(int(count)):
            where = (*(slice(None),) * axis, get(index, i))
            x = Place(x, where).set(get(values, (*(slice(None),) * axis, i)))
        return x


def _size(size: Size) -> Any:
    return as_tensor(np.int64(size)) if isinstance(size, int) else ops.size_value(size=size)


def _like(value: Any, dtype: np.dtype) -> Any:
    value = as_tensor(value, dtype)
    return value if value.dtype == dtype else ops.cast(value, dtype=dtype)
