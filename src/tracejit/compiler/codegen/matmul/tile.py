"""Register tiles: a few rows times one or two vectors of columns, summed over the depth in registers.

The left operand is read one element at a time with any strides, which is why a transposed left operand
needs no packing; the right operand is read as vectors, so its columns must be adjacent. All strides here
are in bytes.
"""

from __future__ import annotations

from ...ir_text import Value
from .counted_loops import Operand, Signature, Writer
from .geometry import Geometry
from .vectors import LINE, load, multiply_add, prefetch, prefix_mask

# One pointer serves this many neighbouring rows: x86 addresses are base + index * {1, 2, 4, 8}.
_ROWS_PER_POINTER = 3


def strip(pieces: tuple[int, ...], filled: bool = False) -> Signature:
    """``C[:rows, :columns] (+)= A[:rows, :depth] @ B[:depth, :columns]``; the columns fit the pieces, or are `filled`.

    So many bytes `ahead` lies what the next strip reads of B, where that is packed; else it is 0.
    """
    return Signature(
        f"strip_{sum(pieces)}_filled" if filled else f"strip_{sum(pieces)}",
        "i64 %rows, i64 %columns, i64 %depth, ptr %a, i64 %a_row, i64 %a_col, ptr %b, i64 %b_row, "
        "ptr %c, i64 %c_row, i64 %accumulate, i64 %ahead",
    )


SWEEP = Signature(
    "sweep",
    "i64 %m, i64 %n, i64 %depth, ptr %a, i64 %a_row, i64 %a_col, ptr %b, i64 %b_row, i64 %b_panel, "
    "ptr %c, i64 %c_row, i64 %accumulate",
)


def tile_functions(g: Geometry) -> str:
    """The product of one block of the operands, and functions for each width of a strip of columns.

    Machines without masks store part of a vector lane by lane, so that strips which fill their vectors have a function.
    """
    strips = [
        _strip(g, pieces, filled) for filled in ([False] if g.masks else [False, True]) for pieces in g.widths
    ]
    return "".join(strips) + _sweep(g)


def _sweep(g: Geometry) -> str:
    """``C (+)= A @ B`` by strips: one strip of B stays in the first cache while A streams by.

    `b_panel` is the distance from one strip of B to the next.
    """
    w = Writer(SWEEP, g.settled)
    narrow, wide = g.widths[-1][0], g.panel
    with w.loop(w.arg.n, wide, w.arg.b, w.arg.c) as across:
        b, c = across.carried
        columns = w.minimum(w.subtract(w.arg.n, across.index), wide)
        if not g.masks:
            columns = _filled_strips(w, g, columns, b, c)
        # Little more than one vector is cheaper as two strips than as a wide one with idle lanes.
        whole = w.compare("sgt", columns, g.lanes + narrow % g.lanes)
        rest = w.select(whole, 0, columns)
        with w.when(whole):
            _call_strip(w, g, g.widths[0], columns, b, c)
        with w.when(w.compare("sgt", rest, narrow % g.lanes)):
            _call_strip(w, g, g.widths[1], w.minimum(rest, g.lanes), b, c)
        if narrow < g.lanes:
            _narrow_rest(w, g, rest, b, c)
        w.advance(across, w.arg.b_panel, g.panel_bytes)
    return w.text()


def _filled_strips(w: Writer, g: Geometry, columns: Value, b: Value, c: Value) -> Value:
    """Write the strip if its columns fill the vectors of a width; return the columns that are left: all or none."""
    for pieces in g.widths:
        filled = w.compare("eq", columns, sum(pieces))
        with w.when(filled):
            _call_strip(w, g, pieces, columns, b, c, filled=True)
        columns = w.select(filled, 0, columns)
    return columns


def _narrow_rest(w: Writer, g: Geometry, columns: Value, b: Value, c: Value) -> None:
    """Write the narrow strip: all of the columns, or those after one vector."""
    narrow = g.widths[-1][0]
    alone = w.compare("sle", columns, narrow)
    start = w.select(alone, 0, g.lanes)
    rest = w.subtract(columns, start)
    with w.when(w.compare("sgt", rest, 0)):
        offset = w.multiply(start, g.size)
        _call_strip(w, g, g.widths[-1], rest, w.offset(b, offset), w.offset(c, offset))


def _call_strip(
    w: Writer, g: Geometry, pieces: tuple[int, ...], columns: Value, b: Value, c: Value, filled: bool = False
) -> None:
    operands = w.arg.a, w.arg.a_row, w.arg.a_col, b, w.arg.b_row
    packed = w.compare("ne", w.arg.b_panel, g.panel_bytes)
    ahead = w.select(packed, w.arg.b_panel, 0)
    rest = c, *w.args("c_row accumulate"), ahead
    w.invoke(strip(pieces, filled), w.arg.m, columns, w.arg.depth, *operands, *rest)


def _strip(g: Geometry, pieces: tuple[int, ...], filled: bool) -> str:
    w = Writer(strip(pieces, filled), g.settled)
    tile = _Tile(w, g, pieces, filled)
    left, a, c = w.arg.rows, w.arg.a, w.arg.c
    *whole_tiles, last_tile = g.row_tiles if len(pieces) > 1 else g.narrow_row_tiles
    for rows in whole_tiles:
        whole = w.subtract(left, w.op("urem", left, rows))
        a, c = tile.write_loop(whole, rows, a, c)
        left = w.subtract(left, whole)
    tile.write_loop(left, last_tile, a, c, ragged=True)
    return w.text()


class _Tile:
    """Writes the loops over tiles of one strip; holds what they share."""

    def __init__(self, w: Writer, g: Geometry, pieces: tuple[int, ...], filled: bool) -> None:
        self.w = w
        self.g = g
        self.pieces = pieces
        starts = [sum(pieces[:piece]) for piece in range(len(pieces))]
        rest = w.subtract(w.arg.columns, starts[-1])
        mask = None if filled else prefix_mask(w, rest, pieces[-1])
        masks = [None] * (len(pieces) - 1) + [mask]
        self.vectors = list(zip([start * g.size for start in starts], pieces, masks, strict=True))
        self.two_rows = w.multiply(w.arg.a_row, 2)

    def write_loop(
        self, count: Value, rows: int, a: Value, c: Value, ragged: bool = False
    ) -> tuple[Value, Value]:
        """Write the tiles of `rows` rows that cover `count` rows; return where A and C go on.

        A ragged loop may have fewer rows than its last tile. That tile repeats the last row, storing equal
        values to the same place, which costs less than branches.
        """
        w = self.w
        a_step, c_step = w.multiply(w.arg.a_row, rows), w.multiply(w.arg.c_row, rows)
        with w.loop(count, rows, a, c) as loop:
            numbers: list[Operand] = list(range(rows))
            if ragged:
                last = w.subtract(w.subtract(count, loop.index), 1)
                numbers[1:] = [w.minimum(last, row) for row in range(1, rows)]
            sums = self._sum_products(loop.carried[0], numbers, ragged, self._fetched(loop.index, rows))
            self._write_back(loop.carried[1], numbers, sums)
            w.advance(loop, a_step, c_step)
        return loop.carried[0], loop.carried[1]

    def _fetched(self, index: Value, rows: int) -> list[tuple[Value, Value]]:
        """Where a tile fetches the next strip of B from, and how far it goes on at each step of the depth: a line.

        The first tiles, each of which fetches a part, are enough; the others ask for what is as near as can be.
        """
        w, g = self.w, self.g
        if not g.fetches or len(self.pieces) == 1 or rows != g.row_tiles[0]:
            return []
        fetching = w.both(
            w.compare("slt", index, rows * (g.panel_bytes // LINE)), w.compare("ne", w.arg.ahead, 0)
        )
        part = w.multiply(w.op("udiv", index, rows), w.multiply(w.arg.depth, LINE))
        start = w.offset(w.arg.b, w.select(fetching, w.add(w.arg.ahead, part), 0))
        return [(start, w.select(fetching, LINE, 0))]

    def _sum_products(
        self, a: Value, numbers: list[Operand], ragged: bool, fetched: list[tuple[Value, Value]]
    ) -> list[Value]:
        """Write the loop over the depth; return the accumulators, row by row."""
        w, g = self.w, self.g
        group = 1 if ragged else _ROWS_PER_POINTER
        starts = [w.offset(a, w.multiply(w.arg.a_row, number)) for number in numbers[::group]]
        zeros = [g.zeros(lanes) for _ in numbers for lanes in self.pieces]
        within = [0, w.arg.a_row, self.two_rows]
        with w.loop(w.arg.depth, 1, *starts, w.arg.b, *(start for start, _ in fetched), *zeros) as loop:
            carried = iter(loop.carried)
            left, right = [next(carried) for _ in starts], next(carried)
            lines = [next(carried) for _ in fetched]
            sums = list(carried)
            w.advance(loop, *[w.arg.a_col] * len(left), w.arg.b_row, *(step for _, step in fetched))
            for line in lines:
                prefetch(w, line, LINE)
            columns = self._load_row(right)
            for row in range(len(numbers)):
                element = w.load(g.scalar, w.offset(left[row // group], within[row % group]), g.size)
                spread = w.splat(element, self.pieces[0])
                for piece, column in enumerate(columns):
                    total = sums[row * len(self.pieces) + piece]
                    loop.following.append(multiply_add(w, g, spread, column, total))
        return sums

    def _load_row(self, pointer: Value) -> list[Value]:
        return [
            load(self.w, self.g, self.w.offset(pointer, start), n, mask) for start, n, mask in self.vectors
        ]

    def _write_back(self, c: Value, numbers: list[Operand], sums: list[Value]) -> None:
        """Store the accumulators, added to C if asked.

        The sum of a block of the depth is added at the end, not summed on top of C: short sums round less.
        """
        w, g = self.w, self.g
        targets = [w.offset(c, w.multiply(w.arg.c_row, number)) for number in numbers]
        with w.replacing(w.compare("ne", w.arg.accumulate, 0), sums) as results:
            old = [value for target in targets for value in self._load_row(target)]
            results += [w.op("fadd", x, y) for x, y in zip(old, sums, strict=True)]
        values = iter(results)
        for target in targets:
            for start, _, mask in self.vectors:
                w.store(next(values), w.offset(target, start), g.size, mask)
