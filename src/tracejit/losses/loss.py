"""Loss: one number per example, weighted, and reduced to one number. Knows no formula."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tracejit as tf

from ..errors import at_user_line
from ..math.no_nan import divide_no_nan
from ..models.configuration import Configurable
from ..models.policies import is_short
from .distances import mean, pair
from .steps import both, mask_of, weight_in_a_mean, weight_of_steps

_MEANS = ("sum_over_batch_size", "mean", "auto")
_WEIGHTED = "mean_with_sample_weight"
_REDUCTIONS = (*_MEANS, _WEIGHTED, "sum", "none", None)


class Reduction:
    """The reductions by the names they once had.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.MeanSquaredError(reduction=tf.losses.Reduction.SUM)([[1.0], [2.0]], [[2.0], [4.0]]))
    tf.Tensor(5.0, shape=(), dtype=float32)
    """

    AUTO, NONE, SUM, SUM_OVER_BATCH_SIZE = "auto", "none", "sum", "sum_over_batch_size"


class Loss(Configurable):
    """Base of losses: a subclass defines ``call(y_true, y_pred)``, one number per example.

    Parameters
    ----------
    reduction : str or None
        ``"sum_over_batch_size"`` (the mean over all examples), ``"sum"``, ``"mean_with_sample_weight"`` (divided by
        the sum of the weights), or ``"none"`` for one each.
    name : str, optional
    dtype : dtype-like, optional
        Accepted for programs written for other libraries; losses have the dtype of the predictions,
        and of those of two bytes are float32.

    Examples
    --------
    >>> import tracejit as tf
    >>> class Distance(tf.losses.Loss):
    ...     def call(self, y_true, y_pred):
    ...         return tf.abs(y_true - y_pred)
    >>> float(Distance()([1.0, 2.0], [2.0, 4.0]))
    1.5
    """

    def __init__(
        self, reduction: str | None = "sum_over_batch_size", name: str | None = None, dtype: Any = None
    ):
        if reduction not in _REDUCTIONS:
            raise ValueError(f"reduction is one of {_REDUCTIONS}, got {reduction!r}{at_user_line()}")
        self.reduction = reduction
        self.name: str = name or tf.Module.snake_case(type(self).__name__)

    def call(self, y_true: Any, y_pred: Any) -> tf.Tensor:
        """One number per example, from the labels `y_true` and the predictions `y_pred`; NotImplementedError here."""
        raise NotImplementedError(f"{type(self).__name__} defines no call(y_true, y_pred)")

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> tf.Tensor:
        """The loss of predictions; `sample_weight` broadcasts against one number per example.

        The mean divides by the number of examples, not by the sum of their weights. Where layers have said which steps
        of the predictions count, the others cost nothing, and the mean is that of the steps that count.
        """
        mask = mask_of(y_pred)
        y_pred = tf.convert_to_tensor(y_pred)
        if is_short(y_pred.dtype):
            y_pred = tf.cast(y_pred, "float32")
        y_true = tf.convert_to_tensor(y_true)
        try:
            losses: Any = self.call(y_true, y_pred)
        except tf.ShapeError as error:
            error.add_note(f"in the loss {self.name!r} of labels {y_true.spec} and predictions {y_pred.spec}")
            raise
        mask = both(mask, mask_of(losses))
        if mask is not None:
            weigh = weight_in_a_mean if self.reduction in _MEANS else weight_of_steps
            sample_weight = weigh(sample_weight, mask)
        weight: Any = None
        if sample_weight is not None:
            weight, losses = pair(sample_weight, losses)
            losses = losses * weight
        if self.reduction in _MEANS or (self.reduction == _WEIGHTED and weight is None):
            return mean(losses, None)
        if self.reduction == _WEIGHTED:
            return divide_no_nan(
                tf.reduce_sum(losses), tf.reduce_sum(tf.broadcast_to(weight, shape=losses.shape))
            )
        return tf.reduce_sum(losses) if self.reduction == "sum" else losses


class _Averaged(Loss):
    """A loss given as a function."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__(name=getattr(function, "__name__", None))
        self.function = function

    def call(self, y_true: Any, y_pred: Any) -> Any:
        return self.function(y_true, y_pred)


def as_loss(loss: Any) -> Loss:
    """A loss as an object: a function of labels and predictions gives one number per example."""
    return loss if isinstance(loss, Loss) else _Averaged(loss)
