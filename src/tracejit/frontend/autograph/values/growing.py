"""Lists to which the body of a compiled loop appends: regular ones become tensors, one row per item."""

from __future__ import annotations

from typing import Any

from .built_list import BuiltList


class Growing(BuiltList):
    """A list inside the body of a compiled loop: it can be appended to, and its last item read.

    Parameters
    ----------
    origin : list
        What it was before the loop.
    last : value or None
        The last item at the start of the iteration, where it is known.
    """

    __slots__ = ("items", "last", "origin", "reads")
    refusal = (
        "a list that a compiled loop appends to can only be appended to inside of the loop; "
        "keep what the next iteration reads in a variable of its own"
    )

    def __init__(self, origin: Any, last: Any = None, reads: list[bool] | None = None):
        self.items: list[Any] = []
        self.origin: Any = origin
        self.last: Any = last
        self.reads: list[bool] = [] if reads is None else reads  # not empty once the last item was read

    def copy(self) -> Growing:
        """The same list, to be changed apart from this one."""
        made = Growing(self.origin, self.last, self.reads)
        made.items = list(self.items)
        return made

    def append(self, item: Any) -> None:
        """Add an item."""
        self.items.append(item)

    def extend(self, items: Any) -> None:
        """Add items."""
        self.items.extend(items)

    def __iadd__(self, items: Any) -> Growing:
        self.items.extend(items)
        return self

    def __add__(self, items: Any) -> Growing:
        made = self.copy()
        made.items.extend(items)
        return made

    def __getitem__(self, index: Any) -> Any:
        newest = index.__class__ is int and index == -1
        if newest and self.items:
            return self.items[-1]
        if newest and self.last is not None:
            self.reads.append(True)
            return self.last
        raise self._refused()
