"""argmax and argmin of long rows in two passes: which block holds the extreme, then where in that block.

Finding the extreme alone takes a third of the work of tracking its position, and all but one block need no more.
The first of equal blocks is kept, and a NaN ends the search, so the position is that of a single pass.
"""

from __future__ import annotations

from ...ir_text import Value, constant, integer
from ...loopir.ir import Combine, Nest
from ...loopir.passes.schedule import Line, Schedule
from ..writing.kernel import KernelWriter
from .accumulate import Accumulation, State
from .reduce import Reduction, merged
from .spans import Span, each

BLOCK_STEPS = 64


class Search:
    """Writes the one reduce loop of a nest whose only accumulators are an extreme and its position."""

    line: Line

    def __init__(self, k: KernelWriter, s: Nest, schedule: Schedule):
        self.k = k
        self.s = s
        self.schedule = schedule
        (self.line,) = schedule.lines[schedule.outer :]
        best = s.accs[0]
        self.full: Accumulation = Accumulation(k, s, schedule)
        self.extreme: Accumulation = Accumulation(k, extreme_only(s), schedule)
        self.wide: int = 4 * k.target.register_bytes // best.dtype.itemsize
        self.block: int = self.wide * BLOCK_STEPS

    def write(self) -> None:
        k = self.k
        size = k.size(self.line.size)
        lowest = constant(self.s.accs[0].init.value, self.s.accs[0].dtype)
        blocks = Span(integer(0), size, self.block, may_skip=size.number is None)
        _, first = each(k, blocks, [lowest, integer(0)], False, self.better_block)
        reduction = Reduction(k, self.s, 0, self.schedule.lanes)
        wide = self.schedule.lanes * self.schedule.unroll
        state = self.part(self.full, reduction, first, self.stop(first), wide)
        k.env.update(reduction.finish(state, 1))
        k.statements(self.s.tail)

    def stop(self, first: Value) -> Value:
        w = self.k.w
        return w.smallest(w.add(first, integer(self.block)), self.k.size(self.line.size))

    def better_block(self, first: Value, carried: State) -> State:
        """The best value so far and where its block begins."""
        reduction = Reduction(self.k, self.extreme.s, 0, self.schedule.lanes)
        state = self.part(self.extreme, reduction, first, self.stop(first), self.wide)
        (value,) = reduction.narrowed(state, 1)
        rule = next(s.rule for s in self.s.body if isinstance(s, Combine))
        return merged(self.k, rule, carried, [value, first], [a.dtype for a in self.s.accs], ordered=True)

    def part(self, a: Accumulation, r: Reduction, first: Value, stop: Value, wide: int) -> State:
        """The state of a stretch: whole vectors, then the rest."""
        w, lanes = self.k.w, self.schedule.lanes
        length = w.sub(stop, first)
        whole = w.add(first, w.binary("and", length, integer(-wide)))
        state = r.fold(
            r.start(), a.loop(r, self.line, Span(first, whole, wide, wide, False, True), r.fresh(wide))
        )
        return a.loop(r, self.line, Span(whole, stop, lanes, lanes, True, True), state)


def extreme_only(s: Nest) -> Nest:
    """The nest without the position."""
    body = [
        Combine(c.rule.removeprefix("arg"), c.accs[:1], c.values[:1]) if isinstance(c, Combine) else c
        for c in s.body
    ]
    return Nest(s.axes, body, s.accs[:1])
