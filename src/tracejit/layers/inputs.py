"""Input layers: the shape of the input of a network, and layers that rescale its values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tracejit as tf

from ..data.dataset import Dataset
from ..errors import at_user_line
from ..models.functional import Symbol, example_inputs
from .layer import Layer


class InputLayer(Layer, Symbol):
    """What a network is given: says the shape of one example.

    The first of the layers of a :class:`Sequential`; or what layers are called with whose results, or what becomes of
    them, are the outputs of a ``Model(inputs, outputs)``.

    Parameters
    ----------
    shape : int or tuple
        Of one example.
    batch_size : int, optional
        How many examples shapes are said to hold; any number of examples will do.
    dtype : dtype-like, optional
        Of the examples.
    name : str, optional
    batch_shape : tuple, optional
        `batch_size` and `shape` in one.
    input_shape, batch_input_shape : tuple, optional
        What older programs call `shape` and `batch_shape`.

    Examples
    --------
    >>> import tracejit as tf
    >>> model = tf.Sequential([tf.keras.Input(shape=(3,)), tf.layers.Dense(2)])
    >>> model.layers[0].kernel.shape
    TensorShape([3, 2])
    >>> x = tf.keras.Input(shape=(3,))
    >>> tf.keras.Model(x, tf.layers.Dense(2)(x) + 1.0)(tf.zeros((5, 3))).shape
    TensorShape([5, 2])
    """

    _unsearched = frozenset({*Layer._unsearched, "examples"})

    def __init__(
        self,
        shape: int | Sequence[int | None] | None = None,
        batch_size: int | None = None,
        dtype: Any = None,
        name: str | None = None,
        batch_shape: Sequence[int | None] | None = None,
        input_shape: Sequence[int | None] | None = None,
        batch_input_shape: Sequence[int | None] | None = None,
    ):
        shape = input_shape if shape is None else shape
        batch_shape = batch_input_shape if batch_shape is None else batch_shape
        if (shape is None) == (batch_shape is None):
            raise ValueError(
                f"an Input has a shape, or a batch_shape, got {shape} and {batch_shape}{at_user_line()}"
            )
        if batch_shape is not None:
            batch_size, *shape = batch_shape
        assert shape is not None
        shape = (shape,) if isinstance(shape, int) else shape
        super().__init__(name=name, dtype=dtype, input_shape=shape)
        self.batch_size, self.examples = batch_size, example_inputs(shape, self.dtype, batch_size)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an input like this one, as plain data."""
        shape = {"shape": self.input_shape, "batch_size": self.batch_size}
        return {**shape, "dtype": self.dtype.name, "name": self.name}

    def shape_text(self) -> str:
        """The shape of a batch."""
        return f"({', '.join(map(str, self.shape))}{'' if self.shape[1:] else ','})"

    def call(self, inputs: Any) -> Any:
        """The inputs."""
        return inputs


class Rescaling(Layer):
    """``inputs * scale + offset``.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.Rescaling(2.0, offset=1.0)([[1.0, 2.0]]))
    tf.Tensor([[3. 5.]], shape=(1, 2), dtype=float32)
    """

    def __init__(self, scale: Any, offset: Any = 0.0, **options: Any):
        super().__init__(**options)
        self.scale, self.offset, self.supports_masking = scale, offset, True

    def call(self, inputs: Any) -> tf.Tensor:
        """The inputs, rescaled; integers become floats."""
        x = tf.cast(inputs, dtype=self.compute_dtype) if inputs.dtype.kind in "iub" else inputs
        return x * self.scale + self.offset


class Normalization(Layer):
    """Features with mean 0 and variance 1, by statistics of data seen before training.

    Parameters
    ----------
    axis : int, sequence of int or None
        The axes of the features, each of which has statistics of its own, over the other axes; None: one mean and
        one variance for all elements.
    mean, variance : array-like, optional
        The statistics, where they are known: constants of the layer, which broadcast to what it is given; a missing
        `variance` is 1. By default :meth:`adapt` finds them, and they are weights.

    Raises
    ------
    ValueError
        For the axis of the examples, the first one.

    Examples
    --------
    >>> import tracejit as tf
    >>> layer = tf.layers.Normalization()
    >>> layer.adapt([[1.0, 10.0], [3.0, 30.0]])
    >>> print(layer([[2.0, 30.0]]))
    tf.Tensor([[0. 1.]], shape=(1, 2), dtype=float32)
    """

    def __init__(
        self, axis: int | Sequence[int] | None = -1, mean: Any = None, variance: Any = None, **options: Any
    ):
        super().__init__(**options)
        self.axis = axis
        self.supports_masking = True
        self.mean: tf.Variable | Any = mean  # None before it is built
        self.variance: tf.Variable | Any = 1.0 if mean is not None and variance is None else variance

    def adapt(self, data: Any) -> None:
        """Take mean and variance of each feature from `data`, an array or a Dataset of batches.

        Functions that were compiled before see them too.
        """
        parts = (
            [np.asarray(x.array) for x in data]
            if isinstance(data, Dataset)
            else [tf.convert_to_tensor(data).array]
        )
        data = np.concatenate(parts).astype(np.float64)
        kept = self._features(data.ndim)
        others = tuple(a for a in range(data.ndim) if a not in kept)
        mean, variance = data.mean(others, keepdims=True), data.var(others, keepdims=True)
        shape = mean.shape[min(kept, default=data.ndim) :]  # broadcasts to any number of examples
        self._know(mean.reshape(shape), variance.reshape(shape))

    def _features(self, rank: int) -> list[int]:
        """The axes that have statistics of their own, of data with so many axes."""
        axes = [] if self.axis is None else [self.axis] if isinstance(self.axis, int) else list(self.axis)
        kept = [a + rank if a < 0 else a for a in axes]
        if any(not 0 < a < rank for a in kept):
            raise ValueError(
                f"features stand on axes behind the first, which is that of the examples; got axis={self.axis} for "
                f"data with {rank} axes{at_user_line()}"
            )
        return kept

    def _know(self, mean: Any, variance: Any) -> None:
        with tf.init_scope():
            for name, value in (("mean", mean), ("variance", variance)):
                array, known = np.asarray(value, self.dtype), getattr(self, name)
                if isinstance(known, tf.Variable) and known.shape == array.shape:
                    known.assign(array)  # where compiled functions look
                else:
                    setattr(self, name, tf.Variable(array, trainable=False, name=f"{self.name}/{name}"))

    def call(self, inputs: Any) -> tf.Tensor:
        """The inputs, normalised; ValueError before there are a mean and a variance."""
        if self.mean is None or self.variance is None:
            raise ValueError(f"{self.name} knows no statistics yet: adapt(data) first{at_user_line()}")
        mean, variance = (tf.cast(x, dtype=self.dtype) for x in (self.mean, self.variance))
        deviation = tf.maximum(tf.sqrt(variance), 1e-7)
        return tf.divide(tf.subtract(tf.cast(inputs, dtype=self.dtype), mean), deviation)
