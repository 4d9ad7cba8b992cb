"""What lists and dicts hold at the points of a trace: before a branch or loop, at the end of a side or iteration.

Their contents are others afterwards. A place is where one is: a variable, or an item of a list, dict or tuple that is
in a place itself. Compared at several moments, places tell which of them may be one object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from ..values.contents import KINDS, same_contents


def is_container(x: Any) -> bool:
    """Is it a list or dict, or of a class that is built on those?"""
    return x.__class__ in KINDS or isinstance(x, (list, dict))


def items_of(x: Any) -> Mapping[Any, Any]:
    """What is in a list, dict or tuple now, by index or key; what else there is holds nothing."""
    if isinstance(x, dict):
        return dict(dict.items(x))
    if isinstance(x, list):
        return dict(enumerate(list.__iter__(x)))
    return dict(enumerate(x)) if isinstance(x, tuple) else {}


class Moment:
    """What some values were at a point of a trace, and the lists and dicts in them.

    Attributes
    ----------
    values : list
    containers : dict
        Identity to the object and to what it held; it is kept alive, so that it is nobody else's.
    """

    def __init__(self, values: Iterable[Any], containers: Iterable[Any] = ()):
        self.values: list[Any] = list(values)
        self.containers: dict[int, tuple[Any, Mapping[Any, Any]]] = {}
        waiting = [*self.values, *containers]
        while waiting:
            x = waiting.pop()
            if is_container(x) and id(x) not in self.containers:
                self.containers[id(x)] = (x, items_of(x))
                waiting += self.containers[id(x)][1].values()
            elif isinstance(x, tuple):
                waiting += x

    def items(self, x: Any) -> Mapping[Any, Any]:
        """What `x` held."""
        known = self.containers.get(id(x))
        return items_of(x) if known is None else known[1]

    def later(self, values: Iterable[Any]) -> Moment:
        """A later moment, which also knows what the same lists and dicts hold then."""
        return Moment(values, [x for x, _ in self.containers.values()])

    def changed_until(self, later: Moment) -> set[int]:
        """Which objects hold something else at a later moment."""
        return {i for i, (x, was) in self.containers.items() if not same_contents(was, later.items(x))}


class Position(NamedTuple):
    """What is in one place at some moments, and what is there afterwards; empty for no `name`."""

    ways: tuple[Any, ...]
    after: Any
    name: str


def positions(moments: Sequence[Moment], roots: Iterable[Position]) -> list[Position]:
    """The places of lists and dicts in nests, outer ones first; `roots` are those nests."""
    found: list[Position] = []
    seen: set[tuple[int, ...]] = set()
    waiting = list(roots)
    while waiting:
        p = waiting.pop()
        key = (id(p.after), *map(id, p.ways))
        if key in seen or not (is_container(p.after) or isinstance(p.after, tuple)):
            continue
        seen.add(key)
        if is_container(p.after):
            found.append(p)
        held = [m.items(x) for m, x in zip(moments, p.ways, strict=True)]
        for k, x in items_of(p.after).items():
            waiting.append(Position(tuple([h.get(k) for h in held]), x, p.name and f"{p.name}[{k!r}]"))
    return found


def displaced(first: Moment, second: Moment, pairs: Iterable[tuple[Any, Any]]) -> set[int]:
    """The lists and dicts in two nests, or in what both hold, that are not in the same places of both."""
    apart: set[int] = set()
    seen: set[tuple[int, int]] = set()
    waiting = list(pairs)
    while waiting:
        x, y = waiting.pop()
        if (id(x), id(y)) in seen:
            continue
        seen.add((id(x), id(y)))
        if x is not y:
            apart.update(id(v) for v in (x, y) if is_container(v))
        a, b = first.items(x), second.items(y)
        waiting += [(a.get(k), b.get(k)) for k in {**a, **b}]
    return apart


def meeting(places: Sequence[Position], way: int, linked: Mapping[int, set[int]]) -> Iterator[tuple[int, int]]:
    """The pairs of places, by number, that may hold one object at a moment, as it is the same or is `linked`."""
    holding: dict[int, list[int]] = {}
    for k, p in enumerate(places):
        if is_container(p.ways[way]):
            holding.setdefault(id(p.ways[way]), []).append(k)
    for x, here in holding.items():
        yield from combinations(here, 2)
        for y in linked.get(x, ()):
            yield from ((min(a, b), max(a, b)) for a in here for b in holding.get(y, ()) if a != b)
