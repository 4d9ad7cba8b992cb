"""Solutions for many small matrices, one in each lane; see ``lanes``. Strides are in bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...ir_text import Value, zeros
from ..matmul.counted_loops import Operand, Signature, Writer
from .lanes import (
    COPY_NUMBERS,
    EXCHANGE_MANY,
    INTERLEAVE,
    LOSE_MANY,
    SOLVE_MANY,
    SPREAD,
    WRITTEN_OUT,
    first_bad,
    get,
    numbers,
    spread_to,
)
from .module import PRODUCTS, Module, at, entry, subtract_product

TRIANGLE_STATE = Signature("triangle_state", "i64 %n, ptr %t, i64 %upper, ptr %lost, ptr %state")
PERMUTATION_MANY = Signature("permutation_many", "i64 %n, ptr %x, ptr %pivots, ptr %order")
LU_SOLVE_MANY = Signature(
    "lu_solve_many", "i64 %n, i64 %columns, i64 %transposed, ptr %lu, ptr %pivots, ptr %lost, ptr %x"
)


def lu_solve_of(rows: int) -> Signature:
    """`LU_SOLVE_MANY` for so many rows and one right side."""
    return Signature(f"lu_solve_of_{rows}", "ptr %lu, ptr %pivots, ptr %x")


_RIGHT_SIDES = "ptr %b, i64 %b_many, i64 %b_row, i64 %b_col, ptr %x, i64 %x_many, i64 %x_row"


def _bytes(w: Writer, m: Module, names: str) -> list[Value]:
    """Strides that are given in elements."""
    return [w.multiply(x, m.s.g.size) for x in w.args(names)]


# ---- triangles ------------------------------------------------------------------------------------------


def add_triangular_lanes(m: Module, symbol: str) -> None:
    """The external function: all of X is NaN where there is one in the triangle."""
    _add_triangle_state(m)
    s = m.s
    w = Writer(
        entry(
            symbol,
            "i64 %count, i64 %n, i64 %columns, i64 %upper, ptr %t, i64 %t_many, i64 %t_row, i64 %t_col, "
            f"{_RIGHT_SIDES}, ptr %state, {PRODUCTS}",
        )
    )
    a = w.arg
    t_many, t_row, t_col = _bytes(w, m, "t_many t_row t_col")
    lost, state = w.offset(a.work, s.lost_at), w.offset(a.work, s.states_at)
    row = w.multiply(a.n, s.vector)
    with w.loop(a.count, s.g.lanes, a.t, a.state) as group:
        source, states = group.carried
        live = w.minimum(w.subtract(a.count, group.index), s.g.lanes)
        w.invoke(INTERLEAVE, live, a.n, a.n, source, t_many, t_row, t_col, a.work)
        w.invoke(TRIANGLE_STATE, a.n, a.work, a.upper, lost, state)
        w.invoke(COPY_NUMBERS, live, 1, state, 8, 0, states, 8, 0)
        with _right_sides(w, m, group.index, live) as (x, columns):
            x_row = w.multiply(columns, s.vector)
            w.invoke(SOLVE_MANY, a.n, columns, a.work, row, s.vector, a.upper, 0, x, x_row)
            w.invoke(LOSE_MANY, w.multiply(a.n, columns), x, lost)
        w.advance(group, w.multiply(t_many, s.g.lanes), 8 * s.g.lanes)
    m.add(w)


@contextmanager
def _right_sides(w: Writer, m: Module, first: Value, live: Value) -> Iterator[tuple[Value, Value]]:
    """Write a loop over some columns at a time of a group of right sides, which are solved in place and written."""
    s, a = m.s, w.arg
    b_many, b_row, b_col, x_many, x_row = _bytes(w, m, "b_many b_row b_col x_many x_row")
    x = w.offset(a.work, s.right_sides_at)
    starts = at(w, a.b, first, b_many), at(w, a.x, first, x_many)
    with w.loop(a.columns, s.many_rows, *starts) as across:
        source, target = across.carried
        columns = w.minimum(w.subtract(a.columns, across.index), s.many_rows)
        w.invoke(INTERLEAVE, live, a.n, columns, source, b_many, b_row, b_col, x)
        yield x, columns
        w.invoke(SPREAD, live, a.n, columns, x, target, x_many, x_row)
        w.advance(across, w.multiply(b_col, s.many_rows), s.many_rows * s.g.size)


def _add_triangle_state(m: Module) -> None:
    """Which lanes have a NaN in the triangle, and the number of the first zero of the diagonal in the others."""
    w, s = Writer(TRIANGLE_STATE), m.s
    a, g = w.arg, s.g
    row, zero = w.multiply(a.n, s.vector), zeros("i64", g.lanes)
    with w.loop(a.n, 1, a.t, zero) as loop:
        place, bad = loop.carried
        none = w.compare("oeq", get(w, m, place), zeros(g.scalar, g.lanes))
        loop.following += [
            w.offset(place, w.add(row, s.vector)),
            first_bad(w, m, none, bad, loop.index),
        ]
    bad, is_upper = loop.carried[1], w.compare("ne", a.upper, 0)
    with w.loop(a.n, 1, a.t, Value("zeroinitializer", "i1", g.lanes)) as down:
        start, lost = down.carried
        first = w.select(is_upper, w.multiply(down.index, s.vector), 0)
        count = w.select(is_upper, w.subtract(a.n, down.index), w.add(down.index, 1))
        with w.loop(count, 1, w.offset(start, first), lost) as across:
            value = get(w, m, across.carried[0])
            found = w.either(across.carried[1], w.compare("uno", value, value))
            across.following += [w.offset(across.carried[0], s.vector), found]
        down.following += [w.offset(start, row), across.carried[1]]
    w.store(w.select(down.carried[1], zero, bad), a.state)
    w.store(w.select(down.carried[1], numbers(w, m, 1), zero), a.lost)
    m.add(w)


# ---- LU -------------------------------------------------------------------------------------------------


def add_lu_solve_lanes(m: Module, symbol: str) -> None:
    """The external function: solutions for matrices that are factored, or for their transposes."""
    for rows in WRITTEN_OUT:
        _add_lu_solve_of(m, rows)
    _add_lu_solve_many(m)
    w = Writer(
        entry(
            symbol,
            "i64 %count, i64 %n, i64 %columns, i64 %transposed, ptr %lu, i64 %lu_many, i64 %lu_row, "
            f"ptr %pivots, i64 %pivots_many, ptr %state, {_RIGHT_SIDES}, {PRODUCTS}",
        )
    )
    a = w.arg
    with _factors(w, m) as (group, live, pivots, lost):
        with _right_sides(w, m, group, live) as (x, columns):
            w.invoke(LU_SOLVE_MANY, a.n, columns, a.transposed, a.work, pivots, lost, x)
    m.add(w)


def add_lu_inverse_lanes(m: Module, symbol: str) -> None:
    """The external function: inverses of matrices that are factored."""
    _add_permutation_many(m)
    s = m.s
    w = Writer(
        entry(
            symbol,
            "i64 %count, i64 %n, ptr %lu, i64 %lu_many, i64 %lu_row, ptr %pivots, i64 %pivots_many, ptr %state, "
            f"ptr %x, i64 %x_many, i64 %x_row, {PRODUCTS}",
        )
    )
    a = w.arg
    x_many, x_row = _bytes(w, m, "x_many x_row")
    x, row = w.offset(a.work, s.right_sides_at), w.multiply(a.n, s.vector)
    with _factors(w, m) as (group, live, pivots, lost):
        w.invoke(PERMUTATION_MANY, a.n, x, pivots, w.offset(a.work, s.old_at))
        for upper in (0, 1):
            w.invoke(SOLVE_MANY, a.n, a.n, a.work, row, s.vector, upper, 1 - upper, x, row)
        w.invoke(LOSE_MANY, w.multiply(a.n, a.n), x, lost)
        w.invoke(SPREAD, live, a.n, a.n, x, at(w, a.x, group, x_many), x_many, x_row)
    m.add(w)


@contextmanager
def _factors(w: Writer, m: Module) -> Iterator[tuple[Value, Value, Value, Value]]:
    """Write a loop over groups of factors: the first of a group, how many, pivots, and which are lost to a NaN."""
    s, a = m.s, w.arg
    lu_many, lu_row = _bytes(w, m, "lu_many lu_row")
    pivots_many = w.multiply(a.pivots_many, 8)
    chosen, lost = w.offset(a.work, s.pivots_at), w.offset(a.work, s.lost_at)
    state = w.offset(a.work, s.states_at)
    with w.loop(a.count, s.g.lanes, a.lu, a.pivots, a.state) as group:
        source, pivots, states = group.carried
        live = w.minimum(w.subtract(a.count, group.index), s.g.lanes)
        w.invoke(INTERLEAVE, live, a.n, a.n, source, lu_many, lu_row, s.g.size, a.work)
        w.invoke(COPY_NUMBERS, live, a.n, pivots, pivots_many, 8, chosen, 8, s.numbers)
        w.store(zeros("i64", s.g.lanes), state)
        w.invoke(COPY_NUMBERS, live, 1, states, 8, 0, state, 8, 0)
        found = w.load("i64", state, 8, s.g.lanes)
        is_lost = w.compare("slt", found, zeros("i64", s.g.lanes))
        w.store(w.select(is_lost, numbers(w, m, 1), zeros("i64", s.g.lanes)), lost)
        yield group.index, live, chosen, lost
        steps = (w.multiply(x, s.g.lanes) for x in (lu_many, pivots_many))
        w.advance(group, *steps, 8 * s.g.lanes)


def _add_lu_solve_of(m: Module, rows: int) -> None:
    """One right side for so many rows, in place, without loops."""
    w, s = Writer(lu_solve_of(rows)), m.s
    a, g = w.arg, s.g
    places = [w.offset(a.x, row * s.vector) for row in range(rows)]
    x = [get(w, m, place) for place in places]

    def factor(row: int, column: int) -> Value:
        return get(w, m, w.offset(a.lu, (row * rows + column) * s.vector))

    for row in range(rows - 1):
        chosen, old = w.load("i64", w.offset(a.pivots, row * s.numbers), 8, g.lanes), x[row]
        for below in range(row + 1, rows):
            taken = w.compare("eq", chosen, numbers(w, m, below))
            x[row], x[below] = w.select(taken, x[below], x[row]), w.select(taken, old, x[below])
    for row in range(rows):
        for known in range(row):
            x[row] = subtract_product(w, g, factor(row, known), x[known], x[row])
    one = spread_to(w, m, "1.0")
    for row in reversed(range(rows)):
        for known in reversed(range(row + 1, rows)):
            x[row] = subtract_product(w, g, factor(row, known), x[known], x[row])
        x[row] = w.op("fmul", x[row], w.op("fdiv", one, factor(row, row)))
    for value, place in zip(x, places, strict=True):
        w.store(value, place, g.size)
    m.add(w)


def _add_lu_solve_many(m: Module) -> None:
    """In place."""
    w, s = Writer(LU_SOLVE_MANY), m.s
    a = w.arg
    is_one = w.both(w.compare("eq", a.columns, 1), w.compare("eq", a.transposed, 0))
    for rows in WRITTEN_OUT:
        with w.returning(w.both(is_one, w.compare("eq", a.n, rows))):
            w.invoke(lu_solve_of(rows), *w.args("lu pivots x"))
            w.invoke(LOSE_MANY, rows, a.x, a.lost)
    row, x_row = w.multiply(a.n, s.vector), w.multiply(a.columns, s.vector)

    def solve(row: Operand, col: Operand, upper: int, unit: int) -> None:
        w.invoke(SOLVE_MANY, a.n, a.columns, a.lu, row, col, upper, unit, a.x, x_row)

    is_transposed = w.compare("ne", a.transposed, 0)
    with w.when(is_transposed):
        solve(s.vector, row, 0, 0)
        solve(s.vector, row, 1, 1)
        w.invoke(EXCHANGE_MANY, a.n, a.columns, a.x, x_row, a.pivots, 1)
    with w.when(is_transposed, unless=True):
        w.invoke(EXCHANGE_MANY, a.n, a.columns, a.x, x_row, a.pivots, 0)
        solve(row, s.vector, 0, 1)
        solve(row, s.vector, 1, 0)
    w.invoke(LOSE_MANY, w.multiply(a.n, a.columns), a.x, a.lost)
    m.add(w)


def _add_permutation_many(m: Module) -> None:
    """The rows of 1 in the order of the pivots: numbers of rows are exchanged, as floats, in `order`."""
    w, s = Writer(PERMUTATION_MANY), m.s
    a, g = w.arg, s.g

    def number(index: Value) -> Value:
        return w.splat(w.convert("sitofp", index, g.scalar), g.lanes)

    with w.loop(a.n, 1, a.order) as loop:
        w.store(number(loop.index), loop.carried[0], g.size)
        w.advance(loop, s.vector)
    w.invoke(EXCHANGE_MANY, a.n, 1, a.order, s.vector, a.pivots, 0)
    one, nothing = spread_to(w, m, "1.0"), zeros(g.scalar, g.lanes)
    with w.loop(a.n, 1, a.order, a.x) as down:
        chosen = get(w, m, down.carried[0])
        with w.loop(a.n, 1, down.carried[1]) as across:
            here = w.compare("oeq", chosen, number(across.index))
            w.store(w.select(here, one, nothing), across.carried[0], g.size)
            w.advance(across, s.vector)
        w.advance(down, s.vector, w.multiply(a.n, s.vector))
    m.add(w)
