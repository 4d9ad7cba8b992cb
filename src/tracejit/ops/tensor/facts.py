"""Properties of tensors and Variables besides values: device, identity, shape compatibility; how they look as text.

The leading ``tf.`` is what tutorials show, so it is what is printed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.dim import same
from ...core.errors import ShapeError, at, user_location
from ...core.spec import dtype_name, shape_text


class Device(str):
    """Where elements are: the processor, by its full name, which is equal to ``"cpu"``."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return other == "cpu" or str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return str.__hash__(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Device, (str(self),)


CPU: Device = Device("/job:localhost/replica:0/task:0/device:CPU:0")


class Reference:
    """A tensor or Variable as a key of dicts and an item of sets: equal to the references of the same object.

    Attributes
    ----------
    deref : callable
        Gives the object.
    """

    __slots__ = ("_referred",)

    def __init__(self, referred: Any):
        self._referred = referred

    def deref(self) -> Any:
        """The tensor or Variable itself."""
        return self._referred

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._referred is other._referred

    def __hash__(self) -> int:
        return id(self._referred)

    def __repr__(self) -> str:
        return f"<Reference to {self._referred!r}>"


def _get_shape(self: Any) -> Any:
    """The sizes, the same as ``x.shape``."""
    return self.shape


def _set_shape(self: Any, shape: Any) -> None:
    """Say that `shape`, with None for any size, is the shape; ShapeError where it is not."""
    if shape is None or getattr(shape, "rank", 0) is None:
        return
    sizes, mine = tuple(shape), self.shape
    if len(sizes) != len(mine) or not all(s is None or same(s, m) for s, m in zip(sizes, mine, strict=True)):
        raise ShapeError(f"{self.spec} is not of shape {shape_text(sizes)}{at(user_location())}")


def _ref(self: Any) -> Reference:
    """A key of dicts that stands for this very object."""
    return Reference(self)


FACTS: dict[str, Any] = {
    "get_shape": _get_shape,
    "set_shape": _set_shape,
    "ref": _ref,
    "device": property(lambda self: CPU, doc="Where the elements are, equal to ``'cpu'``."),
}


# ---- as text --------------------------------------------------------------------------------------------


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
