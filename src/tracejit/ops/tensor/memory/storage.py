"""Shared storage: which tensors, names, containers and views see a write ``x[i] = v``.

Tensors do not change, and ``x[i] = v`` gives `x` another one. In NumPy whoever else holds the array, or a view of it,
sees the change. So an array that has views, or has been written to, gets a `Storage`, which knows the tensor that it is
now and the objects that stand for it. What is written through one of them makes the others `Overwritten`: who reads one
gets what it is now, or an error where only the running program could tell.
"""

from __future__ import annotations

import gc
import weakref
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np

from ....core.errors import Untraceable, at, user_location
from ....core.ir.graph import Value
from ....core.seams import give_methods
from ....core.spec import TensorSpec
from ....core.tensor import Overwritten, Tensor, twin
from ....core.tracing.dispatch import as_tensor, state
from ....core.tracing.trace import Trace
from .logs import opened, saved_in_logs
from .made import all_are_arrays, from_the_start, whole_of, with_arrays_from_the_start
from .programs import is_program_for_numpy
from .views import Put, View, is_a_row, is_plain, seen_by


def known_by(tensor: Tensor) -> Any:
    """What the same tensor, as another object, has in common with it."""
    payload = tensor._payload
    return payload if payload.__class__ is Value else tensor.serial


class Member:
    """An object that stands for an array, or for a view of it, which may be written to where there is a `put`.

    Nobody knows it any more when its tensor dies. What Python calls then is C code: Ctrl-C would be lost in a function.
    """

    __slots__ = ("ref", "_end", "storage", "view", "put", "_shown", "__weakref__")

    def __init__(
        self,
        tensor: Tensor,
        storage: Storage,
        view: View | None,
        put: Put | None = None,
        shown: np.ndarray | None = None,
    ):
        key = id(tensor)
        self.ref: weakref.ref[Tensor] = weakref.ref(tensor, partial(_members.pop, key))
        self._end = weakref.ref(tensor, partial(storage.fresh.pop, key))
        self.storage = storage
        self.view = view
        self.put = put
        self._shown = shown

    @property
    def memory(self) -> np.ndarray | None:
        """What it would be in NumPy, which nobody looks into; None where the order of its elements is not known."""
        return self.storage.memory if self.view is None else self._shown


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
    memory : numpy.ndarray or None
        What it would be in NumPy, which nobody looks into; None where the order of its elements is not known.
    first : (object, TensorSpec), or None
        What it was known by as a tensor before anybody wrote to it.
    array : reference to numpy.ndarray, or None
        What it still is: that has a value of its own, and who holds it sees no tensor.
    """

    __slots__ = ("now", "reason", "fresh", "maybe", "in_place", "array", "first", "memory", "__weakref__")

    def __init__(self, now: Tensor | None, array: np.ndarray | None = None):
        self.now: Tensor | None = now
        self.reason = ""
        self.fresh: dict[int, Member] = {}
        self.maybe: list[weakref.ref[Storage]] = []
        self.in_place: bool = array is not None
        self.array: weakref.ref[np.ndarray] | None = None if array is None else weakref.ref(array)
        self.first: tuple[Any, TensorSpec] | None = None if now is None else (known_by(now), now.spec)
        self.memory: np.ndarray | None = None if array is None else _like(array)

    def add(
        self,
        tensor: Tensor,
        view: View | None = None,
        put: Put | None = None,
        shown: np.ndarray | None = None,
    ) -> Member:
        """Let a tensor stand for the array, or for a view of it."""
        old = _members.get(id(tensor))
        if old is not None:
            old.storage.fresh.pop(id(tensor), None)
        member = _members[id(tensor)] = self.fresh[id(tensor)] = Member(tensor, self, view, put, shown)
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
        saved_in_logs(id(self), self.save, self)

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
    member.storage.add(tensor, member.view, member.put, member.memory)
    return tensor


def seen_as(
    part: Tensor, whole: Tensor, view: View, put: Put | None = None, shown: np.ndarray | None = None
) -> None:
    """`part` is the `view` of `whole`, written to by `put`, if it may be, and `shown` as this in NumPy, if known."""
    member = stands_for(whole)
    around, outer = member.view, member.put
    if around is None:
        member.storage.add(part, view, put, shown)
    elif put is None or outer is None:
        member.storage.add(part, lambda x: view(around(x)), None, shown)
    else:
        member.storage.add(
            part, lambda x: view(around(x)), lambda x, new: outer(x, put(around(x), new)), shown
        )


def shown_part(whole: Tensor, index: Any) -> np.ndarray | None:
    """What ``whole[index]`` would be in NumPy, see :attr:`Member.memory`."""
    member = member_of(whole)
    memory = None if member is None else member.memory
    given = index if index.__class__ is tuple else (index,)
    if memory is None or not all(map(is_plain, given)):
        return None
    try:
        return memory[index] if ... in given else memory[(*given, ...)]
    except (TypeError, IndexError):
        return None


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
    found = whole
    if member.view is not None:
        with _among_themselves():
            found = member.view(whole)
    if member.storage.in_place:
        found = twin(found)  # parts of it are views, too
        member.storage.add(found, member.view, member.put, member.memory)
    return found


def written(tensor: Tensor, new: Tensor) -> Tensor:
    """The tensor that a name gets that stood for `tensor`, when `new` is written over all of that."""
    if state.interpreter is None:
        for guard in state.guards:
            guard.writing()
    member = stands_for(tensor)
    storage, view, put = member.storage, member.view, member.put
    storage.require_tensor()
    whole = _reached(storage)
    if view is None:
        storage.becomes(twin(new))
    elif put is not None:
        with _among_themselves():
            changed = put(whole, new)
        storage.becomes(twin(changed))
    else:
        raise Untraceable(
            f"NumPy would write into the array that this is a part of\n{_REMEDY}{at(user_location())}"
        )
    storage.written()
    storage.add(new, view, put, member.memory)
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
        if inner.graph not in opened.branches:
            refuse(
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


def are_arrays() -> bool:
    """Are all tensors arrays of NumPy's to what runs?"""
    meant = all_are_arrays() if state.interpreter is not None else bool(state.guards)
    return meant and is_program_for_numpy(surely=True)


def refuse(message: str) -> NoReturn:
    """Raise an Untraceable; or trace again, if not done so before, with arrays whose views are written to with them."""
    begin_with_arrays()
    raise Untraceable(message)


def begin_with_arrays() -> None:
    """Trace again, if not done so before, with arrays whose views are written to with them."""
    Trace.viewing = noted_view
    with_arrays_from_the_start()


def in_place(tensor: Tensor, made: np.ndarray | None = None) -> Tensor:
    """The tensor, which the program takes for an array of NumPy's from here on, for one that it has `made` if told."""
    storage = stands_for(tensor).storage
    storage.in_place = True
    if made is not None:
        storage.memory = _like(made)
    Trace.viewing = noted_view
    return tensor


def _like(array: np.ndarray) -> np.ndarray | None:
    """An array in the order of this one, which nobody looks into; None where that is part of another."""
    return np.empty_like(array) if array.base is None else None


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
    Trace.viewing = noted_view


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


class _among_themselves:
    """What views are made of in this ``with`` block is no array that the program has."""

    def __enter__(self) -> None:
        opened.inside += 1

    def __exit__(self, *exc: object) -> None:
        opened.inside -= 1


def noted_view(
    op: Any, inputs: Sequence[Tensor], attrs: Mapping[str, Any], result: Tensor, surely: bool = False
) -> None:
    """What ops make of an array of NumPy's may be a view or a copy to the program; `surely`, the first input is one."""
    if "numpy_view" not in op.traits or result.__class__ is not Tensor or not result.ndim or opened.inside:
        return
    whole = inputs[0]
    if not whole.ndim:
        return  # NumPy's numbers are copies
    if not is_in_place(whole):
        if not surely and not are_arrays():
            return
        in_place(whole)
    with _among_themselves():
        seen = seen_by(op, inputs, attrs, stands_for(whole).memory, is_a_row(result))
    if seen is True:
        seen_as(result, whole, _view_or_copy)
    elif seen is not False:
        seen_as(result, whole, *seen)


def _view_or_copy(whole: Tensor) -> Tensor:
    raise Untraceable(
        "this was taken out of an array of NumPy's that has been written to since, as a view or as a copy: take it "
        f"with x[...], which is a view, or with .copy(){at(user_location())}"
    )


def _told(what: str) -> str:
    return f"{what}{at(user_location())}\n"


_REMEDY = "  and NumPy would show that here, too: read the name that was assigned, or keep a copy, made with .copy()"


give_methods(Overwritten, {"__tensor__": now, "array": property(lambda self: now(self).array)})
