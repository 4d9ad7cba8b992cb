"""Properties of the user's classes: reading and assigning one calls a function, which is converted as others are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .calls import callee
from .parts import augmented_alone
from .places.place import found_in_class
from .values.weak import Weak, needs_value


def attribute_of(owner: Any, name: str) -> Any:
    """``owner.name``."""
    if name == "__class__" and owner.__class__ is Weak:
        needs_value("__class__")
    attribute = found_in_class(owner, name)
    if attribute.__class__ is property and attribute.fget is not None:
        return callee(attribute.fget)(owner)
    return getattr(owner, name)


def set_attribute(value: Any, owner: Any, name: str) -> None:
    """``owner.name = value``."""
    attribute = found_in_class(owner, name)
    if attribute.__class__ is property and attribute.fset is not None:
        callee(attribute.fset)(owner, value)
    else:
        setattr(owner, name, value)


def update_attribute(how: str, owner: Any, name: str, value: Callable[[], Any]) -> None:
    """``owner.name += value()`` and the like."""
    set_attribute(augmented_alone(how, attribute_of(owner, name), value()), owner, name)
