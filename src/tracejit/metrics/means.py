"""Metrics that are means: of values, and of losses of labels and predictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tracejit as tf

from ..losses import distances, entropies
from ..losses.steps import mask_of, weight_of_steps
from ..math.no_nan import divide_no_nan
from .metric import Metric, gathering, per_example


class Mean(Metric):
    """The mean of all values so far; 0 before there is one.

    Examples
    --------
    >>> import tracejit as tf
    >>> mean = tf.metrics.Mean()
    >>> mean.update_state([1.0, 3.0])
    >>> mean.update_state([5.0, 7.0], sample_weight=[1.0, 0.0])
    >>> print(mean.result())
    tf.Tensor(3.0, shape=(), dtype=float32)
    """

    def __init__(self, name: str | None = "mean", dtype: Any = None):
        super().__init__(dtype, name)
        self.total: tf.Variable = self.add_weight(name="total")
        self.count: tf.Variable = self.add_weight(name="count")

    @gathering
    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        """Take `values` into account: `sample_weight` says how often each counts.

        Of values with several axes, the axes after the first are averaged: a batch counts its rows.
        """
        values, weight = per_example(values, sample_weight, self.dtype)
        count: Any = 1.0 if not values.shape else tf.size(values, out_type=self.dtype)
        self.total.assign_add(tf.reduce_sum(values))
        self.count.assign_add(count if weight is None else tf.reduce_sum(weight))

    def result(self) -> tf.Tensor:
        """The mean."""
        return divide_no_nan(self.total.read_value(), self.count.read_value())


class Sum(Metric):
    """The sum of all values so far.

    Examples
    --------
    >>> import tracejit as tf
    >>> total = tf.metrics.Sum()
    >>> total.update_state([1.0, 3.0])
    >>> float(total([2.0]))
    6.0
    """

    def __init__(self, name: str | None = "sum", dtype: Any = None):
        super().__init__(dtype, name)
        self.total: tf.Variable = self.add_weight(name="total")

    @gathering
    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        """Take `values` into account: `sample_weight` says how often each counts."""
        self.total.assign_add(tf.reduce_sum(per_example(values, sample_weight, self.dtype, tf.reduce_sum)[0]))

    def result(self) -> tf.Tensor:
        """The sum."""
        return self.total.read_value()


class MeanMetricWrapper(Mean):
    """The mean of a function of labels and predictions over all examples.

    Parameters
    ----------
    fn : callable
        ``fn(y_true, y_pred, **options)`` gives one number per example.
    name : str, optional
        By default that of the function.

    Examples
    --------
    >>> import tracejit as tf
    >>> error = tf.metrics.MeanMetricWrapper(lambda a, b: tf.abs(a - b), name="error")
    >>> float(error(tf.constant([1.0, 2.0]), tf.constant([2.0, 4.0])))
    1.5
    """

    def __init__(self, fn: Callable[..., Any], name: str | None = None, dtype: Any = None, **options: Any):
        super().__init__(name or getattr(fn, "__name__", "").strip("<>"), dtype)
        self._function = fn
        self._options = options

    @gathering
    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Take the examples of a batch into account, labels `y_true` and predictions `y_pred`.

        Of sequences count the steps that the mask of the predictions leaves.
        """
        values, mask = self._function(y_true, y_pred, **self._options), mask_of(y_pred)
        if mask is not None and len(values.shape) >= len(mask.shape):
            sample_weight = weight_of_steps(sample_weight, mask)
        super().update_state(values, sample_weight)


class _OfFunction(MeanMetricWrapper):
    """The mean of a function chosen by the class."""

    function: Callable[..., Any]

    def __init__(self, name: str | None = None, dtype: Any = None, **options: Any):
        super().__init__(type(self).function, name, dtype, **options)


class MeanSquaredError(_OfFunction):
    """The mean of :func:`tracejit.losses.mean_squared_error`.

    Examples
    --------
    >>> import tracejit as tf
    >>> metric = tf.metrics.MeanSquaredError()
    >>> metric.update_state([1.0, 2.0], [2.0, 4.0])
    >>> print(metric.result().numpy())
    2.5
    """

    function: Callable[..., Any] = distances.mean_squared_error


class MeanAbsoluteError(_OfFunction):
    """The mean of :func:`tracejit.losses.mean_absolute_error`.

    Examples
    --------
    >>> import tracejit as tf
    >>> metric = tf.metrics.MeanAbsoluteError()
    >>> metric.update_state([1.0, 2.0], [2.0, 4.0])
    >>> print(metric.result().numpy())
    1.5
    """

    function: Callable[..., Any] = distances.mean_absolute_error


class MeanAbsolutePercentageError(_OfFunction):
    """The mean of :func:`tracejit.losses.mean_absolute_percentage_error`.

    Examples
    --------
    >>> import tracejit as tf
    >>> metric = tf.metrics.MeanAbsolutePercentageError()
    >>> metric.update_state([1.0, 2.0], [2.0, 4.0])
    >>> print(metric.result().numpy())
    100.0
    """

    function: Callable[..., Any] = distances.mean_absolute_percentage_error


class MeanSquaredLogarithmicError(_OfFunction):
    """The mean of :func:`tracejit.losses.mean_squared_logarithmic_error`.

    Examples
    --------
    >>> import tracejit as tf
    >>> metric = tf.metrics.MeanSquaredLogarithmicError()
    >>> metric.update_state([0.0], [0.0])
    >>> print(metric.result().numpy())
    0.0
    """

    function: Callable[..., Any] = distances.mean_squared_logarithmic_error


class KLDivergence(_OfFunction):
    """The mean of :func:`tracejit.losses.kl_divergence`.

    Examples
    --------
    >>> import tracejit as tf
    >>> metric = tf.metrics.KLDivergence()
    >>> metric.update_state([[0.5, 0.5]], [[0.25, 0.75]])
    >>> print(metric.result().numpy())
    0.14384106
    """

    function: Callable[..., Any] = entropies.kl_divergence


class Hinge(_OfFunction):
    """The mean of :func:`tracejit.losses.hinge`.

    Examples
    --------
    >>> import tracejit as tf
    >>> metric = tf.metrics.Hinge()
    >>> metric.update_state([[0.0, 1.0]], [[0.5, 0.5]])
    >>> print(metric.result().numpy())
    1.0
    """

    function: Callable[..., Any] = distances.hinge


class SquaredHinge(_OfFunction):
    """The mean of :func:`tracejit.losses.squared_hinge`.

    Examples
    --------
    >>> import tracejit as tf
    >>> metric = tf.metrics.SquaredHinge()
    >>> metric.update_state([[0.0, 1.0]], [[0.5, 0.5]])
    >>> print(metric.result().numpy())
    1.25
    """

    function: Callable[..., Any] = distances.squared_hinge


class CategoricalHinge(_OfFunction):
    """The mean of :func:`tracejit.losses.categorical_hinge`.

    Examples
    --------
    >>> import tracejit as tf
    >>> metric = tf.metrics.CategoricalHinge()
    >>> metric.update_state([[0.0, 1.0]], [[0.2, 0.8]])
    >>> print(metric.result().numpy())
    0.39999998
    """

    function: Callable[..., Any] = distances.categorical_hinge


class Poisson(_OfFunction):
    """The mean of :func:`tracejit.losses.poisson`.

    Examples
    --------
    >>> import tracejit as tf
    >>> metric = tf.metrics.Poisson()
    >>> metric.update_state([[1.0]], [[2.0]])
    >>> print(metric.result().numpy())
    1.3068528
    """

    function: Callable[..., Any] = distances.poisson


class LogCoshError(_OfFunction):
    """The mean of :func:`tracejit.losses.log_cosh`.

    Examples
    --------
    >>> import tracejit as tf
    >>> metric = tf.metrics.LogCoshError()
    >>> metric.update_state([[1.0]], [[2.0]])
    >>> print(metric.result().numpy())
    0.4337808
    """

    function: Callable[..., Any] = distances.log_cosh

    def __init__(self, name: str | None = "logcosh", dtype: Any = None):
        super().__init__(name, dtype)


class CosineSimilarity(MeanMetricWrapper):
    """The mean cosine between labels and predictions along `axis`: 1 where they point the same way.

    Examples
    --------
    >>> import tracejit as tf
    >>> metric = tf.metrics.CosineSimilarity()
    >>> metric.update_state([[0.0, 1.0]], [[1.0, 0.0]])
    >>> print(metric.result().numpy())
    0.0
    """

    def __init__(self, name: str | None = "cosine_similarity", dtype: Any = None, axis: int = -1):
        super().__init__(lambda a, b: tf.negative(distances.cosine_similarity(a, b, axis)), name, dtype)


class RootMeanSquaredError(Mean):
    """The root of the mean squared error over all numbers of all batches.

    Examples
    --------
    >>> import tracejit as tf
    >>> float(tf.metrics.RootMeanSquaredError()([0.0, 0.0], [3.0, 3.0]))
    3.0
    """

    def __init__(self, name: str | None = "root_mean_squared_error", dtype: Any = None):
        super().__init__(name, dtype)

    @gathering
    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Take the examples of a batch into account, labels `y_true` and predictions `y_pred`."""
        y_true, y_pred = distances.pair(y_true, y_pred)
        super().update_state(tf.square(y_pred - y_true), sample_weight)

    def result(self) -> tf.Tensor:
        """The root of the mean."""
        return tf.sqrt(super().result())


class BinaryCrossentropy(_OfFunction):
    """The mean of :func:`tracejit.losses.binary_crossentropy`.

    Also for `from_logits`, `label_smoothing` and `axis`.

    Examples
    --------
    >>> import tracejit as tf
    >>> metric = tf.metrics.BinaryCrossentropy()
    >>> metric.update_state([[1.0]], [[0.5]])
    >>> print(metric.result().numpy())
    0.6931472
    """

    function: Callable[..., Any] = entropies.binary_crossentropy

    def __init__(
        self,
        name: str | None = None,
        dtype: Any = None,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
    ):
        super().__init__(name, dtype, from_logits=from_logits, label_smoothing=label_smoothing, axis=axis)


class CategoricalCrossentropy(BinaryCrossentropy):
    """The mean of :func:`tracejit.losses.categorical_crossentropy`.

    Examples
    --------
    >>> import tracejit as tf
    >>> metric = tf.metrics.CategoricalCrossentropy()
    >>> metric.update_state([[0.0, 1.0]], [[0.5, 0.5]])
    >>> print(metric.result().numpy())
    0.6931472
    """

    function: Callable[..., Any] = entropies.categorical_crossentropy


class SparseCategoricalCrossentropy(_OfFunction):
    """The mean of :func:`tracejit.losses.sparse_categorical_crossentropy` with `from_logits` and `axis`.

    Examples
    --------
    >>> import tracejit as tf
    >>> metric = tf.metrics.SparseCategoricalCrossentropy()
    >>> metric.update_state([1], [[0.5, 0.5]])
    >>> print(metric.result().numpy())
    0.6931472
    """

    function: Callable[..., Any] = entropies.sparse_categorical_crossentropy

    def __init__(self, name: str | None = None, dtype: Any = None, from_logits: bool = False, axis: int = -1):
        super().__init__(name, dtype, from_logits=from_logits, axis=axis)
