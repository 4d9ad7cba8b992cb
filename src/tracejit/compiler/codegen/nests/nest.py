"""A nest as loops, or written out, as its schedule says.

Loads that an inner loop does not change may move in front of it. How statements look inside, and how
accumulators combine, is not known here.
"""

from __future__ import annotations

from contextlib import nullcontext
from itertools import product

from ...ir_text import Value, constant, integer
from ...loopir.ir import Combine, Compute, Load, Nest, Size_, Store, walk
from ...loopir.passes.schedule import Line, Schedule, plan
from ..writing.kernel import SCALAR, KernelWriter
from .accumulate import Accumulation
from .search import Search
from .spans import Part, run, spans
from .strips import Strips

_MOVABLE = (Load, Store, Compute, Size_, Combine, Nest)


def nest(k: KernelWriter, s: Nest, part: Part | None = None) -> None:
    """A nest, or a `part` of the iterations of its outermost loop."""
    if s.schedule is None:
        s.schedule = plan(s, k.target)
    assert isinstance(s.schedule, Schedule)
    before = k.dropped, k.stored, k.still, k.vector, k.ordered
    NestWriter(k, s, s.schedule, part).write()
    k.dropped, k.stored, k.still, k.vector, k.ordered = before


class NestWriter:
    """Writes one nest."""

    k: KernelWriter
    part: Part | None
    s: Nest
    schedule: Schedule
    inner: tuple[Line, ...]
    outer: tuple[Line, ...]

    def __init__(self, k: KernelWriter, s: Nest, schedule: Schedule, part: Part | None = None):
        self.k, self.s, self.schedule, self.part = k, s, schedule, part
        self.outer, self.inner = schedule.lines[: schedule.outer], schedule.lines[schedule.outer :]

    def prepare(self) -> None:
        """What statements inside ask of the kernel."""
        k, s = self.k, self.s
        k.vector = SCALAR
        k.acc_types.update((a.name, a.dtype) for a in s.accs)
        k.ordered = sum(a.kind == "reduce" for a in s.axes) == 1
        k.dropped = k.dropped | {name for line in self.schedule.lines for name in line.merged}
        k.env.update(dict.fromkeys(self.schedule.gone, integer(0)))

    def write(self) -> None:
        self.prepare()
        if self.schedule.full:
            self.k.still = None
            self.write_out()
        elif not any(isinstance(line.size, int) and line.size <= 0 for line in self.outer):
            self.write_loops()

    # -- written out --

    def write_out(self) -> None:
        k, s = self.k, self.s
        for outer in self.points(self.outer):
            self.put_at(self.outer, outer)
            k.env.update((a.name, constant(a.init.value, a.dtype)) for a in s.accs)
            for inner in self.points(self.inner):
                self.put_at(self.inner, inner)
                k.statements(s.body)
            k.statements(s.tail)

    def points(self, lines: tuple[Line, ...]) -> product[tuple[int, ...]]:
        return product(*(range(int(line.size)) for line in lines))

    def put_at(self, lines: tuple[Line, ...], point: tuple[int, ...]) -> None:
        self.k.env.update((line.axis, integer(p)) for line, p in zip(lines, point, strict=True))

    # -- loops --

    def write_loops(self) -> None:
        """The loops, behind a test that no outer axis is empty: what moves out of them would have run."""
        k, w = self.k, self.k.w
        test = self.none_empty()
        with nullcontext() if test is None else w.when(test, "nest"), w.scope(certain=False):
            self.allow_motion()
            self.level(0)
        if not self.outer:  # then the accumulators stay visible
            for name in (a.name for a in self.s.accs):
                k.env[name] = w.define(k.env[name].text, k.env[name].kind)

    def none_empty(self) -> Value | None:
        w, test = self.k.w, None
        for line in self.outer:
            if not isinstance(line.size, int):
                more = w.compare("sgt", self.k.size(line.size), integer(0))
                test = more if test is None else w.binary("and", test, more)
        return test

    def allow_motion(self) -> None:
        """Loads may move to the front of the nest unless something inside changes or checks what is read."""
        k, inside = self.k, [*walk(self.s.body), *walk(self.s.tail)]
        k.stored = {b for s in inside for b in s.writes()}
        k.still = k.w.depth if all(isinstance(s, _MOVABLE) for s in inside) else None

    def level(self, depth: int) -> None:
        """The loops around the accumulators, from `depth` inwards."""
        k, plan_ = self.k, self.schedule
        if depth == len(self.outer):
            (Search if plan_.search else Accumulation)(k, self.s, plan_).write()
        elif depth + 1 == len(self.outer) and plan_.strips:
            Strips(k, self.s, plan_, self.part if depth == 0 else None).write()
        else:
            self.loop(depth)

    def loop(self, depth: int) -> None:
        k, plan_, line = self.k, self.schedule, self.outer[depth]

        def body(var: Value, _: list[Value]) -> list[Value]:
            self.level(depth + 1)
            return []

        for span in spans(k, plan_, line, part=self.part if depth == 0 else None):
            run(k, plan_, line, span, [], body)
