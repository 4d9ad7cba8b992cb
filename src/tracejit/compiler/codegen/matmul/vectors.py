"""Vector instructions in the spelling of LLVM: broadcast, mask, masked access, fused multiply-add.

Everything takes the `Writer` it writes to and the `Geometry` that fixes the element type.
"""

from __future__ import annotations

from ...ir_text import HIDDEN_INTEGER, HIDDEN_POINTER, Value, integer, zeros
from .counted_loops import Writer
from .geometry import Geometry

AHEAD = 8192
"""Bytes between what is read and what is fetched for later: what memory sends while a line is on its way, and more."""
PAGE = 4096
LINE = 64
SHORT_ROWS = 1 << 14
"""Bytes of rows read side by side, below which they are short."""
_PREFETCH = "@llvm.prefetch.p0"


def declarations(geometry: Geometry) -> str:
    """Declarations of the intrinsics used here, for every vector length of the tiles."""
    lines = [
        f"declare void {_PREFETCH}(ptr, i32, i32, i32)",
        f"declare i64 {HIDDEN_INTEGER}(i64, i64)",
        f"declare ptr {HIDDEN_POINTER}(ptr)",
    ]
    for lanes in sorted({lanes for pieces in geometry.widths for lanes in pieces}):
        vector, suffix = geometry.vector_of(lanes), geometry.suffix(lanes)
        mask = f"<{lanes} x i1>"
        lines += [
            f"declare {vector} @llvm.fma.{suffix}({vector}, {vector}, {vector})",
            f"declare {vector} @llvm.masked.load.{suffix}.p0(ptr, i32, {mask}, {vector})",
            f"declare void @llvm.masked.store.{suffix}.p0({vector}, ptr, i32, {mask})",
        ]
    return "\n".join(lines) + "\n"


def prefix_mask(w: Writer, count: Value, lanes: int) -> Value:
    """A mask whose first `count` lanes (clamped to 0..lanes) are true."""
    below = w.minimum(count, lanes)
    inside = w.select(w.compare("sgt", below, 0), below, 0)
    bits = w.convert("trunc", w.subtract(w.op("shl", 1, inside), 1), f"i{lanes}")
    return w.pure("i1", lanes, f"bitcast {bits.typed} to <{lanes} x i1>", bits)


def load(w: Writer, g: Geometry, pointer: Value, lanes: int, mask: Value | None = None) -> Value:
    """`lanes` elements from `pointer`; lanes outside `mask` are zero and not touched."""
    if mask is None:
        return w.load(g.scalar, pointer, g.size, lanes)
    return w.effect(g.scalar, lanes, w.masked_load(pointer, g.size, mask, zeros(g.scalar, lanes)))


def distance(w: Writer, row: Value, rows: int, least: int = 0) -> Value:
    """How many bytes ahead to fetch where `rows` rows are read side by side: `AHEAD`, rounded up to so many rows.

    Machines foresee where long rows go on, and pages that are read at one go, but not that short rows follow each
    other: it is 0 for long ones, and where all take less than `least` bytes.
    """
    group = w.multiply(row, rows)
    short = w.both(w.compare("sgt", group, least), w.compare("slt", group, SHORT_ROWS))
    groups = w.add(w.op("udiv", AHEAD, w.select(short, group, 1)), 1)
    return w.select(short, w.multiply(group, groups), 0)


def prefetch(w: Writer, pointer: Value, size: int) -> None:
    """Ask for so many bytes from an address on, which need not be anybody's, to be read into the second cache.

    The nearest has few places for what is on its way, and reads of what is close by would wait for one.
    """
    read, second, data = (integer(number, "i32") for number in (0, 2, 1))
    for start in range(0, size, LINE):
        w.stmt(w.memory_intrinsic("void", _PREFETCH, w.offset(pointer, start), read, second, data))


def multiply_add(w: Writer, g: Geometry, left: Value, right: Value, total: Value) -> Value:
    """``left * right + total``; fused only where the machine can, elsewhere that would be a library call."""
    if g.fma:
        return w.intrinsic("fma", left, right, total)
    return w.op("fadd", w.op("fmul", left, right), total)


def exchange(w: Writer, first: Value, second: Value, distance: int) -> tuple[Value, Value]:
    """Transpose the two by two squares that two vectors form of lanes `distance` apart."""
    lanes = first.lanes
    low = [lane if not lane & distance else lanes + lane - distance for lane in range(lanes)]
    high = [lane + distance if not lane & distance else lanes + lane for lane in range(lanes)]
    return w.shuffle(tuple(low), first, second), w.shuffle(tuple(high), first, second)


def transposed(w: Writer, rows: list[Value]) -> list[Value]:
    """A square of registers transposed: log2(lanes) rounds, each exchanging half of every pair of rows."""
    rows, distance = list(rows), 1
    while distance < len(rows):
        for row in (row for row in range(len(rows)) if not row & distance):
            rows[row], rows[row + distance] = exchange(w, rows[row], rows[row + distance], distance)
        distance *= 2
    return rows


def fold(w: Writer, value: Value, lanes: int) -> Value:
    """Add the upper half of a vector to its lower half until `lanes` lanes are left."""
    while value.lanes > lanes:
        half = value.lanes // 2
        low, high = (w.shuffle(range(start, start + half), value, value) for start in (0, half))
        value = w.op("fadd", low, high)
    return value
