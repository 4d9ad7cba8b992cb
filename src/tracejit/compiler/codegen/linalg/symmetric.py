"""Symmetric, positive definite matrices among those that LU factors and inverts: half the work.

``A = C^T C`` is ``L D L^T`` with a unit triangle L, a product of L and U that needs no exchange of rows. So the
factors of LU may come from Cholesky's, and who uses them need not know. The inverse looks whether they did: then it is
``W^T W`` with ``W = D^-1/2 L^-1``, of which one triangle is worked out. Columns are adjacent; strides are in bytes.
"""

from __future__ import annotations

from typing import Any

from ....ops.linalg.kernels import LEAST_SYMMETRIC
from ...ir_text import TRUE, Value
from ..matmul.counted_loops import Operand, Signature, Writer
from ..matmul.packing import COPY_ROWS, PACK
from ..matmul.vectors import load, prefix_mask
from .cholesky import FACTOR, TURN_LOWER
from .fill import FILL_ZERO
from .module import Module, multiply

FALSE = Value("false", "i1")
IS_POSITIVE = Signature("is_positive", "i64 %n, ptr %a, i64 %step", result="i1", directs=True)
IS_SYMMETRIC = Signature("is_symmetric", "i64 %n, ptr %a, i64 %row, ptr %square", result="i1", directs=True)
DIVIDE_BY_ROOTS = Signature("divide_by_roots", "i64 %n, ptr %u, i64 %row", directs=True)
TIMES_DIAGONAL = Signature("times_diagonal", "i64 %n, ptr %u, i64 %row", directs=True)
BY_CHOLESKY = Signature(
    "by_cholesky",
    "i64 %n, ptr %a, i64 %a_row, i64 %a_col, ptr %lu, i64 %row, ptr %pivots, ptr %gemm, ptr %work",
    result="i1",
    directs=True,
)
IS_BY_CHOLESKY = Signature(
    "is_by_cholesky", "i64 %n, ptr %lu, i64 %row, ptr %pivots, ptr %square", result="i1", directs=True
)
UNSCALE = Signature("unscale", "i64 %n, ptr %x, i64 %row, ptr %lu, i64 %lu_row", directs=True)
SQUARE = Signature("square", "i64 %n, ptr %x, i64 %row, ptr %gemm, ptr %work", directs=True)


def mirror(upper: bool) -> Signature:
    """Copy one triangle of a square onto the other."""
    return Signature(f"mirror_{'upper' if upper else 'lower'}", "i64 %n, ptr %x, i64 %row", directs=True)


def row_by(m: Module, operation: str) -> Signature:
    """A row times a number, or divided by it, in place."""
    return Signature(f"row_{operation}", f"i64 %columns, ptr %row, {m.s.g.scalar} %factor")


def is_multiple(m: Module) -> Signature:
    """Whether one row is a number times the other, to the last bit."""
    return Signature(
        "is_multiple", f"i64 %columns, {m.s.g.scalar} %factor, ptr %one, ptr %other", result="i1"
    )


# ---- factors --------------------------------------------------------------------------------------------


def add_by_cholesky(m: Module) -> None:
    """L and U by Cholesky's factor, for matrices that have one; false for others, of which nothing is left then."""
    _add_row_by(m, "fmul")
    _add_row_by(m, "fdiv")
    _add_is_multiple(m)
    _add_is_positive(m)
    _add_is_symmetric(m)
    _add_mirror(m, upper=True)
    _add_divide_by_roots(m)
    _add_times_diagonal(m)
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
    bad = w.invoke(FACTOR, a.n, a.lu, a.row, a.gemm, a.work)
    fine = w.invoke(IS_POSITIVE, a.n, a.lu, w.add(a.row, s.g.size))
    with w.leaving(w.both(w.compare("eq", bad, 0), fine), unless=True):
        w.stmt("ret i1 false")
    w.invoke(DIVIDE_BY_ROOTS, *w.args("n lu row"))
    w.invoke(mirror(upper=True), *w.args("n lu row"))
    w.invoke(TIMES_DIAGONAL, *w.args("n lu row"))
    with w.loop(a.n, 1, a.pivots) as loop:
        w.store(loop.index, loop.carried[0], 8)
        w.advance(loop, 8)
    m.add(w, "i1 true")


def _add_row_by(m: Module, operation: str) -> None:
    w, g = Writer(row_by(m, operation)), m.s.g
    factor = w.splat(w.arg.factor, g.lanes)
    with w.loop(w.arg.columns, g.lanes, w.arg.row) as across:
        mask = prefix_mask(w, w.subtract(w.arg.columns, across.index), g.lanes)
        value = load(w, g, across.carried[0], g.lanes, mask)
        w.store(w.op(operation, value, factor), across.carried[0], g.size, mask)
        w.advance(across, g.lanes * g.size)
    m.add(w)


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


def _add_mirror(m: Module, upper: bool) -> None:
    """The upper triangle onto the lower one, or that onto the upper one."""
    w, s, g = Writer(mirror(upper)), m.s, m.s.g
    a = w.arg
    with w.loop(a.n, s.tile) as down:
        rows = w.minimum(w.subtract(a.n, down.index), s.tile)
        above = w.offset(a.x, w.multiply(down.index, g.size))
        beside = w.offset(a.x, w.multiply(down.index, a.row))
        if upper:
            w.invoke(PACK, rows, down.index, above, g.size, a.row, beside, a.row)
        else:
            w.invoke(PACK, down.index, rows, beside, g.size, a.row, above, a.row)
        corner = w.offset(beside, w.multiply(down.index, g.size))
        with w.loop(rows, 1, corner, corner) as inside:  # the tile on the diagonal
            row, column = inside.carried
            with w.loop(inside.index, 1, row, column) as along:
                pair = (along.carried[1], along.carried[0]) if upper else along.carried
                w.store(w.load(g.scalar, pair[0], g.size), pair[1], g.size)
                w.advance(along, g.size, a.row)
            w.advance(inside, a.row, g.size)
    m.add(w)


def _add_divide_by_roots(m: Module) -> None:
    """The upper factor of Cholesky as a unit triangle, and squares on the diagonal."""
    w, g = Writer(DIVIDE_BY_ROOTS), m.s.g
    with _rows(w, m) as (place, columns, root):
        w.invoke(row_by(m, "fdiv"), columns, w.offset(place, g.size), root)
        w.store(w.op("fmul", root, root), place, g.size)
    m.add(w)


def _add_times_diagonal(m: Module) -> None:
    """A unit triangle times the diagonal beside it."""
    w, g = Writer(TIMES_DIAGONAL), m.s.g
    with _rows(w, m) as (place, columns, factor):
        w.invoke(row_by(m, "fmul"), columns, w.offset(place, g.size), factor)
    m.add(w)


class _rows:
    """A loop over the rows of an upper triangle: the place of the diagonal, the columns behind it, what is there."""

    def __init__(self, w: Writer, m: Module) -> None:
        self.w, self.g = w, m.s.g
        self.written: Any = w.loop(w.arg.n, 1, w.arg.u)

    def __enter__(self) -> tuple[Value, Value, Value]:
        w, self.loop = self.w, self.written.__enter__()
        place = self.loop.carried[0]
        columns = w.subtract(w.subtract(w.arg.n, self.loop.index), 1)
        return place, columns, w.load(self.g.scalar, place, self.g.size)

    def __exit__(self, *error: Any) -> None:
        self.w.advance(self.loop, self.w.add(self.w.arg.row, self.g.size))
        self.written.__exit__(*error)


# ---- the inverse ----------------------------------------------------------------------------------------


def add_symmetric_inverse(m: Module) -> None:
    """Whether factors are those of a symmetric matrix, and the inverse from that of their triangle."""
    _add_is_multiple(m)
    _add_is_positive(m)
    _add_row_by(m, "fdiv")
    _add_mirror(m, upper=False)
    _add_is_by_cholesky(m)
    _add_unscale(m)
    _add_square(m)


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
        w.invoke(row_by(m, "fdiv"), w.add(down.index, 1), row, root)
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
    w.invoke(mirror(upper=False), *w.args("n x row"))
    m.add(w)
