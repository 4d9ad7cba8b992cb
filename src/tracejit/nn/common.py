"""Common parts of networks: moments, normalization, dropout, embedding look-up.

Functions of tensors without state of their own; layers hold the Variables.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.errors import at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from ..frontend.control.reductions import reduce_mean, reduce_sum, reduce_variance
from ..frontend.state.variable import Variable
from ..ops.elementwise.arithmetic import matched
from ..random.generators import uniform


def l2_loss(t: Any, name: str | None = None) -> Tensor:
    """Half the sum of squares of all elements of `t`, a scalar of its dtype or float64; DtypeError for bools, strings.

    Examples
    --------
    >>> import tracejit as tf
    >>> float(tf.nn.l2_loss([3.0, 4.0]))
    12.5
    """
    return ops.multiply(reduce_sum(ops.square(as_tensor(t))), 0.5)


def moments(
    x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Mean and variance of `x` over `axes`, which `keepdims` keeps, of its dtype, integers rounded towards 0.

    `shift` and `name` are accepted and ignored. ShapeError for axes that are not there, DtypeError for bools.

    Examples
    --------
    >>> import tracejit as tf
    >>> [float(m) for m in tf.nn.moments([1.0, 3.0], axes=[0])]
    [2.0, 1.0]
    """
    x = as_tensor(x)
    mean = reduce_mean(x, axes, keepdims)
    if x.dtype.kind in "iu":
        return mean, reduce_mean(ops.square(x - reduce_mean(x, axes, keepdims=True)), axes, keepdims)
    return mean, ops.cast(reduce_variance(x, axes, keepdims), dtype=x.dtype)


def batch_normalization(
    x: Any,
    mean: Any,
    variance: Any,
    offset: Any,
    scale: Any,
    variance_epsilon: float,
    name: str | None = None,
) -> Tensor:
    """``(x - mean) / sqrt(variance + variance_epsilon) * scale + offset``; None leaves out scale or offset.

    All broadcast, and are floats of one dtype or promoted. ShapeError where they do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.batch_normalization([[1.0], [3.0]], 2.0, 1.0, 0.0, 1.0, 0.0))
    tf.Tensor(
    [[-1.]
     [ 1.]], shape=(2, 1), dtype=float32)
    """
    inverse = 1.0 / ops.sqrt(ops.add(variance, variance_epsilon))
    y = ops.subtract(x, mean) * (inverse if scale is None else inverse * scale)
    return y if offset is None else y + offset


def l2_normalize(x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None) -> Tensor:
    """`x` over its Euclidean norm along `axis`, floats or complex; a sum of squares below `epsilon` counts as that.

    The shape stays. ShapeError for axes that are not there.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.l2_normalize([3.0, 4.0]))
    tf.Tensor([0.6 0.8], shape=(2,), dtype=float32)
    """
    x = as_tensor(x)
    squares = ops.square(ops.abs(x) if x.dtype.kind == "c" else x)
    return x / ops.sqrt(ops.maximum(reduce_sum(squares, axis, keepdims=True), epsilon))


def dropout(
    x: Any, rate: float, noise_shape: Any = None, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Set a part `rate` of the elements to 0 at random and scale the others by ``1 / (1 - rate)``.

    Parameters
    ----------
    x : tensor-like of floats
    rate : float
        In [0, 1).
    noise_shape : shape, optional
        Of the random choice, which is broadcast to `x`.
    seed : int, optional
        As for :func:`tracejit.random.uniform`.

    Raises
    ------
    ValueError
        For a rate outside of [0, 1), and for integers.

    Examples
    --------
    >>> import tracejit as tf
    >>> sorted(set(tf.nn.dropout(tf.ones((100,)), 0.5, seed=1).numpy().tolist()))
    [0.0, 2.0]
    """
    if not 0.0 <= rate < 1.0:
        raise ValueError(f"rate is in [0, 1), got {rate}{at(user_location())}")
    x = as_tensor(x)
    if rate == 0.0:
        return x
    dtype = np.float32 if x.dtype.size < 4 else x.dtype  # rounded, a draw just below the rate would be kept
    draw: Any = uniform(x.shape if noise_shape is None else noise_shape, dtype=dtype, seed=seed)
    return ops.where(draw >= rate, x * (1.0 / (1.0 - rate)), 0.0)


def bias_add(value: Any, bias: Any, data_format: str | None = None, name: str | None = None) -> Tensor:
    """``value + bias`` on the last axis, or with ``data_format="NCHW"`` on axis 1; the dtypes are promoted.

    ShapeError where they do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.bias_add([[1.0, 2.0]], [10.0, 20.0]))
    tf.Tensor([[11. 22.]], shape=(1, 2), dtype=float32)
    """
    bias = as_tensor(bias)
    if data_format is not None and data_format.startswith("NC"):
        bias = ops.reshape(bias, shape=(*bias.shape, *(1 for _ in as_tensor(value).shape[2:])))
    return ops.add(value, bias)


def embedding_lookup(params: Any, ids: Any, max_norm: float | None = None, name: str | None = None) -> Tensor:
    """Rows of `params` by the numbers `ids`, of its dtype; with `max_norm` none is longer than that.

    A list of tensors, arrays or Variables is one table in parts, one below the other.

    IndexError for a number beyond the end, DtypeError for what is no integer.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.embedding_lookup([[1.0], [2.0]], [1, 1]))
    tf.Tensor(
    [[2.]
     [2.]], shape=(2, 1), dtype=float32)
    """
    rows = ops.gather(_table(params), ids, axis=0)
    if max_norm is None:
        return rows
    axes = list(range(len(as_tensor(ids).shape), len(rows.shape)))
    norms = ops.sqrt(reduce_sum(ops.square(rows), axes, keepdims=True))
    return rows * max_norm / ops.maximum(norms, max_norm)


def _table(params: Any) -> Any:
    """The table that a list of its parts stands for."""
    parts = params if isinstance(params, (list, tuple)) else []
    if not parts or not all(isinstance(p, (Tensor, Variable, np.ndarray)) for p in parts):
        return params
    return parts[0] if len(parts) == 1 else ops.concat(*parts, axis=0)


def weighted_moments(
    x: Any, axes: Any, frequency_weights: Any, keepdims: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Mean and variance of `x` over `axes`, which `keepdims` keeps, each element as often as its weight says.

    `frequency_weights` broadcast to `x`; both are floats of one dtype or promoted. ShapeError where they do not.

    Examples
    --------
    >>> import tracejit as tf
    >>> [float(m) for m in tf.nn.weighted_moments([1.0, 4.0], [0], [2.0, 1.0])]
    [2.0, 2.0]
    """
    x, weights = matched((x, frequency_weights), {})[0]
    weights = ops.broadcast_to(weights, shape=tuple(x.shape))
    total: Any = reduce_sum(weights, axes, keepdims=True)
    mean: Any = reduce_sum(x * weights, axes, keepdims=True) / total
    variance: Any = reduce_sum(ops.square(x - mean) * weights, axes, keepdims=True) / total
    if keepdims:
        return mean, variance
    return reduce_sum(mean, axes), reduce_sum(variance, axes)


def normalize_moments(
    counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Mean and variance from the number `counts` of elements, their sum `mean_ss` and that of squares, `variance_ss`.

    Where `shift`, None or floats, was subtracted from each element. Floats that broadcast; ShapeError where they do
    not.

    Examples
    --------
    >>> import tracejit as tf
    >>> mean, variance = tf.nn.normalize_moments(2.0, 4.0, 10.0, None)
    >>> print(mean, variance)
    tf.Tensor(2.0, shape=(), dtype=float32) tf.Tensor(1.0, shape=(), dtype=float32)
    """
    each: Any = ops.divide(1.0, as_tensor(counts))
    shifted = ops.multiply(mean_ss, each)
    mean = shifted if shift is None else ops.add(shifted, shift)
    return mean, ops.subtract(ops.multiply(variance_ss, each), ops.square(shifted))
