"""Solutions with factors: the external functions that copy right sides and substitute. Strides are in bytes."""

from __future__ import annotations

from types import SimpleNamespace

from ...ir_text import Value
from ..matmul.counted_loops import Operand, Signature, Writer
from ..matmul.packing import PACK
from .fill import FILL_NAN, HAS_NAN, IDENTITY
from .lu import EXCHANGE
from .module import PRODUCTS, Module, entry, products_of
from .one_column import SOLVE_BY_COLUMNS, SOLVE_BY_ROWS, add_one_column
from .substitution import SOLVE
from .symmetric import IS_BY_CHOLESKY, SQUARE, UNSCALE

SOLVE_TRIANGLE = Signature(
    "solve_triangle",
    "i64 %n, i64 %columns, ptr %t, i64 %t_row, i64 %t_col, i64 %upper, i64 %unit, ptr %x, i64 %x_row, "
    f"i64 %growing, {PRODUCTS}",
)
FIRST_ZERO = Signature("first_zero", "i64 %n, ptr %t, i64 %step", result="i64")
TRIANGLE_HAS_NAN = Signature(
    "triangle_has_nan", "i64 %n, ptr %t, i64 %t_row, i64 %t_col, i64 %upper", result="i1"
)
EXCHANGE_COLUMNS = Signature("exchange_columns", "i64 %n, ptr %a, i64 %row, ptr %pivots")
_RIGHT_SIDE = "ptr %b, i64 %b_row_elements, i64 %b_col_elements, ptr %x, i64 %x_row_elements"


def add_solve_triangle(m: Module) -> None:
    """``T X = B`` in place, for lower triangles and, read backwards, for upper ones."""
    add_one_column(m)
    w, a = _writer(SOLVE_TRIANGLE)
    is_upper = w.compare("ne", a.upper, 0)
    last = w.subtract(a.n, 1)
    corner = w.offset(a.t, w.multiply(last, w.add(a.t_row, a.t_col)))
    bottom = w.offset(a.x, w.multiply(last, a.x_row))
    t, x = w.select(is_upper, corner, a.t), w.select(is_upper, bottom, a.x)
    steps = [w.select(is_upper, w.subtract(0, step), step) for step in (a.t_row, a.t_col, a.x_row)]
    size = m.s.g.size
    is_vector = w.both(w.compare("eq", a.columns, 1), w.compare("eq", a.x_row, size))
    one = t, *steps[:2], a.upper, a.unit, x, steps[2]
    for step, solve in ((a.t_col, SOLVE_BY_ROWS), (a.t_row, SOLVE_BY_COLUMNS)):
        with w.returning(w.both(is_vector, w.compare("eq", step, size))):
            w.invoke(solve, a.n, *one)
    w.invoke(
        SOLVE, a.n, a.columns, t, *steps[:2], a.unit, x, steps[2], w.subtract(a.growing, 1), *products_of(w)
    )
    m.add(w)


def _writer(signature: Signature) -> tuple[Writer, SimpleNamespace]:
    w = Writer(signature)
    return w, w.arg


# ---- triangles ------------------------------------------------------------------------------------------


def add_triangular(m: Module, symbol: str) -> None:
    """The external function for triangles that users give: all of X is NaN where there is one in the triangle."""
    _add_first_zero(m)
    _add_triangle_has_nan(m)
    size = m.s.g.size
    w, a = _writer(
        entry(
            symbol,
            "i64 %n, i64 %columns, i64 %upper, ptr %t, i64 %t_row_elements, i64 %t_col_elements, "
            f"{_RIGHT_SIDE}, ptr %state, {PRODUCTS}",
        )
    )
    t_row, t_col = w.multiply(a.t_row_elements, size), w.multiply(a.t_col_elements, size)
    x_row = _copy_right_side(w, size)
    w.invoke(SOLVE_TRIANGLE, a.n, a.columns, a.t, t_row, t_col, a.upper, 0, a.x, x_row, 0, *products_of(w))
    bad = w.invoke(FIRST_ZERO, a.n, a.t, w.add(t_row, t_col))
    w.store(bad, a.state, 8)
    # A NaN of the triangle gets into every column.
    column = w.minimum(a.columns, 1)
    suspect = w.either(w.compare("ne", bad, 0), w.invoke(HAS_NAN, a.n, column, a.x, x_row))
    suspect = w.either(suspect, w.compare("eq", column, 0))
    with w.when(suspect):
        with w.when(w.invoke(TRIANGLE_HAS_NAN, a.n, a.t, t_row, t_col, a.upper)):
            w.invoke(FILL_NAN, a.n, a.columns, a.x, x_row)
            w.store(Value("0", "i64"), a.state, 8)
    m.add(w)


def _copy_right_side(w: Writer, size: int) -> Value:
    """Copy B to X; the bytes between rows of that."""
    a = w.arg
    b_row, b_col, x_row = (
        w.multiply(x, size) for x in (a.b_row_elements, a.b_col_elements, a.x_row_elements)
    )
    is_vector = w.both(w.compare("eq", a.columns, 1), w.compare("eq", x_row, size))
    with w.when(is_vector):  # a row, which is copied in vectors
        w.invoke(PACK, 1, a.n, a.b, b_col, b_row, a.x, x_row)
    with w.when(is_vector, unless=True):
        w.invoke(PACK, a.n, a.columns, a.b, b_row, b_col, a.x, x_row)
    return x_row


def _add_first_zero(m: Module) -> None:
    """The number of the first zero of a diagonal, from 1, or 0."""
    w, a = _writer(FIRST_ZERO)
    g = m.s.g
    with w.loop(a.n, 1, a.t, Value("0", "i64")) as down:
        place, first = down.carried
        none = w.compare("oeq", w.load(g.scalar, place, g.size), Value("0.0", g.scalar))
        found = w.both(none, w.compare("eq", first, 0))
        down.following += [w.offset(place, a.step), w.select(found, w.add(down.index, 1), first)]
    m.add(w, f"i64 {down.carried[1]}")


def _add_triangle_has_nan(m: Module) -> None:
    """Whether there is a NaN, read along adjacent elements: the transpose of a lower triangle is an upper one."""
    w, a = _writer(TRIANGLE_HAS_NAN)
    g = m.s.g
    is_upper = w.compare("ne", a.upper, 0)
    with w.loop(a.n, 1, a.t, Value("false", "i1")) as down:
        row, lost = down.carried
        first = w.select(is_upper, down.index, 0)
        count = w.select(is_upper, w.subtract(a.n, down.index), w.add(down.index, 1))
        start = w.offset(row, w.multiply(first, a.t_col))
        with w.loop(count, 1, start, lost) as across:
            place, found = across.carried
            value = w.load(g.scalar, place, g.size)
            across.following += [w.offset(place, a.t_col), w.either(found, w.compare("uno", value, value))]
        down.following += [w.offset(row, a.t_row), across.carried[1]]
    m.add(w, f"i1 {down.carried[1]}")


# ---- LU -------------------------------------------------------------------------------------------------


def add_lu_solve(m: Module, symbol: str) -> None:
    """The external function: solutions for a matrix that is factored, or for its transpose."""
    size = m.s.g.size
    w, a = _writer(
        entry(
            symbol,
            "i64 %n, i64 %columns, i64 %transposed, ptr %lu, i64 %row_elements, ptr %pivots, ptr %state, "
            f"{_RIGHT_SIDE}, {PRODUCTS}",
        )
    )
    row = w.multiply(a.row_elements, size)
    x_row = _copy_right_side(w, size)
    with w.returning(w.compare("slt", w.load("i64", a.state), 0)):
        w.invoke(FILL_NAN, a.n, a.columns, a.x, x_row)
    rest = a.x, x_row, 0, *products_of(w)
    with w.returning(w.compare("ne", a.transposed, 0)):
        w.invoke(SOLVE_TRIANGLE, a.n, a.columns, a.lu, size, row, 0, 0, *rest)
        w.invoke(SOLVE_TRIANGLE, a.n, a.columns, a.lu, size, row, 1, 1, *rest)
        w.invoke(EXCHANGE, a.n, a.columns, a.x, x_row, a.pivots, 1)
    w.invoke(EXCHANGE, a.n, a.columns, a.x, x_row, a.pivots, 0)
    w.invoke(SOLVE_TRIANGLE, a.n, a.columns, a.lu, row, size, 0, 1, *rest)
    w.invoke(SOLVE_TRIANGLE, a.n, a.columns, a.lu, row, size, 1, 0, *rest)
    m.add(w)


def add_lu_inverse(m: Module, symbol: str, symmetric: bool = False) -> None:
    """The external function: the inverse of L, which is a triangle too, then of U, then columns as pivots say.

    Among large matrices `symmetric` ones are looked for.
    """
    _add_exchange_columns(m)
    size = m.s.g.size
    w, a = _writer(
        entry(
            symbol,
            "i64 %n, ptr %lu, i64 %row_elements, ptr %pivots, ptr %state, ptr %x, i64 %x_row_elements, "
            f"{PRODUCTS}",
        )
    )
    row, x_row = w.multiply(a.row_elements, size), w.multiply(a.x_row_elements, size)
    with w.returning(w.compare("slt", w.load("i64", a.state), 0)):
        w.invoke(FILL_NAN, a.n, a.n, a.x, x_row)
    w.invoke(IDENTITY, a.n, a.x, x_row)
    w.invoke(SOLVE_TRIANGLE, a.n, a.n, a.lu, row, size, 0, 1, a.x, x_row, 1, *products_of(w))
    if symmetric:
        square = w.offset(a.work, m.s.square_at)
        with w.returning(w.invoke(IS_BY_CHOLESKY, a.n, a.lu, row, a.pivots, square)):
            w.invoke(UNSCALE, a.n, a.x, x_row, a.lu, row)
            w.invoke(SQUARE, a.n, a.x, x_row, *products_of(w))
    w.invoke(SOLVE_TRIANGLE, a.n, a.n, a.lu, row, size, 1, 0, a.x, x_row, 0, *products_of(w))
    w.invoke(EXCHANGE_COLUMNS, a.n, a.x, x_row, a.pivots)
    m.add(w)


def _add_exchange_columns(m: Module) -> None:
    """Exchange columns backwards, row by row."""
    w, a = _writer(EXCHANGE_COLUMNS)
    g = m.s.g

    def column(row: Value, number: Operand) -> Value:
        return w.offset(row, w.multiply(number, g.size))

    with w.loop(a.n, 1, a.a) as down:
        row = down.carried[0]
        with w.loop(a.n) as back:
            number = w.subtract(w.subtract(a.n, 1), back.index)
            other = w.load("i64", w.offset(a.pivots, w.multiply(number, 8)))
            one, two = (w.load(g.scalar, column(row, k), g.size) for k in (number, other))
            w.store(two, column(row, number), g.size)
            w.store(one, column(row, other), g.size)
        w.advance(down, a.row)
    m.add(w)
