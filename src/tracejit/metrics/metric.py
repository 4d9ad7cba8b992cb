"""Metric: Variables that gather what batches say, and a result computed from them.

What is gathered passes no gradient on. Everything is kept in Variables, so that metrics work inside of compiled
functions and are part of checkpoints.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import tracejit as tf

from .. import initializers
from ..losses.distances import pair
from ..models.configuration import Configurable


class Metric(Configurable, tf.Module):
    """Base of metrics: a subclass makes Variables by :meth:`add_weight` and defines `update_state` and `result`.

    Parameters
    ----------
    name : str, optional
        By default the class's name in snake case.
    dtype : dtype-like, optional
        Of the result; by default that of Python floats.

    Examples
    --------
    >>> import tracejit as tf
    >>> class Largest(tf.metrics.Metric):
    ...     def __init__(self, **options):
    ...         super().__init__(**options)
    ...         self.seen = self.add_weight(name="seen", initializer="zeros")
    ...     def update_state(self, values, sample_weight=None):
    ...         self.seen.assign(tf.maximum(self.seen, tf.reduce_max(values)))
    ...     def result(self):
    ...         return self.seen.read_value()
    >>> largest = Largest()
    >>> largest.update_state([1.0, 3.0])
    >>> float(largest([2.0]))
    3.0
    """

    holds_weights = False
    _unsearched = frozenset({*tf.Module._unsearched, "_first", "_made_with"})

    def __init__(self, dtype: Any = None, name: str | None = None):
        if isinstance(dtype, str) and name is None and dtype not in np.sctypeDict:
            dtype, name = None, dtype  # a single text may be meant as the name
        super().__init__(name or tf.Module.snake_case(type(self).__name__))
        self.dtype: tf.DType = tf.as_dtype(dtype or float)
        self._first: list[tf.Tensor] = []

    def add_weight(
        self, shape: Any = (), initializer: Any = "zeros", dtype: Any = None, name: str | None = None
    ) -> tf.Variable:
        """A new Variable of this metric, of `shape` and `dtype`, filled by `initializer`; no training changes it."""
        if isinstance(shape, str):  # add_weight(name, shape, ...), as it once was
            shape, name = (), shape
        with tf.init_scope():
            first = initializers.get(initializer)(tf.as_shape(shape), tf.as_dtype(dtype or self.dtype))
            variable = tf.Variable(first, trainable=False, name=name)
        self.__dict__.setdefault("_made", []).append(variable)
        self._first.append(first)
        return variable

    add_variable = add_weight

    def update_state(self, *args: Any, **kwargs: Any) -> None:
        """Take one more batch into account; NotImplementedError unless a subclass says how."""
        raise NotImplementedError(f"{type(self).__name__} defines no update_state")

    def result(self) -> Any:
        """What all batches since the last reset come to; NotImplementedError unless a subclass says it."""
        raise NotImplementedError(f"{type(self).__name__} defines no result()")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Take one more batch into account, and give the result so far."""
        self.update_state(*args, **kwargs)
        return self.result()

    def reset_state(self) -> None:
        """Forget all batches."""
        for variable, first in zip(self.__dict__.get("_made", ()), self._first, strict=True):
            variable.assign(first)

    reset_states = reset_state

    @property
    def variables(self) -> list[tf.Variable]:
        """Every Variable, as a list."""
        return list(super().variables)

    def _attributes(self) -> list[tuple[str, Any]]:
        return [(k, v) for k, v in vars(self).items() if k not in self._unsearched]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name}>"


def per_example(
    values: Any, sample_weight: Any, dtype: tf.DType, reduce: Any = tf.reduce_mean
) -> tuple[Any, Any]:
    """Values reduced to one number per example, weighted, and the weights in that form (or None).

    Parameters
    ----------
    values : tensor-like
        Axis 0 counts examples.
    sample_weight : tensor-like or None
        Broadcasts against the values, whose further axes are reduced first.
    dtype : dtype
    reduce : callable
        How the axes after the first are reduced.
    """
    values = tf.cast(tf.convert_to_tensor(values), dtype=dtype)
    if sample_weight is not None:
        sample_weight, values = pair(sample_weight, values)
        rank = len(sample_weight.shape)
        if len(values.shape) > rank:
            values = reduce(values, list(range(rank, len(values.shape))))
        sample_weight = tf.broadcast_to(sample_weight, shape=values.shape)
        values = values * sample_weight
        if rank > 1:
            sample_weight = reduce(sample_weight, list(range(1, rank)))
    if len(values.shape) > 1:
        values = reduce(values, list(range(1, len(values.shape))))
    return values, sample_weight


def gathering(update: Any) -> Any:
    """An `update_state` that is on no tape: results of metrics are not differentiated."""

    @functools.wraps(update)
    def update_state(self: Metric, *args: Any, **kwargs: Any) -> None:
        with tf.autodiff.stop_recording():
            update(self, *args, **kwargs)

    return update_state
