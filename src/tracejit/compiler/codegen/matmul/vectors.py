"""Vector instructions in the spelling of LLVM: broadcast, mask, masked access, fused multiply-add.

Everything takes the `Writer` it writes to and the `Geometry` that fixes the element type.
"""

from __future__ import annotations

from ...ir_text import shuffle_mask
from .counted_loops import Writer
from .geometry import Geometry


def declarations(geometry: Geometry) -> str:
    """Declarations of the intrinsics used here, for every vector length of the tiles."""
    lines = []
    for lanes in sorted({lanes for pieces in geometry.widths for lanes in pieces}):
        vector, suffix = geometry.vector_of(lanes), geometry.suffix(lanes)
        mask = f"<{lanes} x i1>"
        lines += [
            f"declare {vector} @llvm.fma.{suffix}({vector}, {vector}, {vector})",
            f"declare {vector} @llvm.masked.load.{suffix}.p0(ptr, i32, {mask}, {vector})",
            f"declare void @llvm.masked.store.{suffix}.p0({vector}, ptr, i32, {mask})",
        ]
    return "\n".join(lines) + "\n"


def broadcast(w: Writer, g: Geometry, value: str, lanes: int) -> str:
    """A vector whose lanes all hold `value`."""
    vector = g.vector_of(lanes)
    first = w.let(f"insertelement {vector} poison, {g.scalar} {value}, i32 0")
    return w.let(f"shufflevector {vector} {first}, {vector} poison, <{lanes} x i32> zeroinitializer")


def prefix_mask(w: Writer, count: str, lanes: int) -> str:
    """A mask whose first `count` lanes (clamped to 0..lanes) are true."""
    below = w.minimum(count, lanes)
    inside = w.select(w.compare("sgt", below, 0), below, 0)
    bits = w.subtract(w.let(f"shl i64 1, {inside}"), 1)
    return w.let(f"bitcast i{lanes} {w.let(f'trunc i64 {bits} to i{lanes}')} to <{lanes} x i1>")


def load(w: Writer, g: Geometry, pointer: str, lanes: int, mask: str | None = None) -> str:
    """`lanes` elements from `pointer`; lanes outside `mask` are zero and not touched."""
    vector = g.vector_of(lanes)
    if mask is None:
        return w.let(f"load {vector}, ptr {pointer}, align {g.size}")
    return w.let(
        f"call {vector} @llvm.masked.load.{g.suffix(lanes)}.p0(ptr {pointer}, i32 {g.size}, "
        f"<{lanes} x i1> {mask}, {vector} zeroinitializer)"
    )


def store(w: Writer, g: Geometry, value: str, pointer: str, lanes: int, mask: str | None = None) -> None:
    """Store `value` at `pointer`, only the lanes in `mask`."""
    vector = g.vector_of(lanes)
    if mask is None:
        w.do(f"store {vector} {value}, ptr {pointer}, align {g.size}")
        return
    w.do(
        f"call void @llvm.masked.store.{g.suffix(lanes)}.p0({vector} {value}, ptr {pointer}, i32 {g.size}, "
        f"<{lanes} x i1> {mask})"
    )


def multiply_add(w: Writer, g: Geometry, left: str, right: str, total: str, lanes: int) -> str:
    """``left * right + total``; fused only where the machine can, elsewhere that would be a library call."""
    vector = g.vector_of(lanes)
    if g.fma:
        suffix = g.suffix(lanes)
        return w.let(f"call {vector} @llvm.fma.{suffix}({vector} {left}, {vector} {right}, {vector} {total})")
    product = w.let(f"fmul {vector} {left}, {right}")
    return w.let(f"fadd {vector} {product}, {total}")


def load_scalar(w: Writer, g: Geometry, pointer: str) -> str:
    return w.let(f"load {g.scalar}, ptr {pointer}, align {g.size}")


def store_scalar(w: Writer, g: Geometry, value: str, pointer: str) -> None:
    w.do(f"store {g.scalar} {value}, ptr {pointer}, align {g.size}")


def exchange(w: Writer, g: Geometry, first: str, second: str, distance: int, lanes: int) -> tuple[str, str]:
    """Transpose the two by two squares that two vectors form of lanes `distance` apart."""
    low = [lane if not lane & distance else lanes + lane - distance for lane in range(lanes)]
    high = [lane + distance if not lane & distance else lanes + lane for lane in range(lanes)]
    vector = g.vector_of(lanes)
    return _shuffle(w, vector, first, second, low), _shuffle(w, vector, first, second, high)


def fold(w: Writer, g: Geometry, value: str, lanes: int) -> str:
    """Add the upper half of a full vector to its lower half until `lanes` lanes are left."""
    width = g.lanes
    while width > lanes:
        vector, half = g.vector_of(width), width // 2
        halves = [_shuffle(w, vector, value, value, list(range(start, start + half))) for start in (0, half)]
        value = w.let(f"fadd {g.vector_of(half)} {halves[0]}, {halves[1]}")
        width = half
    return value


def _shuffle(w: Writer, vector: str, first: str, second: str, lanes: list[int]) -> str:
    return w.let(f"shufflevector {vector} {first}, {vector} {second}, {shuffle_mask(tuple(lanes))}")
