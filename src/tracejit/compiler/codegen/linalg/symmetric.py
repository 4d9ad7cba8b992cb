"""Symmetric, positive definite matrices among those that LU factors and inverts: half the work.

``A = C^T C`` is ``L D L^T`` with a unit triangle L, a product of L and U that needs no exchange of rows. So the
factors of LU may come from Cholesky's, and who uses them need not know. The inverse looks whether they did: then it is
``W^T W`` with ``W = D^-1/2 L^-1``, of which one triangle is worked out. Columns are adjacent; strides are in bytes.
"""

from __future__ import annotations

from collections.abc import Callable

from ....ops.linalg.kernels import LEAST_SYMMETRIC
from ...ir_text import TRUE, Value
from ..matmul.counted_loops import Operand, Signature, Writer
from ..matmul.packing import COPY_ROWS, PACK, TRANSPOSE
from ..matmul.vectors import load, prefix_mask
from .cholesky import FACTOR, TURN_LOWER
from .fill import FILL_ZERO
from .module import PRODUCTS, Module, multiply, products_of

FALSE = Value("false", "i1")
IS_POSITIVE = Signature("is_positive", "i64 %n, ptr %a, i64 %step", result="i1", directs=True)
IS_SYMMETRIC = Signature("is_symmetric", "i64 %n, ptr %a, i64 %row, ptr %square", result="i1", directs=True)
UNSQUARE = Signature("unsquare", "i64 %n, ptr %u, i64 %row, ptr %square", directs=True)
UNSQUARE_TILE = Signature(
    "unsquare_tile",
    "i64 %rows, i64 %columns, i64 %first, i64 %grows, ptr %roots, ptr %upper, i64 %row, ptr %square",
    directs=True,
)
BY_CHOLESKY = Signature(
    "by_cholesky",
    f"i64 %n, ptr %a, i64 %a_row, i64 %a_col, ptr %lu, i64 %row, ptr %pivots, {PRODUCTS}",
    result="i1",
    directs=True,
)
IS_BY_CHOLESKY = Signature(
    "is_by_cholesky", "i64 %n, ptr %lu, i64 %row, ptr %pivots, ptr %square", result="i1", directs=True
)
UNSCALE = Signature("unscale", "i64 %n, ptr %x, i64 %row, ptr %lu, i64 %lu_row", directs=True)
SQUARE = Signature("square", f"i64 %n, ptr %x, i64 %row, {PRODUCTS}", directs=True)


MIRROR_LOWER = Signature("mirror_lower", "i64 %n, ptr %x, i64 %row", directs=True)


def unsquare_row(m: Module) -> Signature:
    """A row divided by a root, which comes to `unit`, and that times the square of the root in place."""
    return Signature("unsquare_row", f"i64 %columns, {m.s.g.scalar} %root, ptr %row, ptr %unit")


def divide_row(m: Module) -> Signature:
    """A row divided by a number, in place."""
    return Signature("divide_row", f"i64 %columns, ptr %row, {m.s.g.scalar} %divisor")


def is_multiple(m: Module) -> Signature:
    """Whether one row is a number times the other, to the last bit."""
    return Signature(
        "is_multiple", f"i64 %columns, {m.s.g.scalar} %factor, ptr %one, ptr %other", result="i1"
    )


# ---- factors --------------------------------------------------------------------------------------------


def add_by_cholesky(m: Module) -> None:
    """L and U by Cholesky's factor, for matrices that have one; false for others, of which nothing is left then."""
    _add_is_multiple(m)
    _add_is_positive(m)
    _add_is_symmetric(m)
    _add_unsquare_row(m)
    _add_unsquare_tile(m)
    _add_unsquare(m)
    w, s = Writer(BY_CHOLESKY), m.s
    a = w.arg
    # The transpose of a symmetric matrix is itself.
    a_row = w.select(w.compare("eq", a.a_row, s.g.size), a.a_col, a.a_row)
    either = w.either(w.compare("eq", a.a_row, s.g.size), w.compare("eq", a.a_col, s.g.size))
    many = w.compare("sge", a.n, LEAST_SYMMETRIC)
    with w.leaving(w.both(many, either), unless=True):
        w.stmt("ret i1 false")
    with w.leaving(w.invoke(IS_POSITIVE, a.n, a.a, w.add(a.a_row, a.a_col)), unless=True):
        w.stmt("ret i1 false")
    square = w.offset(a.work, s.square_at)
    with w.leaving(w.invoke(IS_SYMMETRIC, a.n, a.a, a_row, square), unless=True):
        w.stmt("ret i1 false")
    w.invoke(TURN_LOWER, a.n, a.a, a.a_row, a.a_col, a.lu, a.row)
    bad = w.invoke(FACTOR, a.n, a.lu, a.row, *products_of(w))
    fine = w.invoke(IS_POSITIVE, a.n, a.lu, w.add(a.row, s.g.size))
    with w.leaving(w.both(w.compare("eq", bad, 0), fine), unless=True):
        w.stmt("ret i1 false")
    w.invoke(UNSQUARE, *w.args("n lu row"), square)
    with w.loop(a.n, 1, a.pivots) as loop:
        w.store(loop.index, loop.carried[0], 8)
        w.advance(loop, 8)
    m.add(w, "i1 true")


def _add_is_multiple(m: Module) -> None:
    w, g = Writer(is_multiple(m)), m.s.g
    factor = w.splat(w.arg.factor, g.lanes)
    none = w.splat(FALSE, g.lanes)
    with w.loop(w.arg.columns, g.lanes, w.arg.one, w.arg.other, none) as across:
        one, other, differs = across.carried
        mask = prefix_mask(w, w.subtract(w.arg.columns, across.index), g.lanes)
        x, y = (load(w, g, place, g.lanes, mask) for place in (one, other))
        w.advance(across, g.lanes * g.size, g.lanes * g.size)
        across.following.append(w.either(differs, w.compare("une", x, w.op("fmul", factor, y))))
    m.add(w, f"i1 {w.op('xor', w.any_lane(across.carried[2]), TRUE)}")


def _add_is_positive(m: Module) -> None:
    """Whether a diagonal is, and finite."""
    w, g = Writer(IS_POSITIVE), m.s.g
    with w.loop(w.arg.n, 1, w.arg.a, TRUE) as down:
        place, fine = down.carried
        value = w.load(g.scalar, place, g.size)
        above = w.compare("ogt", value, Value("0.0", g.scalar))
        inside = w.compare("olt", value, Value("0x7FF0000000000000", g.scalar))
        down.following += [w.offset(place, w.arg.step), w.both(fine, w.both(above, inside))]
    m.add(w, f"i1 {down.carried[1]}")


def _add_is_symmetric(m: Module) -> None:
    """Whether a matrix is its transpose, tile by tile: others are found out in the first one."""
    w, s, g = Writer(IS_SYMMETRIC), m.s, m.s.g
    a = w.arg
    with w.loop(a.n, s.tile, a.a) as down:
        rows = w.minimum(w.subtract(a.n, down.index), s.tile)
        turned = w.offset(a.a, w.multiply(down.index, g.size))
        with w.loop(w.add(down.index, 1), s.tile, down.carried[0], turned) as across:
            here, there = across.carried
            columns = w.minimum(w.subtract(a.n, across.index), s.tile)
            w.invoke(PACK, rows, columns, there, g.size, a.row, a.square, s.square_stride)
            with w.loop(rows, 1, here, a.square) as inside:
                same = w.invoke(is_multiple(m), columns, Value("1.0", g.scalar), *inside.carried)
                with w.leaving(same, unless=True):
                    w.stmt("ret i1 false")
                w.advance(inside, a.row, s.square_stride)
            w.advance(across, s.tile * g.size, w.multiply(a.row, s.tile))
        w.advance(down, w.multiply(a.row, s.tile))
    m.add(w, "i1 true")


def _add_unsquare_row(m: Module) -> None:
    w, g = Writer(unsquare_row(m)), m.s.g
    root, square = (w.splat(x, g.lanes) for x in (w.arg.root, w.op("fmul", w.arg.root, w.arg.root)))

    def write(mask: Value | None, place: Value, target: Value) -> None:
        unit = w.op("fdiv", load(w, g, place, g.lanes, mask), root)
        w.store(unit, target, g.size, mask)
        w.store(w.op("fmul", unit, square), place, g.size, mask)

    _each_vector(w, m, (w.arg.row, w.arg.unit), write)
    m.add(w)


def _each_vector(w: Writer, m: Module, starts: tuple[Value, ...], write: Callable[..., None]) -> None:
    """Call `write` for whole vectors of a row of `columns`, then with a mask for the rest: masked stores take long."""
    g = m.s.g
    whole = w.op("and", w.arg.columns, -g.lanes)
    rest = w.subtract(w.arg.columns, whole)
    with w.loop(whole, g.lanes, *starts) as across:
        write(None, *across.carried)
        w.advance(across, *[g.lanes * g.size] * len(starts))
    with w.when(w.compare("ne", rest, 0)):
        write(prefix_mask(w, rest, g.lanes), *across.carried)


def _add_unsquare_tile(m: Module) -> None:
    """Some rows of U from Cholesky's; their unit triangle comes to `square`. Row k begins at `first + k * grows`."""
    w, s, g = Writer(UNSQUARE_TILE), m.s, m.s.g
    a = w.arg
    step = w.add(a.row, g.size)
    with w.loop(a.rows, 1, a.roots, a.upper, a.square) as down:
        place, upper, unit = down.carried
        first = w.add(w.multiply(down.index, a.grows), a.first)
        start = w.multiply(first, g.size)
        root = w.load(g.scalar, place, g.size)
        places = w.offset(upper, start), w.offset(unit, start)
        w.invoke(unsquare_row(m), w.subtract(a.columns, first), root, *places)
        w.advance(down, step, a.row, s.square_stride)
    m.add(w)


def _add_unsquare(m: Module) -> None:
    """L and U from the upper factor of Cholesky: tiles of L are made while those of U are near."""
    w, s, g = Writer(UNSQUARE), m.s, m.s.g
    a = w.arg
    step = w.add(a.row, g.size)
    with w.loop(a.n, s.tile, a.u) as down:
        corner = down.carried[0]
        left = w.subtract(a.n, down.index)
        rows = w.minimum(left, s.tile)
        beside, below = w.offset(corner, w.multiply(rows, g.size)), w.offset(corner, w.multiply(rows, a.row))
        with w.loop(w.subtract(left, rows), s.tile, beside, below) as across:
            upper, lower = across.carried
            columns = w.minimum(w.subtract(w.subtract(left, rows), across.index), s.tile)
            w.invoke(UNSQUARE_TILE, rows, columns, 0, 0, corner, upper, a.row, a.square)
            # A few rows of L at a time, which may all be at the same place of the cache.
            with w.loop(columns, g.square, a.square, lower) as along:
                few = w.minimum(w.subtract(columns, along.index), g.square)
                w.invoke(TRANSPOSE, rows, few, along.carried[0], s.square_stride, along.carried[1], a.row)
                w.advance(along, g.square * g.size, w.multiply(a.row, g.square))
            w.advance(across, s.tile * g.size, w.multiply(a.row, s.tile))
        # The tile on the diagonal, whose roots the others need.
        w.invoke(UNSQUARE_TILE, rows, rows, 1, 1, corner, corner, a.row, a.square)
        with w.loop(rows, 1, corner, corner, a.square) as inside:
            diagonal, row, unit = inside.carried
            root = w.load(g.scalar, diagonal, g.size)
            w.store(w.op("fmul", root, root), diagonal, g.size)
            with w.loop(inside.index, 1, row, unit) as along:
                w.store(w.load(g.scalar, along.carried[1], g.size), along.carried[0], g.size)
                w.advance(along, g.size, s.square_stride)
            w.advance(inside, step, a.row, g.size)
        w.advance(down, w.multiply(step, s.tile))
    m.add(w)


# ---- the inverse ----------------------------------------------------------------------------------------


def add_symmetric_inverse(m: Module) -> None:
    """Whether factors are those of a symmetric matrix, and the inverse from that of their triangle."""
    _add_is_multiple(m)
    _add_is_positive(m)
    _add_divide_row(m)
    _add_mirror_lower(m)
    _add_is_by_cholesky(m)
    _add_unscale(m)
    _add_square(m)


def _add_divide_row(m: Module) -> None:
    w, g = Writer(divide_row(m)), m.s.g
    divisor = w.splat(w.arg.divisor, g.lanes)

    def write(mask: Value | None, place: Value) -> None:
        w.store(w.op("fdiv", load(w, g, place, g.lanes, mask), divisor), place, g.size, mask)

    _each_vector(w, m, (w.arg.row,), write)
    m.add(w)


def _add_mirror_lower(m: Module) -> None:
    """The lower triangle onto the upper one, a line of few rows at a time, which may be at one place of the cache."""
    w, s, g = Writer(MIRROR_LOWER), m.s, m.s.g
    a, line = w.arg, 64 // m.s.g.size
    with w.loop(a.n, s.tile) as down:
        rows = w.minimum(w.subtract(a.n, down.index), s.tile)
        above = w.offset(a.x, w.multiply(down.index, g.size))
        beside = w.offset(a.x, w.multiply(down.index, a.row))
        with w.loop(down.index, line, beside, above) as along:
            w.invoke(TRANSPOSE, rows, line, along.carried[0], a.row, along.carried[1], a.row)
            w.advance(along, line * g.size, w.multiply(a.row, line))
        corner = w.offset(beside, w.multiply(down.index, g.size))
        with w.loop(rows, 1, corner, corner) as inside:  # the tile on the diagonal
            row, column = inside.carried
            with w.loop(inside.index, 1, row, column) as along:
                w.store(w.load(g.scalar, along.carried[0], g.size), along.carried[1], g.size)
                w.advance(along, g.size, a.row)
            w.advance(inside, a.row, g.size)
    m.add(w)


def _add_is_by_cholesky(m: Module) -> None:
    """Whether no rows changed places, and U is the diagonal times the transpose of L."""
    w, s, g = Writer(IS_BY_CHOLESKY), m.s, m.s.g
    a = w.arg
    step = w.add(a.row, g.size)
    with w.leaving(w.compare("sge", a.n, LEAST_SYMMETRIC), unless=True):
        w.stmt("ret i1 false")
    with w.loop(a.n, 1, a.pivots, TRUE) as loop:
        kept = w.compare("eq", w.load("i64", loop.carried[0]), loop.index)
        loop.following += [w.offset(loop.carried[0], 8), w.both(loop.carried[1], kept)]
    fine = w.both(loop.carried[1], w.invoke(IS_POSITIVE, a.n, a.lu, step))
    with w.leaving(fine, unless=True):
        w.stmt("ret i1 false")
    with w.loop(a.n, s.tile) as down:
        rows = w.minimum(w.subtract(a.n, down.index), s.tile)
        beside = w.offset(a.lu, w.multiply(down.index, a.row))
        above = w.offset(a.lu, w.multiply(down.index, g.size))
        with w.loop(w.add(down.index, 1), s.tile, beside, above, a.lu) as across:
            lower, upper, corner = across.carried
            columns = w.minimum(w.subtract(a.n, across.index), s.tile)
            w.invoke(PACK, columns, rows, lower, g.size, a.row, a.square, s.square_stride)
            on_diagonal = w.compare("eq", across.index, down.index)
            with w.loop(columns, 1, upper, a.square, corner) as inside:
                factor = w.load(g.scalar, inside.carried[2], g.size)
                first = w.select(on_diagonal, w.minimum(w.add(inside.index, 1), rows), 0)
                pair = [w.offset(place, w.multiply(first, g.size)) for place in inside.carried[:2]]
                same = w.invoke(is_multiple(m), w.subtract(rows, first), factor, *pair)
                with w.leaving(same, unless=True):
                    w.stmt("ret i1 false")
                w.advance(inside, a.row, s.square_stride, step)
            w.advance(across, s.tile * g.size, w.multiply(a.row, s.tile), w.multiply(step, s.tile))
    m.add(w, "i1 true")


def _add_unscale(m: Module) -> None:
    """The rows of a lower triangle divided by the roots of a diagonal."""
    w, g = Writer(UNSCALE), m.s.g
    a = w.arg
    with w.loop(a.n, 1, a.x, a.lu) as down:
        row, place = down.carried
        root = w.intrinsic("sqrt", w.load(g.scalar, place, g.size))
        w.invoke(divide_row(m), w.add(down.index, 1), row, root)
        w.advance(down, a.row, w.add(a.lu_row, g.size))
    m.add(w)


def _add_square(m: Module) -> None:
    """``W^T W`` in the place of a lower triangle W, block of rows by block: later ones need no earlier ones."""
    w, s, g = Writer(SQUARE), m.s, m.s.g
    a = w.arg
    own = w.offset(a.work, s.square_at)
    with w.loop(a.n, s.block, a.x) as down:
        start = down.carried[0]
        rows = w.minimum(w.subtract(a.n, down.index), s.block)
        columns = w.add(down.index, rows)
        corner = w.offset(start, w.multiply(down.index, g.size))
        w.invoke(COPY_ROWS, rows, rows, corner, a.row, own, s.square_stride)
        with w.loop(columns, s.negated_columns, start) as across:
            place = across.carried[0]
            count = w.minimum(w.subtract(columns, across.index), s.negated_columns)
            w.invoke(COPY_ROWS, rows, count, place, a.row, a.work, s.negated_stride)
            w.invoke(FILL_ZERO, rows, count, place, a.row)
            copied = (a.work, s.negated_stride, g.size)
            multiply(w, s, (rows, count, rows), (own, g.size, s.square_stride), copied, (place, a.row))
            w.advance(across, s.negated_columns * g.size)
        rest = w.subtract(w.subtract(a.n, down.index), rows)
        below, under = (w.offset(p, w.multiply(rows, a.row)) for p in (start, corner))
        sizes: tuple[Operand, ...] = (rows, columns, rest)
        multiply(w, s, sizes, (under, g.size, a.row), (below, a.row, g.size), (start, a.row))
        w.advance(down, w.multiply(a.row, s.block))
    w.invoke(MIRROR_LOWER, *w.args("n x row"))
    m.add(w)
