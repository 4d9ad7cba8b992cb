"""Loops over columns that threads may share, a chunk at a time: how many threads there are changes no chunk."""

from __future__ import annotations

from ...ir_text import NULL, Value, integer
from ..matmul.counted_loops import Operand, Signature, Writer
from ..matmul.shared import closure_memory, hand_over, opened_job, own_memory, picoseconds
from .module import Module

__all__ = ["add_job", "closure_memory", "per_chunk", "share"]


def share(
    w: Writer, m: Module, closure: Value, callee: Signature, columns: Value, cost: Value, *rest: Operand
) -> None:
    """Call `callee` for the chunks of so many columns, `first` to `last`: by the pool `parallel`, unless it is null.

    The cost is that of a chunk, in picoseconds; `rest` are the other arguments.
    """
    chunk = m.s.chunk_columns
    count = w.op("udiv", w.add(columns, chunk - 1), chunk)
    alone = w.compare("eq", w.arg.parallel, NULL)
    with w.when(alone):
        w.invoke(callee, 0, count, *rest)
    with w.when(alone, unless=True):
        values = [value if isinstance(value, Value) else integer(int(value)) for value in rest]
        hand_over(w, closure, callee.name, values, count, 1, cost)


def per_chunk(w: Writer, m: Module, depth: Operand, rows: Operand) -> Value:
    """Picoseconds that a product of so much depth takes, or twice what a triangle does, for the columns of a chunk."""
    return w.multiply(w.multiply(depth, rows), m.s.chunk_columns * picoseconds(m.s.g))


def add_job(m: Module, callee: Signature) -> None:
    """What the pool calls; `work` is the thread's own memory, where it has some."""
    names = list(callee.values)[2:]
    w, values = opened_job(callee.name, [callee.values[name] for name in names])
    values = [own_memory(w, v) if name == "work" else v for name, v in zip(names, values, strict=True)]
    w.invoke(callee, w.arg.begin, w.arg.end, *values)
    m.add(w)
