"""Images seen through affine maps: each new pixel is read at a place of the old image, between its pixels.

What is read beyond the edges is said by the fill mode. Knows no layer; the maps may differ from image to image.
"""

from __future__ import annotations

from typing import Any

import tracejit as tf

#: What is read beyond the edges.
FILL_MODES = ("reflect", "wrap", "constant", "nearest")
#: How pixels are read between pixels.
INTERPOLATIONS = ("bilinear", "nearest")


def seen_through(images: Any, maps: Any, interpolation: str, fill_mode: str, fill_value: float) -> tf.Tensor:
    """The pixels of `images`, ``(batch, height, width, channels)``, at ``(a x + b y + c, d x + e y + f)``.

    Parameters
    ----------
    images : tensor of floats
    maps : sequence of six tensor-like
        `a` to `f`, of the shape ``(batch,)``; x counts columns, y rows.
    interpolation, fill_mode : str
        One of :data:`INTERPOLATIONS` and of :data:`FILL_MODES`.
    fill_value : float
        Of places beyond the edges, with ``"constant"``.
    """
    x: Any = images
    height, width = x.shape[1], x.shape[2]
    a, b, c, d, e, f = (tf.reshape(m, (-1, 1, 1)) for m in maps)
    columns = tf.reshape(tf.range(width, dtype="float32"), (1, 1, -1))
    rows = tf.reshape(tf.range(height, dtype="float32"), (1, -1, 1))
    across = _inside(a * columns + b * rows + c, width, fill_mode)
    down = _inside(d * columns + e * rows + f, height, fill_mode)
    if interpolation == "nearest":
        return _read(x, _nearest(down), _nearest(across), fill_value)
    top, left = tf.floor(down), tf.floor(across)
    low, right = (tf.cast(tf.expand_dims(p - q, -1), x.dtype) for p, q in ((down, top), (across, left)))

    def row(at: Any) -> Any:
        return (1.0 - right) * _read(x, at, left, fill_value) + right * _read(x, at, left + 1.0, fill_value)

    return tf.add((1.0 - low) * row(top), low * row(top + 1.0))


def _nearest(places: Any) -> Any:
    """The nearest whole number, of two the one farther from 0; adding 0.5 would round what is next to it."""
    size: Any = tf.abs(places)
    low: Any = tf.floor(size)
    return tf.sign(places) * tf.where(size - low >= 0.5, low + 1.0, low)


def _inside(places: Any, size: Any, fill_mode: str) -> Any:
    """Places along an axis of `size` pixels, moved to where the pixels are."""
    if fill_mode == "constant":
        return places
    count: Any = tf.cast(size, "float32")
    if fill_mode == "reflect":  # d c b a | a b c d | d c b a
        period = 2.0 * count
        shifted = places + 0.5 - tf.floor((places + 0.5) / period) * period
        places = tf.minimum(shifted, period - shifted) - 0.5
    elif fill_mode == "wrap":
        turns = tf.maximum(count - 1.0, 1.0)
        before = places + count * (tf.floor(-places / turns) + 1.0)
        after = places - count * tf.floor(places / turns)
        places = tf.where(places < 0.0, before, tf.where(places > count - 1.0, after, places))
    return tf.clip_by_value(places, 0.0, count - 1.0)


def _read(images: Any, rows: Any, columns: Any, fill_value: float) -> Any:
    """The pixels at whole places, ``(batch, height, width)``; `fill_value` where there are none."""
    height, width = images.shape[1], images.shape[2]
    known = (rows >= 0.0) & (rows <= tf.cast(height, "float32") - 1.0)
    known = known & (columns >= 0.0) & (columns <= tf.cast(width, "float32") - 1.0)
    row, column = (tf.cast(tf.where(known, p, 0.0), dtype="int32") for p in (rows, columns))
    pixels = tf.gather_nd(images, tf.stack([row, column], -1), batch_dims=1)
    return tf.where(tf.expand_dims(known, -1), pixels, tf.cast(fill_value, images.dtype))
