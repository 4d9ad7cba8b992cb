"""Short axes: the last axes of a nest are unrolled if they have few elements, and the next axis is vectorized.

Points as ``[n, 3]`` are that: their three coordinates become three statements, a sum over them two additions, and what
is computed of each point passes in registers. Nests that hand each other temporaries are written out together, so that
they can fuse. Those whose accesses cross short and long axes as one long row stay as they are. Valid program in, valid
program out; what is added up along short axes is added in their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from math import prod
from typing import Any

import numpy as np

from ...report import REWRITES, fired, wants
from ..effects import sequences
from ..ir import Combine, Compute, Load, Nest, Program, Size_, Store
from ..numbering.values import numbered
from ..operands import Acc, Axis, Buffer, Const, Name
from ..statement import Statement, renamed

LONGEST = 12  # elements of an axis that is short
STRIDED = 4  # elements up to which lanes that far apart are quick to load and store
MOST = 32  # points of all short axes of a nest
MAX_STATEMENTS = 256  # of a nest that was written out
LEAST = 16  # elements that the other axes must have
INT64 = np.dtype(np.int64)
_SIMPLE = (Load, Store, Compute, Size_, Combine)


def write_out_short_axes(program: Program) -> Program:
    """Write the short axes of every block's nests out, in place; returns the program."""
    names = (f"u{k}" for k in count())
    for block in sequences(program.body):
        _in_block(block, names)
    return program


def _in_block(block: list[Statement], names: Iterator[Name]) -> None:
    found = {p: short for p, s in enumerate(block) if isinstance(s, Nest) and (short := _short(s))}
    for position in _connected(block, found):
        nest, short = block[position], found[position]
        assert isinstance(nest, Nest)
        if wants(REWRITES):
            fired(write_out_short_axes, nest.location, what=", ".join(a.name for a in short))
        block[position] = _written_out(nest, short, names)


# ---- which ----------------------------------------------------------------------------------------------


def _short(nest: Nest) -> list[Axis]:
    """The last axes of a nest of simple statements that are short, if the others are long."""
    short: list[Axis] = []
    points = 1
    for axis in reversed(nest.axes):
        if not isinstance(axis.size, int) or not 1 < axis.size <= LONGEST or points * axis.size > MOST:
            break
        short.insert(0, axis)
        points *= axis.size
    left = [a.size for a in nest.axes[: len(nest.axes) - len(short)]]
    known = [size for size in left if isinstance(size, int)]
    long = len(known) < len(left) or (bool(left) and prod(known) >= LEAST)
    statements = [*nest.body, *nest.tail]
    if not short or not long or points * len(statements) > MAX_STATEMENTS:
        return []
    simple = all(isinstance(s, _SIMPLE) for s in statements) and all(a.kind != "scan" for a in nest.axes)
    positions = any(isinstance(s, Combine) and len(s.accs) > 1 for s in nest.body)
    return short if simple and not positions else []


def _connected(block: Sequence[Statement], found: dict[int, list[Axis]]) -> list[int]:
    """The positions of nests that gain by it, and of those that share temporaries with them."""
    users: dict[Buffer, list[int]] = {}
    for position in found:
        for b in _temporaries(block[position]):
            users.setdefault(b, []).append(position)
    todo = [p for p, short in found.items() if _gains(block[p], short)]
    reached = set(todo)
    while todo:
        for b in _temporaries(block[todo.pop()]):
            new = set(users.pop(b, ())) - reached
            reached |= new
            todo.extend(new)
    return sorted(reached)


def _temporaries(nest: Any) -> set[Buffer]:
    return {s.buffer for s in _accesses(nest) if s.buffer.kind == "temp"}


def _accesses(nest: Any) -> Iterator[Load | Store]:
    return (s for s in (*nest.body, *nest.tail) if isinstance(s, (Load, Store)))


def _gains(nest: Any, short: Sequence[Axis]) -> bool:
    """Is there a sum along an axis that is short enough, or an access that does not cross all axes as one?"""
    if short[-1].size > STRIDED:
        return False
    if any(a.kind == "reduce" for a in short):
        return True
    inner = nest.axes[-1 - len(short) :]
    for s in _accesses(nest):
        steps = dict(s.index.terms)
        step: Any = steps.get(inner[-1].name, 0)
        for axis in reversed(inner):
            if steps.get(axis.name, 0) != step:
                return True
            step = step * axis.size
    return False


# ---- writing out ----------------------------------------------------------------------------------------


def _written_out(nest: Nest, short: Sequence[Axis], names: Iterator[Name]) -> Nest:
    """The nest without its short axes."""
    left = nest.axes[: len(nest.axes) - len(short)]
    made = Nest(left, [], location=nest.location)
    made.source = nest.source
    rows: dict[tuple[int, ...], _Row] = {}
    for point in np.ndindex(*(a.size for a in short)):
        at = {a.name: Const(p, INT64) for a, p in zip(short, point, strict=True)}
        key = tuple(p for a, p in zip(short, point, strict=True) if a.kind == "parallel")
        row = rows.setdefault(key, _Row(nest, at, names))
        made.body += _copied(nest.body, {**at, **row.names}, names)
    if any(a.kind == "reduce" for a in left):
        made.accs = [a for row in rows.values() for a in row.accs]
    else:
        made.body = _added(made.body, rows.values(), names)
    tail = [s for row in rows.values() for s in _copied(nest.tail, {**row.at, **row.names}, names)]
    if made.accs:
        made.tail = numbered(tail)
    else:
        made.body += tail
    made.body = numbered(made.body)
    return made


class _Row:
    """The accumulators of one point of the parallel short axes, which `at` puts at their places."""

    def __init__(self, nest: Nest, at: dict[Name, Const], names: Iterator[Name]):
        self.at = at
        self.accs = [Acc(next(names), a.dtype, a.init) for a in nest.accs]
        self.names: dict[Name, Any] = {a.name: new.name for a, new in zip(nest.accs, self.accs, strict=True)}


def _copied(
    statements: Sequence[Statement], known: Mapping[Name, Any], names: Iterator[Name]
) -> list[Statement]:
    """Statements under names of their own, with constants for the axes that `known` has places of."""
    own = dict(known)
    made: list[Statement] = []
    for s in statements:
        axis = s.args[0] if isinstance(s, Compute) and s.op == "index" else None
        if isinstance(s, Compute) and isinstance(axis, str) and axis in known:
            own[s.out] = Const(s.dtype.type(known[axis].value).item(), s.dtype)
            continue
        own.update((name, next(names)) for name in s.defines())
        made.append(renamed(s, own))
    return made


def _added(statements: Sequence[Statement], rows: Iterable[_Row], names: Iterator[Name]) -> list[Statement]:
    """Statements in which scalars take the place of accumulators, which the rows then call by those names."""
    accs = {a.name: a for row in rows for a in row.accs}
    totals: dict[Name, Any] = {name: a.init for name, a in accs.items()}
    made: list[Statement] = []
    for s in statements:
        if not isinstance(s, Combine):
            made.append(s)
            continue
        (acc,), (value,) = s.accs, s.values
        dtype = accs[acc].dtype
        made.append(Compute(total := next(names), s.rule, (totals[acc], value), dtype, dtype))
        totals[acc] = total
    for row in rows:
        row.names = {name: totals[new] for name, new in row.names.items()}
    return made
