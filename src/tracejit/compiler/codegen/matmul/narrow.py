"""Products with a narrow result: as many columns as a part of a vector, where ordinary tiles waste lanes.

Two ways out, by the layout of the left operand. Adjacent depth: dot products, lanes along the depth.
Adjacent rows: the transposed product, lanes along the rows, then transpose the small result.
"""

from __future__ import annotations

from ...ir_text import FALSE, TRUE
from .blocks import BLOCKS
from .counted_loops import Signature, Writer
from .dot_tile import DOT_TILES, dot_tile_functions
from .geometry import Geometry
from .packing import PACK, TRANSPOSE
from .tile import SWEEP

DOT_CASE = Signature(
    "dot_case",
    "i64 %m, i64 %n, i64 %k, ptr %a, i64 %a_row, ptr %b, i64 %b_row, i64 %b_col, ptr %c, i64 %c_row, "
    "i64 %accumulate, ptr %work",
    directs=True,
)
TURNED_CASE = Signature(
    "turned_case",
    "i64 %m, i64 %n, i64 %k, ptr %a, i64 %a_col, ptr %b, i64 %b_row, i64 %b_col, ptr %c, i64 %c_row, "
    "i64 %accumulate, ptr %work",
    directs=True,
)

# Fewest columns that ordinary tiles handle well whatever their number.
NARROW = 16
_TURNED_ROWS = 1024

# Depth summed before it is added to the result: bounded for the sake of rounding, and copies must stay in the
# first cache.
_DENSE_BYTES = 8192
_COPIED_BYTES = 2048


def narrow_functions(g: Geometry) -> str:
    """The two special products and what only they call."""
    return dot_tile_functions(g) + _dot_case(g) + _turned_case(g)


def _dot_case(g: Geometry) -> str:
    """The product for adjacent depth in A; columns of B are copied to the workspace unless they have it too.

    The last part of the depth, less than a vector, goes the ordinary way where machines have no masks, and alone.
    """
    w = Writer(DOT_CASE)
    dense = w.compare("eq", w.arg.b_row, g.size)
    step = w.select(dense, _DENSE_BYTES // g.size, _COPIED_BYTES // g.size)
    stride = _COPIED_BYTES + 64
    vectors = w.op("and", w.arg.k, -g.lanes)
    whole = w.select(w.compare("ne", vectors, 0), w.arg.k, 0) if g.masks else vectors
    with w.loop(whole, step) as inward:
        depth = w.minimum(w.subtract(whole, inward.index), step)
        again = w.op("or", inward.index, w.arg.accumulate)
        a = w.offset(w.arg.a, w.multiply(inward.index, g.size))
        b = w.offset(w.arg.b, w.multiply(inward.index, w.arg.b_row))
        with w.when(w.op("xor", dense, TRUE)):
            w.invoke(PACK, w.arg.n, depth, b, *w.args("b_col b_row work"), stride)
        columns = w.select(dense, b, w.arg.work)
        b_col = w.select(dense, w.arg.b_col, stride)
        w.invoke(DOT_TILES, *w.args("m n"), depth, a, w.arg.a_row, columns, b_col, *w.args("c c_row"), again)
    rest = w.subtract(w.arg.k, whole)
    with w.when(w.compare("ne", rest, 0)):
        again = w.op("or", whole, w.arg.accumulate)
        a = w.offset(w.arg.a, w.multiply(whole, g.size))
        b = w.offset(w.arg.b, w.multiply(whole, w.arg.b_row))
        scattered = w.compare("ne", w.arg.b_col, g.size)
        operands = a, w.arg.a_row, g.size, b, w.arg.b_row, w.arg.b_col
        w.invoke(
            BLOCKS, *w.args("m n"), rest, *operands, *w.args("c c_row"), again, w.arg.work, scattered, FALSE
        )
    return w.text()


def _turned_case(g: Geometry) -> str:
    """The product for adjacent rows in A, as ``C.T = B.T @ A.T`` with the small ``C.T`` in the workspace."""
    w = Writer(TURNED_CASE)
    stride = _TURNED_ROWS * g.size + 64
    with w.loop(w.arg.m, _TURNED_ROWS) as down:
        rows = w.minimum(w.subtract(w.arg.m, down.index), _TURNED_ROWS)
        a_rows = w.offset(w.arg.a, w.multiply(down.index, g.size))
        c = w.offset(w.arg.c, w.multiply(down.index, w.arg.c_row))
        with w.when(w.compare("ne", w.arg.accumulate, 0)):
            w.invoke(TRANSPOSE, rows, w.arg.n, c, *w.args("c_row work"), stride)
        with w.loop(w.arg.k, g.depth) as inward:
            depth = w.minimum(w.subtract(w.arg.k, inward.index), g.depth)
            again = w.op("or", inward.index, w.arg.accumulate)
            a = w.offset(a_rows, w.multiply(inward.index, w.arg.a_col))
            b = w.offset(w.arg.b, w.multiply(inward.index, w.arg.b_row))
            operands = b, *w.args("b_col b_row"), a, w.arg.a_col, g.panel_bytes
            w.invoke(SWEEP, w.arg.n, rows, depth, *operands, w.arg.work, stride, again)
        w.invoke(TRANSPOSE, w.arg.n, rows, w.arg.work, stride, c, w.arg.c_row)
    return w.text()
