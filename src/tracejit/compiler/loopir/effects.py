"""The effects of statements and of all statements inside of them.

Decides nothing; the passes ask it what may change places.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...core.dataclass import dataclass
from ...core.dim import nonnegative
from .ir import Compute, Fail, Nest, walk
from .operands import Buffer
from .statement import Access, OfElement, Statement

OUTSIDE = "the world outside"
CHECKS = "whether the program goes on"


@dataclass(slots=True)
class Effects:
    """What a statement needs of those before it, and what those behind it may see of it.

    Attributes
    ----------
    reads, writes : set
        Buffers, scalars of the block around it by name, sizes as ``("size", atom)``, ``OUTSIDE`` and
        ``CHECKS``. What looks up a computed position in memory that may be empty reads ``CHECKS``: positions are kept
        within an axis that has any, and the check that fails where there are none must have been made before.
    """

    reads: set[Any]
    writes: set[Any]

    def conflicts(self, later: Effects) -> bool:
        """Must `later` stay behind this?"""
        return not (
            self.writes.isdisjoint(later.reads)
            and self.writes.isdisjoint(later.writes)
            and self.reads.isdisjoint(later.writes)
        )

    def join(self, later: Effects) -> None:
        """Make these the effects of both."""
        self.reads |= later.reads
        self.writes |= later.writes


def effects(statement: Statement) -> Effects:
    """The effects of a statement with all it holds."""
    reads: set[Any] = set()
    writes: set[Any] = set(statement.defines())
    inner: set[str] = set()
    axes: set[str] = set()
    for s in walk([statement]):
        if s.__class__ is Compute:  # as most are: arithmetic touches no memory
            reads.update(s.operands())
            inner.update(s.defines())
            continue
        reads.update(s.uses())
        inner.update(s.defines())
        if isinstance(s, Access):
            reads.update(s.reads())
            writes.update(s.writes())
            if isinstance(s, OfElement) and not (
                axes.issuperset(s.index.symbols) or nonnegative(s.buffer.size - 1)
            ):
                reads.add(CHECKS)
        for size in s.dims():
            reads.update([("size", a.name) for a in size.atoms()])
        if s.has_blocks:
            axes.update(s.introduces())
            writes.update(s.fills)
        if s.binds is not None:
            writes.add(("size", s.binds))
        if s.ordered:
            writes.add(OUTSIDE)
        if isinstance(s, Fail):
            writes.add(CHECKS)
    return Effects(reads - inner - axes, writes)


def sequences(body: list[Statement]) -> Iterator[list[Statement]]:
    """The body and every list of statements in it that runs in order: those of loops and branches, not of nests."""
    yield body
    for s in walk(body):
        if not isinstance(s, Nest):
            yield from s.blocks()


def is_plain(statement: Statement) -> bool:
    """Is it a nest without structures in its body?"""
    return isinstance(statement, Nest) and not any(s.has_blocks for s in statement.body)


def mentioned(statements: list[Statement]) -> dict[Buffer, None]:
    """The buffers that statements and all they hold mention, in order of first mention."""
    return {b: None for s in walk(statements) if isinstance(s, Access) for b in s.buffers()}
