"""Which nests may run on several threads: large ones, whose outermost iterations touch different memory.

The decision depends on the program alone, never on how many processors there are: the same code runs on one thread.
Memory that every iteration uses for itself alone becomes private to each thread. Knows nothing of threads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ....core.dataclass import dataclass
from ....core.dim import Size, nonnegative, product
from ..called_kernels import KERNELS, LANES
from ..ir import Call, Combine, Compute, If, Load, Nest, Program, Size_, Store, While, walk
from ..operands import Buffer, Index, Name
from ..reach import Reach, reach
from ..scalar_ops import SCALAR_OPS
from ..statement import Statement

LEAST = 20_000_000
"""Picoseconds of work below which a nest or a loop stays whole."""
PRIVATE = 1 << 21
"""Bytes that a thread has to itself."""
STRIP = 2048
"""Bytes of a row that one thread sums down at least: less would touch a page for little."""
MOST_BLOCKS = 64
"""Blocks in which a nest folds everything: their number is the same on every machine, as rounding depends on it."""
MANY = 8
"""Iterations of a loop from which they are shared, and not the nests in them, however long they are."""
BLOCK_COST = 4_000_000
"""Picoseconds of work in a block at least."""
UNASKED = 1_000_000_000
"""Picoseconds of an iteration, with loops in it, at the most: these do not ask whether to go on."""
_LANE = 800  # picoseconds of a cycle, over all lanes of a register
_MEMORY, _COMBINE = 1.0, 0.5  # cycles of an access and of a step of an accumulator
_PRODUCT = 4  # picoseconds of a byte of each product of a matrix product
_MOVED = 1000  # picoseconds of an element of a small matrix that goes into a lane and out of it
_INSIDE = (Load, Store, Compute, Size_, Combine, Nest, If)


@dataclass(frozen=True)
class Parallel:
    """How the iterations of a loop, or of a nest's outermost one, are given to threads.

    Attributes
    ----------
    cost : int or Dim
        About how many picoseconds one takes.
    unit : int
        Threads take multiples of so many.
    private : tuple of Buffer
        Memory of which every thread needs some of its own.
    folds : bool
        The outermost loop feeds accumulators: it runs in blocks, whose results are folded at the end.
    """

    cost: Size
    unit: int
    private: tuple[Buffer, ...] = ()
    folds: bool = False

    def __str__(self) -> str:
        how = "parallel blocks" if self.folds else "parallel"
        return f"{how} in {self.unit}" if self.unit > 1 else how


def parallelize(program: Program) -> None:
    """Mark the outermost loops and nests that may run on several threads; nests have schedules."""
    mentions: Counter[Buffer] = Counter(b for s in walk(program.body) for b in s.buffers())
    for s in outermost(program.body, mentions):
        if isinstance(s, Nest) and s.schedule.parallel is None:
            s.schedule = replace(s.schedule, parallel=of_nest(s, mentions))


def outermost(block: Iterable[Statement], mentions: Counter[Buffer]) -> Iterable[Statement]:
    """Nests that are in no other, and in no loop that is shared itself: such loops are marked."""
    for s in block:
        if isinstance(s, While):
            s.parallel = s.parallel or of_loop(s, mentions)
        if isinstance(s, Nest) or (isinstance(s, While) and s.parallel is not None):
            yield s
        else:
            for inner in s.blocks():
                yield from outermost(inner, mentions)


def of_loop(loop: While, mentions: Counter[Buffer]) -> Parallel | None:
    """How a loop that carries nothing may be shared, such as one over a batch; None for others.

    Few long iterations are shared one by one. A batch with several axes is such loops within each other.
    """
    count, inside = loop.count, list(walk(loop.body))
    if isinstance(count, str | None) or not _repeats(loop):
        return None
    within = [s for s in inside if isinstance(s, While)]
    if not all(
        isinstance(s, (*_INSIDE, Call)) or (isinstance(s, While) and _only_repeats(s)) for s in inside
    ):
        return None
    cost = block_cost(loop.body, 1) + 1
    total = cost * count
    if isinstance(total, int) and (total < LEAST or (cost >= LEAST and count < MANY)):
        return None
    if within and not (isinstance(cost, int) and cost <= UNASKED):
        return None
    private = independent(Stretches(loop.index, count, (), inside, {}), inside, mentions)
    if private is None or not all(is_filled_first(loop.body, buffer) for buffer in private):
        return None
    return Parallel(cost, 1, private)


def _repeats(loop: While) -> bool:
    """Does a loop do the same as often as is known beforehand, with the same buffers?"""
    return not isinstance(loop.count, str | None) and not loop.cond and loop.test is None and not loop.swaps


def _only_repeats(loop: While) -> bool:
    """Does nothing know how often it was?"""
    return _repeats(loop) and loop.trips is None and loop.binds is None and not loop.fills


def is_filled_first(block: Iterable[Statement], buffer: Buffer) -> bool:
    """Does each iteration write the whole buffer before it reads any of it, so that nothing is carried there?"""
    if not isinstance(buffer.size, int) or buffer.size > PRIVATE:
        return False
    filled = np.zeros(buffer.size, bool)
    for s in block:
        if any(buffer in inner.buffers() for inner in walk([s])):
            written = _written_by(s, buffer)
            if written is None or not all(map(_is_known, written)):
                break
            for access in written:
                filled[_elements(access)] = True
    return bool(filled.all())


def _written_by(s: Any, buffer: Buffer) -> list[Access] | None:
    """What a statement writes that only writes the buffer; None for others, and where that is not known."""
    if isinstance(s, Call):
        found = [access for mentioned, access, _ in accesses(s) if mentioned is buffer]
        return None if s.accumulate or buffer in s.reads() else found
    if not isinstance(s, Nest):
        return None
    sizes = {a.name: a.size for a in s.axes}
    direct = {id(inner) for inner in (*s.body, *s.tail)}
    written: list[Access] = []
    for inner in walk([s]):
        if buffer in inner.buffers():
            if (
                not isinstance(inner, Store)
                or inner.add
                or inner.guard is not None
                or id(inner) not in direct
            ):
                return None
            rest = [t for t in inner.index.terms if t[0] not in sizes]
            steps = [(factor, sizes[name]) for name, factor in inner.index.terms if name in sizes]
            written.append((Index(inner.index.const, tuple(rest)), tuple(steps)))
    return written


def _elements(access: Access) -> Any:
    """The elements of an access, all of whose numbers are known."""
    index, steps = access
    sizes: Any = [size for _, size in steps]
    places: Any = np.indices(sizes)
    return sum((step * place for (step, _), place in zip(steps, places, strict=True)), index.const)


def _is_known(access: Access) -> bool:
    index, steps = access
    return not index.terms and all(isinstance(x, int) for x in (index.const, *sum(steps, ())))


def of_nest(nest: Nest, mentions: Counter[Buffer]) -> Parallel | None:
    """How the nest may be shared, or None."""
    schedule: Any = nest.schedule
    if schedule.full or not schedule.lines or schedule.search or (schedule.strips and schedule.outer > 1):
        return None
    line, folds = schedule.lines[0], not schedule.outer
    if folds and not foldable(nest):
        return None
    kinds = {a.kind for a in nest.axes if a.name in (line.axis, *line.merged)}
    if kinds != {"reduce" if folds else "parallel"}:
        return None
    cost = iteration_cost(nest)
    total = cost * line.size
    if isinstance(total, int) and total < LEAST:
        return None
    inside = [*walk(nest.body), *(() if folds else walk(nest.tail))]
    if not all(isinstance(s, _INSIDE) for s in inside):
        return None
    sizes = {a.name: a.size for a in nest.axes}
    private = independent(Stretches(line.axis, line.size, line.merged, inside, sizes), inside, mentions)
    if private is None:
        return None
    unit = schedule.lanes * schedule.unroll if line.axis == schedule.vector else 1
    if schedule.strips:
        widest = max(s.buffer.dtype.itemsize for s in inside if isinstance(s, (Load, Store)))
        unit = max(unit, STRIP // widest)
    return Parallel(cost, unit, private, folds)


def foldable(nest: Nest) -> bool:
    """Is everything the nest does folded by rules that need no order?"""
    direct = {name for s in nest.body if isinstance(s, Combine) for name in s.accs}
    deeper = {name for s in walk(nest.body) if isinstance(s, Combine) for name in s.accs}
    named = [a.name for a in nest.accs]
    scans = any(a.kind == "scan" for a in nest.axes)
    return bool(named) and not scans and direct >= set(named) and direct == deeper.intersection(direct)


# ---- cost -----------------------------------------------------------------------------------------------


def iteration_cost(nest: Nest) -> Size:
    """Picoseconds of one iteration of the outermost loop."""
    lines, outer = nest.schedule.lines, nest.schedule.outer
    parts = lines[1:outer], lines[max(outer, 1) :]  # without outer loops the first is one of those that feed
    inner, feeding = (product(line.size for line in part) for part in parts)
    lanes = nest.schedule.lanes
    return inner * (feeding * block_cost(nest.body, lanes) + block_cost(nest.tail, lanes)) + 1


def block_cost(block: Iterable[Statement], lanes: int) -> Size:
    """Picoseconds of statements that run in so many lanes, for each lane."""
    total: Size = 0
    for s in block:
        match s:
            case Nest():
                within = s.schedule.lanes
                points = product(a.size for a in s.axes)
                total = total + points * block_cost(s.body, within) + block_cost(s.tail, within)
            case Call():
                total = total + call_cost(s)
            case While():
                assert not isinstance(s.count, str | None)
                total = total + s.count * block_cost(s.body, lanes)
            case If():
                total = total + block_cost(s.then, lanes) + block_cost(s.orelse, lanes)
            case Compute():
                total = total + int(SCALAR_OPS[s.op].cycles * _LANE) // lanes
            case Load() | Store():
                total = total + int(_MEMORY * _LANE) // lanes
            case _:
                total = total + int(_COMBINE * _LANE) // lanes
    return total


def call_cost(s: Call, each: bool = False) -> Size:
    """Picoseconds of a call of a library kernel, or of each matrix of one for many."""
    kernel, sizes = KERNELS[s.function], (1, *s.sizes[1:]) if each else s.sizes
    cost = kernel.work(sizes) * (_PRODUCT * s.views[0].buffer.dtype.itemsize)
    if s.function.endswith(LANES):  # which go into lanes and out of them
        cost = cost + product(kernel.extents(sizes)[0]) * _MOVED
    return cost


# ---- independence ---------------------------------------------------------------------------------------


Access = tuple[Index, tuple[tuple[Size, Size], ...]]
"""Elements of a buffer: from an index on, so many steps of such lengths."""


def accesses(s: Statement) -> Iterable[tuple[Buffer, Access, bool]]:
    """What a statement touches by itself, and whether it may write there."""
    if isinstance(s, (Load, Store)):
        yield s.buffer, (s.index, ()), isinstance(s, Store)
    elif isinstance(s, Call):
        for view, sizes in zip(s.views, KERNELS[s.function].extents(s.sizes), strict=True):
            access = view.index, tuple(zip(view.strides, sizes, strict=True))
            yield view.buffer, access, view.buffer in s.writes()


def independent(
    stretches: Stretches, inside: list[Statement], mentions: Counter[Buffer]
) -> tuple[Buffer, ...] | None:
    """The buffers that must be private for iterations to touch different memory; None where that is not enough."""
    here = Counter(b for s in inside for b in s.buffers())
    found: dict[Buffer, tuple[list[Access], list[Access]]] = {b: ([], []) for s in inside for b in s.writes()}
    for s in inside:
        if isinstance(s, Store) and s.add:
            return None
        for buffer, access, writes in accesses(s):
            if buffer in found:
                found[buffer][writes].append(access)
    private, room = [], 0
    for buffer, (read, written) in found.items():
        if stretches.apart(read, written):
            continue
        alone = here[buffer] == mentions[buffer] and buffer.kind in ("temp", "local")
        if not alone or any(stretches.axes & set(index.symbols) for index, _ in (*read, *written)):
            return None
        private.append(buffer)
        if isinstance(buffer.size, int):
            room += buffer.size * buffer.dtype.itemsize + 64
    return tuple(private) if room <= PRIVATE else None


def sizes_inside(inside: Iterable[Statement]) -> dict[Name, Size]:
    """The axes of nests, and of loops that count."""
    sizes: dict[Name, Size] = {a.name: a.size for s in inside if isinstance(s, Nest) for a in s.axes}
    for s in inside:
        if isinstance(s, While) and not isinstance(s.count, str | None):
            sizes[s.index] = s.count
    return sizes


@dataclass(frozen=True)
class Stretch:
    """Where an access goes in the first iteration, and how far from one iteration to the next."""

    first: Reach
    step: Size

    def of_all(self, count: Size) -> Reach | None:
        """Where it goes in so many iterations."""
        low, high, outside = self.first.low, self.first.high, self.first.outside
        if nonnegative(self.step):
            return Reach(low, high + self.step * (count - 1), outside)
        return Reach(low + self.step * (count - 1), high, outside) if isinstance(self.step, int) else None


class Stretches:
    """Where the accesses to a buffer go in one iteration of the outermost loop, as far from where that begins.

    Parameters
    ----------
    axis, count, merged : str, int or Dim, and tuple of str
        The index of that loop, how many iterations it has, and axes that count there.
    inside : list of Statement
        All that is in it.
    sizes : dict
        Of further axes.
    """

    axes: set[Name]
    axis: Name
    count: Size

    def __init__(
        self,
        axis: Name,
        count: Size,
        merged: tuple[Name, ...],
        inside: list[Statement],
        sizes: dict[Name, Size],
    ):
        self.axis, self.count, self.axes = axis, count, {axis, *merged}
        self.sizes: dict[Name, Size] = sizes | sizes_inside(inside)
        self.varying: set[Name] = {name for s in inside for name in s.defines()}

    def of(self, access: Access) -> Stretch | None:
        """The stretch of an access; None where that is not known."""
        index, steps = access
        if not self.varying.isdisjoint(index.symbols):
            return None
        step = next((factor for name, factor in index.terms if name == self.axis), 0)
        rest = Index(index.const, tuple(t for t in index.terms if t[0] not in self.axes))
        first = reach(rest, self.sizes, steps)
        return None if first is None else Stretch(first, step)

    def apart(self, read: list[Access], written: list[Access]) -> bool:
        """Does every iteration stay within a stretch that no other one reaches, where anything is written?"""
        known: dict[Stretch, Reach | None] = {}  # with where they go in all iterations
        for access in written:
            found = self.of(access)
            if found is None:
                return False
            known[found] = found.of_all(self.count)
        for access in read:
            found = self.of(access)
            if found is None:
                return False
            if found not in known and not _elsewhere(everywhere := found.of_all(self.count), known.values()):
                known[found] = everywhere
        steps = {s.step for s in known}
        if len(steps) != 1 or len({s.first.outside for s in known}) > 1:
            return False
        (step,) = steps
        room = step if nonnegative(step) else -step
        highs, lows = _last({s.first.high for s in known}, max), _last({s.first.low for s in known}, min)
        gaps = [room - (high - low) for high in highs for low in lows]
        return all(isinstance(gap, int) and gap > 0 for gap in gaps)


def _elsewhere(read: Reach | None, writes: Iterable[Reach | None]) -> bool:
    """Is what is read, in all iterations, before or behind all that any of them writes?"""
    return read is not None and all(w is not None and read.misses(w) for w in writes)


def _last(sizes: set[Size], of: Callable[[list[int]], int]) -> list[Size]:
    """Sizes without the numbers that are not the last `of` them."""
    numbers = [size for size in sizes if isinstance(size, int)]
    return [*([of(numbers)] if numbers else []), *(size for size in sizes if not isinstance(size, int))]
