"""Compiled functions that are called again and again in a trace: the Python body runs once, the calls are repeated.

What the first call applied is noted, by the tensors that went in and came out. For a later call with arguments of the
same types and values the same ops are applied, with the same lines, by the same door: the trace, tapes and gradients
get what they would have got. That is so where the body is known to be pure (`pure_bodies`), and the note to be whole:
no control flow, Variables, tensors from outside, sizes known only to the call, nothing that changes or asks. Else the
body runs again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...core import settings
from ...core.errors import Location
from ...core.ir.graph import Graph, Value, literal
from ...core.op import Op
from ...core.tensor import Tensor, twin
from ...core.tracing.dispatch import apply, state
from ...core.tracing.trace import Trace
from ..structure import Nest, Structure
from .pure_bodies import Dependencies, Python, dependencies

Result = tuple[list[Any], Structure]
"""The leaves of what a body returned, as tensors, and its structure."""


class _Step(NamedTuple):
    """An op that was applied, with the places of what it took and gave."""

    op: Op
    inputs: tuple[int, ...]
    attrs: Mapping[str, Any]
    outputs: tuple[int, ...]
    location: Location | None


class _Body(NamedTuple):
    """What a call came to: a place for each tensor, those of its arguments first.

    Attributes
    ----------
    literals : dict
        What stands at places of constants, which join the graph where they are used first.
    """

    known: Dependencies
    places: int
    literals: dict[int, np.ndarray]
    steps: list[_Step]
    leaves: list[int]
    structure: Structure

    def repeat(self, now: Trace, tensors: Sequence[Tensor]) -> Result:
        """Apply the ops once more."""
        env: list[Any] = [*tensors, *[None] * (self.places - len(tensors))]
        mode = state.mode
        try:
            for op, inputs, attrs, outputs, location in self.steps:
                mode.location = location
                taken = tuple([self.at(env, p, now) for p in inputs])
                made = apply(op, taken, attrs)
                for place, tensor in zip(outputs, made if made.__class__ is tuple else (made,), strict=True):
                    env[place] = tensor
        finally:
            mode.location = None
        return [twin(self.at(env, p, now)) for p in self.leaves], self.structure

    def at(self, env: list[Any], place: int, now: Trace) -> Tensor:
        tensor: Tensor | None = env[place]
        if tensor is None:
            tensor = env[place] = now.constant(self.literals[place])
        return tensor


def repeated(
    f: Any, python: Python, leaves: Sequence[Any], structure: Structure, run: Callable[[], Result]
) -> Result:
    """``run()``, or what it did for the same function and arguments like these in the trace in charge.

    Parameters
    ----------
    f : object
        The compiled function that is called; `python` tells what it runs.
    leaves, structure
        Its arguments, as its body gets them.
    """
    now, mode = state.interpreter, state.mode
    simple = (
        now.__class__ is Trace and mode.location is None is mode.origin and not settings.current().debug_info
    )
    key = _key(f, leaves, structure) if simple else None
    if key is None or not isinstance(now, Trace):
        return run()
    if key not in now.bodies_run:
        known = dependencies(python(f), python)
        now.bodies_run[key] = None
        if known is None:
            return run()
        note = _Note(now, [x for x in leaves if isinstance(x, Tensor)])
        result = note.of(run)
        now.bodies_run[key] = note.body(known, result)
        return result
    body: _Body | None = now.bodies_run[key]
    if body is None or not body.known.stand():
        return run()
    return body.repeat(now, [x for x in leaves if isinstance(x, Tensor)])


def _key(f: Any, leaves: Sequence[Any], structure: Structure) -> Any:
    """What calls have in common that come to the same; None where that cannot be told."""
    parts: list[Any] = []
    for x in leaves:
        if x.__class__ is Tensor:
            if x.spec.symbolic or x.np_dtype.kind == "O":
                return None
            parts.append(x.spec)
        elif x.__class__ is float:
            parts.append(x.hex())
        elif x.__class__ in (int, bool, str):
            parts.append((x.__class__, x))
        else:
            return None
    return (f, settings.current(), structure, *parts) if _is_plain(structure) else None


def _is_plain(structure: Structure) -> bool:
    """Is it made of lists, tuples and dicts?"""
    if not isinstance(structure, Nest):
        return True
    keys = all(k.__class__ in (str, int) for k in structure.keys)
    return (
        structure.kind in (list, tuple, dict, type(None)) and keys and all(map(_is_plain, structure.children))
    )


def _is_literal(t: Tensor) -> bool:
    """Is it a constant of the graph, which the body may have, too?"""
    return t.value.__class__ is Value and literal(t.value) is not None


def _is_special(op: Op, attrs: Mapping[str, Any]) -> bool:
    """Does it hold graphs, or do anything but give its results?"""
    plain = op.traits.isdisjoint(("effect", "prints", "this_process", "no_cse"))
    return not plain or op.runs_graphs or any(isinstance(v, Graph) for v in attrs.values())


class _Note:
    """Listens while a body runs for the first time."""

    def __init__(self, now: Trace, tensors: Sequence[Tensor]):
        self.now = now
        self.places = {t.serial: i for i, t in enumerate(tensors)}
        self.literals: dict[int, np.ndarray] = {}
        self.whole = len(self.places) == len(tensors) and not any(map(_is_literal, tensors))
        self.before = self._stage()
        self.nodes = len(now.graph.nodes)
        self.calls: list[tuple[Any, ...]] = []

    def _stage(self) -> tuple[Any, ...]:
        """What only a body changes that must not be repeated so."""
        now = self.now
        held = tuple([(id(h), id(h.now), h.assigned) for h in now.held.values()])
        waiting = 0 if state.mode.attempt is None else len(getattr(state.mode.attempt, "waiting", ()))
        tables = len(now.counting), len(now.bodies), len(now.watched), len(now.merged), now.trips.used
        return held, tables, waiting, [id(r) for r in state.recorders]

    def of(self, run: Callable[[], Result]) -> Result:
        """The result of the body, whose ops are heard."""
        outer, self.now.heard = self.now.heard, self.calls
        try:
            result = run()
        finally:
            self.now.heard = outer
        if outer is not None:
            outer += self.calls
        return result

    def body(self, known: Dependencies, result: Result) -> _Body | None:
        """What is to be repeated; None where something else has happened than ops on what is known."""
        added = [n for n in self.now.graph.nodes[self.nodes :] if not n.op.literal]
        if not self.whole or self._stage() != self.before or len(added) != len(self.calls):
            return None
        steps = []
        for op, inputs, attrs, outputs, location in self.calls:
            taken = tuple([self.place(t) for t in inputs])
            if -1 in taken or _is_special(op, attrs) or any(t.spec.symbolic for t in outputs):
                return None
            for t in outputs:
                self.places[t.serial] = len(self.places)
            steps.append(_Step(op, taken, attrs, tuple([self.places[t.serial] for t in outputs]), location))
        leaves = [self.place(t) for t in result[0]]
        if -1 in leaves or any(t.__class__ is not Tensor for t in result[0]) or not _is_plain(result[1]):
            return None
        return _Body(known, len(self.places), self.literals, steps, leaves, result[1])

    def place(self, t: Tensor) -> int:
        """Where a tensor comes from; -1 where that is not known."""
        place = self.places.get(t.serial)
        if place is None:
            value = t.value
            array = literal(value) if value.__class__ is Value else None
            if array is None:
                return -1
            place = self.places[t.serial] = len(self.places)
            self.literals[place] = array
        return place
