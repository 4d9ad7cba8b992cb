"""LU with exchange of rows, by recursion over columns: halves are solved with each other, leaves fit one vector.

Rows are exchanged as LAPACK numbers them: row k with row ``pivots[k]``, one after the other. A NaN is taken before all
other pivots; a column without a pivot is left as it is. Strides are in bytes.
"""

from __future__ import annotations

from ...ir_text import Value
from ..matmul.counted_loops import Signature, Writer
from ..matmul.packing import COPY_ROWS, PACK
from ..matmul.vectors import load, prefix_mask
from .fill import HAS_NAN
from .module import PRODUCTS, Module, entry, products_of, subtract_product
from .substitution import SOLVE, SUBTRACT
from .symmetric import BY_CHOLESKY

LEAF = Signature("leaf", "i64 %m, i64 %n, ptr %a, i64 %row, ptr %pivots", result="i64")
FACTOR_LU = Signature(
    "factor_lu", f"i64 %m, i64 %n, ptr %a, i64 %row, ptr %pivots, {PRODUCTS}", result="i64"
)
EXCHANGE = Signature("exchange", "i64 %count, i64 %columns, ptr %a, i64 %row, ptr %pivots, i64 %backwards")
EXCHANGE_TWO = Signature("exchange_two", "i64 %columns, ptr %one, ptr %other")


def add_lu(m: Module, symbol: str, symmetric: bool = False) -> None:
    """The external function and its parts, one for matrices among which `symmetric` ones are looked for."""
    _add_leaf(m)
    _add_factor_lu(m)
    w = Writer(
        entry(
            symbol,
            "i64 %n, ptr %a, i64 %a_row_elements, i64 %a_col_elements, ptr %lu, i64 %row_elements, ptr %pivots, "
            f"ptr %state, {PRODUCTS}",
        )
    )
    a, size = w.arg, m.s.g.size
    row = w.multiply(a.row_elements, size)
    a_row, a_col = w.multiply(a.a_row_elements, size), w.multiply(a.a_col_elements, size)
    if symmetric:
        factors = a.lu, row, *w.args("pivots gemm parallel work")
        with w.returning(w.invoke(BY_CHOLESKY, a.n, a.a, a_row, a_col, *factors)):
            w.store(Value("0", "i64"), a.state, 8)
    w.invoke(PACK, a.n, a.n, a.a, a_row, a_col, a.lu, row)
    lost = w.invoke(HAS_NAN, a.n, a.n, a.lu, row)
    bad = w.invoke(FACTOR_LU, a.n, a.n, a.lu, row, a.pivots, *products_of(w))
    w.store(w.select(lost, -1, bad), a.state, 8)
    m.add(w)


def add_exchange(m: Module) -> None:
    """Exchange rows as pivots say, in their order or backwards."""
    w, g = Writer(EXCHANGE_TWO), m.s.g
    whole = w.op("and", w.arg.columns, -g.lanes)
    rest = w.subtract(w.arg.columns, whole)
    with w.loop(whole, g.lanes, w.arg.one, w.arg.other) as across:
        _exchange(w, m, across.carried[0], across.carried[1], None)
        w.advance(across, g.lanes * g.size, g.lanes * g.size)
    with w.when(w.compare("ne", rest, 0)):
        _exchange(w, m, across.carried[0], across.carried[1], prefix_mask(w, rest, g.lanes))
    m.add(w)
    w = Writer(EXCHANGE)
    a = w.arg
    is_backwards = w.compare("ne", a.backwards, 0)
    with w.loop(a.count) as down:
        last = w.subtract(w.subtract(a.count, 1), down.index)
        number = w.select(is_backwards, last, down.index)
        other = w.load("i64", w.offset(a.pivots, w.multiply(number, 8)))
        with w.when(w.compare("ne", number, other)):
            rows = [w.offset(a.a, w.multiply(a.row, k)) for k in (number, other)]
            w.invoke(EXCHANGE_TWO, a.columns, *rows)
    m.add(w)


def _exchange(w: Writer, m: Module, one: Value, other: Value, mask: Value | None) -> None:
    g = m.s.g
    first, second = (load(w, g, place, g.lanes, mask) for place in (one, other))
    w.store(second, one, g.size, mask)
    w.store(first, other, g.size, mask)


# ---- factoring ------------------------------------------------------------------------------------------


def _add_leaf(m: Module) -> None:
    """A few columns; returns the number of the first without a pivot, from 1, or 0."""
    w, s, g = Writer(LEAF), m.s, m.s.g
    a = w.arg
    mask = prefix_mask(w, a.n, s.leaf)
    bad: Value = Value("0", "i64")
    for column in range(s.leaf):
        missing = w.compare("sle", a.n, column)
        with w.leaving(missing):
            w.stmt(f"ret i64 {bad}")
        here = w.offset(a.a, w.multiply(a.row, column))
        best = _find_pivot(w, m, column, here)
        w.store(best, w.offset(a.pivots, 8 * column), 8)
        other = w.offset(a.a, w.multiply(a.row, best))
        pivot, first = load(w, g, other, s.leaf, mask), load(w, g, here, s.leaf, mask)
        w.store(first, other, g.size, mask)
        w.store(pivot, here, g.size, mask)
        diagonal = w.lane(pivot, column)
        none = w.compare("oeq", diagonal, Value("0.0", g.scalar))
        refused = w.both(none, w.compare("eq", bad, 0))
        bad = w.select(refused, column + 1, bad)
        _clear_below(w, m, column, pivot, none, mask)
    m.add(w, f"i64 {bad}")


def _find_pivot(w: Writer, m: Module, column: int, here: Value) -> Value:
    """The number of the row with the largest element of a column, from its diagonal on."""
    g = m.s.g
    start = w.offset(here, column * g.size)
    count = w.subtract(w.arg.m, column)
    ways = 4
    nothing, zero = Value("-1.0", g.scalar), Value("0", "i64")
    state = [nothing, zero] * ways
    steps = [w.multiply(w.arg.row, way) for way in range(ways)]
    whole = w.op("and", count, -ways)
    with w.loop(whole, ways, start, *state) as down:
        down.following.append(w.offset(down.carried[0], w.multiply(w.arg.row, ways)))
        for way in range(ways):
            place = w.offset(down.carried[0], steps[way])
            down.following += _better(w, m, place, down.carried[1 + 2 * way :][:2], w.add(down.index, way))
    with w.loop(w.subtract(count, whole), 1, *down.carried[:3]) as rest:
        rest.following.append(w.offset(rest.carried[0], w.arg.row))
        rest.following += _better(w, m, rest.carried[0], rest.carried[1:], w.add(rest.index, whole))
    value, number = rest.carried[1:]
    for way in range(1, ways):
        other, place = down.carried[1 + 2 * way :][:2]
        # Of equal ones the first, whichever way it came.
        larger = w.compare("ugt", other, value)
        tie = w.both(w.compare("oeq", other, value), w.compare("slt", place, number))
        is_nan = w.compare("uno", value, value)
        taken = w.both(w.either(larger, tie), w.op("xor", is_nan, Value("true", "i1")))
        value, number = w.select(taken, other, value), w.select(taken, place, number)
    return w.add(number, column)


def _better(w: Writer, m: Module, place: Value, best: list[Value], number: Value) -> list[Value]:
    size = w.intrinsic("fabs", w.load(m.s.g.scalar, place, m.s.g.size))
    # Larger, or a NaN; one that is found stays.
    taken = w.both(w.compare("ugt", size, best[0]), w.compare("ord", best[0], best[0]))
    return [w.select(taken, size, best[0]), w.select(taken, number, best[1])]


def _clear_below(w: Writer, m: Module, column: int, pivot: Value, none: Value, mask: Value) -> None:
    """Take multiples of the pivot's row from those below, and keep the factors in their place."""
    s, g = m.s, m.s.g
    lanes = s.leaf
    right = Value(f"<{', '.join(f'i1 {str(p > column).lower()}' for p in range(lanes))}>", "i1", lanes)
    own = Value(f"<{', '.join(f'i1 {str(p == column).lower()}' for p in range(lanes))}>", "i1", lanes)
    used = w.select(right, pivot, g.zeros(lanes))
    diagonal = w.select(none, Value("1.0", g.scalar), w.lane(pivot, column))
    below = w.offset(w.arg.a, w.multiply(w.arg.row, column + 1))
    with w.loop(w.subtract(w.arg.m, column + 1), 1, below) as down:
        place = down.carried[0]
        row = load(w, g, place, lanes, mask)
        factor = w.op("fdiv", w.load(g.scalar, w.offset(place, column * g.size), g.size), diagonal)
        spread = w.splat(factor, lanes)
        left = subtract_product(w, g, spread, used, row)
        w.store(w.select(own, spread, left), place, g.size, mask)
        w.advance(down, w.arg.row)


def _leaf_apart(w: Writer, m: Module) -> None:
    """Factor a leaf in a dense copy, where it fits: rows of a matrix may all be at the same place of the cache."""
    s, a = m.s, w.arg
    dense = s.leaf * s.g.size
    with w.leaving(w.compare("sle", a.m, s.reciprocals_at // dense)):
        w.invoke(COPY_ROWS, a.m, a.n, a.a, a.row, a.work, dense)
        bad = w.invoke(LEAF, a.m, a.n, a.work, dense, a.pivots)
        w.invoke(COPY_ROWS, a.m, a.n, a.work, dense, a.a, a.row)
        w.stmt(f"ret i64 {bad}")
    w.stmt(f"ret i64 {w.invoke(LEAF, *w.args('m n a row pivots'))}")


def _add_factor_lu(m: Module) -> None:
    """Some columns of at least as many rows, in place; returns the number of the first without a pivot, or 0."""
    w, s = Writer(FACTOR_LU), m.s
    a = w.arg
    with w.leaving(w.compare("sle", a.n, s.leaf)):
        _leaf_apart(w, m)
    left = w.op("and", w.add(w.op("lshr", a.n, 1), s.leaf - 1), -s.leaf)
    right = w.subtract(a.n, left)
    below = w.subtract(a.m, left)
    first = w.invoke(FACTOR_LU, a.m, left, a.a, a.row, a.pivots, *products_of(w))
    beside = w.offset(a.a, w.multiply(left, s.g.size))
    under = w.offset(a.a, w.multiply(left, a.row))
    corner = w.offset(under, w.multiply(left, s.g.size))
    w.invoke(EXCHANGE, left, right, beside, a.row, a.pivots, 0)
    w.invoke(SOLVE, left, right, a.a, a.row, s.g.size, 1, beside, a.row, -1, *products_of(w))
    w.invoke(
        SUBTRACT, below, right, left, under, a.row, s.g.size, beside, a.row, corner, a.row, *products_of(w)
    )
    pivots = w.offset(a.pivots, w.multiply(left, 8))
    second = w.invoke(FACTOR_LU, below, right, corner, a.row, pivots, *products_of(w))
    w.invoke(EXCHANGE, right, left, under, a.row, pivots, 0)
    with w.loop(right, 1, pivots) as loop:
        w.store(w.add(w.load("i64", loop.carried[0]), left), loop.carried[0], 8)
        w.advance(loop, 8)
    later = w.select(w.compare("ne", second, 0), w.add(second, left), 0)
    m.add(w, f"i64 {w.select(w.compare('ne', first, 0), first, later)}")
