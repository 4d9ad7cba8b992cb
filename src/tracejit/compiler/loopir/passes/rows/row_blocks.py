"""Row blocks: products with the rows of a matrix, and sums over these products, share one pass over the matrix.

The gradient of a linear model is that: ``X @ w``, what becomes of every row, and ``X^T @ r``, which reads X a second
time, from memory. In a loop over blocks of rows it reads what the first product has left in a cache, and threads take
blocks. What a block adds to a sum over all rows goes to a row of a table; behind the loop these are added up, with a
compensated total where there are many: a tree of sizes alone. Temporaries used in that loop alone shrink to one block.
Valid program in, valid program out; sums over rows may be rounded otherwise than before, no worse.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from itertools import count
from typing import Any

import numpy as np

from .....core.dataclass import dataclass
from .....core.dim import Size, product
from ....report import REWRITES, fired, wants
from ...called_kernels import KERNELS
from ...effects import effects, sequences
from ...ir import Call, Combine, Compute, Load, Nest, Program, Store, While, walk
from ...operands import Acc, Axis, Buffer, Const, Index, Name, View
from ...reach import reach
from ...scalar_ops import SCALAR_OPS
from ...statement import OfElement, Statement, all_renamed
from ..parallelize import accesses, sizes_inside
from ..sums_both_ways import row_major
from .product_rows import SIMPLE, WINDOW, Group, flat

LARGE = 1 << 19
"""Bytes of a matrix from which it is worth it: a near cache does not hold it."""
BLOCK = 1 << 17
"""Bytes of a block of its rows, about."""
FEWEST = 8
"""Blocks of a loop at least."""
FEWEST_ROWS = 8
"""Rows of a block at least."""
SHARE = 4
"""A block of the matrix is so many times as large, at least, as what it adds to a product, and what it is times."""
EXTENTS = [argument.extents for argument in KERNELS["matmul"].arguments]


def share_row_blocks(program: Program) -> Program:
    """Give products with the same rows, and what is between them, a loop over blocks, in place; returns the program."""
    names = (f"s{k}" for k in count())
    for block in list(sequences(program.body)):
        if sum(isinstance(s, Call) and s.function == "matmul" for s in block) > 1:
            _share(block, program, names)
    return program


def _share(block: list[Any], program: Program, names: Iterator[Name]) -> None:
    mentions = _mentions(program)
    place = 0
    while place < len(block):
        for matrix in _read_twice(block, place):
            group = RowBlocks(block, place, matrix.rows // matrix.block, next(names), mentions, matrix, names)
            group.grow()
            if group.is_good():
                place = group.replace_members({m.temp for m in program.moves})
                program.buffers += [*group.tables, *group.of_rest]
                mentions = _mentions(program)
                break
        place += 1


def _mentions(program: Program) -> Counter[Buffer]:
    return Counter(b for s in walk(program.body) for b in s.buffers())


@dataclass(frozen=True)
class Matrix:
    """A matrix that is read row by row, each `step` elements behind the one before, in blocks of so many."""

    buffer: Buffer
    step: Size
    rows: int
    columns: int

    @property
    def block(self) -> int:
        row = self.columns * self.buffer.dtype.itemsize
        fitting = min(BLOCK, self.rows * row // FEWEST) // row
        return max(fitting // FEWEST_ROWS * FEWEST_ROWS, FEWEST_ROWS)

    def is_large(self) -> bool:
        bytes_ = self.rows * self.columns * self.buffer.dtype.itemsize
        return bytes_ >= LARGE and self.rows >= FEWEST * self.block

    def takes(self, elements: Size) -> bool:
        """Is an operand or result of so many elements little beside a block?"""
        return isinstance(elements, int) and SHARE * elements <= self.block * self.columns


def _read_twice(block: Sequence[Any], place: int) -> Iterator[Matrix]:
    """Matrices whose rows a product reads, over which a later one near sums."""
    call = block[place]
    if not isinstance(call, Call) or call.function != "matmul":
        return
    later = [s for s in block[place + 1 : place + WINDOW] if isinstance(s, Call) and s.function == "matmul"]
    sizes = [size for size in call.sizes if isinstance(size, int)]
    if not later or len(sizes) < len(call.sizes):
        return
    m, k, n = sizes
    for rows, view, axis in ((m, call.views[0], 0), (n, call.views[1], 1)):
        matrix = Matrix(view.buffer, view.strides[axis], rows, k)
        if rows and k and matrix.is_large() and any(_sums_over(s, matrix) for s in later):
            yield matrix


def _sums_over(s: Call, matrix: Matrix) -> bool:
    return s.sizes[1] == matrix.rows and any(_walks(view, "k", p, matrix) for p, view in enumerate(s.views))


def _walks(view: View, extent: str, p: int, matrix: Matrix) -> bool:
    """Is this operand the matrix, and this extent of the product its rows?"""
    return (
        view.buffer is matrix.buffer
        and dict(zip(EXTENTS[p], view.strides, strict=True)).get(extent) == matrix.step
    )


@dataclass(frozen=True)
class Span:
    """Rows of one block: `first` is the first, `number` which block it is, both as indices."""

    number: Index
    first: Index
    rows: int

    def row(self, elements: int, terms: tuple[tuple[Name, Size], ...] = ()) -> Index:
        """An element of the block's row of a table."""
        steps = [(name, c * elements) for name, c in self.number.terms]
        return Index(self.number.const * elements, (*steps, *terms))

    def moved(self, index: Index, step: Size) -> Index:
        """An index of the first row of all, in this block; rows are `step` elements apart."""
        terms = [(name, c * step) for name, c in self.first.terms]
        return Index(index.const + self.first.const * step, (*index.terms, *terms))


@dataclass
class RowBlocks(Group):
    """Statements that become one loop over blocks of rows of `matrix`, of `rows` iterations.

    Attributes
    ----------
    tables : dict
        Buffers for what blocks give, and whose sum that is.
    local : set
        Temporaries that hold one block.
    of_rest : list
        What takes their place behind the loop.
    """

    matrix: Matrix
    names: Iterator[Name]
    tables: dict[Buffer, Any] = field(default_factory=dict)
    local: set[Buffer] = field(default_factory=set)
    of_rest: list[Buffer] = field(default_factory=list)

    moves_to_front = True

    @property
    def blocks(self) -> int:
        """All of them, with a short one behind the loop."""
        return -(-self.matrix.rows // self.matrix.block)

    @property
    def each(self) -> Span:
        """A block of the loop."""
        size = self.matrix.block
        return Span(Index(0, ((self.index, 1),)), Index(0, ((self.index, size),)), size)

    @property
    def rest(self) -> Span:
        """The rows behind the loop."""
        done = self.rows * self.matrix.block
        return Span(Index(self.rows), Index(done), self.matrix.rows - done)

    # -- who joins --

    def stays_in_rows(self, body: list[Any], buffers: set[Buffer] | None = None) -> bool:
        """Does each block touch memory of its own, and nothing that is known behind the loop alone?"""
        inside = effects(While(self.index, self.rows, body))
        for s in self.sources(body):
            behind = effects(Nest([], self.behind(s)))
            if not inside.writes.isdisjoint(behind.reads - set(self.tables)) or not behind.writes.isdisjoint(
                inside.reads | inside.writes
            ):
                return False
        return super().stays_in_rows(body, buffers)

    def sources(self, body: Sequence[Statement]) -> list[Any]:
        """Those who sum over all rows, of which these statements do a block."""
        found = {
            id(s): s
            for inner in walk([*body])
            for b in inner.writes()
            if (s := self.tables.get(b)) is not None
        }
        return list(found.values())

    def is_good(self) -> bool:
        """Are there products of both kinds with the matrix?"""
        calls = [self.block[p] for p in self.members if isinstance(self.block[p], Call)]
        return any(_sums_over(s, self.matrix) for s in calls) and super().is_good()

    # -- what they do in a block --

    def of_one_row(self, s: Statement) -> list[Any] | None:
        return self.of_block(s, self.each)

    def of_block(self, s: Statement, span: Span) -> list[Any] | None:
        """What a statement does in one block, under names of its own; None if it is not done block by block."""
        if isinstance(s, Call) and s.function == "matmul":
            return self.of_product(s, span)
        return self.of_nest(s, span) if isinstance(s, Nest) else None

    def of_product(self, s: Call, span: Span) -> list[Any] | None:
        extent = self.extent(s)
        if extent is None:
            return None
        views = []
        for view, extents in zip(s.views, EXTENTS, strict=True):
            step = dict(zip(extents, view.strides, strict=True)).get(extent, 0)
            whole = extent not in extents or view.buffer in self.local
            views.append(view if whole else replace(view, index=span.moved(view.index, step)))
        m, k, n = (
            span.rows if name == extent else int(size) for name, size in zip("mkn", s.sizes, strict=True)
        )
        if extent != "k":
            return [replace(s, views=tuple(views), sizes=(m, k, n))]
        table = self.table(s, views[2].buffer.dtype, m * n)
        views[2] = View(table, span.row(m * n), (n, 1))
        return [replace(s, views=tuple(views), sizes=(m, k, n), accumulate=False)]

    def extent(self, s: Call) -> str | None:
        """Which extent of a product is the rows; None where there is none, or too much beside them."""
        if not all(isinstance(size, int) for size in s.sizes):
            return None
        found = [name for name, size in zip("mkn", s.sizes, strict=True) if size == self.matrix.rows]
        sure = [name for name in found if any(_walks(v, name, p, self.matrix) for p, v in enumerate(s.views))]
        if len(sure or found) != 1:
            return None
        extent = (sure or found)[0]
        others = product(int(size) for name, size in zip("mkn", s.sizes, strict=True) if name != extent)
        return extent if self.matrix.takes(others) else None

    def of_nest(self, s: Nest, span: Span) -> list[Any] | None:
        axes = [a for a in s.axes if a.size == self.matrix.rows]
        if len(axes) != 1 or not may_be_divided(s, axes[0]):
            return None
        new = {
            name: next(self.names) for inner in walk([s]) for name in (*inner.defines(), *_introduced(inner))
        }
        made = s.renamed(new)
        made.source = s.source
        row = new[axes[0].name]
        for inner in walk([made]):
            if isinstance(inner, OfElement) and inner.buffer not in self.local:
                step = dict(inner.index.terms).get(row, 0)
                inner.index = span.moved(inner.index, step) if step != 0 else inner.index
        made.axes = [replace(a, size=span.rows) if a.name == row else a for a in made.axes]
        if axes[0].kind == "reduce":
            kept = [a for a in made.axes if a.kind == "parallel"]
            places = product(a.size for a in kept)
            if not isinstance(places, int) or not self.matrix.takes(places):
                return None
            at = row_major(kept).terms
            made.tail = []
            for acc in made.accs:
                table = self.table(s, acc.dtype, places, len(made.tail))
                made.tail.append(Store(table, span.row(places, at), acc.name))
        return [made]

    # -- sums over all rows --

    def table(self, s: Any, dtype: Any, elements: int, number: int = 0) -> Buffer:
        """Where what blocks add to a sum waits: the same for all of them."""
        mine = [b for b, source in self.tables.items() if source is s]
        if number < len(mine):
            return mine[number]
        made = Buffer(f"{next(self.names)}t", dtype, self.blocks * elements, "temp")
        self.tables[made] = s
        return made

    def behind(self, s: Call | Nest) -> list[Any]:
        """What makes sums over all rows of those of blocks."""
        tables = [b for b, source in self.tables.items() if source is s]
        if isinstance(s, Call):
            return [self.behind_product(s, tables[0])]
        old = [a for a in s.axes if a.kind == "parallel"]
        kept = [Axis(next(self.names), a.size) for a in old]
        names = {a.name: b.name for a, b in zip(old, kept, strict=True)}
        rules = {c.accs[0]: c.rule for c in s.body if isinstance(c, Combine)}
        made = self.folded(tables, kept, s.accs, rules, all_renamed(s.tail, names))
        made.source, made.location = s.source, s.location
        return [made]

    def behind_product(self, s: Call, table: Buffer) -> Nest:
        m, _, n = s.sizes
        result = s.views[2]
        kept = [Axis(next(self.names), size) for size in (m, n)]
        acc, old, new = (next(self.names) for _ in range(3))
        steps = [(a.name, c) for a, c in zip(kept, result.strides, strict=True)]
        at = Index(result.index.const, (*result.index.terms, *steps))
        tail: list[Any] = [Store(result.buffer, at, new if s.accumulate else acc)]
        if s.accumulate:
            more = Compute(new, "add", (old, acc), table.dtype, table.dtype)
            tail = [Load(old, result.buffer, at), more, *tail]
        start = Acc(acc, table.dtype, Const(0.0, table.dtype))
        return self.folded([table], kept, [start], {acc: "add"}, tail)

    def folded(
        self,
        tables: Sequence[Buffer],
        kept: list[Axis],
        accs: list[Acc],
        rules: dict[Name, str],
        tail: list[Any],
    ) -> Nest:
        """A nest that folds the rows of tables, one for each accumulator."""
        row = Axis(next(self.names), self.blocks, "reduce")
        at = row_major([row, *kept])
        body: list[Any] = []
        for table, acc in zip(tables, accs, strict=True):
            value = next(self.names)
            body += [Load(value, table, at), Combine(rules[acc.name], (acc.name,), (value,))]
        return Nest([*kept, row], body, accs, tail)

    # -- the loop --

    def replace_members(self, moved: set[Buffer]) -> int:
        """Put the loop, the rest and the sums in the place of the members; returns the place of the last."""
        self.local = self.of_one_block(moved)
        mine = [self.block[p] for p in self.members]
        loop = While(self.index, self.rows, self.done(mine, self.each))
        rest = self.with_own_memory(self.done(mine, self.rest)) if self.rest.rows else []
        sums = [t for s in self.sources(loop.body) for t in self.behind(s)]
        self.tables = {b: s for b, s in self.tables.items() if any(s is member for member in mine)}
        if wants(REWRITES):
            fired(share_row_blocks, None, what=f"{len(mine)} statements in {self.rows} blocks of rows")
        return self.put([loop, *rest, *sums])

    def done(self, mine: Sequence[Any], span: Span) -> list[Any]:
        return [part for s in mine for part in self.of_block(s, span) or ()]

    def with_own_memory(self, rest: list[Any]) -> list[Any]:
        """The rest with other temporaries than the loop, whose threads have each their own."""
        others = {b: replace(b, name=f"{next(self.names)}t") for b in self.local}
        self.of_rest = list(others.values())
        for s in walk(rest):
            if isinstance(s, OfElement):
                s.buffer = others.get(s.buffer, s.buffer)
            elif isinstance(s, Call):
                s.views = tuple([replace(v, buffer=others.get(v.buffer, v.buffer)) for v in s.views])
        return rest

    def of_one_block(self, moved: set[Buffer]) -> set[Buffer]:
        """Temporaries used here alone, whose rows each belong to a row of the matrix."""
        inside = list(walk(flat(self.members)))
        here = Counter(b for s in inside for b in s.buffers())
        sizes = sizes_inside(inside)
        reached: dict[Buffer, set[Any]] = {}
        for s in inside:
            for buffer, (index, steps), _ in accesses(s):
                terms = dict(index.terms)
                step = terms.pop(self.index, 0)
                room = reach(Index(index.const, tuple(terms.items())), sizes, steps)
                reached.setdefault(buffer, set()).add((step, room))
        alone = [
            b
            for b in reached
            if b.kind == "temp" and b not in moved and b not in self.tables and here[b] == self.mentions[b]
        ]
        local = {b for b in alone if _fits(reached[b])}
        for b in local:
            b.size = next(step for step, _ in reached[b])
        return local


def _fits(reached: set[Any]) -> bool:
    """Is all of it between where a block begins and where the next one does?"""
    steps = {step for step, _ in reached}
    (step, *others) = steps
    if others or not isinstance(step, int) or step <= 0:
        return False
    return all(
        room is not None
        and not room.outside
        and isinstance(room.low, int)
        and isinstance(room.high, int)
        and 0 <= room.low
        and room.high < step
        for _, room in reached
    )


def _introduced(s: Statement) -> tuple[Name, ...]:
    return s.introduces() if s.has_blocks else ()


def may_be_divided(s: Nest, row: Axis) -> bool:
    """May it be done in blocks of this axis: with nothing but arithmetic, and sums that may be divided?"""
    inside = list(walk([s]))
    if not all(isinstance(inner, SIMPLE) and row.name not in inner.operands() for inner in inside):
        return False
    if any(a.kind == "scan" for inner in inside if isinstance(inner, Nest) for a in inner.axes):
        return False
    if row.kind == "parallel":
        return True
    rules = {c.accs[0]: c.rule for c in s.body if isinstance(c, Combine)}
    fed = Counter(name for c in inside if isinstance(c, Combine) for name in c.accs)
    return bool(s.accs) and all(
        acc.name in rules
        and fed[acc.name] == sum(isinstance(c, Combine) and acc.name in c.accs for c in s.body)
        and _may_divide(rules[acc.name], acc)
        for acc in s.accs
    )


def _may_divide(rule: str, acc: Acc) -> bool:
    """Is a sum of sums the same sum, wherever each of them begins?"""
    op = SCALAR_OPS.get(rule)
    if op is None or "combines" not in op.traits:
        return False
    start = np.asarray(acc.init.value, acc.dtype)
    return bool(op.meaning(start, start) == start)
