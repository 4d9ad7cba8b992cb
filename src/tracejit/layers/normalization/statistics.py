"""Normalization layers: outputs have mean 0 and variance 1, up to a learned scale and offset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tracejit as tf

from ...errors import at_user_line
from ...losses.distances import EPSILON
from ...nn import common as neural
from ..layer import Layer, is_training


class _Normalization(Layer):
    """What both kinds share: scale and offset along some axes."""

    _in_that_of_weights = True

    def __init__(
        self,
        axis: Any,
        epsilon: float,
        center: bool,
        scale: bool,
        beta_initializer: Any,
        gamma_initializer: Any,
        options: dict[str, Any],
    ):
        super().__init__(**options)
        self.supports_masking = True
        self.axis = axis
        self.epsilon = epsilon
        self.center = center
        self.scale = scale
        self.beta_initializer = beta_initializer
        self.gamma_initializer = gamma_initializer
        self.gamma: tf.Variable | Any = None  # before it is built
        self.beta: tf.Variable | Any = None  # before it is built

    def _axes(self, rank: int) -> tuple[int, ...]:
        axes = [self.axis] if isinstance(self.axis, int) else list(self.axis)
        if not axes or not all(-rank <= a < rank for a in axes):
            raise ValueError(f"{self.name} has no axis {self.axis} in rank {rank}{at_user_line()}")
        return tuple(sorted({a % rank for a in axes}))

    def build(self, input_shape: Any) -> None:
        """Make scale and offset."""
        shape = tuple([self._axis_size(input_shape, a) for a in self._axes(len(input_shape))])
        self._build_statistics(shape)
        if self.scale:
            self.gamma = self.add_weight("gamma", shape, self.gamma_initializer)
        if self.center:
            self.beta = self.add_weight("beta", shape, self.beta_initializer)

    def _build_statistics(self, shape: tuple[int, ...]) -> None:
        """Make what is kept besides."""

    def _spread(self, x: Any, rank: int) -> Any:
        """A weight with size 1 on the axes it does not have."""
        if x is None:
            return None
        sizes = iter(x.shape)
        axes = self._axes(rank)
        return tf.reshape(x, shape=tuple([next(sizes) if a in axes else 1 for a in range(rank)]))


class LayerNormalization(_Normalization):
    """Each example normalised by itself, over `axis`.

    Parameters
    ----------
    axis : int or sequence of int
    epsilon : float
        Added to the variance.
    center, scale : bool
        Learn an offset, learn a scale.
    beta_initializer, gamma_initializer : str or callable

    Notes
    -----
    Source: Ba, Kiros, Hinton, 2016.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.LayerNormalization(epsilon=0.0)([[1.0, 3.0]]))
    tf.Tensor([[-1.  1.]], shape=(1, 2), dtype=float32)
    """

    def __init__(
        self,
        axis: int | Sequence[int] = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        **options: Any,
    ):
        super().__init__(axis, epsilon, center, scale, beta_initializer, gamma_initializer, options)

    def call(self, inputs: Any) -> tf.Tensor:
        """The examples, normalised."""
        rank = len(inputs.shape)
        mean, variance = neural.moments(inputs, self._axes(rank), keepdims=True)
        gamma, beta = self._spread(self.gamma, rank), self._spread(self.beta, rank)
        return neural.batch_normalization(inputs, mean, variance, beta, gamma, self.epsilon)


class BatchNormalization(_Normalization):
    """Each feature normalised over the batch while training, and by running statistics afterwards.

    Parameters
    ----------
    axis : int
        The axis of the features; statistics are taken over the others.
    momentum : float
        How much of the running statistics is kept at each step of training.
    epsilon : float
        Added to the variance.
    center, scale : bool
        Learn an offset, learn a scale.
    beta_initializer, gamma_initializer, moving_mean_initializer, moving_variance_initializer : str or callable
        What offset, scale and running statistics start with.

    Notes
    -----
    Running statistics change only when called with ``training=True``, and are not trainable. A layer that is not
    trainable uses them always. Source: Ioffe, Szegedy, 2015.

    Examples
    --------
    >>> import tracejit as tf
    >>> layer = tf.layers.BatchNormalization(momentum=0.5, epsilon=0.0)
    >>> print(layer([[1.0], [3.0]], training=True))
    tf.Tensor(
    [[-1.]
     [ 1.]], shape=(2, 1), dtype=float32)
    >>> layer.moving_mean.numpy()
    array([1.], dtype=float32)
    """

    def __init__(
        self,
        axis: int = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        moving_mean_initializer: Any = "zeros",
        moving_variance_initializer: Any = "ones",
        **options: Any,
    ):
        super().__init__(axis, epsilon, center, scale, beta_initializer, gamma_initializer, options)
        self.momentum = momentum
        self.moving_mean_initializer = moving_mean_initializer
        self.moving_variance_initializer = moving_variance_initializer
        self.moving_mean: tf.Variable | Any = None  # before it is built
        self.moving_variance: tf.Variable | Any = None  # before it is built

    def _build_statistics(self, shape: tuple[int, ...]) -> None:
        self.moving_mean = self.add_weight(
            "moving_mean", shape, self.moving_mean_initializer, trainable=False
        )
        self.moving_variance = self.add_weight(
            "moving_variance", shape, self.moving_variance_initializer, trainable=False
        )

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> tf.Tensor:
        """The features, normalised.

        Statistics are taken over the steps that count, where `mask`, of the shape of `inputs` without their last axis,
        is True; ValueError for one of another rank.
        """
        rank = len(inputs.shape)
        if mask is not None and len(mask.shape) != rank - 1:
            raise ValueError(
                f"{self.name} takes a mask of the inputs without their last axis, {inputs.shape[:-1]}, got one of "
                f"{mask.shape}{at_user_line()}"
            )
        mean: Any
        variance: Any
        if is_training(training) and self.trainable:
            others = [a for a in range(rank) if a not in self._axes(rank)]
            mean, variance = (
                neural.moments(inputs, others) if mask is None else _moments_of_steps(inputs, mask, others)
            )
            self._follow(self.moving_mean, mean)
            self._follow(self.moving_variance, variance)
        else:
            mean, variance = self.moving_mean, self.moving_variance
        mean, variance, beta, gamma = (self._spread(x, rank) for x in (mean, variance, self.beta, self.gamma))
        return neural.batch_normalization(inputs, mean, variance, beta, gamma, self.epsilon)

    def _follow(self, running: Any, now: Any) -> None:
        with tf.autodiff.stop_recording():
            new = running.current() * self.momentum + tf.stop_gradient(now) * (1.0 - self.momentum)
            running.assign(tf.cast(new, dtype=running.dtype))


def _moments_of_steps(x: Any, mask: Any, axes: list[int]) -> tuple[Any, Any]:
    """Mean and variance of the steps that count; both are 0 where none does."""
    counts = tf.broadcast_to(
        tf.expand_dims(tf.cast(tf.convert_to_tensor(mask), dtype="bool"), -1), shape=x.shape
    )
    number: Any = tf.reduce_sum(tf.cast(counts, dtype=x.dtype), axes, keepdims=True) + EPSILON
    mean = tf.reduce_sum(tf.where(counts, x, 0.0), axes, keepdims=True) / number
    apart = tf.where(counts, x - mean, 0.0)
    variance = tf.reduce_sum(tf.square(apart), axes, keepdims=True) / number
    return tf.squeeze(mean, axes), tf.squeeze(variance, axes)
