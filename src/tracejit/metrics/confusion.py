"""Metrics from counts of right and wrong answers, at thresholds between yes and no.

Predictions are probabilities of "yes". A prediction above a threshold says yes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

import tracejit as tf

from ..errors import at_user_line
from ..losses.distances import pair
from ..math.no_nan import divide_no_nan
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
        """Count the examples of a batch; `sample_weight` says how often each counts.

        Of fewer axes than the predictions, it has their first: one weight for each example, whatever is said of it.
        """
        labels, scores = (tf.cast(x, dtype=self.dtype) for x in pair(y_true, y_pred))
        weight: Any = tf.constant(1.0, self.dtype)
        if sample_weight is not None:
            weight, scores = pair(sample_weight, scores)
            weight = tf.reshape(weight, shape=(*weight.shape, *[1] * (len(scores.shape) - len(weight.shape))))
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
    """The area under a curve over all thresholds.

    Parameters
    ----------
    num_thresholds : int
        At least 2; they are spread evenly over [0, 1].
    curve : str
        ``"ROC"``: the rate of true positives over that of false positives; ``"PR"``: precision over recall.
    summation_method : str
        ``"interpolation"``: by the trapezoidal rule, and for precision by the formula of Davis and Goadrich, "The
        relationship between precision-recall and ROC curves" (2006), since precision is not linear between two
        thresholds; ``"minoring"`` and ``"majoring"`` take the lower and the upper of two neighbours.
    name, dtype
        As for :class:`Metric`.
    thresholds : sequence of float, optional
        Inner thresholds, in place of `num_thresholds`.
    from_logits : bool
        Predictions are logarithms of odds rather than probabilities.

    Raises
    ------
    ValueError
        For too few thresholds, thresholds outside of [0, 1], and an unknown curve or method.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.metrics.AUC(num_thresholds=3)([0, 0, 1, 1], [0.0, 0.5, 0.3, 0.9]))
    tf.Tensor(0.75, shape=(), dtype=float32)
    >>> print(tf.metrics.AUC(num_thresholds=3, curve="PR")([0, 0, 1, 1], [0.0, 0.5, 0.3, 0.9]))
    tf.Tensor(0.8206994, shape=(), dtype=float32)
    """

    def __init__(
        self,
        num_thresholds: int = 200,
        curve: str = "ROC",
        summation_method: str = "interpolation",
        name: str | None = None,
        dtype: Any = None,
        thresholds: Sequence[float] | None = None,
        from_logits: bool = False,
    ):
        if thresholds is None and num_thresholds < 2:
            raise ValueError(f"num_thresholds is 2 or more, got {num_thresholds}{at_user_line()}")
        _check_choice("curve", curve, _CURVES)
        _check_choice("summation_method", summation_method, _SUMMATIONS)
        inner = [i / (num_thresholds - 1) for i in range(1, num_thresholds - 1)]
        if thresholds is not None:
            inner = sorted(float(t) for t in thresholds)
            if inner and not 0.0 <= inner[0] <= inner[-1] <= 1.0:
                raise ValueError(f"thresholds are in [0, 1], got {inner}{at_user_line()}")
        super().__init__([-1e-7, *inner, 1.0 + 1e-7], name, dtype)
        self.num_thresholds: int = len(inner) + 2
        self.curve, self.summation_method, self.from_logits = curve, summation_method, from_logits

    @gathering
    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Count the examples of a batch at all thresholds: labels `y_true`, predictions `y_pred`, `sample_weight`."""
        super().update_state(y_true, tf.sigmoid(y_pred) if self.from_logits else y_pred, sample_weight)

    def result(self) -> tf.Tensor:
        """The area."""
        tp: Any
        fp: Any
        tn: Any
        fn: Any
        tp, fp, tn, fn = (getattr(self, kind).read_value() for kind in _KINDS)
        recall = divide_no_nan(tp, tp + fn)
        if self.curve == "PR":
            if self.summation_method == "interpolation":
                return _area_of_precision(tp, fp, fn)
            x, y = recall, divide_no_nan(tp, tp + fp)
        else:
            x, y = divide_no_nan(fp, fp + tn), recall
        return tf.reduce_sum((x[:-1] - x[1:]) * _SUMMATIONS[self.summation_method](y[:-1], y[1:]))


_CURVES = ("ROC", "PR")
_SUMMATIONS: dict[str, Any] = {
    "interpolation": lambda a, b: (a + b) * 0.5,
    "minoring": lambda a, b: tf.minimum(a, b),
    "majoring": lambda a, b: tf.maximum(a, b),
}


def _check_choice(what: str, given: str, among: Iterable[str]) -> None:
    if given not in among:
        raise ValueError(f"{what} is one of {tuple(among)}, got {given!r}{at_user_line()}")


def _area_of_precision(tp: Any, fp: Any, fn: Any) -> tf.Tensor:
    """Precision integrated over recall, true positives growing linearly with positives between two thresholds."""
    said = tp + fp
    more_right, more_said = tp[:-1] - tp[1:], said[:-1] - said[1:]
    slope = divide_no_nan(more_right, tf.maximum(more_said, 0.0))
    offset = tp[1:] - slope * said[1:]
    both = tf.logical_and(tf.greater(said[:-1], 0.0), tf.greater(said[1:], 0.0))
    ratio = tf.where(both, divide_no_nan(said[:-1], tf.maximum(said[1:], 0.0)), 1.0)
    area: Any = slope * (more_right + offset * tf.math.log(ratio))
    return tf.reduce_sum(divide_no_nan(area, tf.maximum(tp[1:] + fn[1:], 0.0)))
