"""Copies of operands into the workspace, so that tiles find them dense, aligned and free of cache conflicts.

The right operand becomes panels (all rows of one strip of columns, adjacent); the left operand keeps its
row order with a fixed stride. Strides are in bytes.
"""

from __future__ import annotations

from .counted_loops import Signature, Writer
from .geometry import Geometry
from .vectors import exchange, load, load_scalar, prefix_mask, store, store_scalar

TRANSPOSE = Signature(
    "transpose", "i64 %rows, i64 %columns, ptr %source, i64 %source_row, ptr %target, i64 %target_row"
)
COPY_ROWS = Signature(
    "copy_rows", "i64 %rows, i64 %columns, ptr %source, i64 %source_row, ptr %target, i64 %target_row"
)
COPY_SCALARS = Signature(
    "copy_scalars",
    "i64 %rows, i64 %columns, ptr %source, i64 %source_row, i64 %source_col, ptr %target, i64 %target_row",
)
PACK = Signature("pack", COPY_SCALARS.parameters)


def packing_functions(g: Geometry) -> str:
    """Functions that copy a matrix: transposed, row by row, element by element, and the best of these."""
    return _transpose(g) + _copy_rows(g) + _copy_scalars(g) + _pack(g)


def _butterfly(w: Writer, g: Geometry, rows: list[str]) -> list[str]:
    """Transpose a square of registers: log2(lanes) rounds, each exchanging half of every pair of rows."""
    distance = 1
    while distance < g.square:
        for row in (row for row in range(g.square) if not row & distance):
            rows[row], rows[row + distance] = exchange(
                w, g, rows[row], rows[row + distance], distance, g.square
            )
        distance *= 2
    return rows


def _transpose(g: Geometry) -> str:
    """``target[j, i] = source[i, j]``; columns of both are adjacent."""
    w, side = Writer(TRANSPOSE), g.square
    vector_bytes = side * g.size
    source_step = w.multiply("%source_row", side)
    target_step = w.multiply("%target_row", side)
    with w.loop("%rows", side, ("ptr", "%source"), ("ptr", "%target")) as across:
        count = w.subtract("%rows", across.index)
        last = w.subtract(count, 1)
        numbers = [w.multiply("%source_row", w.minimum(last, row)) for row in range(side)]
        row_mask = prefix_mask(w, count, side)
        with w.loop("%columns", side, ("ptr", across.carried[0]), ("ptr", across.carried[1])) as down:
            remaining = w.subtract("%columns", down.index)
            mask = prefix_mask(w, remaining, side)
            rows = [load(w, g, w.offset(down.carried[0], number), side, mask) for number in numbers]
            for column, value in enumerate(_butterfly(w, g, rows)):
                with w.when(w.compare("sgt", remaining, column)):
                    target = w.offset(down.carried[1], w.multiply("%target_row", column))
                    store(w, g, value, target, side, row_mask)
            down.following += [
                w.offset(down.carried[0], vector_bytes),
                w.offset(down.carried[1], target_step),
            ]
        across.following += [
            w.offset(across.carried[0], source_step),
            w.offset(across.carried[1], vector_bytes),
        ]
    return w.text()


def _copy_rows(g: Geometry) -> str:
    """``target[i, j] = source[i, j]``, a vector at a time; columns of both are adjacent."""
    w = Writer(COPY_ROWS)
    whole = w.let(f"and i64 %columns, {-g.lanes}")
    rest = w.subtract("%columns", whole)
    ragged = w.compare("ne", rest, 0)
    mask = prefix_mask(w, rest, g.lanes)
    with w.loop("%rows", 1, ("ptr", "%source"), ("ptr", "%target")) as down:
        with w.loop(whole, g.lanes, ("ptr", down.carried[0]), ("ptr", down.carried[1])) as across:
            store(w, g, load(w, g, across.carried[0], g.lanes), across.carried[1], g.lanes)
            across.following += [w.offset(pointer, g.lanes * g.size) for pointer in across.carried]
        with w.when(ragged):
            store(w, g, load(w, g, across.carried[0], g.lanes, mask), across.carried[1], g.lanes, mask)
        down.following += [w.offset(down.carried[0], "%source_row"), w.offset(down.carried[1], "%target_row")]
    return w.text()


def _copy_scalars(g: Geometry) -> str:
    """``target[i, j] = source[i, j]`` for any strides of the source; columns of the target are adjacent."""
    w = Writer(COPY_SCALARS)
    with w.loop("%rows", 1, ("ptr", "%source"), ("ptr", "%target")) as down:
        with w.loop("%columns", 1, ("ptr", down.carried[0]), ("ptr", down.carried[1])) as across:
            store_scalar(w, g, load_scalar(w, g, across.carried[0]), across.carried[1])
            across.following += [
                w.offset(across.carried[0], "%source_col"),
                w.offset(across.carried[1], g.size),
            ]
        down.following += [w.offset(down.carried[0], "%source_row"), w.offset(down.carried[1], "%target_row")]
    return w.text()


def _pack(g: Geometry) -> str:
    """``target[i, j] = source[i, j]`` by the fastest copy the strides of the source allow."""
    w = Writer(PACK)
    with w.returning(w.compare("eq", "%source_col", g.size)):
        w.call(COPY_ROWS, "%rows", "%columns", "%source", "%source_row", "%target", "%target_row")
    with w.returning(w.compare("eq", "%source_row", g.size)):
        w.call(TRANSPOSE, "%columns", "%rows", "%source", "%source_col", "%target", "%target_row")
    w.call(
        COPY_SCALARS, "%rows", "%columns", "%source", "%source_row", "%source_col", "%target", "%target_row"
    )
    return w.text()
