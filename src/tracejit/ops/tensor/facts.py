"""Properties of tensors and Variables besides values: device, identity, shape compatibility."""

from __future__ import annotations

from typing import Any

from ...core.dim import same
from ...core.errors import ShapeError, at, user_location
from ...core.spec import shape_text


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
