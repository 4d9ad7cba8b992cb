"""Layers of images: of one size, and changed by chance while training.

What changes by chance changes where nobody says ``training``, too, as in Keras; ``predict`` and ``evaluate`` say it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tracejit as tf

from ... import image
from ...errors import at_user_line
from ...image.affine import FILL_MODES, INTERPOLATIONS, seen_through
from ..layer import Layer, is_training


class Resizing(Layer):
    """Images of another size.

    Parameters
    ----------
    height, width : int
        The new size.
    interpolation : str
        A method of :func:`tracejit.image.resize`.
    crop_to_aspect_ratio : bool
        Cut off what keeps the middle of the image from filling the new size; otherwise it is distorted.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.layers.Resizing(2, 3)(tf.ones((1, 4, 4, 3))).shape
    TensorShape([1, 2, 3, 3])
    """

    _casts_inputs = False

    def __init__(
        self,
        height: int,
        width: int,
        interpolation: str = "bilinear",
        crop_to_aspect_ratio: bool = False,
        **options: Any,
    ):
        super().__init__(**options)
        self.height, self.width, self.interpolation = height, width, interpolation
        self.crop_to_aspect_ratio = crop_to_aspect_ratio

    def call(self, inputs: Any) -> tf.Tensor:
        """The images, floats, or whole numbers rounded to the dtype that they had."""
        x: Any = inputs
        if self.crop_to_aspect_ratio:
            x = _cropped(x, *_within(x.shape[-3], x.shape[-2], self.height, self.width))
        resized: Any = image.resize(x, (self.height, self.width), self.interpolation)
        if x.dtype.kind in "iu" and resized.dtype != x.dtype:
            return tf.saturate_cast(tf.round(resized), x.dtype)
        return resized if resized.dtype == x.dtype else tf.cast(resized, dtype=x.dtype)


class CenterCrop(Layer):
    """The middle of images; smaller ones are resized so that one side fits, and the other is cut.

    `height` and `width` are the new size.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.CenterCrop(1, 2)(tf.reshape(tf.range(12.0), (1, 3, 4, 1)))[0, :, :, 0])
    tf.Tensor([[5. 6.]], shape=(1, 2), dtype=float32)
    """

    def __init__(self, height: int, width: int, **options: Any):
        super().__init__(**options)
        self.height, self.width = height, width

    def call(self, inputs: Any) -> tf.Tensor:
        """The middle of each image, as floats."""
        x: Any = tf.cast(inputs, dtype=self.compute_dtype)
        if x.shape[-3] >= self.height and x.shape[-2] >= self.width:
            return _cropped(x, self.height, self.width)
        x = _cropped(x, *_within(x.shape[-3], x.shape[-2], self.height, self.width))
        return image.resize(x, (self.height, self.width))


def _within(height: int, width: int, target_height: int, target_width: int) -> tuple[int, int]:
    """The largest size of the proportions of the target within a size."""
    return (
        max(min(height, int(width * target_height / target_width)), 1),
        max(min(width, int(height * target_width / target_height)), 1),
    )


def _cropped(x: Any, height: int, width: int) -> Any:
    top, left = int((x.shape[-3] - height) / 2), int((x.shape[-2] - width) / 2)
    return image.crop_to_bounding_box(x, top, left, height, width)


class _ByChance(Layer):
    """Images changed by chance while training, each in its own way."""

    def __init__(self, seed: int | None = None, **options: Any):
        super().__init__(**options)
        self.seed = seed

    def call(self, inputs: Any, training: Any = True) -> tf.Tensor:
        """The images, changed unless `training` is False; floats."""
        x: Any = tf.cast(inputs, dtype=self.compute_dtype)
        if not is_training(training):
            return x
        if len(x.shape) not in (3, 4):
            raise tf.ShapeError(
                f"{self.name} takes images, of 3 axes or in a batch of 4, got {x.spec}{at_user_line()}"
            )
        return self._changed(x) if len(x.shape) == 4 else tf.squeeze(self._changed(tf.expand_dims(x, 0)), 0)

    def _changed(self, x: Any) -> tf.Tensor:
        raise NotImplementedError

    def _drawn(self, x: Any, bounds: tuple[float, float]) -> Any:
        """One number within `bounds` for each image."""
        return tf.random.uniform((x.shape[0],), *bounds, seed=self.seed)


class RandomFlip(_ByChance):
    """While training, images mirrored or not, by chance.

    `mode` is ``"horizontal"``, ``"vertical"`` or ``"horizontal_and_vertical"``; `seed` is as for :class:`Dropout`.

    Examples
    --------
    >>> import tracejit as tf
    >>> x = tf.reshape([1.0, 2.0], (1, 1, 2, 1))
    >>> sorted(tf.layers.RandomFlip("horizontal")(x).numpy().ravel().tolist())
    [1.0, 2.0]
    >>> tf.layers.RandomFlip()(x, training=False).numpy().ravel().tolist()
    [1.0, 2.0]
    """

    def __init__(self, mode: str = "horizontal_and_vertical", seed: int | None = None, **options: Any):
        super().__init__(seed, **options)
        if mode not in ("horizontal", "vertical", "horizontal_and_vertical"):
            raise ValueError(
                f"mode is 'horizontal', 'vertical' or 'horizontal_and_vertical', got {mode!r}{at_user_line()}"
            )
        self.mode = mode

    def _changed(self, x: Any) -> tf.Tensor:
        for mode, flip in (("horizontal", image.flip_left_right), ("vertical", image.flip_up_down)):
            if mode in self.mode:
                chosen = tf.reshape(self._drawn(x, (0.0, 1.0)) <= 0.5, (-1, 1, 1, 1))
                x = tf.where(chosen, flip(x), x)
        return x


class RandomContrast(_ByChance):
    """While training, the distance of pixels to the mean of their image and channel times a factor, by chance.

    `factor` is how far it is from 1 at the most, or a pair, below and above; results are kept within `value_range`.
    `seed` is as for :class:`Dropout`.

    Examples
    --------
    >>> import tracejit as tf
    >>> x = tf.random.uniform((2, 8, 8, 3), maxval=255.0)
    >>> bool(tf.reduce_all(tf.abs(tf.layers.RandomContrast(0.0)(x) - x) < 1e-3))
    True
    """

    def __init__(self, factor: Any, value_range: Any = (0, 255), seed: int | None = None, **options: Any):
        super().__init__(seed, **options)
        self.factor, self.value_range = factor, value_range

    def _changed(self, x: Any) -> tf.Tensor:
        below, above = (self.factor, self.factor) if np.ndim(self.factor) == 0 else self.factor
        chosen = tf.reshape(self._drawn(x, (1.0 - below, 1.0 + above)), (-1, 1, 1, 1))
        mean = tf.reduce_mean(x, (1, 2), keepdims=True)
        return tf.clip_by_value((x - mean) * tf.cast(chosen, x.dtype) + mean, *self.value_range)


class RandomBrightness(_ByChance):
    """While training, a part of the `value_range` added to all of an image, by chance; results are kept within it.

    `factor` is how large a part at the most, or a pair of bounds. `seed` is as for :class:`Dropout`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.RandomBrightness((0.5, 0.5), value_range=(0, 1))(tf.zeros((1, 1, 1, 1))).numpy().item())
    0.5
    """

    def __init__(self, factor: Any, value_range: Any = (0, 255), seed: int | None = None, **options: Any):
        super().__init__(seed, **options)
        self.factor, self.value_range = factor, value_range

    def _changed(self, x: Any) -> tf.Tensor:
        low, high = self.value_range
        added = tf.reshape(self._drawn(x, _bounds(self.factor)), (-1, 1, 1, 1)) * (high - low)
        return tf.clip_by_value(x + tf.cast(added, x.dtype), low, high)


class _Moved(_ByChance):
    """Images seen through maps drawn by chance."""

    fill_mode: str
    interpolation: str
    fill_value: float

    def _take(self, fill_mode: str, interpolation: str, fill_value: float) -> None:
        for what, given, known in (
            ("fill_mode", fill_mode, FILL_MODES),
            ("interpolation", interpolation, INTERPOLATIONS),
        ):
            if given not in known:
                raise ValueError(f"{what} is one of {known}, got {given!r}{at_user_line()}")
        self.fill_mode, self.interpolation, self.fill_value = fill_mode, interpolation, fill_value

    def _seen(self, x: Any, maps: Any) -> tf.Tensor:
        return seen_through(x, maps, self.interpolation, self.fill_mode, self.fill_value)


class RandomRotation(_Moved):
    """While training, images turned about their middle, by chance.

    Parameters
    ----------
    factor : float or pair of float
        At the most so many turns either way, or the bounds; positive is against the clock.
    fill_mode : {"reflect", "wrap", "constant", "nearest"}
        What is seen beyond the edges.
    interpolation : {"bilinear", "nearest"}
        How values between pixels are found.
    seed : int, optional
        As for :class:`Dropout`.
    fill_value : float
        With ``fill_mode="constant"``.

    Examples
    --------
    >>> import tracejit as tf
    >>> x = tf.reshape([1.0, 2.0, 3.0, 4.0], (1, 2, 2, 1))
    >>> tf.round(tf.layers.RandomRotation((0.25, 0.25))(x)).numpy().ravel().tolist()
    [2.0, 4.0, 1.0, 3.0]
    """

    def __init__(
        self,
        factor: Any,
        fill_mode: str = "reflect",
        interpolation: str = "bilinear",
        seed: int | None = None,
        fill_value: float = 0.0,
        **options: Any,
    ):
        super().__init__(seed, **options)
        self.factor = factor
        self._take(fill_mode, interpolation, fill_value)

    def _changed(self, x: Any) -> tf.Tensor:
        angle = self._drawn(x, _bounds(self.factor)) * (2.0 * math.pi)
        cos, sin = tf.cos(angle), tf.sin(angle)
        down, across = (x.shape[1] - 1) / 2, (x.shape[2] - 1) / 2
        first = across - across * cos + down * sin
        return self._seen(x, (cos, -sin, first, sin, cos, down - across * sin - down * cos))


class RandomTranslation(_Moved):
    """While training, images moved by chance.

    `height_factor` and `width_factor` are how much of the height and of the width at the most, or pairs of bounds;
    positive is down and to the right. The other arguments are those of :class:`RandomRotation`.

    Examples
    --------
    >>> import tracejit as tf
    >>> x = tf.reshape([1.0, 2.0, 3.0, 4.0], (1, 2, 2, 1))
    >>> tf.layers.RandomTranslation((0.5, 0.5), 0.0, "constant")(x).numpy().ravel().tolist()
    [0.0, 0.0, 1.0, 2.0]
    """

    def __init__(
        self,
        height_factor: Any,
        width_factor: Any,
        fill_mode: str = "reflect",
        interpolation: str = "bilinear",
        seed: int | None = None,
        fill_value: float = 0.0,
        **options: Any,
    ):
        super().__init__(seed, **options)
        self.height_factor, self.width_factor = height_factor, width_factor
        self._take(fill_mode, interpolation, fill_value)

    def _changed(self, x: Any) -> tf.Tensor:
        down = self._drawn(x, _bounds(self.height_factor)) * x.shape[1]
        right = self._drawn(x, _bounds(self.width_factor)) * x.shape[2]
        one, zero = tf.ones_like(down), tf.zeros_like(down)
        return self._seen(x, (one, zero, -right, zero, one, -down))


class RandomZoom(_Moved):
    """While training, images made larger or smaller about their middle, by chance.

    `height_factor` is how much smaller at the most, and as much larger, or a pair of bounds, of which negative ones
    make larger; `width_factor` is that of the width, where proportions may change. The other arguments are those of
    :class:`RandomRotation`.

    Examples
    --------
    >>> import tracejit as tf
    >>> x = tf.ones((1, 3, 3, 1))
    >>> int(tf.reduce_sum(tf.layers.RandomZoom((0.5, 0.5), fill_mode="constant", interpolation="nearest")(x)))
    1
    """

    def __init__(
        self,
        height_factor: Any,
        width_factor: Any = None,
        fill_mode: str = "reflect",
        interpolation: str = "bilinear",
        seed: int | None = None,
        fill_value: float = 0.0,
        **options: Any,
    ):
        super().__init__(seed, **options)
        self.height_factor, self.width_factor = height_factor, width_factor
        self._take(fill_mode, interpolation, fill_value)

    def _changed(self, x: Any) -> tf.Tensor:
        tall = self._drawn(x, _around_1(self.height_factor))
        wide = tall if self.width_factor is None else self._drawn(x, _around_1(self.width_factor))
        zero = tf.zeros_like(tall)
        down, across = ((x.shape[1] - 1) / 2) * (1.0 - tall), ((x.shape[2] - 1) / 2) * (1.0 - wide)
        return self._seen(x, (wide, zero, across, zero, tall, down))


def _bounds(factor: Any) -> tuple[float, float]:
    return (-abs(factor), abs(factor)) if np.ndim(factor) == 0 else (min(factor), max(factor))


def _around_1(factor: Any) -> tuple[float, float]:
    low, high = _bounds(factor)
    return 1.0 + low, 1.0 + high
