"""A cache of what follows from a graph: a function that is made anew for each call is traced to equal graphs.

Expensive results are kept for graphs that were seen recently and more than once; a graph that is seen once, as most
are, costs a digest. Does not know what the results are.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable
from typing import TypeVar

from ...core import settings
from ...core.ir import text
from ...core.ir.graph import Graph, Node, walk
from ...runtime.threads.forks import fork_safe

T = TypeVar("T")

#: The least number of nodes of a graph that is looked up, and the most of all cached graphs together.
SHORT, ROOM = 200, 60_000
#: The most bytes of constants of a cached graph.
LIGHT = 1 << 20
#: How many digests of graphs that were seen once are remembered.
REMEMBERED = 256

_once: dict[bytes, None] = {}
_kept: dict[bytes, tuple[Graph, object]] = {}
_lock = fork_safe()


def cached_for_equal(graph: Graph, make: Callable[[Graph], T]) -> T:
    """``make(graph)``, or what that was for an equal graph: the same text, ops, lines of the program and settings."""
    nodes = [node for _, node in walk(graph)] if len(graph.nodes) >= SHORT else []
    if not nodes or len(nodes) > ROOM or not all(map(_is_known_by_its_line, nodes)):
        return make(graph)
    key = _digest(graph, nodes)
    with _lock:
        kept = _kept.get(key)
    if kept is not None:
        return kept[1]  # type: ignore[return-value]
    made = make(graph)
    with _lock:
        if key not in _once:
            _once[key] = None
            _trim(_once, len(_once) - REMEMBERED)
        elif sum(a.nbytes for a in text.constants(graph).values()) <= LIGHT:
            _kept[key] = graph, made  # with the graph, which holds what the digest names by address
            _make_room()
    return made


def _is_known_by_its_line(node: Node) -> bool:
    """Does a file and line identify its place, and its name the meaning of its op?"""
    return "this_process" not in node.op.traits and (node.location is None or len(node.location) == 2)


def _digest(graph: Graph, nodes: list[Node]) -> bytes:
    places, lines = array("q"), dict[tuple[int, int], int]()
    for node in nodes:
        at = node.location
        if at is None:
            places.extend((id(node.op), 0, 0))
            continue
        place = id(at.code), at.lasti
        if place not in lines:
            lines[place] = at.line
        places.extend((id(node.op), place[0], lines[place]))
    digest = hashlib.sha256(text.to_text(graph).encode("utf-8", "surrogateescape"))
    digest.update(places.tobytes())
    digest.update(str(settings.current()).encode())
    return digest.digest()


def _make_room() -> None:
    """Let go of the graphs that were kept first, where there are too many nodes."""
    nodes = sum(len(graph.nodes) for graph, _ in _kept.values())
    while nodes > ROOM:
        graph, _ = _kept.pop(next(iter(_kept)))
        nodes -= len(graph.nodes)


def _trim(table: dict[bytes, None], number: int) -> None:
    for key in list(table)[: max(number, 0)]:
        del table[key]
