"""``T x = b`` for one right side, whose elements are adjacent: some rows of T at a time, or columns, as they are dense.

Where rows are dense, products of a few of them with what is known are summed up, vector by vector; where columns are,
multiples of a few of them are taken from what is left. An upper triangle is a lower one read from its last row and
column, with negative strides: `upper` says that adjacent elements are then met from the last one on. Strides are in
bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir_text import Value, zeros
from ..matmul.counted_loops import Operand, Signature, Writer
from ..matmul.vectors import load, multiply_add, prefix_mask
from .module import Module, at, subtract_product

_PARAMETERS = "ptr %t, i64 %t_row, i64 %t_col, i64 %upper, i64 %unit, ptr %x, i64 %x_row"
SOLVE_BY_ROWS = Signature("solve_by_rows", f"i64 %n, {_PARAMETERS}")
SOLVE_BY_COLUMNS = Signature("solve_by_columns", f"i64 %n, {_PARAMETERS}")


def add_one_column(m: Module) -> None:
    """Both ways, in place."""
    _add(m, SOLVE_BY_ROWS, _sum_up)
    _add(m, SOLVE_BY_COLUMNS, _take_away)


def _add(
    m: Module, signature: Signature, solve_block: Callable[[Writer, Module, int, Value], object]
) -> None:
    w = Writer(signature)
    done: Operand = 0
    for rows in m.s.rows:
        left = w.subtract(w.arg.n, done)
        count = w.subtract(left, w.op("and", left, rows - 1))
        with w.loop(count, rows) as down:
            solve_block(w, m, rows, w.add(down.index, done))
        done = w.add(count, done)
    m.add(w)


def _sum_up(w: Writer, m: Module, rows: int, depth: Value) -> None:
    """Take what is known times its elements from some rows, and solve them."""
    a, g = w.arg, m.s.g
    backwards = _from(w, w.subtract(depth, 1), 0)
    first = at(w, a.t, depth, a.t_row, backwards, a.t_col)
    starts = [w.offset(first, w.multiply(a.t_row, row)) for row in range(rows)]
    whole = w.op("and", depth, -g.lanes)
    totals = [zeros(g.scalar, g.lanes)] * rows
    known = at(w, a.x, backwards, a.x_row)
    place: list[Value] = [known, *starts]

    def added(carried: list[Value], mask: Value | None) -> list[Value]:
        x = load(w, g, carried[0], g.lanes, mask)
        pairs = zip(carried[1 : rows + 1], carried[rows + 1 :], strict=True)
        return [multiply_add(w, g, load(w, g, p, g.lanes, mask), x, total) for p, total in pairs]

    with w.loop(whole, g.lanes, *place, *totals) as along:
        w.advance(along, *[g.lanes * g.size] * (rows + 1))
        along.following += added(along.carried, None)
    with w.loop(w.subtract(depth, whole), g.lanes, *along.carried) as rest:
        mask = prefix_mask(w, w.subtract(depth, whole), g.lanes)
        rest.following += [*rest.carried[: rows + 1], *added(rest.carried, mask)]
    sums = [_total(w, m, total) for total in rest.carried[rows + 1 :]]
    here = at(w, a.x, depth, a.x_row)
    _finish(w, m, at(w, a.t, depth, w.add(a.t_row, a.t_col)), here, sums)


def _take_away(w: Writer, m: Module, rows: int, depth: Value) -> None:
    """Solve some rows, and take them times their columns from those that are left."""
    a, g = w.arg, m.s.g
    solved = _finish(
        w, m, at(w, a.t, depth, w.add(a.t_row, a.t_col)), at(w, a.x, depth, a.x_row), [None] * rows
    )
    factors = [w.splat(x, g.lanes) for x in solved]
    after = w.add(depth, rows)
    left = w.subtract(a.n, after)
    first = _from(w, w.subtract(a.n, 1), after)
    column = at(w, a.t, first, a.t_row, depth, a.t_col)
    columns = [w.offset(column, w.multiply(a.t_col, number)) for number in range(rows)]
    whole = w.op("and", left, -g.lanes)

    def taken(carried: list[Value], mask: Value | None) -> None:
        total = load(w, g, carried[0], g.lanes, mask)
        for factor, place in zip(factors, carried[1:], strict=True):
            total = subtract_product(w, g, factor, load(w, g, place, g.lanes, mask), total)
        w.store(total, carried[0], g.size, mask)

    with w.loop(whole, g.lanes, at(w, a.x, first, a.x_row), *columns) as along:
        taken(along.carried, None)
        w.advance(along, *[g.lanes * g.size] * (rows + 1))
    rest = w.subtract(left, whole)
    with w.when(w.compare("sgt", rest, 0)):
        taken(along.carried, prefix_mask(w, rest, g.lanes))


def _from(w: Writer, last: Value, first: Operand) -> Value:
    """The number of the row or column, counted as those of T are, whose element is the first one in memory."""
    return w.select(w.compare("ne", w.arg.upper, 0), last, first)


def _total(w: Writer, m: Module, value: Value) -> Value:
    g = m.s.g
    start = Value("-0.0", g.scalar)
    symbol = w.declare(g.scalar, f"@llvm.vector.reduce.fadd.{g.suffix(g.lanes)}", start, value)
    return w.effect(g.scalar, 1, f"call reassoc {g.scalar} {symbol}({start.typed}, {value.typed})")


def _finish(w: Writer, m: Module, corner: Value, here: Value, sums: Sequence[Value | None]) -> list[Value]:
    """Solve a small triangle, number by number, after `sums` are taken from its rows."""
    a, g = w.arg, m.s.g
    is_unit, one = w.compare("ne", a.unit, 0), Value("1.0", g.scalar)
    solved: list[Value] = []
    for row, known in enumerate(sums):
        place = w.offset(here, w.multiply(a.x_row, row))
        value = w.load(g.scalar, place, g.size)
        if known is not None:
            value = w.op("fsub", value, known)
        start = w.offset(corner, w.multiply(a.t_row, row))
        for column, x in enumerate(solved):
            factor = w.load(g.scalar, w.offset(start, w.multiply(a.t_col, column)), g.size)
            value = subtract_product(w, g, factor, x, value)
        diagonal = w.load(g.scalar, w.offset(start, w.multiply(a.t_col, row)), g.size)
        value = w.op("fmul", value, w.op("fdiv", one, w.select(is_unit, one, diagonal)))
        w.store(value, place, g.size)
        solved.append(value)
    return solved
