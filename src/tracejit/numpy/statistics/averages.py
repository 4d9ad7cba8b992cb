"""NumPy's weighted averages, covariances and correlations."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.dim import product
from ...core.errors import ShapeError, at, user_location
from ...core.op import ops
from ...core.tensor import Tensor
from ...ops.arrays.reduce import axes_of, size_tensor
from ...ops.tensor.indexing import get
from .. import reductions
from ..conversion import array, two_floats, wide_floats
from .places import weights_along


def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    """Mean of `a` over `axis`, with `weights` of its shape or of those axes; if `returned` also the sum of weights.

    `keepdims` keeps the axes as size 1; integers count as float64. ShapeError for weights of another shape.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.average([1.0, 2.0, 4.0], weights=[1.0, 1.0, 2.0]))
    tf.Tensor(2.75, shape=(), dtype=float64)
    """
    if weights is None:
        x: Any = wide_floats(a)
        means = reductions.mean(x, axis, keepdims=keepdims)
        if not returned:
            return means
        count = size_tensor(product(x.shape[k] for k in axes_of(axis, len(x.shape))))
        return means, ops.broadcast_to(ops.cast(count, dtype=x.dtype), shape=means.shape)
    x, weight = two_floats(wide_floats(a), weights)
    weight = weights_along(x, weight, axis)
    total = reductions.sum(ops.broadcast_to(weight, shape=x.shape), axis, keepdims=keepdims)
    means = ops.divide(reductions.sum(ops.multiply(x, weight), axis, keepdims=keepdims), total)
    return (means, total) if returned else means


# ---- covariances ----------------------------------------------------------------------------------------


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: float | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Tensor:
    """Covariances of variables: the rows of `m` (its columns unless `rowvar`), and of `y`, in float64 or complex128.

    Sums are divided by the number of observations less 1, or less 0 with `bias`, or less `ddof`. An observation counts
    as often as `fweights` says, and as much as `aweights`. A matrix of `dtype`, of one variable a scalar. ShapeError
    for more than two axes, and for weights that are not one for each observation.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.cov([[1.0, 2.0, 3.0], [6.0, 4.0, 2.0]]))
    tf.Tensor(
    [[ 1. -2.]
     [-2.  4.]], shape=(2, 2), dtype=float64)
    """
    rows = _variables(m, rowvar, dtype)
    if y is not None:
        rows = ops.concat(rows, _variables(y, rowvar, dtype), axis=0)
    less = (0 if bias else 1) if ddof is None else ddof
    if fweights is None and aweights is None:
        offset = ops.subtract(rows, reductions.mean(rows, 1, keepdims=True))
        beside: Any = offset
        count: Any = ops.maximum(size_tensor(rows.shape[1]) - less, 0)
    else:
        weight, count = _weights(rows, fweights, aweights, less)
        offset = ops.subtract(rows, average(rows, 1, weight, keepdims=True))
        beside = ops.multiply(offset, ops.cast(weight, dtype=rows.dtype))
    turned = ops.transpose(offset)
    covariances = ops.matmul(beside, ops.conj(turned) if rows.dtype.kind == "c" else turned)
    covariances = ops.divide(covariances, ops.cast(count, dtype=covariances.dtype))
    return ops.reshape(covariances, shape=()) if covariances.shape == (1, 1) else covariances


def _weights(rows: Any, often: Any, much: Any, less: float) -> tuple[Any, Any]:
    """How much each observation counts, and what sums over them are divided by."""
    given = [None if w is None else wide_floats(w) for w in (often, much)]
    for w in given:
        if w is not None and w.shape != (rows.shape[1],):
            raise ShapeError(f"weights {w.spec} for the observations of {rows.spec}{at(user_location())}")
    frequency, importance = given
    weight: Any = importance if frequency is None else frequency
    if frequency is not None and importance is not None:
        weight = ops.multiply(frequency, importance)
    total = ops.reduce_sum(weight)
    if importance is None or less == 0:
        return weight, ops.maximum(total - less, 0)
    squares = ops.reduce_sum(ops.multiply(weight, importance))
    return weight, ops.maximum(total - ops.divide(squares, total) * less, 0)


def _variables(m: Any, rowvar: bool, dtype: Any) -> Any:
    x = wide_floats(m)
    x = array(x, np.result_type(x.np_dtype, np.float64) if dtype is None else dtype)
    if len(x.shape) > 2:
        raise ShapeError(f"takes a vector or a matrix of observations, got {x.spec}{at(user_location())}")
    if len(x.shape) < 2:
        return ops.reshape(x, shape=(1, x.spec.size))
    return x if rowvar else ops.transpose(x)


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Tensor:
    """Correlations of variables: covariances over the product of the standard deviations, within [-1, 1].

    `x`, `y`, `rowvar`, shape, `dtype` and ShapeError are those of :func:`cov`; ValueError for an integer `dtype`.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.corrcoef([[1.0, 2.0, 3.0], [6.0, 4.0, 2.0]]))
    tf.Tensor(
    [[ 1. -1.]
     [-1.  1.]], shape=(2, 2), dtype=float64)
    """
    if dtype is not None and np.dtype(dtype).kind in "biu":
        raise ValueError(
            f"corrcoef: dtype must be a subclass of float or complex, got {np.dtype(dtype)}{at(user_location())}"
        )
    covariances: Any = cov(x, y, rowvar, dtype=dtype)
    if not covariances.shape:
        return ops.divide(covariances, covariances)
    size = covariances.shape[0]
    flat = ops.reshape(covariances, shape=(size * size,))
    deviation = ops.sqrt(get(flat, slice(None, None, size + 1)))
    correlations = ops.divide(ops.divide(covariances, ops.reshape(deviation, shape=(size, 1))), deviation)
    within = lambda x: ops.minimum(ops.maximum(x, -1.0), 1.0)
    return (
        within(correlations)
        if correlations.dtype.kind == "f"
        else ops.complex(*map(within, (ops.real(correlations), ops.imag(correlations))))
    )
