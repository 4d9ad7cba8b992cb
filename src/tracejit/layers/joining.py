"""Layers without weights that join several inputs, or many rows, into one."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import tracejit as tf

from .layer import Layer


class Concatenate(Layer):
    """A list of inputs as one, along `axis`.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.layers.Concatenate()([tf.zeros((2, 3)), tf.zeros((2, 1))]).shape
    (2, 4)
    """

    def __init__(self, axis: int = -1, **options: Any):
        super().__init__(**options)
        self.axis = axis

    def call(self, inputs: Sequence[Any]) -> tf.Tensor:
        """The inputs side by side."""
        return tf.concat(list(inputs), self.axis)


class Add(Layer):
    """The sum of a list of inputs."""

    def call(self, inputs: Sequence[Any]) -> tf.Tensor:
        """The sum."""
        return functools.reduce(tf.add, inputs)


class Multiply(Layer):
    """The product of a list of inputs, element by element."""

    def call(self, inputs: Sequence[Any]) -> tf.Tensor:
        """The product."""
        return functools.reduce(tf.multiply, inputs)


class GlobalAveragePooling1D(Layer):
    """The mean over the steps, axis 1, of each example.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.layers.GlobalAveragePooling1D()(tf.ones((2, 5, 3))).shape
    (2, 3)
    """

    def call(self, inputs: Any) -> tf.Tensor:
        """The means."""
        return tf.reduce_mean(inputs, 1)


class GlobalMaxPooling1D(Layer):
    """The largest over the steps, axis 1, of each example."""

    def call(self, inputs: Any) -> tf.Tensor:
        """The largest numbers."""
        return tf.reduce_max(inputs, 1)
