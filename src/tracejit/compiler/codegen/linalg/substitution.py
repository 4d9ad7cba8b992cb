"""Substitution in registers: a block of rows of ``T X = B`` at a time, for a lower triangular T of any strides.

An upper triangle is a lower one read from its last row and column, so signed strides make one kernel of all: rows of X
then go backwards too. Columns of X are adjacent. Strides are in bytes.
"""

from __future__ import annotations

from ...ir_text import Value
from ..matmul.counted_loops import Operand, Signature, Writer
from ..matmul.vectors import load, prefix_mask
from .jobs import add_job, closure_memory, per_chunk, share
from .module import PRODUCTS, Module, at, multiply, products_of, subtract_product

_TRIANGLE = "ptr %t, i64 %t_row, i64 %t_col, ptr %reciprocals"
RECIPROCALS = Signature(
    "reciprocals", "i64 %n, ptr %t, i64 %t_row, i64 %t_col, i64 %unit, ptr %out", result="i64"
)
SOLVE_BLOCK = Signature("solve_block", f"i64 %n, i64 %columns, {_TRIANGLE}, ptr %x, i64 %x_row")
#: The same for chunks `first` to `last` of the columns.
SOLVE_CHUNKS = Signature(
    "solve_chunks",
    f"i64 %first, i64 %last, i64 %n, i64 %columns, {_TRIANGLE}, ptr %x, i64 %x_row",
    directs=True,
)
NEGATE = Signature(
    "negate", "i64 %rows, i64 %columns, ptr %source, i64 %source_row, ptr %target, i64 %target_row"
)
SUBTRACT = Signature(
    "subtract",
    "i64 %m, i64 %n, i64 %k, ptr %a, i64 %a_row, i64 %a_col, ptr %b, i64 %b_row, ptr %c, i64 %c_row, "
    f"{PRODUCTS}",
)
SOLVE = Signature(
    "solve",
    "i64 %n, i64 %columns, ptr %t, i64 %t_row, i64 %t_col, i64 %unit, ptr %x, i64 %x_row, i64 %reached, "
    f"{PRODUCTS}",
)
_POINTED_ROWS = 4


def solve_rows(rows: int) -> Signature:
    """Solve `rows` rows of X, those before being known: `depth` of them, from where `x` points; `t` is at this row."""
    return Signature(f"solve_rows_{rows}", f"i64 %columns, i64 %depth, {_TRIANGLE}, ptr %x, i64 %x_row")


def add_substitution(m: Module) -> None:
    """Functions that solve one block."""
    for rows in m.s.rows:
        _add_solve_rows(m, rows)
    _add_reciprocals(m)
    _add_solve_block(m)


def add_solving(m: Module) -> None:
    """Functions that solve with triangles of any size."""
    _add_negate(m)
    _add_subtract(m)
    _add_solve_chunks(m)
    add_job(m, SOLVE_CHUNKS)
    _add_solve(m)


# ---- one block ------------------------------------------------------------------------------------------


def _add_solve_rows(m: Module, rows: int) -> None:
    w, g = Writer(solve_rows(rows)), m.s.g
    wide = m.s.strip_vectors * g.lanes
    whole = w.op("and", w.arg.columns, -wide)
    with w.loop(whole, wide, w.arg.x) as across:
        _Strip(w, m, rows, m.s.strip_vectors, None).write(across.carried[0])
        w.advance(across, wide * g.size)
    rest = w.subtract(w.arg.columns, whole)
    with w.loop(rest, g.lanes, across.carried[0]) as across:
        mask = prefix_mask(w, w.subtract(rest, across.index), g.lanes)
        _Strip(w, m, rows, 1, mask).write(across.carried[0])
        w.advance(across, g.lanes * g.size)
    m.add(w)


class _Strip:
    """Writes the solution of some rows in one strip of columns, of so many vectors; the last is masked."""

    def __init__(self, w: Writer, m: Module, rows: int, vectors: int, mask: Value | None) -> None:
        self.w, self.g, self.rows = w, m.s.g, rows
        self.masks: list[Value | None] = [*[None] * (vectors - 1), mask]

    def write(self, x: Value) -> None:
        w, a = self.w, self.w.arg
        starts = [at(w, a.t, row, a.t_row) for row in range(0, self.rows, _POINTED_ROWS)]
        within = [w.multiply(a.t_row, row) for row in range(min(self.rows, _POINTED_ROWS))]
        here = [at(w, x, w.add(a.depth, row), a.x_row) for row in range(self.rows)]
        values = [v for place in here for v in self._load(place)]
        with w.loop(a.depth, 1, x, *starts, *values) as loop:
            known, *left = loop.carried
            pointers, sums = left[: len(starts)], left[len(starts) :]
            w.advance(loop, a.x_row, *[a.t_col] * len(starts))
            solved = self._load(known)
            for row in range(self.rows):
                place = w.offset(pointers[row // _POINTED_ROWS], within[row % _POINTED_ROWS])
                loop.following += self._less(place, solved, sums, row)
        sums, pointers = loop.carried[1 + len(starts) :], loop.carried[1 : 1 + len(starts)]
        self._finish(pointers, within, sums, here)

    def _finish(
        self, pointers: list[Value], within: list[Value], sums: list[Value], here: list[Value]
    ) -> None:
        """The triangle on the diagonal: divide, and take from the rows below."""
        w, g, count = self.w, self.g, len(self.masks)
        sums = list(sums)
        for row in range(self.rows):
            factor = w.splat(w.load(g.scalar, w.offset(w.arg.reciprocals, row * g.size), g.size), g.lanes)
            part = slice(row * count, (row + 1) * count)
            sums[part] = [w.op("fmul", v, factor) for v in sums[part]]
            column = w.multiply(w.arg.t_col, row)
            for below in range(row + 1, self.rows):
                start = w.offset(pointers[below // _POINTED_ROWS], within[below % _POINTED_ROWS])
                sums[below * count : (below + 1) * count] = self._less(
                    w.offset(start, column), sums[part], sums, below
                )
            for piece, mask in enumerate(self.masks):
                place = w.offset(here[row], piece * g.lanes * g.size)
                w.store(sums[row * count + piece], place, g.size, mask)

    def _less(self, place: Value, solved: list[Value], sums: list[Value], row: int) -> list[Value]:
        """One row less an element of T times a row that is solved."""
        w, g, count = self.w, self.g, len(self.masks)
        factor = w.splat(w.load(g.scalar, place, g.size), g.lanes)
        return [
            subtract_product(w, g, factor, v, total)
            for v, total in zip(solved, sums[row * count : (row + 1) * count], strict=True)
        ]

    def _load(self, place: Value) -> list[Value]:
        w, g = self.w, self.g
        return [
            load(w, g, w.offset(place, p * g.lanes * g.size), g.lanes, mask)
            for p, mask in enumerate(self.masks)
        ]


def _add_reciprocals(m: Module) -> None:
    """Those of the diagonal, or ones for a unit triangle; returns the number of the first zero, from 1, or 0."""
    w, g = Writer(RECIPROCALS), m.s.g
    one = Value("1.0", g.scalar)
    step = w.add(w.arg.t_row, w.arg.t_col)
    is_unit = w.compare("ne", w.arg.unit, 0)
    zero = Value("0", "i64")
    with w.loop(w.arg.n, 1, w.arg.t, w.arg.out, zero) as loop:
        t, out, first = loop.carried
        value = w.select(is_unit, one, w.load(g.scalar, t, g.size))
        w.store(w.op("fdiv", one, value), out, g.size)
        bad = w.both(w.compare("oeq", value, Value("0.0", g.scalar)), w.compare("eq", first, 0))
        w.advance(loop, step, g.size)
        loop.following.append(w.select(bad, w.add(loop.index, 1), first))
    m.add(w, f"i64 {loop.carried[2]}")


def _add_solve_block(m: Module) -> None:
    """``T X = B`` for a block, in place; a few columns at a time, so that they stay near."""
    w, g = Writer(SOLVE_BLOCK), m.s.g
    a = w.arg
    with w.loop(a.columns, m.s.chunk_columns, a.x) as across:
        x = across.carried[0]
        columns = w.minimum(w.subtract(a.columns, across.index), m.s.chunk_columns)
        done: Operand = 0
        t, reciprocals = a.t, a.reciprocals
        for rows in m.s.rows:
            left = w.subtract(a.n, done)
            count = w.subtract(left, w.op("and", left, rows - 1))
            with w.loop(count, rows, t, reciprocals) as down:
                depth = w.add(down.index, done)
                t, reciprocals = down.carried
                w.invoke(solve_rows(rows), columns, depth, t, a.t_row, a.t_col, reciprocals, x, a.x_row)
                w.advance(down, w.multiply(a.t_row, rows), rows * g.size)
            t, reciprocals = down.carried
            done = w.add(count, done)
        w.advance(across, m.s.chunk_columns * g.size)
    m.add(w)


# ---- any size -------------------------------------------------------------------------------------------


def _add_negate(m: Module) -> None:
    """``target = -source``; columns of both are adjacent."""
    w, g = Writer(NEGATE), m.s.g
    whole = w.op("and", w.arg.columns, -g.lanes)
    rest = w.subtract(w.arg.columns, whole)
    mask = prefix_mask(w, rest, g.lanes)
    with w.loop(w.arg.rows, 1, w.arg.source, w.arg.target) as down:
        with w.loop(whole, g.lanes, *down.carried) as across:
            w.store(w.unary("fneg", load(w, g, across.carried[0], g.lanes)), across.carried[1], g.size)
            w.advance(across, g.lanes * g.size, g.lanes * g.size)
        with w.when(w.compare("ne", rest, 0)):
            value = load(w, g, across.carried[0], g.lanes, mask)
            w.store(w.unary("fneg", value), across.carried[1], g.size, mask)
        w.advance(down, w.arg.source_row, w.arg.target_row)
    m.add(w)


def _add_subtract(m: Module) -> None:
    """``C -= A B``: the product adds, so parts of B are copied with the other sign."""
    w, s = Writer(SUBTRACT), m.s
    a = w.arg
    with w.returning(w.compare("sle", a.m, 0)):
        pass
    large = w.both(w.compare("sge", a.m, s.negated_from), w.compare("sgt", a.k, s.negated_rows))
    depth, width, stride = (
        w.select(large, *pair)
        for pair in (
            (s.negated_large, s.negated_rows),
            (s.negated_large, s.negated_columns),
            (s.negated_large_stride, s.negated_stride),
        )
    )
    right_step, left_step = w.multiply(a.b_row, depth), w.multiply(a.a_col, depth)
    across_step = w.multiply(width, s.g.size)
    with w.loop(a.n, width, a.b, a.c) as across:
        n = w.minimum(w.subtract(a.n, across.index), width)
        b, c = across.carried
        with w.loop(a.k, depth, a.a, b) as inward:
            left, right = inward.carried
            k = w.minimum(w.subtract(a.k, inward.index), depth)
            w.invoke(NEGATE, k, n, right, a.b_row, a.work, stride)
            copied = (a.work, stride, s.g.size)
            multiply(w, s, (a.m, n, k), (left, a.a_row, a.a_col), copied, (c, a.c_row))
            w.advance(inward, left_step, right_step)
        w.advance(across, across_step, across_step)
    m.add(w)


def _add_solve_chunks(m: Module) -> None:
    w, chunk = Writer(SOLVE_CHUNKS), m.s.chunk_columns
    a = w.arg
    start = w.multiply(a.first, chunk)
    columns = w.subtract(w.minimum(w.multiply(a.last, chunk), a.columns), start)
    x = w.offset(a.x, w.multiply(start, m.s.g.size))
    w.invoke(SOLVE_BLOCK, a.n, columns, *w.args("t t_row t_col reciprocals"), x, a.x_row)
    m.add(w)


def share_block(w: Writer, m: Module, closure: Value, n: Value, columns: Value, *rest: Operand) -> None:
    """`SOLVE_BLOCK`, whose columns threads share; `w` has the parameter `parallel`."""
    cost = per_chunk(w, m, n, n)  # substitution takes about twice as long as products do
    share(w, m, closure, SOLVE_CHUNKS, columns, cost, n, columns, *rest)


def _add_solve(m: Module) -> None:
    """``T X = B`` in place, by halves down to a block: products are then as deep as can be.

    `reached`: B is lower triangular, and so many columns of its first row are not zero, one less; -1 for any other B.
    """
    w, s = Writer(SOLVE), m.s
    a, closure = w.arg, closure_memory(w)
    triangle = a.t_row, a.t_col
    with w.returning(w.compare("sle", a.n, s.block)):
        reciprocals = w.offset(a.work, s.reciprocals_at)
        w.invoke(RECIPROCALS, a.n, a.t, *triangle, a.unit, reciprocals)
        share_block(w, m, closure, a.n, _reached(w, a.n), a.t, *triangle, reciprocals, a.x, a.x_row)
    first = first_half(w, m, a.n)
    rest, columns = w.subtract(a.n, first), _reached(w, first)
    products = products_of(w)
    w.invoke(SOLVE, first, a.columns, a.t, *triangle, a.unit, a.x, a.x_row, a.reached, *products)
    beside, below = at(w, a.t, first, a.t_row), at(w, a.x, first, a.x_row)
    w.invoke(SUBTRACT, rest, columns, first, beside, *triangle, a.x, a.x_row, below, a.x_row, *products)
    corner = at(w, beside, first, a.t_col)
    later = w.select(w.compare("slt", a.reached, 0), a.reached, w.add(a.reached, first))
    w.invoke(SOLVE, rest, a.columns, corner, *triangle, a.unit, below, a.x_row, later, *products)
    m.add(w)


def first_half(w: Writer, m: Module, rows: Value) -> Value:
    """About half of more rows than a block has, in whole blocks."""
    block = m.s.block
    return w.multiply(w.op("udiv", w.add(w.op("lshr", rows, 1), block - 1), block), block)


def _reached(w: Writer, rows: Value) -> Value:
    """Columns in which some rows have what is not zero."""
    columns = w.minimum(w.add(w.arg.reached, rows), w.arg.columns)
    return w.select(w.compare("slt", w.arg.reached, 0), w.arg.columns, columns)
