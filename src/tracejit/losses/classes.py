"""The losses as classes: a formula with its options, weights of examples and a reduction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tracejit as tf

from ..errors import at_user_line
from ..models.configuration import deserialize_keras_object
from . import distances, entropies, focal
from .by_name import FUNCTIONS
from .loss import Loss


class _OfFunction(Loss):
    """A loss by a function of labels and predictions, whose options it keeps."""

    function: Callable[..., tf.Tensor]

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
        **options: Any,
    ):
        super().__init__(reduction, name, dtype)
        self.options = options

    def call(self, y_true: Any, y_pred: Any) -> tf.Tensor:
        return type(self).function(y_true, y_pred, **self.options)


class MeanSquaredError(_OfFunction):
    """See :func:`mean_squared_error`.

    Examples
    --------
    >>> import tracejit as tf
    >>> float(tf.losses.MeanSquaredError()([0.0, 1.0], [1.0, 3.0]))
    2.5
    """

    function: Callable[..., tf.Tensor] = distances.mean_squared_error


class MeanAbsoluteError(_OfFunction):
    """See :func:`mean_absolute_error`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.MeanAbsoluteError()([[1.0, 2.0]], [[2.0, 4.0]]))
    tf.Tensor(1.5, shape=(), dtype=float32)
    """

    function: Callable[..., tf.Tensor] = distances.mean_absolute_error


class MeanAbsolutePercentageError(_OfFunction):
    """See :func:`mean_absolute_percentage_error`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.MeanAbsolutePercentageError()([[1.0, 2.0]], [[2.0, 4.0]]))
    tf.Tensor(100.0, shape=(), dtype=float32)
    """

    function: Callable[..., tf.Tensor] = distances.mean_absolute_percentage_error


class MeanSquaredLogarithmicError(_OfFunction):
    """See :func:`mean_squared_logarithmic_error`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.MeanSquaredLogarithmicError()([[0.0]], [[1.0]]))
    tf.Tensor(0.48045287, shape=(), dtype=float32)
    """

    function: Callable[..., tf.Tensor] = distances.mean_squared_logarithmic_error


class LogCosh(_OfFunction):
    """See :func:`log_cosh`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.LogCosh()([[1.0]], [[2.0]]))
    tf.Tensor(0.4337808, shape=(), dtype=float32)
    """

    function: Callable[..., tf.Tensor] = distances.log_cosh


class Poisson(_OfFunction):
    """See :func:`poisson`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.Poisson()([[1.0]], [[2.0]]))
    tf.Tensor(1.3068528, shape=(), dtype=float32)
    """

    function: Callable[..., tf.Tensor] = distances.poisson


class Hinge(_OfFunction):
    """See :func:`hinge`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.Hinge()([[1.0]], [[0.5]]))
    tf.Tensor(0.5, shape=(), dtype=float32)
    """

    function: Callable[..., tf.Tensor] = distances.hinge


class SquaredHinge(_OfFunction):
    """See :func:`squared_hinge`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.SquaredHinge()([[1.0]], [[0.5]]))
    tf.Tensor(0.25, shape=(), dtype=float32)
    """

    function: Callable[..., tf.Tensor] = distances.squared_hinge


class CategoricalHinge(_OfFunction):
    """See :func:`categorical_hinge`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.CategoricalHinge()([[0.0, 1.0]], [[0.2, 0.8]]))
    tf.Tensor(0.39999998, shape=(), dtype=float32)
    """

    function: Callable[..., tf.Tensor] = distances.categorical_hinge


class KLDivergence(_OfFunction):
    """See :func:`kl_divergence`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.KLDivergence()([[0.5, 0.5]], [[0.25, 0.75]]))
    tf.Tensor(0.14384106, shape=(), dtype=float32)
    """

    function: Callable[..., tf.Tensor] = entropies.kl_divergence


class CosineSimilarity(_OfFunction):
    """See :func:`cosine_similarity`, also for `axis`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.CosineSimilarity()([[0.0, 1.0]], [[0.0, 2.0]]))
    tf.Tensor(-1.0, shape=(), dtype=float32)
    """

    function: Callable[..., tf.Tensor] = distances.cosine_similarity

    def __init__(self, axis: int = -1, *args: Any, **options: Any):
        super().__init__(*args, axis=axis, **options)


class Huber(_OfFunction):
    """See :func:`huber`, also for `delta`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.Huber()([[1.0]], [[3.0]]))
    tf.Tensor(1.5, shape=(), dtype=float32)
    """

    function: Callable[..., tf.Tensor] = distances.huber

    def __init__(self, delta: float = 1.0, *args: Any, **options: Any):
        super().__init__(*args, delta=delta, **options)


class BinaryCrossentropy(_OfFunction):
    """See :func:`binary_crossentropy`, also for `from_logits`, `label_smoothing` and `axis`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.BinaryCrossentropy()([[1.0]], [[0.5]]))
    tf.Tensor(0.6931472, shape=(), dtype=float32)
    """

    function: Callable[..., tf.Tensor] = entropies.binary_crossentropy

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        *args: Any,
        **options: Any,
    ):
        super().__init__(
            *args, from_logits=from_logits, label_smoothing=label_smoothing, axis=axis, **options
        )


class CategoricalCrossentropy(BinaryCrossentropy):
    """See :func:`categorical_crossentropy`, also for `from_logits`, `label_smoothing` and `axis`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.CategoricalCrossentropy()([[0.0, 1.0]], [[0.5, 0.5]]))
    tf.Tensor(0.6931472, shape=(), dtype=float32)
    """

    function: Callable[..., tf.Tensor] = entropies.categorical_crossentropy


class SparseCategoricalCrossentropy(_OfFunction):
    """See :func:`sparse_categorical_crossentropy`, also for `from_logits`, `ignore_class` and `axis`.

    Examples
    --------
    >>> import tracejit as tf
    >>> loss = tf.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=-1, reduction="none")
    >>> loss([1, -1], [[1000.0, 0.0], [0.0, 0.0]]).numpy().tolist()
    [1000.0, 0.0]
    """

    function: Callable[..., tf.Tensor] = entropies.sparse_categorical_crossentropy

    def __init__(
        self,
        from_logits: bool = False,
        ignore_class: int | None = None,
        reduction: str | None = "sum_over_batch_size",
        axis: int = -1,
        name: str | None = None,
        dtype: Any = None,
    ):
        super().__init__(
            reduction, name, dtype, from_logits=from_logits, ignore_class=ignore_class, axis=axis
        )


class BinaryFocalCrossentropy(_OfFunction):
    """See :func:`binary_focal_crossentropy`, also for `apply_class_balancing`, `alpha`, `gamma` and `from_logits`,
    `label_smoothing` and `axis`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.BinaryFocalCrossentropy()([[1.0]], [[0.5]]))
    tf.Tensor(0.1732868, shape=(), dtype=float32)
    """

    function: Callable[..., tf.Tensor] = focal.binary_focal_crossentropy

    def __init__(
        self,
        apply_class_balancing: bool = False,
        alpha: float = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        *args: Any,
        **options: Any,
    ):
        super().__init__(
            *args,
            apply_class_balancing=apply_class_balancing,
            alpha=alpha,
            gamma=gamma,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
            **options,
        )


class CategoricalFocalCrossentropy(_OfFunction):
    """See :func:`categorical_focal_crossentropy`, also for `alpha`, `gamma`, `from_logits`, `label_smoothing`, `axis`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.CategoricalFocalCrossentropy()([[0.0, 1.0]], [[0.5, 0.5]]))
    tf.Tensor(0.0433217, shape=(), dtype=float32)
    """

    function: Callable[..., tf.Tensor] = focal.categorical_focal_crossentropy

    def __init__(
        self,
        alpha: float = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        *args: Any,
        **options: Any,
    ):
        super().__init__(
            *args,
            alpha=alpha,
            gamma=gamma,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
            **options,
        )


class Dice(_OfFunction):
    """See :func:`dice`, also for `axis`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.Dice()([[0.0, 1.0]], [[0.5, 0.5]]))
    tf.Tensor(0.5, shape=(), dtype=float32)
    """

    function: Callable[..., tf.Tensor] = focal.dice

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        axis: Any = None,
        dtype: Any = None,
    ):
        super().__init__(reduction, name, dtype, axis=axis)


class Tversky(_OfFunction):
    """See :func:`tversky`, also for `alpha`, `beta` and `axis`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.losses.Tversky()([[0.0, 1.0]], [[0.5, 0.5]]))
    tf.Tensor(0.50000006, shape=(), dtype=float32)
    """

    function: Callable[..., tf.Tensor] = focal.tversky

    def __init__(
        self,
        alpha: float = 0.5,
        beta: float = 0.5,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        axis: Any = None,
        dtype: Any = None,
    ):
        super().__init__(reduction, name, dtype, alpha=alpha, beta=beta, axis=axis)


_CLASSES = (
    *(MeanSquaredError, MeanAbsoluteError, MeanAbsolutePercentageError, MeanSquaredLogarithmicError, LogCosh),
    *(Poisson, Hinge, SquaredHinge, CategoricalHinge, KLDivergence, CosineSimilarity, Huber),
    *(BinaryCrossentropy, CategoricalCrossentropy, SparseCategoricalCrossentropy),
    *(BinaryFocalCrossentropy, CategoricalFocalCrossentropy, Dice, Tversky),
)


def get(identifier: Any) -> Callable[..., tf.Tensor] | None:
    """The loss meant by `identifier`, a name (``"mse"``, ``"mean_squared_error"``, ``"MeanSquaredError"``) or callable.

    A dict is what :func:`serialize` gives. A function's name gives the function, a class's name an instance of it; both
    give a number for each row. None stays None. ValueError for an unknown name.

    Examples
    --------
    >>> float(get("mse")([0.0, 1.0], [1.0, 3.0]))
    2.5
    """
    if identifier is None or (callable(identifier) and not isinstance(identifier, type)):
        return identifier
    if isinstance(identifier, dict):
        return deserialize_keras_object({"module": "tracejit.losses", **identifier})
    if isinstance(identifier, type):
        return identifier()
    classes = {c.__name__: c for c in _CLASSES}
    if identifier in classes:
        return classes[identifier]()
    function = FUNCTIONS.get(str(identifier)) or FUNCTIONS.get(str(identifier).lower())
    if function is None:
        known = ", ".join(sorted(FUNCTIONS))
        raise ValueError(f"no loss is called {identifier!r}; there are {known}{at_user_line()}")
    return function
