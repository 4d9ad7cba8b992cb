"""The product in cache blocks, with a pool of threads: packing and rows of each block are its jobs.

Threads share the packed block of the right operand, and each packs rows of the left one for itself. Where rows are so
few that fetching what another thread has packed takes longer than to multiply it, columns are the job: each thread does
the whole product for some, and reads the left operand in place where these are few. Which rows or columns go together
changes no sum, so results are those of `blocks`, bit by bit.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir_text import NULL, Value
from .blocks import BLOCKS, PANELS, ROWS, over_blocks
from .counted_loops import Operand, Signature, Writer
from .geometry import Geometry

SHARED = Signature("shared", BLOCKS.parameters + ", ptr %parallel", directs=True)
COPIED = 200  # picoseconds of a byte that is packed
MULTIPLIED = 200  # picoseconds of a product and a sum, over the elements of a register: two a cycle to one
LEAST = 20_000_000
"""Picoseconds of work below which a product stays on one thread."""
FEW_ROWS = 192
"""Rows up to which a product with a packed right operand is shared by columns, a panel at once."""
_MAX_ARGUMENTS = 20


def shared_functions(g: Geometry) -> str:
    """The product in blocks, and the jobs that its blocks are."""
    w = Writer(SHARED)
    closure = closure_memory(w)

    def call(callee: Signature, count: Value, rest: Sequence[Operand]) -> None:
        kinds = [p.kind for p in list(callee.values.values())[2:]]
        arguments = [Value(str(value), kind) for kind, value in zip(kinds, rest, strict=True)]
        hand_over(w, closure, callee.name, arguments, count, *_work(w, g, callee, rest))

    wide = w.compare("sgt", w.arg.n, g.panel)
    few_rows = w.both(w.arg.pack_b, w.compare("sle", w.arg.m, FEW_ROWS))
    with w.returning(w.both(few_rows, wide)):
        cost = w.multiply(w.op("mul", w.arg.m, w.arg.k), picoseconds(g))
        arguments = w.args(" ".join(BLOCKS.values))
        hand_over(w, closure, "columns", arguments, w.arg.n, g.panel, cost)
    over_blocks(w, g, call)
    return w.text() + _job(g, PANELS) + _job(g, ROWS) + _columns_job(g)


def closure_memory(w: Writer) -> Value:
    """Memory for the arguments of jobs, one job at a time."""
    return w.effect("ptr", 1, f"alloca [{_MAX_ARGUMENTS} x i64], align 8")


def hand_over(
    w: Writer, closure: Value, name: str, arguments: Sequence[Value], count: Value, unit: int, cost: Value
) -> None:
    """Let the pool do the job of this name: `count` iterations, so many together, of such a cost."""
    for place, value in enumerate(arguments):
        w.store(value, w.offset(closure, 8 * place))
    spelled = f"ptr @{name}.job, {closure.typed}, {count.typed}, i64 {unit}, i64 {cost}"
    w.stmt(f"call void {w.arg.parallel}({spelled})")


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
    w, values = opened_job(callee.name, list(callee.values.values())[2:])
    if callee is ROWS:
        values[-1] = own_memory(w, values[-1])
    w.invoke(callee, w.arg.begin, w.arg.end, *values)
    return w.text()


def _columns_job(g: Geometry) -> str:
    """What the pool calls: the whole product for some columns."""
    w, values = opened_job("columns", list(BLOCKS.values.values()))
    given = dict(zip(BLOCKS.values, values, strict=True))
    given["n"] = w.subtract(w.arg.end, w.arg.begin)
    given["b"] = w.offset(given["b"], w.multiply(given["b_col"], w.arg.begin))
    given["c"] = w.offset(given["c"], w.multiply(w.arg.begin, g.size))
    given["work"] = own_memory(w, given["work"])
    given["pack_a"] = w.both(given["pack_a"], w.compare("sgt", given["n"], g.unpacked_columns))
    w.invoke(BLOCKS, *given.values())
    return w.text()


def opened_job(name: str, parameters: Sequence[Value]) -> tuple[Writer, list[Value]]:
    """The job of this name, and what is in its closure."""
    given = "ptr %closure, i64 %begin, i64 %end, ptr %own"
    w = Writer(Signature(f"{name}.job", given, linkage="internal ", directs=True))
    return w, [w.load(p.kind, w.offset(w.arg.closure, 8 * place)) for place, p in enumerate(parameters)]


def own_memory(w: Writer, memory: Value) -> Value:
    """The thread's own memory, if it has some, in the place of the caller's."""
    return w.select(w.compare("eq", w.arg.own, NULL), memory, w.arg.own)
