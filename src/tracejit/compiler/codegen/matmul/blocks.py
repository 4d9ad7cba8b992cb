"""The product in cache blocks: any sizes, any strides, packed operands where the caller asks for them.

Blocks of the depth are also what keeps rounding small: each is summed by itself before it is added to the
result. Strides are in bytes.
"""

from __future__ import annotations

from ...ir_text import Value
from .counted_loops import Signature, Writer
from .geometry import Geometry
from .packing import PACK
from .tile import SWEEP

BLOCKS = Signature(
    "blocks",
    "i64 %m, i64 %n, i64 %k, ptr %a, i64 %a_row, i64 %a_col, ptr %b, i64 %b_row, i64 %b_col, "
    "ptr %c, i64 %c_row, i64 %accumulate, ptr %work, i1 %pack_b, i1 %pack_a",
)


def block_functions(g: Geometry) -> str:
    """The product in blocks of columns, depth and rows, packing what the flags ask for."""
    w = Writer(BLOCKS)
    n_step = w.select(w.arg.pack_b, g.block_columns, w.arg.n)
    k_step = w.select(w.either(w.arg.pack_b, w.arg.pack_a), g.block_depth, w.arg.k)
    m_step = w.select(w.arg.pack_a, g.block_rows, 4 * g.block_rows)
    depth_step = _even_depth(w, g)
    with w.loop(w.arg.n, n_step) as across:
        n = w.minimum(w.subtract(w.arg.n, across.index), n_step)
        b_columns = w.offset(w.arg.b, w.multiply(w.arg.b_col, across.index))
        c_columns = w.offset(w.arg.c, w.multiply(across.index, g.size))
        with w.loop(w.arg.k, k_step) as inward:
            k = w.minimum(w.subtract(w.arg.k, inward.index), k_step)
            b_block = w.offset(b_columns, w.multiply(w.arg.b_row, inward.index))
            again = w.op("or", inward.index, w.arg.accumulate)
            a_columns = w.offset(w.arg.a, w.multiply(w.arg.a_col, inward.index))
            right = _right_block(w, g, k, n, b_block)
            with w.loop(w.arg.m, m_step) as down:
                m = w.minimum(w.subtract(w.arg.m, down.index), m_step)
                a_block = w.offset(a_columns, w.multiply(w.arg.a_row, down.index))
                c_block = w.offset(c_columns, w.multiply(w.arg.c_row, down.index))
                _sum_depth(w, g, (m, n, k, depth_step), a_block, right, c_block, again)
    return w.text()


def _sum_depth(
    w: Writer,
    g: Geometry,
    sizes: tuple[Value, Value, Value, Value],
    a: Value,
    right: tuple[Value, Value, Value],
    c: Value,
    accumulate: Value,
) -> None:
    """Write the products of one block of the result; it stays in the second cache while they are added up."""
    (m, n, k, step), (b, b_row, b_panel) = sizes, right
    with w.loop(k, step, a, b) as inward:
        a, b = inward.carried
        depth = w.minimum(w.subtract(k, inward.index), step)
        again = w.op("or", inward.index, accumulate)
        left = _left_block(w, g, m, depth, a)
        w.invoke(SWEEP, m, n, depth, *left, b, b_row, b_panel, c, w.arg.c_row, again)
        inward.following += [w.offset(a, w.multiply(w.arg.a_col, step)), w.offset(b, w.multiply(b_row, step))]


def _left_block(
    w: Writer, g: Geometry, rows: Value, depth: Value, block: Value
) -> tuple[Value, Value, Value]:
    """Pack a block of the left operand if asked; return its pointer and strides."""
    packed = w.offset(w.arg.work, g.right_bytes)
    with w.when(w.arg.pack_a):
        w.invoke(PACK, rows, depth, block, *w.args("a_row a_col"), packed, g.left_stride)
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
    w: Writer, g: Geometry, depth: Value, columns: Value, block: Value
) -> tuple[Value, Value, Value]:
    """Pack a block of the right operand if asked; return its pointer, row stride and panel stride."""
    packed_panel = w.multiply(depth, g.panel_bytes)
    panels = w.select(w.arg.pack_b, columns, 0)
    panel_step = w.multiply(w.arg.b_col, g.panel)
    with w.loop(panels, g.panel, block, w.arg.work) as panel:
        source, target = panel.carried
        width = w.minimum(w.subtract(panels, panel.index), g.panel)
        w.invoke(PACK, depth, width, source, *w.args("b_row b_col"), target, g.panel_bytes)
        w.advance(panel, panel_step, packed_panel)
    return (
        w.select(w.arg.pack_b, w.arg.work, block),
        w.select(w.arg.pack_b, g.panel_bytes, w.arg.b_row),
        w.select(w.arg.pack_b, packed_panel, g.panel_bytes),
    )
