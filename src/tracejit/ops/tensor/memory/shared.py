"""Memory that eager tensors share: who reads what a program for NumPy has written to under another name is refused.

Two eager tensors have elements in common where their memory does, so no record of what was made of what is needed. As
long as something else holds memory that was written to, a recorder looks at what is read; before that nothing does.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ....core.errors import Location, at, user_location
from ....core.tensor import Tensor
from ....core.tracing.dispatch import Record, start_recording, state, stop_recording
from ....core.tracing.trace import Trace
from .overlaps import is_view, meet, note_in_trace, part_of
from .programs import is_program_for_numpy, stale_read


def _count(payload: np.ndarray) -> int:
    return sys.getrefcount(payload)


def _counts() -> tuple[int, int]:
    """How often an array is counted that one tensor holds, and what owns its memory, in functions as those below."""
    holder = [np.empty(2)[:1]]
    payload = holder[0]
    owner = payload.base
    return _count(payload), sys.getrefcount(owner)


_ONE_TENSOR, _ONE_VIEW = _counts()


class _Region(NamedTuple):
    """Elements that were written to, as an array in their memory that does not keep it; and the line."""

    memory: np.ndarray | None
    location: Location | None


class _Watch:
    """The recorder that knows the memory of a thread's tensors that is out of date."""

    reverse = False

    def __init__(self) -> None:
        self.regions: dict[int, list[_Region]] = {}  # by the ``id()`` of the array that owns the memory
        self._numbers: set[int] = set()  # NumPy's numbers are copies, and so is what is made of one
        self._owners: dict[int, weakref.ref[np.ndarray]] = {}

    def add(self, owner: np.ndarray, region: _Region) -> None:
        """What `owner` holds there is out of date."""
        key = id(owner)
        if key not in self._owners:
            self._owners[key] = weakref.ref(owner, partial(self._forget, key))
        known = self.regions.setdefault(key, [])
        if not any(_same(region.memory, r.memory) for r in known):
            known.append(region)
        if self not in state.recorders:
            start_recording(state.mode, self)

    def _forget(self, key: int, _: Any) -> None:
        self._owners.pop(key, None)
        self.regions.pop(key, None)

    def record(self, record: Record) -> None:
        """Listen to one call, which may have read what is out of date; a view does so when it is read."""
        if not self.regions:
            self._numbers.clear()
            stop_recording(state.mode, self)
        elif state.location is None and state.origin is None:
            first = record.inputs[0] if record.inputs else None
            if not is_view(record.op):
                self._require(record.inputs)
            elif first is not None and (first.serial in self._numbers or not first._payload.ndim):
                self._numbers.update(t.serial for t in record.outputs)
            elif record.attrs.get("shape") == ():
                self._require(record.inputs[:1])

    def on_event(self, kind: str, tensor: Tensor, owner: Any = None) -> None:
        """Hear that a value was taken out."""
        if kind in ("value", "choice") and self.regions:
            self._require((tensor,))

    def _require(self, tensors: Sequence[Tensor]) -> None:
        for t in tensors:
            payload: Any = t._payload
            if payload.__class__ is not np.ndarray or t.serial in self._numbers:
                continue
            for region in self.regions.get(id(_owner(payload)), ()):
                if payload.ndim and meet(region.memory, payload):
                    raise TypeError(stale_read(t, region.location))


class _Watches(threading.local):
    def __init__(self) -> None:
        self.watch = _Watch()


_watches = _Watches()
_Memories = list[tuple[weakref.ref[np.ndarray], np.ndarray, np.ndarray | None]]
#: What arrays were before they were written to, by the ``id()`` of what owns them: what owned it, and its memory, and
#: the part of the array that it is, None for what may be any.
_before: dict[int, _Memories] = {}
#: What they became, by the ``id()`` of what owned them before.
_after: dict[int, _Memories] = {}
#: The views of memory of tensors that NumPy has been given, by the ``id()`` of the reference; an array of its own with
#: that memory keeps them.
_lent: dict[int, weakref.ref[np.ndarray]] = {}


def lent(view: np.ndarray) -> None:
    """NumPy gets a view of the memory of a tensor."""
    reference = weakref.ref(view, _given_back)
    _lent[id(reference)] = reference


def _given_back(reference: weakref.ref[np.ndarray]) -> None:
    _lent.pop(id(reference), None)


def _is_lent(owner: np.ndarray) -> bool:
    views = [reference() for reference in list(_lent.values())]
    return any(view is not None and _owner(view) is owner for view in views)


def is_held(payload: np.ndarray) -> bool:
    """Does anything but one tensor, and one name of the caller's, hold an array or what owns its memory?

    Or may something hold what the array was before it was written to.
    """
    if sys.getrefcount(payload) > _ONE_TENSOR:
        return True
    owner = payload.base
    if owner.__class__ is np.ndarray and sys.getrefcount(owner) > _ONE_VIEW:
        return True
    return bool(_before or _after) and (id(_owner(payload)) in _before or id(_owner(payload)) in _after)


def note_written(tensor: Tensor, new: Tensor, index: Any = ...) -> None:
    """A program writes to a part of this tensor: who holds that part by another name sees it in NumPy.

    `new` is what the name that it is written by stands for from now on.
    """
    now, payload = state.interpreter, tensor._payload
    if now is None and not state.guards and payload.__class__ is np.ndarray:
        note_written_eagerly(payload, new._payload, index)
    elif tensor.spec.shape and is_program_for_numpy():
        if isinstance(now, Trace):
            note_in_trace(now, tensor, new, index)
        else:
            for guard in state.guards:
                guard.note_written(tensor, new, index)


def note_written_eagerly(payload: np.ndarray, new: np.ndarray, index: Any = ...) -> None:
    """A program for NumPy has written to a part of what this memory was, which others may hold, and `new` is."""
    if not payload.ndim or not is_program_for_numpy():
        return
    owner = _owner(payload)
    if _is_lent(owner):
        raise TypeError(
            "an array of NumPy's has the memory of this tensor, as np.asarray(x) or np.split(x, 2) gives it, and would "
            f"not show what is written here: make it of a copy, x.copy(){at(user_location())}"
        )
    location = user_location()
    _watches.watch.add(owner, _Region(part_of(_same_memory(payload), index), location))
    earlier, later = _alive(_before, owner), _alive(_after, owner)
    written = part_of(_same_memory(payload), index)
    for reference, memory, part in (*earlier, *later):
        if (other := reference()) is not None and (part is None or meet(part, written)):
            whole = payload is not owner or memory.shape != payload.shape
            _watches.watch.add(other, _Region(memory if whole else part_of(memory, index), location))
    follower = _owner(new)
    before, after = _same_memory(payload), _same_memory(new)
    related = [
        (o, memory, None) for o, memory, part in (*earlier, *later) if part is None or meet(part, written)
    ]
    _link(_before, follower, [(weakref.ref(owner), before, None), *related])
    _link(_after, owner, [(weakref.ref(follower), after, before)])
    for reference, *_ in related:
        if (other := reference()) is not None:
            _link(_after, other, [(weakref.ref(follower), after, None)])


def _alive(links: dict[int, _Memories], owner: np.ndarray) -> _Memories:
    return [link for link in links.get(id(owner), ()) if link[0]() is not None]


def _link(links: dict[int, _Memories], owner: np.ndarray, others: _Memories) -> None:
    if id(owner) not in links:
        weakref.finalize(owner, links.pop, id(owner), None).atexit = False
    links[id(owner)] = [*_alive(links, owner), *others]


def _same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    if a is None or b is None:
        return a is b
    return (a.ctypes.data, a.shape, a.strides) == (b.ctypes.data, b.shape, b.strides)


def _owner(array: np.ndarray) -> np.ndarray:
    while array.base.__class__ is np.ndarray:
        array = array.base
    return array


class _Address:
    def __init__(self, interface: dict[str, Any]):
        self.__array_interface__ = interface


def _same_memory(array: np.ndarray) -> np.ndarray:
    """An array in the same memory, which it does not keep and nobody may look at."""
    return np.asarray(_Address({**array.__array_interface__, "data": (array.ctypes.data, True)}))
