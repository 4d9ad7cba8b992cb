"""The base of lists that compiled loops build, which refuses unsupported methods by name."""

from __future__ import annotations

from typing import Any

from ....core.errors import Untraceable, at, user_location
from ....core.tensor import Unhashable


class ListRefused(Untraceable, AttributeError):
    """A list cannot do here what Python's lists can.

    Examples
    --------
    >>> import tracejit as tf
    >>> @tf.function
    ... def f(n):
    ...     items = []
    ...     for i in tf.range(n):
    ...         items.append(i)
    ...     items.sort()
    ...     return items
    >>> try:
    ...     f(tf.constant(3))
    ... except tf.errors.ListRefused as error:
    ...     print(type(error).__name__)
    ListRefused
    """

    __module__ = "tracejit.errors"


class BuiltList(Unhashable):
    """Base of such lists: refuses what Python's lists do and a class derived from it does not.

    Attributes
    ----------
    refusal : str
        The message.
    """

    __slots__ = ()
    refusal: str

    def _refused(self) -> ListRefused:
        return ListRefused(f"{self.refusal}{at(user_location())}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(list, name):
            raise AttributeError(f"'list' object has no attribute {name!r}")
        raise self._refused()

    def __eq__(self, other: Any) -> bool:
        if other is not self:
            raise self._refused()
        return True


def _refuse(self: BuiltList, *args: Any) -> Any:
    raise self._refused()


# what Python looks up on the class, past `__getattr__`
for _name in (
    *(
        "__len__",
        "__iter__",
        "__getitem__",
        "__setitem__",
        "__delitem__",
        "__lt__",
        "__le__",
        "__gt__",
        "__ge__",
    ),
    *("__add__", "__radd__", "__iadd__", "__mul__", "__rmul__", "__imul__"),
):
    setattr(BuiltList, _name, _refuse)
