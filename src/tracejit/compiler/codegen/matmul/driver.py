"""The exported function: checks sizes, and chooses the path a product takes by its shape and strides.

Everything that could be called a heuristic is here; the paths themselves are right for any sizes.
"""

from __future__ import annotations

from ...ir_text import NULL, TRUE, Value
from .blocks import BLOCKS
from .counted_loops import Signature, Writer
from .deep import DEEP, is_deep
from .geometry import Geometry
from .narrow import DOT_CASE, NARROW, TURNED_CASE
from .packing import COPY_SCALARS
from .shared import LEAST, SHARED, picoseconds
from .tile import SWEEP
from .vector_product import VECTOR_CASE


def entry_function(g: Geometry, symbol: str, shares: bool) -> str:
    """The function of the module's interface; it turns strides of elements into strides of bytes."""
    parameters = (
        "i64 %m, i64 %n, i64 %k, ptr %a, i64 %a_row_elements, i64 %a_col_elements, ptr %b, i64 %b_row_elements, "
        "i64 %b_col_elements, ptr %c, i64 %c_row_elements, i64 %accumulate, ptr %work, ptr %parallel"
    )
    w = Writer(Signature(symbol, parameters, linkage="", attributes="nounwind #0"))
    with w.returning(w.either(w.compare("sle", w.arg.m, 0), w.compare("sle", w.arg.n, 0))):
        pass
    c_row = w.multiply(w.arg.c_row_elements, g.size)
    with w.returning(w.compare("sle", w.arg.k, 0)):
        with w.when(w.compare("eq", w.arg.accumulate, 0)):
            w.store(Value("0.0", g.scalar), w.arg.work, g.size)
            w.invoke(COPY_SCALARS, *w.args("m n work"), 0, 0, w.arg.c, c_row)
    one_row, one_column, one_deep = (w.compare("eq", name, 1) for name in (w.arg.m, w.arg.n, w.arg.k))
    # A stride along an axis of length one is arbitrary: call it dense, so that it does not decide anything.
    a_row = _stride(w, g, w.arg.a_row_elements, one_row)
    a_col = _stride(w, g, w.arg.a_col_elements, one_deep)
    b_row = _stride(w, g, w.arg.b_row_elements, one_deep)
    b_col = _stride(w, g, w.arg.b_col_elements, one_column)
    rest = c_row, w.arg.accumulate, w.arg.work
    with w.when(one_column):
        with w.returning(
            w.invoke(VECTOR_CASE, *w.args("m k a"), a_row, a_col, w.arg.b, b_row, w.arg.c, *rest)
        ):
            pass
    with w.when(one_row):
        strides = b_col, b_row
        with w.returning(
            w.invoke(VECTOR_CASE, *w.args("n k b"), *strides, w.arg.a, a_col, w.arg.c, g.size, *rest[1:])
        ):
            pass
    by_dots, turned = _narrow_choice(w, g, a_row, a_col, b_row)
    with w.returning(by_dots):
        w.invoke(DOT_CASE, *w.args("m n k a"), a_row, w.arg.b, b_row, b_col, w.arg.c, *rest)
    with w.returning(turned):
        w.invoke(TURNED_CASE, *w.args("m n k a"), a_col, w.arg.b, b_row, b_col, w.arg.c, *rest)
    pack_b, pack_a = _packing_choice(w, g, a_row, a_col, b_col)
    with w.returning(_is_one_block(w, g, pack_b, pack_a)):
        operands = a_row, a_col, w.arg.b, b_row, g.panel_bytes, w.arg.c, c_row, w.arg.accumulate
        w.invoke(SWEEP, *w.args("m n k a"), *operands)
    operands = *w.args("m n k a"), a_row, a_col, w.arg.b, b_row, b_col, w.arg.c, *rest, pack_b, pack_a
    work = w.multiply(w.multiply(w.multiply(w.arg.m, w.arg.n), w.arg.k), picoseconds(g))
    with w.returning(is_deep(w, g, work)):
        w.invoke(DEEP, *operands, w.arg.parallel)
    if shares:
        on_threads = w.both(w.compare("sge", work, LEAST), w.compare("ne", w.arg.parallel, NULL))
        with w.returning(on_threads):
            w.invoke(SHARED, *operands, w.arg.parallel)
    w.invoke(BLOCKS, *operands)
    return w.text()


def _narrow_choice(w: Writer, g: Geometry, a_row: Value, a_col: Value, b_row: Value) -> tuple[Value, Value]:
    """Whether to use dot products, and whether to transpose the product, judged by idle lanes."""
    narrow = w.compare("sle", w.arg.n, NARROW)
    used = w.op("and", w.add(w.arg.n, 1), -2)
    # Half a vector costs a tile as much as a whole one.
    padded = w.op("and", w.add(w.arg.n, g.lanes - 1), -g.lanes)
    # A horizontal sum costs about as much as multiplying another few vectors of depth.
    dot_cost = w.multiply(used, w.add(w.arg.k, 3 * g.lanes))
    fewer = w.both(narrow, w.compare("slt", dot_cost, w.multiply(padded, w.arg.k)))
    few_rows = w.both(w.compare("eq", b_row, g.size), w.compare("sle", w.arg.m, 32))
    long_depth = w.both(w.compare("eq", a_col, g.size), w.compare("sge", w.arg.k, 4 * g.lanes))
    by_dots = w.both(long_depth, w.either(fewer, few_rows))
    many_rows = w.both(w.compare("eq", a_row, g.size), w.compare("sge", w.arg.m, g.panel))
    turned = w.both(w.both(many_rows, narrow), w.compare("slt", used, padded))
    return by_dots, turned


def _is_one_block(w: Writer, g: Geometry, pack_b: Value, pack_a: Value) -> Value:
    """Whether there is nothing to divide: small products take nanoseconds, and so would the loops over blocks."""
    short = w.both(w.compare("sle", w.arg.m, g.unpacked_rows), w.compare("sle", w.arg.k, g.depth))
    return w.both(short, w.op("xor", w.either(pack_b, pack_a), TRUE))


def _stride(w: Writer, g: Geometry, elements: Value, single: Value) -> Value:
    return w.select(single, g.size, w.multiply(elements, g.size))


def _packing_choice(w: Writer, g: Geometry, a_row: Value, a_col: Value, b_col: Value) -> tuple[Value, Value]:
    """Whether copying each operand pays: it is read often enough, and is too large to be read in place."""
    scattered = w.compare("ne", b_col, g.size)
    right_large = w.both(w.compare("sgt", w.multiply(w.arg.n, w.arg.k), 32768), w.compare("sge", w.arg.m, 64))
    pack_b = w.either(scattered, right_large)
    dense = w.either(w.compare("eq", a_row, g.size), w.compare("eq", a_col, g.size))
    left_large = w.both(
        w.compare("sgt", w.multiply(w.arg.m, w.arg.k), 32768), w.compare("sgt", w.arg.n, g.unpacked_columns)
    )
    return pack_b, w.both(dense, left_large)
