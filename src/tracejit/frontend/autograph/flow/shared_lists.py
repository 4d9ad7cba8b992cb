"""Lists and dicts that may be one object or two after a branch or loop, as only the running program knows.

``m = l`` in one branch makes a change of `m` one of `l`, and in the other it does not. Such two are linked: they may be
read, and a change of either is refused. What a side binds to a name in the same way as the other stays one object.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from ....core.errors import Untraceable, at, user_location
from ....core.tracing.transaction import remember
from ..values.contents import ContainerSnapshot, contents_of, same_contents
from .surroundings import Surroundings, references_to

#: An object on both ways through a branch or loop, and what stands for it afterwards.
Position = tuple[Any, Any, Any]


class _Link:
    """Two objects that may be one, and what they held when that became uncertain."""

    __slots__ = ("pair", "contents", "line", "stale")

    def __init__(self, a: Any, b: Any, stale: bool):
        self.pair = (a, b)
        self.stale = stale  # one of the two was changed before, and the other not
        self.contents = (contents_of(a), contents_of(b))
        self.line = at(user_location())

    def changed(self) -> bool:
        return not all(map(same_contents, map(contents_of, self.pair), self.contents))


_CHANGED = (
    "a list or dict is changed that is the same as another, or is not, as only the running program knows: a branch or "
    "loop has bound a name to it. Bind the name before, or to a copy, or change in each branch the one that is meant"
)


class _Open(threading.local):
    def __init__(self) -> None:
        self.links: list[list[_Link]] = []


_open = _Open()


class Links:
    """The links that are made while a function is traced; a context. Raises at its end if one was changed."""

    def __enter__(self) -> Links:
        _open.links.append([])
        return self

    def __exit__(self, kind: type | None, *exc: object) -> None:
        try:
            if kind is None:
                check()
        finally:
            _open.links.pop()


def check() -> None:
    """Raise Untraceable where one of two that may be one object was changed."""
    _require(lambda link: link.changed())


def settle() -> None:
    """After a branch or loop: forget the links to what nothing holds any more, now that it is over."""
    check()
    links = _open.links[-1] if _open.links else []
    gone = _gone(links)
    if gone:
        _note(links)
        links[:] = [link for link in links if gone.isdisjoint(map(id, link.pair))]
    _require(lambda link: link.stale)


def _require(is_wrong: Callable[[_Link], bool]) -> None:
    for link in _open.links[-1] if _open.links else ():
        if is_wrong(link):
            raise Untraceable(_CHANGED + link.line)


def _gone(links: Sequence[_Link]) -> set[int]:
    """What is held by nothing but links."""
    counts: dict[int, int] = {}
    for link in links:
        for x in map(id, link.pair):
            counts[x] = counts.get(x, 0) + 1
    return {id(link.pair[k]) for link in links for k in (0, 1) if _holders(link, k) <= counts[id(link.pair[k])]}


def _holders(link: _Link, k: int) -> int:
    count = sys.getrefcount(link.pair[k]) - 1
    return count - references_to(link.pair[k])


def _note(links: list[_Link]) -> None:
    """`links` are about to be others."""

    def save() -> Any:
        known = list(links)
        return lambda: links.__setitem__(slice(None), known)

    remember(("links", id(links)), save)


def _linked(x: Any) -> list[Any]:
    return [o for link in _open.links[-1] for o in link.pair if any(x is p for p in link.pair) and o is not x]


def positions(first: Any, second: Any, after: Any) -> Iterator[Position]:
    """The lists and dicts in the same places of three nests, outer ones first."""
    kind = after.__class__
    if kind is list or kind is dict:
        yield first, second, after
    if kind is dict:
        for k, x in after.items():
            yield from positions(_item(first, k), _item(second, k), x)
    elif kind is list or kind is tuple:
        for k, x in enumerate(after):
            yield from positions(_item(first, k), _item(second, k), x)


def _item(x: Any, k: Any) -> Any:
    try:
        return x[k] if x.__class__ in (list, tuple, dict) else None
    except LookupError:
        return None


def known_to(around: Surroundings) -> dict[int, Any]:
    """The lists and dicts that were there before a branch or loop."""
    reached = [c for _, c, _ in around.reachable.containers]
    return {id(c): c for c in (*around.contents.containers, *reached) if c.__class__ in (list, dict)}


def moved(
    around: Surroundings, begun: Sequence[Any], ends: Sequence[Sequence[Any]], values: Sequence[Any]
) -> set[int]:
    """Which lists and dicts are items of another one at some ends only; Untraceable for one that has another name.

    Ends, of the sides of a branch or of an iteration, are known by what lists and dicts hold there, and by the `values`
    of variables; `begun` is what they held before.
    """
    apart = [x for a, b in pairwise((*ends, *ends[:1])) for x in _apart(a, b)]
    put = [x for end in ends for x in _new(end, begun)]
    reached = [v for _, v in around.reachable.slots]
    reached += [v for _, held in around.reachable.objects for v in held.values()]
    named = set(map(id, (*reached, *around.before, *values)))
    if not named.isdisjoint(map(id, (*apart, *put))):
        raise Untraceable(
            "a branch or loop puts a list or dict that has another name into a list or dict, or takes one out: put a "
            f"copy there, or change what it holds{at(user_location())}"
        )
    return {id(x) for x in (*apart, *put, *(x for end in ends for x in _new(begun, end)))}


def _apart(first: Sequence[Any], second: Sequence[Any]) -> Iterator[Any]:
    """The lists and dicts that are items of one of two containers, and not of the other in that place."""
    yield from _new(first, second)
    yield from _new(second, first)


def _new(first: Sequence[Any], second: Sequence[Any]) -> Iterator[Any]:
    """The lists and dicts that are items of a container, and not of the second one in that place."""
    for x, y in zip(first, second, strict=True):
        for k, item in x.items() if x.__class__ is dict else enumerate(x):
            if item.__class__ in (list, dict) and _item(y, k) is not item:
                yield item


def after_branch(
    around: Surroundings, ends: Sequence[Sequence[Any]], values: Sequence[Any], unread: Sequence[bool]
) -> list[Any]:
    """What variables hold after a branch, of what they hold at the ends of its sides, and copies of what they may."""
    ways = list(zip(*ends, values, strict=True))
    if not any(True for p in ways for _ in positions(*p)):
        return list(values)
    known = known_to(around)
    results = [a if a is b and id(a) in known else x for a, b, x in ways]
    read = [(a, b, x) for (a, b, _), x, out in zip(ways, results, unread, strict=False) if not out]
    link([p for way in read for p in positions(*way)], known.values())
    return results


def after_loop(
    around: Surroundings, begins: Sequence[Any], ends: Sequence[Any], values: Sequence[Any], changed: Sequence[Any]
) -> list[Any]:
    """What variables hold after a loop, of what they hold before it and after an iteration, and of copies of that.

    An iteration has `changed` some of these objects: the next one would change others with them.
    """
    ways = list(zip(begins, ends, values, strict=True))
    if not any(True for p in ways for _ in positions(*p)):
        return list(values)
    known = known_to(around)
    results = [a if a is b and id(a) in known and x.__class__ is a.__class__ else x for a, b, x in ways]
    met = [p for (a, b, _), x in zip(ways, results, strict=True) for p in positions(a, b, x)]
    link(met, known.values(), changed)
    return results


def stood_for(begins: Sequence[Any], starts: Sequence[Any], ends: Sequence[Any], changed: Sequence[Any]) -> list[Any]:
    """The objects from before a loop for which those have stood that an iteration has `changed`, in it or a later one.

    At its `starts` an iteration has other objects in their place; it may leave one under the name of another.
    """
    places = [p for way in zip(begins, ends, starts, strict=True) for p in positions(*way)]
    found: dict[int, Any] = {}
    open_ = [p for p in places if any(p[2] is c for c in changed)]
    while open_:
        begin, end, _ = open_.pop()
        if id(begin) not in found:
            found[id(begin)] = begin
            open_ += [p for p in places if p[2] is end]
    return list(found.values())


def changed_since(begun: ContainerSnapshot) -> list[tuple[Any, Any]]:
    """The lists and dicts that hold something else than they did, and what they held."""
    return [(c, was) for c, was in begun.saved if not same_contents(contents_of(c), was)]


def link(found: Iterable[Position], known: Iterable[Any], changed: Sequence[Any] = ()) -> None:
    """Link what may be one object, of the positions after a branch or loop and the objects that were `known` before."""
    if not _open.links:
        return
    places = [*found, *((c, c, c) for c in known)]
    before = [(after, other, False) for *ways, after in places for x in ways for other in _linked(x)]
    for a, b, stale in (*_uncertain(places, set(map(id, changed))), *before):
        _add(a, b, stale)


def _uncertain(places: Sequence[Position], changed: set[int]) -> Iterator[tuple[Any, Any, bool]]:
    """Those afterwards that are one object on one way and not on the other, and whether one was changed before."""
    for way in (0, 1):
        groups: dict[int, list[Position]] = {}
        for position in places:
            if position[way].__class__ in (list, dict):
                groups.setdefault(id(position[way]), []).append(position)
        for group in groups.values():
            stale = not changed.isdisjoint(id(x) for position in group for x in position[:2])
            first, *rest = {id(p[2]): p[2] for p in group}.values()
            yield from ((first, x, stale) for x in rest)


def _add(a: Any, b: Any, stale: bool) -> None:
    links = _open.links[-1]
    if a is b or a.__class__ is not b.__class__ or any({id(a), id(b)} == set(map(id, x.pair)) for x in links):
        return
    _note(links)
    links.append(_Link(a, b, stale))
