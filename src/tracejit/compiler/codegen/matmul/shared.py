"""The product in cache blocks, with a pool of threads: packing and rows of each block are its jobs.

Threads share the packed block of the right operand, and each packs rows of the left one for itself. Which rows go
together changes no sum, so results are those of `blocks`, bit by bit.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir_text import NULL, Value
from .blocks import BLOCKS, PANELS, ROWS, over_blocks
from .counted_loops import Operand, Signature, Writer
from .geometry import Geometry

SHARED = Signature("shared", BLOCKS.parameters + ", ptr %parallel")
COPIED = 200  # picoseconds of a byte that is packed
MULTIPLIED = 128  # picoseconds of a product and a sum, over the elements of a register of 64 bytes
LEAST = 20_000_000
"""Picoseconds of work below which a product stays on one thread."""
_MAX_ARGUMENTS = 16


def shared_functions(g: Geometry) -> str:
    """The product in blocks, and the jobs that its blocks are."""
    w = Writer(SHARED)
    closure = w.effect("ptr", 1, f"alloca [{_MAX_ARGUMENTS} x i64], align 8")

    def call(callee: Signature, count: Value, rest: Sequence[Operand]) -> None:
        kinds = [p.kind for p in list(callee.values.values())[2:]]
        for place, (kind, value) in enumerate(zip(kinds, rest, strict=True)):
            w.store(Value(str(value), kind), w.offset(closure, 8 * place))
        unit, cost = _work(w, g, callee, rest)
        spelled = f"ptr @{callee.name}.job, {closure.typed}, {count.typed}, i64 {unit}, i64 {cost}"
        w.stmt(f"call void {w.arg.parallel}({spelled})")

    over_blocks(w, g, call)
    return w.text() + _job(g, PANELS) + _job(g, ROWS)


def picoseconds(g: Geometry) -> int:
    """Of one product of elements and its sum."""
    return MULTIPLIED // g.lanes


def _work(w: Writer, g: Geometry, callee: Signature, rest: Sequence[Operand]) -> tuple[int, Value]:
    """How many rows or panels go together, and what one costs."""
    if callee is PANELS:
        depth = rest[0]
        return 1, w.multiply(depth, g.panel_bytes * COPIED)
    n, k = rest[:2]
    return 2 * g.row_tiles[0], w.multiply(w.op("mul", n, k), picoseconds(g))


def _job(g: Geometry, callee: Signature) -> str:
    """What the pool calls: a part of all rows or panels, in memory of the thread's own."""
    parameters = "ptr %closure, i64 %begin, i64 %end, ptr %own"
    w = Writer(Signature(f"{callee.name}.job", parameters, linkage="internal "))
    kinds = [p.kind for p in list(callee.values.values())[2:]]
    values = [w.load(kind, w.offset(w.arg.closure, 8 * place)) for place, kind in enumerate(kinds)]
    if callee is ROWS:
        values[-1] = w.select(w.compare("eq", w.arg.own, NULL), values[-1], w.arg.own)
    w.invoke(callee, w.arg.begin, w.arg.end, *values)
    return w.text()
