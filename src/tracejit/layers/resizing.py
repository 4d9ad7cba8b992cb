"""Layers without weights that pad, crop, upsample or permute sequences and images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tracejit as tf

from ..errors import at_user_line
from .convolutional import channels_first, sizes_of_windows
from .layer import Layer


def _pairs(value: Any, rank: int, what: str) -> tuple[tuple[int, int], ...]:
    """For each axis how much before and after: one number for all, one each, or pairs; for one axis a pair."""
    if isinstance(value, int):
        return ((value, value),) * rank
    given = [tuple(value)] if rank == 1 and not isinstance(value[0], (tuple, list)) else list(value)
    pairs = tuple((v, v) if isinstance(v, int) else (int(v[0]), int(v[1])) for v in given)
    if len(pairs) != rank or min(min(pair) for pair in pairs) < 0:
        raise ValueError(
            f"{what} is a number, or one or two for each of {rank} axes, got {value!r}{at_user_line()}"
        )
    return pairs


class _Edges(Layer):
    """What is added before and after, or taken away, for each of `rank` axes.

    Parameters
    ----------
    amount : int, pair of int or nest of them
        ``padding`` or ``cropping`` of the layer.
    data_format : {"channels_last", "channels_first"}, optional
    """

    _fixed = frozenset({"amount", "what"})
    rank: int
    amount: tuple[tuple[int, int], ...]
    channels_first: bool

    def __init__(self, amount: Any, what: str, data_format: str | None, options: dict[str, Any]):
        super().__init__(**options)
        self.amount, self.channels_first = _pairs(amount, self.rank, what), channels_first(data_format)

    def _all_axes(self) -> list[tuple[int, int]]:
        none = (0, 0)
        return [none, none, *self.amount] if self.channels_first else [none, *self.amount, none]


class _ZeroPadding(_Edges):
    def __init__(self, padding: Any = 1, data_format: str | None = None, **options: Any):
        super().__init__(padding, "padding", data_format, options)

    def call(self, inputs: Any) -> tf.Tensor:
        """The inputs with zeros around them."""
        return tf.pad(inputs, [list(pair) for pair in self._all_axes()])


class ZeroPadding1D(_ZeroPadding):
    """Zeros before and after the steps: `padding` of them, or a pair of numbers.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.ZeroPadding1D(1)(tf.ones([1, 4, 3])).shape)
    (1, 6, 3)
    """

    rank = 1


class ZeroPadding2D(_ZeroPadding):
    """Zeros around images: `padding` of them, or a number or a pair for height and for width.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.layers.ZeroPadding2D(((1, 0), 2))(tf.zeros((1, 3, 3, 1))).shape
    TensorShape([1, 4, 7, 1])
    """

    rank = 2


class ZeroPadding3D(_ZeroPadding):
    """Zeros around volumes: `padding` of them, or a number or a pair for each of three axes.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.ZeroPadding3D((1, 2, (0, 3)))(tf.zeros((1, 3, 3, 3, 1))).shape)
    (1, 5, 7, 6, 1)
    """

    rank = 3


class _Cropping(_Edges):
    def __init__(self, cropping: Any = 1, data_format: str | None = None, **options: Any):
        super().__init__(cropping, "cropping", data_format, options)

    def call(self, inputs: Any) -> tf.Tensor:
        """The inputs without their edges."""
        return inputs[tuple([slice(before, -after or None) for before, after in self._all_axes()])]


class Cropping1D(_Cropping):
    """The steps without the first and last: `cropping` of them, or a pair of numbers.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.Cropping1D(1)(tf.ones([1, 4, 3])).shape)
    (1, 2, 3)
    """

    rank = 1


class Cropping2D(_Cropping):
    """Images without their edges: `cropping` is a number, or a number or a pair for height and for width.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.Cropping2D(1)(tf.ones([1, 4, 4, 3])).shape)
    (1, 2, 2, 3)
    """

    rank = 2


class Cropping3D(_Cropping):
    """Volumes without their edges: `cropping` is a number, or a number or a pair for each of three axes.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.Cropping3D((1, 0, (1, 2)))(tf.ones([1, 4, 4, 4, 3])).shape)
    (1, 2, 4, 1, 3)
    """

    rank = 3


class _UpSampling(Layer):
    """Each place so many times.

    Parameters
    ----------
    size : int or tuple of int
    data_format : {"channels_last", "channels_first"}, optional
    """

    rank: int
    channels_first: bool
    size: tuple[int, ...]

    def __init__(self, size: Any = 2, data_format: str | None = None, **options: Any):
        super().__init__(**options)
        self.size, self.channels_first = (
            sizes_of_windows(size, self.rank, "size"),
            channels_first(data_format),
        )

    def call(self, inputs: Any) -> tf.Tensor:
        """The inputs with each place repeated."""
        for axis, times in enumerate(self.size, 2 if self.channels_first else 1):
            inputs = tf.repeat(inputs, times, axis=axis)
        return inputs


class UpSampling1D(_UpSampling):
    """Each step `size` times.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.UpSampling1D(2)(tf.ones([1, 4, 3])).shape)
    (1, 8, 3)
    """

    rank = 1


class UpSampling2D(_UpSampling):
    """Each place of an image `size` times in height and width.

    Parameters
    ----------
    size : int or tuple of int
    data_format : {"channels_last", "channels_first"}, optional
    interpolation : str
        ``"nearest"`` repeats places; other methods of :func:`tracejit.image.resize` go from one to the next.
    **options
        As for :class:`Layer`.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.layers.UpSampling2D(3)(tf.zeros((1, 2, 2, 5))).shape
    TensorShape([1, 6, 6, 5])
    """

    rank = 2

    def __init__(
        self,
        size: Any = 2,
        data_format: str | None = None,
        interpolation: str = "nearest",
        **options: Any,
    ):
        super().__init__(size, data_format, **options)
        self.interpolation = interpolation

    def call(self, inputs: Any) -> tf.Tensor:
        """The images with each place repeated, or what lies between."""
        if self.interpolation == "nearest":
            return super().call(inputs)
        last = (0, 2, 3, 1) if self.channels_first else (0, 1, 2, 3)
        images: Any = tf.transpose(inputs, perm=last)
        height, width = (n * times for n, times in zip(images.shape[1:3], self.size, strict=True))
        larger = tf.image.resize(images, (height, width), self.interpolation)
        return tf.transpose(larger, perm=(0, 3, 1, 2)) if self.channels_first else larger


class Permute(Layer):
    """The axes of each example in another order, `dims`, which counts them from 1.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.Permute((2, 1))(tf.ones([1, 4, 3])).shape)
    (1, 3, 4)
    """

    def __init__(self, dims: Sequence[int], **options: Any):
        super().__init__(**options)
        if sorted(dims) != list(range(1, len(dims) + 1)):
            raise ValueError(
                f"dims holds the numbers from 1 to {len(dims)}, got {tuple(dims)}{at_user_line()}"
            )
        self.dims: tuple[int, ...] = tuple(dims)

    def call(self, inputs: Any) -> tf.Tensor:
        """The examples with their axes in the order asked for."""
        return tf.transpose(inputs, perm=(0, *self.dims))


class RepeatVector(Layer):
    """Each example, a vector, `n` times: ``(batch, features)`` in, ``(batch, n, features)`` out.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.RepeatVector(2)(tf.ones([1, 3])).shape)
    (1, 2, 3)
    """

    def __init__(self, n: int, **options: Any):
        super().__init__(**options)
        self.n: int = int(n)

    def call(self, inputs: Any) -> tf.Tensor:
        """The examples, repeated."""
        return tf.repeat(tf.expand_dims(inputs, 1), self.n, axis=1)
