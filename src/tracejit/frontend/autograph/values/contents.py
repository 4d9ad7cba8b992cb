"""Lists and dicts that branches and loops change in place: objects keep their identity, whatever names they have.

Each branch, and each iteration that is traced, runs on the user's own objects, with the contents that they have
there; afterwards they get the contents that the compiled program computes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from types import CellType
from typing import Any

from .growing import Growing
from .kinds import Undefined, is_undefined
from .stacked import Stacked

KINDS = (list, dict, Growing, Stacked)


def containers(value: Any) -> Iterator[Any]:
    """The objects in a nest that can be changed in place, outer ones first."""
    if value.__class__ in KINDS:
        yield value
    if value.__class__ in (list, dict) or isinstance(value, tuple):
        for item in value.values() if value.__class__ is dict else value:
            if item.__class__ in KINDS or isinstance(item, tuple):  # few are, of what may be a million
                yield from containers(item)


def identities(values: Iterable[Any]) -> set[int]:
    """Which objects these are."""
    return {id(c) for v in values for c in _objects(v)}


def _objects(value: Any) -> Iterator[Any]:
    """As `containers`, with objects of classes that are built on lists and dicts."""
    if value.__class__ in KINDS or isinstance(value, (list, dict)):
        yield value
    if isinstance(value, (list, dict, tuple)):
        for item in dict.values(value) if isinstance(value, dict) else value:
            if item.__class__ in KINDS or isinstance(item, (list, dict, tuple)):
                yield from _objects(item)


def contents_of(container: Any) -> Any:
    """What is in a container now."""
    if container.__class__ is Growing:
        return list(container.items)
    if container.__class__ is Stacked:
        return list(container.parts)
    return container.copy()


def put_contents(container: Any, contents: Any) -> None:
    if container.__class__ is Growing:
        container.items = list(contents)
    elif container.__class__ is Stacked:
        container.parts = list(contents)
    elif container.__class__ is list:
        container[:] = contents
    else:
        container.clear()
        container.update(contents)


def held(cells: tuple[CellType, ...] | None) -> Iterator[Any]:
    """What the cells of a closure hold; None where nothing is assigned yet."""
    for cell in cells or ():
        try:
            yield cell.cell_contents
        except ValueError:
            yield None


class ContainerSnapshot:
    """What the containers among some values hold at a point, to be given back to them."""

    def __init__(self, values: Sequence[Any]):
        self.containers: list[Any] = list({id(c): c for v in values for c in containers(v)}.values())
        self.saved: list[tuple[Any, Any]] = [(c, contents_of(c)) for c in self.containers]

    def restore(self) -> None:
        """Let them hold that again."""
        for container, contents in self.saved:
            put_contents(container, contents)

    def changed(self, known: set[int]) -> bool:
        """Does any of them, but for those `known` to, hold something else now?"""
        return any(
            id(c) not in known and not same_contents(contents_of(c), contents) for c, contents in self.saved
        )


def same_contents(a: Any, b: Any) -> bool:
    """The same objects in the same places?"""
    if a.__class__ is dict:
        return list(a) == list(b) and same_contents([*a.values()], [*b.values()])
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


def copied(value: Any) -> Any:
    """The same nest in containers of its own."""
    if value.__class__ is list:
        return [copied(v) for v in value]
    if value.__class__ is dict:
        return {k: copied(v) for k, v in value.items()}
    if value.__class__ is tuple:
        return tuple(map(copied, value))
    return value.copy() if value.__class__ in KINDS else value


def abandon(container: list[Any], name: str) -> None:
    """Compiled code has built this list under one name: under others it must not be read."""
    put_contents(
        container, [Undefined(name, "was built in compiled code: read that list under this name only")]
    )


def written_into(before: Any, new: Any, kept: set[int]) -> Any:
    """`new`, in the containers of `before` as far as those are `kept`."""
    if is_undefined(new) and before.__class__ in KINDS and id(before) in kept:
        put_contents(before, {new.name: new} if before.__class__ is dict else [new])
    if before.__class__ is not new.__class__ or new.__class__ is OrderedDict:
        return _written_into_own(before, new, kept)
    if before.__class__ is tuple and len(before) == len(new):
        return tuple([written_into(b, n, kept) for b, n in zip(before, new, strict=True)])
    if before.__class__ not in KINDS or id(before) not in kept or before is new:
        return new
    if before.__class__ is list:
        inner = [written_into(b, n, kept) for b, n in zip(before, new, strict=False)]
        put_contents(before, [*inner, *new[len(inner) :]])
    elif before.__class__ is dict:
        put_contents(before, {k: written_into(before.get(k), v, kept) for k, v in new.items()})
    else:
        put_contents(before, contents_of(new))
    return before


def _written_into_own(before: Any, new: Any, kept: set[int]) -> Any:
    """A plain list or dict, as nests are, in an object of a class built on those, past the methods of that class."""
    kind: Any = new.__class__
    if kind not in (list, dict, OrderedDict) or not isinstance(before, kind) or id(before) not in kept:
        return new
    if kind is list:
        known = list(list.__iter__(before))
        inner = [written_into(b, n, kept) for b, n in zip(known, new, strict=False)]
        list.__setitem__(before, slice(None), [*inner, *new[len(inner) :]])
        return before
    kind = OrderedDict if isinstance(before, OrderedDict) else dict
    items = {k: written_into(dict.get(before, k), v, kept) for k, v in new.items()}
    if [*kind.keys(before)] != [*items]:
        kind.clear(before)
    kind.update(before, items)
    return before
