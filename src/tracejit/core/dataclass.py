"""Dataclasses that are made in a fifth of the time, for classes that every program loads.

``dataclasses`` compiles up to six methods of each class while its module loads. Here that is one, ``__init__``; the
others are the same functions for all. Type checkers, ``fields`` and ``replace`` find dataclasses.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, *, frozen=False, eq=True, slots=False):
        """``dataclasses.dataclass``, of whose options there are these."""
        if cls is None:
            return lambda cls: dataclass(cls, frozen=frozen, eq=eq, slots=slots)
        own = vars(cls)
        made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
        made.__init__ = _initializer(made, frozen)
        methods = {"__repr__": _repr}
        if eq:
            values = _values([f.name for f in fields(made) if f.compare])
            methods |= {"__eq__": _eq(values), "__hash__": _hash(values) if frozen else None}
        if frozen:
            methods |= {"__setattr__": _refuse, "__delattr__": _refuse}
            methods |= {"__setstate__": _restore} if slots else {}
        for name, method in methods.items():
            if name not in own or (name == "__hash__" and own[name] is None):
                setattr(made, name, method)
        return made


class _Factory:
    """The default, in signatures, of what is made anew each time."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


def _values(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """A function that gives the values of these attributes as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda x: tuple([getattr(x, name) for name in names])


def _initializer(cls: type, frozen: bool) -> Any:
    """``__init__``, the one method that is compiled, for it must be quick."""
    given: dict[str, Any] = {"_set": object.__setattr__, "_new": _FACTORY}
    parameters: list[str] = []
    named: list[str] = []
    lines: list[str] = []
    for f in fields(cls):
        default, value = "", f.name
        if f.default is not MISSING:
            given[f"_{f.name}"], default = f.default, f"=_{f.name}"
        elif f.default_factory is not MISSING:
            given[f"_{f.name}"], default = f.default_factory, "=_new"
            value = f"_{f.name}() if {f.name} is _new else {f.name}" if f.init else f"_{f.name}()"
        if f.init:
            (named if f.kw_only else parameters).append(f"{f.name}{default}")
        elif not default:
            continue
        elif f.default is not MISSING:
            value = f"_{f.name}"
        lines.append(f" _set(self, {f.name!r}, {value})" if frozen else f" self.{f.name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    stars = ["*", *named] if named else []
    head = f"def __init__({', '.join(['self', *parameters, *stars])}):"
    exec("\n".join([head, *(lines or [" pass"])]), given)
    made = given["__init__"]
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    made.__annotations__ = {f.name: f.type for f in fields(cls) if f.init} | {"return": None}
    return made


@recursive_repr()
def _repr(self: Any) -> str:
    shown: tuple[Field[Any], ...] = fields(self)
    values = ", ".join([f"{f.name}={getattr(self, f.name)!r}" for f in shown if f.repr])
    return f"{type(self).__qualname__}({values})"


def _eq(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any, Any], bool]:
    def __eq__(self: Any, other: Any) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self) == values(other)

    return __eq__


def _hash(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], int]:
    def __hash__(self: Any) -> int:
        return hash(values(self))

    return __hash__


def _restore(self: Any, state: tuple[None, dict[str, Any]]) -> None:
    for name, value in state[1].items():
        object.__setattr__(self, name, value)


def _refuse(self: Any, name: str, *value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")
