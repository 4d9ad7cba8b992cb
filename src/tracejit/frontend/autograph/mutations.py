"""Attributes that functions called from a branch or loop assign: no syntax of the caller shows them.

Converted code announces each assignment; whoever traces a body collects the announcements, and traces it again
with what was assigned among the variables that it hands on.
"""

from __future__ import annotations

import threading
from typing import Any

from ...core.trace import Trace
from ..structure import flatten
from .contents import Contents
from .state import AttributePlace, Cell, Place, Places, found_in_class
from .values import UNSET, traced


class _Stack(threading.local):
    def __init__(self) -> None:
        self.logs: list[Mutations] = []


_stack = _Stack()


class Mutation:
    """An attribute that was assigned, and what it was before.

    Attributes
    ----------
    contents : Contents
        What the lists and dicts in it held.
    grows : bool
        It is a list to which something is appended.
    """

    def __init__(self, owner: Any, attribute: str, grows: bool):
        self.owner, self.attribute, self.grows = owner, attribute, grows
        self.name = f"{type(owner).__name__}.{attribute}"
        self.before = AttributePlace(attribute, lambda: owner, attribute).get()
        self.contents = Contents([self.before])


class Mutations:
    """What was assigned while this was open: ``(owner, attribute)`` and the value before."""

    def __init__(self) -> None:
        self.cells: list[Cell] = []  # local names of lists and dicts that were changed through others
        self.found: dict[tuple[int, str], Mutation] = {}

    def __enter__(self) -> Mutations:
        _stack.logs.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _stack.logs.remove(self)

    def restore(self) -> None:
        """Give every attribute the value it had."""
        for m in self.found.values():
            m.contents.restore()
            AttributePlace(m.attribute, lambda m=m: m.owner, m.attribute).set(m.before)  # type: ignore[misc]

    def unknown_to(self, places: Places) -> list[Place]:
        """The places that were assigned and are not among `places`; objects made inside are left out."""
        known = {(id(p.owner), p.attribute) for p in places.places if isinstance(p, AttributePlace)}
        attributes: list[Place] = [
            AttributePlace(m.name, lambda m=m: m.owner, m.attribute)  # type: ignore[misc]
            for key, m in self.found.items()
            if key not in known and not _made_inside(m)
        ]
        return [*attributes, *self.cells]

    def grown(self) -> list[str]:
        """Names of the lists to which something was appended."""
        return [m.name for m in self.found.values() if m.grows] + [c.name for c in self.cells if c.grows]


def _made_inside(mutation: Mutation) -> bool:
    home = getattr(mutation.owner, "home", None)
    if isinstance(home, Trace):
        return home.graph.finished
    leaves = flatten(mutation.before)[0]
    return any(
        traced(x)
        and hasattr(x, "value")
        and getattr(x.value, "graph", None) is not None
        and x.value.graph.finished
        for x in leaves
        if x is not UNSET
    )


def changing(owner: Any, attribute: str, grows: bool = False) -> None:
    """An attribute is about to be assigned, or changed in place, perhaps by appending to the list that it is."""
    if _stack.logs and found_in_class(owner, attribute).__class__ is property:
        return  # the function that it calls says what it assigns
    for log in _stack.logs:
        key = (id(owner), attribute)
        if key not in log.found:
            log.found[key] = Mutation(owner, attribute, grows)
        log.found[key].grows |= grows
