"""Sums down the columns of many rows, such as gradients of biases: first within each outer row, then over these.

The part of each row goes to a row of a table, and a nest behind adds up the table: a tree of sizes alone. So rows need
no order: they share a loop with what makes them and what reads them, in cache, and threads take them. Valid program in,
valid program out; such sums are rounded otherwise than before: those of float64 by up to two units in the last place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import numpy as np

from .....core.dim import product
from ....report import REWRITES, fired, wants
from ...effects import sequences
from ...ir import Combine, Compute, Load, Nest, Program, Store, walk
from ...operands import Acc, Axis, Buffer, Const, Name
from ...statement import OfElement, Statement, all_renamed
from ..sums_both_ways import row_major
from .row_blocks import may_be_divided

FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
FEWEST = 4
"""Rows."""
LARGE = 1 << 18
"""Bytes that the nest walks over: less is done before a thread has come."""
SHARE = 16
"""What there is in a row is so many times as large, at least, as what it adds to the sums."""


def sum_by_rows(program: Program) -> Program:
    """Divide such sums, in place; returns the program."""
    names = (f"y{k}" for k in count())
    for block in list(sequences(program.body)):
        made: list[Statement] = []
        for s in block:
            if isinstance(s, Nest) and _is_divided(s):
                made += _by_rows(s, names, program.buffers)
            else:
                made.append(s)
        block[:] = made
    return program


def _is_divided(s: Nest) -> bool:
    if len(s.axes) < 2 or not all(isinstance(a.size, int) for a in s.axes):
        return False
    row, kept = s.axes[0], product(a.size for a in s.axes if a.kind == "parallel")
    inside = product(a.size for a in s.axes[1:])
    if row.kind != "reduce" or row.size < FEWEST or kept == 1 or inside < SHARE * kept:
        return False
    widest = max((i.buffer.dtype.itemsize for i in s.body if isinstance(i, OfElement)), default=0)
    return row.size * inside * widest >= LARGE and may_be_divided(s, row) and _stays_in_rows(s, row)


def _stays_in_rows(s: Nest, row: Axis) -> bool:
    """Does each row write memory of its own, which no other reads?"""
    stores = [inner for inner in walk(s.body) if isinstance(inner, Store)]
    read = {b for inner in walk(s.body) for b in inner.reads()}
    return all(
        not store.add and store.guard is None and store.buffer not in read and row.name in store.index.symbols
        for store in stores
    )


def _by_rows(s: Nest, names: Iterator[Name], buffers: list[Buffer]) -> list[Nest]:
    """A nest that sums in each row, and one that sums over the rows."""
    row, *others = s.axes
    kept = [a for a in others if a.kind == "parallel"]
    tables = [
        Buffer(f"{next(names)}t", a.dtype, product(a.size for a in (row, *kept)), "temp") for a in s.accs
    ]
    buffers += tables
    at = row_major([row, *kept])
    leaves: list[Statement] = [Store(table, at, a.name) for table, a in zip(tables, s.accs, strict=True)]
    first = replace(s, axes=[replace(row, kind="parallel"), *others], tail=leaves)
    first.source = s.source
    then = _over_rows(s, kept, tables, names)
    if wants(REWRITES):
        fired(sum_by_rows, s.location, what=f"sums over {s.axes[0].size} rows")
    return [first, then]


def _over_rows(s: Nest, kept: list[Axis], tables: list[Buffer], names: Iterator[Name]) -> Nest:
    """The nest that sums over the rows of the tables: few and large terms, of float32 in float64."""
    own = {name: next(names) for name in (*[a.name for a in kept], *[a.name for a in s.accs])}
    rules = {c.accs[0]: c.rule for c in s.body if isinstance(c, Combine)}
    again = [replace(a, name=own[a.name]) for a in kept]
    over = Axis(next(names), s.axes[0].size, "reduce")
    place = row_major([over, *again])
    body: list[Statement] = []
    accs: list[Acc] = []
    narrowed: list[Statement] = []
    for table, a in zip(tables, s.accs, strict=True):
        name, value = own[a.name], next(names)
        body.append(Load(value, table, place))
        if a.dtype == FLOAT32:
            narrow, name, wide = name, next(names), next(names)
            body.append(Compute(wide, "cast", (value,), FLOAT64, FLOAT32))
            narrowed.append(Compute(narrow, "cast", (name,), FLOAT32, FLOAT64))
            accs.append(Acc(name, FLOAT64, Const(a.init.value, FLOAT64)))
            value = wide
        else:
            accs.append(replace(a, name=name))
        body.append(Combine(rules[a.name], (name,), (value,)))
    then = Nest([*again, over], body, accs, [*narrowed, *all_renamed(s.tail, own)], location=s.location)
    then.source = s.source
    return then
