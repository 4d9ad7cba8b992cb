"""``x[...]``: Python's and NumPy's index language, told in terms of the ops of `ops.index`.

An index becomes a plan, one entry per axis: a static slice, a position known only at run time, or an array of
positions. Static positions are checked here, the others when the program runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from ...core.dataclass import dataclass
from ...core.dim import Dim, Size, UnknownSize, maximum, nonnegative, unknown
from ...core.errors import DtypeError, OutOfRange, at, user_location
from ...core.op import ops
from ...core.spec import dtype_name, shape_text
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor, state
from ...core.tracing.recipes import by_recipe
from ...core.tracing.trace import Trace
from ..arrays.index import stacked_positions
from ..arrays.reduce import whole
from . import beyond, direct, late_slices
from .memory.overlaps import copied
from .memory.storage import is_in_place, part_of_array, seen_as, shown_part

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
    entries = entries_of(index, shape)
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
        if isinstance(entry, (int, np.integer)) and _is_late(int(entry), size):
            entry = as_tensor(np.int64(entry))
        if isinstance(entry, (int, np.integer)):
            plan.slices.append((_position(int(entry), size, shape), 1, 1))
            plan.dropped.add(axis)
            continue
        plan.slices.append((0, size, 1))
        plan.tensors[axis] = _checked(entry, size, shape)
    return plan


def bools_as_axes(shape: tuple[Size, ...], index: Any) -> tuple[tuple[Size, ...], Any]:
    """A shape and its index without bools of no axes: each is an axis of size 1, of which it takes all or nothing.

    As NumPy has it they select together with arrays of positions. Both stay where there are no such bools.
    """
    given = index if isinstance(index, tuple) else (index,)
    if not any(_is_one_bool(entry) for entry in given):
        return shape, index
    taken = [0 if _is_one_bool(entry) else _axes_taken(_read(entry)) for entry in given]
    left = len(shape) - sum(taken)
    sizes: list[Size] = []
    entries: list[Any] = []
    axis = 0
    for entry, count in zip(given, taken, strict=True):
        count = max(left, 0) if entry is Ellipsis else count
        one = _is_one_bool(entry)
        sizes.extend((1,) if one else shape[axis : axis + count])
        entries.append(np.zeros(int(bool(entry)), np.int64) if one else entry)
        axis += count
    return (*sizes, *shape[axis:]), tuple(entries)


def within(x: Any, index: Any, mode: str, spare: Any) -> tuple[Any, Any]:
    """A tensor and its index with no position that is not there, by what a `mode` of `Place` says they mean.

    With "drop" and "fill" each axis that is indexed by positions gets an element more, `spare`, for them.
    """
    if mode not in ("clip", "drop", "fill", "promise_in_bounds"):
        raise ValueError(f"mode is clip, drop, fill or promise_in_bounds, got {mode!r}{at(user_location())}")
    entries, axis = [], 0
    for entry in entries_of(index, x.shape):
        if entry is None or isinstance(entry, slice) or mode == "promise_in_bounds":
            entries.append(entry)
        elif mode == "clip":
            entries.append(_one_or_more(entry, beyond.clipped(entry, x.shape[axis])))
        else:
            entries.append(_one_or_more(entry, beyond.spared(entry, x.shape[axis])))
            x = beyond.with_spare(x, axis, spare)
        axis += entry is not None
    return x, tuple(entries)


def _one_or_more(entry: Any, positions: Any) -> Any:
    """A plain integer stays one, whose axis is dropped."""
    one = isinstance(entry, (int, np.integer)) and isinstance(positions, np.ndarray)
    return int(positions) if one else positions


def _is_one_bool(entry: Any) -> bool:
    """Is it a bool, or a known mask of no axes?"""
    return isinstance(entry, (bool, np.bool_)) or _is_one_mask(entry)


def entries_of(index: Any, shape: tuple[Size, ...]) -> list[Any]:
    """The index as a list with an entry per axis and None per new axis; Ellipsis and masks are written out."""
    given = list(index) if isinstance(index, tuple) else [index]
    entries, rank = [_read(entry) for entry in given], len(shape)
    used = sum(_axes_taken(e) for e in entries)
    if used > rank:
        raise OutOfRange(f"{used} indices for a tensor of rank {rank}{at(user_location())}")
    if sum(e is Ellipsis for e in entries) > 1:
        raise IndexError(f"an index has at most one Ellipsis{at(user_location())}")
    where = next((i for i, e in enumerate(entries) if e is Ellipsis), len(entries))
    filled = [*entries[:where], *[slice(None)] * (rank - used), *entries[where + 1 :]]
    return _without_masks(filled, shape)


def _is_mask(entry: Any) -> bool:
    return isinstance(entry, np.ndarray) and entry.dtype.kind == "b"


def _axes_taken(entry: Any) -> int:
    if entry is None or entry is Ellipsis:
        return 0
    return entry.ndim if _is_mask(entry) or late_slices.is_late_mask(entry) else 1


def _without_masks(entries: list[Any], shape: tuple[Size, ...]) -> list[Any]:
    """Masks as the positions where they hold, one array for each of their axes, whose sizes they must have."""
    expanded: list[Any] = []
    axis = 0
    for entry in entries:
        if _is_mask(entry):
            sizes = shape[axis : axis + entry.ndim]
            if any(isinstance(d, int) and d != n for d, n in zip(sizes, entry.shape, strict=True)):
                raise IndexError(
                    f"a mask of the shape {shape_text(entry.shape)} for axes of the sizes {shape_text(sizes)} of the "
                    f"shape {shape_text(shape)}{at(user_location())}"
                )
            expanded.extend(np.nonzero(entry))
        else:
            expanded.append(entry)
        axis += _axes_taken(entry)
    return expanded


def _read(entry: Any) -> Any:
    """One entry: None, Ellipsis, slice, int, ndarray of integers or bools, or a traced tensor of integers."""
    if entry is None or entry is Ellipsis or isinstance(entry, (slice, int, np.integer)):
        return entry
    if isinstance(entry, (list, tuple, np.ndarray, range)):
        entry = np.asarray(entry)
        entry = np.zeros(0, np.int64) if entry.shape == (0,) else entry
    elif not isinstance(entry, Tensor):
        entry = as_tensor(entry)
    kind = entry.dtype.kind
    if kind not in "biu":
        raise IndexError(
            f"an index is integers, slices, None, Ellipsis or bools, not {dtype_name(entry.dtype)}{at(user_location())}"
        )
    if isinstance(entry, Tensor) and entry.is_symbolic:
        return entry
    entry = np.asarray(entry)
    return entry if entry.ndim else int(entry)


def _is_late(i: int, size: Size) -> bool:
    """Does only a run of the function tell whether an axis has the position?"""
    if isinstance(size, int) or not unknown(size):
        return False
    return not nonnegative(size - i - 1 if i >= 0 else size + i)


def _position(i: int, size: Size, shape: tuple[Size, ...]) -> Size:
    if isinstance(size, Dim) and unknown(size):  # it is inside, see `_is_late`
        return i if i >= 0 else size + i
    if not -size <= i < size:
        raise OutOfRange(f"index {i} is out of range for the shape {shape_text(shape)}{at(user_location())}")
    return i if i >= 0 else size + i


def _checked(entry: Any, size: Size, shape: tuple[Size, ...]) -> Any:
    """Static arrays of positions are checked here, and made non-negative."""
    if isinstance(entry, Tensor) or isinstance(size, Dim):
        return entry
    wrong = entry[(entry < -size) | (entry >= size)]
    if wrong.size:
        raise OutOfRange(
            f"index {wrong[0]} is out of range for the shape {shape_text(shape)}{at(user_location())}"
        )
    return np.where(entry < 0, entry + size, entry).astype(np.int64)


def resolve(s: slice, size: Size) -> tuple[Size, Size, int]:
    """A Python slice of an axis as ``(start, size, step)``; symbolic sizes record guards where they must."""
    step = 1 if s.step is None else whole(s.step, "the step of a slice")
    if step == 0:
        raise ValueError(f"slice step cannot be zero{at(user_location())}")
    if isinstance(size, int):
        try:
            positions = range(*s.indices(size))
        except TypeError:
            raise DtypeError(
                f"the ends of a slice are integers or None, got {_shown(s.start)}:{_shown(s.stop)}{at(user_location())}"
            ) from None
        return (positions.start, len(positions), step) if positions else (0, 0, 1)
    if any(isinstance(d, Dim) and unknown(d) for d in (size, s.start, s.stop)):
        return _resolve_late(s, size, step)
    if step > 0:
        start = _clip(s.start, size, 0, size) if s.start is not None else 0
        stop = _clip(s.stop, size, 0, size) if s.stop is not None else size
        if step == 1 and (nonnegative(stop - start) or stop >= start):  # of no elements too
            return start, stop - start, 1
        return (start, (stop - start + step - 1) // step, step) if stop > start else (0, 0, 1)
    start = _clip(s.start, size, -1, size - 1) if s.start is not None else size - 1
    stop = _clip(s.stop, size, -1, size - 1) if s.stop is not None else -1
    return (start, (start - stop - step - 1) // -step, step) if start > stop else (0, 0, 1)


def _shown(end: Any) -> str:
    return str(end.spec) if isinstance(end, Tensor) else repr(end)


def _resolve_late(s: slice, size: Size, step: int) -> tuple[Size, Size, int]:
    """A slice of an axis as long as a loop runs: start and size are expressions, worked out when that is known."""
    if step > 0:
        start = 0 if s.start is None else _clip_late(s.start, size)
        stop = size if s.stop is None else _clip_late(s.stop, size)
        return start, (maximum(stop - start, 0) + step - 1) // step, step
    start = size - 1 if s.start is None else _clip_late(s.start, size, above=True)
    stop = -1 if s.stop is None else _clip_late(s.stop, size, above=True)
    return start, (maximum(start - stop, 0) - step - 1) // -step, step


def _clip_late(bound: Any, size: Size, above: bool = False) -> Size:
    """A bound from 0 to `size`, or where positions go down from -1 to one less."""
    bound = bound if isinstance(bound, Dim) else int(bound)
    if not nonnegative(bound):
        if not nonnegative(bound * -1):
            raise UnknownSize(
                f"the slice bound {bound} of an axis of size {size} may turn out negative when the function runs; "
                f"give a number, negative to count from the end{at(user_location())}"
            )
        return maximum(size + bound + above, 0) - above
    return size - maximum(size - bound - above, 0) - above


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
    if x.__class__ is Tensor:
        mode = state.mode
        part = direct.read(mode, x, index)
        if part is not None:
            return part
        if mode.recorders and not mode.slow:
            key = direct.key_of(index)
            if key is not None:
                return by_recipe(_get_simple, (x,), key)
    whole = as_tensor(x)
    part = _get(whole, index)
    if Trace.viewing is not None and part is not whole and part.shape and is_in_place(x) and _is_view(index):
        seen_as(part, x, *_view_by(index), shown_part(x, index))
    return part


def view_of_array(x: np.ndarray, index: Any) -> Any:
    """``x[index]`` of an array of NumPy's, of which a part may be a view, at positions known when the function runs."""
    part = get(as_tensor(x), index)
    if part.shape and x.flags.writeable and _is_view(index):
        part_of_array(part, x, *_view_by(index))
    return part


def _view_by(index: Any) -> tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]:
    """How an index reads a part of an array, and how the array is made that has another one."""
    return lambda whole: get(whole, index), lambda whole, new: whole.at[index].set(new)


def _is_view(index: Any) -> bool:
    """Does an index give a view of an array of NumPy's?"""
    parts = index if index.__class__ is tuple else (index,)
    return all(_is_position(i) for i in parts)


def _is_position(index: Any) -> bool:
    if index is None or index is ... or index.__class__ in (int, slice):
        return True
    dtype = getattr(index, "dtype", None)
    return dtype is not None and dtype.kind in "iu" and not index.shape


def _is_one_mask(index: Any) -> bool:
    """Is it a mask of no axes, which chooses everything, along a new axis, or nothing?"""
    known = index.__class__ is np.ndarray or (index.__class__ is Tensor and not index.is_symbolic)
    return known and not index.shape and index.dtype.kind == "b"


def _get_simple(tensors: Sequence[Tensor], key: Any) -> Any:
    return _get(tensors[0], direct.index_of(key))


def _get(x: Any, index: Any) -> Any:
    if _is_one_bool(index):
        return copied(_get(x, (None, ...))[: int(bool(index))])
    if index.__class__ is int and x.shape and not _is_late(index, x.shape[0]):
        row = _position(index, x.shape[0], x.shape)
        rest = x.shape[1:]
        return ops.reshape(ops.slice(x, slices=((row, 1, 1), *((0, d, 1) for d in rest))), shape=rest)
    shape, index = bools_as_axes(x.shape, index)
    x = shaped(x, shape)
    if late_slices.has_late_entries(index):
        x, left, _ = late_slices.taken(x, entries_of(index, x.shape))
        index = tuple(left)
    plan = plan_for(x.shape, index)
    if not plan.tensors:
        x = copied(x) if index.__class__ is np.ndarray else x  # NumPy's arrays of no axes select, too
        y = ops.slice(x, slices=tuple(plan.slices)) if plan.static(x.shape) else x
        return shaped(y, [1 if a is None else y.shape[a] for a in plan.order if a not in plan.dropped])
    if all(not t.shape for t in plan.tensors.values()):
        return _get_scalars(x, plan)
    return _get_arrays(x, plan)


def shaped(y: Any, shape: Sequence[Size]) -> Any:
    """`y` in another shape, if it has another."""
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
        y = ops.dynamic_slice(y, starts_of(y.shape, plan), sizes=tuple(sizes))
    return shaped(y, [1 if a is None else sizes[a] for a in plan.order if a not in gone])


def starts_of(shape: tuple[Size, ...], plan: Plan, corner: Sequence[Size] | None = None) -> Any:
    """Where the window starts: rank-1 int64, at `corner`, or 0, on the axes that no tensor indexes."""
    parts = [
        ops.checked_position(plan.tensors[a], size=d)
        if a in plan.tensors
        else _number(corner[a] if corner else 0)
        for a, d in enumerate(shape)
    ]
    return stacked_positions(parts)


def _number(size: Size) -> Any:
    return as_tensor(np.int64(size)) if isinstance(size, int) else ops.size_value(size=size)


def _get_arrays(x: Any, plan: Plan) -> Any:
    """Arrays of positions select together, as NumPy has it: plain integers take part."""
    rows = Rows(x, plan)
    return shaped(ops.gather(rows.joined, rows.flat, axis=rows.axis), rows.shape)


class Rows:
    """What arrays of positions select from: the axes they index joined into one.

    Attributes
    ----------
    part : Tensor
        What the static slices of the index select.
    perm : tuple of int or None
        The order of the axes of `part` in which those that arrays index are neighbours.
    joined : Tensor
        `part` in that order, with these axes as the one axis `axis`.
    flat : Tensor
        Positions along it.
    inner, shape : sequence of Size
        The shape of what is selected, before and after new axes are put in.
    """

    axis: int
    flat: Any
    joined: Any

    def __init__(self, x: Any, plan: Plan):
        for axis in plan.dropped:
            plan.tensors[axis] = np.int64(plan.slices[axis][0])
            plan.slices[axis] = (0, x.shape[axis], 1)
        positions = [i for i, a in enumerate(plan.order) if a in plan.tensors]
        adjacent = positions == list(range(positions[0], positions[-1] + 1))
        self.part: Any = ops.slice(x, slices=tuple(plan.slices)) if plan.static(x.shape) else x
        axes = sorted(plan.tensors)
        rest = [a for a in range(len(x.shape)) if a not in plan.tensors]
        self.axis = first = axes[0] if adjacent else 0
        moved = len(axes) > 1 and bool(rest)
        self.perm: tuple[int, ...] | None = (*rest[:first], *axes, *rest[first:]) if moved else None
        y = ops.transpose(self.part, perm=self.perm) if moved else self.part
        self.joined, self.flat = _joined(y, first, [plan.tensors[a] for a in axes])
        inner = self.joined.shape[:first], self.flat.shape, self.joined.shape[first + 1 :]
        self.inner: tuple[Any, ...] = tuple(d for sizes in inner for d in sizes)
        self.shape: list[Size] = _result_shape(plan, inner, adjacent)

    def apart(self, changed: Any) -> Any:
        """A changed `joined` with its axes as those of `part`."""
        if self.perm is None:
            return shaped(changed, self.part.shape)
        y = shaped(changed, [self.part.shape[a] for a in self.perm])
        return ops.transpose(y, perm=tuple(int(p) for p in np.argsort(self.perm)))


def _joined(y: Any, first: int, indices: list[Any]) -> tuple[Any, Any]:
    """Join the indexed axes into one, and their positions into positions along it."""
    sizes = y.shape[first : first + len(indices)]
    if len(indices) == 1:
        return y, ops.cast(as_tensor(indices[0]), dtype=INT64)
    total: Any = None
    _require_one_shape(indices)
    for index, size in zip(indices, sizes, strict=True):
        known = isinstance(index, (np.ndarray, np.generic))
        position = as_tensor(index) if known else ops.checked_position(index, size=size)
        total = position if total is None else total * _number(size) + position
    count: Size = 1
    for size in sizes:
        count = count * size
    return ops.reshape(y, shape=(*y.shape[:first], count, *y.shape[first + len(indices) :])), total


def _require_one_shape(indices: list[Any]) -> None:
    """IndexError unless the positions that are known broadcast together."""
    shapes = [i.shape for i in indices if all(isinstance(d, int) for d in i.shape)]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        shown = " and ".join(shape_text(s) for s in shapes)
        raise IndexError(
            f"arrays of positions select together, and those of the shapes {shown} do not broadcast"
            f"{at(user_location())}"
        ) from None


def _result_shape(plan: Plan, inner: tuple[Any, ...], adjacent: bool) -> list[Size]:
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
