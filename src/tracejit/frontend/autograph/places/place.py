"""The variables that a branch or loop hands on: closure cells of its body, module globals, attributes of objects."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from types import CellType
from typing import Any, Protocol

import numpy as np

from ....core.dataclass import dataclass
from ....core.errors import take
from ..values.kinds import UNSET


class Place(Protocol):
    """Something that holds a value; `UNSET` stands for none.

    Attributes
    ----------
    key : tuple
        The same for the same place.
    """

    name: str

    @property
    def key(self) -> tuple[Any, ...]: ...

    def get(self) -> Any: ...

    def set(self, value: Any) -> None: ...


class ClosureCell:
    """A local name that nested functions share.

    Attributes
    ----------
    grows : bool
        Something is appended to the list that it names.
    """

    __slots__ = ("name", "cell", "grows")

    def __init__(self, name: str, cell: CellType, grows: bool = False):
        self.name: str = name
        self.cell: CellType = cell
        self.grows: bool = grows

    @property
    def key(self) -> tuple[Any, ...]:
        return (id(self.cell),)

    def get(self) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:
            return UNSET

    def set(self, value: Any) -> None:
        if value is not UNSET:
            self.cell.cell_contents = value
        elif self.get() is not UNSET:
            del self.cell.cell_contents


class GlobalName:
    """A name of the module."""

    __slots__ = ("name", "names")

    def __init__(self, name: str, names: dict[str, Any]):
        self.name: str = name
        self.names: dict[str, Any] = names

    @property
    def key(self) -> tuple[Any, ...]:
        return id(self.names), self.name

    def get(self) -> Any:
        return self.names.get(self.name, UNSET)

    def set(self, value: Any) -> None:
        if value is UNSET:
            self.names.pop(self.name, None)
        else:
            self.names[self.name] = value


def found_in_class(owner: Any, name: str) -> Any:
    """What an object's class has under a name; None where it has nothing."""
    for kind in type(owner).__mro__:
        if name in kind.__dict__:
            return kind.__dict__[name]
    return None


def is_computed(owner: Any, attribute: str) -> bool:
    """Does a function say what an attribute is, or the array of which it is a view? Then it holds nothing itself."""
    found = found_in_class(owner, attribute)
    if isinstance(owner, tuple) and attribute in getattr(type(owner), "_fields", ()):
        return True  # what it holds never changes
    return found.__class__ is property or (isinstance(owner, np.ndarray) and attribute in ("T", "mT", "flat"))


class AttributePlace:
    """An attribute of an object; the object is the one its expression gives at the start."""

    __slots__ = ("name", "owner", "attribute")

    def __init__(self, name: str, owner: Callable[[], Any], attribute: str):
        self.name: str = name
        self.attribute: str = attribute
        try:
            self.owner: Any = owner()
        except (NameError, AttributeError) as error:
            take(error)
            self.owner = None  # made inside: nothing to hand on
        if is_computed(self.owner, attribute):
            self.owner = None  # what its function assigns is handed on

    @property
    def key(self) -> tuple[Any, ...]:
        return id(self.owner), self.attribute

    def get(self) -> Any:
        try:
            return getattr(self.owner, self.attribute, UNSET)
        except ValueError:
            return UNSET

    def set(self, value: Any) -> None:
        if self.owner is None:
            return
        if value is not UNSET:
            setattr(self.owner, self.attribute, value)
        elif self.get() is not UNSET:
            delattr(self.owner, self.attribute)


class ItemPlace:
    """What a deque, or a list or dict of a class built on those, has in a place, past the methods of that class."""

    __slots__ = ("name", "kind", "owner", "item")

    def __init__(self, kind: type, owner: Any, item: Any):
        self.name: str = f"{type(owner).__name__}[{item!r}]"
        self.kind: Any = kind
        self.owner = owner
        self.item = item

    @property
    def key(self) -> tuple[Any, ...]:
        return id(self.owner), "item", self.item

    def get(self) -> Any:
        try:
            return self.kind.__getitem__(self.owner, self.item)
        except LookupError:
            return UNSET

    def set(self, value: Any) -> None:
        if value is not UNSET and value is not self.get():
            self.kind.__setitem__(self.owner, self.item, value)


class ObjectPlace:
    """A list or dict itself, whichever names it has: what it holds is handed on."""

    __slots__ = ("name", "held")

    def __init__(self, name: str, held: Any):
        self.name: str = name
        self.held = held

    @property
    def key(self) -> tuple[Any, ...]:
        return id(self.held), "itself"

    def get(self) -> Any:
        return self.held

    def set(self, value: Any) -> None:
        """It stays that object."""


def _held_once(places: Sequence[Place]) -> set[int]:
    """Which arrays of NumPy's nothing knows but one of these places, by identity."""
    held = [(x, n) for x, n in map(_holders, places) if x.__class__ is np.ndarray and x.base is None]
    return {id(x) for x, holders in held if holders == _one()}


def _holders(place: Place) -> tuple[Any, int]:
    x = place.get()
    return x, sys.getrefcount(x)


@functools.cache
def _one() -> int:
    return _holders(ClosureCell("", CellType(np.zeros(()))))[1]


class Places:
    """Several places, read and written together.

    Attributes
    ----------
    alone : set of int
        The arrays of NumPy's that nothing else knew when this was made, by identity.
    """

    def __init__(
        self,
        functions: Sequence[Any],
        names: Sequence[str],
        attributes: Sequence[AttributePlace],
    ):
        cells: dict[str, CellType] = {}
        self.functions: list[Any] = [f for f in functions if f is not None]
        names_of_module: dict[str, Any] = {}
        for f in functions:
            if f is not None:
                cells.update(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
                names_of_module = f.__globals__
        named: list[Place] = [
            ClosureCell(n, cells[n]) if n in cells else GlobalName(n, names_of_module) for n in names
        ]
        self.places: list[Place] = [*named, *(a for a in attributes if a.owner is not None)]
        self.names: list[str] = [p.name for p in self.places]
        self.alone: set[int] = _held_once(self.places)

    def copy(self) -> Places:
        """The same places, to be extended apart from these."""
        made = Places((), (), ())
        made.extend(self.places)
        made.functions, made.alone = self.functions, self.alone
        return made

    def mentioned(self) -> list[ClosureCell]:
        """The local names that the functions mention."""
        return [
            ClosureCell(n, c)
            for f in self.functions
            for n, c in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True)
        ]

    def unknown(self, places: Iterable[Place]) -> list[Place]:
        """Those among some places that are none of these, each once."""
        known = {p.key for p in self.places}
        return [p for k, p in {p.key: p for p in places}.items() if k not in known]

    def extend(self, more: Sequence[Place]) -> None:
        """Hand on more places."""
        self.places += more
        self.names = [p.name for p in self.places]

    def learn(self, changes: Iterable[Any]) -> None:
        """Hand on what was found changed."""
        self.extend([c.place for c in changes])

    def get(self) -> list[Any]:
        return [p.get() for p in self.places]

    def set(self, values: Sequence[Any]) -> None:
        for place, value in zip(self.places, values, strict=True):
            place.set(value)


@dataclass
class Carried:
    """What a loop hands on.

    Attributes
    ----------
    places : Places
    lists : sequence of str
        Names of lists that may grow.
    inner : collection of str
        Names that only the next iteration reads, and nobody after the loop.
    """

    places: Places
    lists: Sequence[str]
    inner: Collection[str]
