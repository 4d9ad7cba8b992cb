"""Reductions as users call them: any axis, dropped or kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.dim import Dim, product
from ...core.errors import DtypeError, at, user_location
from ...core.lazy import Later
from ...core.op import ops
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor
from ...ops.arrays import reduce
from ...ops.arrays.reduce import axes_of, kept
from ...ops.elementwise.division import truncatediv
from ...ops.tensor.indexing import get

if TYPE_CHECKING:
    from . import loop_functions
else:
    loop_functions = Later(".loop_functions", __package__)


def _reduced(function: Callable[..., Any], x: Any, axis: Any, keepdims: bool) -> Tensor:
    x = as_tensor(x)
    y = function(x, axis=axis)
    return ops.reshape(y, shape=kept(x.shape, axes_of(axis, len(x.shape)))) if keepdims else y


def reduce_sum(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Sum of `input_tensor` over the axes in `axis` (None: all); `keepdims` keeps them with size 1. The dtype stays.

    DtypeError for bools and strings, ShapeError for axes that are not there.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.reduce_sum([[1.0, 2.0], [3.0, 4.0]], axis=1))
    tf.Tensor([3. 7.], shape=(2,), dtype=float32)
    """
    return _reduced(reduce.reduce_sum, input_tensor, axis, keepdims)


def reduce_mean(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Mean of `input_tensor` over the axes in `axis` (None: all); `keepdims` keeps them with size 1.

    As in TensorFlow the mean of integers is one of their dtype, rounded towards 0, and 0 of no elements; bools raise
    DtypeError. ``tracejit.numpy.mean`` and the method ``mean`` give float64 for all of these.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.reduce_mean([1.0, 2.0]), tf.reduce_mean([1, 2]))
    tf.Tensor(1.5, shape=(), dtype=float32) tf.Tensor(1, shape=(), dtype=int32)
    """
    x = as_tensor(input_tensor)
    if x.dtype.kind == "b":
        raise DtypeError(f"the mean of bools, {x.spec}, is none: cast them first{at(user_location())}")
    return _reduced(_whole_mean if x.dtype.kind in "iu" else reduce.reduce_mean, x, axis, keepdims)


def _whole_mean(x: Any, axis: Any) -> Any:
    """The mean of integers, added up in the widest of their kind."""
    wide = np.dtype("uint64" if x.dtype.kind == "u" else "int64")
    count = reduce.size_tensor(product(x.shape[a] for a in axes_of(axis, len(x.shape))))
    total = ops.reduce_sum(ops.cast(x, dtype=wide), axis=axis)
    return ops.cast(truncatediv(total, ops.cast(ops.maximum(count, 1), dtype=wide)), dtype=x.dtype)


def reduce_max(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Largest element of `input_tensor` over the axes in `axis` (None: all); `keepdims` keeps them with size 1.

    The dtype stays; NaN wins; ties share the gradient evenly. ValueError for complex numbers and for axes that are not
    there, DtypeError for strings.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.compat.v1.reduce_max([[1.0, 5.0], [7.0, 3.0]], axis=0))
    tf.Tensor([7. 5.], shape=(2,), dtype=float32)
    """
    return _reduced(reduce.reduce_max, input_tensor, axis, keepdims)


def reduce_min(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Smallest element of `input_tensor` over the axes in `axis` (None: all); `keepdims` keeps them with size 1.

    The dtype stays; NaN wins; ties share the gradient evenly. ValueError for complex numbers and for axes that are not
    there, DtypeError for strings.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.compat.v1.reduce_min([[1.0, 5.0], [7.0, 3.0]], axis=0))
    tf.Tensor([1. 3.], shape=(2,), dtype=float32)
    """
    return _reduced(reduce.reduce_min, input_tensor, axis, keepdims)


def reduce_prod(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Product of `input_tensor` over the axes in `axis` (None: all); `keepdims` keeps them with size 1.

    1 of no elements; the dtype stays; exact derivatives where elements are 0. DtypeError for bools and strings,
    ShapeError for axes that are not there.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.reduce_prod([[1.0, 2.0], [3.0, 4.0]], axis=1))
    tf.Tensor([ 2. 12.], shape=(2,), dtype=float32)
    """
    x = as_tensor(input_tensor)
    if x.np_dtype == np.dtype(bool):
        raise DtypeError(f"multiplies numbers, got {x.spec}; use reduce_all{at(user_location())}")
    axes = axes_of(axis, len(x.shape))
    others = [a for a in range(len(x.shape)) if a not in axes]
    rows = (product(x.shape[a] for a in axes), *(x.shape[a] for a in others))
    y = _product_of_rows(ops.reshape(ops.transpose(x, perm=(*axes, *others)), shape=rows))
    return ops.reshape(y, shape=kept(x.shape, axes)) if keepdims else y


def _product_of_rows(x: Any) -> Tensor:
    """Rows multiplied in pairs, then pairs in pairs: few ops, none of which divides in its derivative."""
    count, one = x.shape[0], ops.fill(shape=x.shape[1:], value=1, dtype=x.dtype)
    if isinstance(count, Dim):
        return loop_functions.fori_loop(0, ops.size_value(size=count), lambda i, y: y * get(x, i), one)
    while count > 1:
        half, odd = divmod(count, 2)
        pairs = get(x, slice(0, half)) * get(x, slice(half, 2 * half))
        x, count = ops.concat(pairs, get(x, slice(2 * half, None)), axis=0) if odd else pairs, half + odd
    return get(x, 0) if count else one


def reduce_any(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Does any of the bools `input_tensor` hold over the axes in `axis` (None: all)? `keepdims` keeps them as size 1.

    DtypeError for others, ShapeError for axes that are not there.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.compat.v1.reduce_any([[False, True], [False, False]], axis=1))
    tf.Tensor([ True False], shape=(2,), dtype=bool)
    """
    return _reduced(reduce.reduce_max, _bools(input_tensor), axis, keepdims)


def reduce_all(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Do all of the bools `input_tensor` hold, over the axes in `axis` (None: all)? `keepdims` keeps them with size 1.

    DtypeError for others, ShapeError for axes that are not there.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.reduce_all([[True, False], [True, True]], axis=1))
    tf.Tensor([False  True], shape=(2,), dtype=bool)
    """
    return _reduced(reduce.reduce_min, _bools(input_tensor), axis, keepdims)


def _bools(x: Any) -> Tensor:
    x = as_tensor(x)
    if x.dtype != np.dtype(bool):
        raise DtypeError(
            f"takes bools, got {x.spec}; compare numbers first, e.g. x != 0{at(user_location())}"
        )
    return x


def reduce_logsumexp(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """``log(sum(exp(x)))`` of `input_tensor` over the axes in `axis` (None: all), without overflow; floats.

    `keepdims` keeps the axes with size 1. Infinite elements are meant as they are: -inf adds nothing, and inf gives
    inf. ValueError for complex numbers and for axes that are not there, DtypeError for bools and strings.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.reduce_logsumexp([1000.0, 1000.0]))
    tf.Tensor(1000.6932, shape=(), dtype=float32)
    """
    x: Any = as_tensor(input_tensor)
    top = ops.stop_gradient(reduce_max(x, axis, keepdims=True))
    top = ops.where(ops.abs(top) < np.inf, top, 0.0)
    total = ops.log(ops.reduce_sum(ops.exp(x - top), axis=axis))
    total = total + ops.reshape(top, shape=total.shape)
    return ops.reshape(total, shape=top.shape) if keepdims else total


def reduce_variance(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Mean squared distance of `input_tensor` from the mean over the axes in `axis` (None: all), of its floats.

    `keepdims` keeps the axes with size 1. DtypeError for integers, bools and strings.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.reduce_variance([1.0, 3.0]))
    tf.Tensor(1.0, shape=(), dtype=float32)
    """
    x: Any = as_tensor(input_tensor)
    if x.dtype.kind not in "fc":
        raise DtypeError(
            f"the variance of {x.dtype.name}s has a fraction, {x.spec} has none: write tracejit.cast(x, "
            f"tracejit.float32) first, or take tracejit.numpy.var{at(user_location())}"
        )
    offset = x - reduce_mean(x, axis, keepdims=True)
    squares = ops.real(offset * ops.conj(offset)) if x.dtype.kind == "c" else ops.square(offset)
    return reduce_mean(squares, axis, keepdims)


def reduce_std(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Square root of :func:`reduce_variance` of `input_tensor` over `axis`, `keepdims` and DtypeError as there.

    Its derivative where all elements are equal is NaN.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.reduce_std([1.0, 3.0]))
    tf.Tensor(1.0, shape=(), dtype=float32)
    """
    return ops.sqrt(reduce_variance(input_tensor, axis, keepdims))
