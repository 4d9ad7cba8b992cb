"""The interface of statements of the loop IR, so that passes need not distinguish their kinds.

Knows no statement by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

from ...core.dataclass import dataclass
from ...core.dim import Dim, Size
from .operands import Buffer, Index, Name, Names, View, dims


class Statement:
    """One statement, and what it does by itself: what the statements of its `blocks` do is theirs to say.

    Attributes
    ----------
    has_blocks : bool
        There are statements inside of it.
    only_writes : bool
        All it does is to change the buffers it `writes`: nobody misses it when nobody reads those.
    ordered : bool
        It acts on the world outside, in the order of the program.
    binds : str or None
        The size atom that is known behind it.
    fills : sequence of Buffer
        Buffers that temps inside of it will become parts of.
    source : Location or None
        The place in the user's program that it stands for, where debug information is wanted.
    """

    source: Any = None
    has_blocks = False
    only_writes = False
    ordered = False
    binds: str | None = None
    fills: Sequence[Buffer] = ()

    def operands(self) -> tuple[Name, ...]:
        """The scalars it reads, other than in indices; an axis too where it is used as a number."""
        return ()

    def indices(self) -> Sequence[Index]:
        """The offsets into buffers that it works out."""
        return ()

    def uses(self) -> tuple[Name, ...]:
        """All names it reads: scalars, axes and loop indices."""
        return self.operands()

    def defines(self) -> tuple[Name, ...]:
        """The scalars that what follows it may use."""
        return ()

    def introduces(self) -> tuple[Name, ...]:
        """The names that only its own blocks may use."""
        return ()

    def reads(self) -> tuple[Buffer, ...]:
        """The buffers whose elements it reads, those it updates included."""
        return ()

    def writes(self) -> tuple[Buffer, ...]:
        """The buffers whose elements, memory or room it changes."""
        return ()

    def buffers(self) -> tuple[Buffer, ...]:
        """The buffers it mentions, some of them twice."""
        return ()

    def dims(self) -> Sequence[Dim]:
        """The symbolic sizes it depends on."""
        return ()

    def blocks(self) -> tuple[list[Statement], ...]:
        """The statements inside of it, in order of execution."""
        return ()

    def renamed(self, names: Names) -> Self:
        """The same under other names, in what it defines too, and in its blocks."""
        return self


def renamed(s: Statement, names: Names) -> Statement:
    """A statement under other names, which stands for the same place in the user's program."""
    made = s.renamed(names)
    if s.source is not None:
        made.source = s.source
    return made


def all_renamed(block: Sequence[Statement], names: Names) -> list[Statement]:
    """Statements under other names."""
    return [renamed(s, names) for s in block]


class Access(Statement):
    """A statement that touches buffers by itself."""

    def uses(self) -> tuple[Name, ...]:
        return (*[name for index in self.indices() for name in index.symbols], *self.operands())

    def buffers(self) -> tuple[Buffer, ...]:
        return (*self.reads(), *self.writes())

    def dims(self) -> Sequence[Dim]:
        return [size for index in self.indices() for size in index.dims]


class OfElement(Access):
    """An access to one element."""

    buffer: Buffer
    index: Index

    def indices(self) -> Sequence[Index]:
        return (self.index,)

    def uses(self) -> tuple[Name, ...]:
        return self.index.symbols + self.operands()

    def buffers(self) -> tuple[Buffer, ...]:
        return (self.buffer,)

    def dims(self) -> Sequence[Dim]:
        return self.index.dims


@dataclass
class OfViews(Access):
    """A function called with views of buffers and sizes."""

    function: str
    views: tuple[View, ...]
    sizes: tuple[Size, ...]

    def indices(self) -> Sequence[Index]:
        return [v.index for v in self.views]

    def reads(self) -> tuple[Buffer, ...]:
        return tuple([v.buffer for v in self.views])

    def dims(self) -> Sequence[Dim]:
        return (*dims(*self.sizes), *[d for v in self.views for d in v.dims()])

    def renamed(self, names: Names) -> Self:
        return replace(self, views=tuple([v.renamed(names) for v in self.views]))
