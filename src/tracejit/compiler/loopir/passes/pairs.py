"""Nests over all pairs of rows of the same arrays, where one half says what the other is, run once for each pair.

The forces between bodies are that: what body i does to body j is, with the sign changed, what j does to i, and both
have the same energy. Of a nest that only sums numbers of which ``Symmetry`` knows what they are with the axes
exchanged, half of the points are left: row i takes the columns from i + 1 to i + (n - 1) / 2, around the end, and adds
what it computes to its own sum and to that of the column. Every pair comes once, in rows of one length. Row i with
itself, and with i + n / 2 where n is even, comes before. The sums are as careful as those of ``sums_both_ways``, in any
order as ever. Rows are done in blocks, so that threads can share them; how many depends on n alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ....core import settings
from ....core.dataclass import dataclass
from ..ir import Combine, Compute, If, Load, Nest, Size_, Store
from ..numbering.symmetry import Symmetry
from ..numbering.values import numbered
from ..operands import Acc, Axis, Buffer, Const, Index, Name, Operand
from ..scalar_ops import SCALAR_OPS
from ..statement import Statement, all_renamed, renamed
from .sums_both_ways import BOOL, INT64, RUN, Sums, Waiting, Writer

LEAST = 64  # rows that are worth it
BLOCK = 64  # rows of a block at least
MOST_BLOCKS = 32
ADDED = 2.0  # cycles of adding a lane of a vector to a sum that waits in memory
FEWER = 0.8  # of the cycles that a nest with sums along rows alone takes; others gain in any case


class Total(NamedTuple):
    """A sum over the rows of numbers, each times a sign: what an accumulator ends as but for where it starts."""

    acc: Acc
    value: Name
    sign: int


@dataclass
class Pairs:
    """A nest whose points (i, j) and (j, i) have their numbers in common.

    Attributes
    ----------
    row, column : Axis
    body : list of Statement
        Loads and arithmetic, each value once.
    rows : dict
        What is summed along rows, and what that is, with its sign, where the axes are exchanged.
    parts : list
        The sums over one axis with, for each accumulator, what of `rows` it sums. Sums over both, of values that are
        the same with the axes exchanged, have none.
    """

    row: Axis
    column: Axis
    body: list[Statement]
    rows: dict[Name, tuple[Name, int]]
    parts: list[tuple[Sums, list[Total]]]

    @property
    def size(self) -> int:
        assert isinstance(self.row.size, int)
        return self.row.size


# ---- which ----------------------------------------------------------------------------------------------


def pairs_of(nest: Nest, sums: Sequence[Sums], writer: Writer) -> Pairs | None:
    """The pairs that a nest goes over and their sums, if half of them are enough and that is quicker."""
    over = {name for s in sums for name in s.over}
    axes = nest.axes if len(over) == 1 else [a for a in nest.axes if a.name in over]
    if len(axes) != 2 or axes[0].size != axes[1].size or not isinstance(axes[0].size, int):
        return None
    if axes[0].size < LEAST or any(
        a.dtype.kind != "f" or np.signbit(a.init.value) for s in sums for a in s.accs
    ):
        return None
    row, column = axes
    combined, body = _summed(nest, writer)
    defined = {name for s in body for name in s.defines()}
    if combined is None or not all(_is_simple(s, row.name, column.name, defined) for s in body):
        return None
    found = Pairs(row, column, body, {}, [])
    symmetry = Symmetry(body, row.name, column.name)
    for s in sums:
        totals = [_total(found, symmetry, s, acc, combined.get(acc.name)) for acc in s.accs]
        if None in totals:
            return None
        found.parts.append((s, [t for t in totals if t is not None]))
    return found if len(sums) > 1 or _is_quicker(found) else None


def _summed(nest: Nest, writer: Writer) -> tuple[dict[Name, Name] | None, list[Statement]]:
    """What each accumulator adds up, and the statements that compute it; None where the nest does more than that."""
    kept = numbered(nest.body)
    combined: dict[Name, Name] = {}
    loads = [s.buffer for s in nest.body if isinstance(s, Load)]
    for s in kept:
        if isinstance(s, Combine):
            (value, *_) = s.values
            if s.rule != "add" or not isinstance(value, str) or s.accs[0] in combined:
                return None, []
            combined[s.accs[0]] = value
        elif isinstance(s, Store) and (
            s.buffer.kind != "temp" or writer.reads[s.buffer] != loads.count(s.buffer)
        ):
            return None, []
    live = set(combined.values())
    body: list[Statement] = []
    for s in reversed(kept):
        if not live.isdisjoint(s.defines()):
            live.update(s.uses())
            body.append(s)
    written = {b for s in kept for b in s.writes()}
    return (None, []) if any(b in written for s in body for b in s.reads()) else (combined, body[::-1])


def _is_simple(s: Statement, row: Name, column: Name, defined: set[Name]) -> bool:
    """Is it arithmetic, or a load of what belongs to the row, to the column, or to what was loaded itself?"""
    if not isinstance(s, Load):
        return isinstance(s, (Compute, Size_))
    symbols = set(s.index.symbols)
    return s.guard is None and not (column in symbols and (row in symbols or symbols & defined))


def _total(found: Pairs, symmetry: Symmetry, sums: Sums, acc: Acc, value: Name | None) -> Total | None:
    """What of the sums along rows an accumulator is, which is noted; None where no number of the nest is that."""
    if value is None or value not in symmetry.here:
        return None
    here, there = symmetry.same(value), symmetry.mirror(value)
    if len(sums.over) > 1:
        return Total(acc, *here) if here == there else None
    total = (
        there if found.row.name in sums.over else here
    )  # down the columns it is what rows of the other are
    back = None if total is None else symmetry.mirror(total[0])
    if total is None or back is None:
        return None
    found.rows[total[0]] = back
    return Total(acc, *total)


def _is_quicker(pairs: Pairs) -> bool:
    cycles = sum(SCALAR_OPS[s.op].cycles for s in pairs.body if isinstance(s, Compute))
    return (cycles + ADDED * len(pairs.rows)) / 2 < FEWER * cycles


def _blocks(rows: int) -> int:
    """In how many blocks rows are done: a number that divides theirs where there is one."""
    most = max(1, min(rows // BLOCK, MOST_BLOCKS))
    return next((b for b in range(most, most // 2, -1) if rows % b == 0), most)


# ---- writing --------------------------------------------------------------------------------------------


def write_pairs(writer: Writer, nest: Nest, pairs: Pairs) -> list[Statement]:
    """The statements that take the place of a nest."""
    outside = [a for a in nest.axes if a not in (pairs.row, pairs.column)]
    return writer.around(nest, outside, PairLoop(writer, pairs, not outside).write())


class RowSum:
    """A sum along rows: what it is of each row `alone`, `along` the columns that the row takes, and of those before.

    Attributes
    ----------
    value, mirrored, sign
        What row i adds up, and what row j adds, where it is the column.
    waiting : Waiting
        What a block of rows adds to the sums of columns; in the end what all do.
    table : Buffer
        What each block adds.
    """

    def __init__(self, w: Writer, acc: Acc, value: Name, mirror: tuple[Name, int], n: int):
        self.acc, self.value, (self.mirrored, self.sign) = acc, value, mirror
        self.alone, self.along, self.result = (w.buffer(acc.dtype, n) for _ in range(3))
        self.waiting: Any = None
        self.table: Any = None

    @property
    def nothing(self) -> Const:
        return Const(-0.0, self.acc.dtype)


class PairLoop:
    """Writes the loops of pairs. Sums of columns wait in buffers, the columns beyond the last one behind the others."""

    w: Writer
    pairs: Pairs

    def __init__(self, writer: Writer, pairs: Pairs, alone: bool):
        """`alone`: there are no loops around."""
        self.w, self.pairs, n = writer, pairs, pairs.size
        accs = {t.value: t.acc for _, totals in pairs.parts for t in totals}
        self.rows: dict[Name, RowSum] = {v: RowSum(writer, accs[v], v, m, n) for v, m in pairs.rows.items()}
        self.both: dict[Name, RowSum] = {
            t.value: RowSum(writer, t.acc, t.value, (t.value, 1), n)
            for s, totals in pairs.parts
            if len(s.over) > 1
            for t in totals
        }
        self.half = (n - 1) // 2
        self.blocks = _blocks(n) if alone and self.rows else 1
        self.height = -(-n // self.blocks)  # rows of a block
        self.room = (
            RUN + 2 * n + self.height
        )  # of sums of columns: there are RUN places in front of the first
        self.width = (
            self.room if self.blocks == 1 else RUN + self.height + self.half
        )  # what a block has of it
        self.packed: dict[Any, Buffer] = {}
        self.before: list[Statement] = []

    def write(self) -> list[Statement]:
        first, main = self.first(), self.main()
        made = [*self.before, first, *main]
        if self.rows:
            made += self.folded() if self.blocks > 1 else []
            made.append(self.results())
        return made + [self.end(sums, totals) for sums, totals in self.pairs.parts]

    def fresh(self, count: int) -> Iterator[Name]:
        return (self.w.fresh() for _ in range(count))

    # -- the body at a place --

    def at(self, row: Index, column: Index) -> tuple[list[Statement], dict[Name, Name]]:
        """The body with its axes at these numbers, `column` from 0 to 1.5 n, and the names of its scalars there."""
        names: dict[Name, Name] = {}
        made: list[Statement] = []
        axes = {self.pairs.row.name: row, self.pairs.column.name: column}
        for s in self.pairs.body:
            if isinstance(s, Compute) and s.op == "index" and s.args[0] in axes:
                wraps = s.args[0] == self.pairs.column.name
                names[s.out] = self.position(axes[str(s.args[0])], wraps, s.dtype, made)
                continue
            for name in s.defines():
                names[name] = self.w.fresh()
            if isinstance(s, Load) and self.pairs.column.name in s.index.symbols:
                made.append(Load(names[s.out], self.side_by_side(s), column))
            elif isinstance(s, Load):
                index = _put(s.index, self.pairs.row.name, row)
                made.append(Load(names[s.out], s.buffer, index.renamed(names)))
            else:
                made.append(renamed(s, names))
        return made, names

    def side_by_side(self, s: Load) -> Buffer:
        """Where what columns read is, side by side and around the end."""
        key, n = (s.buffer, s.index.key), self.pairs.size
        if key not in self.packed:
            self.packed[key] = self.w.buffer(s.buffer.dtype, n + n // 2)
            for start, size in ((0, n), (n, n // 2)):
                p, out = self.fresh(2)
                load = Load(out, s.buffer, s.index.renamed({self.pairs.column.name: p}))
                self.before.append(
                    Nest([Axis(p, size)], [load, Store(self.packed[key], Index(start, ((p, 1),)), out)])
                )
        return self.packed[key]

    def position(self, at: Index, wraps: bool, dtype: np.dtype, made: list[Statement]) -> Name:
        """The number of a row or column as a scalar."""
        total: Operand = Const(int(at.const), INT64)
        for name, factor in at.terms:
            here, scaled, more = self.fresh(3)
            made.append(Compute(here, "index", (name,), INT64, INT64))
            made.append(Compute(scaled, "mul", (here, Const(int(factor), INT64)), INT64, INT64))
            made.append(Compute(more, "add", (total, scaled), INT64, INT64))
            total = more
        if wraps:
            size, over, less, new = Const(self.pairs.size, INT64), *self.fresh(3)
            made.append(Compute(over, "ge", (total, size), BOOL, INT64))
            made.append(Compute(less, "sub", (total, size), INT64, INT64))
            made.append(Compute(new, "select", (over, less, total), INT64, INT64))
            total = new
        (out,) = self.fresh(1)
        made.append(Compute(out, "cast", (total,), dtype, INT64))
        return out

    # -- the loops --

    def first(self) -> Nest:
        """Each row with itself and, of an even number, with the one that is half around."""
        n, (i, k) = self.pairs.size, self.fresh(2)
        body, names = self.at(Index(0, ((i, 1),)), Index(0, ((i, 1), (k, n // 2))))
        accs, tail = self.along(body, names, lambda s: s.alone, Index(0, ((i, 1),)))
        return Nest([Axis(i, n), Axis(k, 2 - n % 2, "reduce")], body, accs, tail)

    def along(
        self, body: list[Statement], names: dict[Name, Name], to: Callable[[RowSum], Buffer], at: Index
    ) -> tuple[list[Acc], list[Statement]]:
        """Accumulators of everything that is summed, fed at the end of the body, and the stores of what they are."""
        accs: list[Acc] = []
        tail: list[Statement] = []
        for s in (*self.rows.values(), *self.both.values()):
            (acc,) = self.fresh(1)
            accs.append(Acc(acc, s.acc.dtype, s.nothing))
            body.append(Combine("add", (acc,), (names[s.value],)))
            tail.append(Store(to(s), at, acc))
        return accs, tail

    def main(self) -> list[Statement]:
        """Each row with those behind it, up to half around."""
        b, r, k = self.fresh(3)
        blocked = self.blocks > 1
        row = Index(0, (*([(b, self.height)] if blocked else []), (r, 1)))
        body, names = self.at(row, Index(1, (*row.terms, (k, 1))))
        accs, tail = self.along(body, names, lambda s: s.along, row)
        for s in self.rows.values():
            s.waiting = Waiting(self.w, s.acc, *(self.w.buffer(s.acc.dtype, self.width) for _ in range(3)))
            body += self.added(s, names, Index(RUN + 1, ((r, 1), (k, 1))))
        across = Axis(k, self.half, "reduce")
        if not self.rows:
            return [Nest([Axis(r, self.height), across], body, accs, tail)]
        inside: list[Statement] = [*self.roots(k, body), Nest([across], body, accs, tail)]
        if self.blocks * self.height > self.pairs.size:
            inside = self.if_row(row, inside)
        (p,) = self.fresh(1)
        start = [t for s in self.rows.values() for t in s.waiting.start(Index(0, ((p, 1),)))]
        loops: list[Statement] = [
            Nest([Axis(p, self.width)], start),
            Nest([Axis(r, self.height, "scan")], [*inside, *self.settled(r)]),
        ]
        return [Nest([Axis(b, self.blocks)], [*loops, self.handed_over(b)])] if blocked else loops

    def roots(self, k: Name, body: list[Statement]) -> list[Statement]:
        """Loops over a row that compute what the body divides by again and again; it loads that instead.

        Roots take long, and what waits for them and for quotients by them fills the schedulers of processors.
        """
        divisors = Counter(str(s.args[1]) for s in body if isinstance(s, Compute) and s.op == "div")
        divisors += Counter(
            {
                str(s.args[0]): n
                for s in body
                if isinstance(s, Compute) and s.op == "neg" and (n := divisors[s.out])
            }
        )
        found = [s for s in body if isinstance(s, Compute) and s.op == "sqrt" and divisors[s.out] > 1]
        if not found or settings.current().fastmath:
            return []
        roots = {s.out: self.w.buffer(s.dtype, self.half) for s in found}
        (p,) = self.fresh(1)
        before = _needed([s for s in body if s.defines()], roots.keys())
        names = {k: p, **{n: self.w.fresh() for s in before for n in s.defines()}}
        stores = [Store(b, Index(0, ((p, 1),)), names[root]) for root, b in roots.items()]
        loads = {root: Load(root, b, Index(0, ((k, 1),))) for root, b in roots.items()}
        body[:] = [loads.get(s.out, s) if isinstance(s, Compute) else s for s in body]
        body[:] = _needed(body, [n for s in body if isinstance(s, (Combine, Store)) for n in s.uses()])
        return [Nest([Axis(p, self.half)], [*all_renamed(before, names), *stores])]

    def handed_over(self, b: Name) -> Nest:
        """What a block adds to columns goes to a row of a table."""
        (p,) = self.fresh(1)
        body: list[Statement] = []
        for s in self.rows.values():
            s.table = self.w.buffer(s.acc.dtype, self.blocks * self.width)
            whole = self.whole(s, Index(0, ((p, 1),)), body)
            body.append(Store(s.table, Index(0, ((b, self.width), (p, 1))), whole))
        return Nest([Axis(p, self.width)], body)

    def whole(self, s: RowSum, at: Index, made: list[Statement]) -> Name:
        """What waits of a sum."""
        total, error = self.loaded(s.waiting.total, at, made), self.loaded(s.waiting.error, at, made)
        more, out = s.waiting.whole(total, error)
        made += more
        return out

    def added(self, s: RowSum, names: dict[Name, Name], at: Index) -> list[Statement]:
        """What the column gets."""
        old, new = self.fresh(2)
        return [
            Load(old, s.waiting.run, at),
            s.waiting.compute(new, "add" if s.sign > 0 else "sub", old, names[s.mirrored]),
            Store(s.waiting.run, at, new),
        ]

    def if_row(self, row: Index, inside: list[Statement]) -> list[Statement]:
        """Statements for rows that there are."""
        made: list[Statement] = []
        number, (test,) = self.position(row, False, INT64, made), self.fresh(1)
        made.append(Compute(test, "lt", (number, Const(self.pairs.size, INT64)), BOOL, INT64))
        return [*made, If(test, inside, [])]

    def settled(self, r: Name) -> list[Statement]:
        """After every run of rows, and the last one, what was added to columns goes to their totals."""
        p, number, place, full, last, test = self.fresh(6)
        at = Index(2, ((r, 1), (p, 1)))  # the first column of the first row of the run
        body = [t for s in self.rows.values() for t in s.waiting.settle(at)]
        return [
            Compute(number, "index", (r,), INT64, INT64),
            Compute(place, "and", (number, Const(RUN - 1, INT64)), INT64, INT64),
            Compute(full, "eq", (place, Const(RUN - 1, INT64)), BOOL, INT64),
            Compute(last, "eq", (number, Const(self.height - 1, INT64)), BOOL, INT64),
            Compute(test, "or", (full, last), BOOL, BOOL),
            If(test, [Nest([Axis(p, self.half + RUN - 1)], body)], []),
        ]

    # -- the sums --

    def folded(self) -> list[Statement]:
        """The sums of columns of all blocks, one block after the other."""
        b, p, i = self.fresh(3)
        start: list[Statement] = []
        body: list[Statement] = []
        to, there = Index(0, ((b, self.height), (p, 1))), Index(0, ((b, self.width), (p, 1)))
        for s in self.rows.values():
            total, error = (self.w.buffer(s.acc.dtype, self.room) for _ in range(2))
            s.waiting = Waiting(self.w, s.acc, s.table, total, error)
            start += [
                Store(total, Index(0, ((i, 1),)), s.nothing),
                Store(error, Index(0, ((i, 1),)), Const(0.0, s.acc.dtype)),
            ]
            made, whole, lost = s.waiting.two_sum(to, there)
            body += [*made, Store(total, to, whole), Store(error, to, lost)]
        fold = Nest([Axis(b, self.blocks, "scan")], [Nest([Axis(p, self.width)], body)])
        return [Nest([Axis(i, self.room)], start), fold]

    def results(self) -> Nest:
        """Each row's sums: alone, along, and as a column of rows before it, around the end too."""
        (p,) = self.fresh(1)
        here = Index(0, ((p, 1),))
        body: list[Statement] = []
        for s in self.rows.values():
            parts = [self.loaded(s.alone, here, body), self.loaded(s.along, here, body)]
            parts += [self.whole(s, Index(start, ((p, 1),)), body) for start in (RUN, RUN + self.pairs.size)]
            body.append(Store(s.result, here, self.sum(parts, s.acc.dtype, body)))
        return Nest([Axis(p, self.pairs.size)], body)

    def loaded(self, buffer: Buffer, at: Index, made: list[Statement]) -> Name:
        (out,) = self.fresh(1)
        made.append(Load(out, buffer, at))
        return out

    def sum(self, parts: Sequence[Operand], dtype: np.dtype, made: list[Statement]) -> Operand:
        (total, *others) = parts
        for x in others:
            (more,) = self.fresh(1)
            made.append(Compute(more, "add", (total, x), dtype, dtype))
            total = more
        return total

    def end(self, sums: Sums, totals: Sequence[Total]) -> Nest:
        """The accumulators of some sums, and their tail."""
        (p,) = self.fresh(1)
        here = Index(0, ((p, 1),))
        body: list[Statement] = []
        names: dict[Name, Operand] = {}
        for t in totals:
            dtype = t.acc.dtype
            if len(sums.over) > 1:
                alone, along = (
                    self.loaded(b, here, body) for b in (self.both[t.value].alone, self.both[t.value].along)
                )
                value = self.signed(t, self.sum([alone, along, along], dtype, body), body)
                body.append(Combine("add", (t.acc.name,), (value,)))
            else:
                value = self.signed(t, self.loaded(self.rows[t.value].result, here, body), body)
                names[t.acc.name] = self.sum([t.acc.init, value], dtype, body)
        if not names:
            return Nest([Axis(p, self.pairs.size, "reduce")], body, sums.accs, sums.tail)
        kept = self.pairs.column if self.pairs.row.name in sums.over else self.pairs.row
        return Nest([Axis(p, self.pairs.size)], [*body, *all_renamed(sums.tail, {**names, kept.name: p})])

    def signed(self, t: Total, value: Operand, made: list[Statement]) -> Operand:
        if t.sign > 0:
            return value
        (out,) = self.fresh(1)
        made.append(Compute(out, "neg", (value,), t.acc.dtype, t.acc.dtype))
        return out


def _needed(body: Sequence[Statement], names: Iterable[Name]) -> list[Statement]:
    """The statements that these scalars depend on, and those that define none."""
    live = set(names)
    kept: list[Statement] = []
    for s in reversed(body):
        if not s.defines() or not live.isdisjoint(s.defines()):
            live.update(s.uses())
            kept.append(s)
    return kept[::-1]


def _put(index: Index, axis: Name, at: Index) -> Index:
    """An index with an axis at the sum that `at` is."""
    const, terms = index.const, dict(index.terms)
    factor = terms.pop(axis, 0)
    for name, step in at.terms if factor != 0 else ():
        terms[name] = terms.get(name, 0) + factor * step
    return Index(const + factor * at.const, tuple(terms.items()))
