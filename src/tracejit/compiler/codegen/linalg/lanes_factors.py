"""Factors of many small matrices, one in each lane; see ``lanes``. Strides are in bytes."""

from __future__ import annotations

from ...ir_text import Value, zeros
from ..matmul.counted_loops import Signature, Writer
from ..matmul.vectors import multiply_add
from .lanes import (
    AT_ONCE,
    COPY_NUMBERS,
    INTERLEAVE,
    LOSE_MANY,
    SPREAD,
    WRITTEN_OUT,
    each_element,
    first_bad,
    get,
    numbers,
    spread_to,
)
from .module import PRODUCTS, Module, at, entry, subtract_product

CHOLESKY_MANY = Signature("cholesky_many", "i64 %n, ptr %a, ptr %lost, ptr %state")
LU_MANY = Signature("lu_many", "i64 %n, ptr %a, ptr %old, ptr %pivots, ptr %state")
PIVOT_ROW = Signature("pivot_row", "i64 %n, i64 %first, ptr %a, i64 %row, i64 %column, ptr %old, ptr %pivots")


def lu_of(rows: int) -> Signature:
    """`LU_MANY` for so many rows."""
    return Signature(f"lu_of_{rows}", LU_MANY.parameters)


# ---- Cholesky -------------------------------------------------------------------------------------------


def add_cholesky_lanes(m: Module, symbol: str) -> None:
    """The external function: lower factors and states."""
    _add_cholesky_many(m)
    s, size = m.s, m.s.g.size
    w = Writer(
        entry(
            symbol,
            "i64 %count, i64 %n, ptr %a, i64 %a_many, i64 %a_row, i64 %a_col, ptr %l, i64 %l_many, i64 %l_row, "
            f"ptr %state, {PRODUCTS}",
        )
    )
    a = w.arg
    a_many, a_row, a_col, l_many, l_row = (
        w.multiply(x, size) for x in w.args("a_many a_row a_col l_many l_row")
    )
    lost, state = w.offset(a.work, s.lost_at), w.offset(a.work, s.states_at)
    with w.loop(a.count, s.g.lanes, a.a, a.l, a.state) as group:
        source, target, states = group.carried
        live = w.minimum(w.subtract(a.count, group.index), s.g.lanes)
        w.invoke(INTERLEAVE, live, a.n, a.n, source, a_many, a_row, a_col, a.work)
        w.invoke(CHOLESKY_MANY, a.n, a.work, lost, state)
        w.invoke(SPREAD, live, a.n, a.n, a.work, target, l_many, l_row)
        w.invoke(COPY_NUMBERS, live, 1, state, 8, 0, states, 8, 0)
        w.advance(group, w.multiply(a_many, s.g.lanes), w.multiply(l_many, s.g.lanes), 8 * s.g.lanes)
    m.add(w)


def _add_cholesky_many(m: Module) -> None:
    """In place: NaN in the lower triangle where that is not finite, and the number of a pivot that is not positive."""
    w, s = Writer(CHOLESKY_MANY), m.s
    a, g = w.arg, s.g
    row, nothing, zero = w.multiply(a.n, s.vector), zeros(g.scalar, g.lanes), zeros("i64", g.lanes)
    lost = _not_finite(w, m)
    with w.loop(a.n, 1, a.a, zero) as loop:
        diagonal, bad = loop.carried
        square = get(w, m, diagonal)
        bad = first_bad(w, m, w.compare("ule", square, nothing), bad, loop.index)
        root = w.intrinsic("sqrt", square)
        w.store(root, diagonal, g.size)
        factor = w.op("fdiv", spread_to(w, m, "1.0"), root)
        rest = w.subtract(w.subtract(a.n, loop.index), 1)
        below = w.offset(diagonal, row)
        with w.loop(rest, 1, below, w.offset(diagonal, s.vector)) as down:
            place, right = down.carried
            w.store(w.op("fmul", get(w, m, place), factor), place, g.size)
            w.store(nothing, right, g.size)
            w.advance(down, row, s.vector)
        with w.loop(rest, 1, below) as down:
            factor = get(w, m, down.carried[0])
            with w.loop(w.add(down.index, 1), 1, w.offset(down.carried[0], s.vector), below) as across:
                target, known = across.carried
                left = subtract_product(w, g, factor, get(w, m, known), get(w, m, target))
                w.store(left, target, g.size)
                w.advance(across, s.vector, row)
            w.advance(down, row)
        loop.following += [w.offset(below, s.vector), bad]
    w.store(w.select(lost, zero, loop.carried[1]), a.state)
    w.store(w.select(lost, numbers(w, m, 1), zero), a.lost)
    with w.loop(a.n, 1, a.a) as down:
        w.invoke(LOSE_MANY, w.add(down.index, 1), down.carried[0], a.lost)
        w.advance(down, row)
    m.add(w)


def _not_finite(w: Writer, m: Module) -> Value:
    """In which lanes the lower triangle is not finite: products with 0 are 0 then, and NaN for all else."""
    s, nothing = m.s, zeros(m.s.g.scalar, m.s.g.lanes)
    with w.loop(w.arg.n, 1, w.arg.a, nothing) as down:
        with w.loop(w.add(down.index, 1), 1, *down.carried) as across:
            place, total = across.carried
            across.following += [
                w.offset(place, s.vector),
                multiply_add(w, s.g, get(w, m, place), nothing, total),
            ]
        down.following += [
            w.offset(down.carried[0], w.multiply(w.arg.n, s.vector)),
            across.carried[1],
        ]
    return w.compare("une", down.carried[1], nothing)


# ---- LU -------------------------------------------------------------------------------------------------


def add_lu_lanes(m: Module, symbol: str) -> None:
    """The external function: both factors in one matrix, pivots and states."""
    _add_pivot_row(m)
    for rows in WRITTEN_OUT:
        _add_lu_of(m, rows)
    _add_lu_many(m)
    s, size = m.s, m.s.g.size
    w = Writer(
        entry(
            symbol,
            "i64 %count, i64 %n, ptr %a, i64 %a_many, i64 %a_row, i64 %a_col, ptr %lu, i64 %lu_many, i64 %lu_row, "
            f"ptr %pivots, i64 %pivots_many, ptr %state, {PRODUCTS}",
        )
    )
    a = w.arg
    a_many, a_row, a_col, lu_many, lu_row = (
        w.multiply(x, size) for x in w.args("a_many a_row a_col lu_many lu_row")
    )
    pivots_many = w.multiply(a.pivots_many, 8)
    old, chosen, state = (w.offset(a.work, place) for place in (s.old_at, s.pivots_at, s.states_at))
    steps = [w.multiply(x, s.g.lanes) for x in (a_many, lu_many, pivots_many)]
    with w.loop(a.count, s.g.lanes, a.a, a.lu, a.pivots, a.state) as group:
        source, target, pivots, states = group.carried
        live = w.minimum(w.subtract(a.count, group.index), s.g.lanes)
        w.invoke(INTERLEAVE, live, a.n, a.n, source, a_many, a_row, a_col, a.work)
        w.invoke(LU_MANY, a.n, a.work, old, chosen, state)
        w.invoke(SPREAD, live, a.n, a.n, a.work, target, lu_many, lu_row)
        w.invoke(COPY_NUMBERS, live, a.n, chosen, 8, s.numbers, pivots, pivots_many, 8)
        w.invoke(COPY_NUMBERS, live, 1, state, 8, 0, states, 8, 0)
        w.advance(group, *steps, 8 * s.g.lanes)
    m.add(w)


def _add_lu_many(m: Module) -> None:
    """In place; the row that is in the way of the pivot's is kept in `old` until it gets the place of that."""
    w, s = Writer(LU_MANY), m.s
    a, g = w.arg, s.g
    for rows in WRITTEN_OUT:
        with w.returning(w.compare("eq", a.n, rows)):
            w.invoke(lu_of(rows), *w.args("n a old pivots state"))
    row, zero = w.multiply(a.n, s.vector), zeros("i64", g.lanes)
    lost = _has_nan(w, m)
    with w.loop(a.n, 1, a.a, a.pivots, zero) as loop:
        here, pivots, bad = loop.carried
        w.invoke(PIVOT_ROW, a.n, loop.index, here, row, w.multiply(loop.index, s.vector), a.old, pivots)
        diagonal = get(w, m, at(w, here, loop.index, s.vector))
        none = w.compare("oeq", diagonal, zeros(g.scalar, g.lanes))
        bad = first_bad(w, m, none, bad, loop.index)
        _clear_below(w, m, loop.index, here, row, pivots, w.select(none, spread_to(w, m, "1.0"), diagonal))
        loop.following += [w.offset(here, row), w.offset(pivots, s.numbers), bad]
    w.store(w.select(lost, numbers(w, m, -1), loop.carried[2]), a.state)
    m.add(w)


def _add_lu_of(m: Module, rows: int) -> None:
    """The same without loops; rows that change places in no lane stay where they are."""
    w, s = Writer(lu_of(rows)), m.s
    a, g = w.arg, s.g
    zero, nothing, one = zeros("i64", g.lanes), zeros(g.scalar, g.lanes), spread_to(w, m, "1.0")
    lost, bad = _has_nan(w, m), zero
    places = [[w.offset(a.a, (i * rows + j) * s.vector) for j in range(rows)] for i in range(rows)]
    values = [[get(w, m, place) for place in row] for row in places]
    for k in range(rows):
        chosen = _pivots(w, m, k, [row[k] for row in values[k:]])
        w.store(chosen, w.offset(a.pivots, k * s.numbers))
        values[k:] = _exchanged(w, m, k, chosen, values[k:])
        pivot = values[k]
        none = w.compare("oeq", pivot[k], nothing)
        bad = first_bad(w, m, none, bad, Value(str(k), "i64"))
        divisor = w.select(none, one, pivot[k])
        for i in range(k + 1, rows):
            values[i][k] = factor = w.op("fdiv", values[i][k], divisor)
            for j in range(k + 1, rows):
                values[i][j] = subtract_product(w, g, factor, pivot[j], values[i][j])
    for row, of_row in zip(places, values, strict=True):
        for place, value in zip(row, of_row, strict=True):
            w.store(value, place, g.size)
    w.store(w.select(lost, numbers(w, m, -1), bad), a.state)
    m.add(w)


def _pivots(w: Writer, m: Module, first: int, column: list[Value]) -> Value:
    """The number of the row, from `first` on, with the largest element of a column in each lane."""
    best, chosen = w.intrinsic("fabs", column[0]), numbers(w, m, first)
    for number, value in enumerate(column[1:], first + 1):
        size = w.intrinsic("fabs", value)
        # Larger, or a NaN; one that is found stays.
        taken = w.both(w.compare("ugt", size, best), w.compare("ord", best, best))
        best, chosen = w.select(taken, size, best), w.select(taken, numbers(w, m, number), chosen)
    return chosen


def _exchanged(w: Writer, m: Module, first: int, chosen: Value, rows: list[list[Value]]) -> list[list[Value]]:
    """Rows from `first` on, of which the first and, lane by lane, the chosen one change places."""
    size = len(rows[0])
    moves = w.any_lane(w.compare("ne", chosen, numbers(w, m, first)))
    with w.replacing(moves, [value for row in rows for value in row]) as merged:
        old, pivot = rows[0], rows[0]
        for number, row in enumerate(rows[1:], first + 1):
            taken = w.compare("eq", chosen, numbers(w, m, number))
            pivot = [w.select(taken, x, y) for x, y in zip(row, pivot, strict=True)]
            merged += [w.select(taken, x, y) for x, y in zip(old, row, strict=True)]
        merged[:0] = pivot
    return [merged[start : start + size] for start in range(0, len(merged), size)]


def _has_nan(w: Writer, m: Module) -> Value:
    none = Value("zeroinitializer", "i1", m.s.g.lanes)
    with w.loop(w.multiply(w.arg.n, w.arg.n), 1, w.arg.a, none) as loop:
        place, found = loop.carried
        value = get(w, m, place)
        loop.following += [w.offset(place, m.s.vector), w.either(found, w.compare("uno", value, value))]
    return loop.carried[1]


def _add_pivot_row(m: Module) -> None:
    """Find the row with the largest element of a column in each lane; it comes to `a`, what was there to `old`."""
    w, s = Writer(PIVOT_ROW), m.s
    a, g = w.arg, s.g
    start = w.offset(a.a, a.column)
    below = w.subtract(a.n, a.first)
    with w.loop(below, 1, start, spread_to(w, m, "-1.0"), zeros("i64", g.lanes)) as down:
        place, best, chosen = down.carried
        size = w.intrinsic("fabs", get(w, m, place))
        # Larger, or a NaN; one that is found stays.
        taken = w.both(w.compare("ugt", size, best), w.compare("ord", best, best))
        number = numbers(w, m, w.add(down.index, a.first))
        down.following += [
            w.offset(place, a.row),
            w.select(taken, size, best),
            w.select(taken, number, chosen),
        ]
    chosen = down.carried[2]
    w.store(chosen, a.pivots)
    place, old, left = a.a, a.old, a.n
    for columns in (AT_ONCE, 1):
        whole = w.op("and", left, -columns)
        with w.loop(whole, columns, place, old) as across:
            _take_row(w, m, chosen, below, across.carried, columns)
            w.advance(across, columns * s.vector, columns * s.vector)
        (place, old), left = across.carried, w.subtract(left, whole)
    m.add(w)


def _take_row(w: Writer, m: Module, chosen: Value, below: Value, places: list[Value], columns: int) -> None:
    """Some elements of the rows that are chosen, and of the first one, which they replace."""
    s, a, size = m.s, w.arg, m.s.g.size
    place, old = ([w.offset(p, number * s.vector) for number in range(columns)] for p in places)
    first = [get(w, m, p) for p in place]
    with w.loop(w.subtract(below, 1), 1, w.offset(places[0], a.row), *first) as down:
        here, *values = down.carried
        taken = w.compare("eq", chosen, numbers(w, m, w.add(w.add(down.index, a.first), 1)))
        found = [get(w, m, w.offset(here, number * s.vector)) for number in range(columns)]
        pairs = zip(found, values, strict=True)
        down.following += [w.offset(here, a.row), *[w.select(taken, x, v) for x, v in pairs]]
    for p, o, was, value in zip(place, old, first, down.carried[1:], strict=True):
        w.store(was, o, size)
        w.store(value, p, size)


def _clear_below(
    w: Writer, m: Module, number: Value, here: Value, row: Value, pivots: Value, divisor: Value
) -> None:
    """Take multiples of the pivot's row from those below, and keep the factors in their place."""
    s, a, g = m.s, w.arg, m.s.g
    chosen = w.load("i64", pivots, 8, g.lanes)
    rest = w.subtract(w.subtract(a.n, number), 1)
    column = w.multiply(number, s.vector)
    with w.loop(rest, 1, w.offset(here, row)) as down:
        place = down.carried[0]
        taken = w.compare("eq", chosen, numbers(w, m, w.add(w.add(down.index, number), 1)))

        def replace(first: Value, old: Value, taken: Value = taken) -> None:
            w.store(w.select(taken, get(w, m, old), get(w, m, first)), first, g.size)

        each_element(w, m, number, [place, a.old], replace)
        own, old = w.offset(place, column), w.offset(a.old, column)
        factor = w.op("fdiv", w.select(taken, get(w, m, old), get(w, m, own)), divisor)
        w.store(factor, own, g.size)
        starts = [w.offset(x, s.vector) for x in (own, old, w.offset(here, column))]

        def clear(
            target: Value, old: Value, pivot: Value, taken: Value = taken, factor: Value = factor
        ) -> None:
            value = w.select(taken, get(w, m, old), get(w, m, target))
            w.store(subtract_product(w, g, factor, get(w, m, pivot), value), target, g.size)

        each_element(w, m, rest, starts, clear)
        w.advance(down, row)
