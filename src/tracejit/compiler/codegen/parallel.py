"""A nest given to the thread pool: its loops as a function of a range of the outermost loop's iterations.

The function has pointers, sizes and scalars as parameters, as every function of loops; what the pool calls takes them
out of a closure, memory of the caller's, and puts memory of the thread's own in the place of private buffers. Without
a pool the loops stand where they always did, and do the same arithmetic.
"""

from __future__ import annotations

from dataclasses import replace

from ...core.dim import Size
from ...runtime.threads.state import SCRATCH
from ..ir_text import DIRECTS, NULL, Value, Writer, function, integer
from ..loopir.ir import Call, Nest, Size_, While
from ..loopir.passes.parallelize import MOST_BLOCKS, Parallel
from ..loopir.statement import Statement
from . import structure
from .footprint import Footprint
from .nests import folding
from .nests import nest as nests
from .nests.spans import Span, each
from .poll import Place, look, quick
from .writing.context import CTX, closure_of, hand_over
from .writing.kernel import NAME_OF_PART, SCALAR, KernelWriter

INLINE_MATH = 8  # calls of elementary functions from which a function no longer inlines them
ALIGN = 64  # of every private buffer
AT_ONCE = 20_000_000_000  # picoseconds of a loop's work between two questions whether to go on
_CLOSURE, _BEGIN, _END = Value("%closure", "ptr"), Value("%begin", "i64"), Value("%end", "i64")
ONE = integer(1)
_OWN, _WORK = Value("%own", "ptr"), Value("%work", "ptr")


def nest(k: KernelWriter, s: Nest) -> None:
    """A nest as loops here, or as a job for the pool."""
    parallel = None if s.schedule is None else s.schedule.parallel
    if parallel is None or k.cursor is not None:
        nests.nest(k, s)
    elif parallel.folds:
        ReducedNest(k, s, parallel).write()
    elif k.shares:
        ParallelNest(k, s, parallel).write()
    else:
        nests.nest(k, s)


def loop(k: KernelWriter, s: While) -> None:
    """A loop here, or as jobs for the pool."""
    if s.parallel is not None and k.shares:
        ParallelLoop(k, s, s.parallel).write()
    else:
        structure.loop(k, s)


def directs(k: KernelWriter, s: Statement) -> bool:
    """Does a statement leave all work to others, the thread pool and library kernels?"""
    if isinstance(s, Nest):
        parallel = None if s.schedule is None else s.schedule.parallel
        return parallel is not None and not parallel.folds and k.shares and k.cursor is None
    if isinstance(s, While):
        shared = s.parallel is not None and k.shares
        return shared or all(directs(k, inner) for inner in (*s.cond, *s.body))
    return isinstance(s, (Call, Size_))


class Shared:
    """Writes the function of some loops, and the job in the function that they stand in.

    Attributes
    ----------
    inner : KernelWriter
        Of the function.
    print : Footprint
        What the loops need.
    parameters, arguments : list of Value
        Inside and outside.
    scratch : int or Dim
        Bytes of its own memory that a thread uses for library calls and strips, in the place of workspace.
    """

    k: KernelWriter
    parallel: Parallel

    def __init__(self, k: KernelWriter, s: Statement, parallel: Parallel):
        self.k, self.parallel = k, parallel
        self.print: Footprint = Footprint([s])
        self.inner: KernelWriter = KernelWriter(k.module, k.writers)
        self.inner.inline_math = self.print.elementary < INLINE_MATH
        self.parameters: list[Value] = []
        self.arguments: list[Value] = []
        self.scratch: Size = 0

    def defined(self) -> str:
        """The name of the function, which is written."""
        self.k.module.declares.update(dict.fromkeys(sorted(self.inner.w.declares.values())))
        return self.k.module.part(self.loops() + self.opened())

    # -- the function --

    def take(self) -> None:
        """What the loops need of the function around them."""
        k, inner, print_ = self.k, self.inner, self.print
        for p, b in enumerate(print_.buffers):
            inner.pointers[b] = self.pass_in(f"%b{p}", k.pointer(b))
        for p, atom in enumerate(a for a in print_.atoms() if a in k.atoms):
            inner.atoms[atom] = self.pass_in(f"%a{p}", k.atoms[atom])
        for p, name in enumerate(n for n in print_.uses if n in k.env and n not in print_.defines):
            inner.env[name] = self.pass_in(f"%s{p}", k.env[name])
        if print_.scratch != 0:
            self.pass_in(_WORK.text, _WORK)

    def pass_in(self, name: str, argument: Value) -> Value:
        parameter = Value(name, argument.kind)
        self.parameters.append(parameter)
        self.arguments.append(argument)
        return parameter

    def loops(self) -> str:
        """The loops over a range."""
        buffers = len(self.print.buffers)
        spelled = [f"ptr noalias {p}" for p in self.parameters[:buffers]]
        spelled += [p.typed for p in (*self.parameters[buffers:], _BEGIN, _END)]
        return function(f"internal void {NAME_OF_PART}({', '.join(spelled)}) #0", self.inner.w, "void")

    def opened(self) -> str:
        """What the pool calls: the loops with what is in the closure."""
        w = Writer()
        arguments = [w.load(p.kind, w.step(_CLOSURE, 8 * place)) for place, p in enumerate(self.parameters)]
        shared = w.compare("eq", _OWN, NULL)
        if self.scratch != 0:
            which = [p.text for p in self.parameters].index(_WORK.text)
            arguments[which] = w.select(shared, arguments[which], _OWN)
        for place, b in enumerate(self.parallel.private, len(arguments)):
            which = list(self.print.buffers).index(b)
            own = w.step(_OWN, w.load("i64", w.step(_CLOSURE, 8 * place)))
            arguments[which] = w.select(shared, arguments[which], own)
        spelled = ", ".join(a.typed for a in (*arguments, _BEGIN, _END))
        w.stmt(f"call void {NAME_OF_PART}({spelled})")
        parameters = ", ".join(p.typed for p in (_CLOSURE, _BEGIN, _END, _OWN))
        return function(f"internal void {NAME_OF_PART}.job({parameters}) {DIRECTS} #1", w, "void")

    # -- the job --

    def call(self, name: str, count: Value, unit: int, iterations: Value = ONE) -> None:
        """Fill the closure, and hand the job to the pool: `count` parts of so many iterations."""
        k, w = self.k, self.k.w
        offsets, room = self.private_places()
        values = [*self.arguments, *map(k.size, offsets)]
        closure = closure_of(k, values)
        if not k.shares:
            spelled = ", ".join(v.typed for v in (closure, integer(0), count, NULL))
            w.stmt(f"call void {name}.job({spelled})")
            return
        cost = w.mul(k.size(self.parallel.cost), iterations)
        if not isinstance(room, int) or room > SCRATCH:  # where it does not fit, there is nothing to share
            cost = w.select(w.compare("sle", k.size(room), integer(SCRATCH)), cost, integer(0))
        hand_over(k, name, closure, count, unit, cost)

    def private_places(self) -> tuple[list[Size], Size]:
        """Where private buffers are in a thread's own memory, and how much of it they take."""
        offsets: list[Size] = []
        room = aligned(self.scratch)
        for b in self.parallel.private:
            offsets.append(room)
            room = room + aligned(b.size * b.dtype.itemsize)
        return offsets, room


def aligned(size: Size) -> Size:
    """Bytes that leave what follows aligned, or room to align it."""
    return -(-size // ALIGN) * ALIGN if isinstance(size, int) else size + ALIGN


class ParallelNest(Shared):
    """Writes one nest whose outermost loop is shared."""

    def __init__(self, k: KernelWriter, s: Nest, parallel: Parallel):
        super().__init__(k, s, parallel)
        self.s = s

    def write(self) -> None:
        self.take()
        nests.nest(self.inner, self.s, part=(_BEGIN, _END))
        self.call(self.defined(), self.k.size(self.s.schedule.lines[0].size), self.parallel.unit)


class ParallelLoop(Shared):
    """Writes a loop whose iterations are shared, some milliseconds of them at a time, so that it can be stopped."""

    def __init__(self, k: KernelWriter, s: While, parallel: Parallel):
        super().__init__(k, s, parallel)
        self.s: While = s
        self.scratch: Size = self.print.scratch
        self.inner.shares = self.inner.asks = False

    def write(self) -> None:
        k, s = self.k, self.s
        before = k.vector, k.still, k.stored
        k.vector, k.still = SCALAR, None
        self.take()
        self.pass_in(CTX.text, CTX)
        first = self.pass_in("%first", integer(0))  # that of each job
        each(self.inner, Span(_BEGIN, _END), [], False, lambda number, _: self.iteration(first, number))
        self.jobs(self.defined())
        k.vector, k.still, k.stored = before
        structure.counted(k, s, k.size(self.count))

    @property
    def count(self) -> Size:
        assert self.s.count is not None and not isinstance(self.s.count, str)
        return self.s.count

    def iteration(self, first: Value, number: Value) -> list[Value]:
        inner, trips = self.inner, self.inner.w.add(first, number)
        inner.env[self.s.index] = structure.position(inner, self.s, trips, inner.size(self.count))
        inner.statements(self.s.body)
        return []

    def jobs(self, name: str) -> None:
        """The jobs one after another; between them the loop may be stopped."""
        k, w, s = self.k, self.k.w, self.s
        total, cost = k.size(self.count), self.parallel.cost
        if isinstance(cost, int):
            at_once = integer(max(AT_ONCE // cost, 1))
        else:
            at_once = w.intrinsic("umax", w.binary("udiv", integer(AT_ONCE), k.size(cost)), ONE)
        rounds = w.binary("udiv", w.add(total, w.sub(at_once, ONE)), at_once)

        def job(number: Value, _: list[Value]) -> list[Value]:
            first = self.arguments[-1] = w.mul(number, at_once)
            done = w.smallest(w.add(first, at_once), total)
            count = w.sub(done, first)
            self.call(name, count, 1)
            here = Place(-1 if s.location is None else s.location, done, total)
            if not quick(s):
                look(k, s, here, k.outermost or here, count)
            return []

        each(k, Span(integer(0), rounds, may_skip=True), [], False, job)


class ReducedNest(ParallelNest):
    """Writes a nest whose outermost loop feeds accumulators: blocks as a job, then what they fold to."""

    def __init__(self, k: KernelWriter, s: Nest, parallel: Parallel):
        super().__init__(k, replace(s, tail=[]), parallel)
        self.whole = s

    def write(self) -> None:
        k, line = self.k, self.whole.schedule.lines[0]
        table = k.w.slot("i64", MOST_BLOCKS * len(self.whole.accs))
        size, cost = k.size(line.size), k.size(self.parallel.cost)
        block, count = folding.layout(k, size, cost, self.parallel.unit)
        self.take()
        inside = self.pass_in("%block", block), self.pass_in("%table", table)
        folding.Blocks(self.inner, self.s, (_BEGIN, _END), *inside).write()
        self.call(self.defined(), count, 1, block)
        folding.fold(k, self.whole, table, count)
