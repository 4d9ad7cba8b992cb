"""A list built by a compiled loop inside of another loop that changes its items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ....core.tensor import Tensor
from .kinds import Kind
from .stacked import Stacked


class Rows(NamedTuple):
    """The type of a list that a loop has built, whose items another loop changes: they go round as one tensor.

    Attributes
    ----------
    of : Stacked or None
        The list, where it stays the same object.
    kind : Kind
    """

    of: Stacked | None
    kind: Kind

    def same(self, other: Any) -> bool:
        """The same list, of one type?"""
        return isinstance(other, Rows) and self.of is other.of and self.kind == other.kind

    def kinds(self) -> list[Kind]:
        """The types of what goes round."""
        return [self.kind]

    def spread(self, x: Stacked) -> list[Tensor]:
        """What goes round for a value."""
        return [x.__tensor__()]

    def value(self, take: Iterator[Tensor]) -> Stacked:
        """The list, of what went round."""
        if self.of is None:
            return Stacked.of([next(take)])
        self.of.parts = [next(take)]
        return self.of
