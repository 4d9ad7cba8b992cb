"""SpectralNormalization: a layer whose kernel has a largest singular value of 1."""

from __future__ import annotations

from typing import Any

import tracejit as tf

from ...errors import at_user_line
from ...nn import common as neural
from ..layer import Layer, is_training


class SpectralNormalization(Layer):
    """A `layer` whose kernel is divided by its largest singular value before each call in training.

    The value is approached by power iteration, which goes on from where the last call left off.

    Parameters
    ----------
    layer : Layer
        One with a ``kernel`` or ``embeddings``; its last axis is that of the outputs.
    power_iterations : int
        Steps for each call.
    **options
        As for :class:`Layer`.

    Raises
    ------
    ValueError
        For less than one step.
    AttributeError
        Where the layer has no kernel.

    Notes
    -----
    Source: Miyato, Kataoka, Koyama, Yoshida, 2018.

    Examples
    --------
    >>> import tracejit as tf
    >>> layer = tf.layers.SpectralNormalization(tf.layers.Dense(2, kernel_initializer="identity"), power_iterations=5)
    >>> layer.build((None, 2))
    >>> layer.layer.kernel.assign([[4.0, 0.0], [0.0, 2.0]]).shape
    TensorShape([2, 2])
    >>> result = layer(tf.ones((1, 2)), training=True)
    >>> print(tf.round(layer.layer.kernel * 100.0))
    tf.Tensor(
    [[100.   0.]
     [  0.  50.]], shape=(2, 2), dtype=float32)
    """

    def __init__(self, layer: Any, power_iterations: int = 1, **options: Any):
        super().__init__(**options)
        if power_iterations < 1:
            raise ValueError(f"power_iterations is positive, got {power_iterations}{at_user_line()}")
        self.layer, self.power_iterations = layer, int(power_iterations)
        self.vector_u: tf.Variable | Any = None  # before it is built

    def build(self, input_shape: Any) -> None:
        """Make the weights of the layer, and the vector that approaches the singular one."""
        if not self.layer.built:
            self.layer.build(input_shape)
        kernel = self._kernel()
        first = tf.initializers.TruncatedNormal(stddev=0.02)
        self.vector_u = self.add_weight("vector_u", (1, kernel.shape[-1]), first, trainable=False)

    def _kernel(self) -> Any:
        for name in ("kernel", "embeddings"):
            if getattr(self.layer, name, None) is not None:
                return getattr(self.layer, name)
        raise AttributeError(f"{self.layer!r} has no kernel and no embeddings{at_user_line()}")

    def call(self, inputs: Any, training: Any = None) -> Any:
        """What the layer gives."""
        if is_training(training):
            with tf.autodiff.stop_recording():
                self._normalize(self._kernel())
        return self.layer(inputs)

    def _normalize(self, kernel: Any) -> None:
        matrix = tf.reshape(kernel, [-1, kernel.shape[-1]])
        u: Any = tf.convert_to_tensor(self.vector_u)
        for _ in range(self.power_iterations):
            v = neural.l2_normalize(tf.matmul(u, matrix, transpose_b=True))
            u = neural.l2_normalize(tf.matmul(v, matrix))
        sigma = tf.matmul(tf.matmul(v, matrix), u, transpose_b=True)
        self.vector_u.assign(u)
        kernel.assign(tf.reshape(matrix / sigma, kernel.shape))
