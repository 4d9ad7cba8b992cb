"""The exported function: which path a product takes, and the loops over cache blocks.

Small products read their operands where they lie; large ones, and right operands whose columns are not adjacent,
are packed first.  Everything below the entry counts strides in bytes.
"""

from __future__ import annotations

from .geometry import Geometry
from .narrow import DOT_CASE, NARROW, TURNED_CASE
from .packing import PACK
from .text import Signature, Writer
from .tile import SWEEP
from .vector_product import VECTOR_CASE
from .vectors import prefix_mask, store

_CLEAR = Signature("clear", "i64 %m, i64 %n, ptr %c, i64 %c_row")
_BLOCKS = Signature(
    "blocks",
    "i64 %m, i64 %n, i64 %k, ptr %a, i64 %a_row, i64 %a_col, ptr %b, i64 %b_row, i64 %b_col, "
    "ptr %c, i64 %c_row, i64 %accumulate, ptr %work, i1 %pack_b, i1 %pack_a",
)


def driver_functions(g: Geometry, symbol: str) -> str:
    """The exported function and the loops it calls."""
    return _clear(g) + _blocks(g) + _entry(g, symbol)


def _clear(g: Geometry) -> str:
    """``C = 0``: the product over an empty depth."""
    w = Writer(_CLEAR)
    with w.loop("%m", 1, ("ptr", "%c")) as rows:
        with w.loop("%n", g.lanes, ("ptr", rows.carried[0])) as columns:
            mask = prefix_mask(w, w.subtract("%n", columns.index), g.lanes)
            store(w, g, "zeroinitializer", columns.carried[0], g.lanes, mask)
            columns.following.append(w.offset(columns.carried[0], g.lanes * g.size))
        rows.following.append(w.offset(rows.carried[0], "%c_row"))
    return w.text()


def _blocks(g: Geometry) -> str:
    """The product in blocks of depth, columns and rows, packing what the flags ask for."""
    w = Writer(_BLOCKS)
    packed_a = w.offset("%work", g.right_bytes)
    column_step = w.select("%pack_b", g.block_columns, "%n")
    row_step = w.select("%pack_a", g.block_rows, "%m")
    with w.loop("%n", column_step) as across:
        n = w.minimum(w.subtract("%n", across.index), column_step)
        b_columns = w.offset("%b", w.multiply("%b_col", across.index))
        c_columns = w.offset("%c", w.multiply(across.index, g.size))
        depth_step = _even_depth(w, g)
        with w.loop("%k", depth_step) as inward:
            depth = w.minimum(w.subtract("%k", inward.index), depth_step)
            b_block = w.offset(b_columns, w.multiply("%b_row", inward.index))
            again = w.let(f"or i64 {inward.index}, %accumulate")
            a_columns = w.offset("%a", w.multiply("%a_col", inward.index))
            b, b_row, b_panel = _right_block(w, g, depth, n, b_block)
            with w.loop("%m", row_step) as down:
                m = w.minimum(w.subtract("%m", down.index), row_step)
                a_block = w.offset(a_columns, w.multiply("%a_row", down.index))
                c_block = w.offset(c_columns, w.multiply("%c_row", down.index))
                with w.when("%pack_a"):
                    w.call(PACK, m, depth, a_block, "%a_row", "%a_col", packed_a, g.left_stride)
                a = w.select("%pack_a", packed_a, a_block, "ptr")
                a_row = w.select("%pack_a", g.left_stride, "%a_row")
                a_col = w.select("%pack_a", g.size, "%a_col")
                w.call(SWEEP, m, n, depth, a, a_row, a_col, b, b_row, b_panel, c_block, "%c_row", again)
    return w.text()


def _even_depth(w: Writer, g: Geometry) -> str:
    """The depth of one block: as few blocks as allowed, about equal, and whole vectors for the transposing copies."""
    with w.replacing(w.compare("sgt", "%k", g.depth), ["i64"], ["%k"]) as step:
        blocks = w.let(f"udiv i64 {w.add('%k', g.depth - 1)}, {g.depth}")
        even = w.let(f"udiv i64 {w.add(w.add('%k', blocks), -1)}, {blocks}")
        step.append(w.let(f"and i64 {w.add(even, g.lanes - 1)}, {-g.lanes}"))
    return step[0]


def _right_block(w: Writer, g: Geometry, depth: str, columns: str, block: str) -> tuple[str, str, str]:
    """Pack a block of the right operand if asked; return its pointer, row stride and panel stride."""
    packed_panel = w.multiply(depth, g.panel_bytes)
    panels = w.select("%pack_b", columns, 0)
    panel_step = w.multiply("%b_col", g.panel)
    with w.loop(panels, g.panel, ("ptr", block), ("ptr", "%work")) as panel:
        source, target = panel.carried
        width = w.minimum(w.subtract(panels, panel.index), g.panel)
        w.call(PACK, depth, width, source, "%b_row", "%b_col", target, g.panel_bytes)
        panel.following += [w.offset(source, panel_step), w.offset(target, packed_panel)]
    return (
        w.select("%pack_b", "%work", block, "ptr"),
        w.select("%pack_b", g.panel_bytes, "%b_row"),
        w.select("%pack_b", packed_panel, g.panel_bytes),
    )


def _entry(g: Geometry, symbol: str) -> str:
    """Validate sizes, turn strides into bytes, and pick the path."""
    w = Writer(
        f"void {symbol}(i64 %m, i64 %n, i64 %k, ptr %a, i64 %a_row.e, i64 %a_col.e, ptr %b, i64 %b_row.e, "
        "i64 %b_col.e, ptr %c, i64 %c_row.e, i64 %accumulate, ptr %work) nounwind #0"
    )
    with w.returning(w.either(w.compare("sle", "%m", 0), w.compare("sle", "%n", 0))):
        pass
    c_row = w.multiply("%c_row.e", g.size)
    with w.returning(w.compare("sle", "%k", 0)):
        with w.when(w.compare("eq", "%accumulate", 0)):
            w.call(_CLEAR, "%m", "%n", "%c", c_row)
    one_row, one_column, one_deep = (w.compare("eq", name, 1) for name in ("%m", "%n", "%k"))
    # A stride along an axis of length one is arbitrary: call it dense, so that it does not decide anything.
    a_row = _stride(w, g, "%a_row.e", one_row)
    a_col = _stride(w, g, "%a_col.e", one_deep)
    b_row = _stride(w, g, "%b_row.e", one_deep)
    b_col = _stride(w, g, "%b_col.e", one_column)
    rest = c_row, "%accumulate", "%work"
    with w.when(one_column):
        with w.returning(w.call(VECTOR_CASE, "%m", "%k", "%a", a_row, a_col, "%b", b_row, "%c", *rest)):
            pass
    with w.when(one_row):
        strides = b_col, b_row
        with w.returning(w.call(VECTOR_CASE, "%n", "%k", "%b", *strides, "%a", a_col, "%c", g.size, *rest[1:])):
            pass
    by_dots, turned = _narrow_choice(w, g, a_row, a_col, b_row)
    with w.returning(by_dots):
        w.call(DOT_CASE, "%m", "%n", "%k", "%a", a_row, "%b", b_row, b_col, "%c", *rest)
    with w.returning(turned):
        w.call(TURNED_CASE, "%m", "%n", "%k", "%a", a_col, "%b", b_row, b_col, "%c", *rest)
    pack_b, pack_a = _packing_choice(w, g, a_row, a_col, b_col)
    w.call(_BLOCKS, "%m", "%n", "%k", "%a", a_row, a_col, "%b", b_row, b_col, "%c", *rest, pack_b, pack_a)
    return w.text()


def _narrow_choice(w: Writer, g: Geometry, a_row: str, a_col: str, b_row: str) -> tuple[str, str]:
    """Whether to use dot products, and whether to transpose the product, judged by the lanes that would idle."""
    narrow = w.compare("sle", "%n", NARROW)
    used = w.let(f"and i64 {w.add('%n', 1)}, -2")
    unit = g.widths[-1][0]
    padded = w.let(f"and i64 {w.add('%n', unit - 1)}, {-unit}")
    # A horizontal sum costs about as much as multiplying another few vectors of depth.
    dot_cost = w.multiply(used, w.add("%k", 3 * g.lanes))
    fewer = w.both(narrow, w.compare("slt", dot_cost, w.multiply(padded, "%k")))
    few_rows = w.both(w.compare("eq", b_row, g.size), w.compare("sle", "%m", 8))
    long_depth = w.both(w.compare("eq", a_col, g.size), w.compare("sge", "%k", 4 * g.lanes))
    by_dots = w.both(long_depth, w.either(fewer, few_rows))
    many_rows = w.both(w.compare("eq", a_row, g.size), w.compare("sge", "%m", g.panel))
    turned = w.both(w.both(many_rows, narrow), w.compare("slt", used, padded))
    return by_dots, turned


def _stride(w: Writer, g: Geometry, elements: str, single: str) -> str:
    return w.select(single, g.size, w.multiply(elements, g.size))


def _packing_choice(w: Writer, g: Geometry, a_row: str, a_col: str, b_col: str) -> tuple[str, str]:
    """Whether copying each operand pays: it is read often enough, and is too large to be read in place."""
    scattered = w.compare("ne", b_col, g.size)
    right_large = w.both(w.compare("sgt", w.multiply("%n", "%k"), 32768), w.compare("sgt", "%m", 64))
    pack_b = w.either(scattered, right_large)
    dense = w.either(w.compare("eq", a_row, g.size), w.compare("eq", a_col, g.size))
    left_large = w.both(w.compare("sgt", w.multiply("%m", "%k"), 32768), w.compare("sgt", "%n", 2 * g.panel))
    return pack_b, w.both(dense, left_large)
