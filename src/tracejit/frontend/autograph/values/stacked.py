"""Lists that compiled loops have built: tensors, one row per item, that do what Python's lists do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ....core.dim import known, nonnegative, unknown
from ....core.errors import Untraceable, at, user_location
from ....core.op import ops
from ....core.spec import TensorSpec
from ....core.tensor import Tensor
from ....core.tracing.dispatch import as_tensor
from ....ops.arrays.shape import stack
from ....ops.tensor.indexing import get
from ...state.either import is_alias
from .built_list import BuiltList


class Stacked(BuiltList):
    """A list that a compiled loop has built: items that were there before, then one per row of a tensor.

    Behaves as the tensor of all items wherever one is wanted.
    """

    __slots__ = ("parts",)
    refusal = (
        "how long a list is that a compiled loop has built, is known only when the function runs: it can be read, "
        "indexed, appended to, and gone over by a loop, its items being alike; for more take tracejit.stack of it"
    )

    def __init__(self, before: list[Any] | Stacked, rows: Tensor):
        if isinstance(before, Stacked):
            self.parts: list[Tensor] = [*before.parts, rows]
        else:
            self.parts = [*([stack(numbers(before))] if before else []), rows]

    @classmethod
    def of(cls, parts: Iterable[Tensor]) -> Stacked:
        """The list of all rows of some tensors."""
        first, *others = parts
        made = cls([], first)
        made.parts += others
        return made

    def copy(self) -> Stacked:
        """The same list, to be changed apart from this one."""
        return Stacked.of(self.parts)

    def same(self, other: Any) -> bool:
        """Is it the same list, perhaps a copy?"""
        return (
            other.__class__ is Stacked
            and len(other.parts) == len(self.parts)
            and all(a is b for a, b in zip(self.parts, other.parts, strict=True))
        )

    @property
    def spec(self) -> TensorSpec:
        """That of the tensor of all items."""
        first, *others = self.parts
        return first.spec.with_shape((sum((p.shape[0] for p in others), first.shape[0]), *first.shape[1:]))

    @property
    def is_symbolic(self) -> bool:
        """It has no value while tracing."""
        return self.parts[0].is_symbolic

    def __tensor__(self) -> Tensor:
        if len(self.parts) == 1:
            return as_tensor(self.parts[0])
        joined = ops.concat(*self.parts, axis=0)
        if any(p.is_symbolic and p.value.graph is joined.value.graph for p in self.parts):
            self.parts = [joined]  # else it belongs to a region inside of the one that the list is of
        return joined

    def _rows(self, items: Any) -> list[Tensor]:
        """Items as parts of this list, which they must be like."""
        if items.__class__ is Stacked:
            rows = list(items.parts)
        elif isinstance(items, Tensor):
            rows = [items]
        else:
            dtype, items = self.parts[0].np_dtype, numbers(items)
            fits = {int: "iufcV", float: "fcV"}  # Python numbers take the dtype of the others
            items = [as_tensor(x, dtype) if dtype.kind in fits.get(x.__class__, "") else x for x in items]
            rows = [stack(items)] if items else []
        model = self.parts[0].spec
        if any(r.np_dtype != model.dtype or r.shape[1:] != model.shape[1:] for r in rows):
            raise self._refused()
        return rows

    # ---- what lists do ----------------------------------------------------------------------------------

    def append(self, item: Any) -> None:
        """Add an item."""
        self.parts = [*self.parts, *self._rows([item])]

    def extend(self, items: Any) -> None:
        """Add items."""
        self.parts = [*self.parts, *self._rows(items)]

    def __iadd__(self, items: Any) -> Stacked:
        self.extend(items)
        return self

    def __add__(self, items: Any) -> Any:
        return Stacked.of([*self.parts, *self._rows(items)]) if _is_list(items) else NotImplemented

    def __radd__(self, items: Any) -> Any:
        return Stacked.of([*self._rows(items), *self.parts]) if _is_list(items) else NotImplemented

    def __mul__(self, times: Any) -> Any:
        if times.__class__ is not int:
            return NotImplemented
        return Stacked.of(self.parts * times or [get(self.parts[0], slice(0, 0))])

    __rmul__ = __mul__

    def __imul__(self, times: Any) -> Any:
        if times.__class__ is not int:
            raise self._refused()
        self.parts = (self * times).parts
        return self

    def surely_last(self) -> Any:
        """The last item; None where there may be none, depending on what the loop did."""
        return self[-1] if any(map(_is_filled, self.parts)) else None

    def insert(self, index: Any, item: Any) -> None:
        """Add an item as the first."""
        if index.__class__ is not int or index != 0:
            raise self._refused()
        self.parts = [*self._rows([item]), *self.parts]

    def pop(self, index: Any = -1) -> Any:
        """Take the last item of a list that is not empty whatever the loop did."""
        if index.__class__ is not int or index != -1:
            raise self._refused()
        last, rows = self.surely_last(), self.__tensor__()
        if last is None:
            raise self._refused()
        self.parts = [get(rows, slice(None, -1))]
        return last

    def reverse(self) -> None:
        """Put the items into the opposite order."""
        self.parts = [get(rows, slice(None, None, -1)) for rows in reversed(self.parts)]

    def clear(self) -> None:
        """Leave no items."""
        self.parts = [get(self.parts[0], slice(0, 0))]

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, slice):
            raise self._refused()
        rows: Any = self.__tensor__()
        self.parts = [rows.at[index].set(value)]

    def __getitem__(self, index: Any) -> Any:
        part = get(self.__tensor__(), index)
        return Stacked.of([part]) if isinstance(index, slice) else part

    def __len__(self) -> int:
        if unknown(self.__tensor__().shape[0]):
            raise self._refused()
        return known(self.__tensor__().shape[0])

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])


def numbers(items: Iterable[Any]) -> list[Any]:
    """Items of a list that a compiled loop builds: values of now, and no Variable, which may change."""
    values = list(items)
    if any(map(is_alias, values)):
        raise Untraceable(
            "a list that a compiled loop builds holds numbers, and a Variable may change: append its value now, "
            f"as v.read_value() is{at(user_location())}"
        )
    return values


def _is_list(x: Any) -> bool:
    return x.__class__ is list or x.__class__ is Stacked


def _is_filled(rows: Tensor) -> bool:
    """Is there surely a row?"""
    return nonnegative(rows.shape[0] - 1)
