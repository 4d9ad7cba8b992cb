"""Register tiles of dot products: few columns, with the depth running along the vectors.

A result of ten columns would fill five eighths of a vector; here every lane works whatever the width. The
price is a horizontal sum for each element of the result, so the depth must be long. Both operands have
adjacent depth. Strides are in bytes.
"""

from __future__ import annotations

from ...ir_text import Value
from .counted_loops import Operand, Signature, Writer
from .geometry import Geometry
from .vectors import distance, exchange, fold, load, multiply_add, prefetch, prefix_mask

DOT_TILES = Signature(
    "dot_tiles",
    "i64 %m, i64 %n, i64 %k, ptr %a, i64 %a_row, ptr %b, i64 %b_col, ptr %c, i64 %c_row, i64 %accumulate",
)

_ROWS = 4


def dot_tile_functions(g: Geometry) -> str:
    """``C[i, j] (+)= sum_k A[i, k] * B[j, k]``, B given by columns; the depth is whole vectors without masks."""
    w = Writer(DOT_TILES, g.settled)
    ahead = distance(w, w.arg.a_row, _ROWS)
    with w.loop(w.arg.m, _ROWS) as down:
        last = w.subtract(w.arg.m, 1)
        numbers = [w.minimum(w.add(down.index, row), last) for row in range(_ROWS)]
        rows = [w.offset(w.arg.a, w.multiply(w.arg.a_row, number)) for number in numbers]
        targets = [w.offset(w.arg.c, w.multiply(w.arg.c_row, number)) for number in numbers]
        done: Operand = 0
        for columns in (4, 2) if g.lanes >= 4 else (2,):
            done = _column_loop(w, g, rows, targets, done, columns, ahead)
    return w.text()


def _column_loop(
    w: Writer,
    g: Geometry,
    rows: list[Value],
    targets: list[Value],
    done: Operand,
    columns: int,
    ahead: Value,
) -> Value:
    """Write tiles of so many columns from column `done` on; return where they end."""
    left = w.subtract(w.arg.n, done)
    ragged = columns == 2
    count = left if ragged else w.op("and", left, -columns)
    with w.loop(count, columns) as across:
        column = w.add(across.index, done)
        last = w.subtract(w.arg.n, 1)
        numbers = [w.minimum(w.add(column, extra), last) for extra in range(columns)]
        sources = [w.offset(w.arg.b, w.multiply(w.arg.b_col, number)) for number in numbers]
        sums = _sum_products(w, g, rows, sources, ahead)
        parts = [_add_lanes(w, sums[row * columns : (row + 1) * columns]) for row in range(len(rows))]
        places = [[w.offset(target, w.multiply(number, g.size)) for number in numbers] for target in targets]
        _write_back(w, g, parts, places, columns)
    return w.add(done, count)


def _sum_products(
    w: Writer, g: Geometry, rows: list[Value], columns: list[Value], ahead: Value
) -> list[Value]:
    """Write the loop along the depth; return one vector of partial sums for each element of the tile."""
    starts = rows + columns
    zeros = [g.zeros(g.lanes)] * (len(rows) * len(columns))
    across = w.select(w.compare("ne", ahead, 0), g.lanes * g.size * len(rows), g.lanes * g.size)
    with w.loop(w.arg.k, g.lanes, w.offset(rows[0], ahead), *starts, *zeros) as along:
        pointers, sums = along.carried[1 : len(starts) + 1], along.carried[len(starts) + 1 :]
        w.advance(along, across, *[g.lanes * g.size] * len(pointers))
        prefetch(w, along.carried[0], g.lanes * g.size * len(rows))  # in the order of memory
        mask = prefix_mask(w, w.subtract(w.arg.k, along.index), g.lanes) if g.masks else None
        values = [load(w, g, pointer, g.lanes, mask) for pointer in pointers]
        pairs = [(x, y) for x in values[: len(rows)] for y in values[len(rows) :]]
        along.following += [
            multiply_add(w, g, x, y, total) for (x, y), total in zip(pairs, sums, strict=True)
        ]
    return along.carried[len(starts) + 1 :]


def _add_lanes(w: Writer, sums: list[Value]) -> Value:
    """The horizontal sums of 2 or 4 vectors, as one vector of 2 or 4 lanes."""
    count, distance = len(sums), 1
    while len(sums) > 1:
        pairs = [exchange(w, x, y, distance) for x, y in zip(sums[::2], sums[1::2], strict=True)]
        sums = [w.op("fadd", x, y) for x, y in pairs]
        distance *= 2
    return fold(w, sums[0], count)


def _write_back(w: Writer, g: Geometry, parts: list[Value], places: list[list[Value]], columns: int) -> None:
    """Store one vector for each row, or its elements where the last column may be a repetition."""
    if columns == 2:
        parts = [w.lane(part, lane) for part in parts for lane in range(columns)]
        places = [[place] for row in places for place in row]
    with w.replacing(w.compare("ne", w.arg.accumulate, 0), parts) as results:
        old = [w.load(g.scalar, place[0], g.size, parts[0].lanes) for place in places]
        results += [w.op("fadd", x, y) for x, y in zip(old, parts, strict=True)]
    for value, place in zip(results, places, strict=True):
        w.store(value, place[0], g.size)
