"""Attributes that are assigned by functions called from a branch or loop, which the syntax of the caller does not show.

Converted code announces each assignment; whoever traces a body collects the announcements, and traces it again
with what was assigned among the variables that it hands on.
"""

from __future__ import annotations

import threading
from typing import Any

from ....core.ir.graph import Graph
from ....core.tensor import Tensor
from ....core.tracing.trace import Trace
from ....core.tracing.transaction import is_attempting, remember
from ...state.variable import tracer
from ...structure import flatten_values as flatten
from ..values.contents import ContainerSnapshot
from ..values.kinds import UNSET
from .place import AttributePlace, is_computed
from .reachable import Change


class _Stack(threading.local):
    def __init__(self) -> None:
        self.logs: list[MutationLog] = []


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
        self.owner = owner
        self.attribute = attribute
        self.grows = grows
        self.name: str = f"{type(owner).__name__}.{attribute}"
        self.before: Any = self.place().get()
        self.contents: ContainerSnapshot = ContainerSnapshot([self.before])

    def place(self) -> AttributePlace:
        """The attribute as a place that can be handed on."""
        return AttributePlace(self.name, lambda: self.owner, self.attribute)

    def restore(self) -> None:
        """Give it the value it had."""
        self.contents.restore()
        self.place().set(self.before)


class MutationLog:
    """What was assigned while this was open: ``(owner, attribute)`` and the value before."""

    def __init__(self) -> None:
        self.mutations: dict[tuple[int, str], Mutation] = {}

    def __enter__(self) -> MutationLog:
        _stack.logs.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _stack.logs.remove(self)

    def restore(self) -> None:
        """Give every attribute the value it had."""
        for m in self.mutations.values():
            m.restore()

    def earlier(self) -> list[str]:
        """What was assigned that had a value before: attributes of objects made inside mostly have none."""
        return [m.name for m in self.mutations.values() if m.before is not UNSET]

    def changes(self) -> list[Change]:
        """The places that were assigned; objects made inside are left out."""
        return [Change(m.place(), m.grows) for m in self.mutations.values() if not _made_inside(m)]


def _made_inside(mutation: Mutation) -> bool:
    """Was the object made by the body that is being traced, or by one that has been?"""
    home = getattr(mutation.owner, "home", None)
    if isinstance(home, Trace):
        return _is_inner(home.graph)
    tensors = [x for x in flatten(mutation.before)[0] if x.__class__ is Tensor and x.is_symbolic]
    return any(_is_inner(x.value.graph) for x in tensors)


def _is_inner(graph: Graph) -> bool:
    now = tracer()
    return graph.finished or (now is not None and graph is now.graph)


def changing(owner: Any, attribute: str, grows: bool = False) -> None:
    """An attribute is about to be assigned, or changed in place, perhaps by appending to the list that it is."""
    if not is_attempting() and not _stack.logs:
        return
    if is_computed(owner, attribute):
        return  # the function that it calls says what it assigns
    key = (id(owner), attribute)
    remember(key, lambda: Mutation(owner, attribute, grows).restore)
    for log in _stack.logs:
        if key not in log.mutations:
            log.mutations[key] = Mutation(owner, attribute, grows)
        log.mutations[key].grows |= grows
