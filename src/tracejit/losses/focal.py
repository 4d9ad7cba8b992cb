"""Losses for classes of unequal size: cross entropies that easy examples count little in, and overlaps of regions.

The formulas are those of Keras.
"""

from __future__ import annotations

from typing import Any

import tracejit as tf

from .distances import EPSILON, alike, mean, pair
from .entropies import of_two_classes, probabilities, smoothed


def binary_focal_crossentropy(
    y_true: Any,
    y_pred: Any,
    apply_class_balancing: bool = False,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> tf.Tensor:
    """Cross entropy of yes-or-no predictions, times ``(1 - p)**gamma``, `p` that of the label; mean over `axis`.

    Parameters
    ----------
    y_true : tensor-like
        0 and 1, or probabilities.
    y_pred : tensor-like of floats
        Probabilities, kept 1e-7 away from 0 and 1; any numbers with `from_logits`.
    apply_class_balancing : bool
        Weight examples of class 1 by `alpha` and of class 0 by ``1 - alpha``.
    alpha, gamma : float
    from_logits : bool
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
    >>> print(tf.losses.binary_focal_crossentropy([[0.0, 1.0]], [[0.5, 0.5]]))
    tf.Tensor([0.1732868], shape=(1,), dtype=float32)
    """
    y_true, y_pred = alike(y_true, y_pred)
    y_true = smoothed(y_true, label_smoothing)
    given = tf.sigmoid(y_pred) if from_logits else y_pred
    of_label = y_true * given + (1.0 - y_true) * (1.0 - given)
    losses = tf.pow(1.0 - of_label, gamma) * of_two_classes(y_true, given)
    if apply_class_balancing:
        losses = losses * (y_true * alpha + (1.0 - y_true) * (1.0 - alpha))
    return mean(losses, axis)


def categorical_focal_crossentropy(
    y_true: Any,
    y_pred: Any,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> tf.Tensor:
    """Cross entropy between distributions along `axis`, the term of each class times ``alpha * (1 - p)**gamma``.

    Parameters
    ----------
    y_true : tensor-like of floats
        Distributions, such as one-hot labels.
    y_pred : tensor-like of floats
        Distributions, or with `from_logits` what a softmax makes one of.
    alpha, gamma : float
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
    >>> print(tf.losses.categorical_focal_crossentropy([[0.0, 1.0]], [[0.5, 0.5]]))
    tf.Tensor([0.0433217], shape=(1,), dtype=float32)
    """
    y_true, y_pred = alike(y_true, y_pred)
    y_true = smoothed(y_true, label_smoothing, y_pred, axis)
    p = probabilities(tf.nn.softmax(y_pred, axis) if from_logits else y_pred, axis)
    return tf.reduce_sum(alpha * tf.pow(1.0 - p, gamma) * -y_true * tf.log(p), axis)


def dice(y_true: Any, y_pred: Any, axis: Any = None) -> tf.Tensor:
    """``1 - 2 * overlap / size`` of regions, by the Sørensen-Dice coefficient; of the sums over `axis`, None: all axes.

    `y_true` and `y_pred`, floats, say how far entries are in the region. ShapeError where the shapes do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.dice([[0.0, 1.0]], [[0.5, 0.5]]))
    tf.Tensor(0.5, shape=(), dtype=float32)
    """
    y_true, y_pred = pair(y_true, y_pred)
    overlap: Any = tf.reduce_sum(y_true * y_pred, axis)
    size: Any = tf.reduce_sum(y_true, axis) + tf.reduce_sum(y_pred, axis)
    return 1.0 - 2.0 * overlap / (size + EPSILON)


def tversky(y_true: Any, y_pred: Any, alpha: float = 0.5, beta: float = 0.5, axis: Any = None) -> tf.Tensor:
    """``1 - overlap / (overlap + alpha * missed + beta * added)``, by the Tversky index; sums over `axis`, None: all.

    Parameters
    ----------
    y_true, y_pred : tensor-like of floats
        How far each entry is in the region.
    alpha, beta : float
        Weights of what is only true (`missed`) and of what is only predicted (`added`).
    axis : int or sequence of int, optional

    Raises
    ------
    ShapeError
        Where the shapes do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.tversky([[0.0, 1.0]], [[0.5, 0.5]]))
    tf.Tensor(0.50000006, shape=(), dtype=float32)
    """
    y_true, y_pred = pair(y_true, y_pred)
    overlap: Any = tf.reduce_sum(y_true * y_pred, axis)
    only_predicted: Any = tf.reduce_sum(y_pred * (1.0 - y_true), axis)
    only_true: Any = tf.reduce_sum(y_true * (1.0 - y_pred), axis)
    return 1.0 - overlap / (overlap + alpha * only_true + beta * only_predicted + EPSILON)
