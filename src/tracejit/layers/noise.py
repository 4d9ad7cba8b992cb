"""Layers that only change or cost something while a network is trained: noise, dropout of whole features, penalties."""

from __future__ import annotations

import math
from typing import Any

import tracejit as tf

from ..errors import at_user_line
from ..nn import common as neural
from ..regularizers import L1L2
from .core import Dropout
from .layer import Layer, is_training

#: Of SELU: what very negative inputs become, which is what is dropped here.
_DROPPED = -1.6732632423543772 * 1.0507009873554805


class GaussianNoise(Layer):
    """While training, the inputs with normally distributed numbers of the deviation `stddev` added.

    `seed` is as for :class:`Dropout`.

    Examples
    --------
    >>> import tracejit as tf
    >>> layer, x = tf.layers.GaussianNoise(0.5, seed=1), tf.ones((100,))
    >>> bool(tf.reduce_all(layer(x) == x)), bool(tf.reduce_any(layer(x, training=True) == x))
    (True, False)
    """

    def __init__(self, stddev: float, seed: int | None = None, **options: Any):
        super().__init__(**options)
        self.stddev, self.seed, self.supports_masking = stddev, seed, True

    def call(self, inputs: Any, training: Any = None) -> tf.Tensor:
        """The inputs, with noise while training."""
        if not is_training(training):
            return inputs
        return inputs + tf.random.normal(inputs.shape, 0.0, self.stddev, inputs.dtype, self.seed)


class GaussianDropout(Layer):
    """While training, the inputs times normally distributed numbers around 1, of variance ``rate / (1 - rate)``.

    `seed` is as for :class:`Dropout`.

    Examples
    --------
    >>> import tracejit as tf
    >>> layer, x = tf.layers.GaussianDropout(0.5, seed=1), tf.ones((100,))
    >>> bool(tf.reduce_all(layer(x) == x)), bool(tf.reduce_any(layer(x, training=True) == x))
    (True, False)
    """

    def __init__(self, rate: float, seed: int | None = None, **options: Any):
        super().__init__(**options)
        self.rate, self.seed, self.supports_masking = _rate(rate), seed, True

    def call(self, inputs: Any, training: Any = None) -> tf.Tensor:
        """The inputs, multiplied while training."""
        if not is_training(training):
            return inputs
        deviation = math.sqrt(self.rate / (1.0 - self.rate))
        return inputs * tf.random.normal(inputs.shape, 1.0, deviation, inputs.dtype, self.seed)


class AlphaDropout(Layer):
    """Dropout for networks of SELU units: mean and variance of inputs with mean 0 and variance 1 stay.

    Parameters
    ----------
    rate : float
        The part that is dropped, in [0, 1).
    noise_shape : shape, optional
        Of the random choice, which is broadcast to the inputs.
    seed : int, optional

    Source: Klambauer et al., 2017.

    Examples
    --------
    >>> import tracejit as tf
    >>> layer, x = tf.layers.AlphaDropout(0.5, seed=1), tf.ones((100,))
    >>> bool(tf.reduce_all(layer(x) == x)), len(set(layer(x, training=True).numpy().tolist()))
    (True, 2)
    """

    def __init__(self, rate: float, noise_shape: Any = None, seed: int | None = None, **options: Any):
        super().__init__(**options)
        self.rate, self.noise_shape, self.seed = _rate(rate), noise_shape, seed
        self.supports_masking = True

    def call(self, inputs: Any, training: Any = None) -> tf.Tensor:
        """The inputs, thinned out while training."""
        if not is_training(training) or self.rate == 0.0:
            return inputs
        shape = inputs.shape if self.noise_shape is None else self.noise_shape
        kept = tf.random.uniform(shape, seed=self.seed) >= self.rate
        factor = ((1.0 - self.rate) * (1.0 + self.rate * _DROPPED**2)) ** -0.5
        return factor * tf.where(kept, inputs, _DROPPED) - factor * _DROPPED * self.rate


class _SpatialDropout(Dropout):
    """Dropout of whole features: of a feature all places are kept, or none."""

    _fixed = frozenset({"noise_shape"})

    def __init__(self, rate: float, data_format: str | None = None, seed: int | None = None, **options: Any):
        super().__init__(rate, seed=seed, **options)
        self.data_format = data_format

    def call(self, inputs: Any, training: Any = None) -> tf.Tensor:
        """The inputs, without some of the features while training."""
        if not is_training(training):
            return inputs
        count, *sizes = inputs.shape
        channel = 0 if self.data_format == "channels_first" else len(sizes) - 1
        shape = (count, *(size if axis == channel else 1 for axis, size in enumerate(sizes)))
        return neural.dropout(inputs, self.rate, shape, self.seed)


class SpatialDropout1D(_SpatialDropout):
    """Dropout of whole features of sequences, with the `rate` and `seed` of :class:`Dropout`, and `data_format`.

    Examples
    --------
    >>> import tracejit as tf
    >>> x = tf.layers.SpatialDropout1D(0.5)(tf.ones((1, 7, 2)), training=True)
    >>> bool(tf.reduce_all(x == x[:, :1]))
    True
    """


class SpatialDropout2D(_SpatialDropout):
    """Dropout of whole features of images, with the `rate` and `seed` of :class:`Dropout`, and `data_format`.

    Examples
    --------
    >>> import tracejit as tf
    >>> x = tf.layers.SpatialDropout2D(0.5)(tf.ones((1, 3, 3, 2)), training=True)
    >>> bool(tf.reduce_all(x == x[:, :1, :1]))
    True
    """


class SpatialDropout3D(_SpatialDropout):
    """Dropout of whole features of volumes, with the `rate` and `seed` of :class:`Dropout`, and `data_format`.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.layers.SpatialDropout3D(0.5)(tf.ones((1, 2, 2, 2, 4))).shape
    TensorShape([1, 2, 2, 2, 4])
    """


class ActivityRegularization(Layer):
    """The inputs, which cost ``l1 * sum(abs(x)) + l2 * sum(x**2)`` for each example, found in `losses`.

    Examples
    --------
    >>> import tracejit as tf
    >>> layer = tf.layers.ActivityRegularization(l1=0.5)
    >>> layer(tf.ones((2, 3))).shape, float(layer.losses[0])
    (TensorShape([2, 3]), 1.5)
    """

    def __init__(self, l1: float = 0.0, l2: float = 0.0, **options: Any):
        super().__init__(activity_regularizer=L1L2(l1, l2), **options)
        self.l1, self.l2, self.supports_masking = l1, l2, True

    _fixed = frozenset({"activity_regularizer"})

    def call(self, inputs: Any) -> tf.Tensor:
        """The inputs."""
        return inputs


class Identity(Layer):
    """The inputs.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.Identity()([1.0, 2.0]))
    tf.Tensor([1. 2.], shape=(2,), dtype=float32)
    """

    def __init__(self, **options: Any):
        super().__init__(**options)
        self.supports_masking = True

    def call(self, inputs: Any) -> Any:
        """The inputs."""
        return inputs


class PReLU(Layer):
    """``x`` where positive, ``alpha * x`` elsewhere, with weights `alpha`.

    Parameters
    ----------
    alpha_initializer : str or callable
    alpha_regularizer : str or callable, optional
    shared_axes : sequence of int, optional
        Axes of the inputs along which there is one weight, ``(1, 2)`` for images.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.PReLU(alpha_initializer=tf.initializers.Constant(0.5))([[-1.0, 2.0]]))
    tf.Tensor([[-0.5  2. ]], shape=(1, 2), dtype=float32)
    """

    def __init__(
        self,
        alpha_initializer: Any = "zeros",
        alpha_regularizer: Any = None,
        shared_axes: Any = None,
        **options: Any,
    ):
        super().__init__(**options)
        self.alpha_initializer, self.alpha_regularizer = alpha_initializer, alpha_regularizer
        self.shared_axes = [shared_axes] if isinstance(shared_axes, int) else shared_axes
        self.alpha: tf.Variable | Any = None  # before it is built
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        """Make the weights."""
        shared = self.shared_axes or ()
        axes = range(1, len(input_shape))
        shape = tuple(1 if axis in shared else self._axis_size(input_shape, axis) for axis in axes)
        self.alpha = self.add_weight(
            "alpha", shape, self.alpha_initializer, regularizer=self.alpha_regularizer
        )

    def call(self, inputs: Any) -> tf.Tensor:
        """The activation of the inputs."""
        return tf.maximum(inputs, 0.0) - self.alpha * tf.maximum(-inputs, 0.0)


def _rate(rate: float) -> float:
    if not 0.0 <= rate < 1.0:
        raise ValueError(f"rate is in [0, 1), got {rate}{at_user_line()}")
    return rate
