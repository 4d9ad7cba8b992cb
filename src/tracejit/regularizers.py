"""Regularizers: what large weights cost, as a number to be added to a loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tracejit as tf

from .errors import at_user_line
from .models.configuration import Configurable, deserialize_keras_object, serialize_keras_object


class Regularizer(Configurable):
    """Base of regularizers: a subclass defines ``__call__``, from a tensor to what it costs, a scalar.

    Examples
    --------
    >>> import tracejit as tf
    >>> class Largest(tf.keras.regularizers.Regularizer):
    ...     def __call__(self, x):
    ...         return tf.reduce_max(tf.abs(x))
    >>> print(Largest()([1.0, -2.0]))
    tf.Tensor(2.0, shape=(), dtype=float32)
    """

    def __call__(self, x: Any) -> tf.Tensor:
        """The cost of `x`, of its dtype; NotImplementedError unless a subclass says it."""
        raise NotImplementedError(f"{type(self).__name__} defines no __call__")


class L1L2(Regularizer):
    """``l1 * sum(abs(w)) + l2 * sum(w**2)``.

    Examples
    --------
    >>> import tracejit as tf
    >>> float(tf.keras.regularizers.L1L2(l1=0.5, l2=0.25)([1.0, -2.0]))
    2.75
    """

    def __init__(self, l1: float | None = 0.0, l2: float | None = 0.0):
        self.l1: float = l1 or 0.0
        self.l2: float = l2 or 0.0

    def __call__(self, x: Any) -> tf.Tensor:
        """The cost of `x`."""
        total: Any = tf.constant(0.0, x.dtype) if hasattr(x, "dtype") else tf.constant(0.0)
        if self.l1:
            total = total + tf.multiply(self.l1, tf.reduce_sum(tf.abs(x)))
        return total + tf.multiply(self.l2, tf.reduce_sum(tf.square(x))) if self.l2 else total


class L1(L1L2):
    """``l1 * sum(abs(w))``.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.keras.regularizers.l1(0.1)(tf.constant([1.0, -2.0])))
    tf.Tensor(0.3, shape=(), dtype=float32)
    """

    def __init__(self, l1: float = 0.01):
        super().__init__(l1=l1)


class L2(L1L2):
    """``l2 * sum(w**2)``.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.keras.regularizers.l2(0.1)(tf.constant([1.0, -2.0])))
    tf.Tensor(0.5, shape=(), dtype=float32)
    """

    def __init__(self, l2: float = 0.01):
        super().__init__(l2=l2)


def get(identifier: Any) -> Callable[[Any], Any] | None:
    """The regularizer meant by `identifier`: a name (``"l1"``, ``"l2"``, ``"l1_l2"``), a class, a callable, a dict
    as :func:`serialize` gives, or None.

    ValueError for an unknown name.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.keras.regularizers.get("l2")(tf.constant([1.0, -2.0])))
    tf.Tensor(0.049999997, shape=(), dtype=float32)
    """
    if identifier is None or (callable(identifier) and not isinstance(identifier, type)):
        return identifier
    if isinstance(identifier, dict):
        return deserialize_keras_object({"module": "tracejit.regularizers", **identifier})
    if isinstance(identifier, type):
        return identifier()
    names = {"l1": L1, "l2": L2, "l1_l2": lambda: L1L2(0.01, 0.01)}
    if isinstance(identifier, str) and identifier.lower() in names:
        return names[identifier.lower()]()
    raise ValueError(
        f"a regularizer is a function, or one of {', '.join(names)}; got {identifier!r}{at_user_line()}"
    )


l1 = L1
l2 = L2
l1_l2 = L1L2
serialize = serialize_keras_object
deserialize = deserialize_keras_object
