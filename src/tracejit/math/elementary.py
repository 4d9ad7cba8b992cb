"""Elementary functions that are written with others: what tutorials call ``tf.tan`` or ``tf.math.rsqrt``.

Each is the obvious formula where that is accurate, and a better one where it is not.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.dim import Dim
from ..core.errors import at, user_location
from ..core.lazy import Later
from ..core.op import ops
from ..core.spec import as_dtype
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from ..frontend.control.reductions import reduce_all, reduce_mean, reduce_sum
from ..frontend.conversion import convert_to_tensor
from ..ops.arrays.reduce import one_axis
from ..ops.arrays.sort import descending
from ..ops.linalg.products import squared_sizes
from ..ops.tensor.indexing import get

if TYPE_CHECKING:
    from ..frontend.control import branching, loop_functions
else:
    branching = Later("..frontend.control.branching", __package__)
    loop_functions = Later("..frontend.control.loop_functions", __package__)


def ceil(x: Any, name: str | None = None) -> Tensor:
    """The smallest whole number not below each element of `x`, floats; no gradient flows. DtypeError for others.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.ceil([1.2, -1.2]))
    tf.Tensor([ 2. -1.], shape=(2,), dtype=float32)
    """
    return ops.negative(ops.floor(ops.negative(as_tensor(x))))


def rsqrt(x: Any, name: str | None = None) -> Tensor:
    """``1 / sqrt(x)`` of each element; DtypeError for what is neither float nor complex.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.rsqrt([4.0, 16.0]))
    tf.Tensor([0.5  0.25], shape=(2,), dtype=float32)
    """
    return ops.divide(1.0, ops.sqrt(as_tensor(x)))


def reciprocal(x: Any, name: str | None = None) -> Tensor:
    """``1 / x`` of each element; integers and bools become float64. DtypeError for strings.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.reciprocal([2.0, 4.0]))
    tf.Tensor([0.5  0.25], shape=(2,), dtype=float32)
    """
    return ops.divide(1.0, as_tensor(x))


def log_sigmoid(x: Any, name: str | None = None) -> Tensor:
    """``log(sigmoid(x))`` of each element, floats, without overflow; DtypeError for others.

    Examples
    --------
    >>> import tracejit as tf
    >>> float(tf.math.log_sigmoid(-1000.0))
    -1000.0
    """
    return ops.negative(ops.softplus(ops.negative(as_tensor(x))))


def hypot(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``sqrt(x**2 + y**2)`` without overflow, floats, broadcast; the derivative at (0, 0) is 0.

    DtypeError for complex numbers and strings, ShapeError where they do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> float(tf.math.hypot(3.0, 4.0))
    5.0
    """
    return ops.abs(ops.complex(x, y))


def squared_difference(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``(x - y)**2``, broadcast and promoted; of complex numbers the square of the distance, as a complex number.

    DtypeError for bools and strings, ShapeError where shapes do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.squared_difference([1.0, 2.0], [3.0, 2.0]))
    tf.Tensor([4. 0.], shape=(2,), dtype=float32)
    """
    difference: Any = ops.subtract(x, y)
    return difference * ops.conj(difference) if difference.dtype.kind == "c" else ops.square(difference)


def round(x: Any, name: str | None = None) -> Tensor:
    """The nearest whole number to each element of `x`, halves to even; integers stay as they are. No gradient flows.

    DtypeError for bools, complex numbers and strings.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.round([0.5, 1.5, 2.7]), tf.round([1, 2]))
    tf.Tensor([0. 2. 3.], shape=(3,), dtype=float32) tf.Tensor([1 2], shape=(2,), dtype=int32)
    """
    x = as_tensor(x)
    return ops.identity(x) if x.dtype.kind in "iu" else ops.round(x)


def rint(x: Any, name: str | None = None) -> Tensor:
    """The nearest whole number to each element of `x`, floats, of two equally near ones the even one.

    No gradient flows through it. DtypeError for others.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.rint([0.5, 1.5, 2.7]))
    tf.Tensor([0. 2. 3.], shape=(3,), dtype=float32)
    """
    return ops.round(x)


def angle(input: Any, name: str | None = None) -> Tensor:
    """The angle of each element of `input` with the positive real axis, in radians, of real ones 0 or pi; real floats.

    DtypeError for what is neither float nor complex.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.angle([1.0, 2j]) < 1.6)
    tf.Tensor([ True  True], shape=(2,), dtype=bool)
    """
    x = as_tensor(input)
    return ops.atan2(ops.imag(x), ops.real(x))


def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Tensor:
    """``scalar * x``, for one number and a tensor, in the dtype to which they are promoted; DtypeError for strings.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.scalar_mul(2.0, [1.0, 2.0]))
    tf.Tensor([2. 4.], shape=(2,), dtype=float32)
    """
    return ops.multiply(scalar, x)


def polyval(coeffs: Sequence[Any], x: Any, name: str | None = None) -> Tensor:
    """The value of a polynomial at each element of `x`, its coefficients `coeffs` given from the highest power down.

    The dtype is the promoted one. DtypeError for strings, ShapeError where shapes do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> float(tf.math.polyval([1.0, 0.0, -1.0], 3.0))
    8.0
    """
    x = as_tensor(x)
    if not len(coeffs):
        return ops.fill(shape=x.shape, value=0, dtype=x.dtype)
    return functools.reduce(lambda y, c: ops.add(c, ops.multiply(y, x)), coeffs[1:], as_tensor(coeffs[0]))


def is_finite(x: Any, name: str | None = None) -> Tensor:
    """True where an element of `x` is neither infinite nor NaN, bools; DtypeError for bools and strings.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.is_finite([1.0, float("inf")]))
    tf.Tensor([ True False], shape=(2,), dtype=bool)
    """
    return ops.less(ops.abs(as_tensor(x)), np.inf)


def is_inf(x: Any, name: str | None = None) -> Tensor:
    """True where an element of `x` is infinite, bools; DtypeError for bools and strings.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.is_inf([1.0, float("inf")]))
    tf.Tensor([False  True], shape=(2,), dtype=bool)
    """
    return ops.equal(ops.abs(as_tensor(x)), np.inf)


def logical_xor(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Exactly one of the bools `x` and `y` holds, bools; ShapeError for others, and where they do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.logical_xor([True, False], [True, True]))
    tf.Tensor([False  True], shape=(2,), dtype=bool)
    """
    return ops.logical_and(ops.logical_or(x, y), ops.logical_not(ops.logical_and(x, y)))


def is_non_decreasing(x: Any, name: str | None = None) -> Tensor:
    """Is no element of `x` smaller than the one before it, all axes read in one row? A bool scalar.

    DtypeError for complex numbers and strings.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.is_non_decreasing([1.0, 1.0, 2.0]))
    tf.Tensor(True, shape=(), dtype=bool)
    """
    return _each_pair(x, ops.less_equal)


def is_strictly_increasing(x: Any, name: str | None = None) -> Tensor:
    """Is every element of `x` larger than the one before it, all axes read in one row? A bool scalar.

    DtypeError for complex numbers and strings.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.is_strictly_increasing([1.0, 1.0, 2.0]))
    tf.Tensor(False, shape=(), dtype=bool)
    """
    return _each_pair(x, ops.less)


def _each_pair(x: Any, holds: Any) -> Tensor:
    x = as_tensor(x)
    row = ops.reshape(x, shape=(x.spec.size,))
    return reduce_all(holds(get(row, slice(None, -1)), get(row, slice(1, None))))


def count_nonzero(
    input: Any, axis: Any = None, keepdims: bool = False, dtype: Any = np.int64, name: str | None = None
) -> Tensor:
    """How many elements of `input` over the axes in `axis` (None: all) are not 0, or for text not empty, in `dtype`.

    `keepdims` keeps the axes with size 1; ShapeError for axes that are not there.

    Examples
    --------
    >>> import tracejit as tf
    >>> int(tf.math.count_nonzero([[0, 1], [2, 3]]))
    3
    """
    x = as_tensor(input)
    nonzero = as_tensor(x.array != b"") if x.dtype.kind == "O" else ops.not_equal(x, 0)
    return reduce_sum(ops.cast(nonzero, dtype=as_dtype(dtype)), axis, keepdims)


def zero_fraction(value: Any, name: str | None = None) -> Tensor:
    """The part of the elements of `value` that is 0, a float32 scalar; DtypeError for strings.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.zero_fraction([0.0, 1.0, 0.0, 0.0]))
    tf.Tensor(0.75, shape=(), dtype=float32)
    """
    zeros = ops.cast(ops.equal(as_tensor(value), 0), dtype=np.dtype(np.float32))
    return reduce_mean(zeros)


def reduce_euclidean_norm(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The square root of the sum of squares of `input_tensor` over the axes in `axis` (None: all), of its dtype.

    `keepdims` keeps the axes with size 1. As in TensorFlow, integers are squared and added up in their dtype and the
    root is rounded towards 0, and the norm of complex numbers is complex. DtypeError for bools and strings, ShapeError
    for axes that are not there.

    Examples
    --------
    >>> import tracejit as tf
    >>> float(tf.math.reduce_euclidean_norm([3.0, 4.0]))
    5.0
    """
    x = as_tensor(input_tensor)
    total: Any = reduce_sum(squared_sizes(x), axis, keepdims)
    if x.dtype.kind in "iu":
        total = ops.cast(total, dtype=np.dtype(np.float64))
    return ops.cast(ops.sqrt(total), dtype=x.np_dtype)


def add_n(inputs: Sequence[Any], name: str | None = None) -> Tensor:
    """The sum of the tensors in `inputs`, all of one shape, in their promoted dtype.

    ValueError for none; ShapeError where shapes do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> float(tf.add_n([1.0, 2.0, 3.0]))
    6.0
    """
    if not inputs:
        raise ValueError(f"add_n takes at least one tensor{at(user_location())}")
    return functools.reduce(ops.add, [convert_to_tensor(x) for x in inputs])


def argmin(input: Any, axis: int | None = 0, output_type: Any = None, name: str | None = None) -> Tensor:
    """Position (int64) of the smallest element of `input` along `axis`: the first on ties, the first NaN if any.

    The axis falls away; `output_type` is another dtype. ValueError for complex numbers and an axis that is not there.

    Examples
    --------
    >>> import tracejit as tf
    >>> int(tf.argmin([3.0, 1.0, 2.0]))
    1
    """
    return argmax(descending(as_tensor(input)), axis, output_type)


def argmax(input: Any, axis: int | None = 0, output_type: Any = None, name: str | None = None) -> Tensor:
    """Position (int64) of the largest element of `input` along `axis`: the first on ties, the first NaN if any.

    The axis falls away; `output_type` is another dtype. ValueError for complex numbers and an axis that is not there.

    Examples
    --------
    >>> import tracejit as tf
    >>> int(tf.argmax([3.0, 1.0, 5.0]))
    2
    """
    positions = ops.argmax(input, axis=0 if axis is None else int(axis))
    return positions if output_type is None else ops.cast(positions, dtype=as_dtype(output_type))


accumulate_n = add_n


def cumsum(
    x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Running sums of `x` along `axis`, from the end with `reverse`; with `exclusive` each without its own element.

    Shape and dtype stay. DtypeError for bools and strings, ShapeError for an axis that is not there.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.cumsum([1, 2, 3]), tf.cumsum([1, 2, 3], exclusive=True))
    tf.Tensor([1 3 6], shape=(3,), dtype=int32) tf.Tensor([0 1 3], shape=(3,), dtype=int32)
    """
    total = ops.cumsum(x, axis=axis, reverse=reverse)
    return _without_own(total, one_axis(int(axis), len(total.shape)), reverse, 0) if exclusive else total


def cumprod(
    x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Running products of `x` along `axis`, as :func:`cumsum` has sums; exact derivatives where elements are 0.

    `exclusive`, `reverse`, shape and dtype are as there; DtypeError for strings, ShapeError for an axis that is not
    there.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.cumprod([1, 2, 3]), tf.math.cumprod([1, 2, 3], exclusive=True))
    tf.Tensor([1 2 6], shape=(3,), dtype=int32) tf.Tensor([1 1 2], shape=(3,), dtype=int32)
    """
    return _prefixes(ops.multiply, x, axis, exclusive, reverse, 1)


def cumulative_logsumexp(
    x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Logarithms of running sums of exponentials of `x`, floats, along `axis`, without overflow.

    `exclusive`, `reverse` and shape are as in :func:`cumsum`; DtypeError for others, ShapeError for an axis that is
    not there.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.cumulative_logsumexp([1000.0, 1000.0]))
    tf.Tensor([1000.     1000.6932], shape=(2,), dtype=float32)
    """
    return _prefixes(ops.logaddexp, x, axis, exclusive, reverse, -np.inf)


def _prefixes(combine: Any, x: Any, axis: int, exclusive: bool, reverse: bool, neutral: Any) -> Tensor:
    x = as_tensor(x)
    axis = one_axis(int(axis), len(x.shape))
    if isinstance(x.shape[axis], Dim):
        total = _one_by_one(combine, x, axis, reverse, neutral)
    else:
        total = branching.associative_scan(combine, x, reverse=reverse, axis=axis) if x.spec.size != 0 else x
    return _without_own(total, axis, reverse, neutral) if exclusive else total


def _one_by_one(combine: Any, x: Any, axis: int, reverse: bool, neutral: Any) -> Any:
    """The same where only a call knows how many there are."""
    axes = [axis, *(a for a in range(len(x.shape)) if a != axis)]
    rows = ops.transpose(x, perm=tuple(axes))
    first = ops.fill(shape=rows.shape[1:], value=neutral, dtype=x.dtype)
    _, total = loop_functions.scan(lambda c, row: (combine(c, row),) * 2, first, rows, reverse=reverse)
    return ops.transpose(total, perm=tuple(map(axes.index, range(len(axes)))))


def _without_own(total: Any, axis: int, reverse: bool, neutral: Any) -> Tensor:
    """Running results moved on by one place, so that each is without its own element."""
    size = total.shape[axis]
    edge = [1 if a == axis else d for a, d in enumerate(total.shape)]
    first = ops.fill(shape=tuple(edge), value=neutral, dtype=total.dtype)
    longer = ops.concat(*((total, first) if reverse else (first, total)), axis=axis)
    kept = [(int(reverse), size, 1) if a == axis else (0, d, 1) for a, d in enumerate(total.shape)]
    return ops.slice(longer, slices=tuple(kept))
