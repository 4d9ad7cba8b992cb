"""What is measured on images: differences of neighbours, and how far two images are from each other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays.cutting import pad
from ..core.errors import ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..frontend.control.reductions import reduce_mean, reduce_sum
from ..frontend.conversion import convert_to_tensor
from ..nn.convolutions import depthwise_conv2d
from .colors import convert_image_dtype


def image_gradients(image: Any) -> tuple[Tensor, Tensor]:
    """The differences of each place of `image` and the next one below, and the next one to the right; 0 at the ends.

    `image` is ``(batch, height, width, channels)``; dtype and shape stay. ShapeError for other ranks.

    Examples
    --------
    >>> import tracejit as tf
    >>> below, right = tf.image.image_gradients(tf.reshape([1.0, 2.0, 4.0, 8.0], (1, 2, 2, 1)))
    >>> print(below[0, ..., 0].numpy().tolist(), right[0, ..., 0].numpy().tolist())
    [[3.0, 6.0], [0.0, 0.0]] [[1.0, 0.0], [4.0, 0.0]]
    """
    x = _batch(image)
    below, right = x[:, 1:] - x[:, :-1], x[:, :, 1:] - x[:, :, :-1]
    none = [0, 0]
    return pad(below, [none, [0, 1], none, none]), pad(right, [none, none, [0, 1], none])


def sobel_edges(image: Any) -> Tensor:
    """Sobel's derivatives along the height and the width, as a new last axis of two; floats, whose dtype stays.

    `image` is ``(batch, height, width, channels)``, continued by its mirror image. ShapeError for other ranks.

    Examples
    --------
    >>> import tracejit as tf
    >>> edges = tf.image.sobel_edges(tf.reshape(tf.range(9.0), (1, 3, 3, 1)))
    >>> print(edges.shape, edges[0, 1, 1, 0])
    (1, 3, 3, 1, 2) tf.Tensor([24.  8.], shape=(2,), dtype=float32)
    """
    x = _batch(image)
    down = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]], x.dtype)
    filters = np.stack([down, down.T], axis=-1)[:, :, None, :] * np.ones((1, 1, x.shape[-1], 1), x.dtype)
    padded = pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    edges = depthwise_conv2d(padded, filters, [1, 1, 1, 1], "VALID")
    return ops.reshape(edges, shape=(*x.shape, 2))


def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Tensor:
    """The ratio of peak to noise between the images `a` and `b`, in decibels; float32, one number per image.

    Both are ``(..., height, width, channels)``, and `max_val` is how far colours go. ShapeError where they differ.

    Examples
    --------
    >>> import tracejit as tf
    >>> round(float(tf.image.psnr(tf.ones((2, 2, 1)), tf.fill((2, 2, 1), 0.9), 1.0)), 3)
    20.0
    """
    x, y, most = _pair(a, b, max_val)
    error: Any = reduce_mean(ops.square(x - y), [-3, -2, -1])
    return 20.0 / math.log(10.0) * ops.log(most) - 10.0 / math.log(10.0) * ops.log(error)


def ssim(
    img1: Any,
    img2: Any,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """How alike the images `img1` and `img2` are in structure, at the most 1; float32, one number per image.

    Both are ``(batch, height, width, channels)``, and `max_val` is how far colours go. Means and variances are those of
    a window of `filter_size`, weighted by a normal distribution of `filter_sigma`; `k1` and `k2` keep divisors from 0.
    Wang, Bovik, Sheikh, Simoncelli, 2004. ShapeError where images differ, or are smaller than the window.

    Examples
    --------
    >>> import tracejit as tf
    >>> a = tf.ones((1, 11, 11, 1))
    >>> print(tf.image.ssim(a, a, max_val=1.0))
    tf.Tensor([1.], shape=(1,), dtype=float32)
    """
    x, y, most = _pair(img1, img2, max_val)
    _batch(x)
    if min(x.shape[1:3]) < filter_size:
        raise ShapeError(f"{x.spec} is smaller than a window of {filter_size}{at(user_location())}")
    weights = np.exp(-0.5 * ((np.arange(filter_size) - (filter_size - 1) / 2) / filter_sigma) ** 2)
    window = np.multiply.outer(weights, weights) / weights.sum() ** 2
    filters = (window[:, :, None, None] * np.ones((1, 1, x.shape[-1], 1))).astype(np.float32)

    def mean(v: Any) -> Any:
        return depthwise_conv2d(v, filters, [1, 1, 1, 1], "VALID")

    of_means, of_variances = ops.square(k1 * most), ops.square(k2 * most)
    means = mean(x) * mean(y)
    squares = ops.square(mean(x)) + ops.square(mean(y))
    brightness = (2.0 * means + of_means) / (squares + of_means)
    structure = (2.0 * (mean(x * y) - means) + of_variances) / (
        mean(ops.square(x) + ops.square(y)) - squares + of_variances
    )
    return reduce_mean(reduce_mean(brightness * structure, [1, 2]), [-1])


def extract_patches(
    images: Any, sizes: Any, strides: Any, rates: Any, padding: str, name: str | None = None
) -> Tensor:
    """What each window of `images` sees, row by row, as channels; ``(batch, rows, columns, places * channels)``.

    Parameters
    ----------
    images : tensor-like, ``(batch, height, width, channels)``
    sizes, strides, rates : sequence of four int
        Of a window, from one to the next, and between the places it sees; the first and the last are 1.
    padding : str
        ``"VALID"`` or ``"SAME"``, as for :func:`tracejit.nn.convolution`.

    Raises
    ------
    ShapeError
        For other ranks.

    Examples
    --------
    >>> import tracejit as tf
    >>> x = tf.reshape(tf.range(4.0), (1, 2, 2, 1))
    >>> print(tf.image.extract_patches(x, [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID")[0, 0, 0])
    tf.Tensor([0. 1. 2. 3.], shape=(4,), dtype=float32)
    """
    x = _batch(images)
    height, width, depth = int(sizes[1]), int(sizes[2]), x.shape[-1]
    places = height * width
    one_hot = np.zeros((height, width, 1, places), x.dtype)
    one_hot[np.arange(places) // width, np.arange(places) % width, 0, np.arange(places)] = 1
    filters = one_hot * np.ones((1, 1, depth, 1), x.dtype)
    y = depthwise_conv2d(x, filters, list(strides), padding, dilations=list(rates)[1:3])
    y = ops.reshape(y, shape=(*y.shape[:-1], depth, places))
    y = ops.transpose(y, perm=(0, 1, 2, 4, 3))
    return ops.reshape(y, shape=(*y.shape[:3], places * depth))


def total_variation(images: Any, name: str | None = None) -> Tensor:
    """The sum of the sizes of all differences of neighbours in `images`, one number per image; the dtype stays.

    They are ``(height, width, channels)`` or a batch of that; ShapeError for other ranks.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.image.total_variation([[[1.0], [2.0]], [[4.0], [8.0]]]))
    tf.Tensor(14.0, shape=(), dtype=float32)
    """
    x: Any = convert_to_tensor(images)
    if len(x.shape) not in (3, 4):
        raise ShapeError(f"takes an image or a batch of images, got {x.spec}{at(user_location())}")
    down = ops.abs(x[..., 1:, :, :] - x[..., :-1, :, :])
    right = ops.abs(x[..., 1:, :] - x[..., :-1, :])
    return reduce_sum(down, [-3, -2, -1]) + reduce_sum(right, [-3, -2, -1])


def _batch(images: Any) -> Any:
    x = convert_to_tensor(images)
    if len(x.shape) != 4:
        raise ShapeError(f"takes a batch of images, got {x.spec}{at(user_location())}")
    return x


def _pair(a: Any, b: Any, most: Any) -> tuple[Any, Any, Any]:
    """Two images and the range of their colours, as floats."""
    x, y = convert_to_tensor(a), convert_to_tensor(b)
    if x.shape != y.shape or len(x.shape) < 3:
        raise ShapeError(f"takes two images of one shape, got {x.spec} and {y.spec}{at(user_location())}")
    to = np.dtype(np.float32)
    limit = convert_image_dtype(ops.cast(convert_to_tensor(most), dtype=x.dtype), to)
    return convert_image_dtype(x, to), convert_image_dtype(y, to), limit
