"""Small results of long sums: the depth is divided among threads, and what the parts give is added up in order.

The gradient of a layer's weights is such a product: it has few rows and columns to share, and sums over all samples.
How it is divided depends on sizes alone, and code without a pool goes through the same parts, so that sums are the same
on any number of threads, bit by bit.
"""

from __future__ import annotations

from ...ir_text import NULL, TRUE, Value, integer
from .blocks import BLOCKS
from .counted_loops import Operand, Signature, Writer
from .geometry import Geometry
from .shared import (
    FEW_ROWS,
    LEAST,
    closure_memory,
    hand_over,
    opened_job,
    own_memory,
    picoseconds,
)
from .vectors import load, prefix_mask

DEEP = Signature("deep", f"{BLOCKS.parameters}, ptr %parallel", directs=True)
#: Products of parts `first` to `last` of the depth, each of `step`, into tables one behind the other.
PARTS = Signature(
    "parts", f"i64 %first, i64 %last, {BLOCKS.parameters}, i64 %step, ptr %tables", directs=True
)
FOLD = Signature(
    "fold", "i64 %m, i64 %n, ptr %tables, i64 %count, i64 %table, ptr %c, i64 %c_row, i64 %accumulate"
)
MOST_PARTS, FEWEST_PARTS = 16, 4
MOST_PANELS = 8
"""Panels of columns, at the most: many more are shared better by columns."""


def is_deep(w: Writer, g: Geometry, work: Value) -> Value:
    """Is the sum long, and its result too small to be shared by rows or by columns?"""
    few = w.both(w.compare("sle", w.arg.m, FEW_ROWS), w.compare("sle", w.arg.n, MOST_PANELS * g.panel))
    fits = w.compare("sle", w.multiply(_table(w, g), FEWEST_PARTS), _room(w, g))
    long = w.compare("sge", w.arg.k, FEWEST_PARTS * g.block_depth)
    return w.both(w.both(few, fits), w.both(long, w.compare("sge", work, LEAST)))


def _table(w: Writer, g: Geometry) -> Value:
    """Bytes of what one part gives."""
    return w.multiply(w.op("mul", w.arg.m, w.arg.n), g.size)


def _packed(w: Writer, g: Geometry) -> Value:
    """Bytes of the workspace that products of so few columns use at its start."""
    return w.multiply(_covering(w, w.arg.n, g.panel), g.block_depth * g.panel_bytes)


def _room(w: Writer, g: Geometry) -> Value:
    """Bytes behind them, for tables."""
    return w.subtract(g.deep_bytes, _packed(w, g))


def _covering(w: Writer, size: Value, step: Operand) -> Value:
    """How many steps cover a size."""
    return w.op("udiv", w.subtract(w.add(size, step), 1), step)


def deep_functions(g: Geometry, shares: bool) -> str:
    """The product part by part, and with threads the job that parts are."""
    return _parts(g) + _fold(g) + _deep(g, shares) + (_parts_job() if shares else "")


def _deep(g: Geometry, shares: bool) -> str:
    w = Writer(DEEP)
    most = w.minimum(w.op("udiv", _room(w, g), _table(w, g)), MOST_PARTS)
    even = w.multiply(_covering(w, _covering(w, w.arg.k, most), g.depth), g.depth)
    step = w.select(w.compare("sgt", even, g.block_depth), even, g.block_depth)
    count = _covering(w, w.arg.k, step)
    tables = w.offset(w.arg.work, _packed(w, g))
    rest = [*w.args(" ".join(BLOCKS.values)), step, tables]
    alone = w.compare("eq", w.arg.parallel, NULL) if shares else TRUE
    with w.when(alone):
        w.invoke(PARTS, 0, count, *rest)
    if shares:
        with w.when(alone, unless=True):
            columns = w.multiply(_covering(w, w.arg.n, g.panel), g.panel)  # idle lanes take as long
            cost = w.multiply(w.multiply(w.multiply(w.arg.m, columns), step), picoseconds(g))
            hand_over(w, closure_memory(w), PARTS.name, rest, count, 1, cost)
    w.invoke(FOLD, *w.args("m n"), tables, count, _table(w, g), *w.args("c c_row accumulate"))
    return w.text()


def _parts(g: Geometry) -> str:
    w = Writer(PARTS)
    table = _table(w, g)
    given = {name: w.signature.values[name] for name in BLOCKS.values}
    given["c_row"], given["accumulate"] = w.multiply(w.arg.n, g.size), integer(0)
    with w.loop(w.subtract(w.arg.last, w.arg.first)) as loop:
        number = w.add(w.arg.first, loop.index)
        start = w.multiply(number, w.arg.step)
        given["k"] = w.minimum(w.subtract(w.arg.k, start), w.arg.step)
        given["a"] = w.offset(w.arg.a, w.multiply(w.arg.a_col, start))
        given["b"] = w.offset(w.arg.b, w.multiply(w.arg.b_row, start))
        given["c"] = w.offset(w.arg.tables, w.multiply(table, number))
        w.invoke(BLOCKS, *given.values())
    return w.text()


def _parts_job() -> str:
    """What the pool calls: some parts, in memory of the thread's own; tables are the caller's."""
    w, values = opened_job(PARTS.name, list(PARTS.values.values())[2:])
    place = list(BLOCKS.values).index("work")
    values[place] = own_memory(w, values[place])
    w.invoke(PARTS, w.arg.begin, w.arg.end, *values)
    return w.text()


def _fold(g: Geometry) -> str:
    """``c[i, j] (+)= tables[0, i, j] + tables[1, i, j] + ...``; there are two tables or more."""
    w = Writer(FOLD, g.settled)
    row, vector = w.multiply(w.arg.n, g.size), g.lanes * g.size
    with w.loop(w.arg.m, 1, w.arg.tables, w.arg.c) as down:
        with w.loop(w.arg.n, g.lanes, *down.carried) as across:
            first, target = across.carried
            mask = prefix_mask(w, w.subtract(w.arg.n, across.index), g.lanes)
            carried = w.offset(first, w.arg.table), load(w, g, first, g.lanes, mask)
            with w.loop(w.subtract(w.arg.count, 1), 1, *carried) as inward:
                table, total = inward.carried
                more = w.op("fadd", total, load(w, g, table, g.lanes, mask))
                inward.following += [w.offset(table, w.arg.table), more]
            total = inward.carried[1]
            with w.replacing(w.compare("ne", w.arg.accumulate, 0), [total]) as result:
                result.append(w.op("fadd", load(w, g, target, g.lanes, mask), total))
            w.store(result[0], target, g.size, mask)
            w.advance(across, vector, vector)
        w.advance(down, row, w.arg.c_row)
    return w.text()
