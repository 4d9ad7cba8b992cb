"""The names that user-defined classes and functions have in files.

Files name classes, they never hold code: what a name means is said by the program that reads the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ..errors import at_user_line

_registered: dict[str, Any] = {}
_in_scope: ContextVar[Mapping[str, Any] | None] = ContextVar("tracejit_custom_objects", default=None)


def register_keras_serializable(package: str = "Custom", name: str | None = None) -> Callable[[Any], Any]:
    """A decorator that lets files name a class or function: as `name`, by default its own, of the `package`.

    Files that hold objects of a registered class are read without ``custom_objects``. TypeError for anything but
    classes and functions.

    Examples
    --------
    >>> import tracejit as tf
    >>> @tf.keras.utils.register_keras_serializable("shapes")
    ... def doubled(x):
    ...     return 2.0 * x
    >>> tf.keras.utils.get_registered_name(doubled)
    'shapes>doubled'
    """

    def register(thing: Any) -> Any:
        if not callable(thing):
            raise TypeError(f"a class or a function is registered, got {thing!r}{at_user_line()}")
        _registered[f"{package}>{name or thing.__name__}"] = thing
        return thing

    return register


def get_registered_name(obj: Any) -> str:
    """The name under which the class or function `obj` was registered; its own where it was not."""
    return next((name for name, thing in _registered.items() if thing is obj), obj.__name__)


def get_registered_object(name: str, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """The class or function of the `name`, in `custom_objects`, a scope of such, or the register; None without one.

    A name that was registered is found there too without its package.
    """
    short = name.rpartition(">")[2]
    for known in (custom_objects, _in_scope.get(), _registered):
        for key in (name, short):
            if known and key in known:
                return known[key]
    return None


def get_custom_objects() -> dict[str, Any]:
    """The register of classes and functions by name, which may be changed.

    Examples
    --------
    >>> import tracejit as tf
    >>> "doubled" in tf.keras.utils.get_custom_objects()
    False
    """
    return _registered


@contextmanager
def custom_object_scope(objects: Mapping[str, Any] | None) -> Iterator[None]:
    """A ``with`` block in which names in files may mean these `objects`, classes and functions by name."""
    token = _in_scope.set({**(_in_scope.get() or {}), **(objects or {})})
    try:
        yield
    finally:
        _in_scope.reset(token)
