"""Shared storage: which tensors, names, containers and views see a write ``x[i] = v``.

Tensors do not change, and ``x[i] = v`` gives `x` another one. In NumPy whoever else holds the array, or a view of it,
sees the change. So an array that has views, or has been written to, gets a `Storage`, which knows the tensor that it is
now and the objects that stand for it. What is written through one of them makes the others `Overwritten`: who reads one
gets what it is now, or an error where only the running program could tell.
"""

from __future__ import annotations

import gc
import threading
import weakref
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from ....core.errors import Untraceable, at, user_location
from ....core.ir.graph import Graph
from ....core.seams import give_methods
from ....core.tensor import Overwritten, Tensor, twin
from ....core.tracing.dispatch import as_tensor, state
from ....core.tracing.trace import Trace
from ....core.tracing.transaction import remember
from .made import from_the_start, whole_of

#: How a tensor is made of the array that it is a part of: ``view(whole)``.
View = Callable[[Tensor], Tensor]
#: The whole with another part: ``put(whole, part)``.
Put = Callable[[Tensor, Any], Tensor]


class Member:
    """An object that stands for an array, or for a view of it, which may be written to where there is a `put`.

    Nobody knows it any more when its tensor dies. What Python calls then is C code: Ctrl-C would be lost in a function.
    """

    __slots__ = ("ref", "_end", "storage", "view", "put", "__weakref__")

    def __init__(self, tensor: Tensor, storage: Storage, view: View | None, put: Put | None = None):
        key = id(tensor)
        self.ref: weakref.ref[Tensor] = weakref.ref(tensor, partial(_members.pop, key))
        self._end = weakref.ref(tensor, partial(storage.fresh.pop, key))
        self.storage = storage
        self.view = view
        self.put = put


_members: dict[int, Member] = {}


class Storage:
    """An array that several tensors stand for.

    Attributes
    ----------
    now : Tensor or None
        What it holds; None where only the running program knows.
    reason : str
        Then: what has written to it, and where.
    fresh : dict
        Who stands for it and has not been overwritten, by identity; always this dict.
    maybe : list of Storage
        Arrays that may be this one.
    in_place : bool
        It is one of NumPy's to the program: parts of it are views, and ``+=`` writes to it.
    array : reference to numpy.ndarray, or None
        What it still is: that has a value of its own, and who holds it sees no tensor.
    """

    __slots__ = ("now", "reason", "fresh", "maybe", "in_place", "array", "__weakref__")

    def __init__(self, now: Tensor | None, array: np.ndarray | None = None):
        self.now: Tensor | None = now
        self.reason = ""
        self.fresh: dict[int, Member] = {}
        self.maybe: list[weakref.ref[Storage]] = []
        self.in_place: bool = array is not None
        self.array: weakref.ref[np.ndarray] | None = None if array is None else weakref.ref(array)

    def add(self, tensor: Tensor, view: View | None = None, put: Put | None = None) -> Member:
        """Let a tensor stand for the array, or for a view of it."""
        old = _members.get(id(tensor))
        if old is not None:
            old.storage.fresh.pop(id(tensor), None)
        member = _members[id(tensor)] = self.fresh[id(tensor)] = Member(tensor, self, view, put)
        return member

    def save(self) -> Callable[[], None]:
        """How to undo what is written from here on."""
        now, reason, maybe, fresh = self.now, self.reason, list(self.maybe), dict(self.fresh)

        def restore() -> None:
            self.now, self.reason, self.maybe = now, reason, list(maybe)
            self.fresh.clear()
            for key, member in fresh.items():
                tensor = member.ref()
                if tensor is not None:
                    outdated = tensor.__class__ is Overwritten
                    if outdated:
                        tensor.__class__ = Tensor
                    self.fresh[key] = member

        return restore

    def changes(self) -> None:
        """Something is about to be written."""
        remember(("written", id(self)), self.save)
        for log in _open.logs:
            if id(self) not in log.saved:
                log.saved[id(self)] = (self, self.save())

    def becomes(self, now: Tensor | None, reason: str = "") -> None:
        """It holds something else from here on; None for what only the running program knows."""
        self.changes()
        self.require_tensor()
        self.now, self.reason = now, reason
        self.outdate()

    def require_tensor(self) -> None:
        """Raise where an array of NumPy's would have to hold what the compiled program computes."""
        array = None if self.array is None else self.array()
        if array is None:
            return
        from_the_start(array)
        del array
        gc.collect()
        if self.array is not None and self.array() is not None:
            raise Untraceable(
                "an array of NumPy's may be written to here that the program knows elsewhere, too: write to a copy, "
                f"made with .copy(), or make it a tensor before, as with x = tracejit.constant(x){at(user_location())}"
            )

    def settle(self, tensors: Sequence[Tensor]) -> None:
        """It holds what these tensors do, all of which stand for it from here on."""
        self.becomes(twin(tensors[0]))
        self.written()
        for tensor in tensors:
            self.add(tensor, None)

    def outdate(self) -> None:
        """Whoever reads one of its members gets what it holds now."""
        Overwritten.exist = True
        members = list(self.fresh.values())
        self.fresh.clear()
        for member in members:
            tensor = member.ref()
            if tensor is not None and tensor.__class__ in (
                Tensor,
                Overwritten,
            ):  # IndexedSlices are no arrays
                tensor.__class__ = Overwritten

    def serials(self) -> Iterator[int]:
        """Of the tensors that are read where it is read."""
        if self.now is not None:
            yield self.now.serial
        yield from (tensor.serial for m in self.fresh.values() if (tensor := m.ref()) is not None)

    def written(self) -> None:
        """Arrays that may be this one hold nobody knows what."""
        others, self.maybe = [r() for r in self.maybe], []
        for other in others:
            if other is None or other is self:
                continue
            if other.now is not None or other.array is not None:
                other.becomes(None, _told("something that may be the same array was written to"))
            other.written()


class Log:
    """Which storages were written to while this was open; a context."""

    def __init__(self) -> None:
        self.saved: dict[int, tuple[Storage | None, Callable[[], None]]] = {}

    def __enter__(self) -> Log:
        _open.logs.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _open.logs.remove(self)

    def restore(self) -> None:
        """Undo what was written; it may be written again."""
        for _, restore in self.saved.values():
            restore()

    def storages(self) -> list[Storage]:
        """Those that were written to."""
        return [storage for storage, _ in self.saved.values() if storage is not None]


def saved_in_logs(key: int, save: Callable[[], Callable[[], None]]) -> None:
    """What else is known of writes is about to change: ``save()`` returns how to undo that."""
    remember(("written", key), save)
    for log in _open.logs:
        if key not in log.saved:
            log.saved[key] = (None, save())


class _Open(threading.local):
    def __init__(self) -> None:
        self.logs: list[Log] = []
        self.branches: list[Graph] = []


_open = _Open()


class inside_branch:
    """What is written in this ``with`` block to an array from outside is handed on by the branch that it is in."""

    def __enter__(self) -> None:
        now = state.interpreter
        assert isinstance(now, Trace)
        _open.branches.append(now.graph)

    def __exit__(self, *exc: object) -> None:
        _open.branches.pop()


# ---- tensors and their storages -------------------------------------------------------------------------


def member_of(tensor: Any) -> Member | None:
    """Which array a tensor is known to stand for; None for what has not been written to and has no views."""
    member = _members.get(id(tensor))
    return member if member is not None and member.ref() is tensor else None


def stands_for(tensor: Tensor) -> Member:
    """The same, where the tensor gets a storage if it has none."""
    return member_of(tensor) or Storage(twin(tensor)).add(tensor, None)


def named(x: Any) -> Tensor:
    """What stands for the array that `x` is, and can be handed to who asks for a tensor."""
    member = member_of(x) if x.__class__ is Overwritten else None
    if member is None:
        return as_tensor(x)
    tensor = twin(now(x))
    member.storage.add(tensor, member.view, member.put)
    return tensor


def seen_as(part: Tensor, whole: Tensor, view: View, put: Put | None = None) -> None:
    """`part` is the `view` of `whole`, and written to by `put`, if it may be."""
    member = stands_for(whole)
    around, outer = member.view, member.put
    if around is None:
        member.storage.add(part, view, put)
    elif put is None or outer is None:
        member.storage.add(part, lambda x: view(around(x)))
    else:
        member.storage.add(part, lambda x: view(around(x)), lambda x, new: outer(x, put(around(x), new)))


def may_be(tensor: Tensor, storage: Storage) -> None:
    """A tensor may stand for this array: what is written to one makes the other unknown."""
    own = stands_for(tensor).storage
    if own is not storage:
        own.in_place = own.in_place or storage.in_place
        own.maybe.append(weakref.ref(storage))
        storage.maybe.append(weakref.ref(own))


def now(tensor: Tensor) -> Tensor:
    """What a tensor is now that stands for an array which has been written to."""
    member = _members[id(tensor)]
    whole = member.storage.now
    if whole is None:
        raise Untraceable(f"{member.storage.reason}{_REMEDY}{at(user_location())}")
    if whole.is_symbolic and whole.value.graph.finished:
        raise Untraceable(
            f"{_told('it was written to where only the running program gets')}{_REMEDY}{at(user_location())}"
        )
    found = whole if member.view is None else member.view(whole)
    if member.storage.in_place:
        found = twin(found)  # parts of it are views, too
        member.storage.add(found, member.view, member.put)
    return found


def written(tensor: Tensor, new: Tensor) -> Tensor:
    """The tensor that a name gets that stood for `tensor`, when `new` is written over all of that."""
    member = stands_for(tensor)
    storage, view, put = member.storage, member.view, member.put
    storage.require_tensor()
    whole = _reached(storage)
    if view is None:
        storage.becomes(twin(new))
    elif put is not None:
        storage.becomes(twin(put(whole, new)))
    else:
        raise Untraceable(
            f"NumPy would write into the array that this is a part of\n{_REMEDY}{at(user_location())}"
        )
    storage.written()
    storage.add(new, view, put)
    return new


def _reached(storage: Storage) -> Tensor:
    """What the array holds; raises where it is from outside of a loop, is written to, and not handed on."""
    whole = storage.now
    if whole is None:
        raise Untraceable(f"{storage.reason}{_REMEDY}{at(user_location())}")
    inner = state.interpreter
    if not isinstance(inner, Trace):
        return whole
    if not whole.is_symbolic:
        raise Untraceable(
            "a tensor from outside of the compiled function is written to inside, and would be another one for the "
            f"program around it: pass it in and return it, or write to a copy, made with .copy(){at(user_location())}"
        )
    while inner is not None and inner.graph is not whole.value.graph:
        if inner.graph not in _open.branches:
            raise Untraceable(
                "an array from outside of a compiled loop, or of a function that is traced on its own, is written to "
                "inside under another name, as a part of it or by a function: assign to the name itself there, or "
                f"write to a copy, made with .copy(), and return that{at(user_location())}"
            )
        inner = inner.parent
    return whole


# ---- arrays of NumPy's ----------------------------------------------------------------------------------

_arrays: dict[int, tuple[weakref.ref[np.ndarray], Storage, int]] = {}  # with a checksum of what they held


def is_in_place(tensor: Any) -> bool:
    """Is it an array of NumPy's to the program, or a part of one?"""
    member = member_of(tensor)
    return member is not None and member.storage.in_place


def in_place(tensor: Tensor) -> Tensor:
    """The tensor, which the program takes for an array of NumPy's from here on."""
    stands_for(tensor).storage.in_place = True
    Trace.viewing = _noted_view
    return tensor


def array_storage(x: np.ndarray, may_be: bool = True) -> Storage:
    """What an array stands for that a tensor may be, too: it has a value, and keeps it as long as both are read.

    Without `may_be`: of which a tensor is a part for sure.
    """
    root = whole_of(x)
    entry = _arrays.get(id(root))
    if entry is None or entry[0]() is not root:
        entry = weakref.ref(root, partial(_arrays.pop, id(root))), Storage(None, root), 0
    elif may_be:
        _require_unchanged(entry)
    _arrays[id(root)] = *entry[:2], _checksum(root) if may_be else entry[2]
    return entry[1]


def part_of_array(part: Tensor, x: np.ndarray, view: View, put: Put) -> None:
    """`part` is the `view` of an array of NumPy's, and written to by `put`."""
    array_storage(x, may_be=False).add(part, view, put)
    Trace.viewing = _noted_view


def _checksum(x: np.ndarray) -> int:
    return zlib.crc32(np.ascontiguousarray(x).view(np.uint8).data)


def require_seen() -> None:
    """Raise where an array that a tensor may be has been written to by what announces nothing, as NumPy's functions."""
    for entry in list(_arrays.values()):
        _require_unchanged(entry)


def _require_unchanged(entry: tuple[weakref.ref[np.ndarray], Storage, int]) -> None:
    array = entry[0]()
    tensors = [s for r in entry[1].maybe if (s := r()) is not None and s.now is not None]
    if array is not None and tensors and _checksum(array) != entry[2]:
        raise Untraceable(
            "an array of NumPy's is changed in place after a branch or loop in which a name of it may have been given "
            f"another value: write x[...] = v, or change a copy, made with .copy(){at(user_location())}"
        )


def array_written(x: np.ndarray) -> None:
    """An array of NumPy's is about to be written to: tensors that may be the same one are unknown from here on."""
    if not _arrays:
        return
    entry = _arrays.get(id(whole_of(x)))
    if entry is None or not (entry[1].fresh or any(r() is not None for r in entry[1].maybe)):
        return
    _require_unchanged(entry)
    from_the_start(x)
    entry[1].changes()
    entry[1].written()


def _noted_view(op: Any, inputs: Sequence[Tensor], result: Tensor) -> None:
    """What ops make of an array of NumPy's may be a view or a copy to the program; who knows says so later."""
    if "numpy_view" in op.traits and result.__class__ is Tensor and result.ndim and is_in_place(inputs[0]):
        seen_as(result, inputs[0], _view_or_copy)


def _view_or_copy(whole: Tensor) -> Tensor:
    raise Untraceable(
        "this was taken out of an array of NumPy's that has been written to since, as a view or as a copy: take it "
        f"with x[...], which is a view, or with .copy(){at(user_location())}"
    )


def _told(what: str) -> str:
    return f"{what}{at(user_location())}\n"


_REMEDY = "  and NumPy would show that here, too: read the name that was assigned, or keep a copy, made with .copy()"


give_methods(Overwritten, {"__tensor__": now, "array": property(lambda self: now(self).array)})
