"""Sorted tensors, the largest elements, and elements by their positions along an axis.

What is sorted is gathered in the order that ``argsort`` finds, so derivatives follow the permutation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..arrays.cutting import gather
from ..core.errors import ShapeError, at, user_location
from ..core.op import ops
from ..core.spec import as_dtype
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from ..frontend.control.reductions import reduce_sum
from ..frontend.creation import is_known, known
from ..nn.cross_entropy import picked
from ..ops.arrays.reduce import one_axis
from ..ops.arrays.shape import expand_dims, sizes_of
from ..ops.arrays.sort import descending
from ..ops.elementwise.arithmetic import matched
from ..ops.tensor.indexing import get
from ..ops.tensor.late_slices import selected
from ..ops.text_values import computed

_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)


def take_along(x: Any, indices: Any, axis: int = -1) -> Tensor:
    """Elements of `x` along `axis` at `indices`, which differ from row to row.

    Examples
    --------
    >>> from tracejit.math.sorting import take_along
    >>> print(take_along([[1.0, 2.0], [3.0, 4.0]], [[1], [0]]))
    tf.Tensor(
    [[2.]
     [3.]], shape=(2, 1), dtype=float32)
    """
    x, indices = as_tensor(x), as_tensor(indices)
    rank = len(x.shape)
    if len(indices.shape) != rank:
        raise ShapeError(
            f"positions {indices.spec} for {x.spec}: as many axes are needed{at(user_location())}"
        )
    axis = one_axis(int(axis), rank)
    if rank == 1:
        return gather(x, indices)
    last = (*(a for a in range(rank) if a != axis), axis)
    rows, where = (ops.transpose(v, perm=last) for v in (x, indices))
    back = tuple([last.index(a) for a in range(rank)])
    return ops.transpose(gather(rows, where, batch_dims=rank - 1), perm=back)


def order(values: Any, axis: int = -1, descends: bool = False) -> Tensor:
    """Positions (int64) that sort along `axis`; equal elements keep their order, NaN is last."""
    x = as_tensor(values)
    return ops.argsort(descending(x) if descends else x, axis=axis)


def _descends(direction: str) -> bool:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"direction is 'ASCENDING' or 'DESCENDING', got {direction!r}{at(user_location())}")
    return direction == "DESCENDING"


def argsort(
    values: Any, axis: int = -1, direction: str = "ASCENDING", stable: bool = True, name: str | None = None
) -> Tensor:
    """Positions (int32) that sort along `axis`; equal elements keep their order, NaN is last.

    Parameters
    ----------
    values : tensor-like of real numbers
    axis : int
    direction : str
        ``"ASCENDING"`` or ``"DESCENDING"``.
    stable : bool
        Accepted; it always is.

    Raises
    ------
    ValueError
        For another direction, and an axis that is not there.
    DtypeError
        For complex numbers and strings.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.argsort([3.0, 1.0, 2.0]))
    tf.Tensor([1 2 0], shape=(3,), dtype=int32)
    """
    return ops.cast(order(values, axis, _descends(direction)), dtype=_INT32)


def sort(values: Any, axis: int = -1, direction: str = "ASCENDING", name: str | None = None) -> Tensor:
    """The elements of `values` along `axis` in order, NaN last, of their dtype; gradients go back to where each was.

    `direction` is ``"ASCENDING"`` or ``"DESCENDING"``; ValueError for others. DtypeError for complex numbers and
    strings.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.sort([3.0, 1.0, 2.0], direction="DESCENDING"))
    tf.Tensor([3. 2. 1.], shape=(3,), dtype=float32)
    """
    x = as_tensor(values)
    return take_along(x, order(x, axis, _descends(direction)), axis)


class TopKV2(NamedTuple):
    """The largest elements, and their positions."""

    values: Tensor
    indices: Tensor


def top_k(
    input: Any, k: int = 1, sorted: bool = True, index_type: Any = np.int32, name: str | None = None
) -> TopKV2:
    """The `k` largest elements along the last axis and their positions, of equal ones the first.

    Parameters
    ----------
    input : tensor-like of real numbers
        NaN counts as smaller than every number.
    k : int
    sorted : bool
        Accepted; they always are, the largest first.
    index_type : dtype-like

    Returns
    -------
    TopKV2
        A tuple of `values` and `indices`.

    Raises
    ------
    ValueError
        For a `k` that is negative, or larger than the axis.
    DtypeError
        For complex numbers.

    Examples
    --------
    >>> import tracejit as tf
    >>> values, indices = tf.math.top_k([1.0, 5.0, 3.0], k=2)
    >>> print(values, indices)
    tf.Tensor([5. 3.], shape=(2,), dtype=float32) tf.Tensor([1 2], shape=(2,), dtype=int32)
    """
    x = as_tensor(input)
    size = x.shape[-1] if x.shape else 0
    (count,) = sizes_of((k,))
    if not 0 <= count <= size:
        raise ValueError(f"the {count} largest of {size} elements of {x.spec}{at(user_location())}")
    positions = get(order(x, -1, True), (Ellipsis, slice(0, count)))
    return TopKV2(take_along(x, positions), ops.cast(positions, dtype=as_dtype(index_type)))


def in_top_k(targets: Any, predictions: Any, k: int, name: str | None = None) -> Tensor:
    """Is the score of each target class among the `k` largest of its row? Equal scores count as one place.

    Parameters
    ----------
    targets : tensor-like of integers, ``(rows,)``
    predictions : tensor-like of floats, ``(rows, classes)``
        A score that is infinite or NaN is not among the largest.
    k : int

    Raises
    ------
    IndexError
        When a target is no class.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.in_top_k([1, 0], [[0.1, 0.9], [0.2, 0.8]], k=1))
    tf.Tensor([ True False], shape=(2,), dtype=bool)
    """
    scores, classes = as_tensor(predictions), as_tensor(targets)
    own = picked(scores, classes)
    larger = reduce_sum(ops.cast(ops.greater(scores, expand_dims(own, -1)), dtype=_INT32), 1)
    return ops.logical_and(ops.less(larger, int(k)), ops.less(ops.abs(own), np.inf))


def invert_permutation(x: Any, name: str | None = None) -> Tensor:
    """Where each number of a permutation `x` stands, a vector of its dtype; IndexError for a number beyond its size.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.invert_permutation([2, 0, 1]))
    tf.Tensor([1 2 0], shape=(3,), dtype=int32)
    """
    x = as_tensor(x)
    number = ops.iota(size=x.shape[0], dtype=x.dtype)
    return ops.scatter_set(ops.fill(shape=x.shape, value=0, dtype=x.dtype), x, number, axis=0)


def searchsorted(
    sorted_sequence: Any, values: Any, side: str = "left", out_type: Any = np.int32, name: str | None = None
) -> Tensor:
    """Where along the last axis of a sorted sequence each value belongs.

    Parameters
    ----------
    sorted_sequence : tensor-like
        Sorted along its last axis, NaN last; leading axes as those of `values`.
    values : tensor-like
        NaN belongs where NaN begins, or behind all with ``"right"``.
    side : str
        ``"left"``, before equal elements, or ``"right"``, behind them.
    out_type : dtype-like

    Returns
    -------
    Tensor
        The shape of `values`, of `out_type`.

    Raises
    ------
    ValueError
        For another `side`.
    ShapeError
        Where leading axes differ, or the size of the sequence is known only at run time.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.searchsorted([1, 3, 5], [0, 3, 6]))
    tf.Tensor([0 1 3], shape=(3,), dtype=int32)
    """
    if side not in ("left", "right"):
        raise ValueError(f"side is 'left' or 'right', got {side!r}{at(user_location())}")
    x, wanted = matched((sorted_sequence, values), {})[0]
    before = _before(wanted, side)
    low = ops.fill(shape=wanted.shape, value=0, dtype=_INT64)
    size = x.shape[-1]
    if not isinstance(size, int):
        raise ShapeError(f"searchsorted takes a sequence of known size, got {x.spec}{at(user_location())}")
    step = 1 << size.bit_length() >> 1
    while step:  # of the first `low` elements all are known to come before
        there = ops.minimum(low + (step - 1), max(size - 1, 0))
        further = ops.logical_and(low + step <= size, before(take_along(x, there)))
        low, step = ops.where(further, low + step, low), step // 2
    return ops.cast(low, dtype=as_dtype(out_type))


def _before(wanted: Any, side: str) -> Callable[[Any], Any]:
    """Does an element come before the place of a value? NaN is above all numbers."""
    if side == "left":
        return lambda x: ops.logical_or(
            ops.less(x, wanted), ops.logical_and(_is_no_number(wanted), ops.equal(x, x))
        )
    return lambda x: ops.logical_or(ops.less_equal(x, wanted), _is_no_number(wanted))


def _is_no_number(x: Any) -> Any:
    return ops.not_equal(x, x)


class Unique(NamedTuple):
    """The different elements in the order they first come, and for each place the position among them."""

    y: Tensor
    idx: Tensor


class UniqueWithCounts(NamedTuple):
    """As :class:`Unique`, and how often each comes."""

    y: Tensor
    idx: Tensor
    count: Tensor  # type: ignore[assignment]  # not how often the tuple holds something


def unique(x: Any, out_idx: Any = np.int32, name: str | None = None) -> Unique:
    """The different elements of a vector `x`, and for each place the position among them, of the dtype `out_idx`.

    In a compiled function that computes them, how many differ shows when it runs. ShapeError for what is no vector.

    Examples
    --------
    >>> import tracejit as tf
    >>> y, idx = tf.unique([7, 7, 2, 7])
    >>> print(y, idx)
    tf.Tensor([7 2], shape=(2,), dtype=int32) tf.Tensor([0 0 1 0], shape=(4,), dtype=int32)
    """
    return Unique(*_unique(x, out_idx)[:2])


def unique_with_counts(x: Any, out_idx: Any = np.int32, name: str | None = None) -> UniqueWithCounts:
    """As :func:`unique` of `x`, and how often each element comes, of the dtype `out_idx` too.

    ShapeError for what is no vector.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.unique_with_counts([7, 7, 2, 7]).count)
    tf.Tensor([3 1], shape=(2,), dtype=int32)
    """
    return UniqueWithCounts(*_unique(x, out_idx))


def _unique(x: Any, out_idx: Any) -> tuple[Tensor, Tensor, Tensor]:
    if not is_known(x):
        return _unique_late(as_tensor(x), as_dtype(out_idx))
    values = known(x)
    if values.ndim != 1:
        raise ShapeError(f"takes a vector, got the shape {values.shape}{at(user_location())}")
    first, place, count = np.unique(values, return_index=True, return_inverse=True, return_counts=True)[1:]
    rank = np.argsort(first)
    numbers = (np.argsort(rank)[place], count[rank])
    idx, often = (as_tensor(v.astype(as_dtype(out_idx))) for v in numbers)
    return ops.gather(x, first[rank], axis=0), idx, often


def _unique_late(x: Any, dtype: np.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """The same of a vector that a compiled function computes; how many differ shows when it runs."""
    if len(x.shape) != 1:
        raise ShapeError(f"takes a vector, got {x.spec}{at(user_location())}")
    met, places = _met_first(x), ops.iota(size=x.shape[0], dtype=_INT64)
    is_first = ops.equal(met, places)
    first = selected(is_first)
    number = ops.subtract(ops.cumsum(ops.cast(is_first, dtype=_INT64), axis=0), 1)
    idx = ops.gather(number, met, axis=0)
    ones = ops.fill(shape=x.shape, value=1, dtype=_INT64)
    often = ops.scatter_add(ops.fill(shape=first.shape, value=0, dtype=_INT64), idx, ones, axis=0)
    return ops.gather(x, first, axis=0), ops.cast(idx, dtype=dtype), ops.cast(often, dtype=dtype)


def _met_first(x: Any) -> Any:
    """For each element of a vector the position (int64) at which an equal one comes first; NaN equals NaN."""
    if x.np_dtype.kind == "O":
        return computed(_first_equal, [x], _INT64)
    order, places = ops.argsort(x, axis=0), ops.iota(size=x.shape[0], dtype=_INT64)
    ordered = ops.gather(x, order, axis=0)
    before_it = ops.gather(ordered, ops.maximum(ops.subtract(places, 1), 0), axis=0)
    equal = ops.logical_or(
        ops.equal(ordered, before_it), ops.logical_and(_is_no_number(ordered), _is_no_number(before_it))
    )
    begins = ops.logical_or(ops.equal(places, 0), ops.logical_not(equal))
    group = ops.subtract(ops.cumsum(ops.cast(begins, dtype=_INT64), axis=0), 1)
    first = ops.gather(ops.gather(order, selected(begins), axis=0), group, axis=0)
    return ops.scatter_set(ops.fill(shape=x.shape, value=0, dtype=_INT64), order, first, axis=0)


def _first_equal(texts: np.ndarray) -> np.ndarray:
    met: dict[bytes, int] = {}
    return np.array([met.setdefault(text, place) for place, text in enumerate(texts)], _INT64)
