"""Row fusion: nests that walk the same rows become one loop over rows with the nests inside.

Softmax is that: its maximum, the sum of exponentials and the quotient are nests over the same rows. What one nest
writes in a row the next may read in the same row only, so a row passes through all of them while it is in cache. Single
columns, as the edges of a stencil are, join the nest that writes the rest of their rows. Temporaries used in that loop
alone shrink to one row. Rows of a known size below 8, and arrays of rank 1, stay apart. Valid program in, valid program
out, same results bit by bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as product_of
from typing import Any

from ....core.dataclass import dataclass
from ....core.dim import Size, product
from ....core.lazy import once
from ...report import REWRITES, fired, wants
from ..effects import Effects, effects, is_plain
from ..ir import Compute, Load, Nest, Program, Store, walk
from ..operands import Axis, Buffer, Index
from ..reach import Reach, reach
from ..statement import Statement, all_renamed

WINDOW = 8
SMALLEST_ROW = 8
COLUMN_STATEMENTS = 48  # of a nest that is worth running a row at a time: two edges of a stencil


def fuse_rows(program: Program) -> Program:
    """Fuse rows in every block, in place; returns the program."""
    places = _places(program.body)
    for move in program.moves:
        places.setdefault(move.temp, []).append(None)
    program.body = _fuse_block(program.body, places)
    return program


def _places(statements: Sequence[Statement]) -> dict[Buffer, list[Any]]:
    """All loads and stores of the program by buffer; other uses count as a place that cannot shrink."""
    accesses: dict[Buffer, list[Any]] = {}
    for s in walk(list(statements)):
        if isinstance(s, (Load, Store)):
            accesses.setdefault(s.buffer, []).append(s)
        else:
            for b in s.buffers():
                accesses.setdefault(b, []).append(None)
    return accesses


def _fuse_block(statements: list[Statement], places: dict[Buffer, list[Any]]) -> list[Statement]:
    rows: list[Rows] = []
    for statement in statements:
        for block in statement.blocks() if not isinstance(statement, Nest) else ():
            block[:] = _fuse_block(block, places)
        new = Rows.of(statement)
        home = _home(rows, new)
        if home is None:
            rows.append(new)
        else:
            if wants(REWRITES) and isinstance(statement, Nest):
                fired(fuse_rows, statement.location, what=f"{new} with {home}")
            home.join(new)
    return [r.finish(places) for r in rows]


def _home(rows: Sequence[Rows], new: Rows) -> Rows | None:
    if new.axis is None:
        return None
    for row in reversed(rows[-WINDOW:]):
        if row.takes(new):
            return row
        if row.meets(new):
            return None
    return None


@dataclass
class Rows:
    """Statements to become one: a single one of any kind, or nests over the rows of `axis`.

    Attributes
    ----------
    touched : dict
        The loads and stores in nests, by buffer: many nests that come later ask for those of the same rows.
    """

    nests: list[Any]
    effects: Effects
    touched: dict[Buffer, list[Place]]
    axis: Axis | None = None
    is_column: bool = False

    def __str__(self) -> str:
        return f"rows {self.nests[0].axes[0].name}"

    @staticmethod
    def of(statement: Statement) -> Rows:
        rows = Rows([statement], effects(statement), _touched(statement))
        if isinstance(statement, Nest):
            if len(statement.axes) > 1 and _is_row_nest(statement):
                rows.axis = statement.axes[0]
            elif _is_column(statement):
                rows.axis, rows.is_column = statement.axes[0], True
        return rows

    def join(self, later: Rows) -> None:
        """Become the rows of both."""
        self.nests.extend(later.nests)
        self.effects.join(later.effects)
        for b, places in later.touched.items():
            self.touched.setdefault(b, []).extend(places)

    def takes(self, later: Rows) -> bool:
        """Same rows, something in common, and every shared element that changes stays in its row."""
        if self.axis is None or later.axis is None or self.axis.size != later.axis.size or self.is_column:
            return False
        mine, theirs = self.effects, later.effects
        shared = (mine.writes & theirs.reads) | (mine.writes & theirs.writes) | (mine.reads & theirs.writes)
        common = mine.writes & (theirs.writes if later.is_column else theirs.reads)
        if not common or not all(isinstance(b, Buffer) for b in shared):
            return False
        return all(_stays_in_row([*self.touched.get(b, ()), *later.touched.get(b, ())]) for b in shared)

    def meets(self, later: Rows) -> bool:
        """Must the later ones stay behind these: does one write where the other is, as far as can be told?"""
        mine, theirs = self.effects, later.effects
        if not mine.conflicts(theirs):
            return False
        shared = (mine.writes & (theirs.reads | theirs.writes)) | (mine.reads & theirs.writes)
        if not all(isinstance(b, Buffer) for b in shared) or not all(map(is_plain, self.nests)):
            return True
        return any(
            (one.writes or two.writes) and not one.misses(two)
            for b in shared
            for one, two in product_of(self.touched.get(b, ()), later.touched.get(b, ()))
        )

    def finish(self, places: dict[Buffer, list[Any]]) -> Statement:
        """The statement these rows make."""
        if len(self.nests) == 1:
            return self.nests[0]
        row = self.nests[0].axes[0]
        body = [_inner(n, row.name) for n in self.nests]
        result = Nest([row], list(body), location=self.nests[0].location)
        result.source = self.nests[0].source
        for b in {x for x in self.effects.writes if isinstance(x, Buffer) and x.kind == "temp"}:
            _shrink(b, result, places)
        return result


def _is_row_nest(nest: Nest) -> bool:
    inner = [a.size for a in nest.axes[1:]]
    long = product(inner)
    return (
        is_plain(nest)
        and nest.axes[0].kind == "parallel"
        and (not isinstance(long, int) or long >= SMALLEST_ROW)
    )


def _is_column(nest: Nest) -> bool:
    """Does it do a little for elements that each lie in a row of their own?"""
    if len(nest.axes) != 1 or nest.axes[0].kind != "parallel" or len(nest.body) > COLUMN_STATEMENTS:
        return False
    steps = [dict(s.index.terms).get(nest.axes[0].name, 0) for s in nest.body if isinstance(s, (Load, Store))]
    plain = all(isinstance(s, (Load, Store, Compute)) for s in nest.body)
    return plain and all(not isinstance(c, int) or c == 0 or c >= SMALLEST_ROW for c in steps)


def _inner(nest: Nest, row: str) -> Nest:
    """The nest without its row axis, which is now called `row`."""
    own = {nest.axes.pop(0).name: row}
    if row not in own:
        nest.body, nest.tail = (all_renamed(part, own) for part in (nest.body, nest.tail))
    return nest


@dataclass(frozen=True)
class Place:
    """A load or store, and the nest it is in, whose first axis walks the rows."""

    access: Any
    nest: Nest

    @property
    def writes(self) -> bool:
        return isinstance(self.access, Store)

    def in_row(self) -> tuple[Size, Reach] | None:
        """How far it is from row to row, and where it goes in the first one; None when that cannot be told."""
        row, *rest = self.nest.axes
        terms = dict(self.access.index.terms)
        step = terms.pop(row.name, 0)
        reached = self._reached(Index(self.access.index.const, tuple(terms.items())), rest)
        return (step, reached) if reached is not None and _positive(step) else None

    def misses(self, other: Place) -> bool:
        """Does it stay away from the other in all rows, as far as can be told?"""
        one, two = self.in_all_rows, other.in_all_rows
        return one is not None and two is not None and one.misses(two)

    @once
    def in_all_rows(self) -> Reach | None:
        return self._reached(self.access.index, self.nest.axes)

    def _reached(self, index: Index, axes: Sequence[Axis]) -> Reach | None:
        own = {name for s in self.nest.body for name in s.defines()}
        return reach(index, {a.name: a.size for a in axes}) if own.isdisjoint(index.symbols) else None


def _touched(nest: Statement) -> dict[Buffer, list[Place]]:
    """The loads and stores that a nest consists of, by buffer; none of other statements."""
    touched: dict[Buffer, list[Place]] = {}
    if isinstance(nest, Nest):
        for s in (*nest.body, *nest.tail):
            if isinstance(s, (Load, Store)):
                touched.setdefault(s.buffer, []).append(Place(s, nest))
    return touched


def _stays_in_row(places: Sequence[Place]) -> bool:
    """Is the row of every access to a buffer the row of the loop, apart from reads of what no nest writes?"""
    written = [p for p in places if p.writes]
    found = [p.in_row() for p in places if p.writes or not all(map(p.misses, written))]
    known = [f for f in found if f is not None]
    if len(known) < len(found) or len({(step, row.outside) for step, row in known}) != 1:
        return False
    step = known[0][0]
    return all(_positive(step - (one.high - two.low)) for _, one in known for _, two in known)


def _positive(size: Size) -> bool:
    """Is it positive whatever the unknown sizes are (which are not negative)?"""
    if isinstance(size, int):
        return size > 0
    constant = sum(f for monomial, f in size.terms if not monomial)
    return all(f > 0 for monomial, f in size.terms if monomial) and constant > 0


def _shrink(b: Buffer, rows: Nest, places: dict[Buffer, list[Any]]) -> None:
    """Let a temporary used in this loop alone hold one row."""
    own = [s for s in walk(rows.body) if isinstance(s, (Load, Store)) and s.buffer is b]
    if len(own) != len(places.get(b, ())) or any(p is None for p in places[b]):
        return
    row = rows.axes[0]
    steps = {dict(s.index.terms).get(row.name, 0) for s in own}
    step = steps.pop()
    if steps or step == 0 or b.size != step * row.size:
        return
    for s in own:
        s.index = Index(s.index.const, tuple((n, c) for n, c in s.index.terms if n != row.name))
    b.size = step
