"""Losses of numbers: distances, margins and angles; one number per example, over the last axis.

The formulas are those of Keras.
"""

from __future__ import annotations

import math
from typing import Any

import tracejit as tf

from ..errors import at_user_line
from ..nn import common as neural

EPSILON = 1e-7  # probabilities are kept this far from 0 and 1


def pair(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Both as tensors of the predictions' dtype; an axis of size 1 that only one has at its end is made up for."""
    y_pred = tf.convert_to_tensor(y_pred)
    y_true = tf.convert_to_tensor(y_true, None if hasattr(y_true, "dtype") else y_pred.dtype)
    y_true = y_true if y_true.dtype == y_pred.dtype else tf.cast(y_true, dtype=y_pred.dtype)
    return _ranked(y_true, y_pred)


def alike(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Both as :func:`pair` makes them, for losses that do not broadcast; ShapeError where the shapes differ."""
    y_true, y_pred = pair(y_true, y_pred)
    if y_true.shape != y_pred.shape:
        raise tf.ShapeError(
            f"labels and predictions have the same shape here, got {y_true.shape} and {y_pred.shape}{at_user_line()}"
        )
    return y_true, y_pred


def _ranked(a: Any, b: Any) -> tuple[Any, Any]:
    if len(a.shape) == len(b.shape) + 1 and a.shape[-1] == 1:
        return tf.squeeze(a, -1), b
    if len(b.shape) == len(a.shape) + 1 and b.shape[-1] == 1:
        return tf.expand_dims(a, -1), b
    return a, b


def mean(x: Any, axis: int | None = -1) -> tf.Tensor:
    """The mean over an axis (None: all); of a scalar, itself. Of integers, as a float."""
    if x.dtype.kind in "iu":
        x = tf.cast(x, dtype=float)
    return tf.reduce_mean(x, axis) if x.shape else x


def mean_squared_error(y_true: Any, y_pred: Any) -> tf.Tensor:
    """Mean of ``(y_pred - y_true)**2`` over the last axis, in the dtype of the predictions, of integers as a float.

    ShapeError where the shapes do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.mean_squared_error([[0.0, 1.0]], [[1.0, 3.0]]))
    tf.Tensor([2.5], shape=(1,), dtype=float32)
    """
    y_true, y_pred = pair(y_true, y_pred)
    return mean(tf.square(y_pred - y_true))


def mean_absolute_error(y_true: Any, y_pred: Any) -> tf.Tensor:
    """Mean of ``abs(y_pred - y_true)`` over the last axis, in the dtype of the predictions, of integers as a float.

    ShapeError where the shapes do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.mean_absolute_error([[1.0, 2.0]], [[2.0, 4.0]]))
    tf.Tensor([1.5], shape=(1,), dtype=float32)
    """
    y_true, y_pred = pair(y_true, y_pred)
    return mean(tf.abs(y_pred - y_true))


def huber(y_true: Any, y_pred: Any, delta: float = 1.0) -> tf.Tensor:
    """Half the square of the error of `y_pred` against `y_true` up to `delta`, linear beyond; mean over the last axis.

    Floats. ShapeError where the shapes do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.huber([[1.0]], [[3.0]]))
    tf.Tensor([1.5], shape=(1,), dtype=float32)
    """
    y_true, y_pred = pair(y_true, y_pred)
    error = y_pred - y_true
    near = tf.clip_by_value(error, -delta, delta)
    return mean(near * (error - 0.5 * near))


def mean_absolute_percentage_error(y_true: Any, y_pred: Any) -> tf.Tensor:
    """Mean of ``100 * abs((y_true - y_pred) / y_true)`` over the last axis; divisors are 1e-7 at least.

    Floats. ShapeError where the shapes do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.mean_absolute_percentage_error([[2.0, 4.0]], [[1.0, 5.0]]))
    tf.Tensor([37.5], shape=(1,), dtype=float32)
    """
    y_true, y_pred = pair(y_true, y_pred)
    return tf.multiply(100.0, mean(tf.abs((y_true - y_pred) / tf.maximum(tf.abs(y_true), EPSILON))))


def mean_squared_logarithmic_error(y_true: Any, y_pred: Any) -> tf.Tensor:
    """Mean of the squared difference of ``log(1 + x)`` of `y_true` and `y_pred` over the last axis.

    Negative numbers count as 0. Floats. ShapeError where the shapes do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.mean_squared_logarithmic_error([[0.0]], [[1.0]]))
    tf.Tensor([0.48045287], shape=(1,), dtype=float32)
    """
    y_true, y_pred = [tf.log(tf.maximum(x, EPSILON) + 1.0) for x in pair(y_true, y_pred)]
    return mean(tf.square(y_true - y_pred))


def log_cosh(y_true: Any, y_pred: Any) -> tf.Tensor:
    """Mean of ``log(cosh(y_pred - y_true))`` over the last axis, floats, without overflow.

    ShapeError where the shapes do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.log_cosh([[0.0]], [[1000.0]]))
    tf.Tensor([999.3068], shape=(1,), dtype=float32)
    """
    y_true, y_pred = pair(y_true, y_pred)
    error = y_pred - y_true
    return mean(error + tf.softplus(-2.0 * error) - math.log(2.0))


def poisson(y_true: Any, y_pred: Any) -> tf.Tensor:
    """Mean of ``y_pred - y_true * log(y_pred + 1e-7)`` over the last axis, floats.

    ShapeError where the shapes do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.poisson([[1.0]], [[2.0]]))
    tf.Tensor([1.3068528], shape=(1,), dtype=float32)
    """
    y_true, y_pred = pair(y_true, y_pred)
    return mean(y_pred - y_true * tf.log(y_pred + EPSILON))


def cosine_similarity(y_true: Any, y_pred: Any, axis: int = -1) -> tf.Tensor:
    """Minus the cosine of the angle between `y_true` and `y_pred` along `axis`, floats: -1 where they agree.

    ShapeError where the shapes do not broadcast, and for an axis that is not there.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.cosine_similarity([[0.0, 2.0]], [[3.0, 3.0]]))
    tf.Tensor([-0.7071068], shape=(1,), dtype=float32)
    """
    y_true, y_pred = pair(y_true, y_pred)
    unit = [neural.l2_normalize(x, axis) for x in (y_true, y_pred)]
    return tf.negative(tf.reduce_sum(tf.multiply(*unit), axis))


def _signs(y_true: Any) -> Any:
    """Labels 0 and 1 as -1 and 1; any other numbers as they are."""
    binary = tf.reduce_all(tf.logical_or(tf.equal(y_true, 0), tf.equal(y_true, 1)))
    return tf.where(binary, 2.0 * y_true - 1.0, y_true)


def hinge(y_true: Any, y_pred: Any) -> tf.Tensor:
    """Mean of ``max(1 - y_true * y_pred, 0)`` over the last axis, floats; labels are -1 and 1, or 0 and 1.

    ShapeError where the shapes do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.hinge([[0.0, 1.0]], [[0.5, 0.5]]))
    tf.Tensor([1.], shape=(1,), dtype=float32)
    """
    y_true, y_pred = pair(y_true, y_pred)
    return mean(tf.maximum(1.0 - _signs(y_true) * y_pred, 0.0))


def squared_hinge(y_true: Any, y_pred: Any) -> tf.Tensor:
    """Mean of ``max(1 - y_true * y_pred, 0)**2`` over the last axis, floats; labels are -1 and 1, or 0 and 1.

    ShapeError where the shapes do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.squared_hinge([[1.0]], [[0.5]]))
    tf.Tensor([0.25], shape=(1,), dtype=float32)
    """
    y_true, y_pred = pair(y_true, y_pred)
    return mean(tf.square(tf.maximum(1.0 - _signs(y_true) * y_pred, 0.0)))


def categorical_hinge(y_true: Any, y_pred: Any) -> tf.Tensor:
    """By how much the best wrong score in `y_pred` comes within 1 of the right one; `y_true` is one-hot.

    Floats. ShapeError where the shapes do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.categorical_hinge([[0.0, 1.0]], [[0.2, 0.8]]))
    tf.Tensor([0.39999998], shape=(1,), dtype=float32)
    """
    y_true, y_pred = pair(y_true, y_pred)
    right = tf.reduce_sum(y_true * y_pred, -1)
    wrong: Any = tf.reduce_max((1.0 - y_true) * y_pred, -1)
    return tf.maximum(wrong - right + 1.0, 0.0)
