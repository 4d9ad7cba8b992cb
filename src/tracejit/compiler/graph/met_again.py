"""Graphs that are met again: a function that is made anew for each call is traced to an equal graph each time.

What takes long to work out, and follows from what a graph says, is kept for those that were met lately and more than
once; a graph that is met once, as most are, costs a digest. Does not know what is kept.
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

#: Nodes of a graph for which looking is worth it, and of all graphs that are kept together.
SHORT, ROOM = 200, 60_000
#: Bytes of constants up to which a graph is kept.
LIGHT = 1 << 20
#: Digests of graphs that were met once.
REMEMBERED = 256

_once: dict[bytes, None] = {}
_kept: dict[bytes, tuple[Graph, object]] = {}
_lock = fork_safe()


def met_again(graph: Graph, make: Callable[[Graph], T]) -> T:
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
    """Is all that its place says a line, and its op one that means the same wherever its name stands?"""
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
