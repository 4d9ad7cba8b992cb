"""Losses of probabilities: cross entropies and the divergence of distributions; one number per example.

The formulas are those of Keras.
"""

from __future__ import annotations

from typing import Any

import tracejit as tf

from ..nn import cross_entropy
from .distances import EPSILON, alike, mean, pair
from .steps import give_mask


def binary_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: float = 0.0, axis: int = -1
) -> tf.Tensor:
    """Cross entropy of independent yes-or-no predictions; mean over `axis`.

    Parameters
    ----------
    y_true : tensor-like
        0 and 1, or probabilities.
    y_pred : tensor-like of floats
        Probabilities, kept 1e-7 away from 0 and 1; any numbers with `from_logits`.
    from_logits : bool
        Apply the sigmoid; the accurate way.
    label_smoothing : float
        Move the labels this much of the way to 0.5.
    axis : int

    Raises
    ------
    ShapeError
        Where the shapes differ by more than an axis of size 1 at the end.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.binary_crossentropy([[0.0, 1.0]], [[0.5, 0.5]]))
    tf.Tensor([0.6931472], shape=(1,), dtype=float32)
    """
    y_true, y_pred = alike(y_true, y_pred)
    y_true = smoothed(y_true, label_smoothing)
    if from_logits:
        return mean(cross_entropy.sigmoid_cross_entropy_with_logits(y_true, y_pred), axis)
    return mean(of_two_classes(y_true, y_pred), axis)


def of_two_classes(labels: Any, p: Any) -> Any:
    """The cross entropy of each prediction `p` of class 1."""
    p = tf.clip_by_value(p, EPSILON, 1.0 - EPSILON)
    return -(labels * tf.log(p) + (1.0 - labels) * tf.log(1.0 - p))


def smoothed(labels: Any, amount: float, scores: Any = None, axis: int = -1) -> Any:
    """Labels moved by `amount` of the way to the uniform distribution over the classes of `scores`, or over two."""
    if not amount:
        return labels
    classes: Any = [2] if scores is None else tf.shape(scores)
    count = tf.cast(classes[axis], dtype=labels.dtype)
    return labels * (1.0 - amount) + tf.divide(amount, count)


def probabilities(y_pred: Any, axis: int) -> Any:
    """What is made to sum to 1 and kept away from 0 and 1."""
    p = y_pred / tf.reduce_sum(y_pred, axis, keepdims=True)
    return tf.clip_by_value(p, EPSILON, 1.0 - EPSILON)


def categorical_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: float = 0.0, axis: int = -1
) -> tf.Tensor:
    """Cross entropy between distributions along `axis`.

    Parameters
    ----------
    y_true : tensor-like of floats
        Distributions, such as one-hot labels.
    y_pred : tensor-like of floats
        Distributions, or with `from_logits` what a softmax makes one of; the accurate way.
    from_logits : bool
    label_smoothing : float
        Move the labels this much of the way to the uniform distribution.
    axis : int

    Raises
    ------
    ShapeError
        Where the shapes differ by more than an axis of size 1 at the end.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.categorical_crossentropy([[0.0, 1.0]], [[0.5, 0.5]]))
    tf.Tensor([0.6931472], shape=(1,), dtype=float32)
    """
    y_true, y_pred = alike(y_true, y_pred)
    y_true = smoothed(y_true, label_smoothing, y_pred, axis)
    if from_logits:
        return cross_entropy.softmax_cross_entropy_with_logits(y_true, y_pred, axis)
    return tf.negative(tf.reduce_sum(y_true * tf.log(probabilities(y_pred, axis)), axis))


def sparse_categorical_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, ignore_class: int | None = None, axis: int = -1
) -> tf.Tensor:
    """Cross entropy between class numbers and distributions along `axis`.

    Parameters
    ----------
    y_true : tensor-like of integers
        The shape of `y_pred` without `axis`, or with size 1 at the end.
    y_pred : tensor-like of floats
        Distributions, or with `from_logits` what a softmax makes one of; the accurate way.
    from_logits : bool
    ignore_class : int, optional
        A label, perhaps of no class, whose loss is 0; the mean of a :class:`Loss` leaves it out.
    axis : int

    Raises
    ------
    IndexError
        When a label is no class.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.sparse_categorical_crossentropy([1], [[0.5, 0.5]]))
    tf.Tensor([0.6931472], shape=(1,), dtype=float32)
    """
    y_true, y_pred = labels_and_scores(y_true, y_pred, axis)
    if ignore_class is None:
        return _of_class(y_true, y_pred, from_logits)
    kept = tf.not_equal(y_true, ignore_class)
    losses = tf.where(kept, _of_class(tf.where(kept, y_true, 0), y_pred, from_logits), 0.0)
    give_mask(losses, kept)
    return losses


def labels_and_scores(y_true: Any, y_pred: Any, axis: int = -1) -> tuple[Any, Any]:
    """Class numbers as integers, without an axis of size 1 at their end, and scores with the classes last."""
    labels, scores = tf.convert_to_tensor(y_true), tf.convert_to_tensor(y_pred)
    rank = len(scores.shape)
    if axis not in (-1, rank - 1):
        scores = tf.transpose(scores, perm=(*(a for a in range(rank) if a != axis % rank), axis % rank))
    if len(labels.shape) == rank and labels.shape[-1] == 1:
        labels = tf.squeeze(labels, -1)
    return tf.cast(labels, dtype="int64") if labels.dtype.kind == "f" else labels, scores


def _of_class(labels: Any, scores: Any, from_logits: bool) -> Any:
    if from_logits:
        return cross_entropy.sparse_softmax_cross_entropy_with_logits(labels, scores)
    return tf.negative(cross_entropy.picked(tf.log(probabilities(scores, -1)), labels))


def kl_divergence(y_true: Any, y_pred: Any) -> tf.Tensor:
    """How much distributions on the last axis differ, floats: the sum of ``y_true * log(y_true / y_pred)``.

    ShapeError where the shapes do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.kl_divergence([[0.5, 0.5]], [[0.25, 0.75]]))
    tf.Tensor([0.14384106], shape=(1,), dtype=float32)
    """
    y_true, y_pred = [tf.clip_by_value(x, EPSILON, 1.0) for x in pair(y_true, y_pred)]
    return tf.reduce_sum(tf.multiply(y_true, tf.log(tf.divide(y_true, y_pred))), -1)
