"""Metrics of regions: how far what is predicted overlaps what is there, over union, class by class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tracejit as tf

from ..math.no_nan import divide_no_nan
from .metric import Metric, gathering


class IoU(Metric):
    """The intersection of regions over their union, the mean over some classes.

    Parameters
    ----------
    num_classes : int
        How many there are; labels are below it.
    target_class_ids : sequence of int
        Whose mean is taken, of those that there are or that are predicted.
    name, dtype
        As for :class:`Metric`.
    ignore_class : int, optional
        A label whose examples do not count.
    sparse_y_true, sparse_y_pred : bool
        Labels and predictions are class numbers; otherwise a number for each class along `axis`, the largest of
        which decides.
    axis : int

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.metrics.IoU(num_classes=2, target_class_ids=[0])([0, 0, 1, 1], [0, 1, 0, 1]))
    tf.Tensor(0.33333334, shape=(), dtype=float32)
    """

    def __init__(
        self,
        num_classes: int,
        target_class_ids: Sequence[int],
        name: str | None = None,
        dtype: Any = None,
        ignore_class: int | None = None,
        sparse_y_true: bool = True,
        sparse_y_pred: bool = True,
        axis: int = -1,
    ):
        super().__init__(dtype, name)
        self.num_classes, self.target_class_ids = num_classes, list(target_class_ids)
        self.ignore_class, self.axis = ignore_class, axis
        self.sparse_y_true, self.sparse_y_pred = sparse_y_true, sparse_y_pred
        self.total_cm: tf.Variable = self.add_weight(
            (num_classes, num_classes), name="total_confusion_matrix"
        )

    @gathering
    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Count examples by label `y_true` and prediction `y_pred`; `sample_weight` says how often each counts.

        Those with a negative number do not.
        """
        y_true, y_pred = tf.convert_to_tensor(y_true), tf.convert_to_tensor(y_pred)
        labels = y_true if self.sparse_y_true else tf.argmax(y_true, self.axis)
        said = y_pred if self.sparse_y_pred else tf.argmax(y_pred, self.axis)
        labels, said = (tf.cast(tf.reshape(x, shape=[-1]), dtype="int64") for x in (labels, said))
        weight = tf.ones_like(labels, self.dtype)
        if sample_weight is not None:
            weight = tf.cast(tf.reshape(sample_weight, shape=[-1]), dtype=self.dtype)
        counts = tf.logical_and(labels >= 0, said >= 0)
        if self.ignore_class is not None:
            counts = tf.logical_and(counts, tf.not_equal(labels, self.ignore_class))
        labels, said = (tf.where(counts, x, 0) for x in (labels, said))
        weight = tf.where(counts, weight, 0.0)
        cells = tf.stack([labels, said], -1)
        self.total_cm.assign_add(tf.scatter_nd(cells, weight, (self.num_classes, self.num_classes)))

    def result(self) -> tf.Tensor:
        """The mean over the classes; 0 where none of them has been seen."""
        counts: Any = self.total_cm.read_value()
        both: Any = tf.linalg.diag_part(counts)
        either: Any = tf.reduce_sum(counts, 0) + tf.reduce_sum(counts, 1) - both
        both, either = (tf.gather(x, self.target_class_ids) for x in (both, either))
        seen = tf.reduce_sum(tf.cast(tf.greater(either, 1e-9), dtype=self.dtype))
        return divide_no_nan(tf.reduce_sum(divide_no_nan(both, either)), seen)


class MeanIoU(IoU):
    """The intersection of regions over their union, the mean over all classes; see :class:`IoU` for the arguments.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.metrics.MeanIoU(num_classes=2)([0, 0, 1, 1], [0, 1, 0, 1]))
    tf.Tensor(0.33333334, shape=(), dtype=float32)
    """

    def __init__(
        self, num_classes: int, name: str | None = None, dtype: Any = None, *args: Any, **options: Any
    ):
        super().__init__(num_classes, range(num_classes), name, dtype, *args, **options)


class BinaryIoU(IoU):
    """The intersection over union of two classes, told apart by a `threshold` of their probability.

    Parameters
    ----------
    target_class_ids : sequence of int
        0, 1 or both.
    threshold : float
        Predictions that reach it say 1.
    name, dtype
        As for :class:`Metric`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.metrics.BinaryIoU(threshold=0.3)([0, 1, 0, 1], [0.1, 0.2, 0.4, 0.7]))
    tf.Tensor(0.33333334, shape=(), dtype=float32)
    """

    def __init__(
        self,
        target_class_ids: Sequence[int] = (0, 1),
        threshold: float = 0.5,
        name: str | None = None,
        dtype: Any = None,
    ):
        super().__init__(2, target_class_ids, name, dtype)
        self.threshold = threshold

    @gathering
    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Count examples by label `y_true` and prediction `y_pred`; `sample_weight` says how often each counts."""
        super().update_state(y_true, tf.greater_equal(y_pred, self.threshold), sample_weight)


class OneHotIoU(IoU):
    """:class:`IoU` of one-hot labels, and of predictions with a number for each class.

    Examples
    --------
    >>> import tracejit as tf
    >>> metric = tf.metrics.OneHotIoU(num_classes=2, target_class_ids=[0, 1])
    >>> print(metric([[1.0, 0.0], [0.0, 1.0]], [[0.7, 0.3], [0.6, 0.4]]))
    tf.Tensor(0.25, shape=(), dtype=float32)
    """

    def __init__(
        self,
        num_classes: int,
        target_class_ids: Sequence[int],
        name: str | None = None,
        dtype: Any = None,
        ignore_class: int | None = None,
        sparse_y_pred: bool = False,
        axis: int = -1,
    ):
        super().__init__(num_classes, target_class_ids, name, dtype, ignore_class, False, sparse_y_pred, axis)


class OneHotMeanIoU(OneHotIoU):
    """:class:`MeanIoU` of one-hot labels, and of predictions with a number for each class.

    Examples
    --------
    >>> import tracejit as tf
    >>> metric = tf.metrics.OneHotMeanIoU(num_classes=2)
    >>> print(metric([[1.0, 0.0], [0.0, 1.0]], [[0.7, 0.3], [0.6, 0.4]]))
    tf.Tensor(0.25, shape=(), dtype=float32)
    """

    def __init__(
        self, num_classes: int, name: str | None = None, dtype: Any = None, *args: Any, **options: Any
    ):
        super().__init__(num_classes, range(num_classes), name, dtype, *args, **options)
