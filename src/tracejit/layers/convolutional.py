"""Convolutional layers for sequences and images: plain, depthwise, separable and transposed."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit as tf

from .. import nn
from ..errors import at_user_line
from ..nn import activations
from .layer import Layer


def sizes_of_windows(value: Any, rank: int, what: str) -> tuple[int, ...]:
    """One positive number for each of `rank` axes, given as one for all or one each; ValueError for others."""
    given = (int(value),) * rank if isinstance(value, (int, np.integer)) else tuple(int(v) for v in value)
    if len(given) != rank or min(given) < 1:
        raise ValueError(f"{what} is a positive number, or {rank} of them, got {value!r}{at_user_line()}")
    return given


def channels_first(data_format: str | None) -> bool:
    """Do the channels stand before the axes of the image? ValueError for what is no order."""
    if data_format not in (None, "channels_last", "channels_first"):
        raise ValueError(
            f"data_format is 'channels_last' or 'channels_first', got {data_format!r}{at_user_line()}"
        )
    return data_format == "channels_first"


def order_of_axes(rank: int, first: bool) -> str:
    """The order as functions name it: ``"NHWC"``, or ``"NCHW"`` with channels `first`."""
    return "NC" + "DHW"[-rank:] if first else "N" + "DHW"[-rank:] + "C"


class _Windows(Layer):
    """What the kinds of convolution share."""

    rank: int
    paddings: tuple[str, ...] = ("valid", "same")
    padding: str
    use_bias: bool
    bias_initializer: Any
    bias_regularizer: Any

    def __init__(
        self,
        kernel_size: Any,
        strides: Any,
        padding: str,
        data_format: str | None,
        dilation_rate: Any,
        activation: Any,
        use_bias: bool,
        bias_initializer: Any,
        bias_regularizer: Any,
        options: dict[str, Any],
    ):
        super().__init__(**options)
        if str(padding).lower() not in self.paddings:
            raise ValueError(f"padding is one of {', '.join(self.paddings)}, got {padding!r}{at_user_line()}")
        self.kernel_size: tuple[int, ...] = sizes_of_windows(kernel_size, self.rank, "kernel_size")
        self.strides: tuple[int, ...] = sizes_of_windows(strides, self.rank, "strides")
        self.dilation_rate: tuple[int, ...] = sizes_of_windows(dilation_rate, self.rank, "dilation_rate")
        self.padding, self.use_bias = str(padding).lower(), use_bias
        self.channels_first: bool = channels_first(data_format)
        self.data_format = "channels_first" if self.channels_first else "channels_last"
        self.activation = activations.get(activation)
        self.bias_initializer, self.bias_regularizer = bias_initializer, bias_regularizer
        self.kernel: Any = None
        self.bias: Any = None

    def _channels(self, input_shape: Any) -> int:
        return self._axis_size(input_shape, 1 if self.channels_first else -1)

    def _add_bias(self, outputs: int) -> None:
        if self.use_bias:
            self.bias = self.add_weight(
                "bias", (outputs,), self.bias_initializer, regularizer=self.bias_regularizer
            )

    def _order(self) -> str:
        return order_of_axes(self.rank, self.channels_first)

    def _finished(self, y: Any) -> tf.Tensor:
        """With bias and activation."""
        if self.bias is not None:
            shape = (1, -1, *([1] * self.rank)) if self.channels_first else (-1,)
            y = y + tf.reshape(self.bias, shape)
        return self.activation(y)


class _Conv(_Windows):
    """A convolution over `rank` axes.

    Parameters
    ----------
    filters : int
        Number of channels of the result.
    kernel_size, strides, dilation_rate : int or tuple of int
        Of the window, from one to the next, and between the places that it sees.
    padding : {"valid", "same"}
        With ``"same"`` zeros are added so that there are ``ceil(size / stride)`` windows.
    data_format : {"channels_last", "channels_first"}, optional
    groups : int
        Channels and filters fall into so many groups that know nothing of each other.
    activation : str or callable, optional
    use_bias : bool
    kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer : str or callable, optional
    **options
        As for :class:`Layer`.
    """

    filters: int
    groups: int
    kernel_initializer: Any
    kernel_regularizer: Any

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
        groups: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        **options: Any,
    ):
        shared = (activation, use_bias, bias_initializer, bias_regularizer, options)
        super().__init__(kernel_size, strides, padding, data_format, dilation_rate, *shared)
        if filters < 1 or groups < 1 or filters % groups:
            raise ValueError(
                f"filters is positive and a multiple of groups, got {filters} and {groups}{at_user_line()}"
            )
        self.filters, self.groups = int(filters), int(groups)
        self.kernel_initializer, self.kernel_regularizer = kernel_initializer, kernel_regularizer

    def build(self, input_shape: Any) -> None:
        """Make kernel and bias."""
        channels = self._channels(input_shape)
        if channels % self.groups:
            raise tf.ShapeError(f"{channels} channels do not make {self.groups} groups{at_user_line()}")
        shape = (*self.kernel_size, channels // self.groups, self.filters)
        self.kernel = self.add_weight(
            "kernel", shape, self.kernel_initializer, regularizer=self.kernel_regularizer
        )
        self._add_bias(self.filters)

    def call(self, inputs: Any) -> tf.Tensor:
        """The activation of the convolution."""
        x, padding = inputs, self.padding.upper()
        if self.padding == "causal":
            reach = (self.kernel_size[0] - 1) * self.dilation_rate[0]
            x, padding = tf.pad(x, [[0, 0], [reach, 0], [0, 0]]), "VALID"
        options = (self.strides, padding, self._order(), self.dilation_rate)
        return self._finished(nn.convolution(x, self.kernel, *options))


class Conv1D(_Conv):
    """A convolution over sequences: ``(batch, steps, channels)`` in, ``(batch, new steps, filters)`` out.

    Its arguments are those of :class:`Conv2D`; `padding` may be ``"causal"`` too: a step sees none after it.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.layers.Conv1D(4, 3, padding="causal")(tf.zeros((2, 10, 5))).shape
    TensorShape([2, 10, 4])
    """

    rank = 1
    paddings = ("valid", "same", "causal")


class Conv2D(_Conv):
    """A convolution over images: ``(batch, height, width, channels)`` in, ``filters`` channels out.

    Parameters
    ----------
    filters : int
        Number of channels of the result.
    kernel_size, strides, dilation_rate : int or tuple of int
        Of the window, from one to the next, and between the places that it sees.
    padding : {"valid", "same"}
        With ``"same"`` zeros are added so that there are ``ceil(size / stride)`` windows.
    data_format : {"channels_last", "channels_first"}, optional
    groups : int
        Channels and filters fall into so many groups that know nothing of each other.
    activation : str or callable, optional
    use_bias : bool
    kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer : str or callable, optional
    **options
        As for :class:`Layer`.

    Examples
    --------
    >>> import tracejit as tf
    >>> layer = tf.layers.Conv2D(6, kernel_size=5, padding="same", activation="relu")
    >>> layer(tf.zeros((2, 28, 28, 1))).shape, layer.kernel.shape
    (TensorShape([2, 28, 28, 6]), TensorShape([5, 5, 1, 6]))
    """

    rank = 2


class Conv3D(_Conv):
    """A convolution over volumes ``(batch, depth, height, width, channels)``; its arguments are :class:`Conv2D`'s.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.Conv3D(2, 3)(tf.ones([1, 4, 4, 4, 1])).shape)
    (1, 2, 2, 2, 2)
    """

    rank = 3


class _ConvTranspose(_Conv):
    """The transpose of a convolution over `rank` axes.

    Parameters
    ----------
    filters, kernel_size, strides, padding, data_format, dilation_rate
        As for a convolution. With ``"same"``, sizes become ``size * stride``.
    output_padding : int or tuple of int, optional
        So much larger than the smallest size whose convolution has the size of the input.
    """

    output_padding: tuple[int, ...] | None
    _fixed = frozenset({"groups"})

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        output_padding: Any = None,
        data_format: str | None = None,
        dilation_rate: Any = 1,
        **options: Any,
    ):
        super().__init__(filters, kernel_size, strides, padding, data_format, dilation_rate, 1, **options)
        self.output_padding = (
            None
            if output_padding is None
            else tuple(
                n - 1 for n in sizes_of_windows(np.add(output_padding, 1), self.rank, "output_padding")
            )
        )

    def build(self, input_shape: Any) -> None:
        """Make kernel and bias."""
        shape = (*self.kernel_size, self.filters, self._channels(input_shape))
        self.kernel = self.add_weight(
            "kernel", shape, self.kernel_initializer, regularizer=self.kernel_regularizer
        )
        self._add_bias(self.filters)

    def _size(self, size: int, axis: int) -> int:
        window, stride = self.kernel_size[axis], self.strides[axis]
        reach = (window - 1) * self.dilation_rate[axis] + 1
        if self.output_padding is None:
            return size * stride + (max(reach - stride, 0) if self.padding == "valid" else 0)
        missing = 2 * (reach // 2) if self.padding == "same" else 0
        return (size - 1) * stride + reach - missing + self.output_padding[axis]

    def call(self, inputs: Any) -> tf.Tensor:
        """The activation of the transposed convolution."""
        seen = inputs.shape[2:] if self.channels_first else inputs.shape[1:-1]
        sizes = [self._size(size, axis) for axis, size in enumerate(seen)]
        y = nn.conv_transpose(
            inputs, self.kernel, sizes, self.strides, self.padding.upper(), self._order(), self.dilation_rate
        )
        return self._finished(y)


class Conv1DTranspose(_ConvTranspose):
    """:class:`Conv2DTranspose` over sequences ``(batch, steps, channels)``, with its arguments.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.Conv1DTranspose(2, 3)(tf.ones([1, 4, 3])).shape)
    (1, 6, 2)
    """

    rank = 1


class Conv2DTranspose(_ConvTranspose):
    """A convolution backwards: what makes images larger.

    Parameters
    ----------
    filters, kernel_size, strides, padding, data_format, dilation_rate
        As for :class:`Conv2D`. With ``"same"``, sizes become ``size * stride``.
    output_padding : int or tuple of int, optional
        So much larger than the smallest size whose convolution has the size of the input.
    **options
        Others of :class:`Conv2D`.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.layers.Conv2DTranspose(3, 4, strides=2, padding="same")(tf.zeros((1, 8, 8, 5))).shape
    TensorShape([1, 16, 16, 3])
    """

    rank = 2


class Conv3DTranspose(_ConvTranspose):
    """:class:`Conv2DTranspose` over volumes ``(batch, depth, height, width, channels)``, with its arguments.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.Conv3DTranspose(2, 3, strides=2)(tf.ones([1, 2, 2, 2, 3])).shape)
    (1, 5, 5, 5, 2)
    """

    rank = 3


class DepthwiseConv2D(_Windows):
    """A convolution of each channel by itself.

    Parameters
    ----------
    kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias
        As for :class:`Conv2D`.
    depth_multiplier : int
        So many channels are made from each.
    depthwise_initializer, bias_initializer, depthwise_regularizer, bias_regularizer : str or callable, optional

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.layers.DepthwiseConv2D(3, depth_multiplier=2)(tf.zeros((1, 8, 8, 5))).shape
    TensorShape([1, 6, 6, 10])
    """

    depthwise_initializer: Any
    depthwise_regularizer: Any

    rank = 2

    def __init__(
        self,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        depth_multiplier: int = 1,
        data_format: str | None = None,
        dilation_rate: Any = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        **options: Any,
    ):
        shared = (activation, use_bias, bias_initializer, bias_regularizer, options)
        super().__init__(kernel_size, strides, padding, data_format, dilation_rate, *shared)
        self.depth_multiplier: int = int(depth_multiplier)
        self.depthwise_initializer, self.depthwise_regularizer = depthwise_initializer, depthwise_regularizer

    def build(self, input_shape: Any) -> None:
        """Make kernel and bias."""
        channels = self._channels(input_shape)
        self.kernel = self.add_weight(
            "kernel",
            (*self.kernel_size, channels, self.depth_multiplier),
            self.depthwise_initializer,
            regularizer=self.depthwise_regularizer,
        )
        self._add_bias(channels * self.depth_multiplier)

    def call(self, inputs: Any) -> tf.Tensor:
        """The activation of the convolution."""
        return self._finished(self._each(inputs))

    def _each(self, inputs: Any) -> tf.Tensor:
        """The convolution of each channel."""
        return nn.depthwise_conv2d(
            inputs, self.kernel, self.strides, self.padding.upper(), self._order(), self.dilation_rate
        )


class SeparableConv2D(DepthwiseConv2D):
    """A convolution of each channel by itself, then one that mixes channels place by place.

    Parameters
    ----------
    filters : int
        Number of channels of the result.
    kernel_size, strides, padding, **options
        As for :class:`DepthwiseConv2D`.
    pointwise_initializer : str or callable
        Of the kernel that mixes channels.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.SeparableConv2D(2, 3)(tf.ones([1, 4, 4, 3])).shape)
    (1, 2, 2, 2)
    """

    filters: int
    pointwise_initializer: Any
    use_bias: bool

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        pointwise_initializer: Any = "glorot_uniform",
        **options: Any,
    ):
        super().__init__(kernel_size, strides, padding, **options)
        self.filters, self.pointwise_initializer = int(filters), pointwise_initializer
        self.pointwise_kernel: Any = None
        self.bias = vars(self).pop(
            "bias"
        )  # weights are in the order of attributes: the bias after both kernels

    def build(self, input_shape: Any) -> None:
        """Make both kernels and the bias."""
        bias, self.use_bias = self.use_bias, False
        super().build(input_shape)
        self.use_bias = bias
        shape = (*[1] * self.rank, self._channels(input_shape) * self.depth_multiplier, self.filters)
        self.pointwise_kernel = self.add_weight("pointwise_kernel", shape, self.pointwise_initializer)
        self._add_bias(self.filters)

    def call(self, inputs: Any) -> tf.Tensor:
        """The activation of both convolutions."""
        each = self._each(inputs)
        return self._finished(nn.convolution(each, self.pointwise_kernel, 1, "VALID", self._order()))


class _AlongSteps(DepthwiseConv2D):
    """Sequences as images of height 1."""

    rank = 1

    def _each(self, inputs: Any) -> tf.Tensor:
        height = 2 if self.channels_first else 1
        order = order_of_axes(2, self.channels_first)
        (stride,), (rate,) = self.strides, self.dilation_rate
        image, kernel = tf.expand_dims(inputs, height), tf.expand_dims(self.kernel, 0)
        padding = self.padding.upper()
        each = nn.depthwise_conv2d(image, kernel, (stride, stride), padding, order, (rate, rate))
        return tf.squeeze(each, [height])


class DepthwiseConv1D(_AlongSteps):
    """:class:`DepthwiseConv2D` over sequences ``(batch, steps, channels)``, with its arguments.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.DepthwiseConv1D(3, depth_multiplier=2)(tf.ones([1, 8, 5])).shape)
    (1, 6, 10)
    """


class SeparableConv1D(_AlongSteps, SeparableConv2D):
    """:class:`SeparableConv2D` over sequences ``(batch, steps, channels)``, with its arguments.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.SeparableConv1D(2, 3)(tf.ones([1, 8, 5])).shape)
    (1, 6, 2)
    """
