"""Sums along rows, down columns and over both, accumulated in one pass over a matrix.

The forces between bodies are that: what two bodies do to each other is added to the one and to the other. Fusion joins
what makes the elements with every sum of them; here the joined nest becomes loops. The row loop runs in order: a sum
along the row is an accumulator of the loop inside, a sum of everything adds up what the rows gave, a sum down a column
waits in an array of columns. Sums of floats there are as careful as those of an accumulator: each run of rows goes to
a compensated total.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np

from ....core.dataclass import dataclass
from ....core.dim import Size, product
from ..ir import Combine, Compute, If, Load, Nest, Program, Size_, Store, walk
from ..operands import Acc, Axis, Buffer, Const, Index, Name, Operand
from ..scalar_ops import SCALAR_OPS
from ..statement import Statement, all_renamed

RUN = 16  # rows that are added up before their sum goes to a compensated total
LEAST = 1024  # points of a nest that is worth it
NARROWEST = 16  # columns that fill lanes
INT64, BOOL = np.dtype(np.int64), np.dtype(bool)


@dataclass
class Sums:
    """Accumulators of one nest over some of its axes, and what is done with them behind."""

    over: frozenset[Name]
    accs: list[Acc]
    tail: list[Statement]


def sums_of(nest: Nest) -> Sums:
    """The accumulators that a nest has by itself."""
    return Sums(frozenset(a.name for a in nest.axes if a.kind == "reduce"), nest.accs, nest.tail)


def split(axes: Sequence[Axis], over: Sequence[frozenset[Name]]) -> tuple[list[Axis], list[Axis]] | None:
    """The axes of rows and those of columns, if each sum is along the rows, down the columns, or both."""
    names = [a.name for a in axes if any(a.name in o for o in over)]
    for k in range(1, len(names)):
        rows, columns = frozenset(names[:k]), frozenset(names[k:])
        across = [a for a in axes if a.name in columns]
        width = product(a.size for a in across)
        wide = not isinstance(width, int) or width >= NARROWEST
        if wide and all(o in (rows, columns, rows | columns) for o in over):
            return [a for a in axes if a.name in rows], across
    return None


def is_worth_it(nest: Nest, atoms: Sequence[str]) -> bool:
    """Are there many points, in numbers that are known when the program begins?"""
    points = product(a.size for a in nest.axes)
    return points >= LEAST if isinstance(points, int) else all(a.name in atoms for a in points.atoms())


class Writer:
    """Makes loops of nests with several sums; `program` gets the buffers that columns wait in.

    `reads` counts the statements that read a buffer, before any of them is moved.
    """

    def __init__(self, program: Program):
        self.program = program
        self.reads: Counter[Buffer] = Counter(b for s in walk(program.body) for b in s.reads())
        self.reads.update(b for m in program.moves for b in (m.temp, m.target))
        self.names: Iterator[str] = (f"q{k}" for k in count())
        self.numbers: Iterator[int] = count()

    def write(self, nest: Nest, sums: Sequence[Sums]) -> list[Statement]:
        """The statements that take the place of a nest whose body feeds all of `sums`."""
        parts = split(nest.axes, [s.over for s in sums])
        assert parts is not None
        rows, columns = parts
        outside = [a for a in nest.axes if a not in rows and a not in columns]
        return self.around(nest, outside, RowLoop(self, rows, columns).write(nest.body, sums))

    def around(self, nest: Nest, outside: Sequence[Axis], made: list[Statement]) -> list[Statement]:
        """Statements in the place of a nest, in loops over those of its axes that are `outside`."""
        if outside:
            made = [Nest([Axis(a.name, a.size) for a in outside], made)]
        for s in made:
            s.source = nest.source
            if isinstance(s, Nest):
                s.location = nest.location
        return made

    def fresh(self) -> Name:
        return next(self.names)

    def buffer(self, dtype: np.dtype, size: Size) -> Buffer:
        made = Buffer(f"q{next(self.numbers)}b", dtype, size, "temp")
        self.program.buffers.append(made)
        return made


class RowLoop:
    """Writes one loop over rows with the loop over columns inside."""

    columns: list[Axis]
    rows: list[Axis]
    w: Writer

    def __init__(self, w: Writer, rows: list[Axis], columns: list[Axis]):
        self.w, self.rows, self.columns = w, rows, columns
        self.down: frozenset[Name] = frozenset(a.name for a in rows)
        self.along: frozenset[Name] = frozenset(a.name for a in columns)
        self.partial: dict[Name, Name] = {}  # what of sums of everything one row gives
        self.waiting: dict[Name, Waiting] = {}
        self.packed: dict[tuple[Buffer, Any], Buffer] = {}
        self.written: set[Buffer] = set()
        self.before: list[Statement] = []
        self.behind: list[Statement] = []

    def write(self, body: Sequence[Statement], sums: Sequence[Sums]) -> list[Statement]:
        rules = {s.accs[0]: s.rule for s in body if isinstance(s, Combine)}
        accs: list[Acc] = []
        tail: list[Statement] = []
        for s in sums:
            if s.over == self.along:
                accs += s.accs
                tail += s.tail
            elif s.over == self.down:
                self.wait(s, rules)
            else:
                self.add_up(s, rules, accs, tail)
        kind = "reduce" if accs else "parallel"
        self.written = {b for s in body for b in s.writes()}
        inside = [t for s in body for t in self.fed(s)]
        across = self.axes(self.columns, kind, named=True)
        if not self.waiting:  # rows that leave nothing to the next one run in any order
            rows = self.axes(self.rows, "parallel", named=True)
            return [*self.before, Nest([*rows, *across], inside, accs, tail), *self.behind]
        inner: list[Statement] = [Nest(across, inside, accs, tail)]
        if settled := [w for w in self.waiting.values() if w.total is not None]:
            inner += self.settle(settled)
        return [*self.before, Nest(self.axes(self.rows, "scan", named=True), inner), *self.behind]

    def axes(self, like: Sequence[Axis], kind: str, named: bool = False) -> list[Axis]:
        """Axes of the same sizes, and the same names or fresh ones."""
        return [Axis(a.name if named else self.w.fresh(), a.size, kind) for a in like]

    def fed(self, s: Statement) -> list[Statement]:
        """A statement of the body as it is inside of the loops."""
        if isinstance(s, Load) and s.guard is None and s.buffer not in self.written:
            return [self.packed_load(s)]
        if not isinstance(s, Combine):
            return [s]
        (acc,), (value,) = s.accs, s.values
        if (column := self.waiting.get(acc)) is None:
            return [Combine(s.rule, (self.partial.get(acc, acc),), (value,))]
        old, new = self.w.fresh(), self.w.fresh()
        at = row_major(self.columns)
        return [
            Load(old, column.run, at),
            column.compute(new, s.rule, old, value),
            Store(column.run, at, new),
        ]

    def packed_load(self, s: Load) -> Load:
        """A load of what all rows read, of elements apart from each other, from where they are side by side."""
        few = _few(product(a.size for a in self.rows))
        if few or len(self.columns) != 1 or not isinstance(self.columns[0].size, int):
            return s
        (column,) = self.columns
        step = dict(s.index.terms).get(column.name)
        if step is None or step == 1 or s.index.symbols != (column.name,):
            return s
        key = s.buffer, s.index.key
        if key not in self.packed:
            packed = self.packed[key] = self.w.buffer(s.buffer.dtype, column.size)
            (axis,), out = self.axes(self.columns, "parallel"), self.w.fresh()
            load = Load(out, s.buffer, s.index.renamed({column.name: axis.name}))
            self.before.append(Nest([axis], [load, Store(packed, Index(0, ((axis.name, 1),)), out)]))
        return Load(s.out, self.packed[key], Index(0, ((column.name, 1),)))

    # -- sums of everything --

    def add_up(self, s: Sums, rules: dict[Name, str], accs: list[Acc], tail: list[Statement]) -> None:
        """Keep what each row gives, and add that up behind."""
        axes = self.axes(self.rows, "reduce")
        body: list[Statement] = []
        for acc in s.accs:
            kept = self.w.buffer(acc.dtype, product(a.size for a in self.rows))
            partial = self.partial[acc.name] = self.w.fresh()
            accs.append(Acc(partial, acc.dtype, acc.init))
            tail.append(Store(kept, row_major(self.rows), partial))
            value = self.w.fresh()
            body += [Load(value, kept, row_major(axes)), Combine(rules[acc.name], (acc.name,), (value,))]
        self.behind.append(Nest(axes, body, s.accs, s.tail))

    # -- sums down the columns --

    def wait(self, s: Sums, rules: dict[Name, str]) -> None:
        """Let sums wait in memory, which starts as they do and ends in their tail."""
        rows, size = product(a.size for a in self.rows), product(a.size for a in self.columns)
        start, end = self.axes(self.columns, "parallel"), self.axes(self.columns, "parallel")
        first: list[Statement] = []
        last: list[Statement] = []
        names: dict[Name, Name] = {a.name: b.name for a, b in zip(self.columns, end, strict=True)}
        for acc in s.accs:
            careful = rules[acc.name] == "add" and acc.dtype.kind == "f" and not _few(rows)
            more = [self.w.buffer(acc.dtype, size) for _ in range(2 * careful)]
            column = Waiting(self.w, acc, self.w.buffer(acc.dtype, size), *more)
            self.waiting[acc.name] = column
            first += column.start(row_major(start))
            last += column.end(row_major(end))
            names[acc.name] = column.result
        self.before.append(Nest(start, first))
        self.behind.append(Nest(end, [*last, *all_renamed(s.tail, names)]))

    def settle(self, columns: Sequence[Waiting]) -> list[Statement]:
        """After every run of rows, its sums go to the totals."""
        axes = self.axes(self.columns, "parallel")
        body = [t for c in columns for t in c.settle(row_major(axes))]
        made, row = self.row_number()
        place, last = self.w.fresh(), self.w.fresh()
        made.append(Compute(place, "and", (row, Const(RUN - 1, INT64)), INT64, INT64))
        made.append(Compute(last, "eq", (place, Const(RUN - 1, INT64)), BOOL, INT64))
        return [*made, If(last, [Nest(axes, body)], [])]

    def row_number(self) -> tuple[list[Statement], Operand]:
        """How many rows came before."""
        total = self.w.fresh()
        made: list[Statement] = [Compute(total, "index", (self.rows[0].name,), INT64, INT64)]
        for a in self.rows[1:]:
            size, scaled, here, new = (self.w.fresh() for _ in range(4))
            made += [
                Size_(size, a.size),
                Compute(scaled, "mul", (total, size), INT64, INT64),
                Compute(here, "index", (a.name,), INT64, INT64),
                Compute(new, "add", (scaled, here), INT64, INT64),
            ]
            total = new
        return made, total


class Waiting:
    """A sum down each column. With a `total`, `run` has what the last rows gave, and `error` what the total lost."""

    acc: Acc
    error: Buffer | None
    run: Buffer
    total: Buffer | None
    w: Writer

    def __init__(
        self, w: Writer, acc: Acc, run: Buffer, total: Buffer | None = None, error: Buffer | None = None
    ):
        self.w, self.acc, self.run, self.total, self.error = w, acc, run, total, error
        self.result: Any = w.fresh()

    def compute(self, out: Name, op: str, *args: Operand) -> Compute:
        dtype = self.acc.dtype
        return Compute(out, op, args, BOOL if SCALAR_OPS[op].result == "bool" else dtype, dtype)

    def constant(self, value: float) -> Const:
        return Const(value, self.acc.dtype)

    def start(self, at: Index) -> list[Statement]:
        if self.total is None or self.error is None:
            return [Store(self.run, at, self.acc.init)]
        nothing = self.constant(-0.0)  # added to anything, it changes nothing
        return [
            Store(self.run, at, nothing),
            Store(self.total, at, nothing),
            Store(self.error, at, self.constant(0.0)),
        ]

    def settle(self, at: Index) -> list[Statement]:
        """The run goes to the total, and a new one begins."""
        made, total, error = self.two_sum(at)
        assert self.total is not None and self.error is not None
        return [
            *made,
            Store(self.total, at, total),
            Store(self.error, at, error),
            Store(self.run, at, self.constant(-0.0)),
        ]

    def two_sum(self, at: Index, there: Index | None = None) -> tuple[list[Statement], Name, Name]:
        """The total and its error with the run added (Knuth), or with what is `there` in it."""
        assert self.total is not None and self.error is not None
        run, total, error, up, part, rest, first, second, lost, new = (self.w.fresh() for _ in range(10))
        made = [
            Load(run, self.run, at if there is None else there),
            Load(total, self.total, at),
            Load(error, self.error, at),
            self.compute(up, "add", total, run),
            self.compute(part, "sub", up, total),
            self.compute(rest, "sub", up, part),
            self.compute(first, "sub", total, rest),
            self.compute(second, "sub", run, part),
            self.compute(lost, "add", first, second),
            self.compute(new, "add", error, lost),
        ]
        return made, up, new

    def end(self, at: Index) -> list[Statement]:
        """The sum as a scalar, `result`."""
        if self.total is None:
            return [Load(self.result, self.run, at)]
        made, total, error = self.two_sum(at)
        more, whole = self.whole(total, error)
        return [*made, *more, self.compute(self.result, "add", self.acc.init, whole)]

    def whole(self, total: Name, error: Name) -> tuple[list[Statement], Name]:
        """A total with what it lost; an error that is infinite or missing means that the total is so itself."""
        size, usable, finite, out = (self.w.fresh() for _ in range(4))
        made: list[Statement] = [
            self.compute(size, "abs", error),
            self.compute(usable, "lt", size, self.constant(np.inf)),
            self.compute(finite, "select", usable, error, self.constant(0.0)),
            self.compute(out, "add", total, finite),
        ]
        return made, out


def _few(rows: Size) -> bool:
    return isinstance(rows, int) and rows <= RUN


def row_major(axes: Sequence[Axis]) -> Index:
    """The place of a point of the axes in an array of just these."""
    terms: list[tuple[Name, Size]] = []
    step: Size = 1
    for a in reversed(axes):
        terms.insert(0, (a.name, step))
        step = step * a.size
    return Index(0, tuple(terms))
