"""The loops that feed the accumulators of a nest, and the tail behind them.

In sequence where every step sees the one before; else in lanes and blocks, folded as ``reduce`` says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir_text import Value, constant, integer, kind_of
from ...loopir.ir import Nest
from ...loopir.operands import Name
from ...loopir.passes.schedule import Line, Schedule
from ..writing.kernel import KernelWriter
from .reduce import Reduction, folds_inside, recall
from .spans import Part, Span, each, run, spans

State = list[Value]


class Accumulation:
    """Writes what is inside the outer loops of one nest."""

    def __init__(self, k: KernelWriter, s: Nest, schedule: Schedule):
        self.k = k
        self.s = s
        self.schedule = schedule
        self.inner: tuple[Line, ...] = schedule.lines[schedule.outer :]
        self.names: list[Name] = [a.name for a in s.accs]

    def write(self) -> None:
        if folds_inside(self.s):
            self.in_memory()
        elif any(a.kind == "scan" for a in self.s.axes) or not self.s.accs or not self.inner:
            self.in_sequence()
        else:
            self.reduce()
        self.k.statements(self.s.tail)

    def body(self, names: Sequence[Name], values: State) -> State:
        """One index: the accumulators' values before and after."""
        self.k.env.update(zip(names, values, strict=True))
        self.k.statements(self.s.body)
        return [self.k.env[n] for n in names]

    # -- in sequence --

    def in_sequence(self) -> None:
        """Every step sees what the step before left."""
        k = self.k
        start = [k.w.splat(constant(a.init.value, a.dtype), k.vector.lanes) for a in self.s.accs]
        k.env.update(zip(self.names, self.sequence(self.names, 0, start), strict=True))

    def sequence(self, names: Sequence[Name], depth: int, values: State) -> State:
        if depth == len(self.inner):
            return self.body(names, values)
        line = self.inner[depth]
        for span in spans(self.k, self.schedule, line, feeds=True):
            values = self.over(line, span, values, lambda inner: self.sequence(names, depth + 1, inner))
        return values

    def in_memory(self) -> None:
        """A structure inside folds into the accumulators: they live in stack slots."""
        k = self.k
        for acc in self.s.accs:
            k.memory_accs[acc.name] = k.w.slot(kind_of(acc.dtype))
            k.w.store(constant(acc.init.value, acc.dtype), k.memory_accs[acc.name])
        self.sequence((), 0, [])
        k.env.update((name, recall(k, name)) for name in self.names)

    # -- in lanes and blocks --

    def reduce(self) -> None:
        k, plan = self.k, self.schedule
        in_lanes = any(line.axis == plan.vector for line in self.inner)
        lanes = plan.lanes if in_lanes else k.vector.lanes
        reduction = Reduction(k, self.s, plan.block, lanes)
        state = self.reduce_level(reduction, 0, reduction.start())
        k.env.update(reduction.finish(state, 1 if in_lanes else lanes))

    def totals(self, part: Part) -> State:
        """What a part of the outermost reduce loop folds to; there is nothing around it."""
        plan = self.schedule
        reduction = Reduction(self.k, self.s, plan.block, plan.lanes if plan.vector is not None else 1)
        return reduction.totals(self.reduce_level(reduction, 0, reduction.start(), part), 1)

    def reduce_level(self, r: Reduction, depth: int, state: State, part: Part | None = None) -> State:
        """The reduce loops from `depth` inwards, with the state of everything so far."""
        line = self.inner[depth]
        for span in spans(self.k, self.schedule, line, feeds=True, part=part):
            if depth + 1 == len(self.inner):
                state = self.reduce_span(r, line, span, state)
            else:
                state = self.over(line, span, state, lambda inner: self.reduce_level(r, depth + 1, inner))
        return state

    def reduce_span(self, r: Reduction, line: Line, span: Span, state: State) -> State:
        """The innermost loop: into the state itself, or block by block into fresh accumulators."""
        if not r.compensated and span.lanes == r.lanes:
            return self.loop(r, line, span, state)
        if not r.compensated or span.masked or span.trips <= self.schedule.block:
            return r.fold(state, self.loop(r, line, span, r.fresh(span.lanes)))
        step = span.step * self.schedule.block

        def block(first: Value, carried: State) -> State:
            w = self.k.w
            part = Span(first, w.smallest(w.add(first, integer(step)), span.stop), span.step, span.lanes)
            return r.fold(carried, self.loop(r, line, part, r.fresh(span.lanes)))

        whole = Span(span.start, span.stop, step, 1, False, span.may_skip)
        return each(self.k, whole, state, False, block)

    def loop(self, r: Reduction, line: Line, span: Span, values: State) -> State:
        return self.over(line, span, values, lambda inner: self.body(r.names, inner))

    def over(self, line: Line, span: Span, values: State, inside: Callable[[State], State]) -> State:
        """A loop over a span that feeds the accumulators: what is carried from step to step, inside and behind."""
        return run(self.k, self.schedule, line, span, values, lambda _, inner: inside(inner), feeds=True)
