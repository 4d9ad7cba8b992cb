"""NumPy's functions of arrays as sets: different elements, and where they are; gradients reach the first of each."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core.op import ops
from ..core.tensor import Tensor
from .conversion import array, values_of


class _UniqueAll(NamedTuple):
    """The different elements, where the first of each is, where each element is among them, and how many there are."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class _UniqueCounts(NamedTuple):
    """The different elements, and how many there are of each."""

    values: Tensor
    counts: Tensor


class _UniqueInverse(NamedTuple):
    """The different elements, and where each element is among them."""

    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Any) -> _UniqueAll:
    """The different elements of `x`, of its dtype, each NaN by itself, in order, with vectors of int64 positions.

    SymbolicValue for what a traced function computes.
    """
    found = np.unique_all(values_of(x))
    values = ops.gather(_row(x), found.indices, axis=0)
    return _UniqueAll(values, *map(array, found[1:]))


def unique_counts(x: Any) -> _UniqueCounts:
    """The different elements of `x`, of its dtype, each NaN by itself, and counts (int64), as vectors.

    SymbolicValue for what a traced function computes.
    """
    found = unique_all(x)
    return _UniqueCounts(found.values, found.counts)


def unique_inverse(x: Any) -> _UniqueInverse:
    """The different elements of `x`, of its dtype, and in its shape where (int64) each element is among them.

    SymbolicValue for what a traced function computes.
    """
    found = unique_all(x)
    return _UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Any) -> Tensor:
    """The different elements of `x` as a vector of its dtype; SymbolicValue for what a traced function computes."""
    return unique_all(x).values


def _row(x: Any) -> Tensor:
    whole = array(x)
    return ops.reshape(whole, shape=(whole.spec.size,))


def _first_of_each(x: Any, other: Any, find: Any) -> Tensor:
    """Elements of `x` at the positions `find` says of the different values of both."""
    row = _row(x)
    values, first = np.unique(values_of(x), return_index=True)
    return ops.gather(row, first[find(values, np.unique(values_of(other)))], axis=0)


def intersect1d(ar1: Any, ar2: Any) -> Tensor:
    """The different elements of `ar1` that are in `ar2` too, in order, of the dtype of `ar1`, as a vector.

    SymbolicValue for what a traced function computes.
    """
    return _first_of_each(ar1, ar2, np.isin)


def setdiff1d(ar1: Any, ar2: Any) -> Tensor:
    """The different elements of `ar1` that are not in `ar2`, in order, of the dtype of `ar1`, as a vector.

    SymbolicValue for what a traced function computes.
    """
    return _first_of_each(ar1, ar2, lambda a, b: ~np.isin(a, b))


def union1d(ar1: Any, ar2: Any) -> Tensor:
    """The different elements of `ar1` and `ar2` in order, promoted, as a vector.

    SymbolicValue for what a traced function computes.
    """
    both = ops.concat(*_promoted(ar1, ar2), axis=0)
    return ops.gather(both, np.unique(both.array, return_index=True)[1], axis=0)


def setxor1d(ar1: Any, ar2: Any) -> Tensor:
    """The different elements that are in one of `ar1` and `ar2`, not in both, in order, promoted, as a vector.

    SymbolicValue for what a traced function computes.
    """
    return union1d(setdiff1d(ar1, ar2), setdiff1d(ar2, ar1))


def _promoted(ar1: Any, ar2: Any) -> list[Tensor]:
    rows = [_row(x) for x in (ar1, ar2)]
    dtype = np.result_type(*[x.dtype for x in rows])
    return [ops.cast(x, dtype=dtype) for x in rows]
