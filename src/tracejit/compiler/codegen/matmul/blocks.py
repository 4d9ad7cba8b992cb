"""The product in cache blocks: any sizes, any strides, packed operands where the caller asks for them.

Blocks of the depth are also what keeps rounding small: each is summed by itself before it is added to the
result. Strides are in bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir_text import Value
from .counted_loops import Operand, Signature, Writer
from .geometry import Geometry
from .packing import PACK
from .tile import SWEEP

BLOCKS = Signature(
    "blocks",
    "i64 %m, i64 %n, i64 %k, ptr %a, i64 %a_row, i64 %a_col, ptr %b, i64 %b_row, i64 %b_col, "
    "ptr %c, i64 %c_row, i64 %accumulate, ptr %work, i1 %pack_b, i1 %pack_a",
    directs=True,
)
#: Packs panels `first` to `last` of a block of the right operand.
PANELS = Signature(
    "panels",
    "i64 %first, i64 %last, i64 %depth, i64 %columns, ptr %source, i64 %b_row, i64 %b_col, ptr %target",
    directs=True,
)
#: Rows `first` to `last` of the product with one block of the right operand; `left` is memory to pack rows in.
ROWS = Signature(
    "rows",
    "i64 %first, i64 %last, i64 %n, i64 %k, ptr %a, i64 %a_row, i64 %a_col, ptr %b, i64 %b_row, i64 %b_panel, "
    "ptr %c, i64 %c_row, i64 %accumulate, i1 %pack_a, i64 %depth_step, ptr %left",
    directs=True,
)
Call = Callable[[Signature, Value, Sequence[Operand]], object]
"""Writes a call of `PANELS` or `ROWS` for all there are: the function, how many, and what follows in its arguments."""


def block_functions(g: Geometry) -> str:
    """The product in blocks of columns, depth and rows, packing what the flags ask for."""
    w = Writer(BLOCKS)
    over_blocks(w, g, lambda callee, count, rest: w.invoke(callee, 0, count, *rest))
    return w.text() + _panels(g) + _rows(g)


def over_blocks(w: Writer, g: Geometry, call: Call) -> None:
    """Write the loops over blocks of columns and of the depth; `w` has the parameters of `BLOCKS`."""
    n_step = w.select(w.arg.pack_b, g.block_columns, w.arg.n)
    k_step = w.select(w.either(w.arg.pack_b, w.arg.pack_a), g.block_depth, w.arg.k)
    depth_step = _even_depth(w, g)
    left = w.offset(w.arg.work, g.right_bytes)
    with w.loop(w.arg.n, n_step) as across:
        n = w.minimum(w.subtract(w.arg.n, across.index), n_step)
        b_columns = w.offset(w.arg.b, w.multiply(w.arg.b_col, across.index))
        c_columns = w.offset(w.arg.c, w.multiply(across.index, g.size))
        with w.loop(w.arg.k, k_step) as inward:
            k = w.minimum(w.subtract(w.arg.k, inward.index), k_step)
            b_block = w.offset(b_columns, w.multiply(w.arg.b_row, inward.index))
            again = w.op("or", inward.index, w.arg.accumulate)
            a_columns = w.offset(w.arg.a, w.multiply(w.arg.a_col, inward.index))
            right = _right_block(w, g, k, n, b_block, call)
            operands = a_columns, w.arg.a_row, w.arg.a_col, *right, c_columns, w.arg.c_row
            call(ROWS, w.arg.m, (n, k, *operands, again, w.arg.pack_a, depth_step, left))


def _panels(g: Geometry) -> str:
    w = Writer(PANELS)
    packed_panel = w.multiply(w.arg.depth, g.panel_bytes)
    panel_step = w.multiply(w.arg.b_col, g.panel)
    start = w.multiply(w.arg.first, g.panel)
    columns = w.subtract(w.arg.columns, start)
    source = w.offset(w.arg.source, w.multiply(w.arg.first, panel_step))
    target = w.offset(w.arg.target, w.multiply(w.arg.first, packed_panel))
    with w.loop(w.subtract(w.arg.last, w.arg.first), 1, source, target) as panel:
        from_, to = panel.carried
        width = w.minimum(w.subtract(columns, w.multiply(panel.index, g.panel)), g.panel)
        w.invoke(PACK, w.arg.depth, width, from_, *w.args("b_row b_col"), to, g.panel_bytes)
        w.advance(panel, panel_step, packed_panel)
    return w.text()


def _rows(g: Geometry) -> str:
    w = Writer(ROWS)
    count = w.subtract(w.arg.last, w.arg.first)
    a = w.offset(w.arg.a, w.multiply(w.arg.a_row, w.arg.first))
    c = w.offset(w.arg.c, w.multiply(w.arg.c_row, w.arg.first))
    with w.loop(count, g.block_rows) as down:
        m = w.minimum(w.subtract(count, down.index), g.block_rows)
        a_block = w.offset(a, w.multiply(w.arg.a_row, down.index))
        c_block = w.offset(c, w.multiply(w.arg.c_row, down.index))
        _by_panels(w, g, m, a_block, c_block)
    return w.text()


def _by_panels(w: Writer, g: Geometry, m: Value, a: Value, c: Value) -> None:
    """Write the products of a block of rows, panel by panel of the columns: each stays close while it is summed."""
    left, a_row, a_col = _left_block(w, g, m, a)
    inner = w.multiply(a_col, w.arg.depth_step), w.multiply(w.arg.b_row, w.arg.depth_step)
    with w.loop(w.arg.n, g.panel, w.arg.b, c) as across:
        b, c = across.carried
        columns = w.minimum(w.subtract(w.arg.n, across.index), g.panel)
        with w.loop(w.arg.k, w.arg.depth_step, left, b) as inward:
            a, b = inward.carried
            depth = w.minimum(w.subtract(w.arg.k, inward.index), w.arg.depth_step)
            again = w.op("or", inward.index, w.arg.accumulate)
            w.invoke(
                SWEEP, m, columns, depth, a, a_row, a_col, b, *w.args("b_row b_panel"), c, w.arg.c_row, again
            )
            w.advance(inward, *inner)
        w.advance(across, w.arg.b_panel, g.panel_bytes)


def _left_block(w: Writer, g: Geometry, rows: Value, block: Value) -> tuple[Value, Value, Value]:
    """Pack a block of the left operand if asked; return its pointer and strides."""
    packed = w.arg.left
    with w.when(w.arg.pack_a):
        w.invoke(PACK, rows, w.arg.k, block, *w.args("a_row a_col"), packed, g.left_stride)
    return (
        w.select(w.arg.pack_a, packed, block),
        w.select(w.arg.pack_a, g.left_stride, w.arg.a_row),
        w.select(w.arg.pack_a, g.size, w.arg.a_col),
    )


def _even_depth(w: Writer, g: Geometry) -> Value:
    """The depth summed at once: few, about equal parts, and whole vectors for the transposing copies."""
    with w.replacing(w.compare("sgt", w.arg.k, g.depth), [w.arg.k]) as step:
        blocks = w.op("udiv", w.add(w.arg.k, g.depth - 1), g.depth)
        even = w.op("udiv", w.add(w.add(w.arg.k, blocks), -1), blocks)
        step.append(w.op("and", w.add(even, g.lanes - 1), -g.lanes))
    return step[0]


def _right_block(
    w: Writer, g: Geometry, depth: Value, columns: Value, block: Value, call: Call
) -> tuple[Value, Value, Value]:
    """Pack a block of the right operand if asked; return its pointer, row stride and panel stride."""
    count = w.op("udiv", w.add(columns, g.panel - 1), g.panel)
    with w.when(w.arg.pack_b):
        call(PANELS, count, (depth, columns, block, *w.args("b_row b_col"), w.arg.work))
    packed_panel = w.multiply(depth, g.panel_bytes)
    return (
        w.select(w.arg.pack_b, w.arg.work, block),
        w.select(w.arg.pack_b, g.panel_bytes, w.arg.b_row),
        w.select(w.arg.pack_b, packed_panel, g.panel_bytes),
    )
