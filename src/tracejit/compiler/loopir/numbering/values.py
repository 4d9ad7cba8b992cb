"""Value numbering: the body and the tail of a nest compute, load and forward each scalar once.

Valid program in, valid program out, same results bit by bit. A load of what was just stored is that value. What only
the removed scalars needed is left to ``dce``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..effects import is_plain
from ..ir import Compute, Load, Nest, Program, Size_, Store, walk
from ..operands import Buffer, IndexKey, Name, Operand
from ..statement import Statement, renamed


def number_values(program: Program) -> Program:
    """Number the values of every nest without structures inside, in place; returns the program.

    Nests with a scan axis are left alone: their accumulators change in the middle of the body.
    """
    for s in walk(program.body):
        if isinstance(s, Nest) and is_plain(s) and not any(a.kind == "scan" for a in s.axes):
            s.body, s.tail = numbered(s.body), numbered(s.tail)
    return program


def elsewhere(a: IndexKey, b: IndexKey) -> bool:
    """Are these two elements wherever the axes stand?"""
    return a[1] == b[1] and isinstance(shift := a[0] - b[0], int) and shift != 0


def numbered(statements: Sequence[Statement]) -> list[Statement]:
    """Straight-line statements without those that compute what is known already."""
    table = ValueTable()
    for s in statements:
        table.add(s)
    return table.kept


class ValueTable:
    """What straight-line statements, given one by one, have computed so far.

    Attributes
    ----------
    kept : list of Statement
        The statements that were needed, under the names that stand.
    names : dict
        Each scalar that is no longer defined, and the operand that stands for it.
    """

    def __init__(self) -> None:
        self.kept: list[Statement] = []
        self.names: dict[Name, Operand] = {}
        self.known: dict[tuple[Any, ...], Name] = {}
        self.memory: dict[Buffer, dict[IndexKey, Operand]] = {}

    def add(self, s: Statement) -> None:
        """Append a statement, unless its value is known."""
        if self.names:
            s = renamed(s, self.names)
        known: Any = None
        match s:
            case Load(out, buffer, index, None):
                known = self.memory.setdefault(buffer, {}).setdefault(index.key, out)
            case Compute(out, op, args, dtype, argtype):
                known = self.known.setdefault((op, args, dtype, argtype), out)
            case Size_(out, size):
                known = self.known.setdefault(("size", size), out)
            case Store(buffer, index, value, add, guard):
                left = {key: v for key, v in self.memory.get(buffer, {}).items() if elsewhere(key, index.key)}
                self.memory[buffer] = left if add or guard is not None else {**left, index.key: value}
            case _:
                for buffer in s.writes():
                    self.memory.pop(buffer, None)
        if known is None or known == s.out:  # type: ignore[attr-defined]
            self.kept.append(s)
        else:
            self.names[s.out] = known  # type: ignore[attr-defined]
