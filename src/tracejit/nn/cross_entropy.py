"""Cross entropies from logits: exact where probabilities would have vanished, at any order of derivative.

One number per example; averages and sums are the caller's. Labels may be distributions or class numbers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.dim import same
from ..core.errors import DtypeError, ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from ..ops.arrays.reduce import size_tensor
from ..ops.cross_entropy import in_one
from ..ops.elementwise.arithmetic import converted, matched
from .activations import log_softmax

_INT64 = np.dtype("int64")


def softmax_cross_entropy_with_logits(
    labels: Any, logits: Any, axis: int = -1, name: str | None = None
) -> Tensor:
    """Cross entropy between distributions and the softmax of `logits`.

    Parameters
    ----------
    labels : tensor-like of floats
        Like `logits`, to whose dtype they are cast; distributions along `axis`. Gradients flow to them too.
    logits : tensor-like of floats
    axis : int

    Returns
    -------
    Tensor
        The shape without `axis`, in floats.

    Raises
    ------
    ShapeError
        Where labels and logits do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.softmax_cross_entropy_with_logits([[0.0, 1.0]], [[1000.0, 0.0]]))
    tf.Tensor([1000.], shape=(1,), dtype=float32)
    """
    logits = as_tensor(logits)
    if logits.dtype.kind not in "f":
        labels, logits = matched((labels, logits), {})[0]
    labels = converted(labels, logits.np_dtype)
    if len(labels.shape) == len(logits.shape) - 1 and not same([*labels.shape, 1][-2], logits.shape[-1]):
        raise ShapeError(
            f"softmax_cross_entropy_with_logits: labels {labels.spec} are no distributions over the classes of logits "
            f"{logits.spec}: for class numbers use sparse_softmax_cross_entropy_with_logits{at(user_location())}"
        )
    if axis in (-1, len(logits.shape) - 1) and in_one(logits, labels):
        return ops.dense_cross_entropy(logits, labels)
    return ops.negative(ops.reduce_sum(labels * log_softmax(logits, axis), axis=axis))


def sparse_softmax_cross_entropy_with_logits(labels: Any, logits: Any, name: str | None = None) -> Tensor:
    """Cross entropy between class numbers and the softmax of `logits`.

    Parameters
    ----------
    labels : tensor-like of integers
        The shape of `logits` without its last axis.
    logits : tensor-like of floats
        One score per class on the last axis.

    Returns
    -------
    Tensor
        Like `labels`.

    Raises
    ------
    IndexError
        When a label is not below the number of classes, or negative.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.sparse_softmax_cross_entropy_with_logits([1], [[1000.0, 0.0]]))
    tf.Tensor([1000.], shape=(1,), dtype=float32)
    """
    labels, logits = as_tensor(labels), as_tensor(logits)
    if labels.dtype.kind in "iu" and in_one(logits, labels):
        return ops.sparse_cross_entropy(logits, labels)
    return ops.negative(picked(log_softmax(logits), labels))


def picked(scores: Any, labels: Any) -> Tensor:
    """``scores[..., label]`` for each label; IndexError for one that is no class."""
    labels, scores = as_tensor(labels), as_tensor(scores)
    if labels.dtype.kind not in "iu":
        raise DtypeError(
            f"class numbers are integers, got {labels.spec}; cast them first{at(user_location())}"
        )
    *lead, classes = scores.shape
    if len(labels.shape) != len(lead) or not all(map(same, labels.shape, lead)):
        raise ShapeError(
            f"labels of {labels.spec} for scores of {scores.spec}: labels have the shape of the scores without "
            f"its last axis{at(user_location())}"
        )
    refused = ops.where(labels < 0, size_tensor(classes), ops.cast(labels, dtype=_INT64))  # from no end
    return ops.gather(scores, refused, axis=len(lead), batch_dims=len(lead))


def weighted_cross_entropy_with_logits(
    labels: Any, logits: Any, pos_weight: Any, name: str | None = None
) -> Tensor:
    """As :func:`sigmoid_cross_entropy_with_logits` of `labels`, `logits`; positive ones count `pos_weight` times.

    Floats of the shape to which they broadcast; ShapeError where they do not.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.weighted_cross_entropy_with_logits([1.0], [0.0], 2.0))
    tf.Tensor([1.3862944], shape=(1,), dtype=float32)
    """
    z, x = matched((labels, logits), {})[0]
    return pos_weight * z * ops.softplus(-x) + (1.0 - z) * ops.softplus(x)


def sigmoid_cross_entropy_with_logits(labels: Any, logits: Any, name: str | None = None) -> Tensor:
    """Cross entropy between probabilities and the sigmoid of `logits`, element by element.

    Its derivative is ``sigmoid(logits) - labels`` everywhere, at 0 too.

    Parameters
    ----------
    labels : tensor-like of floats
        In [0, 1], like `logits`.
    logits : tensor-like of floats

    Raises
    ------
    ShapeError
        Where labels and logits do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.sigmoid_cross_entropy_with_logits([1.0, 0.0], [-100.0, -100.0]))
    tf.Tensor([1.0e+02 3.8e-44], shape=(2,), dtype=float32)
    """
    z, x = matched((labels, logits), {})[0]
    return z * ops.softplus(-x) + (1.0 - z) * ops.softplus(x)


def log_poisson_loss(
    targets: Any, log_input: Any, compute_full_loss: bool = False, name: str | None = None
) -> Tensor:
    """``exp(log_input) - log_input * targets``, floats, element by element: how unlikely these counts are.

    With `compute_full_loss` Stirling's approximation of ``log(targets!)`` is added, for targets above 1. ShapeError
    where they do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.log_poisson_loss([2.0, 0.0], [0.0, 0.0]))
    tf.Tensor([1. 1.], shape=(2,), dtype=float32)
    """
    z, x = matched((targets, log_input), {})[0]
    loss = ops.exp(x) - x * z
    if not compute_full_loss:
        return loss
    inside = ops.where(z > 1.0, z, 2.0)
    stirling = inside * ops.log(inside) - inside + 0.5 * ops.log(2.0 * math.pi * inside)
    return loss + ops.where(z > 1.0, stirling, 0.0)


def compute_average_loss(
    per_example_loss: Any, sample_weight: Any = None, global_batch_size: Any = None
) -> Tensor:
    """The sum of losses, each times its `sample_weight`, over `global_batch_size`; a scalar float.

    The default of the last is how many `per_example_loss` there are. ShapeError where weights do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> float(tf.nn.compute_average_loss([2.0, 4.0], global_batch_size=4))
    1.5
    """
    losses: Any = as_tensor(per_example_loss)
    total = ops.reduce_sum(losses if sample_weight is None else ops.multiply(losses, sample_weight))
    return ops.divide(
        total,
        ops.cast(losses.shape[0] if global_batch_size is None else global_batch_size, dtype=total.dtype),
    )


def scale_regularization_loss(regularization_loss: Any) -> Tensor:
    """The sum of a `regularization_loss`, a scalar float: nobody else adds to it. DtypeError for strings.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.scale_regularization_loss(0.5))
    tf.Tensor(0.5, shape=(), dtype=float32)
    """
    return ops.reduce_sum(as_tensor(regularization_loss))
