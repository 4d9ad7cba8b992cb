"""Copies of operands into the workspace, so that tiles find them dense, aligned and free of cache conflicts.

The right operand becomes panels (all rows of one strip of columns, adjacent); the left operand keeps its row order
with a fixed stride.  Strides are in bytes.
"""

from __future__ import annotations

from .geometry import Geometry
from .text import Writer
from .vectors import load, load_scalar, prefix_mask, store, store_scalar


def packing_functions(g: Geometry) -> str:
    """Functions that pack a panel of the right operand and a block of the left one."""
    return _transpose(g) + _copy_scalars(g) + _copy_rows(g) + _pack_panel(g) + _pack_left(g)


def _butterfly(w: Writer, g: Geometry, rows: list[str]) -> list[str]:
    """Transpose a square of registers: log2(lanes) rounds, each exchanging half of every pair of rows."""
    lanes, vector = g.lanes, g.vector
    distance = 1
    while distance < lanes:
        low = [x if not x & distance else lanes + x - distance for x in range(lanes)]
        high = [x + distance if not x & distance else lanes + x for x in range(lanes)]
        for row in (row for row in range(lanes) if not row & distance):
            pair = rows[row], rows[row + distance]
            for target, order in ((row, low), (row + distance, high)):
                mask = f"<{lanes} x i32> <" + ", ".join(f"i32 {x}" for x in order) + ">"
                rows[target] = w.let(f"shufflevector {vector} {pair[0]}, {vector} {pair[1]}, {mask}")
        distance *= 2
    return rows


def _transpose(g: Geometry) -> str:
    """``target[j, i] = source[i, j]``; columns of both are adjacent."""
    w = Writer(
        "internal fastcc void @transpose(i64 %rows, i64 %columns, ptr %source, i64 %source_row, "
        "ptr %target, i64 %target_row) noinline nounwind #0"
    )
    vector_bytes = g.lanes * g.size
    source_step = w.multiply("%source_row", g.lanes)
    target_step = w.multiply("%target_row", g.lanes)
    with w.loop("%rows", g.lanes, ("ptr", "%source"), ("ptr", "%target")) as across:
        count = w.subtract("%rows", across.index)
        last = w.subtract(count, 1)
        numbers = [w.multiply("%source_row", w.minimum(last, row)) for row in range(g.lanes)]
        row_mask = prefix_mask(w, count, g.lanes)
        with w.loop("%columns", g.lanes, ("ptr", across.carried[0]), ("ptr", across.carried[1])) as down:
            remaining = w.subtract("%columns", down.index)
            mask = prefix_mask(w, remaining, g.lanes)
            rows = [load(w, g, w.offset(down.carried[0], number), g.lanes, mask) for number in numbers]
            for column, value in enumerate(_butterfly(w, g, rows)):
                with w.when(w.compare("sgt", remaining, column)):
                    target = w.offset(down.carried[1], w.multiply("%target_row", column))
                    store(w, g, value, target, g.lanes, row_mask)
            down.following += [w.offset(down.carried[0], vector_bytes), w.offset(down.carried[1], target_step)]
        across.following += [w.offset(across.carried[0], source_step), w.offset(across.carried[1], vector_bytes)]
    return w.text()


def _copy_rows(g: Geometry) -> str:
    """``target[i, j] = source[i, j]``, a vector at a time; columns of both are adjacent."""
    w = Writer(
        "internal fastcc void @copy_rows(i64 %rows, i64 %columns, ptr %source, i64 %source_row, "
        "ptr %target, i64 %target_row) noinline nounwind #0"
    )
    with w.loop("%rows", 1, ("ptr", "%source"), ("ptr", "%target")) as down:
        with w.loop("%columns", g.lanes, ("ptr", down.carried[0]), ("ptr", down.carried[1])) as across:
            mask = prefix_mask(w, w.subtract("%columns", across.index), g.lanes)
            store(w, g, load(w, g, across.carried[0], g.lanes, mask), across.carried[1], g.lanes, mask)
            across.following += [w.offset(pointer, g.lanes * g.size) for pointer in across.carried]
        down.following += [w.offset(down.carried[0], "%source_row"), w.offset(down.carried[1], "%target_row")]
    return w.text()


def _copy_scalars(g: Geometry) -> str:
    """``target[i, j] = source[i, j]`` for any strides of the source; columns of the target are adjacent."""
    w = Writer(
        "internal fastcc void @copy_scalars(i64 %rows, i64 %columns, ptr %source, i64 %source_row, i64 %source_col, "
        "ptr %target, i64 %target_row) noinline nounwind #0"
    )
    with w.loop("%rows", 1, ("ptr", "%source"), ("ptr", "%target")) as down:
        with w.loop("%columns", 1, ("ptr", down.carried[0]), ("ptr", down.carried[1])) as across:
            store_scalar(w, g, load_scalar(w, g, across.carried[0]), across.carried[1])
            across.following += [w.offset(across.carried[0], "%source_col"), w.offset(across.carried[1], g.size)]
        down.following += [w.offset(down.carried[0], "%source_row"), w.offset(down.carried[1], "%target_row")]
    return w.text()


def _pack_panel(g: Geometry) -> str:
    """Copy at most one panel's columns of the right operand, choosing the copy by its strides."""
    w = Writer(
        "internal fastcc void @pack_panel(i64 %depth, i64 %columns, ptr %b, i64 %b_row, i64 %b_col, ptr %panel) "
        "noinline nounwind #0"
    )
    with w.returning(w.compare("eq", "%b_col", g.size)):
        w.do(
            "call fastcc void @copy_rows(i64 %depth, i64 %columns, ptr %b, i64 %b_row, "
            f"ptr %panel, i64 {g.panel_bytes})"
        )
    with w.returning(w.compare("eq", "%b_row", g.size)):
        w.do(
            "call fastcc void @transpose(i64 %columns, i64 %depth, ptr %b, i64 %b_col, "
            f"ptr %panel, i64 {g.panel_bytes})"
        )
    w.do(
        "call fastcc void @copy_scalars(i64 %depth, i64 %columns, ptr %b, i64 %b_row, i64 %b_col, "
        f"ptr %panel, i64 {g.panel_bytes})"
    )
    return w.text()


def _pack_left(g: Geometry) -> str:
    """Copy a block of the left operand, one of whose strides is the element size."""
    w = Writer(
        "internal fastcc void @pack_left(i64 %rows, i64 %depth, ptr %a, i64 %a_row, i64 %a_col, ptr %target) "
        "noinline nounwind #0"
    )
    with w.returning(w.compare("eq", "%a_col", g.size)):
        w.do(
            "call fastcc void @copy_rows(i64 %rows, i64 %depth, ptr %a, i64 %a_row, "
            f"ptr %target, i64 {g.left_stride})"
        )
    w.do(
        "call fastcc void @transpose(i64 %depth, i64 %rows, ptr %a, i64 %a_col, "
        f"ptr %target, i64 {g.left_stride})"
    )
    return w.text()
