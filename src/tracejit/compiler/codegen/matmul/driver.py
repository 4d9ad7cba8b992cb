"""The exported function: checks sizes, and chooses the path a product takes by its shape and strides.

Everything that could be called a heuristic is here; the paths themselves are right for any sizes.
"""

from __future__ import annotations

from .blocks import BLOCKS
from .counted_loops import Writer
from .geometry import Geometry
from .narrow import DOT_CASE, NARROW, TURNED_CASE
from .packing import COPY_SCALARS
from .vector_product import VECTOR_CASE
from .vectors import store_scalar


def entry_function(g: Geometry, symbol: str) -> str:
    """The function of the module's interface; it turns strides of elements into strides of bytes."""
    w = Writer(
        f"void {symbol}(i64 %m, i64 %n, i64 %k, ptr %a, i64 %a_row.e, i64 %a_col.e, ptr %b, i64 %b_row.e, "
        "i64 %b_col.e, ptr %c, i64 %c_row.e, i64 %accumulate, ptr %work) nounwind #0"
    )
    with w.returning(w.either(w.compare("sle", "%m", 0), w.compare("sle", "%n", 0))):
        pass
    c_row = w.multiply("%c_row.e", g.size)
    with w.returning(w.compare("sle", "%k", 0)):
        with w.when(w.compare("eq", "%accumulate", 0)):
            store_scalar(w, g, "0.0", "%work")
            w.call(COPY_SCALARS, "%m", "%n", "%work", 0, 0, "%c", c_row)
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
        with w.returning(
            w.call(VECTOR_CASE, "%n", "%k", "%b", *strides, "%a", a_col, "%c", g.size, *rest[1:])
        ):
            pass
    by_dots, turned = _narrow_choice(w, g, a_row, a_col, b_row)
    with w.returning(by_dots):
        w.call(DOT_CASE, "%m", "%n", "%k", "%a", a_row, "%b", b_row, b_col, "%c", *rest)
    with w.returning(turned):
        w.call(TURNED_CASE, "%m", "%n", "%k", "%a", a_col, "%b", b_row, b_col, "%c", *rest)
    pack_b, pack_a = _packing_choice(w, g, a_row, a_col, b_col)
    w.call(BLOCKS, "%m", "%n", "%k", "%a", a_row, a_col, "%b", b_row, b_col, "%c", *rest, pack_b, pack_a)
    return w.text()


def _narrow_choice(w: Writer, g: Geometry, a_row: str, a_col: str, b_row: str) -> tuple[str, str]:
    """Whether to use dot products, and whether to transpose the product, judged by idle lanes."""
    narrow = w.compare("sle", "%n", NARROW)
    used = w.let(f"and i64 {w.add('%n', 1)}, -2")
    unit = g.widths[-1][0]
    padded = w.let(f"and i64 {w.add('%n', unit - 1)}, {-unit}")
    # A horizontal sum costs about as much as multiplying another few vectors of depth.
    dot_cost = w.multiply(used, w.add("%k", 3 * g.lanes))
    fewer = w.both(narrow, w.compare("slt", dot_cost, w.multiply(padded, "%k")))
    few_rows = w.both(w.compare("eq", b_row, g.size), w.compare("sle", "%m", 32))
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
    right_large = w.both(w.compare("sgt", w.multiply("%n", "%k"), 32768), w.compare("sge", "%m", 64))
    pack_b = w.either(scattered, right_large)
    dense = w.either(w.compare("eq", a_row, g.size), w.compare("eq", a_col, g.size))
    left_large = w.both(w.compare("sgt", w.multiply("%m", "%k"), 32768), w.compare("sgt", "%n", 2 * g.panel))
    return pack_b, w.both(dense, left_large)
