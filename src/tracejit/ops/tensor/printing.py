"""How tensors and Variables look as text. The leading ``tf.`` is what tutorials show, so it is what we print."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.spec import dtype_name, shape_text


def array_text(array: np.ndarray, exact: bool) -> str:
    """An array for a message: `exact` is NumPy's repr, else its str; on lines of its own when it has several."""
    text = str(array[()]) if array.ndim == 0 or not exact else repr(array)
    return "\n" + text if "\n" in text else text


def tensor_str(x: Any) -> str:
    """``tf.Tensor(4.0, shape=(), dtype=float32)``."""
    about = f"shape={shape_text(x.shape)}, dtype={dtype_name(x.dtype)}"
    return (
        f"tf.Tensor({about}, traced)"
        if x.is_symbolic
        else f"tf.Tensor({array_text(x.array, False)}, {about})"
    )


def tensor_repr(x: Any) -> str:
    """``<tf.Tensor: shape=(), dtype=float32, numpy=4.0>``."""
    about = f"shape={shape_text(x.shape)}, dtype={dtype_name(x.dtype)}"
    last = "traced" if x.is_symbolic else f"numpy={array_text(x.array, True)}"
    return f"<tf.Tensor: {about}, {last}>"


def variable_repr(name: str, x: Any) -> str:
    """``<tf.Variable 'x:0' shape=() dtype=float32, numpy=3.0>``."""
    about = f"'{name}' shape={shape_text(x.shape)} dtype={dtype_name(x.dtype)}"
    return (
        f"<tf.Variable {about}>"
        if x.is_symbolic
        else f"<tf.Variable {about}, numpy={array_text(x.array, True)}>"
    )
