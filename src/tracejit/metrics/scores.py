"""Metrics that weigh two rates against each other, and the part of a variance that predictions explain."""

from __future__ import annotations

from typing import Any

import tracejit as tf

from ..errors import at_user_line
from ..losses.distances import EPSILON
from ..math.no_nan import divide_no_nan
from .metric import Metric, gathering


class FBetaScore(Metric):
    """The harmonic mean of precision and recall, recall counting `beta` squared times as much.

    Parameters
    ----------
    average : str, optional
        None: a score for each class. ``"macro"``: their mean; ``"weighted"``: weighted by how often each class is
        there; ``"micro"``: one score of all classes together.
    beta : float
    threshold : float, optional
        Predictions above it say yes; by default the largest of each example does.
    name, dtype
        As for :class:`Metric`.

    Raises
    ------
    ValueError
        For another `average`, and for labels and predictions that are no ``(examples, classes)``.

    Examples
    --------
    >>> import tracejit as tf
    >>> metric = tf.metrics.FBetaScore(beta=2.0, threshold=0.5)
    >>> y_true = [[1, 1, 1], [1, 0, 0], [1, 1, 0]]
    >>> y_pred = [[0.2, 0.6, 0.7], [0.2, 0.6, 0.6], [0.6, 0.8, 0.0]]
    >>> print(metric(y_true, y_pred))
    tf.Tensor([0.3846154  0.90909094 0.8333332 ], shape=(3,), dtype=float32)
    """

    def __init__(
        self,
        average: str | None = None,
        beta: float = 1.0,
        threshold: float | None = None,
        name: str | None = "fbeta_score",
        dtype: Any = None,
    ):
        if average not in (None, "micro", "macro", "weighted"):
            raise ValueError(
                f"average is one of None, 'micro', 'macro' and 'weighted', got {average!r}{at_user_line()}"
            )
        super().__init__(dtype, name)
        self.average, self.beta, self.threshold = average, float(beta), threshold
        self._counts: list[tf.Variable] = []

    @gathering
    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Count examples, rows with a number per class, of labels `y_true` and predictions `y_pred`.

        `sample_weight` says how often each counts. ValueError for predictions that are no rows.
        """
        labels, scores = (tf.cast(tf.convert_to_tensor(x), dtype=self.dtype) for x in (y_true, y_pred))
        if len(scores.shape) != 2:
            raise ValueError(f"the predictions are (examples, classes), got {scores.spec}{at_user_line()}")
        if not self._counts:
            shape = () if self.average == "micro" else (scores.shape[-1],)
            names = ("true_positives", "false_positives", "false_negatives", "intermediate_weights")
            self._counts = [self.add_weight(shape, name=name) for name in names]
        if self.threshold is None:
            largest = tf.greater_equal(scores, tf.reduce_max(scores, -1, keepdims=True))
            yes = tf.logical_and(largest, tf.greater(tf.abs(scores), 1e-9))
        else:
            yes = tf.greater(scores, self.threshold)
        said = tf.cast(yes, dtype=self.dtype)
        weight: Any = 1.0
        if sample_weight is not None:
            weight = tf.expand_dims(tf.cast(sample_weight, dtype=self.dtype), 1)
        axis = None if self.average == "micro" else 0
        counted = (said * labels, said * (1.0 - labels), (1.0 - said) * labels, labels)
        for count, each in zip(self._counts, counted, strict=True):
            count.assign_add(tf.reduce_sum(each * weight, axis))

    def result(self) -> tf.Tensor:
        """A score for each class, or of all together; before the first batch 0."""
        if not self._counts:
            return tf.zeros((), self.dtype)
        right, wrong, missed, often = (x.read_value() for x in self._counts)
        precision: Any = right / (right + wrong + EPSILON)
        recall: Any = right / (right + missed + EPSILON)
        square = self.beta * self.beta
        score: Any = precision * recall / (square * precision + recall + EPSILON) * (1.0 + square)
        if self.average == "weighted":
            return tf.reduce_sum(score * (often / (tf.reduce_sum(often) + EPSILON)))
        return score if self.average is None else tf.reduce_mean(score)


class F1Score(FBetaScore):
    """The harmonic mean of precision and recall; see :class:`FBetaScore` for the arguments.

    Examples
    --------
    >>> import tracejit as tf
    >>> y_true = [[1, 1, 1], [1, 0, 0], [1, 1, 0]]
    >>> y_pred = [[0.2, 0.6, 0.7], [0.2, 0.6, 0.6], [0.6, 0.8, 0.0]]
    >>> print(tf.metrics.F1Score(threshold=0.5)(y_true, y_pred))
    tf.Tensor([0.49999997 0.79999995 0.66666657], shape=(3,), dtype=float32)
    """

    def __init__(
        self,
        average: str | None = None,
        threshold: float | None = None,
        name: str | None = "f1_score",
        dtype: Any = None,
    ):
        super().__init__(average, 1.0, threshold, name, dtype)


class R2Score(Metric):
    """The coefficient of determination: which part of the variance of the labels the predictions explain.

    Parameters
    ----------
    class_aggregation : str, optional
        ``"uniform_average"``: the mean over the outputs; ``"variance_weighted_average"``: weighted by the variance
        of their labels; None: one score for each output.
    num_regressors : int
        Of how many independent variables the predictions are made: the score is adjusted for them.
    name, dtype
        As for :class:`Metric`.

    Raises
    ------
    ValueError
        For another `class_aggregation`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.metrics.R2Score()([[1.0], [4.0], [3.0]], [[2.0], [4.0], [4.0]]))
    tf.Tensor(0.57142854, shape=(), dtype=float32)
    """

    def __init__(
        self,
        class_aggregation: str | None = "uniform_average",
        num_regressors: int = 0,
        name: str | None = "r2_score",
        dtype: Any = None,
    ):
        choices = (None, "uniform_average", "variance_weighted_average")
        if class_aggregation not in choices:
            raise ValueError(
                f"class_aggregation is one of {choices}, got {class_aggregation!r}{at_user_line()}"
            )
        super().__init__(dtype, name)
        self.class_aggregation, self.num_regressors = class_aggregation, num_regressors
        self._sums: list[tf.Variable] = []
        self.num_samples: tf.Variable = self.add_weight(name="num_samples")

    @gathering
    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Take rows of labels `y_true` and predictions `y_pred`; `sample_weight` says how often each counts."""
        labels, said = (tf.cast(tf.convert_to_tensor(x), dtype=self.dtype) for x in (y_true, y_pred))
        if len(labels.shape) == 1:
            labels, said = tf.expand_dims(labels, 1), tf.reshape(said, shape=(*said.shape[:1], 1))
        if not self._sums:
            names = ("squared_sum", "sum", "total_mse", "count")
            self._sums = [self.add_weight((labels.shape[-1],), name=name) for name in names]
        weight: Any = tf.ones_like(labels)
        if sample_weight is not None:
            given = tf.cast(tf.convert_to_tensor(sample_weight), dtype=self.dtype)
            weight = weight * (tf.expand_dims(given, 1) if len(given.shape) == 1 else given)
        added = (labels * labels * weight, labels * weight, tf.square(labels - said) * weight, weight)
        for total, each in zip(self._sums, added, strict=True):
            total.assign_add(tf.reduce_sum(each, 0))
        self.num_samples.assign_add(tf.size(labels, out_type=self.dtype))

    def result(self) -> tf.Tensor:
        """The score; before the first batch 0."""
        if not self._sums:
            return tf.zeros((), self.dtype)
        squares, sums, errors, count = (x.read_value() for x in self._sums)
        spread: Any = squares - sums * (sums / count)
        raw: Any = 1.0 - errors / spread
        score: Any = tf.where(tf.math.is_inf(raw), 0.0, raw)
        if self.class_aggregation == "uniform_average":
            score = tf.reduce_mean(score)
        elif self.class_aggregation is not None:
            score = tf.reduce_sum(spread * score) / tf.reduce_sum(spread)
        if not self.num_regressors:
            return score
        samples: Any = self.num_samples.read_value()
        left = samples - self.num_regressors - 1.0
        adjusted = 1.0 - divide_no_nan((1.0 - score) * (samples - 1.0), left)
        return tf.where(tf.greater(left, 0.0), adjusted, score)
