"""Pictures as arrays, for programs written for Keras."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.errors import ShapeError, at, user_location


def img_to_array(img: Any, data_format: str | None = None, dtype: Any = None) -> np.ndarray:
    """A Pillow image, or an array, as an array ``(height, width, channels)``, by default of float32.

    With ``data_format="channels_first"`` channels come first, as those of an array must. `dtype` says another dtype.
    ShapeError for what is no image.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tf
    >>> tf.keras.utils.img_to_array(np.zeros((4, 5))).shape
    (4, 5, 1)
    """
    x = np.asarray(img, np.float32 if dtype is None else dtype)
    if x.ndim not in (2, 3):
        raise ShapeError(f"an image has 2 or 3 axes, got the shape {x.shape}{at(user_location())}")
    first = data_format == "channels_first"
    if x.ndim == 2:
        return x[None] if first else x[..., None]
    return x.transpose(2, 0, 1) if first and hasattr(img, "mode") else x
