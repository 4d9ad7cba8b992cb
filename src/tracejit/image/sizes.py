"""Images made larger and smaller, cut, padded, turned and mirrored: ``(height, width, channels)``, or a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays.cutting import gather, pad, reverse
from ..core.errors import ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..frontend.conversion import convert_to_tensor
from ..ops.arrays.shape import sizes_of
from ..random.generators import uniform
from .resampling import weights


def _images(images: Any) -> tuple[Any, int]:
    """A tensor, and the axis of the height; ShapeError for what is no image."""
    x = convert_to_tensor(images)
    if len(x.shape) not in (3, 4):
        raise ShapeError(
            f"an image is (height, width, channels), or (batch, height, width, channels), got {x.spec}"
            f"{at(user_location())}"
        )
    return x, len(x.shape) - 3


def _known(size: Any) -> int:
    if not isinstance(size, (int, np.integer)):
        raise ShapeError(f"images that are resized have known sizes, got {size}{at(user_location())}")
    return int(size)


def _positive(values: Any, what: str) -> tuple[int, ...]:
    given = tuple(int(v) for v in values)
    if min(given) < 1:
        raise ValueError(f"{what} are positive, got {given}{at(user_location())}")
    return given


def _bilinear(x: Any, axis: int, new: int) -> Any:
    old = _known(x.shape[axis])
    place = (np.arange(new, dtype=np.float32) + np.float32(0.5)) * np.float32(old / new) - np.float32(0.5)
    below = np.floor(place)
    low = np.maximum(below, 0).astype(np.int64)
    high = np.minimum(np.ceil(place), old - 1).astype(np.int64)
    shape = [1] * len(x.shape)
    shape[axis] = new
    part = (place - below).reshape(shape).astype(x.dtype)
    first: Any = gather(x, low, axis=axis)
    return first + (gather(x, high, axis=axis) - first) * convert_to_tensor(part)


def _nearest(x: Any, axis: int, new: int) -> Any:
    old = _known(x.shape[axis])
    place = np.floor((np.arange(new, dtype=np.float32) + np.float32(0.5)) * np.float32(old / new))
    return gather(x, np.minimum(place, old - 1).astype(np.int64), axis=axis)


#: Methods that read one or two pixels; the others, and these with antialiasing, are products with matrices.
_GATHERED: dict[str, Callable[[Any, int, int], Any]] = {"bilinear": _bilinear, "nearest": _nearest}
_SMOOTHING = ("gaussian", "mitchellcubic")  # they change images whose size stays
_METHODS = ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic")


def _resampled(x: Any, axis: int, new: int, method: str, antialias: bool) -> Any:
    old = _known(x.shape[axis])
    matrix = convert_to_tensor(weights(method, old, new, antialias).astype(x.dtype))
    if axis == len(x.shape) - 2:
        return ops.matmul(matrix, x)
    *outer, height, width, channels = x.shape
    rows = ops.matmul(matrix, ops.reshape(x, shape=(*outer, height, width * channels)))
    return ops.reshape(rows, shape=(*outer, new, width, channels))


class ResizeMethod:
    """The names of the ways to resize, as constants.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.image.resize(tf.ones([2, 2, 1]), [4, 4], method=tf.image.ResizeMethod.NEAREST_NEIGHBOR).shape)
    (4, 4, 1)
    """

    BILINEAR, NEAREST_NEIGHBOR, BICUBIC, AREA = "bilinear", "nearest", "bicubic", "area"
    LANCZOS3, LANCZOS5, GAUSSIAN, MITCHELLCUBIC = "lanczos3", "lanczos5", "gaussian", "mitchellcubic"


def resize(
    images: Any,
    size: Any,
    method: str = "bilinear",
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images of another size.

    Parameters
    ----------
    images : tensor-like
        ``(height, width, channels)``, or ``(batch, height, width, channels)``.
    size : sequence of two int
        The new height and width.
    method : str
        ``"bilinear"``: between the four pixels around a place; ``"nearest"``: the nearest one; ``"area"``: the mean
        of what a new pixel covers; ``"bicubic"``, ``"lanczos3"``, ``"lanczos5"``, ``"gaussian"``,
        ``"mitchellcubic"``: weighted by that kernel. The corners of images, not the middles of their pixels at the
        corners, stay where they are.
    preserve_aspect_ratio : bool
        Make the image as large as fits into `size`.
    antialias : bool
        Where images become smaller, take as many more pixels into account. No effect on ``"nearest"`` and ``"area"``.
    name : str, optional

    Returns
    -------
    Tensor
        float32, or the dtype of floats; with ``"nearest"`` of the dtype of `images`.

    Raises
    ------
    ShapeError
        For another number of axes, or sizes that are not known.
    ValueError
        For another method, or sizes that are not positive.

    Examples
    --------
    >>> import tracejit as tf
    >>> x = tf.reshape(tf.constant([0.0, 4.0]), (1, 2, 1))
    >>> print(tf.image.resize(x, (1, 4))[0, :, 0])
    tf.Tensor([0. 1. 3. 4.], shape=(4,), dtype=float32)
    """
    x, axis = _images(images)
    if method not in _METHODS:
        raise ValueError(f"method is one of {', '.join(_METHODS)}, got {method!r}{at(user_location())}")
    height, width = _positive(sizes_of(size), "sizes")
    old = _known(x.shape[axis]), _known(x.shape[axis + 1])
    if preserve_aspect_ratio:
        scale = min(height / old[0], width / old[1])
        height, width = max(round(old[0] * scale), 1), max(round(old[1] * scale), 1)
    if method != "nearest" and x.dtype.kind != "f":
        x = ops.cast(x, dtype=np.dtype("float32"))
    for number, new, before in ((axis, height, old[0]), (axis + 1, width, old[1])):
        if method in _GATHERED and not (antialias and method == "bilinear" and new < before):
            x = x if new == before else _GATHERED[method](x, number, new)
        elif new != before or method in _SMOOTHING:
            x = _resampled(x, number, new, method, antialias)
    return x


def resize_with_pad(
    image: Any, target_height: int, target_width: int, method: str = "bilinear", antialias: bool = False
) -> Tensor:
    """Images as large as fit into a size with their proportions kept, and zeros around them.

    Parameters
    ----------
    image : tensor-like
        ``(height, width, channels)``, or ``(batch, height, width, channels)``.
    target_height, target_width : int
    method, antialias
        As for :func:`resize`, with its dtypes and errors, ShapeError and ValueError.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.image.resize_with_pad(tf.ones((2, 4, 1)), 4, 4)[:, 0, 0].numpy().tolist()
    [0.0, 1.0, 1.0, 0.0]
    """
    x, axis = _images(image)
    height, width = _known(x.shape[axis]), _known(x.shape[axis + 1])
    target_height, target_width = _positive((target_height, target_width), "sizes")
    ratio = max(width / target_width, height / target_height)
    new = (max(int(height / ratio), 1), max(int(width / ratio), 1))
    x = resize(x, new, method, antialias=antialias)
    top, left = (target_height - new[0]) // 2, (target_width - new[1]) // 2
    return pad_to_bounding_box(x, top, left, target_height, target_width)


def pad_to_bounding_box(
    image: Any, offset_height: int, offset_width: int, target_height: int, target_width: int
) -> Tensor:
    """Zeros around `image`, which begins at `offset_height` and `offset_width` of one of the size asked for.

    `target_height` and `target_width` are that size; the dtype stays. ValueError where it does not fit, ShapeError for
    what is no image.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.image.pad_to_bounding_box(tf.ones([2, 2, 3]), 1, 1, 4, 4).shape)
    (4, 4, 3)
    """
    x, axis = _images(image)
    below = target_height - offset_height - _known(x.shape[axis])
    right = target_width - offset_width - _known(x.shape[axis + 1])
    if min(offset_height, offset_width, below, right) < 0:
        raise ValueError(
            f"{x.spec} at ({offset_height}, {offset_width}) does not fit into ({target_height}, {target_width})"
            f"{at(user_location())}"
        )
    return pad(x, [[0, 0]] * axis + [[offset_height, below], [offset_width, right], [0, 0]])


def crop_to_bounding_box(
    image: Any, offset_height: int, offset_width: int, target_height: int, target_width: int
) -> Tensor:
    """The part of `image` that begins at `offset_height` and `offset_width`, of the size asked for.

    `target_height` and `target_width` are that size; the dtype stays. ValueError where it reaches out of the image,
    ShapeError for what is no image.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.image.crop_to_bounding_box(tf.ones([4, 4, 3]), 1, 1, 2, 3).shape)
    (2, 3, 3)
    """
    x, axis = _images(image)
    height, width = _known(x.shape[axis]), _known(x.shape[axis + 1])
    inside = offset_height + target_height <= height and offset_width + target_width <= width
    if not inside or min(offset_height, offset_width) < 0 or min(target_height, target_width) < 1:
        raise ValueError(
            f"({target_height}, {target_width}) at ({offset_height}, {offset_width}) is no part of {x.spec}"
            f"{at(user_location())}"
        )
    parts = [(0, size, 1) for size in x.shape]
    parts[axis], parts[axis + 1] = (offset_height, target_height, 1), (offset_width, target_width, 1)
    return ops.slice(x, slices=tuple(parts))


def central_crop(image: Any, central_fraction: float) -> Tensor:
    """The middle of `image`, `central_fraction` of its height and width; the dtype stays.

    ValueError for a fraction outside of (0, 1], ShapeError for what is no image.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.image.central_crop(tf.ones([4, 4, 3]), 0.5).shape)
    (2, 2, 3)
    """
    if not 0.0 < central_fraction <= 1.0:
        raise ValueError(f"central_fraction is in (0, 1], got {central_fraction}{at(user_location())}")
    x, axis = _images(image)
    sizes = [_known(x.shape[axis]), _known(x.shape[axis + 1])]
    starts = [int((size - size * central_fraction) / 2.0) for size in sizes]
    rest = [size - 2 * start for size, start in zip(sizes, starts, strict=True)]
    return crop_to_bounding_box(x, *starts, *rest)


def resize_with_crop_or_pad(image: Any, target_height: int, target_width: int) -> Tensor:
    """The middle of `image` where it is too large, zeros around it where it is too small.

    `target_height` and `target_width` are the size asked for; the dtype stays. ShapeError for what is no image.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.image.resize_with_crop_or_pad(tf.ones([2, 4, 3]), 3, 3).shape)
    (3, 3, 3)
    """
    x, axis = _images(image)
    height, width = _known(x.shape[axis]), _known(x.shape[axis + 1])
    kept = min(height, target_height), min(width, target_width)
    x = crop_to_bounding_box(x, (height - kept[0]) // 2, (width - kept[1]) // 2, *kept)
    top, left = (target_height - kept[0]) // 2, (target_width - kept[1]) // 2
    return pad_to_bounding_box(x, top, left, target_height, target_width)


def flip_left_right(image: Any) -> Tensor:
    """`image` mirrored: its columns in the other order; the dtype stays. ShapeError for what is no image.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.image.flip_left_right([[[1.0], [2.0]]]).numpy().ravel())
    [2. 1.]
    """
    x, axis = _images(image)
    return reverse(x, [axis + 1])


def flip_up_down(image: Any) -> Tensor:
    """`image` upside down: its rows in the other order; the dtype stays. ShapeError for what is no image.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.image.flip_up_down([[[1.0]], [[2.0]]]).numpy().ravel())
    [2. 1.]
    """
    x, axis = _images(image)
    return reverse(x, [axis])


def rot90(image: Any, k: int = 1, name: str | None = None) -> Tensor:
    """`image` turned to the left by `k` quarters; the dtype stays. ShapeError for what is no image.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.image.rot90([[[1.0], [2.0]]]).shape)
    (2, 1, 1)
    """
    x, axis = _images(image)
    k %= 4
    if k == 2:
        return reverse(x, [axis, axis + 1])
    if k == 0:
        return x
    perm = (*range(axis), axis + 1, axis, axis + 2)
    return (
        reverse(ops.transpose(x, perm=perm), [axis])
        if k == 1
        else ops.transpose(reverse(x, [axis]), perm=perm)
    )


def transpose(image: Any, name: str | None = None) -> Tensor:
    """`image` with height and width exchanged; the dtype stays. ShapeError for what is no image.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.image.transpose(tf.ones((2, 3, 1))).shape)
    (3, 2, 1)
    """
    x, rows = _images(image)
    return ops.transpose(x, perm=(*range(rows), rows + 1, rows, rows + 2))


def random_flip_left_right(image: Any, seed: int | None = None) -> Tensor:
    """`image`, or each of a batch, mirrored left to right or not, by chance; shape and dtype stay.

    `seed` is as for :func:`tracejit.random.uniform`. ShapeError for what is no image.

    Examples
    --------
    >>> import tracejit as tf
    >>> image = tf.constant([[[1.0], [2.0]]])
    >>> sorted(tf.image.random_flip_left_right(image, seed=1).numpy().ravel().tolist())
    [1.0, 2.0]
    """
    return _by_chance(image, flip_left_right, seed)


def random_flip_up_down(image: Any, seed: int | None = None) -> Tensor:
    """`image`, or each of a batch, mirrored upside down or not, by chance; shape and dtype stay.

    `seed` is as for :func:`tracejit.random.uniform`. ShapeError for what is no image.

    Examples
    --------
    >>> import tracejit as tf
    >>> image = tf.constant([[[1.0]], [[2.0]]])
    >>> sorted(tf.image.random_flip_up_down(image, seed=1).numpy().ravel().tolist())
    [1.0, 2.0]
    """
    return _by_chance(image, flip_up_down, seed)


def _by_chance(image: Any, flip: Callable[[Any], Any], seed: int | None) -> Tensor:
    x, rows = _images(image)
    chance = uniform((*x.shape[:rows], 1, 1, 1), seed=seed)
    return ops.where(ops.less(chance, 0.5), flip(x), x)
