"""The schedule of each nest: loop order, merged axes, the vector axis and its width, unrolling.

Everything here is data on ``Nest.schedule``; nothing about LLVM is known, and no nest changes its meaning. An
axis becomes the vector axis when most accesses are consecutive along it; axes that are consecutive in every
access become one loop, whatever their sizes.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from ....core.dataclass import dataclass
from ....core.dim import Size
from ..accesses import NestAnalysis, Part, live_values
from ..ir import Load, Nest, Program, Store, walk
from ..operands import Axis, Name
from .parallelize import Parallel, parallelize

MAX_UNROLLED = 32  # iterations of a nest written out
MAX_UNROLLED_STATEMENTS = 512
STRIP_ROWS = 16  # rows of a block in which all columns are summed, strip by strip
WIDE_ROW = 4096  # bytes of a row from which walking down one strip costs more
LONG_ROW = 4096  # elements from which an extreme's position is searched in two passes
_FUSING = {
    "fma",
    "neon",
    "d",
    "fp64",
}  # features that bring fused multiply-add: of x86-64, aarch64, riscv64, Arm
BLOCK = 16  # additions of floats in a row before their sum goes to a compensated total
MIN_PEELED = 8  # registers of a row from which an aligned start pays
LARGE_BODY = 96  # statements from which a second copy of the body for the tail costs more than masks


@dataclass(frozen=True)
class Target:
    """What matters of a machine to loops.

    Attributes
    ----------
    register_bytes : int
        Size of a vector register: 16, 32 or 64.
    has_fma : bool
        Fused multiply-add.
    has_masks : bool
        Masked loads and stores at the price of plain ones.
    has_permute : bool
        Table look-ups between registers (AVX-512).
    threads : bool
        Code runs where there is a pool of threads.
    """

    register_bytes: int = 64
    has_fma: bool = True
    has_masks: bool = True
    has_permute: bool = True
    threads: bool = False

    @property
    def registers(self) -> int:
        return 32 if self.register_bytes == 64 else 16

    @property
    def scales(self) -> bool:
        """Does an address hold an index times the size of an element? Surely where registers are this long."""
        return self.register_bytes > 16

    @staticmethod
    def of(features: str) -> Target:
        """The target with LLVM's feature string ``"+avx2,-avx512f,..."``."""
        have = {f[1:] for f in features.split(",") if f.startswith("+")}
        wide = {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= have
        return Target(
            64 if wide else 32 if "avx2" in have else 16,
            bool(_FUSING & have),
            wide,
            wide,
        )


@dataclass(frozen=True)
class Line:
    """One loop: the axis it counts, its size, and the axes merged into it."""

    axis: Name
    size: Size
    merged: tuple[Name, ...] = ()

    def __str__(self) -> str:
        return "*".join((*self.merged, self.axis))


@dataclass(frozen=True)
class Schedule:
    """How a nest runs.

    Attributes
    ----------
    lines : tuple of Line
        The loops, outermost first; axes of size 1 are gone.
    outer : int
        How many of them are around the accumulators; the others feed them.
    vector : str or None
        The axis that runs in lanes.
    lanes, unroll : int
        Lanes of one register, and how many registers the main loop takes at once.
    full : bool
        Write every iteration out.
    masked : bool
        One masked loop instead of a main loop and a masked rest.
    strips : bool
        Sums down the rows of the innermost outer axis wait in the workspace, block of rows by block of rows.
    search : bool
        An extreme and its position are found in two passes.
    block : int
        Float sums go to a compensated total after so many additions; 0 for plain sums.
    gone : tuple of str
        Axes of size 1.
    peel : int
        Iterations of the vector axis done first, so that what follows is stored at whole registers.
    parallel : Parallel or None
        How the iterations of the outermost loop may be given to several threads.
    """

    lines: tuple[Line, ...]
    outer: int
    vector: Name | None = None
    lanes: int = 1
    unroll: int = 1
    full: bool = False
    masked: bool = False
    strips: bool = False
    search: bool = False
    block: int = 0
    gone: tuple[Name, ...] = ()
    peel: int = 0
    parallel: Parallel | None = None

    def __str__(self) -> str:
        loops = (
            " ".join(map(str, self.lines[: self.outer]))
            + " |"
            + "".join(f" {x}" for x in self.lines[self.outer :])
        )
        parts = [loops.strip()]
        if self.full:
            parts.append("unrolled")
        if self.vector is not None:
            parts.append(f"vector {self.vector} {self.lanes}x{self.unroll}{' masked' if self.masked else ''}")
        if self.peel:
            parts.append(f"peel {self.peel}")
        if self.strips:
            parts.append("strips")
        if self.search:
            parts.append("search")
        if self.block:
            parts.append(f"blocks of {self.block}")
        if self.parallel is not None:
            parts.append(str(self.parallel))
        return ", ".join(parts)


def schedule(program: Program, target: Target) -> Program:
    """Give every nest that has none a schedule, and the program back."""
    for statement in walk(program.body):
        if isinstance(statement, Nest) and statement.schedule is None:
            chosen = plan(statement, target)
            if chosen.strips and not known_at_entry(chosen.lines[chosen.outer - 1].size, program):
                chosen = replace(chosen, strips=False)  # what columns wait in is workspace, given at entry
            statement.schedule = chosen
    parallelize(program)
    return program


def known_at_entry(size: Size, program: Program) -> bool:
    """Does the size depend on the inputs' sizes alone?"""
    return isinstance(size, int) or all(a.name in program.atoms for a in size.atoms())


# ---- planning -------------------------------------------------------------------------------------------


def plan(nest: Nest, target: Target) -> Schedule:
    """The schedule of one nest."""
    facts = NestAnalysis(nest)
    gone = tuple(a.name for a in nest.axes if isinstance(a.size, int) and a.size == 1)
    axes = [a for a in nest.axes if not (isinstance(a.size, int) and a.size == 1)]
    if written_out(facts, axes):
        lines = tuple(Line(a.name, a.size) for a in axes)
        return Schedule(lines, sum(a.kind == "parallel" for a in axes), full=True, gone=gone)
    chosen = vector_axis(facts, axes, target)
    axes, outer = ordered(facts, axes, chosen)
    lines = merged(facts, axes, outer)
    outer_lines = sum(line.axis in {a.name for a in axes[:outer]} for line in lines)
    block = block_of(facts, lines[outer_lines:])
    if chosen is None:
        return Schedule(lines, outer_lines, block=block, gone=gone)
    size = next(line.size for line in lines if line.axis == chosen.name)
    reducing = any(line.axis == chosen.name for line in lines[outer_lines:])
    lanes, unroll = width(facts, target, chosen, size, reducing, bool(block), outer_lines < len(lines))
    if (
        reducing
        and isinstance(size, int)
        and size <= lanes * unroll * BLOCK
        and len(lines) == outer_lines + 1
    ):
        block = 0
    masked = target.has_masks and facts.statements > LARGE_BODY and not reducing
    strips = not reducing and waits(facts, lines, outer_lines, chosen)
    search = reducing and searches(facts, lines, outer_lines)
    peel = 0 if masked or reducing or strips else peeled(facts, target, chosen, size, lanes)
    return Schedule(
        lines, outer_lines, chosen.name, lanes, unroll, False, masked, strips, search, block, gone, peel
    )


def written_out(facts: NestAnalysis, axes: list[Axis]) -> bool:
    """Few enough iterations, and worth it: their buffers then live in registers."""
    total = 1
    for a in axes:
        if not isinstance(a.size, int):
            return False
        total *= a.size
    if not facts.simple or total > MAX_UNROLLED or total * facts.statements > MAX_UNROLLED_STATEMENTS:
        return False
    sequential = [a for a in axes if a.kind != "parallel"]
    if sequential and axes[-len(sequential) :] != sequential:
        return False
    return total <= 2 or any(b.kind == "local" for b in facts.buffers)


def ordered(facts: NestAnalysis, axes: list[Axis], chosen: Axis | None) -> tuple[list[Axis], int]:
    """Parallel axes around the others, the vector axis innermost of its kind; and how many are outside.

    A nest without accumulators has everything outside. One that adds into memory keeps its order.
    """
    nest = facts.nest
    if not nest.accs and not nest.tail:
        if facts.has_add or not facts.simple:
            return axes, len(axes)
        rest = [a for a in axes if a is not chosen]
        parallel = [a for a in rest if a.kind == "parallel"]
        sequential = [a for a in rest if a.kind != "parallel"]
        return [*parallel, *sequential, *([chosen] if chosen else [])], len(axes)
    groups = [[a for a in axes if (a.kind == "parallel") == inside] for inside in (True, False)]
    for group in groups:
        if chosen in group:
            group.remove(chosen)
            group.append(chosen)
    return [*groups[0], *groups[1]], len(groups[0])


def merged(facts: NestAnalysis, axes: list[Axis], outer: int) -> tuple[Line, ...]:
    """Neighbouring axes that every access crosses as if they were one become one loop."""
    lines: list[Line] = []
    for p, axis in reversed(list(enumerate(axes))):
        if lines and p + 1 != outer and joins(facts, axis, axes[p + 1]):
            inner = lines[0]
            lines[0] = Line(inner.axis, axis.size * inner.size, (axis.name, *inner.merged))
        else:
            lines.insert(0, Line(axis.name, axis.size))
    return tuple(lines)


def joins(facts: NestAnalysis, a: Axis, b: Axis) -> bool:
    """Does a step of `a` move every access as all steps of `b` together do?"""
    if a.kind != b.kind or a.name in facts.counted or b.name in facts.counted:
        return False
    return all(t.get(a.name, 0) == t.get(b.name, 0) * b.size for t in facts.indices)


def block_of(facts: NestAnalysis, reducing: tuple[Line, ...]) -> int:
    """Whether float sums over these loops need compensation."""
    sums = any(a.dtype.kind == "f" and facts.rules.get(a.name) == "add" for a in facts.nest.accs)
    if not sums or any(a.kind == "scan" for a in facts.nest.axes):
        return 0
    total = 1
    for line in reducing:
        if not isinstance(line.size, int):
            return BLOCK
        total *= line.size
    return BLOCK if total > BLOCK else 0


def waits(facts: NestAnalysis, lines: tuple[Line, ...], outer: int, chosen: Axis) -> bool:
    """Are these sums down many wide rows?"""
    if len(lines) != outer + 1 or lines[outer - 1].axis != chosen.name or not facts.nest.accs:
        return False
    columns, rows = lines[outer - 1].size, lines[outer].size
    if (isinstance(rows, int) and rows <= STRIP_ROWS) or any(a.kind == "scan" for a in facts.nest.axes):
        return False
    row = [s.buffer.dtype.itemsize for s, terms, _ in facts.body.accesses if lines[outer].axis in terms]
    widest = max(row, default=0)
    return widest > 0 and not (isinstance(columns, int) and columns * widest <= WIDE_ROW)


def searches(facts: NestAnalysis, lines: tuple[Line, ...], outer: int) -> bool:
    """Is this the position of an extreme in something long, and nothing else?"""
    positions = [facts.rules.get(a.name, "").startswith("arg") for a in facts.nest.accs] == [True, True]
    alone = (
        positions
        and len(lines) == outer + 1
        and not any(isinstance(s, Store) for s, _, _ in facts.body.accesses)
    )
    size = lines[-1].size
    return alone and (size >= LONG_ROW if isinstance(size, int) else outer == 0)


# ---- the vector axis ------------------------------------------------------------------------------------


def vector_axis(facts: NestAnalysis, axes: list[Axis], target: Target) -> Axis | None:
    """The axis along which the most accesses are consecutive, if lanes pay at all."""
    best, best_score = None, 0
    for p, axis in enumerate(axes):
        possible = facts.simple if axis.kind == "parallel" else facts.simple_body and axis.kind == "reduce"
        if not possible or (facts.has_add and p + 1 != len(axes)) or not legal(facts, axis):
            continue
        score = axis_score(facts, axis, register_lanes(facts, axis, target))
        if score > best_score or (score == best_score and best is not None and axis.kind == "parallel"):
            best, best_score = axis, score
    return best


def legal(facts: NestAnalysis, axis: Axis) -> bool:
    """Do different lanes write different elements?"""
    bit = facts.bits[axis.name]
    for s, terms, loaded in chain.from_iterable(part.accesses for part in facts.parts(axis)):
        if isinstance(s, Load):
            continue
        step = terms.get(axis.name, 0)
        if isinstance(step, int) and step == 0 and not loaded & bit:
            return False
        if s.add and (loaded & bit or not isinstance(step, int) or shared(facts, s)):
            return False
    return True


def shared(facts: NestAnalysis, s: Store) -> bool:
    """Is the buffer that `s` adds into accessed otherwise too?"""
    accesses = facts.body.accesses + (facts.tail.accesses if facts.tail is not facts.body else [])
    return sum(t.buffer is s.buffer for t, _, _ in accesses) > 1


def axis_score(facts: NestAnalysis, axis: Axis, lanes: int) -> int:
    """Work that runs in lanes, more for consecutive accesses and what lanes share, less for scattered ones."""
    score = 1 + access_score(facts, axis, facts.body)
    if axis.kind == "parallel" and facts.tail is not facts.body:
        score += access_score(facts, axis, facts.tail) // 4  # it runs seldom
    if isinstance(axis.size, int) and 2 * axis.size < lanes:
        score -= 7
    return score


def access_score(facts: NestAnalysis, axis: Axis, part: Part) -> int:
    score = 10 * part.elementary + min(part.computes, 4) + part.computes // 4
    for s, terms, loaded in part.accesses:
        weight = 3 if isinstance(s, Store) else 2
        if is_scattered(facts, axis, terms, loaded):
            score -= 2 * weight - 1
        elif terms.get(axis.name, 0) in (1, -1) or (isinstance(s, Load) and axis.name not in terms):
            score += 2 * weight  # what all lanes read is loaded once, before the loop
    return score


def is_scattered(facts: NestAnalysis, axis: Axis, terms: dict[Name, Size], loaded: int) -> bool:
    """Do the lanes of an access lie apart?"""
    step = terms.get(axis.name, 0)
    return bool(loaded & facts.bits[axis.name]) or step not in (0, 1, -1, 2, 3, 4)


def register_lanes(facts: NestAnalysis, axis: Axis, target: Target) -> int:
    widest = max((d.itemsize for part in facts.parts(axis) for d in part.kinds), default=8)
    return target.register_bytes // widest


def width(
    facts: NestAnalysis,
    target: Target,
    axis: Axis,
    size: Size,
    reducing: bool,
    compensated: bool,
    feeds: bool,
) -> tuple[int, int]:
    """Lanes of a register, and registers at once: as many as stay in registers with all that is alive."""
    lanes = register_lanes(facts, axis, target)
    alive = live_values(facts)
    kept = len(facts.nest.accs) * (3 if compensated and not reducing else 1) if feeds else 0
    elementary = any(part.elementary for part in facts.parts(axis))
    apart = any(is_scattered(facts, axis, terms, loaded) for _, terms, loaded in facts.body.accesses)
    limit = 2 if elementary or apart or not feeds else 4 if reducing else 8
    unroll = 1
    while unroll < limit and 2 * unroll * (alive + kept) <= target.registers:
        unroll *= 2
    if isinstance(size, int):
        while lanes > 2 and lanes // 2 >= size:
            lanes //= 2
        while unroll > 1 and lanes * unroll > size:
            unroll //= 2
    return lanes, unroll


def peeled(facts: NestAnalysis, target: Target, axis: Axis, size: Size, lanes: int) -> int:
    """Iterations to do first so that the others store whole registers: a store across two lines costs two."""
    if not target.has_masks or not isinstance(size, int) or size < MIN_PEELED * lanes:
        return 0
    counts: set[int] = set()
    for s, terms, loaded in facts.body.accesses:
        if isinstance(s, Load):
            continue
        bytes_, first = s.buffer.dtype.itemsize, s.index.const
        aligned = s.buffer.kind in ("temp", "heap") and lanes * bytes_ == target.register_bytes
        others = [c for name, c in terms.items() if name != axis.name]
        known = all(isinstance(c, int) and c % lanes == 0 for c in others)
        if not aligned or not known or loaded or terms.get(axis.name) != 1 or not isinstance(first, int):
            return 0
        counts.add(-first % lanes)
    return counts.pop() if len(counts) == 1 else 0
