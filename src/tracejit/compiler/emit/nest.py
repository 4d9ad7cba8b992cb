"""A nest as loops: blocks, strips of vectors and masked rests, as its schedule says.

Loads and computations that an inner loop does not change are placed before it. How statements and accumulators
look inside is not known here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

from ..loops import Call, Load, Name, Nest, Size_, Statement, Store, Compute, Combine, Fail, walk
from ..schedule import Line, Schedule, plan
from .kernel import SCALAR, Kernel, Vector
from .reduce import Reduction, holds_structure_folding, recall
from .text import Value, constant, integer, iota, kind_of

Body = Callable[[Value, list[Value]], list[Value]]
_PLAIN = (Load, Store, Compute, Size_, Combine, Fail, Nest)


@dataclass
class Span:
    """A stretch of a loop: ``range(start, stop, step)`` in `lanes` lanes, some of which do not exist if `masked`."""

    start: Value
    stop: Value
    step: int = 1
    lanes: int = 1
    masked: bool = False
    may_skip: bool = False


def nest(k: Kernel, s: Nest) -> None:
    if s.schedule is None:
        s.schedule = plan(s, k.target)
    assert isinstance(s.schedule, Schedule)
    writer = NestWriter(k, s, s.schedule)
    before = k.dropped, k.stored, k.still, k.vector, k.ordered, k.w.block
    writer.write()
    k.dropped, k.stored, k.still, k.vector, k.ordered, _ = before


def each(k: Kernel, span: Span, carried: list[Value], certain: bool, body: Body) -> list[Value]:
    """A loop over a span; straight-line code when it runs once, nothing when it never runs."""
    w, start, stop = k.w, span.start.number, span.stop.number
    if start is not None and stop is not None and stop - start <= span.step:
        if stop <= start:
            return carried
        w.enter()
        values = body(span.start, carried)
        w.leave()
        return [w.bound(v.text, v.kind, v.lanes) for v in values]
    loop = w.open_loop(span.start, span.stop, span.step, carried, certain, span.may_skip)
    return w.close_loop(loop, body(loop.var, loop.values))


class NestWriter:
    """Writes one nest."""

    def __init__(self, k: Kernel, s: Nest, schedule: Schedule):
        self.k, self.s, self.schedule = k, s, schedule
        self.outer, self.inner = schedule.lines[: schedule.outer], schedule.lines[schedule.outer :]

    def write(self) -> None:
        k, s = self.k, self.s
        k.vector = SCALAR
        k.acc_types.update((a.name, a.dtype) for a in s.accs)
        k.ordered = sum(a.kind == "reduce" for a in s.axes) == 1
        k.dropped = k.dropped | {name for line in self.schedule.lines for name in line.merged}
        for name in self.schedule.gone:
            k.env[name] = integer(0)
        if self.schedule.full:
            k.still = None
            self.write_out()
        elif not any(isinstance(line.size, int) and line.size <= 0 for line in self.outer):
            self.write_loops()

    # -- written out --

    def write_out(self) -> None:
        for outer in self.points(self.outer):
            self.place(self.outer, outer)
            self.initialize()
            for inner in self.points(self.inner):
                self.place(self.inner, inner)
                self.k.statements(self.s.body)
            self.k.statements(self.s.tail)

    def points(self, lines: tuple[Line, ...]) -> product:
        return product(*(range(line.size) for line in lines))  # type: ignore[arg-type]

    def place(self, lines: tuple[Line, ...], point: tuple[int, ...]) -> None:
        self.k.env.update((line.axis, integer(p)) for line, p in zip(lines, point, strict=True))

    def initialize(self) -> None:
        self.k.env.update((a.name, constant(a.init.value, a.dtype)) for a in self.s.accs)

    # -- loops --

    def write_loops(self) -> None:
        """The loops, behind a test that no outer axis is empty; then nothing inside may be skipped by surprise."""
        k, w = self.k, self.k.w
        number = w.fresh("")
        tests = [w.compare("sgt", k.size(line.size), integer(0)) for line in self.outer if not isinstance(line.size, int)]
        if tests:
            test = tests[0]
            for other in tests[1:]:
                test = w.put("i1", 1, f"and i1 {test.text}, {other.text}", test, other)
            w.fork(test, f"nest{number}", f"after{number}")
            w.label(f"nest{number}")
        w.enter(certain=False)
        self.allow_motion()
        self.level(0)
        w.leave()
        if tests:
            w.branch(f"after{number}")
            w.label(f"after{number}")
        self.rebind()

    def rebind(self) -> None:
        """Accumulators of a nest without outer loops stay visible behind it."""
        if not self.outer:
            for acc in self.s.accs:
                v = self.k.env[acc.name]
                self.k.env[acc.name] = self.k.w.bound(v.text, v.kind, v.lanes)

    def allow_motion(self) -> None:
        """Loads may move to the front of the nest unless something inside changes what they read."""
        k, inside = self.k, list(walk(self.s.body)) + list(walk(self.s.tail))
        k.stored = {s.buffer for s in inside if isinstance(s, Store)}
        k.stored.update(s.views[2].buffer for s in inside if isinstance(s, Call))
        k.still = k.w.depth if all(isinstance(s, _PLAIN) for s in inside) else None

    def level(self, depth: int) -> None:
        """The loops around the accumulators, from `depth` inwards."""
        if depth == len(self.outer):
            self.accumulate()
            return
        line = self.outer[depth]

        def body(var: Value, _: list[Value]) -> list[Value]:
            self.k.env[line.axis] = var
            self.level(depth + 1)
            return []

        for span in self.spans(line):
            self.run(line, span, [], body)

    def run(self, line: Line, span: Span, carried: list[Value], body: Body, reducing: bool = False) -> list[Value]:
        """A loop over a span, its lanes in force inside."""
        k, w = self.k, self.k.w
        before = k.vector
        certain = not reducing or isinstance(line.size, int)

        def inside(var: Value, values: list[Value]) -> list[Value]:
            if line.axis == self.schedule.vector:
                mask = self.mask(span, var) if span.masked else None
                k.vector = Vector(line.axis, span.lanes, mask, reducing) if span.lanes > 1 else SCALAR
            return body(var, values)

        result = each(k, span, carried, certain, inside)
        k.vector = before
        assert w.scopes
        return result

    def mask(self, span: Span, var: Value) -> Value:
        """Which lanes exist."""
        k, w, lanes = self.k, self.k.w, span.lanes
        kind = f"i{max(8, min(64, 8 * k.target.register_bytes // lanes))}"
        left = w.smallest(w.sub(span.stop, var), integer(lanes))
        if kind != "i64":
            left = w.put(kind, 1, f"trunc i64 {left.text} to {kind}", left)
        limit, place = w.splat(left, lanes), iota(kind, lanes)
        return w.put("i1", lanes, f"icmp ult {place.typed}, {limit.text}", limit)

    def spans(self, line: Line) -> list[Span]:
        """The stretches of a loop: one, or whole vectors and the rest."""
        k, plan_, size = self.k, self.schedule, self.k.size(line.size)
        zero = integer(0)
        reducing = line in self.inner
        if line.axis != plan_.vector:
            return [Span(zero, size, 1, k.vector.lanes, may_skip=reducing and size.number is None)]
        lanes, wide = plan_.lanes, plan_.lanes * plan_.unroll
        if plan_.masked:
            return [Span(zero, size, lanes, lanes, True)]
        if size.number is None:
            whole = k.w.put("i64", 1, f"and i64 {size.text}, {-wide}", size)
            return [
                Span(zero, whole, wide, wide, may_skip=True),
                Span(whole, size, lanes, lanes, True, may_skip=True),
            ]
        whole = integer(size.number // wide * wide)
        ragged = (size.number - whole.number) % lanes != 0  # type: ignore[operator]
        return [Span(zero, whole, wide, wide), Span(whole, size, lanes, lanes, ragged)]

    # -- accumulators --

    def accumulate(self) -> None:
        """The loops that feed the accumulators, then the tail."""
        if holds_structure_folding(self.s):
            self.in_memory()
        elif any(a.kind == "scan" for a in self.s.axes) or not self.s.accs or not self.inner:
            self.in_sequence()
        else:
            self.reduce()
        self.k.statements(self.s.tail)

    def in_sequence(self) -> None:
        """Every step sees what the step before left."""
        k = self.k
        start = [k.w.splat(constant(a.init.value, a.dtype), k.vector.lanes) for a in self.s.accs]
        self.finish(self.sequence(0, start))

    def sequence(self, depth: int, values: list[Value]) -> list[Value]:
        if depth == len(self.inner):
            return self.body(values)
        line = self.inner[depth]

        def body(var: Value, carried: list[Value]) -> list[Value]:
            self.k.env[line.axis] = var
            return self.sequence(depth + 1, carried)

        for span in self.spans(line):
            values = self.run(line, span, values, body, reducing=True)
        return values

    def in_memory(self) -> None:
        """A structure inside folds into the accumulators: they live in stack slots."""
        k = self.k
        for acc in self.s.accs:
            slot = k.memory_accs[acc.name] = k.w.slot(kind_of(acc.dtype))
            k.w.do(f"store {constant(acc.init.value, acc.dtype).typed}, ptr {slot}, align 8")
        self.sequence(0, [])
        self.finish([recall(k, acc.name) for acc in self.s.accs])

    def body(self, values: list[Value]) -> list[Value]:
        k, names = self.k, [a.name for a in self.s.accs]
        k.env.update(zip(names, values, strict=False))
        k.statements(self.s.body)
        return [k.env[n] for n in names] if values else []

    def finish(self, values: list[Value]) -> None:
        self.k.env.update((a.name, v) for a, v in zip(self.s.accs, values, strict=False))

    def reduce(self) -> None:
        k, plan_ = self.k, self.schedule
        vector_inside = any(line.axis == plan_.vector for line in self.inner)
        lanes = plan_.lanes if vector_inside else k.vector.lanes
        reduction = Reduction(k, self.s, plan_.block, lanes)
        state = self.reduce_level(reduction, 0, reduction.start())
        k.env.update(reduction.finish(state, 1 if vector_inside else lanes))

    def reduce_level(self, r: Reduction, depth: int, state: list[Value]) -> list[Value]:
        """The reduce loops from `depth` inwards, with the state of everything so far."""
        line = self.inner[depth]
        if depth + 1 < len(self.inner):

            def body(var: Value, carried: list[Value]) -> list[Value]:
                self.k.env[line.axis] = var
                return self.reduce_level(r, depth + 1, carried)

            return self.run(line, self.spans(line)[0], state, body, reducing=True)
        for span in self.spans(line):
            state = self.reduce_span(r, line, span, state)
        return state

    def reduce_span(self, r: Reduction, line: Line, span: Span, state: list[Value]) -> list[Value]:
        """The innermost loop: into the state itself, or block by block into fresh accumulators."""

        def body(var: Value, values: list[Value]) -> list[Value]:
            self.k.env[line.axis] = var
            return self.body(values)

        if not r.compensated and span.lanes == r.lanes:
            return self.in_order(r, self.run(line, span, self.by_acc(r, state), body, reducing=True))
        if not r.compensated or span.masked or self.trips(span) <= self.schedule.block:
            return r.fold(state, self.in_order(r, self.run(line, span, self.by_acc(r, r.fresh(span.lanes)), body, True)))
        step = span.step * self.schedule.block

        def block(first: Value, carried: list[Value]) -> list[Value]:
            w = self.k.w
            stop = w.smallest(w.add(first, integer(step)), span.stop)
            part = Span(first, stop, span.step, span.lanes)
            return r.fold(carried, self.in_order(r, self.run(line, part, self.by_acc(r, r.fresh(span.lanes)), body, True)))

        return each(self.k, Span(span.start, span.stop, step, 1, False, span.may_skip), state, False, block)

    def trips(self, span: Span) -> float:
        if span.start.number is None or span.stop.number is None:
            return float("inf")
        return (span.stop.number - span.start.number) / span.step

    def by_acc(self, r: Reduction, values: list[Value]) -> list[Value]:
        """Values in the order of groups, put in the order of the accumulators."""
        names = [a.name for g in r.groups for a in g.accs]
        return [values[names.index(a.name)] for a in self.s.accs]

    def in_order(self, r: Reduction, values: list[Value]) -> list[Value]:
        """The inverse of `by_acc`."""
        position = {a.name: p for p, a in enumerate(self.s.accs)}
        return [values[position[a.name]] for g in r.groups for a in g.accs]


__all__ = ["Name", "Statement", "nest"]
