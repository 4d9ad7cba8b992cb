"""User classes that are nests, as tuples are: registered classes and dataclasses.

A node's children are taken out and put into another one of its class; what else it has is part of the structure and is
compared exactly. Knows neither tensors nor how nests are walked.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable, Sequence
from dataclasses import fields, is_dataclass
from types import FunctionType
from typing import Any

#: Values that no op takes: fields that have one are no children.
_PLAIN = (str, bytes, type, enum.Enum, FunctionType)

_PACKAGE = __name__.partition(".")[0]

#: Classes whose objects, and those of their subclasses, are leaves whatever they are declared as.
_leaves: tuple[type, ...] = ()
_nodes: dict[type, NodeClass] = {}


class Static:
    """What a node has besides its children. 1, True and 1.0 differ, and 0.0 and -0.0."""

    __slots__ = ("key", "value")

    def __init__(self, value: Any):
        self.value: Any = value
        self.key: Hashable = _exact(value)

    def __eq__(self, other: object) -> bool:
        return other.__class__ is Static and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return repr(self.value)


def _exact(x: Any) -> Hashable:
    if x.__class__ is tuple:
        return tuple([_exact(e) for e in x])
    return (float, x.hex()) if x.__class__ is float else (x.__class__, x)


class NodeClass:
    """How objects of a class are taken apart and made.

    Attributes
    ----------
    flatten : callable
        ``object -> (children, what else it has)``, which can be hashed.
    unflatten : callable
        ``(what else it has, children) -> object``.
    labels : callable
        ``what else it has -> names of the children``, or None: they have numbers.
    changes : bool
        Can fields of an object be assigned, so that it is not only the value of its children?
    """

    __slots__ = ("flatten", "unflatten", "labels", "changes")

    def __init__(
        self,
        flatten: Callable[[Any], tuple[Sequence[Any], Any]],
        unflatten: Callable[[Any, Sequence[Any]], Any],
        labels: Callable[[Any], Sequence[str]] | None = None,
        changes: bool = False,
    ):
        self.flatten: Callable[[Any], tuple[Sequence[Any], Any]] = flatten
        self.unflatten: Callable[[Any, Sequence[Any]], Any] = unflatten
        self.labels: Callable[[Any], Sequence[str]] | None = labels
        self.changes: bool = changes


def register(kind: type, node: NodeClass) -> None:
    """Let objects of exactly this class be nodes."""
    _nodes[kind] = node


def is_registered(kind: type) -> bool:
    """Has the class been registered, or met as a dataclass?"""
    return kind in _nodes


def never(kind: type) -> None:
    """Let objects of a class and its subclasses be leaves, also of those that are dataclasses."""
    global _leaves
    _leaves = (*_leaves, kind)


def node_class(kind: type) -> NodeClass | None:
    """How objects of a class are taken apart; None for leaves."""
    if kind in _nodes:
        return _nodes[kind]
    own = kind.__module__.partition(".")[0] == _PACKAGE
    if own or not is_dataclass(kind) or issubclass(kind, _leaves) or hasattr(kind, "__tensor__"):
        return None
    parameters = getattr(kind, "__dataclass_params__", None)
    if (
        parameters is None or not parameters.eq
    ):  # told apart by identity: no value, but one of the program's objects
        return None
    return _nodes.setdefault(kind, _of_dataclass(kind, not parameters.frozen))


def _of_dataclass(kind: type, changes: bool) -> NodeClass:
    """Its children are its fields, but for those whose metadata say ``static`` and those that no op takes."""
    named = {f.name: bool(f.metadata.get("static")) for f in fields(kind)}

    def flatten(x: Any) -> tuple[list[Any], Any]:
        names, children, static = [], [], []
        for name, is_static in named.items():
            value = getattr(x, name, None)
            if is_static or isinstance(value, _PLAIN):
                static.append((name, value))
            else:
                names.append(name)
                children.append(value)
        return children, (tuple(names), tuple(static))

    def unflatten(static: Any, children: Sequence[Any]) -> Any:
        """An object with these fields: what makes one of the user's may want numbers."""
        names, others = static
        x: Any = object.__new__(kind)
        for name, value in (*zip(names, children, strict=True), *others):
            object.__setattr__(x, name, value)
        return x

    return NodeClass(flatten, unflatten, lambda static: static[0], changes)
