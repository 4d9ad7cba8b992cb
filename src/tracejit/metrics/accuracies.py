"""How often predictions are right: functions that give 0 or 1 per example, and metrics that average them."""

from __future__ import annotations

from typing import Any

import tracejit as tf

from ..losses.distances import mean, pair
from ..losses.entropies import labels_and_scores
from ..math.elementary import argmax
from ..nn.cross_entropy import picked
from .means import MeanMetricWrapper


def _rate(right: Any) -> tf.Tensor:
    return tf.cast(right, dtype=float)


def _accuracy(y_true: Any, y_pred: Any) -> tf.Tensor:
    """1, a float32, for each element where `y_true` and `y_pred` are equal, else 0.

    ShapeError where the shapes do not broadcast.
    """
    return _rate(tf.equal(*pair(y_true, y_pred)))


def binary_accuracy(y_true: Any, y_pred: Any, threshold: float = 0.5) -> tf.Tensor:
    """The part of the last axis where ``y_pred > threshold`` is the label in `y_true`, 0 or 1; a float.

    ShapeError where the shapes do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.metrics.binary_accuracy([[1.0], [0.0]], [[0.9], [0.6]]))
    tf.Tensor([1. 0.], shape=(2,), dtype=float32)
    """
    y_true, y_pred = pair(y_true, y_pred)
    return mean(_rate(tf.equal(y_true, tf.cast(y_pred > threshold, dtype=y_true.dtype))))


def categorical_accuracy(y_true: Any, y_pred: Any) -> tf.Tensor:
    """1.0 where the largest number of `y_true` and of `y_pred` stands at the same place of the last axis, else 0.0.

    ShapeError where the shapes do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.metrics.categorical_accuracy([[0.0, 1.0]], [[0.3, 0.7]]))
    tf.Tensor([1.], shape=(1,), dtype=float32)
    """
    return _rate(tf.equal(argmax(tf.convert_to_tensor(y_true), -1), argmax(tf.convert_to_tensor(y_pred), -1)))


def sparse_categorical_accuracy(y_true: Any, y_pred: Any) -> tf.Tensor:
    """1 where the largest number on the last axis of `y_pred` stands at the label in `y_true`, else 0; floats.

    ShapeError where the shapes do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.metrics.sparse_categorical_accuracy([1, 0], [[0.3, 0.7], [0.4, 0.6]]))
    tf.Tensor([1. 0.], shape=(2,), dtype=float32)
    """
    labels, scores = labels_and_scores(y_true, y_pred)
    return _rate(tf.equal(labels, tf.cast(argmax(scores, -1), dtype=labels.dtype)))


def sparse_top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> tf.Tensor:
    """1 where fewer than `k` numbers on the last axis of `y_pred` are larger than that of the label `y_true`, else 0.

    Floats. IndexError for a label that is no class.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.metrics.sparse_top_k_categorical_accuracy([2], [[0.1, 0.9, 0.8]], k=2))
    tf.Tensor([1.], shape=(1,), dtype=float32)
    """
    labels, scores = labels_and_scores(y_true, y_pred)
    own = tf.expand_dims(picked(scores, labels), -1)
    larger = tf.reduce_sum(tf.cast(tf.greater(scores, own), dtype="int32"), axis=-1)
    return _rate(tf.less(larger, k))


def top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> tf.Tensor:
    """As :func:`sparse_top_k_categorical_accuracy` with `k` of `y_pred`, for labels `y_true`, one-hot on the last axis.

    Floats. IndexError where there are fewer classes than in the labels.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.metrics.top_k_categorical_accuracy([[0.0, 1.0]], [[0.2, 0.8]], k=1))
    tf.Tensor([1.], shape=(1,), dtype=float32)
    """
    return sparse_top_k_categorical_accuracy(argmax(tf.convert_to_tensor(y_true), -1), y_pred, k)


class Accuracy(MeanMetricWrapper):
    """How often predictions equal labels.

    Examples
    --------
    >>> import tracejit as tf
    >>> accuracy = tf.metrics.Accuracy()
    >>> print(accuracy([1, 2, 3, 4], [0, 2, 3, 4]))
    tf.Tensor(0.75, shape=(), dtype=float32)
    """

    def __init__(self, name: str | None = "accuracy", dtype: Any = None):
        super().__init__(_accuracy, name, dtype)


class BinaryAccuracy(MeanMetricWrapper):
    """The mean of :func:`binary_accuracy` with `threshold`.

    Examples
    --------
    >>> import tracejit as tf
    >>> metric = tf.metrics.BinaryAccuracy()
    >>> metric.update_state([1.0, 0.0], [0.9, 0.6])
    >>> print(metric.result().numpy())
    0.5
    """

    def __init__(self, name: str | None = "binary_accuracy", dtype: Any = None, threshold: float = 0.5):
        super().__init__(binary_accuracy, name, dtype, threshold=threshold)


class CategoricalAccuracy(MeanMetricWrapper):
    """The mean of :func:`categorical_accuracy`.

    Examples
    --------
    >>> import tracejit as tf
    >>> metric = tf.metrics.CategoricalAccuracy()
    >>> metric.update_state([[0.0, 1.0]], [[0.2, 0.8]])
    >>> print(metric.result().numpy())
    1.0
    """

    def __init__(self, name: str | None = "categorical_accuracy", dtype: Any = None):
        super().__init__(categorical_accuracy, name, dtype)


class SparseCategoricalAccuracy(MeanMetricWrapper):
    """The mean of :func:`sparse_categorical_accuracy`.

    Examples
    --------
    >>> import tracejit as tf
    >>> accuracy = tf.metrics.SparseCategoricalAccuracy()
    >>> accuracy.update_state([1, 0], [[0.3, 0.7], [0.4, 0.6]])
    >>> print(accuracy.result())
    tf.Tensor(0.5, shape=(), dtype=float32)
    """

    def __init__(self, name: str | None = "sparse_categorical_accuracy", dtype: Any = None):
        super().__init__(sparse_categorical_accuracy, name, dtype)


class TopKCategoricalAccuracy(MeanMetricWrapper):
    """The mean of :func:`top_k_categorical_accuracy` with `k`.

    Examples
    --------
    >>> import tracejit as tf
    >>> metric = tf.metrics.TopKCategoricalAccuracy(k=1)
    >>> metric.update_state([[0.0, 1.0]], [[0.2, 0.8]])
    >>> print(metric.result().numpy())
    1.0
    """

    def __init__(self, k: int = 5, name: str | None = "top_k_categorical_accuracy", dtype: Any = None):
        super().__init__(top_k_categorical_accuracy, name, dtype, k=k)


class SparseTopKCategoricalAccuracy(MeanMetricWrapper):
    """The mean of :func:`sparse_top_k_categorical_accuracy` with `k`.

    Examples
    --------
    >>> import tracejit as tf
    >>> metric = tf.metrics.SparseTopKCategoricalAccuracy(k=1)
    >>> metric.update_state([1], [[0.2, 0.8]])
    >>> print(metric.result().numpy())
    1.0
    """

    def __init__(self, k: int = 5, name: str | None = "sparse_top_k_categorical_accuracy", dtype: Any = None):
        super().__init__(sparse_top_k_categorical_accuracy, name, dtype, k=k)
