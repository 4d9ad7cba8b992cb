"""Metrics of the best threshold: one rate, where another one is at least so much."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tracejit as tf

from ..errors import at_user_line
from ..math.no_nan import divide_no_nan
from .confusion import _Counting


def _found(tp: Any, fp: Any, tn: Any, fn: Any) -> Any:
    """The part of the positives: sensitivity, or recall."""
    return divide_no_nan(tp, tp + fn)


def _spared(tp: Any, fp: Any, tn: Any, fn: Any) -> Any:
    """The part of the negatives: specificity."""
    return divide_no_nan(tn, tn + fp)


def _right(tp: Any, fp: Any, tn: Any, fn: Any) -> Any:
    """The part of what is said to be positive: precision."""
    return divide_no_nan(tp, tp + fp)


class _AtLeast(_Counting):
    """The largest rate `wanted` over all thresholds at which the rate `bound` is at least `value`; 0 if it never is."""

    bound: Callable[..., Any]
    wanted: Callable[..., Any]

    def __init__(self, value: float, num_thresholds: int = 200, name: str | None = None, dtype: Any = None):
        if not 0.0 <= value <= 1.0:
            raise ValueError(f"{type(self).__name__} takes a rate in [0, 1], got {value}{at_user_line()}")
        if num_thresholds < 1:
            raise ValueError(f"num_thresholds is 1 or more, got {num_thresholds}{at_user_line()}")
        few = num_thresholds == 1
        super().__init__(
            [0.5] if few else [i / (num_thresholds - 1) for i in range(num_thresholds)], name, dtype
        )
        self.value, self.num_thresholds = value, num_thresholds

    def result(self) -> tf.Tensor:
        """The rate."""
        counts = [getattr(self, kind).read_value() for kind in self.kinds]
        bound, wanted = (rate(*counts) for rate in (self.bound, self.wanted))
        return tf.maximum(tf.reduce_max(tf.where(tf.greater_equal(bound, self.value), wanted, 0.0)), 0.0)


class SensitivityAtSpecificity(_AtLeast):
    """The largest part of the positives that is found, where of the negatives at least a given part is.

    Parameters
    ----------
    specificity : float
        In [0, 1].
    num_thresholds : int
        Spread evenly over [0, 1].
    name, dtype
        As for :class:`Metric`.

    Raises
    ------
    ValueError
        For a rate outside of [0, 1] and for no thresholds.

    Examples
    --------
    >>> import tracejit as tf
    >>> metric = tf.metrics.SensitivityAtSpecificity(0.5)
    >>> print(metric([0, 0, 0, 1, 1], [0.0, 0.3, 0.8, 0.3, 0.8]))
    tf.Tensor(0.5, shape=(), dtype=float32)
    """

    bound, wanted = staticmethod(_spared), staticmethod(_found)

    def __init__(
        self, specificity: float, num_thresholds: int = 200, name: str | None = None, dtype: Any = None
    ):
        super().__init__(specificity, num_thresholds, name, dtype)


class SpecificityAtSensitivity(_AtLeast):
    """The largest part of the negatives that is found, where of the positives at least a given part is.

    Parameters
    ----------
    sensitivity : float
        In [0, 1].
    num_thresholds : int
        Spread evenly over [0, 1].
    name, dtype
        As for :class:`Metric`.

    Raises
    ------
    ValueError
        For a rate outside of [0, 1] and for no thresholds.

    Examples
    --------
    >>> import tracejit as tf
    >>> metric = tf.metrics.SpecificityAtSensitivity(0.5)
    >>> print(metric([0, 0, 0, 1, 1], [0.0, 0.3, 0.8, 0.3, 0.8]))
    tf.Tensor(0.6666667, shape=(), dtype=float32)
    """

    bound, wanted = staticmethod(_found), staticmethod(_spared)

    def __init__(
        self, sensitivity: float, num_thresholds: int = 200, name: str | None = None, dtype: Any = None
    ):
        super().__init__(sensitivity, num_thresholds, name, dtype)


class PrecisionAtRecall(_AtLeast):
    """The largest precision at which recall is at least `recall`; `num_thresholds`, spread evenly, are tried.

    ValueError for a rate outside of [0, 1] and for no thresholds.

    Examples
    --------
    >>> import tracejit as tf
    >>> metric = tf.metrics.PrecisionAtRecall(0.5)
    >>> print(metric([0, 0, 0, 1, 1], [0.0, 0.3, 0.8, 0.3, 0.8]))
    tf.Tensor(0.5, shape=(), dtype=float32)
    """

    bound, wanted = staticmethod(_found), staticmethod(_right)

    def __init__(self, recall: float, num_thresholds: int = 200, name: str | None = None, dtype: Any = None):
        super().__init__(recall, num_thresholds, name, dtype)


class RecallAtPrecision(_AtLeast):
    """The largest recall at which precision is at least `precision`; `num_thresholds`, spread evenly, are tried.

    ValueError for a rate outside of [0, 1] and for no thresholds.

    Examples
    --------
    >>> import tracejit as tf
    >>> metric = tf.metrics.RecallAtPrecision(0.8)
    >>> print(metric([0, 0, 1, 1], [0.0, 0.5, 0.3, 0.9]))
    tf.Tensor(0.5, shape=(), dtype=float32)
    """

    bound, wanted = staticmethod(_right), staticmethod(_found)

    def __init__(
        self, precision: float, num_thresholds: int = 200, name: str | None = None, dtype: Any = None
    ):
        super().__init__(precision, num_thresholds, name, dtype)
