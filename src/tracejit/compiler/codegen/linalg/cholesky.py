"""The Cholesky factor, worked out as ``A = U^T U`` so that rows are long and adjacent, then turned into L.

Strides are in bytes.
"""

from __future__ import annotations

from ...ir_text import NULL, Value, integer, zeros
from ..matmul.counted_loops import Operand, Signature, Writer
from ..matmul.geometry import Geometry
from ..matmul.packing import COPY_ROWS, PACK
from ..matmul.vectors import load, multiply_add, prefix_mask, transposed
from .fill import CLEAR_ABOVE, FILL_NAN, UPPER_IS_FINITE
from .jobs import add_job, closure_memory, per_chunk, share
from .module import PRODUCTS, Module, at, entry, products_of, subtract_product
from .substitution import SOLVE, SUBTRACT, first_half, share_block, solve_rows

FACTOR_DIAGONAL = Signature("factor_diagonal", "i64 %n, ptr %u, i64 %row, ptr %reciprocals", result="i64")
FACTOR = Signature(
    "factor", f"i64 %n, ptr %u, i64 %row, {PRODUCTS}", result="i64", directs=True
)
FACTOR_BY_BLOCKS = Signature("factor_by_blocks", FACTOR.parameters, result="i64", directs=True)
SUBTRACT_SQUARE = Signature(
    "subtract_square", f"i64 %n, i64 %k, ptr %u, ptr %c, i64 %row, {PRODUCTS}", directs=True
)
#: What solved rows `right` take from those below, for chunks `first` to `last` of their columns.
UPDATE_CHUNKS = Signature(
    "update_chunks",
    "i64 %first, i64 %last, i64 %columns, i64 %n, ptr %right, ptr %below, i64 %row, ptr %gemm, ptr %work",
    directs=True,
)
# Sizes up to which a matrix is factored in registers alone.
_SMALL = (4, 8)
LOSE = Signature("lose", "i64 %n, ptr %l, i64 %row")
TURN_LOWER = Signature("turn_lower", "i64 %n, ptr %a, i64 %a_row, i64 %a_col, ptr %u, i64 %row", directs=True)
MIRROR = Signature("mirror", "i64 %n, ptr %u, i64 %row, ptr %square")


def factor_rows(rows: int) -> Signature:
    """Factor `rows` rows of the diagonal, `depth` rows above being known; returns the number of a bad one, or 0."""
    return Signature(f"factor_rows_{rows}", "i64 %depth, ptr %u, i64 %row, ptr %reciprocals", result="i64")


def factor_small(lanes: int) -> Signature:
    """Factor a matrix of no more than so many rows."""
    parameters = "i64 %n, ptr %a, i64 %a_row, ptr %l, i64 %row"
    return Signature(f"factor_small_{lanes}", parameters, result="i64")


def add_cholesky(m: Module, symbol: str) -> None:
    """The external function and its parts."""
    for lanes in _SMALL:
        _add_factor_small(m, lanes)
    _add_lose(m)
    _add_mirror(m)
    _add_entry(m, symbol)


def add_factoring(m: Module) -> None:
    """Functions that factor a matrix of any size, as an upper triangle."""
    for rows in m.s.rows:
        _add_factor_rows(m, rows)
    _add_factor_diagonal(m)
    _add_update_chunks(m)
    add_job(m, UPDATE_CHUNKS)
    _add_factor_by_blocks(m)
    _add_subtract_square(m)
    _add_factor(m)
    _add_turn_lower(m)


def _add_factor_rows(m: Module, rows: int) -> None:
    """A small square in registers, row by row; `u` is at the first row of its columns."""
    w, g = Writer(factor_rows(rows)), m.s.g
    a = w.arg
    here = [at(w, a.u, w.add(a.depth, row), a.row) for row in range(rows)]
    values = [load(w, g, place, rows) for place in here]
    with w.loop(a.depth, 1, a.u, *values) as loop:
        above = load(w, g, loop.carried[0], rows)
        w.advance(loop, a.row)
        for row, value in enumerate(loop.carried[1:]):
            factor = w.splat(_lane(w, above, row), rows)
            loop.following.append(subtract_product(w, g, factor, above, value))
    bad, factored, reciprocals = _factored(w, g, list(loop.carried[1:]))
    for row in range(rows):
        w.store(reciprocals[row], w.offset(a.reciprocals, row * g.size), g.size)
        w.store(factored[row], here[row], g.size)
    m.add(w, f"i64 {bad}")


def _factored(w: Writer, g: Geometry, values: list[Value]) -> tuple[Value, list[Value], list[Value]]:
    """The number of a bad row, the factor of a square whose upper half the values are, and reciprocals of roots."""
    bad, factored, reciprocals = Value("0", "i64"), [], []
    zero, one = Value("0.0", g.scalar), Value("1.0", g.scalar)
    for row, value in enumerate(values):
        square = _lane(w, value, row)
        refused = w.both(w.compare("ule", square, zero), w.compare("eq", bad, 0))
        bad = w.select(refused, row + 1, bad)
        root = w.intrinsic("sqrt", square)
        reciprocals.append(w.op("fdiv", one, root))
        scaled = w.op("fmul", value, w.splat(reciprocals[-1], len(values)))
        # The rows below wait for a quotient, not for a root and a quotient.
        factors = w.op("fdiv", value, w.splat(square, len(values)))
        for below in range(row + 1, len(values)):
            factor = w.splat(_lane(w, factors, below), len(values))
            values[below] = subtract_product(w, g, factor, value, values[below])
        factored.append(_with_lane(w, scaled, row, root))
    return bad, factored, reciprocals


def _add_factor_small(m: Module, lanes: int) -> None:
    """A matrix that fits into registers, with ones on the diagonal behind it; returns the state, -1 for NaN."""
    w, g = Writer(factor_small(lanes)), m.s.g
    a, last = w.arg, w.subtract(w.arg.n, 1)
    rows, nothing = [], zeros(g.scalar, lanes)
    total = nothing
    for row in range(lanes):
        count = w.select(w.compare("sgt", a.n, row), row + 1, 0)
        place = w.offset(a.a, w.multiply(a.a_row, w.select(w.compare("slt", last, row), last, row)))
        rows.append(load(w, g, place, lanes, prefix_mask(w, count, lanes)))
        total = multiply_add(w, g, rows[-1], nothing, total)
    columns = transposed(w, rows)
    for row, column in enumerate(columns):
        inside = w.select(w.compare("sgt", a.n, row), w.lane(column, row), Value("1.0", g.scalar))
        columns[row] = _with_lane(w, column, row, inside)
    bad, factored, _ = _factored(w, g, columns)
    mask = prefix_mask(w, a.n, lanes)
    for row, value in enumerate(transposed(w, factored)):
        value = w.select(
            prefix_mask(w, integer(row + 1), lanes), value, nothing
        )  # behind it is what is left of U
        with w.when(w.compare("sgt", a.n, row)):
            w.store(value, w.offset(a.l, w.multiply(a.row, row)), g.size, mask)
    is_lost = w.any_lane(w.compare("une", total, nothing))
    m.add(w, f"i64 {w.select(is_lost, -1, bad)}")


def _lane(w: Writer, value: Value, number: int) -> Value:
    return value if value.lanes == 1 else w.lane(value, number)


def _with_lane(w: Writer, value: Value, number: int, element: Value) -> Value:
    if value.lanes == 1:
        return element
    return w.pure(value.kind, value.lanes, f"insertelement {value.typed}, {element.typed}, i64 {number}")


def _add_factor_diagonal(m: Module) -> None:
    """A block: a small square, then the rows to the right of it, and on."""
    w, g = Writer(FACTOR_DIAGONAL), m.s.g
    a = w.arg
    done: Operand = 0
    for rows in m.s.rows:
        left = w.subtract(a.n, done)
        count = w.subtract(left, w.op("and", left, rows - 1))
        with w.loop(count, rows) as down:
            depth = w.add(down.index, done)
            u = w.offset(a.u, w.multiply(depth, g.size))
            reciprocals = w.offset(a.reciprocals, w.multiply(depth, g.size))
            bad = w.invoke(factor_rows(rows), depth, u, a.row, reciprocals)
            with w.leaving(w.compare("ne", bad, 0)):
                w.stmt(f"ret i64 {w.add(bad, depth)}")
            right = w.offset(u, rows * g.size)
            columns = w.subtract(w.subtract(a.n, depth), rows)
            w.invoke(solve_rows(rows), columns, depth, u, g.size, a.row, reciprocals, right, a.row)
        done = w.add(count, done)
    m.add(w, "i64 0")


def _add_factor_by_blocks(m: Module) -> None:
    """The upper triangle, in place, block by block of rows: what is left stays in the last cache."""
    w, s, g = Writer(FACTOR_BY_BLOCKS), m.s, m.s.g
    a, closure = w.arg, closure_memory(w)
    reciprocals = w.offset(a.work, s.reciprocals_at)
    with w.loop(a.n, s.block, a.u) as down:
        u = down.carried[0]
        left = w.subtract(a.n, down.index)
        n = w.minimum(left, s.block)
        rest = w.subtract(left, n)
        bad = w.invoke(FACTOR_DIAGONAL, n, u, a.row, reciprocals)
        with w.leaving(w.compare("ne", bad, 0)):
            w.stmt(f"ret i64 {w.add(bad, down.index)}")
        right = w.offset(u, w.multiply(n, g.size))
        share_block(w, m, closure, n, rest, u, g.size, a.row, reciprocals, right, a.row)
        below = w.offset(right, w.multiply(n, a.row))
        cost = w.op("lshr", per_chunk(w, m, n, rest), 1)  # of a triangle
        share(w, m, closure, UPDATE_CHUNKS, rest, cost, rest, n, right, below, *w.args("row gemm work"))
        w.advance(down, w.multiply(w.add(a.row, g.size), s.block))
    m.add(w, "i64 0")


def _add_update_chunks(m: Module) -> None:
    w, chunk, size = Writer(UPDATE_CHUNKS), m.s.chunk_columns, m.s.g.size
    a = w.arg
    start = w.multiply(a.first, chunk)
    places = [w.offset(place, w.multiply(start, size)) for place in (a.right, a.below)]
    count = w.subtract(w.minimum(w.multiply(a.last, chunk), a.columns), start)
    with w.loop(count, chunk, *places) as across:
        factor, target = across.carried
        columns = w.minimum(w.subtract(count, across.index), chunk)
        rows = w.add(w.add(across.index, start), columns)
        operands = a.right, size, a.row, factor, a.row, target, a.row
        w.invoke(SUBTRACT, rows, columns, a.n, *operands, a.gemm, NULL, a.work)
        w.advance(across, chunk * size, chunk * size)
    m.add(w)


def _add_factor(m: Module) -> None:
    """The whole upper triangle, in place, by halves of what no cache holds: products are then deep."""
    w, s, g = Writer(FACTOR), m.s, m.s.g
    a = w.arg
    with w.leaving(w.compare("sle", a.n, s.cached_rows)):
        bad = w.invoke(FACTOR_BY_BLOCKS, *w.args("n u row gemm parallel work"))
        w.stmt(f"ret i64 {bad}")
    first = first_half(w, m, a.n)
    rest = w.subtract(a.n, first)
    bad = w.invoke(FACTOR, first, a.u, a.row, *products_of(w))
    with w.leaving(w.compare("ne", bad, 0)):
        w.stmt(f"ret i64 {bad}")
    right = w.offset(a.u, w.multiply(first, g.size))
    corner = w.offset(right, w.multiply(first, a.row))
    w.invoke(SOLVE, first, rest, a.u, g.size, a.row, 0, right, a.row, -1, *products_of(w))
    w.invoke(SUBTRACT_SQUARE, rest, first, right, corner, a.row, *products_of(w))
    bad = w.invoke(FACTOR, rest, corner, a.row, *products_of(w))
    m.add(w, f"i64 {w.select(w.compare('ne', bad, 0), w.add(bad, first), 0)}")


def _add_subtract_square(m: Module) -> None:
    """``C -= U^T U`` for the upper triangle of C, and what is beside it in blocks."""
    w, s, g = Writer(SUBTRACT_SQUARE), m.s, m.s.g
    a = w.arg
    with w.loop(a.n, s.negated_large, a.u, a.c) as across:
        u, c = across.carried
        columns = w.minimum(w.subtract(a.n, across.index), s.negated_large)
        rest = a.row, *products_of(w)
        w.invoke(SUBTRACT, across.index, columns, a.k, a.u, g.size, a.row, u, a.row, c, *rest)
        corner = w.offset(c, w.multiply(across.index, a.row))
        with w.loop(columns, s.chunk_columns, u, corner) as inside:
            factor, target = inside.carried
            few = w.minimum(w.subtract(columns, inside.index), s.chunk_columns)
            rows = w.add(inside.index, few)
            w.invoke(SUBTRACT, rows, few, a.k, u, g.size, a.row, factor, a.row, target, *rest)
            w.advance(inside, s.chunk_columns * g.size, s.chunk_columns * g.size)
        w.advance(across, s.negated_large * g.size, s.negated_large * g.size)
    m.add(w)


def _add_turn_lower(m: Module) -> None:
    """The lower triangle of A, and what is beside it in blocks, as the upper one of U."""
    w, s, g = Writer(TURN_LOWER), m.s, m.s.g
    a = w.arg
    with w.loop(a.n, s.tile, a.a, a.u) as down:
        source, target = down.carried
        columns = w.minimum(w.subtract(a.n, down.index), s.tile)
        count = w.add(down.index, columns)
        with w.loop(count, s.tile, source, target) as along:
            few = w.minimum(w.subtract(count, along.index), s.tile)
            w.invoke(PACK, few, columns, along.carried[0], a.a_col, a.a_row, along.carried[1], a.row)
            w.advance(along, w.multiply(a.a_col, s.tile), w.multiply(a.row, s.tile))
        w.advance(down, w.multiply(a.a_row, s.tile), s.tile * g.size)
    m.add(w)


def _add_mirror(m: Module) -> None:
    """The upper triangle onto the lower one."""
    w, s, g = Writer(MIRROR), m.s, m.s.g
    a = w.arg
    with w.loop(a.n, s.tile, a.u, a.u) as down:
        source, target = down.carried
        rows = w.minimum(w.subtract(a.n, down.index), s.tile)
        w.invoke(PACK, rows, down.index, source, g.size, a.row, target, a.row)
        across = w.multiply(down.index, g.size)
        block, own = w.offset(target, across), w.offset(target, across)
        w.invoke(PACK, rows, rows, block, g.size, a.row, a.square, s.square_stride)
        w.invoke(COPY_ROWS, rows, rows, a.square, s.square_stride, own, a.row)
        w.advance(down, s.tile * g.size, w.multiply(a.row, s.tile))
    m.add(w)


def _add_lose(m: Module) -> None:
    """NaN in the lower triangle."""
    w = Writer(LOSE)
    w.invoke(FILL_NAN, w.arg.n, w.arg.n, w.arg.l, w.arg.row)
    w.invoke(CLEAR_ABOVE, w.arg.n, w.arg.l, w.arg.row)
    m.add(w)


def _add_entry(m: Module, symbol: str) -> None:
    s, g = m.s, m.s.g
    w = Writer(
        entry(
            symbol,
            "i64 %n, ptr %a, i64 %a_row_elements, i64 %a_col_elements, ptr %l, i64 %l_row_elements, ptr %state, "
            f"{PRODUCTS}",
        )
    )
    a = w.arg
    w.store(Value("0", "i64"), a.state, 8)
    a_row, a_col, row = (
        w.multiply(x, g.size) for x in (a.a_row_elements, a.a_col_elements, a.l_row_elements)
    )
    for lanes in _SMALL:
        is_small = w.both(w.compare("sle", a.n, lanes), w.compare("eq", a_col, g.size))
        with w.returning(is_small):
            state = w.invoke(factor_small(lanes), a.n, a.a, a_row, a.l, row)
            with w.returning(w.compare("sge", state, 0)):
                w.store(state, a.state, 8)
            w.invoke(LOSE, a.n, a.l, row)
    w.invoke(TURN_LOWER, a.n, a.a, a_row, a_col, a.l, row)
    is_finite = w.invoke(UPPER_IS_FINITE, a.n, a.l, row)
    with w.returning(w.op("xor", is_finite, Value("true", "i1"))):
        w.invoke(LOSE, a.n, a.l, row)
    bad = w.invoke(FACTOR, a.n, a.l, row, *products_of(w))
    w.store(bad, a.state, 8)
    with w.returning(w.compare("ne", bad, 0)):
        pass
    w.invoke(MIRROR, a.n, a.l, row, w.offset(a.work, s.square_at))
    w.invoke(CLEAR_ABOVE, a.n, a.l, row)
    m.add(w)
