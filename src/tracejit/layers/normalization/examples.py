"""Each example normalised by itself: by its length, its mean square, or mean and variance of groups of channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tracejit as tf

from ...errors import at_user_line
from ...nn import common as neural
from ..layer import Layer


class UnitNormalization(Layer):
    """Inputs divided by their Euclidean length over `axis`; zeros stay zeros.

    Parameters
    ----------
    axis : int or sequence of int
    **options
        As for :class:`Layer`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.UnitNormalization()([[3.0, 4.0], [0.0, 0.0]]))
    tf.Tensor(
    [[0.6 0.8]
     [0.  0. ]], shape=(2, 2), dtype=float32)
    """

    def __init__(self, axis: int | Sequence[int] = -1, **options: Any):
        super().__init__(**options)
        self.axis, self.supports_masking = axis if isinstance(axis, int) else list(axis), True

    def call(self, inputs: Any) -> tf.Tensor:
        """The inputs, of length 1."""
        return neural.l2_normalize(inputs, self.axis)


class RMSNormalization(Layer):
    """Inputs divided by the root of their mean square over the last axes, times a learned scale.

    Parameters
    ----------
    axis : int
        From this axis on to the last.
    epsilon : float
        Added to the mean square.
    **options
        As for :class:`Layer`.

    Notes
    -----
    Source: Zhang, Sennrich, 2019.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.RMSNormalization(epsilon=0.0)([[1.0, 7.0]]))
    tf.Tensor([[0.2 1.4]], shape=(1, 2), dtype=float32)
    """

    def __init__(self, axis: int = -1, epsilon: float = 1e-6, **options: Any):
        super().__init__(**options)
        self.axis, self.epsilon, self.supports_masking = int(axis), epsilon, True
        self.scale: tf.Variable | Any = None  # before it is built

    def build(self, input_shape: Any) -> None:
        """Make the scale."""
        first = self._first(len(input_shape))
        sizes = tuple(self._axis_size(input_shape, a) for a in range(first, len(input_shape)))
        self.scale = self.add_weight("scale", sizes, "ones")

    def _first(self, rank: int) -> int:
        if not -rank <= self.axis < rank:
            raise ValueError(f"{self.name} has no axis {self.axis} in rank {rank}{at_user_line()}")
        return self.axis % rank

    def call(self, inputs: Any) -> tf.Tensor:
        """The inputs, of mean square 1, times the scale."""
        rank = len(inputs.shape)
        axes = list(range(self._first(rank), rank))
        square: Any = tf.reduce_mean(tf.square(inputs), axes, keepdims=True)
        return inputs * tf.math.rsqrt(square + self.epsilon) * self.scale


class GroupNormalization(Layer):
    """Each example normalised over its places and over `groups` of its channels, times a scale, plus an offset.

    Parameters
    ----------
    groups : int
        How many: 1 takes all channels together, -1 each by itself.
    axis : int
        That of the channels.
    epsilon : float
        Added to the variance.
    center, scale : bool
        Learn an offset, learn a scale, for each channel.
    beta_initializer, gamma_initializer : str or callable
    beta_regularizer, gamma_regularizer : str or callable, optional
        What large weights cost.
    **options
        As for :class:`Layer`.

    Raises
    ------
    ValueError
        Where the channels cannot be divided into as many groups.

    Notes
    -----
    Source: Wu, He, 2018.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.GroupNormalization(2, epsilon=0.0)([[1.0, 3.0, 10.0, 30.0]]))
    tf.Tensor([[-1.  1. -1.  1.]], shape=(1, 4), dtype=float32)
    """

    _in_that_of_weights = True

    def __init__(
        self,
        groups: int = 32,
        axis: int = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        **options: Any,
    ):
        super().__init__(**options)
        self.groups, self.axis, self.epsilon, self.supports_masking = int(groups), int(axis), epsilon, True
        self.center, self.scale = center, scale
        self.beta_initializer, self.gamma_initializer = beta_initializer, gamma_initializer
        self.beta_regularizer, self.gamma_regularizer = beta_regularizer, gamma_regularizer
        self.gamma: tf.Variable | Any = None  # before it is built
        self.beta: tf.Variable | Any = None  # before it is built

    def build(self, input_shape: Any) -> None:
        """Make scale and offset; ValueError where the channels are not divided into groups."""
        channels = self._axis_size(input_shape, self.axis)
        groups = channels if self.groups == -1 else self.groups
        if groups < 1 or channels % groups:
            raise ValueError(f"{channels} channels are not divided into {groups} groups{at_user_line()}")
        if self.scale:
            self.gamma = self.add_weight(
                "gamma", (channels,), self.gamma_initializer, regularizer=self.gamma_regularizer
            )
        if self.center:
            self.beta = self.add_weight(
                "beta", (channels,), self.beta_initializer, regularizer=self.beta_regularizer
            )

    def call(self, inputs: Any) -> tf.Tensor:
        """The examples, normalised."""
        shape = list(inputs.shape)
        axis = self.axis % len(shape)
        groups = shape[axis] if self.groups == -1 else self.groups
        apart = tf.reshape(inputs, [*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :]])
        axes = [a for a in range(1, len(shape) + 1) if a != axis]
        mean, variance = neural.moments(apart, axes, keepdims=True)
        even = tf.reshape(neural.batch_normalization(apart, mean, variance, None, None, self.epsilon), shape)
        wide = [shape[axis] if a == axis else 1 for a in range(len(shape))]
        scaled = even if self.gamma is None else even * tf.reshape(self.gamma, wide)
        return scaled if self.beta is None else scaled + tf.reshape(self.beta, wide)
