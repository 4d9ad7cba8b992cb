"""Colours of images: between number formats and colour spaces, and adjusted. The last axis holds the channels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.errors import ShapeError, at, user_location
from ..core.op import ops
from ..core.spec import as_dtype
from ..core.tensor import Tensor
from ..frontend.control.reductions import reduce_max, reduce_mean, reduce_min
from ..frontend.conversion import convert_to_tensor, saturate_cast
from ..ops.arrays.shape import stack


def _rgb(images: Any) -> Any:
    x = convert_to_tensor(images)
    if not x.shape or x.shape[-1] != 3:
        raise ShapeError(f"the last axis holds red, green and blue, got {x.spec}{at(user_location())}")
    return x


def _channels(x: Any) -> tuple[Any, Any, Any]:
    return x[..., 0], x[..., 1], x[..., 2]


def convert_image_dtype(image: Any, dtype: Any, saturate: bool = False, name: str | None = None) -> Tensor:
    """`image` in another `dtype` with its range: floats from 0 to 1, integers from 0 to their largest.

    With `saturate` what is out of the range becomes its end. TypeError for what names no dtype.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.image.convert_image_dtype(tf.constant([0, 255], "uint8"), tf.float32))
    tf.Tensor([0. 1.], shape=(2,), dtype=float32)
    """
    x, to = convert_to_tensor(image), as_dtype(dtype)
    if x.dtype == to:
        return x
    cast: Callable[..., Any] = saturate_cast if saturate else lambda v, dtype: ops.cast(v, dtype=dtype)
    if x.dtype.kind == "f" and to.kind == "f":
        return ops.cast(x, dtype=to)
    if to.kind == "f":
        return ops.cast(x, dtype=to) * (1.0 / float(np.iinfo(x.dtype).max))
    largest = int(np.iinfo(to).max)
    if x.dtype.kind == "f":
        return cast(x * (largest + 0.5), to)
    old = int(np.iinfo(x.dtype).max)
    if old > largest:
        return cast(ops.floordiv(x, (old + 1) // (largest + 1)), to)
    return ops.cast(x, dtype=to) * ((largest + 1) // (old + 1))


def _as_floats(images: Any, adjust: Callable[[Any], Any]) -> Tensor:
    """`adjust` of colours from 0 to 1, in the dtype that they had."""
    x = convert_to_tensor(images)
    if x.dtype.kind == "f":
        return adjust(x)
    return convert_image_dtype(adjust(convert_image_dtype(x, "float32")), x.dtype, saturate=True)


def rgb_to_grayscale(images: Any, name: str | None = None) -> Tensor:
    """How bright `images` are, as one channel: 0.2989 red, 0.587 green, 0.114 blue; the dtype stays.

    ShapeError where the last axis does not hold three channels.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.image.rgb_to_grayscale([[[1.0, 0.0, 0.0]]]).numpy().item())
    0.2989000082015991
    """
    x = _rgb(images)

    def gray(v: Any) -> Any:
        red, green, blue = (
            part * weight for part, weight in zip(_channels(v), (0.2989, 0.587, 0.114), strict=True)
        )
        return ops.reshape(red + green + blue, shape=(*v.shape[:-1], 1))

    return _as_floats(x, gray)


def grayscale_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """The one channel of `images` as red, green and blue alike; the dtype stays. ShapeError for several channels.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.image.grayscale_to_rgb(tf.ones([4, 4, 1])).shape)
    (4, 4, 3)
    """
    x: Any = convert_to_tensor(images)
    if not x.shape or x.shape[-1] != 1:
        raise ShapeError(f"the last axis holds one channel, got {x.spec}{at(user_location())}")
    return ops.concat(x, x, x, axis=len(x.shape) - 1)


def rgb_to_hsv(images: Any, name: str | None = None) -> Tensor:
    """Hue, saturation and value, from 0 to 1, of red, green and blue: floats, whose dtype stays.

    ShapeError where the last axis of `images` does not hold three channels.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.image.rgb_to_hsv([[0.0, 0.5, 0.0]]))
    tf.Tensor([[0.33333334 1.         0.5       ]], shape=(1, 3), dtype=float32)
    """
    x = _rgb(images)
    r, g, b = _channels(x)
    value: Any = reduce_max(x, -1)
    span = value - reduce_min(x, -1)
    saturation = ops.where(value > 0.0, span / ops.where(value > 0.0, value, 1.0), 0.0)
    scale = 1.0 / (6.0 * ops.where(span > 0.0, span, 1.0))
    of_others = ops.where(ops.equal(g, value), scale * (b - r) + 2.0 / 6.0, scale * (r - g) + 4.0 / 6.0)
    hue = ops.where(ops.equal(r, value), scale * (g - b), of_others)
    hue = ops.where(span > 0.0, hue, 0.0)
    hue = ops.where(hue < 0.0, hue + 1.0, hue)
    return stack([hue, saturation, value], axis=-1)


def hsv_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Red, green and blue of hue, saturation and value, all from 0 to 1: floats, whose dtype stays.

    ShapeError where the last axis of `images` does not hold three channels.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.image.hsv_to_rgb([[[0.0, 1.0, 1.0]]]).numpy().ravel())
    [1. 0. 0.]
    """
    hue, saturation, value = _channels(_rgb(images))
    six = hue * 6.0
    shares = (ops.abs(six - 3.0) - 1.0, 2.0 - ops.abs(six - 2.0), 2.0 - ops.abs(six - 4.0))
    parts = [
        (1.0 - saturation + saturation * ops.minimum(ops.maximum(share, 0.0), 1.0)) * value
        for share in shares
    ]
    return stack(parts, axis=-1)


def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Tensor:
    """`image` with all hues turned by `delta`, in [-1, 1], a part of the whole circle; the dtype stays.

    ShapeError where the last axis does not hold three channels.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.image.adjust_hue([[1.0, 0.0, 0.0]], 1 / 3))
    tf.Tensor([[0. 1. 0.]], shape=(1, 3), dtype=float32)
    """

    def adjusted(x: Any) -> Any:
        hue, saturation, value = _channels(rgb_to_hsv(x))
        turned = hue + delta
        parts = (turned - ops.floor(turned), saturation, value)
        return hsv_to_rgb(stack(parts, axis=-1))

    return _as_floats(_rgb(image), adjusted)


def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Tensor:
    """`image` with all saturations times `saturation_factor`, 1 at the most; the dtype stays.

    ShapeError where the last axis does not hold three channels.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.image.adjust_saturation([[[1.0, 0.5, 0.5]]], 0.0))
    tf.Tensor([[[1. 1. 1.]]], shape=(1, 1, 3), dtype=float32)
    """

    def adjusted(x: Any) -> Any:
        hue, saturation, value = _channels(rgb_to_hsv(x))
        parts = (hue, ops.minimum(ops.maximum(saturation * saturation_factor, 0.0), 1.0), value)
        return hsv_to_rgb(stack(parts, axis=-1))

    return _as_floats(_rgb(image), adjusted)


def adjust_brightness(image: Any, delta: Any) -> Tensor:
    """`image` with `delta` added, for which integers count as from 0 to 1; shape and dtype stay.

    TypeError for what is no array.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.image.adjust_brightness([[[0.5]]], 0.25).numpy().item())
    0.75
    """
    return _as_floats(image, lambda x: x + delta)


def per_image_standardization(image: Any) -> Tensor:
    """Each `image`, ``(..., height, width, channels)``, with mean 0 and variance 1; float32, or the dtype of floats.

    Divided by no less than one over the root of the number of its elements. ShapeError below three axes.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.image.per_image_standardization([[[1.0], [3.0]]]).numpy().ravel())
    [-1.  1.]
    """
    x: Any = convert_to_tensor(image)
    if x.dtype.kind != "f":
        x = ops.cast(x, dtype=np.dtype("float32"))
    if len(x.shape) < 3:
        raise ShapeError(f"images are (height, width, channels), got {x.spec}{at(user_location())}")
    axes, count = (-3, -2, -1), x.shape[-1] * x.shape[-2] * x.shape[-3]
    centred = x - reduce_mean(x, axes, keepdims=True)
    deviation = ops.sqrt(reduce_mean(centred * centred, axes, keepdims=True))
    return centred / ops.maximum(deviation, 1.0 / float(count) ** 0.5)


def adjust_gamma(image: Any, gamma: float = 1, gain: float = 1) -> Tensor:
    """`image` to the power `gamma`, times `gain`; colours from 0 to 1; shape and dtype stay.

    ValueError for a negative power.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.image.adjust_gamma([[[0.5, 1.0]]], gamma=2.0))
    tf.Tensor([[[0.25 1.  ]]], shape=(1, 1, 2), dtype=float32)
    """
    if gamma < 0:
        raise ValueError(f"gamma is not negative, got {gamma}{at(user_location())}")
    return _as_floats(image, lambda x: ops.pow(x, gamma) * gain)


_YIQ = np.array(
    [[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617], [0.114, -0.32134392, 0.31119955]]
)
_YUV = np.array(
    [[0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512], [0.114, 0.43601035, -0.10001026]]
)


def _by_matrix(images: Any, matrix: np.ndarray) -> Tensor:
    x = _rgb(images)
    return ops.matmul(ops.reshape(x, shape=(-1, 3)), matrix.astype(x.dtype)).reshape(tuple(x.shape))


def rgb_to_yiq(images: Any) -> Tensor:
    """Brightness and two differences, as American television has them, of red, green and blue; floats.

    ShapeError where the last axis of `images` does not hold three channels.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.image.rgb_to_yiq([1.0, 0.0, 0.0]))
    tf.Tensor([0.299     0.5959006 0.2115   ], shape=(3,), dtype=float32)
    """
    return _by_matrix(images, _YIQ)


def yiq_to_rgb(images: Any) -> Tensor:
    """The inverse of :func:`rgb_to_yiq`, of `images` of its shape and dtype; ShapeError as there.

    Examples
    --------
    >>> import tracejit as tf
    >>> colours = tf.constant([[0.25, 0.5, 0.75]])
    >>> bool(tf.reduce_all(tf.abs(tf.image.yiq_to_rgb(tf.image.rgb_to_yiq(colours)) - colours) < 1e-6))
    True
    """
    return _by_matrix(images, np.linalg.inv(_YIQ))


def rgb_to_yuv(images: Any) -> Tensor:
    """Brightness and two differences, as European television has them, of red, green and blue; floats.

    ShapeError where the last axis of `images` does not hold three channels.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.image.rgb_to_yuv([1.0, 0.0, 0.0]))
    tf.Tensor([ 0.299      -0.14714119  0.6149754 ], shape=(3,), dtype=float32)
    """
    return _by_matrix(images, _YUV)


def yuv_to_rgb(images: Any) -> Tensor:
    """The inverse of :func:`rgb_to_yuv`, of `images` of its shape and dtype; ShapeError as there.

    Examples
    --------
    >>> import tracejit as tf
    >>> colours = tf.constant([[0.25, 0.5, 0.75]])
    >>> bool(tf.reduce_all(tf.abs(tf.image.yuv_to_rgb(tf.image.rgb_to_yuv(colours)) - colours) < 1e-6))
    True
    """
    return _by_matrix(images, np.linalg.inv(_YUV))
