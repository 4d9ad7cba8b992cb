"""Changes of images that are not differentiated: the last three axes are height, width and channels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.errors import DtypeError, ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from ..frontend.control.reductions import reduce_mean
from ..ops.arrays.shape import clip_by_value

_SINGLE = np.dtype("float32")


def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """Move each value away from the mean of its channel in its image, by a factor.

    Parameters
    ----------
    images : tensor-like, at least three axes
        Floats, or integers that fill their range, which are computed as floats and rounded down at the end.
    contrast_factor : scalar

    Returns
    -------
    Tensor
        Like `images`.

    Raises
    ------
    ShapeError
        For fewer than three axes.
    DtypeError
        For bools and strings.
    LookupError
        When it is differentiated: no gradient is registered for ``AdjustContrastv2``.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.image.adjust_contrast([[[1.0], [3.0]]], 2.0))
    tf.Tensor(
    [[[0.]
      [4.]]], shape=(1, 2, 1), dtype=float32)
    """
    x = as_tensor(images)
    if len(x.shape) < 3:
        raise ShapeError(f"images have height, width and channels, got {x.spec}{at(user_location())}")
    if x.dtype.kind == "f":
        return _adjusted(x, contrast_factor)
    if x.dtype.kind not in "iu":
        raise DtypeError(f"images hold floats or integers, got {x.spec}{at(user_location())}")
    low, top = float(np.iinfo(x.dtype).min), float(np.iinfo(x.dtype).max)
    wide = ops.multiply(_adjusted(ops.cast(x, dtype=_SINGLE) / top, contrast_factor), top + 0.5)
    return ops.cast(clip_by_value(wide, low, top), dtype=x.dtype)


def _adjusted(x: Any, contrast_factor: Any) -> Any:
    factor = as_tensor(contrast_factor, x.dtype)
    if factor.shape != ():
        raise ShapeError(f"the contrast factor is a scalar, got {factor.spec}{at(user_location())}")
    mean = reduce_mean(x, axis=(-3, -2), keepdims=True)
    return ops.adjust_contrastv2((x - mean) * ops.cast(factor, dtype=x.dtype) + mean)
