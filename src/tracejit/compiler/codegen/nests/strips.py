"""Sums down the rows of a wide array: blocks of rows, and in each the columns strip by strip.

Walking a strip down all rows touches a new page at every step. Here the state of every column waits in the
workspace while the other strips of a block of rows pass.
"""

from __future__ import annotations

from collections.abc import Callable

from ....core.dim import Size
from ...ir_text import Value, integer, memory_kind
from ...loopir.ir import Nest
from ...loopir.passes.schedule import STRIP_ROWS, Line, Schedule
from ..writing.buffers import byte, truth
from ..writing.kernel import KernelWriter
from .accumulate import Accumulation, State
from .reduce import Reduction
from .spans import Part, Span, each, run, spans

WORD = 8  # bytes of a state value in the workspace, whatever its type
MARGIN = 64  # elements behind each row of state values: lanes that do not exist are written too


def scratch_bytes(s: Nest) -> Size:
    """Workspace that the state of every column needs."""
    assert isinstance(s.schedule, Schedule)
    return (s.schedule.lines[s.schedule.outer - 1].size + MARGIN) * (2 * len(s.accs) * WORD)


class Strips:
    """Writes the innermost outer loop of a nest, and the one loop that feeds the accumulators."""

    k: KernelWriter
    part: Part | None
    s: Nest
    schedule: Schedule
    columns: Line
    rows: Line

    def __init__(self, k: KernelWriter, s: Nest, schedule: Schedule, part: Part | None = None):
        self.k, self.s, self.schedule, self.part = k, s, schedule, part
        self.columns, self.rows = schedule.lines[schedule.outer - 1], schedule.lines[schedule.outer]
        self.accumulation: Accumulation = Accumulation(k, s, schedule)

    def write(self) -> None:
        k = self.k
        self.over_columns(lambda r: self.save(r, r.start()))
        size = k.size(self.rows.size)
        rows = Span(integer(0), size, STRIP_ROWS, may_skip=size.number is None)
        each(k, rows, [], False, self.block)
        self.over_columns(self.finish)

    def over_columns(self, what: Callable[[Reduction], None]) -> None:
        """A loop over strips, with a reduction of the strip's lanes."""

        def body(var: Value, _: State) -> State:
            what(Reduction(self.k, self.s, self.schedule.block, self.k.vector.lanes))
            return []

        for span in spans(self.k, self.schedule, self.columns, part=self.part):
            run(self.k, self.schedule, self.columns, span, [], body)

    def block(self, first: Value, _: State) -> State:
        """All strips of a block of rows."""
        w = self.k.w
        stop = w.smallest(w.add(first, integer(STRIP_ROWS)), self.k.size(self.rows.size))

        def strip(r: Reduction) -> None:
            span = Span(first, stop, 1, r.lanes)
            self.save(r, r.fold(self.saved(r), self.accumulation.loop(r, self.rows, span, r.fresh(r.lanes))))

        self.over_columns(strip)
        return []

    def finish(self, r: Reduction) -> None:
        self.k.env.update(r.finish(self.saved(r), r.lanes))
        self.k.statements(self.s.tail)

    # -- the state in memory --

    def place(self, number: int, kind: str) -> Value:
        """Where the current strip's part of state value `number` is."""
        w, column = self.k.w, self.k.env[self.columns.axis]
        work = Value("%work", "ptr")
        start = w.mul(w.add(self.k.size(self.columns.size), integer(MARGIN)), integer(number * WORD))
        return w.step(w.step(work, start), column, kind)

    def save(self, r: Reduction, state: State) -> None:
        for number, value in enumerate(byte(self.k, v) for v in state):
            self.k.w.store(value, self.place(number, value.kind), 1)

    def saved(self, r: Reduction) -> State:
        state = []
        for number, v in enumerate(r.start()):
            kind = memory_kind(v.kind)
            value = self.k.w.load(kind, self.place(number, kind), 1, v.lanes)
            state.append(truth(self.k, value) if v.kind == "i1" else value)
        return state
