"""Memory policies: what the gradient of a loop may keep, how users specify it, and the report of its cost.

A policy is in force while a function that has one is traced; loops take it from here. How little memory is made do
with is `ops.checkpoint`'s business.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...core.autodiff.backprop import gradient_graph
from ...core.dataclass import dataclass
from ...core.dim import evaluate
from ...core.errors import Location, at, user_location
from ...core.ir.graph import Graph, Node, Value, restricted, walk
from ...core.lazy import Later
from ...core.tracing.loop_form import LoopForm, LoopGradientForm
from ..execution import executable

if TYPE_CHECKING:
    from ...ops.control.checkpointing import reversal, schedule
else:  # for loops whose policy is a number of bytes
    reversal = Later("...ops.control.checkpointing.reversal", __package__)
    schedule = Later("...ops.control.checkpointing.schedule", __package__)

Policy = int | str

_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}

_in_force: ContextVar[Policy] = ContextVar("tracejit_memory", default="save")


def policy(memory: Any) -> Policy:
    """``"save"``, ``"recompute"`` or a number of bytes, from what a user wrote.

    Raises
    ------
    TypeError, ValueError
        For anything else.
    """
    if isinstance(memory, (int, np.integer)) and not isinstance(memory, bool) and memory > 0:
        return int(memory)
    if memory.__class__ is str:
        if memory in ("save", "recompute"):
            return memory
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", memory, re.IGNORECASE)
        if match and match[2].upper() in _UNITS and float(match[1]) > 0:
            return int(float(match[1]) * _UNITS[match[2].upper()])
    right = isinstance(memory, (str, int, np.integer)) and not isinstance(memory, bool)
    kind = ValueError if right else TypeError
    raise kind(
        f'memory is "save", "recompute", a number of bytes or such as "50MB", not {memory!r}{at(user_location())}'
    )


def in_force(memory: Any = None) -> Policy:
    """The policy of a loop made here: its own, else that of the function being traced."""
    return _in_force.get() if memory is None else policy(memory)


@contextmanager
def under(memory: Policy | None) -> Iterator[None]:
    """Let loops made in a ``with`` block have this policy; None leaves the one in force."""
    token = _in_force.set(_in_force.get() if memory is None else memory)
    try:
        yield
    finally:
        _in_force.reset(token)


# ---- the report -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LoopMemory:
    """What the gradient of one loop keeps.

    Attributes
    ----------
    location : Location, optional
        The user's line.
    policy : str or int
    bytes_per_iteration : int
        Of one set of the carries that are kept.
    room : int, optional
        Sets of carries that may be kept at a time; None for all, as "save" does.
    iterations : int, optional
        How often the loop ran; None where it is inside of another loop or branch and known only there.
    """

    location: Location | None
    policy: Policy
    bytes_per_iteration: int
    room: int | None
    iterations: int | None

    @property
    def kept(self) -> int | None:
        """Sets of carries kept at a time, at most."""
        if self.iterations is None or self.room is None:
            return self.iterations if self.room is None else self.room
        return min(self.iterations, self.room)

    @property
    def bytes(self) -> int | None:
        """Bytes kept at a time, at most."""
        return None if self.kept is None else self.kept * self.bytes_per_iteration

    @property
    def recompute_factor(self) -> float | None:
        """How often the backward runs an iteration again before the one it differentiates: the mean over all."""
        if self.room is None or self.bytes_per_iteration == 0:
            return 0.0
        if self.iterations is None:
            return None
        return schedule.runs_again(self.iterations, max(self.room - 1, 1)) / max(self.iterations, 1)

    def __str__(self) -> str:
        where = f"{self.location.file}:{self.location.line}" if self.location is not None else "a loop"
        many = "any number of" if self.iterations is None else f"{self.iterations:,}"
        kept = "all of them" if self.kept is None else f"{self.kept:,} of them, {self.bytes:,} bytes"
        factor = self.recompute_factor
        again = "unknown here" if factor is None else f"{factor:.3f}"
        return (
            f"{where}: memory={self.policy!r}, {many} iterations of {self.bytes_per_iteration:,} bytes; "
            f"keeps {kept}; recompute factor {again}"
        )


def report(graph: Graph, arrays: Sequence[np.ndarray], sizes: Mapping[str, int]) -> list[LoopMemory]:
    """What the gradients of the loops in a graph keep when it runs on `arrays`.

    Where the graph itself computes no gradient of a loop, that of the graph is meant.
    """
    kept = _of_gradients(graph)
    if not kept and any(LoopForm.of(n) is not None for _, n in walk(graph)):
        graph = gradient_graph(graph)[0]
        kept = _of_gradients(graph)
    outside = set(graph.nodes)
    asked = [k.trips if k.node in outside and k.loop.length is None else None for k in kept]
    counts = iter(_values(graph, [v for v in asked if v is not None], arrays))
    return [
        _described(k, None if v is None else int(next(counts)), sizes)
        for k, v in zip(kept, asked, strict=True)
    ]


class _Kept(NamedTuple):
    """A loop whose carries are kept for a gradient, or a gradient that keeps few."""

    node: Node
    loop: LoopForm
    gradient: LoopGradientForm | None

    @property
    def trips(self) -> Value:
        """How often it runs, of one that no size says it of."""
        return self.loop.trips if self.gradient is None else self.loop.count


def _of_gradients(graph: Graph) -> list[_Kept]:
    kept: list[_Kept] = []
    for _, node in walk(graph):
        gradient, loop = LoopGradientForm.of(node), LoopForm.of(node)
        if gradient is not None:
            kept += [_Kept(node, gradient.loop, gradient), *_of_gradients(reversal.reversal(gradient).back.body)]
        elif loop is not None and loop.keeps_carries:
            kept.append(_Kept(node, loop, None))
    return kept


def _values(graph: Graph, asked: list[Value], arrays: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
    """What the graph computes for these values of its own, by running the part of it that they need."""
    if not asked:
        return []
    whole = Graph(graph.name, graph.inputs, graph.nodes, asked, guards=graph.guards, finished=True)
    return executable(restricted(whole, range(len(arrays)), range(len(asked))))(list(arrays))


def _described(kept: _Kept, counted: int | None, sizes: Mapping[str, int]) -> LoopMemory:
    loop, where = kept.loop, kept.node.location
    iterations = counted if loop.length is None else evaluate(loop.length, sizes)
    if kept.gradient is None:
        carries = [v.spec for v in loop.carry_in]
        per_iteration = sum(evaluate(s.size, sizes) * s.dtype.itemsize for s in carries)
        return LoopMemory(where, "save", per_iteration, None, iterations)
    plan = reversal.reversal(kept.gradient)
    per_iteration = evaluate(plan.bytes_per_row, sizes) if plan.kept else 0
    room = evaluate(plan.rows(loop.memory, loop.length), sizes)
    return LoopMemory(where, loop.memory, per_iteration, room, iterations)
