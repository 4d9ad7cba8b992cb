"""Core layers: dense, activation, reshaping, dropout, embedding."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tracejit as tf

from ..errors import at_user_line
from ..losses.steps import beyond_scores, mask_of
from ..models.arguments import among_parameters
from ..nn import activations
from ..nn import common as neural
from ..nn.dense import dense
from .layer import Layer, is_training


class Dense(Layer):
    """``activation(inputs @ kernel + bias)`` over the last axis.

    Parameters
    ----------
    units : int
        Size of the last axis of the result.
    activation : str or callable, optional
    use_bias : bool
    kernel_initializer, bias_initializer : str or callable
    kernel_regularizer, bias_regularizer : str or callable, optional
        What large weights cost, see :attr:`Layer.losses`.
    **options
        As for :class:`Layer`.

    Examples
    --------
    >>> import tracejit as tf
    >>> layer = tf.layers.Dense(2, activation="relu", kernel_initializer="ones")
    >>> print(layer([[1.0, 2.0, 3.0]]))
    tf.Tensor([[6. 6.]], shape=(1, 2), dtype=float32)
    """

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        **options: Any,
    ):
        super().__init__(**options)
        self.supports_masking = True
        if units < 1:
            raise ValueError(f"units is positive, got {units}{at_user_line()}")
        self.units: int = int(units)
        self.use_bias = use_bias
        self.activation: Callable[..., tf.Tensor] = activations.get(activation)
        self.kernel_initializer = kernel_initializer
        self.bias_initializer = bias_initializer
        self.kernel_regularizer = kernel_regularizer
        self.bias_regularizer = bias_regularizer
        self.kernel: tf.Variable | Any = None  # before it is built
        self.bias: tf.Variable | Any = None  # before it is built

    def build(self, input_shape: Any) -> None:
        """Make kernel and bias."""
        width = self._axis_size(input_shape)
        shape: tuple[int, ...] = (width, self.units)
        regularizer = self.kernel_regularizer
        self.kernel = self.add_weight("kernel", shape, self.kernel_initializer, regularizer=regularizer)
        if self.use_bias:
            shape, regularizer = (self.units,), self.bias_regularizer
            self.bias = self.add_weight("bias", shape, self.bias_initializer, regularizer=regularizer)

    def call(self, inputs: Any) -> tf.Tensor:
        """The result, with `units` in place of the last size."""
        return dense(inputs, self.kernel, self.bias, self.activation)


class Activation(Layer):
    """An activation by itself, `activation`, by name or function.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.Activation("relu")([-1.0, 1.0]))
    tf.Tensor([0. 1.], shape=(2,), dtype=float32)
    """

    def __init__(self, activation: Any, **options: Any):
        super().__init__(**options)
        self.activation: Callable[..., tf.Tensor] = activations.get(activation)
        self.supports_masking = True

    def call(self, inputs: Any) -> tf.Tensor:
        """The activation of the inputs."""
        return self.activation(inputs)


class ReLU(Layer):
    """``max(x, 0)``.

    Parameters
    ----------
    max_value : float, optional
        What no result exceeds.
    negative_slope : float
        Below the threshold the result is this times ``x - threshold``.
    threshold : float
        From where on `x` passes unchanged.
    **options
        As for :class:`Layer`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.ReLU()([[-1.0, 2.0]]))
    tf.Tensor([[0. 2.]], shape=(1, 2), dtype=float32)
    >>> print(tf.layers.ReLU(max_value=3.0, negative_slope=0.5, threshold=1.0)([[-1.0, 2.0, 5.0]]))
    tf.Tensor([[-1.  2.  3.]], shape=(1, 3), dtype=float32)
    """

    def __init__(
        self,
        max_value: float | None = None,
        negative_slope: float = 0.0,
        threshold: float = 0.0,
        **options: Any,
    ):
        super().__init__(**options)
        if (max_value is not None and max_value < 0) or negative_slope < 0 or threshold < 0:
            raise ValueError(
                "max_value, negative_slope and threshold are not negative, got "
                f"{max_value}, {negative_slope} and {threshold}{at_user_line()}"
            )
        self.max_value, self.negative_slope, self.threshold = max_value, negative_slope, threshold
        self.supports_masking = True

    def call(self, inputs: Any) -> tf.Tensor:
        """The activation of the inputs."""
        y: Any = tf.relu(inputs)
        if self.negative_slope or self.threshold:
            x: Any = tf.convert_to_tensor(inputs)
            y = tf.where(tf.greater(x, self.threshold), x, self.negative_slope * (x - self.threshold))
        return y if self.max_value is None else tf.minimum(y, self.max_value)


class LeakyReLU(Layer):
    """``x`` where positive, `negative_slope` times it elsewhere; `alpha` is its name in older programs.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.LeakyReLU()([[-1.0, 2.0]]))
    tf.Tensor([[-0.3  2. ]], shape=(1, 2), dtype=float32)
    """

    def __init__(self, negative_slope: float = 0.3, alpha: float | None = None, **options: Any):
        super().__init__(**options)
        self.negative_slope: float = negative_slope if alpha is None else alpha
        self.supports_masking = True

    def call(self, inputs: Any) -> tf.Tensor:
        """The activation of the inputs."""
        return activations.leaky_relu(inputs, self.negative_slope)


class ELU(Layer):
    """``x`` where positive, ``alpha * (exp(x) - 1)`` elsewhere.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.ELU()([[-1.0, 2.0]]))
    tf.Tensor([[-0.63212055  2.        ]], shape=(1, 2), dtype=float32)
    """

    def __init__(self, alpha: float = 1.0, **options: Any):
        super().__init__(**options)
        self.alpha, self.supports_masking = alpha, True

    def call(self, inputs: Any) -> tf.Tensor:
        """The activation of the inputs."""
        return tf.where(tf.greater(inputs, 0.0), 1.0, self.alpha) * activations.elu(inputs)


class Softmax(Layer):
    """Softmax over `axis`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.Softmax()([[0.0, 0.0]]))
    tf.Tensor([[0.5 0.5]], shape=(1, 2), dtype=float32)
    """

    def __init__(self, axis: int = -1, **options: Any):
        super().__init__(**options)
        self.axis, self.supports_masking = axis, True

    def call(self, inputs: Any, mask: Any = None) -> tf.Tensor:
        """The activation of the inputs; 0 where `mask`, of bools that broadcast to `inputs`, is False.

        The mask of steps that comes with the inputs leaves nothing out here: it is handed on.
        """
        if mask is None or (mask is mask_of(inputs) and len(mask.shape) != len(inputs.shape)):
            return activations.softmax(inputs, self.axis)
        counts = tf.broadcast_to(tf.cast(tf.convert_to_tensor(mask), dtype="bool"), inputs.shape)
        scores = tf.where(counts, inputs, -beyond_scores(inputs.dtype))
        return tf.where(counts, activations.softmax(scores, self.axis), 0.0)


class Lambda(Layer):
    """Any function of tensors as a layer; Variables it uses are not its own.

    Parameters
    ----------
    function : callable
        Called with the inputs, and with ``mask`` and ``training`` where it has parameters of these names.
    output_shape : any
        Accepted for programs written for other libraries, and ignored: shapes are those of results.
    mask : callable or tensor, optional
        ``mask(inputs, mask)`` says which steps of the result count, by those of the inputs, or a tensor says it.
        Without one no mask is handed on.
    arguments : dict, optional
        Further arguments of `function`, by name.
    **options
        As for :class:`Layer`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.Lambda(lambda x: x * 2.0)([[1.0, 2.0]]))
    tf.Tensor([[2. 4.]], shape=(1, 2), dtype=float32)
    >>> print(tf.layers.Lambda(lambda x, k: x * k, arguments={"k": 3.0})([[1.0, 2.0]]))
    tf.Tensor([[3. 6.]], shape=(1, 2), dtype=float32)
    """

    def __init__(
        self,
        function: Callable[..., Any],
        output_shape: Any = None,
        mask: Any = None,
        arguments: dict[str, Any] | None = None,
        **options: Any,
    ):
        super().__init__(**options)
        self.function, self.mask, self.arguments = function, mask, arguments
        self.supports_masking = mask is not None

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """What the function for masks says of `inputs` and their `mask`, or the tensor that it was made with."""
        return self.mask(inputs, mask) if callable(self.mask) else self.mask

    def call(self, inputs: Any, mask: Any = None, training: Any = None) -> Any:
        """What the function returns for `inputs`, and for `mask` and `training` where it takes these."""
        given: dict[str, Any] = dict(self.arguments or {})
        known = among_parameters(self.function)
        given |= {k: v for k, v in (("mask", mask), ("training", training)) if k in known}
        return self.function(inputs, **given)


class Flatten(Layer):
    """All axes but the first joined into one.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.layers.Flatten()(tf.zeros((2, 3, 4))).shape
    TensorShape([2, 12])
    """

    def call(self, inputs: Any) -> tf.Tensor:
        """The examples as vectors."""
        shape = (inputs.shape[0], math.prod(inputs.shape[1:])) if inputs.shape else (1, 1)
        return tf.reshape(inputs, shape=shape)


class Reshape(Layer):
    """Each example in the shape `target_shape`; one size may be -1.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.Reshape([2, -1])(tf.ones([1, 6])).shape)
    (1, 2, 3)
    """

    def __init__(self, target_shape: Sequence[int], **options: Any):
        super().__init__(**options)
        self.target_shape: tuple[int, ...] = tuple(target_shape)

    def call(self, inputs: Any) -> tf.Tensor:
        """The examples in the shape asked for."""
        if -1 not in self.target_shape:
            return tf.reshape(inputs, shape=(inputs.shape[0], *self.target_shape))
        rest = math.prod(inputs.shape[1:]) // math.prod(s for s in self.target_shape if s != -1)
        sizes = tuple([rest if s == -1 else s for s in self.target_shape])
        return tf.reshape(inputs, shape=(inputs.shape[0], *sizes))


class Dropout(Layer):
    """While training, a part of the inputs set to 0 at random and the others scaled up.

    Parameters
    ----------
    rate : float
        In [0, 1).
    noise_shape : shape, optional
        Of the random choice, which is broadcast to the inputs.
    seed : int, optional

    Examples
    --------
    >>> import tracejit as tf
    >>> layer, x = tf.layers.Dropout(0.5, seed=1), tf.ones((4,))
    >>> bool(tf.reduce_all(layer(x) == x)), set(layer(x, training=True).numpy().tolist()) <= {0.0, 2.0}
    (True, True)
    """

    def __init__(self, rate: float, noise_shape: Any = None, seed: int | None = None, **options: Any):
        super().__init__(**options)
        if not 0.0 <= rate < 1.0:
            raise ValueError(f"rate is in [0, 1), got {rate}{at_user_line()}")
        self.rate = rate
        self.noise_shape = noise_shape
        self.seed = seed
        self.supports_masking = True

    def call(self, inputs: Any, training: Any = None) -> tf.Tensor:
        """The inputs, thinned out while training."""
        if not is_training(training):
            return inputs
        return neural.dropout(inputs, self.rate, self.noise_shape, self.seed)


class Embedding(Layer):
    """Rows of a table by number: integers in, or floats that are such, vectors out.

    Parameters
    ----------
    input_dim : int
        How many rows there are.
    output_dim : int
        Their length.
    embeddings_initializer : str or callable
    mask_zero : bool
        Steps with the number 0 do not count, see :class:`Masking`.
    input_length : int, optional
        Accepted for programs written for other libraries, and ignored: a call says it.
    weights : array or list of one array, optional
        The table at first, ``(input_dim, output_dim)``, in place of what the initializer gives.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.layers.Embedding(10, 3)([[1, 2], [3, 4]]).shape
    TensorShape([2, 2, 3])
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: Any = "random_uniform",
        mask_zero: bool = False,
        input_length: int | None = None,
        weights: Any = None,
        **options: Any,
    ):
        super().__init__(**options)
        self.mask_zero = mask_zero
        self._first_weights = [weights] if isinstance(weights, (np.ndarray, tf.Tensor)) else weights
        self.input_dim: int = int(input_dim)
        self.output_dim: int = int(output_dim)
        self.embeddings_initializer = embeddings_initializer
        self.embeddings: tf.Variable | Any = None  # before it is built

    def get_config(self) -> dict[str, Any]:
        """The arguments that make a layer like this one, as plain data, without the table."""
        return {name: x for name, x in super().get_config().items() if name != "weights"}

    def build(self, input_shape: Any) -> None:
        """Make the table."""
        shape = (self.input_dim, self.output_dim)
        self.embeddings = self.add_weight("embeddings", shape, self.embeddings_initializer)
        if self._first_weights is not None:
            self.set_weights(self._first_weights)

    _in_that_of_weights = True  # rows of the table are cast, not all of it

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Which of the numbers `inputs` are not 0, with ``mask_zero``; `mask` is not looked at."""
        return tf.not_equal(inputs, 0) if self.mask_zero else None

    def call(self, inputs: Any) -> tf.Tensor:
        """The rows of these numbers."""
        if inputs.dtype.kind not in "iuf":
            raise tf.DtypeError(f"row numbers are integers, got {inputs.spec}{at_user_line()}")
        rows = tf.cast(inputs, dtype="int32") if inputs.dtype.kind == "f" else inputs
        return tf.gather(self.embeddings, rows, axis=0)
