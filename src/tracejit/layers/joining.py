"""Layers without weights that join several inputs, or many rows, into one."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ..core.op import ops
from ..core.tensor import Tensor
from ..frontend.control.reductions import reduce_max, reduce_mean
from ..ops.arrays.shape import concat
from .base import Layer


class Concatenate(Layer):
    """A list of inputs as one, along an axis.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.layers.Concatenate()([tf.zeros((2, 3)), tf.zeros((2, 1))]).shape
    (2, 4)
    """

    def __init__(self, axis: int = -1, **options: Any):
        super().__init__(**options)
        self.axis = axis

    def call(self, inputs: Sequence[Any]) -> Tensor:
        """The inputs side by side."""
        return concat(list(inputs), self.axis)


class Add(Layer):
    """The sum of a list of inputs."""

    def call(self, inputs: Sequence[Any]) -> Tensor:
        """The sum."""
        return functools.reduce(ops.add, inputs)


class Multiply(Layer):
    """The product of a list of inputs, element by element."""

    def call(self, inputs: Sequence[Any]) -> Tensor:
        """The product."""
        return functools.reduce(ops.multiply, inputs)


class GlobalAveragePooling1D(Layer):
    """The mean over the steps, axis 1, of each example.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.layers.GlobalAveragePooling1D()(tf.ones((2, 5, 3))).shape
    (2, 3)
    """

    def call(self, inputs: Any) -> Tensor:
        """The means."""
        return reduce_mean(inputs, 1)


class GlobalMaxPooling1D(Layer):
    """The largest over the steps, axis 1, of each example."""

    def call(self, inputs: Any) -> Tensor:
        """The largest numbers."""
        return reduce_max(inputs, 1)
