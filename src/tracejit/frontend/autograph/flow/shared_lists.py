"""Lists and dicts that may be one object or two after a branch or loop, as only the running program knows.

``m = l`` in one branch makes a change of `m` one of `l`, and in the other it does not. Such two are linked: they may be
read, and a change of either is refused. What a side binds to a name in the same way as the other stays one object.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ....core.errors import Untraceable, at, user_location
from ....core.tracing.transaction import remember
from ..values.contents import same_contents
from .moments import Moment, Position, is_container, items_of, meeting, positions
from .surroundings import Surroundings, references_to


class _Link:
    """Two objects that may be one, and what they held when that became uncertain."""

    __slots__ = ("pair", "contents", "names", "line", "stale")

    def __init__(self, a: Any, b: Any, names: tuple[str, str], stale: bool, line: str = ""):
        self.pair = (a, b)
        self.names = names
        self.stale = stale  # one of the two was changed before, and the other not
        self.contents = (items_of(a), items_of(b))
        self.line = line or at(user_location())

    def changed(self) -> bool:
        return not all(map(same_contents, map(items_of, self.pair), self.contents))

    def error(self) -> Untraceable:
        """What is raised where one was changed."""
        kind = "dict" if isinstance(self.pair[0], dict) else "list"
        first, second = sorted(self.names, key=lambda name: (not name, name.startswith(_EARLIER)))
        named = second and not second.startswith(_EARLIER)
        copied = f", as in {first} = {kind}({second})" if named else ""
        those = f"{_shown(first)} and {_shown(second)}" if first else f"two {kind}s"
        return Untraceable(
            f"a list or dict is changed that may be the same as another: whether {those} are one {kind}, only the "
            "running program knows, as a branch or loop has bound a name to it, or put it into another. Bind the name "
            f"before, or to a copy{copied}, or change in each branch the one that is meant{self.line}"
        )


_EARLIER = "earlier "


def _shown(name: str) -> str:
    earlier = name.startswith(_EARLIER)
    return f"the earlier {name[len(_EARLIER) :]!r}" if earlier else repr(name) if name else "another"


_COMPARED = (
    "whether two lists or dicts are the same object is known only when the compiled function runs, as a branch or loop "
    "has bound a name to one: keep that in a number of its own, or bind the name before"
)


class _Open(threading.local):
    def __init__(self) -> None:
        self.links: list[list[_Link]] = []
        self.compared: int = 0  # so many lists and dicts were found to be other objects


_open = _Open()


def _links() -> list[_Link]:
    """Those of the function that is being traced."""
    return _open.links[-1] if _open.links else []


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


def is_same(a: Any, b: Any) -> bool:
    """``a is b``; raises Untraceable where only the running program knows."""
    if a is not b and _open.links and is_container(a) and is_container(b):
        _open.compared += 1
        if id(b) in _linked().get(id(a), ()):
            raise Untraceable(_COMPARED + at(user_location()))
    return a is b


def compared() -> int:
    """How often two lists or dicts were found to be different objects, so far."""
    return _open.compared


def check() -> None:
    """Raise Untraceable where one of two that may be one object was changed."""
    _require(lambda link: link.changed())


def rewritten() -> None:
    """Tracing has given lists and dicts other contents, once :func:`check` has seen that the program did not."""
    links = _links()
    if any(link.changed() for link in links):
        _note(links)
        links[:] = [_Link(*link.pair, link.names, link.stale, link.line) for link in links]


def settle() -> None:
    """After a branch or loop: forget the links to what nothing holds any more, now that it is over."""
    check()
    links = _links()
    gone = _gone(links)
    if gone:
        _note(links)
        links[:] = [link for link in links if gone.isdisjoint(map(id, link.pair))]
    _require(lambda link: link.stale)


def _require(is_wrong: Callable[[_Link], bool]) -> None:
    for link in _links():
        if is_wrong(link):
            raise link.error()


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


def known_to(around: Surroundings) -> dict[int, Any]:
    """The lists and dicts that are there before a branch or loop; asked for then, as it makes links of its own."""
    reached = [c for _, c, _ in around.reachable.containers]
    reached += [c for c, _ in around.reachable.others]
    known = [c for c, _ in Moment((*around.before, *around.contents.containers, *reached)).containers.values()]
    return {id(c): c for c in (*known, *(x for link in _links() for x in link.pair)) if isinstance(c, (list, dict))}


def after_branch(
    around: Surroundings,
    known: dict[int, Any],
    ends: tuple[Moment, Moment],
    values: Sequence[Any],
    unread: Sequence[bool],
) -> list[Any]:
    """What variables hold after a branch, of what they hold at the ends of its sides, and copies of what they may."""
    if not any(map(_has_containers, values)) and not around.contents.containers:
        return list(values)
    results = _Ways(*ends, known).settled(values)
    rewritten()
    read = zip(*(e.values for e in ends), results, around.places.names, unread, strict=False)
    found = positions(ends, _roots(around, [Position((a, b), x, n) for a, b, x, n, out in read if not out], known, 2))
    linked = _linked()
    _link(found, {pair for way in (0, 1) for pair in meeting(found, way, linked)})
    return results


def after_loop(
    around: Surroundings,
    known: dict[int, Any],
    moments: tuple[Moment, Moment, Moment],
    values: Sequence[Any],
    compares: bool,
) -> list[Any]:
    """What variables hold after a loop, of what they hold before it, at the start of an iteration and at its end.

    What an iteration changes, or `compares` with another, may be the same as something that it has another object for.
    """
    before, start, end = moments
    if not any(map(_has_containers, values)) and not around.contents.containers:
        return list(values)
    results = _Ways(before, end, known).settled(values)
    rewritten()
    ways = zip(before.values, start.values, end.values, strict=True)
    met = list(map(Position, ways, results, around.places.names))
    found = positions(moments, _roots(around, met, known, 3))
    pairs = _met_in_some_iteration(found)
    changed = start.changed_until(end)
    if compares and any(found[a].ways[1] is not found[b].ways[1] for a, b in pairs):
        raise Untraceable(_COMPARED + at(user_location()))

    def is_stale(a: Position, b: Position) -> bool:
        return a.ways[1] is not b.ways[1] and not changed.isdisjoint((id(a.ways[1]), id(b.ways[1])))

    _link(found, pairs, is_stale)
    return results


def _met_in_some_iteration(found: Sequence[Position]) -> set[tuple[int, int]]:
    """The places that may hold one object after a number of iterations: an iteration moves it from others to them."""
    linked = _linked()
    pairs = {pair for way in (0, 2) for pair in meeting(found, way, linked)}
    leads: dict[int, list[int]] = {}  # from where an iteration takes an object, to where it leaves it
    for k, p in enumerate(found):
        for x in (id(p.ways[2]), *linked.get(id(p.ways[2]), ())):
            leads.setdefault(x, []).append(k)
    waiting = list(pairs)
    while waiting:
        a, b = waiting.pop()
        for k in leads.get(id(found[a].ways[1]), ()):
            for j in leads.get(id(found[b].ways[1]), ()):
                pair = (min(k, j), max(k, j))
                if k != j and pair not in pairs:
                    pairs.add(pair)
                    waiting.append(pair)
    return pairs


def _has_containers(x: Any) -> bool:
    return is_container(x) or (isinstance(x, tuple) and any(map(_has_containers, x)))


def _roots(around: Surroundings, variables: Sequence[Position], known: dict[int, Any], n: int) -> list[Position]:
    """The variables at `n` moments, and what is known besides by the names that it has."""
    names = {id(x): _EARLIER + name for name, x in zip(around.places.names, around.before, strict=False)}
    names |= {id(x): place.name for place, x in around.reachable.slots if place.name not in around.places.names}
    names |= {id(v.after): v.name for v in variables}
    return [*variables, *(Position((c,) * n, c, names.get(i, "")) for i, c in known.items())]


class _Ways(NamedTuple):
    """The two ways through a branch or loop, and the objects that were there before, by identity."""

    first: Moment
    second: Moment
    known: dict[int, Any]

    def settled(self, values: Sequence[Any]) -> list[Any]:
        """The values after it, with what is one known object on both ways in place of copies; in what is known, too."""
        for c in self.known.values():
            _with_items(c, self._settled_items(c, c, c))
        return [
            self._settled(*way) for way in zip(self.first.values, self.second.values, values, strict=True)
        ]

    def _settled(self, a: Any, b: Any, x: Any) -> Any:
        if a is b and id(a) in self.known and _of_one_kind(x, a):
            return a
        if id(x) in self.known or not isinstance(x, (list, dict, tuple)):
            return x
        new = self._settled_items(a, b, x)
        return _with_items(x, new)

    def _settled_items(self, a: Any, b: Any, x: Any) -> dict[Any, Any]:
        first, second = self.first.items(a), self.second.items(b)
        return {k: self._settled(first.get(k), second.get(k), v) for k, v in items_of(x).items()}


def _of_one_kind(a: Any, b: Any) -> bool:
    return any(isinstance(a, kind) and isinstance(b, kind) for kind in (list, dict))


def _with_items(x: Any, new: dict[Any, Any]) -> Any:
    other = {k: new[k] for k, v in items_of(x).items() if new[k] is not v}
    if other and isinstance(x, tuple):
        return x._make(new.values()) if hasattr(x, "_make") else tuple(new.values())
    kind = dict if isinstance(x, dict) else list
    for k, v in other.items():
        kind.__setitem__(x, k, v)
    return x


def refuse_appended(around: Surroundings, appended: Iterable[Any], values: Iterable[Any]) -> None:
    """Raise where a compiled loop appends a list or dict that has another name: a list that it builds has copies."""
    reached = [v for _, v in around.reachable.slots]
    reached += [v for _, held in around.reachable.objects for v in held.values()]
    others = Moment([*around.before, *values, *reached, *(c for _, c, _ in around.reachable.containers)])
    put = Moment(appended)
    if not others.containers.keys().isdisjoint(put.containers):
        raise Untraceable(
            "a compiled loop appends a list or dict that has another name, or is in another one: append a copy, as in "
            f"rows.append(list(row)), or the numbers themselves{at(user_location())}"
        )


def _linked() -> dict[int, set[int]]:
    """What may be one object, by identity, as branches and loops before have it."""
    found: dict[int, set[int]] = {}
    for link in _links():
        a, b = map(id, link.pair)
        found.setdefault(a, set()).add(b)
        found.setdefault(b, set()).add(a)
    return found


def _link(
    found: Sequence[Position],
    pairs: Iterable[tuple[int, int]],
    is_stale: Callable[[Position, Position], bool] = lambda a, b: False,
) -> None:
    """Link what is in places that may hold one object, as long as there are two."""
    if not _open.links:
        return
    links = _links()
    known = {frozenset(map(id, link.pair)): link for link in links}
    _note(links)
    for a, b in sorted(pairs):
        x, y = found[a].after, found[b].after
        key, stale = frozenset((id(x), id(y))), is_stale(found[a], found[b])
        if x is y or not _of_one_kind(x, y) or (key in known and not (stale and not known[key].stale)):
            continue
        if key in known:
            links.remove(known[key])
        known[key] = _Link(x, y, (found[a].name, found[b].name), stale)
        links.append(known[key])
