"""``x[index] = value`` of eager tensors: the name is bound to a changed tensor.

What was computed from it, and parts taken out of it, keep what they had, as in traced functions, where names get other
tensors too. Only who counts can tell that no second name, no container and no tape would see another value. The
exception is asked for: a tensor that shares the memory of another one sees what is written to that one, which sees what
is written to it.
"""

from __future__ import annotations

import sys
import weakref
from functools import partial
from types import FrameType
from typing import Any

import numpy as np

from ...core.errors import at, user_location
from ...core.tensor import Tensor, twin
from ...core.tracing.dispatch import state
from .at import At
from .memory.holders import KNOWN, ONE_LOCAL, in_set_item, named_twice
from .memory.programs import is_program_for_numpy
from .memory.shared import is_held, note_written_eagerly

_LOST = (
    "nothing keeps this tensor, and what is written to it would be lost: a part of a tensor is a tensor of its own, so "
    "write x[i, j] = value for x[i][j] = value"
)
_HELD = (
    "this tensor is held by something else too, by another name, an argument, a container, a tape or a compiled "
    "function, which is not to see it change: write x = x.at[index].set(value), or x = x.copy() first"
)


class Rewritten(Tensor):
    """A tensor that has been written to: whoever reads it gets a tensor that stays as it is."""

    __slots__ = ()

    def __tensor__(self) -> Tensor:
        if state.interpreter is not None:
            self.__class__ = Tensor  # type: ignore[assignment]  # a trace keeps it: from now on it counts as held
            return self
        return twin(self)

    def __copy__(self) -> Tensor:
        return twin(self)

    def __deepcopy__(self, memo: Any) -> Tensor:
        return twin(self)


class Sharing(Rewritten):
    """A tensor that has what its `lender` has, another tensor, before and after either is written to."""

    __slots__ = ("lender",)
    lender: Tensor
    _payload = property(lambda self: self.lender._payload)
    _spec = property(lambda self: self.lender.spec)
    serial = property(lambda self: self.lender.serial)

    def __init__(self, lender: Tensor):
        self.lender = lender
        self.np_dtype = lender.np_dtype
        _lenders[id(self)] = weakref.ref(self, partial(_lenders.pop, id(self))), id(lender)

    def __tensor__(self) -> Tensor:
        lender = self.lender
        if isinstance(lender, Rewritten):
            return lender.__tensor__()
        return lender if state.interpreter is not None else twin(lender)

    def is_held_through_its_lender(self, frame: FrameType) -> bool:
        """Does anything but one name and those who share it hold the lender?"""
        lender = self.lender
        return sys.getrefcount(lender) > _sharing_with(lender) + ONE_LOCAL + 1 or named_twice(lender, frame)


#: Of each that shares the memory of a lender, which it keeps alive: how it is forgotten, and the lender; by ``id()``.
_lenders: dict[int, tuple[weakref.ref[Sharing], int]] = {}


def _sharing_with(tensor: Tensor) -> int:
    """How many share the memory of `tensor`."""
    return [lender for _, lender in list(_lenders.values())].count(id(tensor)) if _lenders else 0


def sharing(tensor: Tensor) -> Tensor:
    """A tensor in the memory of `tensor`. ValueError in traced functions, where a name holds a value and no memory."""
    if state.interpreter is not None or tensor.is_symbolic:
        raise ValueError(
            "while a function is being traced, no tensor has memory that another could share: leave out copy=False"
            f"{at(user_location())}"
        )
    return Sharing(tensor.lender if isinstance(tensor, Sharing) else tensor)


def refuse_shared(tensor: Tensor) -> None:
    """TypeError where a name cannot be given another tensor without one that shares its memory missing that."""
    if tensor.__class__ is Sharing or _sharing_with(tensor):
        raise TypeError(
            "a tensor that shares memory, by asarray with copy=False, is not written to in a function that is compiled "
            f"or differentiated: write x = x.copy() first{at(user_location())}"
        )


def set_item(self: Any, index: Any, value: Any) -> None:
    """``self[index] = value``, where nothing but one name, attribute or item of a container holds `self`.

    TypeError in traced functions that are not converted, and where something else holds it.
    """
    self = (self,)[0]  # counted, also where a caller lends it
    if state.interpreter is not None or self.is_symbolic or not KNOWN:
        raise TypeError(
            "a tensor does not change here: write x = x.at[index].set(value), or x = x.at[index].add(value) for +=; "
            f"in a function decorated with tracejit.function, x[index] = value does that{at(user_location())}"
        )
    if self.__class__ is not Sharing:
        _refuse_part(self)
    now = _released(self.lender if self.__class__ is Sharing else self)
    frame = sys._getframe(1)
    holders = in_set_item(sys.getrefcount(self) - _sharing_with(self), self, frame)
    if self.__class__ is Sharing and self.is_held_through_its_lender(frame):
        holders = 2
    if holders != 1:
        del self  # what a traceback keeps would count as held
        raise TypeError(f"{_LOST if holders < 1 else _HELD}{at(user_location())}")
    try:
        new = At(now)[index].set(value)
    except BaseException:
        del self
        raise
    changed = self.lender if self.__class__ is Sharing else self
    payload: Any = now._payload
    changed.__class__ = Rewritten
    changed._payload, changed._spec, changed.serial = new._payload, new._spec, new.serial
    if is_held(payload):
        note_written_eagerly(payload, changed._payload, index)


def _refuse_part(tensor: Tensor) -> None:
    """TypeError where a program for NumPy, run as it is, writes to a part of a tensor that something else holds.

    NumPy would show that to both; what a converted function writes is noted where that is done, see `overlaps`.
    """
    payload: Any = tensor._payload
    base = payload.base if payload.__class__ is np.ndarray else None
    if base is not None and tensor.spec.shape and sys.getrefcount(base) > 3 and is_program_for_numpy():
        raise TypeError(
            "this is a part of a tensor, and NumPy would write into the whole, which does not change here: write to "
            f"that by its name, a[i, j] = v, or take a copy of the part, a[i].copy(){at(user_location())}"
        )


def _released(tensor: Tensor) -> Tensor:
    """A twin, which the calls that open tapes keep hold from now on in place of the tensor."""
    now = twin(tensor)
    for recorder in state.recorders:
        hand_over = getattr(recorder, "hand_over", None)
        if hand_over is not None:
            hand_over(tensor, now)
    return now
