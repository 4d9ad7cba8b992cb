"""Sums, means and extremes over segments: parts of a tensor that share a number, wherever they are.

Written with scatters; what of it can be counted (``bincount``, ``confusion_matrix``) is a sum of ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.selection import as_size, largest
from ..arrays.slicing import scatter_nd, tensor_scatter_nd_max, tensor_scatter_nd_min
from ..core.dim import Dim, Size, product, same
from ..core.errors import DtypeError, OutOfRange, ShapeError, WrongNumber, at, user_location
from ..core.op import ops
from ..core.spec import as_dtype
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from ..frontend.control.reductions import reduce_prod
from ..frontend.conversion import convert_to_tensor
from ..frontend.creation import is_known, known
from ..ops.arrays.reduce import size_tensor
from ..ops.elementwise.division import truncatediv
from ..ops.tensor.indexing import get
from .elementary import is_non_decreasing

_INT64, _FLOAT32 = np.dtype("int64"), np.dtype("float32")
_UNSORTED = "segment numbers are sorted here; unsorted_segment_sum and its kin take them in any order"


def _numbers(data: Any, segment_ids: Any, count: Any) -> tuple[Any, Any, Any]:
    """Data with the axes of its numbers joined into one, the numbers, and how many segments there are.

    A negative number is of no segment: it goes to one more, before the others.
    """
    x, ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
    rank = len(ids.shape)
    fits = len(x.shape) >= rank and all(map(same, x.shape, ids.shape))
    if ids.dtype.kind not in "iu" or not fits:
        raise ShapeError(
            f"segment numbers {ids.spec} for {x.spec}: integers of the shape of its first axes are needed"
            f"{at(user_location())}"
        )
    count = count if isinstance(count, Dim) else int(known(count))
    flat = ops.reshape(ops.cast(ids, dtype=_INT64), shape=(ids.spec.size,))
    flat = ops.where(ops.less(flat, 0), 0, flat + 1)
    return ops.reshape(x, shape=(ids.spec.size, *x.shape[rank:])), flat, count


def unsorted_segment_sum(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The sum of each segment.

    Parameters
    ----------
    data : tensor-like
    segment_ids : tensor-like of integers
        The segment of each part of `data`, over its first axes; a negative one is of none.
    num_segments : int

    Returns
    -------
    Tensor
        One row per segment; 0 where nothing is of it.

    Raises
    ------
    IndexError
        When a number is not below `num_segments`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.unsorted_segment_sum([1, 2, 3, 4], [0, 1, 0, 1], 2))
    tf.Tensor([4 6], shape=(2,), dtype=int32)
    """
    x, ids, count = _numbers(data, segment_ids, num_segments)
    start = ops.fill(shape=(count + 1, *x.shape[1:]), value=0, dtype=x.np_dtype)
    return get(ops.scatter_add(start, ids, x, axis=0), slice(1, None))


def _shares(data: Any, segment_ids: Any, num_segments: Any) -> Any:
    """How many parts each segment has, at least one, in a shape that divides its sum."""
    x, ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
    counts = unsorted_segment_sum(ops.fill(shape=ids.shape, value=1, dtype=x.np_dtype), ids, num_segments)
    wide = ops.reshape(counts, shape=(counts.shape[0], *(1 for _ in x.shape[len(ids.shape) :])))
    return ops.maximum(wide, 1)


def unsorted_segment_mean(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The mean of each segment of `data`, floats as they are; 0 where nothing is of it.

    `segment_ids`, `num_segments`, shape and errors (IndexError, ShapeError) are those of :func:`unsorted_segment_sum`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.unsorted_segment_mean([1.0, 5.0, 3.0], [1, 0, 1], 2))
    tf.Tensor([5. 2.], shape=(2,), dtype=float32)
    """
    total = unsorted_segment_sum(data, segment_ids, num_segments)
    return ops.divide(total, _shares(data, segment_ids, num_segments))


def unsorted_segment_sqrt_n(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Tensor:
    """The sum of each segment of `data`, floats or complex, over the square root of its size.

    `segment_ids`, `num_segments`, shape and errors (IndexError, ShapeError) are those of :func:`unsorted_segment_sum`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.unsorted_segment_sqrt_n([1.0, 5.0, 3.0], [1, 0, 1], 2))
    tf.Tensor([5.       2.828427], shape=(2,), dtype=float32)
    """
    total = unsorted_segment_sum(data, segment_ids, num_segments)
    return ops.divide(total, ops.sqrt(_shares(data, segment_ids, num_segments)))


def unsorted_segment_max(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The largest element of each segment of `data`, of its dtype.

    The lowest number of the dtype where nothing is of it. Equal elements share the gradient.
    `segment_ids`, `num_segments`, shape and errors (IndexError, ShapeError) are those of :func:`unsorted_segment_sum`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.unsorted_segment_max([1.0, 5.0, 3.0], [1, 0, 1], 2))
    tf.Tensor([5. 3.], shape=(2,), dtype=float32)
    """
    return _extreme(data, segment_ids, num_segments, tensor_scatter_nd_max, "min")


def unsorted_segment_min(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The smallest element of each segment of `data`, of its dtype; the highest number where nothing is of it.

    `segment_ids`, `num_segments` and errors (IndexError, ShapeError) are those of :func:`unsorted_segment_sum`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.unsorted_segment_min([1.0, 5.0, 3.0], [1, 0, 1], 2))
    tf.Tensor([5. 1.], shape=(2,), dtype=float32)
    """
    return _extreme(data, segment_ids, num_segments, tensor_scatter_nd_min, "max")


def _extreme(data: Any, segment_ids: Any, num_segments: Any, scatter: Any, limit: str) -> Tensor:
    x, ids, count = _numbers(data, segment_ids, num_segments)
    if x.dtype.kind not in "fiu":
        raise DtypeError(f"extremes are of real numbers, got {x.spec}{at(user_location())}")
    start = ops.fill(
        shape=(count + 1, *x.shape[1:]), value=np.asarray(getattr(x.dtype, limit)).item(), dtype=x.np_dtype
    )
    return get(scatter(start, ops.reshape(ids, shape=(*ids.shape, 1)), x), slice(1, None))


def segment_sum(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The sum of each segment of `data`; `segment_ids`, one number per row, are sorted.

    The first axis is as long as the last number says, which shows when a compiled function runs that computes it.
    ValueError for numbers that are not sorted, those that a compiled function computes when it runs.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.segment_sum([1, 2, 3, 4], [0, 0, 1, 1]))
    tf.Tensor([3 7], shape=(2,), dtype=int32)
    """
    return unsorted_segment_sum(data, segment_ids, _count_of_sorted(segment_ids))


def segment_mean(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The mean of each segment of `data`; of integers one of their dtype, rounded towards 0.

    `segment_ids`, shape and errors (ValueError) are those of :func:`segment_sum`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.segment_mean([1.0, 5.0, 3.0], [0, 0, 1]))
    tf.Tensor([3. 3.], shape=(2,), dtype=float32)
    """
    x, count = convert_to_tensor(data), _count_of_sorted(segment_ids)
    if x.dtype.kind not in "iu":
        return unsorted_segment_mean(x, segment_ids, count)
    return truncatediv(unsorted_segment_sum(x, segment_ids, count), _shares(x, segment_ids, count))


def segment_max(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The largest element of each segment of `data`, 0 where no row is of it.

    `segment_ids`, dtype and ValueError are those of :func:`segment_sum`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.segment_max([1.0, 5.0, 3.0], [0, 0, 1]))
    tf.Tensor([5. 3.], shape=(2,), dtype=float32)
    """
    return _extreme_of_sorted(data, segment_ids, unsorted_segment_max)


def segment_min(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The smallest element of each segment of `data`, 0 where no row is of it.

    `segment_ids`, dtype and ValueError are those of :func:`segment_sum`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.segment_min([1.0, 5.0, 3.0], [0, 0, 1]))
    tf.Tensor([1. 3.], shape=(2,), dtype=float32)
    """
    return _extreme_of_sorted(data, segment_ids, unsorted_segment_min)


def _extreme_of_sorted(data: Any, segment_ids: Any, extreme: Any) -> Tensor:
    """The extremes, 0 where no row is of a segment."""
    count = _count_of_sorted(segment_ids)
    y, ids = extreme(data, segment_ids, count), convert_to_tensor(segment_ids)
    parts = unsorted_segment_sum(ops.fill(shape=ids.shape, value=1, dtype=_INT64), ids, count)
    empty = ops.reshape(ops.equal(parts, 0), shape=(parts.shape[0], *[1] * (len(y.shape) - 1)))
    return ops.where(empty, np.zeros((), y.dtype), y)


def segment_prod(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The product of each segment of `data`, 1 where no row is of it.

    `segment_ids`, shape, dtype and ValueError are those of :func:`segment_sum`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.segment_prod([2.0, 3.0, 4.0], [0, 0, 1]))
    tf.Tensor([6. 4.], shape=(2,), dtype=float32)
    """
    return unsorted_segment_prod(data, segment_ids, _count_of_sorted(segment_ids))


def _count_of_sorted(segment_ids: Any) -> Size:
    if not is_known(segment_ids):
        ids = as_tensor(segment_ids)
        ops.check(ops.cast(is_non_decreasing(ids), dtype=_FLOAT32), message=_UNSORTED, error="ValueError")
        return as_size(largest(ids, -1) + 1)
    numbers = known(segment_ids)
    if (np.diff(numbers) < 0).any():
        raise WrongNumber(f"{_UNSORTED}, got {numbers.tolist()}{at(user_location())}")
    return int(numbers[-1]) + 1 if numbers.size else 0


# ---- counting -------------------------------------------------------------------------------------------


def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = np.int32,
    name: str | None = None,
    axis: int | None = None,
    binary_output: bool = False,
) -> Tensor:
    """How often each number from 0 on occurs, or the sum of the weights of its places.

    Parameters
    ----------
    arr : tensor-like of integers
        Not negative.
    weights : tensor-like, optional
        Like `arr`.
    minlength, maxlength : int, optional
        Bounds on the size of the result, which is one more than the largest number; in compiled functions it shows
        when they run, unless the bounds are equal.
    dtype : dtype-like
        Of the result without weights.
    axis : {None, 0, -1}
        -1 counts along the last axis, for each row by itself; else all numbers are counted together.
    binary_output : bool
        1 for each number that occurs, else 0.

    Raises
    ------
    IndexError
        When a number is negative.
    ValueError
        For another axis, and for weights with `binary_output`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.bincount([1, 1, 3]))
    tf.Tensor([0 2 0 1], shape=(4,), dtype=int32)
    """
    x: Any = convert_to_tensor(arr)
    if is_known(x) and x.spec.size and (least := known(x).min()) < 0:
        raise OutOfRange(f"bincount counts numbers from 0 on, got {least}{at(user_location())}")
    if axis not in (None, 0, -1) or (binary_output and weights is not None):
        raise ValueError(
            f"bincount takes axis=-1 or 0, and no weights with binary_output, got axis={axis!r}, "
            f"binary_output={binary_output!r}{at(user_location())}"
        )
    fixed = minlength is not None and minlength == maxlength
    size = int(minlength) if fixed else _bins(x, minlength, maxlength)
    lead = x.shape[:-1] if axis == -1 else ()
    rows: Size = product(lead)
    table = ops.reshape(x, shape=(rows, x.spec.size if not lead else x.shape[-1]))
    if weights is None:
        counted = ops.fill(shape=table.shape, value=1, dtype=as_dtype(dtype))
    else:
        counted = ops.reshape(as_tensor(weights), shape=table.shape)
    sums = _counted(counted, ops.cast(table, dtype=_INT64), rows, size)
    if binary_output:
        sums = ops.minimum(sums, 1)
    return ops.reshape(sums, shape=(*lead, size))


def _counted(counted: Any, table: Any, rows: Size, size: Size) -> Tensor:
    """The sums of what is `counted` by row and number in `table`; a number below 0 is refused, as the end is."""
    length, end = size_tensor(size), size_tensor(rows * size)
    row = ops.reshape(ops.iota(size=rows, dtype=_INT64), shape=(rows, 1))
    kept = ops.where(ops.less(table, length), ops.add(table, ops.multiply(row, length)), -1)
    return unsorted_segment_sum(counted, ops.where(ops.less(table, 0), end, kept), rows * size)


def _bins(numbers: Tensor, minlength: Any, maxlength: Any) -> Size:
    size: Any = ops.maximum(largest(numbers, -1) + 1, int(minlength or 0))
    return as_size(size if maxlength is None else ops.minimum(size, int(maxlength)))


def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    weights: Any = None,
    dtype: Any = np.int32,
    name: str | None = None,
) -> Tensor:
    """How often each class (row) was taken for each class (column).

    Parameters
    ----------
    labels, predictions : tensor-like of integers, rank 1
    num_classes : int, optional
        One more than the largest number by default; to be given while a function is traced.
    weights : tensor-like, optional
        What each place counts, 1 by default.
    dtype : dtype-like

    Raises
    ------
    IndexError
        When a number is negative, or not below `num_classes`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.confusion_matrix([1, 2, 2], [1, 2, 0]))
    tf.Tensor(
    [[0 0 0]
     [0 1 0]
     [1 0 1]], shape=(3, 3), dtype=int32)
    """
    real, predicted = (ops.cast(convert_to_tensor(v), dtype=_INT64) for v in (labels, predictions))
    if num_classes is None:
        num_classes = max(int(known(v).max(initial=-1)) + 1 for v in (labels, predictions))
    size = int(known(num_classes))
    wanted = as_dtype(dtype)
    counted = (
        ops.fill(shape=real.shape, value=1, dtype=wanted) if weights is None else as_tensor(weights, wanted)
    )
    where = ops.concat(*(ops.reshape(v, shape=(*v.shape, 1)) for v in (real, predicted)), axis=1)
    where = ops.where(ops.less(where, 0), size, where)  # no class, and not one from the end
    return scatter_nd(where, ops.cast(counted, dtype=wanted), (size, size))


def unsorted_segment_prod(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The product of each segment of `data`, of its dtype; 1 where nothing is of it.

    `segment_ids`, `num_segments`, shape and errors (IndexError, ShapeError) are those of :func:`unsorted_segment_sum`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.unsorted_segment_prod([2.0, 3.0, 4.0], [0, 1, 0], num_segments=2))
    tf.Tensor([8. 3.], shape=(2,), dtype=float32)
    """
    x, ids, count = _numbers(data, segment_ids, num_segments)
    among = ops.equal(
        ops.reshape(ids, shape=(1, -1)), ops.reshape(ops.iota(size=count + 1, dtype=ids.dtype), shape=(-1, 1))
    )
    wide = ops.reshape(among, shape=(*among.shape, *(1 for _ in x.shape[1:])))
    return get(reduce_prod(ops.where(wide, x, ops.cast(1, dtype=x.dtype)), axis=1), slice(1, None))
