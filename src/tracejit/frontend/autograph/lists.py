"""Lists that are built in compiled loops: regular ones become tensors, one row per item."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...core.dim import known
from ...core.dispatch import as_tensor
from ...core.errors import TracejitError, at, user_location
from ...core.op import ops
from ...core.tensor import Tensor
from ...ops.indexing import get
from ...ops.shape import stack


class Growing:
    """A list inside the body of a compiled loop: it can be appended to, and its last item read.

    Parameters
    ----------
    origin : list
        What it was before the loop.
    last : value or None
        The last item at the start of the iteration, where it is known.
    """

    __slots__ = ("items", "last", "origin", "reads")

    def __init__(self, origin: Any, last: Any = None, reads: list[bool] | None = None):
        self.items: list[Any] = []
        self.origin, self.last = origin, last
        self.reads = [] if reads is None else reads  # not empty once the last item was read

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

    def _refused(self) -> TracejitError:
        return TracejitError(
            "a list that a compiled loop appends to can only be appended to inside of the loop; "
            f"keep what the next iteration reads in a variable of its own{at(user_location())}"
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__tensor__":
            raise AttributeError(name)
        raise self._refused()

    def __len__(self) -> int:
        raise self._refused()

    def __iter__(self) -> Iterator[Any]:
        raise self._refused()


class ListRefused(TracejitError, AttributeError):
    """A list cannot do here what Python's lists can."""


class Stacked:
    """A list that a compiled loop has built: items that were there before, then one per row of a tensor.

    Behaves as the tensor of all items wherever one is wanted.
    """

    __slots__ = ("parts",)

    def __init__(self, before: list[Any] | Stacked, rows: Tensor):
        if isinstance(before, Stacked):
            self.parts: list[Tensor] = [*before.parts, rows]
        else:
            self.parts = [*([stack(before)] if before else []), rows]

    def copy(self) -> Stacked:
        """The same list, to be changed apart from this one."""
        made = Stacked([], self.parts[0])
        made.parts = list(self.parts)
        return made

    def same(self, other: Any) -> bool:
        """Is it the same list, perhaps a copy?"""
        return (
            other.__class__ is Stacked
            and len(other.parts) == len(self.parts)
            and all(a is b for a, b in zip(self.parts, other.parts, strict=True))
        )

    @property
    def is_symbolic(self) -> bool:
        """It has no value while tracing."""
        return self.parts[0].is_symbolic

    def __tensor__(self) -> Tensor:
        if len(self.parts) > 1:
            self.parts = [ops.concat(*self.parts, axis=0)]
        return as_tensor(self.parts[0])

    def append(self, item: Any) -> None:
        """Add an item."""
        self.parts.append(stack([item]))

    def __getitem__(self, index: Any) -> Any:
        return get(self.__tensor__(), index)

    def __len__(self) -> int:
        return known(self.__tensor__().shape[0])

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def _refused(self) -> ListRefused:
        return ListRefused(
            "a list that a compiled loop has built can be read, indexed and appended to, and no more: take "
            f"tracejit.stack of it{at(user_location())}"
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._refused()

    def __setitem__(self, index: Any, value: Any) -> None:
        raise self._refused()

    def __delitem__(self, index: Any) -> None:
        raise self._refused()
