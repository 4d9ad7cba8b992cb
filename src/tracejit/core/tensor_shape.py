"""TensorShape: the sizes of a tensor as a tuple that can do more, for who asks a tensor for its shape.

Specs, and what is compared while tracing, hold plain tuples: they are compared and indexed much more often.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .dim import Dim, Size, product, same
from .errors import ShapeError, at, user_location

#: Comparisons made here are those of who calls: see `asking`.
COMPARES_FOR_CALLERS = True


class TensorShape(tuple[Any, ...]):
    """The sizes of a tensor, a tuple that also equals lists; what ``x.shape`` is.

    A size that is known only when a compiled function runs stands for itself and can be computed with.

    Parameters
    ----------
    dims : int or sequence of int, optional
        None in place of a size is any size, None in place of all of them any rank.

    Examples
    --------
    >>> import tracejit as tf
    >>> shape = tf.zeros((2, 3)).shape
    >>> shape, shape == [2, 3], shape.as_list(), shape.rank, shape.num_elements()
    (TensorShape([2, 3]), True, [2, 3], 2, 6)
    >>> print(shape, tuple(shape))
    (2, 3) (2, 3)
    >>> tf.TensorShape([None, 3]).is_compatible_with(shape)
    True
    """

    __slots__ = ()

    def __new__(cls, dims: Any = None) -> TensorShape:
        if dims is None or dims.__class__ is AnyRank:
            return tuple.__new__(AnyRank)
        return tuple.__new__(cls, [_size(d) for d in (dims if isinstance(dims, Iterable) else (dims,))])

    # ---- as a tuple -------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if other.__class__ is list:
            other = tuple(other)
        elif other.__class__ is AnyRank:
            return False
        return tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self) -> int:
        return tuple.__hash__(self)

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return tuple.__new__(TensorShape, found) if index.__class__ is slice else found

    def __add__(self, other: Any) -> TensorShape:
        return TensorShape((*self, *other))

    def __radd__(self, other: Any) -> TensorShape:
        return TensorShape((*other, *self))

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorShape, (tuple(self),)

    def __repr__(self) -> str:
        return f"TensorShape([{', '.join(map(repr, self))}])"

    def __str__(self) -> str:
        return tuple.__repr__(self)

    # ---- what is asked of it ----------------------------------------------------------------------------

    @property
    def rank(self) -> int | None:
        """Number of axes; None where it is not known."""
        return len(self)

    ndims = rank

    @property
    def dims(self) -> list[Any] | None:
        """The sizes as a list; None where their number is not known."""
        return list(self)

    def as_list(self) -> list[Any]:
        """The sizes as a list; ValueError where their number is not known."""
        return list(self)

    def num_elements(self) -> Size | None:
        """The product of the sizes; None where one is not known."""
        return None if None in tuple(self) else product(self)

    def is_fully_defined(self) -> bool:
        """Is every size a number?"""
        return all(isinstance(size, int) for size in self)

    def is_compatible_with(self, other: Any) -> bool:
        """May this and `other` be the shape of one tensor? None is any size, or any rank."""
        other = TensorShape(other)
        if other.rank is None:
            return True
        return len(self) == len(other) and all(
            a is None or b is None or same(a, b) for a, b in zip(self, other, strict=True)
        )

    def merge_with(self, other: Any) -> TensorShape:
        """The shape with the sizes that this or `other` knows; ShapeError where they contradict each other."""
        other = TensorShape(other)
        self.assert_is_compatible_with(other)
        if other.rank is None:
            return self
        return TensorShape([b if a is None else a for a, b in zip(self, other, strict=True)])

    def concatenate(self, other: Any) -> TensorShape:
        """The sizes of this shape, and then those of `other`."""
        other = TensorShape(other)
        return other if other.rank is None else TensorShape((*self, *other))

    def with_rank(self, rank: int) -> TensorShape:
        """This shape; ShapeError if its rank is not `rank`."""
        return self.merge_with([None] * rank)

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """This shape; ShapeError if its rank is less than `rank`."""
        return self if len(self) >= rank else _refuse(f"the shape {self} has a rank of less than {rank}")

    def assert_has_rank(self, rank: int) -> None:
        """ShapeError if the rank is not `rank`."""
        self.with_rank(rank)

    def assert_is_fully_defined(self) -> None:
        """ShapeError if a size is not a number."""
        if not self.is_fully_defined():
            _refuse(f"the shape {self} is not fully defined")

    def assert_is_compatible_with(self, other: Any) -> None:
        """ShapeError if no tensor has both this shape and `other`."""
        if not self.is_compatible_with(other):
            _refuse(f"the shapes {self} and {TensorShape(other)} are not compatible")


class AnyRank(TensorShape):
    """The shape of tensors of any rank."""

    __slots__ = ()

    @property
    def rank(self) -> int | None:
        return None

    ndims = rank

    @property
    def dims(self) -> list[Any] | None:
        return None

    def as_list(self) -> list[Any]:
        return _refuse("the rank of this shape is not known, nor are its sizes")

    def __len__(self) -> int:
        return _refuse("the rank of this shape is not known")

    def __bool__(self) -> bool:
        return False

    def __iter__(self) -> Iterator[Any]:
        return _refuse("the rank of this shape is not known, nor are its sizes")

    def __getitem__(self, index: Any) -> Any:
        return TensorShape(None) if index.__class__ is slice else None

    def __eq__(self, other: object) -> bool:
        return other.__class__ is AnyRank

    def __hash__(self) -> int:
        return tuple.__hash__(self)

    def __add__(self, other: Any) -> TensorShape:
        return self

    __radd__ = __add__

    def __repr__(self) -> str:
        return "TensorShape(None)"

    def __str__(self) -> str:
        return "<unknown>"

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorShape, (None,)

    def num_elements(self) -> Size | None:
        return None

    def is_fully_defined(self) -> bool:
        return False

    def is_compatible_with(self, other: Any) -> bool:
        return True

    def merge_with(self, other: Any) -> TensorShape:
        return TensorShape(other)

    def concatenate(self, other: Any) -> TensorShape:
        return self

    def with_rank_at_least(self, rank: int) -> TensorShape:
        return self


class _Shapes(dict[tuple[int, ...], TensorShape]):
    """The shapes of arrays, each made once: to find one takes half the time of making it."""

    def __missing__(self, sizes: tuple[int, ...]) -> TensorShape:
        if len(self) > 10_000:
            self.clear()
        made = self[sizes] = tuple.__new__(TensorShape, sizes)
        return made


#: The shape for a tuple of ints.
SHAPES: _Shapes = _Shapes()


def shape_of(sizes: tuple[Any, ...], symbolic: bool) -> TensorShape:
    """The shape of these `sizes`, some of which are Dims where `symbolic` says so."""
    return tuple.__new__(TensorShape, sizes) if symbolic else SHAPES[sizes]


def _size(size: Any) -> Any:
    if size is None or size.__class__ is int or isinstance(size, Dim):
        return size
    try:
        return int(size)
    except (TypeError, ValueError):
        return _refuse(f"a size is an integer, or None for one that is not known, not {size!r}")


def _refuse(what: str) -> Any:
    raise ShapeError(f"{what}{at(user_location())}")
