"""A nest that folds everything it does into its accumulators, block by block: a tree that depends on sizes alone.

Each block leaves what it folds to in a table; whoever has them all folds the table in order. So the result is the same
whoever did which block. Knows nothing of threads.
"""

from __future__ import annotations

from ...ir_text import Value, integer, kind_of
from ...loopir.ir import Nest
from ...loopir.passes.parallelize import BLOCK_COST, MOST_BLOCKS
from ..writing.kernel import KernelWriter
from .accumulate import Accumulation, State
from .nest import NestWriter
from .reduce import Reduction
from .spans import Part, Span, each

WORD = 8  # bytes of a value in the table


def layout(k: KernelWriter, size: Value, cost: Value, unit: int) -> tuple[Value, Value]:
    """Iterations of a block, and how many blocks: at most so many, none of them short work."""
    w = k.w
    if size.number is not None and cost.number is not None:
        number = -(-max(-(-size.number // MOST_BLOCKS), BLOCK_COST // cost.number, 1) // unit) * unit
        return integer(number), integer(-(-size.number // number))
    even = w.binary("udiv", w.add(size, integer(MOST_BLOCKS - 1)), integer(MOST_BLOCKS))
    least = w.binary("udiv", integer(BLOCK_COST), cost)
    up = w.add(w.intrinsic("umax", w.intrinsic("umax", even, least), integer(1)), integer(unit - 1))
    block = w.mul(w.binary("udiv", up, integer(unit)), integer(unit))
    return block, w.binary("udiv", w.add(size, w.sub(block, integer(1))), block)


class Blocks(NestWriter):
    """Writes a `part` of the blocks of a nest without outer loops and without a tail."""

    block: Value
    table: Value

    def __init__(self, k: KernelWriter, s: Nest, part: Part, block: Value, table: Value):
        super().__init__(k, s, s.schedule, part)
        self.block, self.table = block, table

    def write(self) -> None:
        assert self.part is not None
        self.prepare()
        with self.k.w.scope(certain=False):
            self.allow_motion()
            each(self.k, Span(*self.part, may_skip=True), [], False, self.one)

    def one(self, number: Value, _: State) -> State:
        k, w = self.k, self.k.w
        first = w.mul(number, self.block)
        last = w.smallest(w.add(first, self.block), k.size(self.inner[0].size))
        for p, value in enumerate(Accumulation(k, self.s, self.schedule).totals((first, last))):
            w.store(value, place(k, self.table, number, p))
        return []


def place(k: KernelWriter, table: Value, number: Value, p: int) -> Value:
    """Where the table has value `p` of a block."""
    return k.w.step(k.w.step(table, p * MOST_BLOCKS * WORD), number, "i64")


def fold(k: KernelWriter, s: Nest, table: Value, count: Value) -> None:
    """The accumulators of a nest from the table of its blocks, and its tail."""
    before = k.dropped, k.stored, k.still, k.vector, k.ordered
    NestWriter(k, s, s.schedule).prepare()
    k.still = None
    reduction = Reduction(k, s, s.schedule.block, 1)
    kinds = [kind_of(acc.dtype) for g in reduction.groups for acc in g.accs]

    def add(number: Value, state: State) -> State:
        return reduction.fold(
            state, [k.w.load(kind, place(k, table, number, p)) for p, kind in enumerate(kinds)]
        )

    state = each(k, Span(integer(0), count, may_skip=True), reduction.start(), False, add)
    k.env.update(reduction.finish(state, 1))
    k.statements(s.tail)
    k.dropped, k.stored, k.still, k.vector, k.ordered = before
