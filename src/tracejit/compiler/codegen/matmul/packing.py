"""Copies of operands into the workspace, so that tiles find them dense, aligned and free of cache conflicts.

The right operand becomes panels (all rows of one strip of columns, adjacent); the left operand keeps its
row order with a fixed stride. Strides are in bytes.
"""

from __future__ import annotations

from .counted_loops import Signature, Writer
from .geometry import Geometry
from .vectors import load, prefetch, prefix_mask, transposed

_ROWS_AHEAD = 16
"""Rows between what is copied and what is fetched: machines foresee where a row goes on, not where the next one is."""

TRANSPOSE = Signature(
    "transpose", "i64 %rows, i64 %columns, ptr %source, i64 %source_row, ptr %target, i64 %target_row"
)
_SQUARES, _FILLED_SQUARES = (Signature(name, TRANSPOSE.parameters) for name in ("squares", "filled_squares"))
COPY_ROWS = Signature(
    "copy_rows", "i64 %rows, i64 %columns, ptr %source, i64 %source_row, ptr %target, i64 %target_row"
)
COPY_SCALARS = Signature(
    "copy_scalars",
    "i64 %rows, i64 %columns, ptr %source, i64 %source_row, i64 %source_col, ptr %target, i64 %target_row",
)
PACK = Signature("pack", COPY_SCALARS.parameters, directs=True)


def packing_functions(g: Geometry) -> str:
    """Functions that copy a matrix: transposed, row by row, element by element, and the best of these."""
    return _transpose(g) + _copy_rows(g) + _copy_scalars(g) + _pack(g)


def _transpose(g: Geometry) -> str:
    """``target[j, i] = source[i, j]``; columns of both are adjacent."""
    if g.masks:
        return _squares(g, TRANSPOSE, filled=False)
    w = Writer(TRANSPOSE)
    rows, columns = (w.op("and", size, -g.square) for size in (w.arg.rows, w.arg.columns))
    w.invoke(_FILLED_SQUARES, rows, columns, *w.args("source source_row target target_row"))
    for down, right in ((0, columns), (rows, 0)):
        size = w.subtract(w.arg.rows, rows) if right == 0 else rows
        width = w.arg.columns if right == 0 else w.subtract(w.arg.columns, columns)
        source = w.offset(w.arg.source, w.add(w.multiply(w.arg.source_row, down), w.multiply(g.size, right)))
        target = w.offset(w.arg.target, w.add(w.multiply(w.arg.target_row, right), w.multiply(g.size, down)))
        with w.when(w.both(w.compare("ne", size, 0), w.compare("ne", width, 0))):
            w.invoke(_SQUARES, size, width, source, w.arg.source_row, target, w.arg.target_row)
    return _squares(g, _SQUARES, filled=False) + _squares(g, _FILLED_SQUARES, filled=True) + w.text()


def _squares(g: Geometry, signature: Signature, filled: bool) -> str:
    """The same, where squares of registers are `filled` or not."""
    w, side = Writer(signature, g.settled), g.square
    vector_bytes = side * g.size
    source_step = w.multiply(w.arg.source_row, side)
    target_step = w.multiply(w.arg.target_row, side)
    with w.loop(w.arg.rows, side, w.arg.source, w.arg.target) as across:
        count = w.subtract(w.arg.rows, across.index)
        last = w.subtract(count, 1)
        numbers = [
            w.multiply(w.arg.source_row, row if filled else w.minimum(last, row)) for row in range(side)
        ]
        row_mask = None if filled else prefix_mask(w, count, side)
        with w.loop(w.arg.columns, side, across.carried[0], across.carried[1]) as down:
            remaining = w.subtract(w.arg.columns, down.index)
            mask = None if filled else prefix_mask(w, remaining, side)
            rows = [load(w, g, w.offset(down.carried[0], number), side, mask) for number in numbers]
            for column, value in enumerate(transposed(w, rows)):
                target = w.offset(down.carried[1], w.multiply(w.arg.target_row, column))
                if filled:
                    w.store(value, target, g.size)
                    continue
                with w.when(w.compare("sgt", remaining, column)):
                    w.store(value, target, g.size, row_mask)
            w.advance(down, vector_bytes, target_step)
        w.advance(across, source_step, vector_bytes)
    return w.text()


def _copy_rows(g: Geometry) -> str:
    """``target[i, j] = source[i, j]``, a vector at a time; columns of both are adjacent."""
    w = Writer(COPY_ROWS, g.settled)
    whole = w.op("and", w.arg.columns, -g.lanes)
    rest = w.subtract(w.arg.columns, whole)
    ragged = w.compare("ne", rest, 0)
    mask = prefix_mask(w, rest, g.lanes)
    ahead = w.multiply(w.arg.source_row, _ROWS_AHEAD)
    with w.loop(w.arg.rows, 1, w.arg.source, w.arg.target) as down:
        with w.loop(whole, g.lanes, down.carried[0], down.carried[1]) as across:
            if g.fetches:
                prefetch(w, w.offset(across.carried[0], ahead), g.lanes * g.size)
            w.store(load(w, g, across.carried[0], g.lanes), across.carried[1], g.size)
            w.advance(across, g.lanes * g.size, g.lanes * g.size)
        with w.when(ragged):
            w.store(load(w, g, across.carried[0], g.lanes, mask), across.carried[1], g.size, mask)
        w.advance(down, w.arg.source_row, w.arg.target_row)
    return w.text()


def _copy_scalars(g: Geometry) -> str:
    """``target[i, j] = source[i, j]`` for any strides of the source; columns of the target are adjacent."""
    w = Writer(COPY_SCALARS, g.settled)
    with w.loop(w.arg.rows, 1, w.arg.source, w.arg.target) as down:
        with w.loop(w.arg.columns, 1, down.carried[0], down.carried[1]) as across:
            w.store(w.load(g.scalar, across.carried[0], g.size), across.carried[1], g.size)
            w.advance(across, w.arg.source_col, g.size)
        w.advance(down, w.arg.source_row, w.arg.target_row)
    return w.text()


def _pack(g: Geometry) -> str:
    """``target[i, j] = source[i, j]`` by the fastest copy the strides of the source allow."""
    w = Writer(PACK)
    with w.returning(w.compare("eq", w.arg.source_col, g.size)):
        w.invoke(COPY_ROWS, *w.args("rows columns source source_row target target_row"))
    with w.returning(w.compare("eq", w.arg.source_row, g.size)):
        w.invoke(TRANSPOSE, *w.args("columns rows source source_col target target_row"))
    w.invoke(COPY_SCALARS, *w.args("rows columns source source_row source_col target target_row"))
    return w.text()
