"""Constraints: what weights are made after each step of an optimizer, such as none below 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tracejit as tf

from ..errors import at_user_line
from ..models.configuration import Configurable, deserialize_keras_object, serialize_keras_object

_TINY = 1e-7  # as in Keras: what norms are never divided by less than


class Constraint(Configurable):
    """Base of constraints: a subclass defines ``__call__``, from a weight to what it becomes.

    Examples
    --------
    >>> import tracejit as tf
    >>> class Clipped(tf.keras.constraints.Constraint):
    ...     def __call__(self, w):
    ...         return tf.clip_by_value(w, -1.0, 1.0)
    >>> print(Clipped()(tf.constant([0.5, 2.0])))
    tf.Tensor([0.5 1. ], shape=(2,), dtype=float32)
    """

    def __call__(self, w: Any) -> tf.Tensor:
        """What `w` becomes, of its shape and dtype; NotImplementedError unless a subclass says it."""
        raise NotImplementedError(f"{type(self).__name__} defines no __call__")


class NonNeg(Constraint):
    """Negative elements become 0.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.abs(tf.keras.constraints.NonNeg()(tf.constant([1.0, -2.0]))))
    tf.Tensor([1. 0.], shape=(2,), dtype=float32)
    """

    def __call__(self, w: Any) -> tf.Tensor:
        """What `w` becomes."""
        return tf.multiply(w, tf.cast(tf.greater_equal(w, 0.0), dtype=w.dtype))


class MaxNorm(Constraint):
    """Vectors along `axis` that are longer than `max_value` become as long.

    Parameters
    ----------
    max_value : float
    axis : int or tuple of int
        0 for the weights of each unit of a dense layer.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.round(10.0 * tf.keras.constraints.MaxNorm(1.0)(tf.constant([3.0, 4.0]))))
    tf.Tensor([6. 8.], shape=(2,), dtype=float32)
    """

    def __init__(self, max_value: float = 2.0, axis: Any = 0):
        self.max_value, self.axis = max_value, axis

    def __call__(self, w: Any) -> tf.Tensor:
        """What `w` becomes."""
        norms = _norms(w, self.axis)
        return tf.multiply(w, tf.divide(tf.minimum(norms, self.max_value), tf.add(norms, _TINY)))


class UnitNorm(Constraint):
    """Vectors along `axis` get the length 1.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.round(10.0 * tf.keras.constraints.UnitNorm(axis=0)(tf.constant([3.0, 4.0]))))
    tf.Tensor([6. 8.], shape=(2,), dtype=float32)
    """

    def __init__(self, axis: Any = 0):
        self.axis = axis

    def __call__(self, w: Any) -> tf.Tensor:
        """What `w` becomes."""
        return tf.divide(w, tf.add(_norms(w, self.axis), _TINY))


class MinMaxNorm(Constraint):
    """Vectors along `axis` whose length is not from `min_value` to `max_value` go the part `rate` of the way there.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.round(10.0 * tf.keras.constraints.MinMaxNorm(1.0, 2.0)(tf.constant([0.3, 0.4]))))
    tf.Tensor([6. 8.], shape=(2,), dtype=float32)
    """

    def __init__(self, min_value: float = 0.0, max_value: float = 1.0, rate: float = 1.0, axis: Any = 0):
        self.min_value, self.max_value, self.rate, self.axis = min_value, max_value, rate, axis

    def __call__(self, w: Any) -> tf.Tensor:
        """What `w` becomes."""
        norms = _norms(w, self.axis)
        wanted = tf.add(
            tf.multiply(self.rate, tf.clip_by_value(norms, self.min_value, self.max_value)),
            tf.multiply(1.0 - self.rate, norms),
        )
        return tf.multiply(w, tf.divide(wanted, tf.add(norms, _TINY)))


def _norms(w: Any, axis: Any) -> tf.Tensor:
    return tf.sqrt(tf.reduce_sum(tf.square(w), axis=axis, keepdims=True))


def get(identifier: Any) -> Callable[[Any], Any] | None:
    """The constraint meant by `identifier`: a name (``"non_neg"``, ``"max_norm"`` ...), a class, a callable, or None.

    ValueError for an unknown name. A dict is what :func:`serialize` gives.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.keras.constraints.get("non_neg")(tf.constant([-1.0, 2.0])))
    tf.Tensor([-0.  2.], shape=(2,), dtype=float32)
    """
    if identifier is None or (callable(identifier) and not isinstance(identifier, type)):
        return identifier
    if isinstance(identifier, dict):
        return deserialize_keras_object({"module": "tracejit.constraints.constraint", **identifier})
    if isinstance(identifier, type):
        return identifier()
    names = {"non_neg": NonNeg, "max_norm": MaxNorm, "unit_norm": UnitNorm, "min_max_norm": MinMaxNorm}
    by_class = {kind.__name__.lower(): kind for kind in names.values()}
    if isinstance(identifier, str) and identifier.lower() in names | by_class:
        return (names | by_class)[identifier.lower()]()
    raise ValueError(
        f"a constraint is a function, or one of {', '.join(names)}; got {identifier!r}{at_user_line()}"
    )


non_neg = NonNeg
max_norm = MaxNorm
unit_norm = UnitNorm
min_max_norm = MinMaxNorm
serialize = serialize_keras_object
deserialize = deserialize_keras_object
