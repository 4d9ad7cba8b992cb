"""NumPy's functions of arrays as sets.

Of different elements gradients reach the first of each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...core.op import ops
from ...core.tensor import Tensor
from ...core.tracing.promotion import joint_dtype
from ...ops.arrays.reduce import one_axis
from ...ops.arrays.shape import expand_dims
from ...ops.elementwise.arithmetic import matched
from ..conversion import array, values_of


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

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.unique_all([3, 1, 3]).values)
    tf.Tensor([1 3], shape=(2,), dtype=int64)
    """
    found = np.unique_all(values_of(x))
    values = ops.gather(_row(x), found.indices, axis=0)
    return _UniqueAll(values, *map(array, found[1:]))


def unique_counts(x: Any) -> _UniqueCounts:
    """The different elements of `x`, of its dtype, each NaN by itself, and counts (int64), as vectors.

    SymbolicValue for what a traced function computes.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.unique_counts([3, 1, 3]).counts)
    tf.Tensor([1 2], shape=(2,), dtype=int64)
    """
    found = unique_all(x)
    return _UniqueCounts(found.values, found.counts)


def unique_inverse(x: Any) -> _UniqueInverse:
    """The different elements of `x`, of its dtype, and in its shape where (int64) each element is among them.

    SymbolicValue for what a traced function computes.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.unique_inverse([3, 1, 3]).inverse_indices)
    tf.Tensor([1 0 1], shape=(3,), dtype=int64)
    """
    found = unique_all(x)
    return _UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Any) -> Tensor:
    """The different elements of `x` as a vector of its dtype; SymbolicValue for what a traced function computes.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.unique_values([3, 1, 3]))
    tf.Tensor([1 3], shape=(2,), dtype=int64)
    """
    return unique_all(x).values


def _row(x: Any) -> Tensor:
    whole = array(x)
    return ops.reshape(whole, shape=(whole.spec.size,))


def _first_of_each(x: Any, other: Any, find: Any) -> Tensor:
    """Elements of `x` at the positions `find` says of the different values of both."""
    row = _row(x)
    values, first = np.unique(values_of(x), return_index=True)
    return ops.gather(row, first[find(values, np.unique(values_of(other)))], axis=0)


def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Tensor:
    """Is each element of `element` one of `test_elements`, or with `invert` none? Bools; DtypeError for strings.

    `assume_unique` and `kind` are accepted.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.isin([1, 2, 3], [2, 4]))
    tf.Tensor([False  True False], shape=(3,), dtype=bool)
    """
    x, others = matched((array(element), array(test_elements)), {})[0]
    row = ops.reshape(others, shape=(others.spec.size,))
    present = ops.reduce_max(ops.equal(expand_dims(x, -1), row), axis=len(x.shape))
    return ops.logical_not(present) if invert else present


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
) -> Any:
    """The different elements of `ar` in order, which are known when this is called; gradients reach the first ones.

    Also, as asked by `return_index`, `return_inverse` and `return_counts`, the positions (int64) of the first ones, for
    each place the position among the results, and counts. With an `axis` the different parts along it, in the order of
    their first elements. NaN is one element with `equal_nan`. The dtype stays.
    ShapeError for an axis that is not there.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.unique([3, 1, 3]))
    tf.Tensor([1 3], shape=(2,), dtype=int64)
    """
    x, known = array(ar), values_of(ar)
    whole = ops.reshape(x, shape=(x.spec.size,)) if axis is None else x
    along = 0 if axis is None else one_axis(axis, len(x.shape))
    first, inverse, counts = np.unique(
        known, return_index=True, return_inverse=True, return_counts=True, axis=axis, equal_nan=equal_nan
    )[1:]
    asked = ((return_index, first), (return_inverse, inverse), (return_counts, counts))
    others = [array(v) for wanted, v in asked if wanted]
    values = ops.gather(whole, first, axis=along)
    return (values, *others) if others else values


def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The different elements of `ar1` that are in `ar2` too, in order, of the dtype of `ar1`, as a vector.

    With `return_indices` also where (int64) the first of each is in both; `assume_unique` says that none is there
    twice. SymbolicValue for what a traced function computes.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.intersect1d([1, 2, 3], [2, 3, 4]))
    tf.Tensor([2 3], shape=(2,), dtype=int64)
    """
    a, b = (values_of(x) for x in (ar1, ar2))
    _, first, second = np.intersect1d(a, b, assume_unique, return_indices=True)
    common = ops.gather(_row(ar1), first, axis=0)
    return (common, array(first), array(second)) if return_indices else common


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    """The different elements of `ar1` that are not in `ar2`, in order, of the dtype of `ar1`, as a vector.

    With `assume_unique` in the order of `ar1`. SymbolicValue for what a traced function computes.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.setdiff1d([1, 2, 3], [2]))
    tf.Tensor([1 3], shape=(2,), dtype=int64)
    """
    if assume_unique:
        missing = ~np.isin(values_of(ar1).ravel(), values_of(ar2))
        return ops.gather(_row(ar1), np.flatnonzero(missing), axis=0)
    return _first_of_each(ar1, ar2, lambda a, b: ~np.isin(a, b))


def union1d(ar1: Any, ar2: Any) -> Tensor:
    """The different elements of `ar1` and `ar2` in order, promoted, as a vector.

    SymbolicValue for what a traced function computes.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.union1d([1, 2], [2, 3]))
    tf.Tensor([1 2 3], shape=(3,), dtype=int64)
    """
    both = ops.concat(*_promoted(ar1, ar2), axis=0)
    return ops.gather(both, np.unique(both.array, return_index=True)[1], axis=0)


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    """The different elements that are in one of `ar1` and `ar2`, not in both, in order, promoted, as a vector.

    `assume_unique` says that none is there twice. SymbolicValue for what a traced function computes.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.setxor1d([1, 2], [2, 3]))
    tf.Tensor([1 3], shape=(2,), dtype=int64)
    """
    return union1d(setdiff1d(ar1, ar2), setdiff1d(ar2, ar1))


def _promoted(ar1: Any, ar2: Any) -> list[Tensor]:
    rows = [_row(x) for x in (ar1, ar2)]
    dtype = joint_dtype(*[x.np_dtype for x in rows])
    return [ops.cast(x, dtype=dtype) for x in rows]


# ---- orders ---------------------------------------------------------------------------------------------
