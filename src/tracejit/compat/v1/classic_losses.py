"""Losses as programs of 2018 call them: functions that return a weighted mean over all examples."""

from __future__ import annotations

from typing import Any

import tracejit as tf

from ...errors import at_user_line
from ...losses.entropies import smoothed
from ...nn import cross_entropy


def compute_weighted_loss(losses: Any, weights: Any = 1.0) -> tf.Tensor:
    """The sum of ``losses * weights`` over the number of weights that are not 0, a float scalar; 0 where all are.

    ShapeError where `weights` do not broadcast to the shape of `losses`.

    Examples
    --------
    >>> from tracejit.compat import v1 as tf
    >>> float(tf.losses.compute_weighted_loss([1.0, 3.0, 5.0], [1.0, 1.0, 0.0]))
    2.0
    """
    losses = tf.convert_to_tensor(losses)
    weights = tf.cast(tf.convert_to_tensor(weights), dtype=losses.dtype)
    weights = tf.broadcast_to(weights, shape=losses.shape)
    present = tf.reduce_sum(tf.cast(tf.not_equal(weights, 0), dtype=losses.dtype))
    some = tf.greater(present, 0)
    return tf.where(some, tf.reduce_sum(losses * weights) / tf.where(some, present, 1), 0)


def _pair(labels: Any, predictions: Any) -> tuple[Any, Any]:
    predictions = tf.convert_to_tensor(predictions)
    labels = tf.cast(tf.convert_to_tensor(labels), dtype=predictions.dtype)
    if labels.shape != predictions.shape:
        raise tf.ShapeError(
            f"labels {labels.spec} and predictions {predictions.spec} differ in shape{at_user_line()}"
        )
    return labels, predictions


def mean_squared_error(labels: Any, predictions: Any, weights: Any = 1.0) -> tf.Tensor:
    """Mean, a float scalar, of squared differences of `labels` and `predictions`, each times its `weights`.

    ShapeError where the shapes differ.

    Examples
    --------
    >>> from tracejit.compat import v1 as tf
    >>> float(tf.losses.mean_squared_error([1.0, 2.0], [2.0, 4.0]))
    2.5
    """
    y, p = _pair(labels, predictions)
    return compute_weighted_loss(tf.square(p - y), weights)


def absolute_difference(labels: Any, predictions: Any, weights: Any = 1.0) -> tf.Tensor:
    """Mean, a float scalar, of absolute differences of `labels` and `predictions`, each times its `weights`.

    ShapeError where the shapes differ.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.compat.v1.losses.absolute_difference([1.0, 2.0], [2.0, 4.0]))
    tf.Tensor(1.5, shape=(), dtype=float32)
    """
    y, p = _pair(labels, predictions)
    return compute_weighted_loss(tf.abs(p - y), weights)


def huber_loss(labels: Any, predictions: Any, weights: Any = 1.0, delta: float = 1.0) -> tf.Tensor:
    """Mean, a float scalar, of squares, halved, of differences up to `delta`, and lines beyond.

    `labels`, `predictions`, `weights` and ShapeError are those of :func:`mean_squared_error`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.compat.v1.losses.huber_loss([1.0, 2.0], [2.0, 5.0]))
    tf.Tensor(1.5, shape=(), dtype=float32)
    """
    y, p = _pair(labels, predictions)
    error = tf.abs(p - y)
    inner = tf.minimum(error, delta)
    return compute_weighted_loss(0.5 * tf.square(inner) + delta * (error - inner), weights)


def log_loss(labels: Any, predictions: Any, weights: Any = 1.0, epsilon: float = 1e-7) -> tf.Tensor:
    """Mean, a float scalar, of the cross entropies of probabilities, `epsilon` away from 0.

    `labels`, `predictions`, `weights` and ShapeError are those of :func:`mean_squared_error`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.compat.v1.losses.log_loss([1.0, 0.0], [0.5, 0.5]))
    tf.Tensor(0.69314694, shape=(), dtype=float32)
    """
    y, p = _pair(labels, predictions)
    return compute_weighted_loss(-y * tf.log(p + epsilon) - (1.0 - y) * tf.log(1.0 - p + epsilon), weights)


def hinge_loss(labels: Any, logits: Any, weights: Any = 1.0) -> tf.Tensor:
    """Mean, a float scalar, of how far `logits` are from a margin of 1; `labels` are 0 or 1.

    `weights` and ShapeError are those of :func:`mean_squared_error`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.compat.v1.losses.hinge_loss([1.0, 0.0], [0.5, 0.5]))
    tf.Tensor(1.0, shape=(), dtype=float32)
    """
    y, p = _pair(labels, logits)
    return compute_weighted_loss(tf.relu(1.0 - (2.0 * y - 1.0) * p), weights)


def sigmoid_cross_entropy(
    multi_class_labels: Any, logits: Any, weights: Any = 1.0, label_smoothing: float = 0.0
) -> tf.Tensor:
    """Mean, a float scalar, of the cross entropies of independent classes, `multi_class_labels`, from `logits`.

    `label_smoothing` moves labels towards a half; `weights` and ShapeError are those of :func:`mean_squared_error`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.compat.v1.losses.sigmoid_cross_entropy([[1.0]], [[0.0]]))
    tf.Tensor(0.6931472, shape=(), dtype=float32)
    """
    y, z = _pair(multi_class_labels, logits)
    y = smoothed(y, label_smoothing)
    losses = cross_entropy.sigmoid_cross_entropy_with_logits(labels=y, logits=z)
    return compute_weighted_loss(losses, weights)


def softmax_cross_entropy(
    onehot_labels: Any, logits: Any, weights: Any = 1.0, label_smoothing: float = 0.0
) -> tf.Tensor:
    """Mean, a float scalar, of the cross entropies of exclusive classes, `onehot_labels`, from `logits`.

    `label_smoothing` moves labels towards the uniform distribution; `weights` and ShapeError are those of
    :func:`mean_squared_error`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.compat.v1.losses.softmax_cross_entropy([[1.0, 0.0]], [[0.0, 0.0]]))
    tf.Tensor(0.6931472, shape=(), dtype=float32)
    """
    y, z = _pair(onehot_labels, logits)
    y = smoothed(y, label_smoothing, y)
    losses = cross_entropy.softmax_cross_entropy_with_logits(labels=y, logits=z)
    return compute_weighted_loss(losses, weights)


def sparse_softmax_cross_entropy(labels: Any, logits: Any, weights: Any = 1.0) -> tf.Tensor:
    """Mean, a float scalar, of the cross entropies of exclusive classes, `labels` by number, from `logits`.

    `weights` are those of :func:`mean_squared_error`. ShapeError where there is not one label per row.

    Examples
    --------
    >>> from tracejit.compat import v1 as tf
    >>> print(f"{tf.losses.sparse_softmax_cross_entropy([0], [[2.0, 1.0]]):.4f}")
    0.3133
    """
    losses = cross_entropy.sparse_softmax_cross_entropy_with_logits(
        labels=tf.convert_to_tensor(labels), logits=tf.convert_to_tensor(logits)
    )
    return compute_weighted_loss(losses, weights)
