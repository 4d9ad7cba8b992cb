"""``x.at[index].set(value)`` and its like: tensors with a part changed, as copies that a compiler need not make.

The index language is that of `ops.indexing`; what is written where is told in terms of ops.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.errors import Untraceable, at, user_location
from ...core.op import ops
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor
from ...core.tracing.loop_form import LoopForm
from ..arrays.index import stacked_positions
from . import late_slices
from .beyond import missing
from .indexing import Plan, Rows, bools_as_axes, entries_of, get, plan_for, shaped, starts_of, within


class UnknownMask(Untraceable, IndexError):
    """Where a mask holds is known only when the compiled function runs."""


class At:
    """``t.at``: index it to name the part of a tensor that a method then changes, in a copy.

    Examples
    --------
    >>> import tracejit as tf
    >>> x = tf.constant([1.0, 2.0, 3.0])
    >>> print(x.at[1:].set(0.0))
    tf.Tensor([1. 0. 0.], shape=(3,), dtype=float32)
    >>> print(x.at[0].add(5.0))
    tf.Tensor([6. 2. 3.], shape=(3,), dtype=float32)
    """

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any):
        self.tensor: Tensor = as_tensor(tensor)

    def __getitem__(self, index: Any) -> Place:
        if late_slices.has_late_entries(index) and _traced_mask(index) is None:
            return LatePlace(self.tensor, index)
        return Place(self.tensor, index)


class Place:
    """A part of a tensor. Values are converted to the tensor's dtype and broadcast to the part.

    Where an array of positions repeats one, `set` keeps what comes last, `add` and `subtract` add everything up,
    and the others change that element once for each, one after another, as NumPy's ``ufunc.at`` does. Only `apply`
    takes no repeats among positions that are known only when the program runs: the program fails there.

    Positions that an axis does not have are an IndexError, unless a method is told their `mode`: "clip" takes the
    nearest one there is, "drop" leaves them as they are, and "fill", of `get`, has the `fill_value` for them.
    "promise_in_bounds" says that there are none, which is checked. ValueError for other modes.

    Attributes
    ----------
    tensor : Tensor
        What has the part, with an axis of size 1 for each bool in the index.
    whole : tuple of Size
        Its shape without them.
    index, mask
        Which part: as given, and as the one mask whose values are known only at run time.
    """

    __slots__ = ("tensor", "index", "mask", "whole", "_plan")

    def __init__(self, tensor: Any, index: Any):
        self.whole: Any = tensor.shape
        shape, found = bools_as_axes(tensor.shape, index)
        self.index: Any = found
        self.tensor: Any = shaped(tensor, shape)
        self.mask: Any = _traced_mask(index)
        self._plan: Plan | None = None

    @property
    def plan(self) -> Plan:
        """The index in parts; IndexError for positions that are known not to be there."""
        if self._plan is None:
            self._plan = Plan() if self.mask is not None else plan_for(self.tensor.shape, self.index)
        return self._plan

    def get(self, *, mode: str | None = None, fill_value: Any = None) -> Any:
        """The part itself; the `fill_value` is by default NaN, the least integer, or the largest unsigned one."""
        if mode is not None or fill_value is not None:
            x = self.tensor
            spare = missing(x.dtype) if fill_value is None else fill_value
            larger, index = within(x, self.index, mode or "fill", spare)
            return get(larger, index)
        return get(self.tensor, self.index)

    def set(self, value: Any, *, mode: str | None = None) -> Any:
        """The tensor with this part replaced by `value`."""
        if mode is not None:
            return self._in_mode(mode, lambda place: place.set(value))
        if self.mask is not None:
            return self._where(lambda x, v: v, value)
        return self._written(value, add=False)

    def add(self, value: Any, *, mode: str | None = None) -> Any:
        """The tensor with `value` added to this part."""
        if mode is not None:
            return self._in_mode(mode, lambda place: place.add(value))
        if self.mask is not None:
            return self._where(ops.add, value)
        return self._written(value, add=True)

    def subtract(self, value: Any, *, mode: str | None = None) -> Any:
        """The tensor with `value` subtracted from this part."""
        if mode is not None:
            return self._in_mode(mode, lambda place: place.subtract(value))
        if self.mask is not None:
            return self._where(ops.subtract, value)
        return self._written(ops.negative(_like(value, self.tensor.dtype)), add=True)

    def multiply(self, value: Any, *, mode: str | None = None) -> Any:
        """The tensor with this part multiplied by `value`."""
        if mode is not None:
            return self._in_mode(mode, lambda place: place.multiply(value))
        return self._updated(ops.multiply, value)

    def divide(self, value: Any, *, mode: str | None = None) -> Any:
        """The tensor with this part divided by `value`."""
        if mode is not None:
            return self._in_mode(mode, lambda place: place.divide(value))
        return self._updated(ops.divide, value)

    def power(self, value: Any, *, mode: str | None = None) -> Any:
        """The tensor with this part raised to the power `value`."""
        if mode is not None:
            return self._in_mode(mode, lambda place: place.power(value))
        return self._updated(ops.pow, value)

    def min(self, value: Any, *, mode: str | None = None) -> Any:
        """The tensor with this part made no larger than `value`."""
        if mode is not None:
            return self._in_mode(mode, lambda place: place.min(value))
        return self._updated(ops.minimum, value)

    def max(self, value: Any, *, mode: str | None = None) -> Any:
        """The tensor with this part made no smaller than `value`."""
        if mode is not None:
            return self._in_mode(mode, lambda place: place.max(value))
        return self._updated(ops.maximum, value)

    def apply(self, function: Callable[[Any], Any], *, mode: str | None = None) -> Any:
        """The tensor with this part replaced by `function` of it, element by element where positions repeat."""
        if mode is not None:
            return self._in_mode(mode, lambda place: place.apply(function))
        return self._updated(lambda part, _: function(part), 0, whole=True)

    sub = subtract
    mul = multiply
    div = divide
    pow = power

    @property
    def is_distinct(self) -> bool:
        """Is each element of the part named once, for sure?"""
        return self.mask is None and not any(t.shape for t in self.plan.tensors.values())

    # ---- how --------------------------------------------------------------------------------------------

    def _in_mode(self, mode: str, change: Callable[[Place], Any]) -> Any:
        """What another place becomes, whose axes have a spare element for positions that are not there."""
        if self.mask is not None:
            return change(self)
        larger, index = within(self.tensor, self.index, mode, 0)
        changed = change(Place(larger, index))
        inner = tuple([(0, size, 1) for size in self.tensor.shape])
        changed = changed if larger.shape == self.tensor.shape else ops.slice(changed, slices=inner)
        return shaped(changed, self.whole)

    def _updated(self, change: Callable[[Any, Any], Any], value: Any, whole: bool = False) -> Any:
        """The part changed, at once where no position repeats; `whole` says that `change` must be given it at once."""
        value = _like(value, self.tensor.dtype)
        if self.mask is not None:
            return self._where(change, value)
        if self._may_repeat():
            if not whole:
                return self._one_by_one(change, value)
            self._check_distinct()
        rounds = self._rounds()
        return (
            self.set(change(self.get(), value)) if rounds is None else self._in_turns(change, value, rounds)
        )

    def _may_repeat(self) -> bool:
        """Are there several positions, known only when the program runs?"""
        positions = list(self.plan.tensors.values())
        return any(isinstance(p, Tensor) and p.is_symbolic for p in positions) and any(
            d != 1 for p in positions for d in p.shape
        )

    def _one_by_one(self, change: Callable[[Any, Any], Any], value: Any) -> Any:
        """Positions of run time that may repeat: a loop over them."""
        rows = Rows(self.tensor, self.plan)
        axis, rank, count = rows.axis, len(rows.joined.shape), rows.flat.spec.size
        lead, rest = rows.inner[:axis], rows.inner[axis + len(rows.flat.shape) :]
        values = shaped(self._broadcast(value, rows.shape), (*lead, count, *rest))
        values = ops.transpose(values, perm=(axis, *(a for a in range(rank) if a != axis)))
        positions = shaped(ops.checked_position(rows.flat, size=rows.joined.shape[axis]), (count,))

        def step(i: Tensor, carry: Any, rows: Any, consts: Any) -> tuple[Any, Any]:
            (joined,), (position, given) = carry, rows
            part = _like(change(ops.gather(joined, position, axis=axis), given), joined.dtype)
            corner = stacked_positions(
                [position if a == axis else as_tensor(np.int64(0)) for a in range(rank)]
            )
            window = ops.reshape(part, shape=(*lead, 1, *rest))
            return (ops.dynamic_update_slice(joined, window, corner),), ()

        loop = LoopForm.written(step, (rows.joined,), (positions, values), length=count)
        return self._put_back(rows, loop.apply().carry[0])

    def _check_distinct(self) -> None:
        """Let the program fail where a position repeats."""
        rows = Rows(self.tensor, self.plan)
        size = rows.joined.shape[rows.axis]
        flat = shaped(ops.checked_position(rows.flat, size=size), (rows.flat.spec.size,))
        ordered = ops.gather(flat, ops.argsort(flat, axis=0), axis=0)
        repeats = ops.equal(get(ordered, slice(1, None)), get(ordered, slice(None, -1)))
        count = ops.reduce_sum(ops.cast(repeats, dtype=np.dtype(np.float32)), axis=(0,))
        ops.check(
            ops.cast(ops.equal(count, 0), dtype=np.dtype(np.float32)),
            message="at[positions].apply(function) of positions that repeat, which are known only when the program "
            "runs: apply the function to distinct positions, or one by one in a loop",
            error="ValueError",
        )

    def _rounds(self) -> list[Any] | None:
        """Among all positions those that come for the first time, for the second, and so on; None if none repeats."""
        positions = list(self.plan.tensors.values())
        if all(not p.shape for p in positions) or any(isinstance(p, Tensor) for p in positions):
            return None
        together = np.stack(np.broadcast_arrays(*positions)).reshape(len(positions), -1)
        _, first, counts = np.unique(together, axis=1, return_inverse=True, return_counts=True)
        if (counts <= 1).all():
            return None
        ordered = np.argsort(first.ravel(), kind="stable")
        turns = np.empty(len(ordered), np.int64)
        turns[ordered] = np.arange(len(ordered)) - np.repeat(np.cumsum(counts) - counts, counts)
        return [np.flatnonzero(turns == turn) for turn in range(counts.max())]

    def _in_turns(self, change: Callable[[Any, Any], Any], value: Any, rounds: list[Any]) -> Any:
        """Arrays of positions that repeat some: the rounds one after another."""
        rows = Rows(self.tensor, self.plan)
        axis, joined = rows.axis, rows.joined
        values = shaped(self._broadcast(value, rows.shape), rows.inner)
        count = rows.flat.spec.size
        rest = rows.inner[axis + len(rows.flat.shape) :]
        values = shaped(values, (*rows.inner[:axis], count, *rest))
        flat = shaped(rows.flat, (count,))
        for chosen in rounds:
            where, given = ops.gather(flat, chosen, axis=0), ops.gather(values, chosen, axis=axis)
            part = _like(change(ops.gather(joined, where, axis=axis), given), joined.dtype)
            joined = ops.scatter_set(joined, where, part, axis=axis)
        return self._put_back(rows, joined)

    def _where(self, change: Callable[[Any, Any], Any], value: Any) -> Any:
        """Where a mask that is known only at run time holds: the whole is computed and chosen from."""
        x, mask = self.tensor, self.mask
        rank = len(mask.shape)
        value = _like(value, x.dtype)
        if value.shape and value.shape[0] == late_slices.selected(mask).shape[0]:
            late = LatePlace(x, mask)
            return late.set(change(late.get(), value))
        if mask.shape != x.shape[:rank] or len(value.shape) > len(x.shape) - rank:
            raise UnknownMask(
                f"a mask of {mask.spec} known only at run time selects from {x.spec}, what is written there is one "
                f"value or one row of it, not {value.spec}: choose with tracejit.where{at(user_location())}"
            )
        wide = ops.reshape(mask, shape=(*mask.shape, *(1 for _ in x.shape[rank:])))
        return ops.where(wide, _like(change(x, value), x.dtype), x)

    def _written(self, value: Any, add: bool) -> Any:
        x, plan = self.tensor, self.plan
        value = _like(value, x.dtype)
        if not plan.tensors:
            return _write_slices(x, self._without_new(value), tuple(plan.slices), add)
        if any(t.shape for t in plan.tensors.values()):
            return self._rows_written(value, add)
        return self._window_written(value, add)

    def _window_written(self, value: Any, add: bool) -> Any:
        """One position of run time on some axes: a window."""
        x, plan = self.tensor, self.plan
        part, slices = x, tuple(plan.slices)
        corner = [start for start, _, _ in slices]
        if any(s != (0, d, 1) and s[2] != 1 for s, d in zip(slices, x.shape, strict=True)):
            part, corner = ops.slice(x, slices=slices), [0] * len(slices)
        sizes = tuple(1 if a in plan.tensors else size for a, (_, size, _) in enumerate(slices))
        shown = [
            1 if a is None else sizes[a] for a in plan.order if a not in plan.dropped | set(plan.tensors)
        ]
        window = shaped(self._broadcast(value, shown), sizes)
        starts = starts_of(part.shape, plan, corner)
        changed = (ops.window_add if add else ops.dynamic_update_slice)(part, window, starts)
        return changed if part is x else ops.slice_set(x, changed, slices=slices)

    def _rows_written(self, value: Any, add: bool) -> Any:
        """Arrays of positions: they count along the axes they index, joined into one."""
        rows = Rows(self.tensor, self.plan)
        values = shaped(self._broadcast(value, rows.shape), rows.inner)
        write = ops.scatter_add if add else ops.scatter_set
        return self._put_back(rows, write(rows.joined, rows.flat, values, axis=rows.axis))

    def _put_back(self, rows: Rows, joined: Any) -> Any:
        """The tensor with what its rows became."""
        changed, x = rows.apart(joined), self.tensor
        changed = changed if rows.part is x else ops.slice_set(x, changed, slices=tuple(self.plan.slices))
        return shaped(changed, self.whole)

    def _broadcast(self, value: Any, shape: Any) -> Any:
        lead = len(value.shape) - len(shape)
        if lead > 0 and all(d == 1 for d in value.shape[:lead]):  # as NumPy has it
            value = shaped(value, value.shape[lead:])
        return value if value.shape == tuple(shape) else ops.broadcast_to(value, shape=tuple(shape))

    def _without_new(self, value: Any) -> Any:
        """The value with an axis of size 1 for every axis an integer dropped, and none for new axes."""
        shown = [a for a in self.plan.order if a not in self.plan.dropped]
        lead = len(shown) - len(value.shape)
        if lead < 0 and all(d == 1 for d in value.shape[:-lead]):
            value, lead = shaped(value, value.shape[-lead:]), 0
        if lead < 0:
            raise ValueError(
                f"cannot write {value.spec} into a part of rank {len(shown)}{at(user_location())}"
            )
        sizes = dict(zip(shown[lead:], value.shape, strict=True))
        return shaped(value, [sizes.get(a, 1) for a in range(len(self.plan.slices))])


class LatePlace(Place):
    """A part which slices and masks select that a compiled function computes: a place in what they take."""

    __slots__ = ("place", "steps")

    def __init__(self, tensor: Any, index: Any):
        self.whole = tensor.shape
        shape, found = bools_as_axes(tensor.shape, index)
        part, left, self.steps = late_slices.taken(shaped(tensor, shape), entries_of(found, shape))
        self.place: Place = Place(part, tuple(left))
        self.mask = None

    @property
    def is_distinct(self) -> bool:
        return self.place.is_distinct

    def get(self, *, mode: str | None = None, fill_value: Any = None) -> Any:
        return self.place.get(mode=mode, fill_value=fill_value)


def _of_part(name: str) -> Callable[..., Any]:
    def changed(self: LatePlace, value: Any, *, mode: str | None = None) -> Any:
        part = getattr(self.place, name)(value, mode=mode)
        return shaped(late_slices.put_back(part, self.steps), self.whole)

    return functools.wraps(getattr(Place, name))(changed)


for _name, _method in list(vars(Place).items()):
    if _name not in vars(LatePlace) and callable(_method) and not _name.startswith("_"):
        setattr(LatePlace, _name, _of_part(_name))


def _write_slices(x: Any, value: Any, slices: Any, add: bool) -> Any:
    return ops.slice_add(x, value, slices=(slices,)) if add else ops.slice_set(x, value, slices=slices)


def _traced_mask(index: Any) -> Any:
    """The index, when it is one mask whose values are known only at run time."""
    given = index if isinstance(index, tuple) else (index,)
    if len(given) == 2 and given[1] is Ellipsis:
        given = given[:1]
    mask = given[0] if len(given) == 1 else None
    traced = isinstance(mask, Tensor) and mask.np_dtype.kind == "b" and mask.is_symbolic
    return mask if traced else None


def _like(value: Any, dtype: np.dtype) -> Any:
    value = as_tensor(value, dtype)
    return value if value.dtype == dtype else ops.cast(value, dtype=dtype)
