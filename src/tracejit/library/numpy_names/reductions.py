"""NumPy's sums, means, extremes and orders over axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.dim import product
from ...core.op import ops
from ...core.tensor import Tensor
from ...frontend import reductions
from ...ops.reduce import axes_of, size_tensor
from .. import elementary, sorting
from .conversion import array, floats, summable
from .elementwise import truth


def sum(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Sum over axes; small integers and bools are added up as int64.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.sum([[1.0, 2.0], [3.0, 4.0]], axis=0))
    tf.Tensor([4. 6.], shape=(2,), dtype=float64)
    """
    return reductions.reduce_sum(summable(a, dtype), axis, keepdims)


def prod(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Product over axes; small integers and bools are multiplied as int64."""
    return reductions.reduce_prod(summable(a, dtype), axis, keepdims)


def mean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Mean over axes; integers as float64."""
    return reductions.reduce_mean(_wide_floats(a, dtype), axis, keepdims)


def var(a: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Mean squared distance from the mean over axes, divided by their size less `ddof`."""
    x = _wide_floats(a, dtype)
    found: Any = reductions.reduce_variance(x, axis, keepdims)
    if not ddof:
        return found
    count: Any = size_tensor(product(x.shape[k] for k in axes_of(axis, len(x.shape))))
    return found * ops.cast(count / (count - ddof), dtype=found.dtype)


def std(a: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Square root of :func:`var`."""
    return ops.sqrt(var(a, axis, dtype, ddof, keepdims))


def _wide_floats(a: Any, dtype: Any) -> Tensor:
    x = array(a, dtype)
    return x if x.dtype.kind in "fc" else ops.cast(x, dtype=np.dtype("float64"))


def max(a: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Largest element over axes; NaN wins."""
    return reductions.reduce_max(array(a), axis, keepdims)


def min(a: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Smallest element over axes; NaN wins."""
    return reductions.reduce_min(array(a), axis, keepdims)


amax, amin = max, min


def all(a: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Is every element over the axes other than 0?"""
    return reductions.reduce_all(truth(a), axis, keepdims)


def any(a: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Is an element over the axes other than 0?"""
    return reductions.reduce_any(truth(a), axis, keepdims)


def _lined_up(a: Any, axis: int | None) -> tuple[Tensor, int]:
    """None is the axis of all elements in a row."""
    x = array(a)
    return (ops.reshape(x, shape=(x.spec.size,)), 0) if axis is None else (x, axis)


def argmax(a: Any, axis: int | None = None) -> Tensor:
    """Position of the largest element along an axis, or among all."""
    return elementary.argmax(*_lined_up(a, axis))


def argmin(a: Any, axis: int | None = None) -> Tensor:
    """Position of the smallest element along an axis, or among all."""
    return elementary.argmin(*_lined_up(a, axis))


def cumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """Running sums along an axis, or of all elements."""
    return elementary.cumsum(*_lined_up(summable(a, dtype), axis))


def sort(a: Any, axis: int | None = -1) -> Tensor:
    """Elements along an axis in order, NaN last."""
    return sorting.sort(*_lined_up(a, axis))


def argsort(a: Any, axis: int | None = -1) -> Tensor:
    """Positions that sort along an axis; equal elements keep their order."""
    return sorting.order(*_lined_up(a, axis))


def logsumexp(a: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """``log(sum(exp(a)))`` without overflow, as SciPy has it."""
    return reductions.reduce_logsumexp(floats(a), axis, keepdims)
