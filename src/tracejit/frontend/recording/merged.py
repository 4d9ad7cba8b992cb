"""Tensors that compiled branches and loops give, and that may be another tensor of the program when it runs.

Eagerly, ``z = x if p else y`` makes `z` the very tensor `x` or `y`, and a tape that watches one of them watches the
other. A compiled program has a tensor of its own there. Where a tape would tell the difference, it says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...core.errors import Untraceable, at, user_location
from ...core.ir.graph import Value
from ...core.tensor import Tensor
from ...core.tracing.dispatch import Record, state
from ...core.tracing.trace import Trace

Key = Any  # a value of a graph; of a tensor that has none, its serial number


class MergedTensor(Untraceable):
    """A tape watches a tensor that may be another one, which is used while it records."""


class Watched:
    """A tensor that a tape began to watch while a function was traced.

    Attributes
    ----------
    start, end : int
        How many nodes the trace had then, and when the tape stopped recording.
    """

    __slots__ = ("tensor", "trace", "start", "end")
    start: int
    trace: Trace

    def __init__(self, tensor: Tensor, now: Trace):
        self.tensor: Tensor = tensor
        self.trace = now
        self.start = len(now.graph.nodes)
        self.end: int = 0

    def finish(self) -> None:
        """The tape has stopped; raises `MergedTensor` where the tensor may be one that was used meanwhile."""
        now = state.interpreter
        if not isinstance(now, Trace):
            return
        if now is not self.trace:
            self.trace, self.start = now, 0
        self.end = len(now.graph.nodes)
        now.watched.append(self)
        self.check()

    def check(self) -> None:
        """Raise `MergedTensor` where that is so, by all that is known now."""
        merged = self.trace.merged
        if not merged:
            return
        outer = _outer(self.trace)
        wanted, nodes = _key(self.tensor, outer), self.trace.graph.nodes[self.start : self.end]
        same, made = _closure(wanted, merged), {v for n in nodes for v in n.outputs}
        for value in {v for n in nodes for v in n.inputs} - made:
            key = _canonical(value, outer)
            if key != wanted and not same.isdisjoint(_closure(key, merged)):
                raise MergedTensor(
                    "a tape watches a tensor that may, depending on what branches and loops did, be another one that "
                    f"is used while it records, and then it would watch both: watch a copy, as x = tracejit.identity(x)"
                    f"{at(user_location())}"
                )


def check_sources(sources: Iterable[Any], targets: Iterable[Any], records: Iterable[Record]) -> None:
    """Raise `MergedTensor` where a source may be another tensor that the targets were computed from."""
    now = state.interpreter
    if not isinstance(now, Trace) or not now.merged:
        return
    merged, outer = now.merged, _outer(now)
    calls = [({_key(t, outer) for t in r.inputs}, {_key(t, outer) for t in r.outputs}) for r in records]
    made = set().union(*(outputs for _, outputs in calls))
    used = {_key(y, outer) for y in targets if isinstance(y, Tensor)}
    for source in sources:
        if not isinstance(source, Tensor):
            continue
        wanted = _key(source, outer)
        same = _closure(wanted, merged)
        for key in used.union(*(inputs for inputs, outputs in calls if wanted not in outputs)) - {wanted}:
            may_be = _closure(key, merged)
            recorded = key in made and wanted in may_be and key not in same
            if not recorded and not same.isdisjoint(may_be):
                raise MergedTensor(
                    "a gradient is taken by a tensor that may, depending on what branches and loops did, be another "
                    "one that the target was computed from, and then it would count for both: go on with a copy, as "
                    f"x = tracejit.identity(x){at(user_location())}"
                )


def watched(tensor: Tensor) -> Watched | None:
    """To be finished when the tape stops; None where nothing is traced."""
    now = state.interpreter
    return Watched(tensor, now) if isinstance(now, Trace) else None


def merge(made: Any, candidates: Iterable[Any], before: Any = None) -> None:
    """Note that the tensor `made` may be one of these, tensors or values of a region.

    With `before`, the trace of a loop's body, those are of the iteration before.
    """
    now = state.interpreter
    if not isinstance(now, Trace) or made.__class__ is not Tensor:
        return
    keys = now.merged.setdefault(_key(made, {}), set())
    for x in candidates:
        if isinstance(x, (Tensor, Value)) and x is not made:
            key = x if isinstance(x, Value) else _key(x, {})
            own = before is not None and key.__class__ is Value and key.graph is before.graph
            keys.add(("before", key) if own else key)


def _outer(trace: Trace) -> dict[Value, Tensor]:
    """The tensors behind the values that a trace has captured."""
    return {value: tensor for tensor, value in trace.captures.values()}


def _key(tensor: Tensor, outer: dict[Value, Tensor]) -> Key:
    payload = tensor._payload
    return _canonical(payload, outer) if payload.__class__ is Value else tensor.serial


def _canonical(value: Value, outer: dict[Value, Tensor]) -> Key:
    """Of a captured value, that of the tensor outside."""
    while value in outer:
        tensor = outer[value]
        if tensor._payload.__class__ is not Value:
            return tensor.serial
        value = tensor._payload
    return value


def _closure(key: Key, merged: dict[Key, set[Key]]) -> set[Key]:
    """All that a tensor may be."""
    closure, waiting = {key}, [key]
    while waiting:
        more = merged.get(waiting.pop(), set()) - closure
        closure |= more
        waiting += more
    return closure
