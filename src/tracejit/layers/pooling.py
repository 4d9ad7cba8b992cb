"""Pooling layers: means and maxima over windows or over all steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tracejit as tf

from .. import nn
from .convolutional import channels_first, order_of_axes, sizes_of_windows
from .layer import Layer


class _Pooling(Layer):
    """The largest element or the mean of each window.

    Parameters
    ----------
    pool_size, strides : int or tuple of int
        Of a window, and from one to the next; by default windows do not overlap.
    padding : {"valid", "same"}
    data_format : {"channels_last", "channels_first"}, optional
    """

    rank: int
    pool: Callable[..., Any]
    channels_first: bool
    padding: str

    def __init__(
        self,
        pool_size: Any = 2,
        strides: Any = None,
        padding: str = "valid",
        data_format: str | None = None,
        **options: Any,
    ):
        super().__init__(**options)
        self.pool_size: tuple[int, ...] = sizes_of_windows(pool_size, self.rank, "pool_size")
        self.strides: tuple[int, ...] = sizes_of_windows(
            self.pool_size if strides is None else strides, self.rank, "strides"
        )
        self.padding, self.channels_first = padding, channels_first(data_format)

    def call(self, inputs: Any) -> tf.Tensor:
        """One place for each window."""
        order = order_of_axes(self.rank, self.channels_first)
        return type(self).pool(inputs, self.pool_size, self.strides, self.padding.upper(), order)


class MaxPooling1D(_Pooling):
    """The largest element of each window of steps; its arguments are those of :class:`MaxPooling2D`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.MaxPooling1D(2)(tf.ones([1, 4, 3])).shape)
    (1, 2, 3)
    """

    rank, pool = 1, staticmethod(nn.max_pool1d)


class AveragePooling1D(_Pooling):
    """The mean of each window of steps; its arguments are those of :class:`MaxPooling2D`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.AvgPool1D(2)(tf.ones([1, 4, 3])).shape)
    (1, 2, 3)
    """

    rank, pool = 1, staticmethod(nn.avg_pool1d)


class MaxPooling2D(_Pooling):
    """The largest element of each window of an image, channel by channel.

    Parameters
    ----------
    pool_size, strides : int or tuple of int
        Of a window, and from one to the next; by default windows do not overlap.
    padding : {"valid", "same"}
        With ``"same"`` there are ``ceil(size / stride)`` windows.
    data_format : {"channels_last", "channels_first"}, optional
    **options
        As for :class:`Layer`.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.layers.MaxPooling2D(pool_size=2)(tf.zeros((1, 6, 7, 3))).shape
    TensorShape([1, 3, 3, 3])
    """

    rank, pool = 2, staticmethod(nn.max_pool2d)


class AveragePooling2D(_Pooling):
    """The mean of each window of an image, of places that were not added; arguments as for :class:`MaxPooling2D`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.AvgPool2D(2)(tf.ones([1, 4, 4, 3])).shape)
    (1, 2, 2, 3)
    """

    rank, pool = 2, staticmethod(nn.avg_pool2d)


class _GlobalPooling(Layer):
    """All places of an example as one.

    Parameters
    ----------
    data_format : {"channels_last", "channels_first"}, optional
    keepdims : bool
        The axes stay, of size 1.
    """

    reduce: Callable[..., Any]
    channels_first: bool
    keepdims: bool

    def __init__(self, data_format: str | None = None, keepdims: bool = False, **options: Any):
        super().__init__(**options)
        self.channels_first, self.keepdims = channels_first(data_format), keepdims

    def call(self, inputs: Any) -> tf.Tensor:
        """One number for each channel."""
        rank = len(inputs.shape)
        axes = list(range(2, rank)) if self.channels_first else list(range(1, rank - 1))
        return type(self).reduce(inputs, axes, self.keepdims)


class GlobalAveragePooling1D(_GlobalPooling):
    """The mean over the steps, axis 1, of each example; with `keepdims` that axis stays, of size 1.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.layers.GlobalAveragePooling1D()(tf.ones((2, 5, 3))).shape
    TensorShape([2, 3])
    """

    reduce = staticmethod(tf.reduce_mean)

    def __init__(self, data_format: str | None = None, keepdims: bool = False, **options: Any):
        super().__init__(data_format, keepdims, **options)
        self.supports_masking = True

    def compute_mask(self, inputs: Any, mask: Any = None) -> None:
        """None: no steps are left."""

    def call(self, inputs: Any, mask: Any = None) -> tf.Tensor:
        """The mean of the steps that count, all but where `mask`, ``(batch, steps)``, says; NaN where none does."""
        if mask is None:
            return super().call(inputs)
        counts: Any = tf.cast(tf.convert_to_tensor(mask), dtype="bool")
        share = tf.cast(tf.reduce_mean(tf.cast(counts, dtype=float), 1, True), dtype=inputs.dtype)
        mean: Any = super().call(
            tf.where(tf.expand_dims(counts, 1 if self.channels_first else 2), inputs, 0.0)
        )
        return mean / (tf.expand_dims(share, -1) if self.keepdims else share)


class GlobalMaxPooling1D(_GlobalPooling):
    """The largest over the steps, axis 1, of each example; with `keepdims` that axis stays, of size 1.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.GlobalMaxPooling1D()(tf.ones([2, 4, 3])).shape)
    (2, 3)
    """

    reduce = staticmethod(tf.reduce_max)


class GlobalAveragePooling2D(_GlobalPooling):
    """The mean over each image, channel by channel; with `keepdims` its axes stay, of size 1.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.layers.GlobalAveragePooling2D()(tf.ones((2, 5, 5, 3))).shape
    TensorShape([2, 3])
    """

    reduce = staticmethod(tf.reduce_mean)


class GlobalMaxPooling2D(_GlobalPooling):
    """The largest over each image, channel by channel; with `keepdims` its axes stay, of size 1.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.GlobalMaxPooling2D()(tf.ones([2, 4, 4, 3])).shape)
    (2, 3)
    """

    reduce = staticmethod(tf.reduce_max)


class GlobalAveragePooling3D(_GlobalPooling):
    """The mean over each volume, channel by channel; with `keepdims` its axes stay, of size 1.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.layers.GlobalAveragePooling3D()(tf.ones((2, 4, 5, 5, 3))).shape
    TensorShape([2, 3])
    """

    reduce = staticmethod(tf.reduce_mean)


class GlobalMaxPooling3D(_GlobalPooling):
    """The largest over each volume, channel by channel; with `keepdims` its axes stay, of size 1.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.layers.GlobalMaxPooling3D()(tf.ones((2, 4, 5, 5, 3))).shape
    TensorShape([2, 3])
    """

    reduce = staticmethod(tf.reduce_max)
