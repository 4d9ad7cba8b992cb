"""Metrics from counts of right and wrong answers, at thresholds between yes and no.

Predictions are probabilities of "yes". A prediction above a threshold says yes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tracejit as tf

from ..errors import at_user_line
from ..losses.distances import pair
from ..math.elementary import divide_no_nan
from .metric import Metric, gathering

_KINDS = {
    "true_positives": (True, True),
    "false_positives": (False, True),
    "true_negatives": (False, False),
    "false_negatives": (True, False),
}


class _Counting(Metric):
    """Counts examples by what they are and what is said of them, for each of `thresholds`, one (0.5) or several."""

    kinds: Sequence[str] = tuple(_KINDS)

    def __init__(self, thresholds: Any = None, name: str | None = None, dtype: Any = None):
        super().__init__(dtype, name)
        thresholds = 0.5 if thresholds is None else thresholds
        several = isinstance(thresholds, (list, tuple, np.ndarray))
        self.thresholds: list[float] = [float(t) for t in (thresholds if several else [thresholds])]
        self._single = not several
        for kind in self.kinds:
            setattr(self, kind, self.add_weight((len(self.thresholds),), name=kind))

    @gathering
    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Count the examples of a batch; `sample_weight` says how often each counts."""
        labels, scores = (tf.cast(x, dtype=self.dtype) for x in pair(y_true, y_pred))
        weight: Any = tf.constant(1.0, self.dtype)
        if sample_weight is not None:
            weight, scores = pair(sample_weight, scores)
        weight = tf.reshape(tf.broadcast_to(weight, shape=scores.shape), shape=(1, scores.spec.size))
        labels, scores = (tf.reshape(x, shape=(1, x.spec.size)) for x in (labels, scores))
        limits = tf.expand_dims(tf.constant(self.thresholds, self.dtype), -1)
        is_so, said = tf.greater(labels, 0.5), tf.greater(scores, limits)
        for kind in self.kinds:
            so, yes = _KINDS[kind]
            counted = tf.logical_and(tf.equal(is_so, so), tf.equal(said, yes))
            getattr(self, kind).assign_add(tf.reduce_sum(tf.where(counted, weight, 0.0), 1))

    def _given(self, x: Any) -> Any:
        return x[0] if self._single else x


class _OneCount(_Counting):
    def result(self) -> tf.Tensor:
        """The count."""
        return self._given(getattr(self, self.kinds[0]).read_value())


class TruePositives(_OneCount):
    """How many examples with label 1 are said to be so.

    Examples
    --------
    >>> import tracejit as tf
    >>> float(tf.metrics.TruePositives()([0, 1, 1, 1], [1.0, 0.0, 1.0, 1.0]))
    2.0
    """

    kinds: Sequence[str] = ("true_positives",)


class FalsePositives(_OneCount):
    """How many examples with label 0 are said to have 1.

    Examples
    --------
    >>> import tracejit as tf
    >>> metric = tf.metrics.FalsePositives()
    >>> metric.update_state([0.0, 1.0], [0.9, 0.1])
    >>> print(metric.result().numpy())
    1.0
    """

    kinds: Sequence[str] = ("false_positives",)


class TrueNegatives(_OneCount):
    """How many examples with label 0 are said to be so.

    Examples
    --------
    >>> import tracejit as tf
    >>> metric = tf.metrics.TrueNegatives()
    >>> metric.update_state([0.0, 1.0], [0.2, 0.1])
    >>> print(metric.result().numpy())
    1.0
    """

    kinds: Sequence[str] = ("true_negatives",)


class FalseNegatives(_OneCount):
    """How many examples with label 1 are said to have 0.

    Examples
    --------
    >>> import tracejit as tf
    >>> metric = tf.metrics.FalseNegatives()
    >>> metric.update_state([1.0, 1.0], [0.9, 0.1])
    >>> print(metric.result().numpy())
    1.0
    """

    kinds: Sequence[str] = ("false_negatives",)


class Precision(_Counting):
    """Which part of the examples said to be 1 are.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(f"{float(tf.metrics.Precision()([0, 1, 1, 1], [1.0, 0.0, 1.0, 1.0])):.4f}")
    0.6667
    """

    kinds: Sequence[str] = ("true_positives", "false_positives")

    def result(self) -> tf.Tensor:
        """The rate; 0 where nothing was counted."""
        right, wrong = (getattr(self, kind).read_value() for kind in self.kinds)
        return self._given(divide_no_nan(right, right + wrong))


class Recall(Precision):
    """Which part of the examples that are 1 are said to be.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.metrics.Recall()([0, 1, 1, 1], [1.0, 0.0, 1.0, 0.0]))
    tf.Tensor(0.33333334, shape=(), dtype=float32)
    """

    kinds: Sequence[str] = ("true_positives", "false_negatives")


class AUC(_Counting):
    """The area under the curve of true positives over false positives, by the trapezoidal rule.

    Parameters
    ----------
    num_thresholds : int
        At least 2; they are spread evenly over [0, 1].
    name, dtype
        As for :class:`Metric`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.metrics.AUC(num_thresholds=3)([0, 0, 1, 1], [0.0, 0.5, 0.3, 0.9]))
    tf.Tensor(0.75, shape=(), dtype=float32)
    """

    def __init__(self, num_thresholds: int = 200, name: str | None = None, dtype: Any = None):
        if num_thresholds < 2:
            raise ValueError(f"num_thresholds is 2 or more, got {num_thresholds}{at_user_line()}")
        inner = [i / (num_thresholds - 1) for i in range(1, num_thresholds - 1)]
        super().__init__([-1e-7, *inner, 1.0 + 1e-7], name, dtype)

    def result(self) -> tf.Tensor:
        """The area."""
        counts = [getattr(self, kind).read_value() for kind in _KINDS]
        right, false, negative, missed = counts
        rate: Any
        mistakes: Any
        rate, mistakes = divide_no_nan(right, right + missed), divide_no_nan(false, false + negative)
        return tf.reduce_sum((mistakes[:-1] - mistakes[1:]) * (rate[:-1] + rate[1:]) * 0.5)
