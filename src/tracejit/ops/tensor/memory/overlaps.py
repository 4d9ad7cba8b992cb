"""Parts of arrays in programs for NumPy: who reads what has been written to under another name, through objects.

Tensors have no memory, and ``rows = list(y); rows[0] -= v`` gives the list another tensor. In NumPy `y` changes, too.
So each write in a program for NumPy is noted, as the elements that it has changed of the array that the tensor was a
part of; an op that takes such elements from a tensor of before is refused. Which tensors are parts of which, the graph
of the trace tells, or the records of the guard. What functions of this package do among themselves is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ....core.errors import Location, user_location
from ....core.ir.graph import Node, Value
from ....core.op import Op, ops
from ....core.spec import TensorSpec
from ....core.tensor import Tensor
from ....core.tracing.dispatch import NO_ATTRS, state
from ....core.tracing.forms import BranchForm
from ....core.tracing.loop_form import LoopForm
from ....core.tracing.trace import Trace
from .logs import saved_in_logs
from .programs import stale_read
from .storage import known_by, member_of, refuse
from .views import is_plain


def is_view(op: Op) -> bool:
    """Is what an op gives, of an array of NumPy's, a view of that?"""
    return "numpy_view" in op.traits


class Part(NamedTuple):
    """How a tensor came of another one: by a view; without an op it is the same, or, unless `surely`, may be a part."""

    op: Op | None
    attrs: Mapping[str, Any]
    whole: Hashable
    spec: TensorSpec
    surely: bool = True


#: Of what a tensor is, or may be, a part, by what it is known by: a value of a graph, or a serial number.
Origins = Callable[[Hashable], Sequence[Part]]


class Written(NamedTuple):
    """One write to an array: how many there were before, which elements, None for any, and the line."""

    time: int
    memory: np.ndarray | None
    location: Location | None


class Overlaps:
    """What a program for NumPy has written to.

    An array is known by its `root`, the tensor that it was first. Which elements of it a tensor has is told by a view,
    as NumPy makes it, of memory that nobody uses.

    Parameters
    ----------
    origins : callable

    Attributes
    ----------
    written : dict
        Root to the writes, oldest first; these tuples are never changed.
    """

    __slots__ = ("origins", "written", "_time", "_stale", "_born", "_ways")

    def __init__(self, origins: Origins):
        self.origins = origins
        self.written: dict[Hashable, tuple[Written, ...]] = {}
        self._time = 0  # how often anything has been written to
        self._stale: dict[Hashable, Written] = {}  # what branches and loops have given that was so inside
        self._born: dict[Hashable, int] = {}  # when a branch or loop has given what may be older arrays
        self._ways: dict[Hashable, list[Way]] = {}

    def save(self) -> Callable[[], None]:
        """How to forget what is noted from here on."""
        written = dict(self.written)

        def restore() -> None:
            self.written.clear()
            self.written.update(written)

        return restore

    def note(self, tensor: Tensor, new: Tensor | None = None, index: Any = ...) -> None:
        """A part of this, as it was, has been written to; `new` is what the tensor has become."""
        self._time += 1
        ways = self._ways_to(tensor)
        for way in ways:
            part = Written(self._time, way.part(index), user_location())
            self.written[way.root] = (*self.written.get(way.root, ()), part)
        if new is not None and new.spec == tensor.spec:
            self._ways[known_by(new)] = [way.since(self._time) for way in ways]
        member = None if new is None else member_of(new)
        if member is not None and member.view is not None:
            whole, first = member.storage.now, member.storage.first
            if whole is not None and first is not None:
                self._ways[known_by(whole)] = [way.since(self._time) for way in self._ways_of(*first)]

    def join(self, written: Mapping[Hashable, Sequence[Written]]) -> None:
        """This may have been written to, too."""
        for root, added in written.items():
            known = {w.time: w for w in (*self.written.get(root, ()), *added)}
            self.written[root] = tuple(known[time] for time in sorted(known))

    def given(self, tensor: Tensor, stale: Written | None, was: Way | None) -> None:
        """A branch or loop has given this tensor: a new one, whatever was written before, unless it was `stale` inside.

        It is for sure the part of an array that `was` leads to, if that is told.
        """
        key = known_by(tensor)
        self._ways.pop(key, None)
        self._born[key] = self._time
        if was is not None:
            self._ways[key] = [was.since(self._time)]
        if stale is not None:
            self._stale[key] = stale

    def stale(
        self, tensor: Tensor, op: Op | None = None, attrs: Mapping[str, Any] = NO_ATTRS
    ) -> Written | None:
        """What has been written to since of what this may hold, or of the part that a view takes."""
        if not tensor.spec.shape or (inside := self._stale.get(known_by(tensor))) is not None:
            return inside if tensor.spec.shape else None
        for way in self._ways_to(tensor):
            for entry in reversed(self.written.get(way.root, ())):
                if entry.time <= way.born:
                    break
                if meet(entry.memory, way.memory):
                    return entry
        return None

    def shares(self, tensor: Tensor, other: Tensor) -> bool:
        """May these have elements of one array?"""
        ways = {way.root: way for way in self._ways_to(tensor)}
        others = [way for way in self._ways_to(other) if way.root in ways]
        return any(meet(ways[way.root].memory, way.memory) for way in others)

    def way_of(self, tensor: Tensor) -> Way | None:
        """How this is a part of an array; None where it may be one of several."""
        ways = self._ways_to(tensor)
        return ways[0] if len(ways) == 1 and all(step.surely for step in ways[0].steps) else None

    def require_read(self, tensors: Sequence[Tensor], op: Op | None, attrs: Mapping[str, Any]) -> None:
        """Raise where a call reads what has been written to since; a view does so when it is read, or is a number."""
        if op is None or not is_view(op):
            self.require_current(tensors)
        elif attrs.get("shape") == ():
            self.require_current(tensors[:1])

    def require_current(self, tensors: Sequence[Tensor]) -> None:
        """Raise where one of these holds what has been written to since."""
        for t in tensors:
            if (entry := self.stale(t)) is not None:
                node = getattr(known_by(t), "node", None)
                taken = None if node is None or not is_view(node.op) else node.location
                refuse(stale_read(t, entry.location, taken))

    def _ways_to(self, tensor: Tensor) -> list[Way]:
        """The arrays that a tensor is, or may be, a part of."""
        return self._ways_of(known_by(tensor), tensor.spec)

    def _ways_of(self, key: Hashable, spec: TensorSpec) -> list[Way]:
        known = self._ways.get(key)
        if known is None:
            born = self._born.get(key, 0)
            parts = self.origins(key) if spec.shape else ()  # NumPy's numbers are copies
            known = [w.then(p, born) for p in parts for w in self._ways_of(p.whole, p.spec)]
            if len(parts) > 1:  # each array once, or as many branches could be as many ways again
                known = list({way.root: way for way in sorted(known, key=lambda w: -w.born)}.values())
            self._ways[key] = known = known or [Way(_Array(key, spec), (), born)]
        return known


class _Array:
    """An array: its root, and memory of that shape, which is never touched."""

    __slots__ = ("root", "spec", "_memory")

    def __init__(self, root: Hashable, spec: TensorSpec):
        self.root = root
        self.spec = spec
        self._memory: np.ndarray | None = None

    @property
    def memory(self) -> np.ndarray | None:
        """None where its size is open."""
        if self._memory is None and not self.spec.symbolic:
            self._memory = np.empty(self.spec.shape, np.int8 if self.spec.dtype.kind == "O" else self.spec.dtype)
        return self._memory


class Way:
    """How a tensor is a part of an array, and since when: what was written before is no concern of it."""

    __slots__ = ("array", "root", "steps", "born", "_memory")

    def __init__(self, array: _Array, steps: tuple[Part, ...], born: int, memory: Any = False):
        self.array = array
        self.root = array.root
        self.steps = steps
        self.born = born
        self._memory: np.ndarray | bool | None = memory

    @property
    def memory(self) -> np.ndarray | None:
        """The elements that it has, as a view; None where sizes or positions are not known."""
        if self._memory is False:
            self._memory = _viewed(self.array.memory, self.steps)
        return self._memory  # type: ignore[return-value]

    def since(self, time: int) -> Way:
        """The same, but from a time on."""
        return Way(self.array, self.steps, time, self._memory)

    def then(self, part: Part, born: int) -> Way:
        """The way to a part of this."""
        same = part.op is None and part.surely
        steps = self.steps if same else (*self.steps, part)
        return Way(self.array, steps, max(self.born, born), self._memory if same else False)

    def leads_with(self, other: Way) -> bool:
        """Do both lead to the same part for sure?"""
        if self.array is not other.array or len(self.steps) != len(other.steps):
            return False
        a, b = self.memory, other.memory
        if a is None or b is None:
            return not self.steps
        return (a.ctypes.data, a.shape, a.strides) == (b.ctypes.data, b.shape, b.strides)

    def part(self, index: Any) -> np.ndarray | None:
        """The elements that ``tensor[index]`` has, or all of it where that is no view."""
        return part_of(self.memory, index)


def part_of(memory: np.ndarray | None, index: Any) -> np.ndarray | None:
    """The elements of an array that an index chooses, or all of it where that is no view."""
    given = index if isinstance(index, tuple) else (index,)
    if memory is None or not all(map(is_plain, given)):
        return memory
    try:
        return memory[(*given, ...)] if ... not in given else memory[index]
    except (TypeError, IndexError):
        return memory


def _viewed(memory: np.ndarray | None, steps: Sequence[Part]) -> np.ndarray | None:
    """What views make of an array; None where NumPy would not make a view of it, and for the memory of open sizes."""
    for step in steps:
        if memory is None or step.op is None or step.spec.symbolic:
            return None
        if len(step.op.tensors) > 1:  # which part it is shows only when it runs
            return None
        whole = memory
        try:
            memory = step.op.kernel(memory, **step.attrs)
        except (TypeError, ValueError):  # sizes among the attributes
            return None
        if not np.may_share_memory(memory, whole):
            return None
    return memory


def meet(some: np.ndarray | None, others: np.ndarray | None) -> bool:
    """May arrays have elements in common? Yes for None."""
    if some is None or others is None:
        return True
    try:
        return np.shares_memory(some, others, max_work=1000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


# ---- traces and guards ----------------------------------------------------------------------------------


def note_in_trace(now: Trace, tensor: Tensor, new: Tensor, index: Any) -> None:
    """A program that is being traced writes to a part of this tensor, see `shared.note_written`."""
    if not now.overlaps:
        now.overlaps.append(Overlaps(_origins_in_graph))
        Trace.reading = _reads
    overlaps = now.overlaps[0]
    saved_in_logs(id(overlaps), overlaps.save)
    overlaps.note(tensor, new, index)


def _reads(op: Op | None, tensors: Sequence[Tensor], attrs: Mapping[str, Any] = NO_ATTRS) -> None:
    """The program, and no rule of a derivative, reads tensors in a trace; branches and loops have done so inside."""
    if op is not None and op.name in (BranchForm.name, LoopForm.name):
        return
    overlaps = overlaps_now()
    if overlaps is not None and state.location is None and state.origin is None:
        overlaps.require_read(tensors, op, attrs)


def overlaps_now() -> Overlaps | None:
    """What the program that is being traced has written to; None where it has not."""
    now = state.interpreter
    return now.overlaps[0] if isinstance(now, Trace) and now.overlaps else None


def _origins_in_graph(key: Hashable) -> Sequence[Part]:
    if not isinstance(key, Value):
        return ()
    node = key.node
    if node is None:
        return _from_outside(key)
    if is_view(node.op):
        return (Part(node.op, node.attrs, node.inputs[0], node.inputs[0].spec),)
    return [Part(None, NO_ATTRS, v, v.spec, surely=False) for v in dict.fromkeys(_handed_on(key, node))]


def _handed_on(value: Value, node: Node, seen: frozenset[Value] = frozenset()) -> Iterator[Value]:
    """What a result of a branch or loop may be a part of: inputs, or what the regions have made."""
    position = next(k for k, v in enumerate(node.outputs) if v is value)
    if (branch := BranchForm.of(node)) is not None:
        for graph in branch.graphs:
            given = dict(zip(graph.inputs, branch.consts, strict=True))
            yield from _of_region(graph.outputs[position], given, {}, seen)
    elif (loop := LoopForm.of(node)) is not None and position < len(loop.init):
        yield loop.init[position]
        body, carries = loop.body, len(loop.init)
        given = dict(zip(body.inputs[1:], (*loop.init, *loop.xs, *loop.consts), strict=True))
        again = dict(zip(body.inputs[1 : 1 + carries], body.outputs, strict=False))
        yield from _of_region(body.outputs[position], given, again, seen)


def _of_region(
    value: Value, given: Mapping[Value, Any], again: Mapping[Value, Value], seen: frozenset[Value]
) -> Iterator[Value]:
    """What an output of a region may be a part of; `again` are what iterations give the next one."""
    if not value.spec.shape or value in seen:
        return
    seen |= {value}
    node = value.node
    if node is None:
        if value in given:
            yield given[value]
        if value in again:
            yield from _of_region(again[value], given, again, seen)
        return
    within = [node.inputs[0]] if is_view(node.op) else list(_handed_on(value, node))
    for v in within:
        yield from _of_region(v, given, again, seen)
    if not within:
        yield value


def _from_outside(value: Value) -> Sequence[Part]:
    """What an input of a region is outside of it."""
    trace = state.interpreter
    while isinstance(trace, Trace) and trace.graph is not value.graph:
        trace = trace.parent
    captures = trace.captures.values() if isinstance(trace, Trace) else ()
    outer = next((t for t, v in captures if v is value), None)
    if outer is None:
        return ()
    return (Part(None, NO_ATTRS, known_by(outer), outer.spec),)


def anew(tensor: Tensor, given: Any = None) -> Tensor:
    """What NumPy makes anew: a copy where it is `given` itself, or a view of memory that another tensor may have."""
    payload: Any = tensor._payload
    if payload.__class__ is Value:
        shares = payload.node is not None and is_view(payload.node.op)
    else:
        shares = payload.__class__ is np.ndarray and payload.base is not None
    return copied(tensor) if shares or payload is getattr(given, "_payload", None) else tensor


def copied(tensor: Tensor) -> Tensor:
    """The tensor as a copy, which is no part of another one."""
    new: Tensor = ops.identity(tensor)
    payload: Any = new._payload
    if payload.__class__ is np.ndarray:
        new._payload = payload.copy()
    return new
