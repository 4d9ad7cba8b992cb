"""Which nests may run on several threads: large ones, whose outermost iterations touch different memory.

The decision depends on the program alone, never on how many processors there are: the same code runs on one thread.
Memory that every iteration uses for itself alone becomes private to each thread. Knows nothing of threads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from ....core.dim import Size, nonnegative, product
from ..ir import Combine, Compute, If, Load, Nest, Program, Size_, Store, walk
from ..operands import Buffer, Index, Name
from ..scalar_ops import SCALAR_OPS
from ..statement import Statement

LEAST = 20_000_000
"""Picoseconds of work below which a nest stays whole."""
PRIVATE = 1 << 21
"""Bytes that a thread has to itself."""
STRIP = 2048
"""Bytes of a row that one thread sums down at least: less would touch a page for little."""
MOST_BLOCKS = 64
"""Blocks in which a nest folds everything: their number is the same on every machine, as rounding depends on it."""
BLOCK_COST = 4_000_000
"""Picoseconds of work in a block at least."""
_LANE = 800  # picoseconds of a cycle, over all lanes of a register
_MEMORY, _COMBINE = 1.0, 0.5  # cycles of an access and of a step of an accumulator
_INSIDE = (Load, Store, Compute, Size_, Combine, Nest, If)


@dataclass(frozen=True)
class Parallel:
    """How the iterations of a nest's outermost loop are given to threads.

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
    """Mark the outermost nests that may run on several threads; they have schedules."""
    mentions: Counter[Buffer] = Counter(b for s in walk(program.body) for b in s.buffers())
    for nest in outermost(program.body):
        schedule: Any = nest.schedule
        if schedule.parallel is None and (chosen := decided(nest, mentions)) is not None:
            nest.schedule = replace(schedule, parallel=chosen)


def outermost(block: Iterable[Statement]) -> Iterable[Nest]:
    """Nests that are in no other."""
    for s in block:
        if isinstance(s, Nest):
            yield s
        else:
            for inner in s.blocks():
                yield from outermost(inner)


def decided(nest: Nest, mentions: Counter[Buffer]) -> Parallel | None:
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
    private = independent(nest, inside, mentions)
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
    inner, feeding = (product(line.size for line in part) for part in (lines[1:outer], lines[outer:]))
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
            case If():
                total = total + block_cost(s.then, lanes) + block_cost(s.orelse, lanes)
            case Compute():
                total = total + int(SCALAR_OPS[s.op].cycles * _LANE) // lanes
            case Load() | Store():
                total = total + int(_MEMORY * _LANE) // lanes
            case _:
                total = total + int(_COMBINE * _LANE) // lanes
    return total


# ---- independence ---------------------------------------------------------------------------------------


def independent(nest: Nest, inside: list[Statement], mentions: Counter[Buffer]) -> tuple[Buffer, ...] | None:
    """The buffers that must be private for iterations to touch different memory; None where that is not enough."""
    line = nest.schedule.lines[0]
    stretches = Stretches(line, sizes_inside(nest, inside), {name for s in inside for name in s.defines()})
    written = dict.fromkeys(b for s in inside for b in s.writes())
    here = Counter(b for s in inside for b in s.buffers())
    private, room = [], 0
    for buffer in written:
        accesses = [s for s in inside if isinstance(s, (Load, Store)) and s.buffer is buffer]
        if any(isinstance(s, Store) and s.add for s in accesses):
            return None
        if stretches.apart([s.index for s in accesses]):
            continue
        alone = here[buffer] == mentions[buffer] and buffer.kind in ("temp", "local")
        names = {line.axis, *line.merged}
        if not alone or any(names & set(s.index.symbols) for s in accesses):
            return None
        private.append(buffer)
        if isinstance(buffer.size, int):
            room += buffer.size * buffer.dtype.itemsize + 64
    return tuple(private) if room <= PRIVATE else None


def sizes_inside(nest: Nest, inside: list[Statement]) -> dict[Name, Size]:
    """The axes of a nest and of those in it."""
    nests = [nest, *[s for s in inside if isinstance(s, Nest)]]
    return {a.name: a.size for n in nests for a in n.axes}


class Stretches:
    """Where the accesses to a buffer go in one iteration of the outermost loop, as far from where that begins.

    Parameters
    ----------
    line : Line
        That loop.
    sizes : dict
        Of the loops in it.
    varying : set of str
        Scalars that differ from iteration to iteration.
    """

    def __init__(self, line: Any, sizes: dict[Name, Size], varying: set[Name]):
        self.line, self.sizes, self.varying = line, sizes, varying

    def of(self, index: Index) -> tuple[Size, tuple[tuple[Name, Size], ...], Size, Size] | None:
        """The step of the loop, what is the same in all iterations, the first element and the last."""
        step: Size = 0
        low = high = index.const
        same = []
        for name, factor in index.terms:
            if name == self.line.axis:
                step = factor
            elif name in self.line.merged:
                continue
            elif name in self.varying:
                return None
            elif name not in self.sizes:
                same.append((name, factor))
            elif nonnegative(factor):
                high = high + factor * (self.sizes[name] - 1)
            elif isinstance(factor, int):
                low = low + factor * (self.sizes[name] - 1)
            else:
                return None
        return step, tuple(same), low, high

    def apart(self, indices: list[Index]) -> bool:
        """Does every iteration stay within a stretch that no other one reaches?"""
        found = [self.of(index) for index in indices]
        known = [f for f in found if f is not None]
        if len(known) < len(found) or len({(step, same) for step, same, _, _ in known}) > 1:
            return False
        step = known[0][0]
        room = step if nonnegative(step) else -step
        gaps = [room - (high - low) for _, _, _, high in known for _, _, low, _ in known]
        return all(isinstance(gap, int) and gap > 0 for gap in gaps)
