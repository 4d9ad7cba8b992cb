"""The cotangent of a matrix from that of its Cholesky factor: the blocked factorization run backwards.

Murray, Differentiation of the Cholesky decomposition, 2016. It costs two factorizations, and most of it is
matrix products. The cotangent of the lower triangle is worked out in place; half of it goes to each side.

Strides are in bytes.
"""

from __future__ import annotations

from ...ir_text import Value
from ..matmul.counted_loops import Operand, Signature, Writer
from ..matmul.packing import PACK
from ..matmul.vectors import load, prefix_mask
from .module import PRODUCTS, Module, at, entry, products_of, subtract_product
from .substitution import RECIPROCALS, SOLVE_BLOCK, SUBTRACT

_FACTOR = "ptr %l, i64 %l_row"
_COTANGENT = "ptr %y, i64 %y_row"
PULL_ROW = Signature("pull_row", f"i64 %n, i64 %k, {_FACTOR}, {_COTANGENT}, {{scalar}} %diagonal")
PULL_BLOCK = Signature("pull_block", f"i64 %n, {_FACTOR}, {_COTANGENT}")
DIVIDE_RIGHT = Signature("divide_right", f"i64 %rows, i64 %n, {_FACTOR}, {_COTANGENT}, ptr %work")
BOTH_SIDES = Signature("both_sides", f"i64 %n, {_COTANGENT}, ptr %target, i64 %target_row")
PULL = Signature("pull", f"i64 %n, {_FACTOR}, {_COTANGENT}, {PRODUCTS}")
SPREAD = Signature("spread", f"i64 %n, {_COTANGENT}")


def add_cholesky_pullback(m: Module, symbol: str) -> None:
    """The external function and its parts."""
    _add_pull_row(m)
    _add_pull_block(m)
    _add_divide_right(m)
    _add_both_sides(m)
    _add_pull(m)
    _add_spread(m)
    size = m.s.g.size
    w = Writer(
        entry(
            symbol,
            "i64 %n, ptr %l, i64 %l_row_elements, ptr %g, i64 %g_row_elements, i64 %g_col_elements, "
            f"ptr %y, i64 %y_row_elements, {PRODUCTS}",
        )
    )
    a = w.arg
    l_row, y_row = w.multiply(a.l_row_elements, size), w.multiply(a.y_row_elements, size)
    g_row, g_col = w.multiply(a.g_row_elements, size), w.multiply(a.g_col_elements, size)
    w.invoke(PACK, a.n, a.n, a.g, g_row, g_col, a.y, y_row)
    w.invoke(PULL, a.n, a.l, l_row, a.y, y_row, *products_of(w))
    w.invoke(SPREAD, a.n, a.y, y_row)
    m.add(w)


# ---- one block ------------------------------------------------------------------------------------------


def _pull_row(m: Module) -> Signature:
    return Signature(PULL_ROW.name, PULL_ROW.parameters.format(scalar=m.s.g.scalar))


def _add_pull_row(m: Module) -> None:
    """What row `k` and those below have to do with the columns before, whose cotangents `y` has too."""
    w, g = Writer(_pull_row(m)), m.s.g
    a = w.arg
    below = w.subtract(w.subtract(a.n, a.k), 1)
    column = w.multiply(a.k, g.size)
    first = [at(w, p, w.add(a.k, 1), row) for p, row in ((a.l, a.l_row), (a.y, a.y_row))]
    own = [at(w, p, a.k, row) for p, row in ((a.l, a.l_row), (a.y, a.y_row))]
    with w.loop(a.k, g.lanes) as across:
        mask = prefix_mask(w, w.subtract(a.k, across.index), g.lanes)
        start = w.multiply(across.index, g.size)
        row = load(w, g, w.offset(own[0], start), g.lanes, mask)
        target = w.offset(own[1], start)
        total = subtract_product(w, g, w.splat(a.diagonal, g.lanes), row, load(w, g, target, g.lanes, mask))
        with w.loop(below, 1, *first, total) as down:
            factor_row, cotangent_row, total = down.carried
            factor = w.splat(w.load(g.scalar, w.offset(cotangent_row, column), g.size), g.lanes)
            place = w.offset(cotangent_row, start)
            left = subtract_product(w, g, factor, row, load(w, g, place, g.lanes, mask))
            w.store(left, place, g.size, mask)
            w.advance(down, a.l_row, a.y_row)
            beside = load(w, g, w.offset(factor_row, start), g.lanes, mask)
            down.following.append(subtract_product(w, g, factor, beside, total))
        w.store(down.carried[2], target, g.size, mask)
    m.add(w)


def _add_pull_block(m: Module) -> None:
    """A block of the diagonal, from its last row up."""
    w, g = Writer(PULL_BLOCK), m.s.g
    a = w.arg
    with w.loop(a.n) as up:
        k = w.subtract(w.subtract(a.n, 1), up.index)
        own = [at(w, p, k, w.add(row, g.size)) for p, row in ((a.l, a.l_row), (a.y, a.y_row))]
        divisor = w.load(g.scalar, own[0], g.size)
        first = [w.offset(own[0], a.l_row), w.offset(own[1], a.y_row)]
        start = w.load(g.scalar, own[1], g.size)
        with w.loop(up.index, 1, *first, start) as down:
            of_factor, of_cotangent, total = down.carried
            value = w.op("fdiv", w.load(g.scalar, of_cotangent, g.size), divisor)
            w.store(value, of_cotangent, g.size)
            w.advance(down, a.l_row, a.y_row)
            factor = w.load(g.scalar, of_factor, g.size)
            down.following.append(w.op("fsub", total, w.op("fmul", value, factor)))
        diagonal = w.op("fdiv", down.carried[2], divisor)
        w.invoke(_pull_row(m), *w.args("n"), k, *w.args("l l_row y y_row"), diagonal)
        w.store(w.op("fmul", diagonal, Value("0.5", g.scalar)), own[1], g.size)
    m.add(w)


# ---- the whole ------------------------------------------------------------------------------------------


def _add_divide_right(m: Module) -> None:
    """``Y = Y L^-1`` for some rows and a block L: its transpose read backwards is solved with transposed rows."""
    w, s = Writer(DIVIDE_RIGHT), m.s
    a = w.arg
    square, reciprocals = w.offset(a.work, s.square_at), w.offset(a.work, s.reciprocals_at)
    last = w.subtract(a.n, 1)
    corner = at(w, a.l, last, w.add(a.l_row, s.g.size))
    bottom = at(w, square, last, s.square_stride)
    turned = (corner, -s.g.size, w.subtract(0, a.l_row))
    w.invoke(RECIPROCALS, a.n, *turned, 0, reciprocals)
    with w.loop(a.rows, s.block, a.y) as down:
        y = down.carried[0]
        rows = w.minimum(w.subtract(a.rows, down.index), s.block)
        w.invoke(PACK, a.n, rows, y, s.g.size, a.y_row, square, s.square_stride)
        w.invoke(SOLVE_BLOCK, a.n, rows, *turned, reciprocals, bottom, -s.square_stride)
        w.invoke(PACK, rows, a.n, square, s.g.size, s.square_stride, y, a.y_row)
        w.advance(down, w.multiply(a.y_row, s.block))
    m.add(w)


def _add_both_sides(m: Module) -> None:
    """``target = Y + Y^T`` for the lower triangle Y."""
    w, g = Writer(BOTH_SIDES), m.s.g
    a = w.arg
    with w.loop(a.n) as down, w.loop(w.add(down.index, 1)) as across:
        value = w.load(g.scalar, at(w, a.y, down.index, a.y_row, across.index, g.size), g.size)
        twice = w.op("fadd", value, value)
        value = w.select(w.compare("eq", down.index, across.index), twice, value)
        for row, column in ((down.index, across.index), (across.index, down.index)):
            w.store(value, at(w, a.target, row, a.target_row, column, g.size), g.size)
    m.add(w)


def _add_pull(m: Module) -> None:
    """The cotangent of the lower triangle, block by block from the last, in place."""
    w, s, size = Writer(PULL), m.s, m.s.g.size
    a = w.arg
    square = w.offset(a.work, s.square_at)
    final = w.multiply(w.op("sdiv", w.subtract(a.n, 1), s.block), s.block)
    with w.loop(a.n, s.block) as up:
        k = w.subtract(final, up.index)
        n = w.minimum(w.subtract(a.n, k), s.block)
        after = w.add(k, n)
        rest = w.subtract(a.n, after)

        def part(row: Value, column: Operand) -> tuple[Value, Value]:
            return at(w, a.l, row, a.l_row, column, size), at(w, a.y, row, a.y_row, column, size)

        (before, before_y), (block, block_y) = part(k, 0), part(k, k)
        (corner, corner_y), (below, below_y) = part(after, 0), part(after, k)
        products = products_of(w)
        w.invoke(DIVIDE_RIGHT, rest, n, block, a.l_row, below_y, a.y_row, a.work)
        w.invoke(SUBTRACT, rest, k, n, below_y, a.y_row, size, before, a.l_row, corner_y, a.y_row, *products)
        w.invoke(SUBTRACT, n, n, rest, below_y, size, a.y_row, below, a.l_row, block_y, a.y_row, *products)
        w.invoke(PULL_BLOCK, n, block, a.l_row, block_y, a.y_row)
        w.invoke(SUBTRACT, n, k, rest, below_y, size, a.y_row, corner, a.l_row, before_y, a.y_row, *products)
        w.invoke(BOTH_SIDES, n, block_y, a.y_row, square, s.square_stride)
        stride = s.square_stride
        w.invoke(SUBTRACT, n, k, n, square, stride, size, before, a.l_row, before_y, a.y_row, *products)
    m.add(w)


def _add_spread(m: Module) -> None:
    """Half of what is below the diagonal, to both sides of it."""
    w, s, g = Writer(SPREAD), m.s, m.s.g
    a = w.arg
    half = Value("0.5", g.scalar)
    spread = w.splat(half, g.lanes)
    with w.loop(a.n, 1, a.y) as down:
        with w.loop(down.index, g.lanes, down.carried[0]) as across:
            mask = prefix_mask(w, w.subtract(down.index, across.index), g.lanes)
            value = load(w, g, across.carried[0], g.lanes, mask)
            w.store(w.op("fmul", value, spread), across.carried[0], g.size, mask)
            w.advance(across, g.lanes * g.size)
        w.advance(down, a.y_row)
    with w.loop(a.n, s.tile, a.y, a.y) as down:
        source, target = down.carried
        columns = w.minimum(w.subtract(a.n, down.index), s.tile)
        w.invoke(PACK, down.index, columns, source, g.size, a.y_row, target, a.y_row)
        corner = w.offset(source, w.multiply(down.index, g.size))
        with w.loop(columns) as row, w.loop(row.index) as column:
            value = w.load(g.scalar, at(w, corner, row.index, a.y_row, column.index, g.size), g.size)
            w.store(value, at(w, corner, column.index, a.y_row, row.index, g.size), g.size)
        w.advance(down, w.multiply(a.y_row, s.tile), s.tile * g.size)
    m.add(w)
