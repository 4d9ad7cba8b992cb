"""The exported function: which path a product takes, and the loops over cache blocks.

Small products read their operands where they lie; large ones, and right operands whose columns are not adjacent,
are packed first.  Everything below the entry counts strides in bytes.
"""

from __future__ import annotations

from .geometry import Geometry
from .text import Writer
from .tile import strip_name
from .vectors import prefix_mask, store

_SWEEP = "i64 %m, i64 %n, i64 %depth, ptr %a, i64 %a_row, i64 %a_col, ptr %b, i64 %b_row, i64 %b_panel"
_PRODUCT = "i64 %m, i64 %n, i64 %k, ptr %a, i64 %a_row, i64 %a_col, ptr %b, i64 %b_row, i64 %b_col"


def driver_functions(g: Geometry, symbol: str) -> str:
    """The exported function and the loops it calls."""
    return _clear(g) + _sweep(g) + _blocks(g) + _vector_case(g) + _entry(g, symbol)


def _clear(g: Geometry) -> str:
    """``C = 0``: the product over an empty depth."""
    w = Writer("internal fastcc void @clear(i64 %m, i64 %n, ptr %c, i64 %c_row) noinline nounwind #0")
    with w.loop("%m", 1, ("ptr", "%c")) as rows:
        with w.loop("%n", g.lanes, ("ptr", rows.carried[0])) as columns:
            mask = prefix_mask(w, w.subtract("%n", columns.index), g.lanes)
            store(w, g, "zeroinitializer", columns.carried[0], g.lanes, mask)
            columns.following.append(w.offset(columns.carried[0], g.lanes * g.size))
        rows.following.append(w.offset(rows.carried[0], "%c_row"))
    return w.text()


def _sweep(g: Geometry) -> str:
    """All strips of one block: the right operand's strip stays in the first cache while the left one streams by."""
    w = Writer(
        f"internal fastcc void @sweep({_SWEEP}, ptr %c, i64 %c_row, i64 %accumulate) noinline nounwind #0"
    )
    with w.loop("%n", g.panel, ("ptr", "%b"), ("ptr", "%c")) as strip:
        b, c = strip.carried
        columns = w.minimum(w.subtract("%n", strip.index), g.panel)
        narrower = [*(sum(pieces) for pieces in g.widths[1:]), 0]
        for pieces, limit in zip(g.widths, narrower, strict=True):
            fits = w.both(w.compare("sgt", columns, limit), w.compare("sle", columns, sum(pieces)))
            with w.when(fits):
                w.do(
                    f"call fastcc void {strip_name(pieces)}(i64 %m, i64 %depth, ptr %a, i64 %a_row, i64 %a_col, "
                    f"ptr {b}, i64 %b_row, ptr {c}, i64 %c_row, i64 {columns}, i64 %accumulate)"
                )
        strip.following += [w.offset(b, "%b_panel"), w.offset(c, g.panel_bytes)]
    return w.text()


def _blocks(g: Geometry) -> str:
    """The product in blocks of depth, columns and rows, packing what the flags ask for."""
    w = Writer(
        f"internal fastcc void @blocks({_PRODUCT}, ptr %c, i64 %c_row, i64 %accumulate, ptr %work, "
        "i1 %pack_b, i1 %pack_a) noinline nounwind #0"
    )
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
                    w.do(
                        f"call fastcc void @pack_left(i64 {m}, i64 {depth}, ptr {a_block}, i64 %a_row, i64 %a_col, "
                        f"ptr {packed_a})"
                    )
                a = w.select("%pack_a", packed_a, a_block, "ptr")
                a_row = w.select("%pack_a", g.left_stride, "%a_row")
                a_col = w.select("%pack_a", g.size, "%a_col")
                w.do(
                    f"call fastcc void @sweep(i64 {m}, i64 {n}, i64 {depth}, ptr {a}, i64 {a_row}, i64 {a_col}, "
                    f"ptr {b}, i64 {b_row}, i64 {b_panel}, ptr {c_block}, i64 %c_row, i64 {again})"
                )
    return w.text()


def _even_depth(w: Writer, g: Geometry) -> str:
    """The depth of one block: as few blocks as allowed, of equal depth rather than full ones and a short rest."""
    with w.replacing(w.compare("sgt", "%k", g.depth), ["i64"], ["%k"]) as step:
        blocks = w.let(f"udiv i64 {w.add('%k', g.depth - 1)}, {g.depth}")
        step.append(w.let(f"udiv i64 {w.add(w.add('%k', blocks), -1)}, {blocks}"))
    return step[0]


def _right_block(w: Writer, g: Geometry, depth: str, columns: str, block: str) -> tuple[str, str, str]:
    """Pack a block of the right operand if asked; return its pointer, row stride and panel stride."""
    packed_panel = w.multiply(depth, g.panel_bytes)
    panels = w.select("%pack_b", columns, 0)
    panel_step = w.multiply("%b_col", g.panel)
    with w.loop(panels, g.panel, ("ptr", block), ("ptr", "%work")) as panel:
        source, target = panel.carried
        width = w.minimum(w.subtract(panels, panel.index), g.panel)
        w.do(
            f"call fastcc void @pack_panel(i64 {depth}, i64 {width}, ptr {source}, i64 %b_row, i64 %b_col, "
            f"ptr {target})"
        )
        panel.following += [w.offset(source, panel_step), w.offset(target, packed_panel)]
    return (
        w.select("%pack_b", "%work", block, "ptr"),
        w.select("%pack_b", g.panel_bytes, "%b_row"),
        w.select("%pack_b", packed_panel, g.panel_bytes),
    )


def _vector_case(g: Geometry) -> str:
    """A product with a vector; returns whether the strides allowed one of the direct loops."""
    w = Writer(
        "internal fastcc i1 @vector_case(i64 %n, i64 %k, ptr %matrix, i64 %across, i64 %along, ptr %vector, "
        "i64 %vector_step, ptr %out, i64 %out_step, i64 %accumulate, ptr %work) noinline nounwind #0"
    )
    with w.returning(w.compare("eq", "%along", g.size), "i1 true"):
        dense = w.compare("eq", "%vector_step", g.size)
        step = w.select(dense, "%k", g.workspace // g.size)
        with w.loop("%k", step) as inward:
            depth = w.minimum(w.subtract("%k", inward.index), step)
            part = w.offset("%vector", w.multiply("%vector_step", inward.index))
            with w.when(w.let(f"xor i1 {dense}, true")):
                w.do(
                    f"call fastcc void @copy_scalars(i64 1, i64 {depth}, ptr {part}, i64 0, i64 %vector_step, "
                    "ptr %work, i64 0)"
                )
            vector = w.select(dense, part, "%work", "ptr")
            again = w.let(f"or i64 {inward.index}, %accumulate")
            matrix = w.offset("%matrix", w.multiply(inward.index, g.size))
            w.do(
                f"call fastcc void @dot_rows(i64 %n, i64 {depth}, ptr {matrix}, i64 %across, ptr {vector}, ptr %out, "
                f"i64 %out_step, i64 {again})"
            )
    adjacent = w.both(w.compare("eq", "%across", g.size), w.compare("eq", "%out_step", g.size))
    with w.returning(adjacent, "i1 true"):
        w.do(
            "call fastcc void @combine_rows(i64 %n, i64 %k, ptr %matrix, i64 %along, ptr %vector, "
            "i64 %vector_step, ptr %out, i64 %accumulate)"
        )
    return w.text("i1 false")


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
            w.do(f"call fastcc void @clear(i64 %m, i64 %n, ptr %c, i64 {c_row})")
    one_row, one_column, one_deep = (w.compare("eq", name, 1) for name in ("%m", "%n", "%k"))
    # A stride along an axis of length one is arbitrary: call it dense, so that it does not decide anything.
    a_row = _stride(w, g, "%a_row.e", one_row)
    a_col = _stride(w, g, "%a_col.e", one_deep)
    b_row = _stride(w, g, "%b_row.e", one_deep)
    b_col = _stride(w, g, "%b_col.e", one_column)
    with w.when(one_column):
        done = w.let(
            f"call fastcc i1 @vector_case(i64 %m, i64 %k, ptr %a, i64 {a_row}, i64 {a_col}, ptr %b, i64 {b_row}, "
            f"ptr %c, i64 {c_row}, i64 %accumulate, ptr %work)"
        )
        with w.returning(done):
            pass
    with w.when(one_row):
        done = w.let(
            f"call fastcc i1 @vector_case(i64 %n, i64 %k, ptr %b, i64 {b_col}, i64 {b_row}, ptr %a, i64 {a_col}, "
            f"ptr %c, i64 {g.size}, i64 %accumulate, ptr %work)"
        )
        with w.returning(done):
            pass
    pack_b, pack_a = _packing_choice(w, g, a_row, a_col, b_col)
    w.do(
        f"call fastcc void @blocks(i64 %m, i64 %n, i64 %k, ptr %a, i64 {a_row}, i64 {a_col}, ptr %b, i64 {b_row}, "
        f"i64 {b_col}, ptr %c, i64 {c_row}, i64 %accumulate, ptr %work, i1 {pack_b}, i1 {pack_a})"
    )
    return w.text()


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
