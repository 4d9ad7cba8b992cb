"""Nests: flattening and rebuilding lists, tuples, named tuples, dicts and registered classes.

A structure is hashable and compares by content, so it can be part of a cache key. Knows neither tensors nor
NumPy. None is a structure without leaves. Nodes are classes of the user's, see `nodes`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ..core.errors import at, user_location
from ..core.tracing.depth import too_deep
from . import nodes
from .nodes import NodeClass, Static, is_registered, node_class


class Leaf:
    """The structure of anything that is not a nest."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "*"


LEAF = Leaf()


class Nest(NamedTuple):
    """The structure of a list, tuple, dict, node or None: how many children, of what structure.

    Attributes
    ----------
    kind : type
        list, tuple, a named tuple's class, dict, OrderedDict, NoneType or a node's class.
    keys : tuple
        A dict's keys in its own order.
    children : tuple of structures
        For a dict in sorted order of the keys where they sort, so that equal dicts have equal leaves.
    static : Static, optional
        What a node has besides its children.
    """

    kind: type
    keys: tuple[Any, ...]
    children: tuple[Any, ...]
    static: Static | None = None


Structure = Leaf | Nest

NONE = Nest(type(None), (), ())


def flatten(nest: Any) -> tuple[list[Any], Structure]:
    """The leaves of a nest in order, and its structure.

    Examples
    --------
    >>> flatten({"b": 1, "a": [2, None]})[0]
    [2, 1]
    """
    leaves: list[Any] = []
    try:
        return leaves, _flatten(nest, leaves)
    except RecursionError as error:
        raise too_deep(error) from None


def flatten_values(nest: Any) -> tuple[list[Any], Structure]:
    """:func:`flatten` in which objects whose fields can be assigned are leaves: objects of the program, no values."""
    leaves: list[Any] = []
    try:
        return leaves, _flatten(nest, leaves, False)
    except RecursionError as error:
        raise too_deep(error) from None


def _flatten(nest: Any, leaves: list[Any], objects: bool = True) -> Structure:
    cls = nest.__class__
    kind = _kinds[cls] if cls in _kinds else _kinds.setdefault(cls, _kind_of_class(cls))
    if kind is None or (kind.__class__ is NodeClass and kind.changes and not objects):
        leaves.append(nest)
        return LEAF
    if nest is None:
        return NONE
    if kind is dict or kind is OrderedDict:
        return Nest(kind, tuple(nest), tuple([_flatten(nest[k], leaves, objects) for k in in_order(nest)]))
    if kind.__class__ is NodeClass:
        children, static = kind.flatten(nest)
        return Nest(cls, (), tuple([_flatten(c, leaves, objects) for c in children]), _static(cls, static))
    return Nest(kind, (), tuple([_flatten(child, leaves, objects) for child in nest]))


def _static(cls: type, value: Any) -> Static:
    static = Static(value)
    try:
        hash(static)
    except TypeError as error:
        raise TypeError(
            f"what a {cls.__name__} has besides its children tells traces apart and must be hashable: {error}"
            f"{at(user_location())}"
        ) from None
    return static


_kinds: dict[type, Any] = {tuple: tuple, list: list, dict: dict, type(None): type(None)}


def kind_of(nest: Any) -> type | None:
    """The class of Python's own to rebuild a nest with; None for a leaf and for a node."""
    kind = nest.__class__
    try:
        kind = _kinds[kind]
    except KeyError:
        kind = _kinds.setdefault(kind, _kind_of_class(kind))
    return None if kind.__class__ is NodeClass else kind


def node_of(x: Any) -> NodeClass | None:
    """How a node is taken apart; None for all else."""
    kind_of(x)
    kind = _kinds[x.__class__]
    return kind if kind.__class__ is NodeClass else None


def _kind_of_class(kind: type) -> type | NodeClass | None:
    if is_registered(kind) or not issubclass(kind, (tuple, list, dict)):
        return node_class(kind)
    if issubclass(kind, tuple):
        return kind if hasattr(kind, "_fields") else tuple
    return next(k for k in (list, OrderedDict, dict) if issubclass(kind, k))


def register(kind: type, node: NodeClass) -> None:
    """Let objects of exactly this class be nodes."""
    nodes.register(kind, node)
    _kinds[kind] = node


def labels(structure: Nest) -> Sequence[Any]:
    """What the children of a nest are called: keys, names of fields, or numbers."""
    if structure.keys:
        return in_order(structure.keys)
    node = None if structure.static is None else node_class(structure.kind)
    if node is not None and node.labels is not None and structure.static is not None:
        return node.labels(structure.static.value)
    return getattr(structure.kind, "_fields", range(len(structure.children)))


def in_order(keys: Any) -> Sequence[Any]:
    """Sorted keys; in the order given where they do not compare."""
    try:
        return sorted(keys)
    except TypeError:
        return tuple(keys)


def unflatten(structure: Structure, leaves: Sequence[Any] | Iterator[Any]) -> Any:
    """The inverse of :func:`flatten`: put leaves into a structure."""
    if structure is LEAF:
        return next(iter(leaves))
    return _unflatten(structure, iter(leaves))


def _unflatten(structure: Structure, leaves: Iterator[Any]) -> Any:
    if not isinstance(structure, Nest):
        return next(leaves)
    kind, keys, children, static = structure
    if kind is type(None):
        return None
    built = [_unflatten(child, leaves) for child in children]
    if static is not None:
        node = node_class(kind)
        assert node is not None
        return node.unflatten(static.value, built)
    if kind is list:
        return built
    if kind is tuple:
        return tuple(built)
    if kind is dict or kind is OrderedDict:
        by_key = dict(zip(in_order(keys), built, strict=True))
        return kind((k, by_key[k]) for k in keys)
    return kind(*built)


def count_leaves(structure: Structure) -> int:
    """How many leaves a structure has."""
    if not isinstance(structure, Nest):
        return 1
    return sum(count_leaves(child) for child in structure.children)


def map_structure(f: Callable[..., Any], nest: Any, *others: Any) -> Any:
    """Apply `f` to the leaves of nests of one structure; ValueError when the structures differ.

    Examples
    --------
    >>> map_structure(lambda a, b: a + b, [1, (2,)], [10, (20,)])
    [11, (22,)]
    """
    leaves, structure = flatten(nest)
    columns = [leaves]
    for other in others:
        more, other_structure = flatten(other)
        if not alike(other_structure, structure):
            raise ValueError(
                f"the nests have different structures: {text(structure)} and {text(other_structure)}"
            )
        columns.append(more)
    return unflatten(structure, [f(*row) for row in zip(*columns, strict=True)])


def leaves_like(structure: Structure, nest: Any) -> list[Any]:
    """The leaves of a nest of the given structure, in which None may stand for a leaf or a whole branch.

    ValueError when the nest has another structure.
    """
    if nest is None:
        return [None] * count_leaves(structure)
    if not isinstance(structure, Nest):
        return [nest]
    if structure.static is not None:
        children = children_like(structure, nest)
        if children is None:
            raise ValueError(f"expected a nest like {text(structure)}, got {text(flatten(nest)[1])}")
        pairs = zip(structure.children, children, strict=True)
        return [leaf for s, v in pairs for leaf in leaves_like(s, v)]
    kind = kind_of(nest)
    if (
        kind is None
        or len(nest) != len(structure.children)
        or (structure.keys and set(nest) != set(structure.keys))
    ):
        raise ValueError(f"expected a nest like {text(structure)}, got {text(flatten(nest)[1])}")
    values = [nest[k] for k in in_order(nest)] if structure.keys else list(nest)
    return [leaf for s, v in zip(structure.children, values, strict=True) for leaf in leaves_like(s, v)]


def children_like(structure: Nest, nest: Any) -> Sequence[Any] | None:
    """The children of a node like that one; None for anything else."""
    node = node_of(nest)
    if node is None or nest.__class__ is not structure.kind:
        return None
    children = node.flatten(nest)[0]
    return children if len(children) == len(structure.children) else None


def alike(a: Structure, b: Structure) -> bool:
    """Equal structures, the order in which dicts were filled apart."""
    if a == b:
        return True
    if not isinstance(a, Nest) or not isinstance(b, Nest):
        return False
    if (
        a.kind is not b.kind
        or a.static != b.static
        or len(a.children) != len(b.children)
        or set(a.keys) != set(b.keys)
    ):
        return False
    return all(alike(x, y) for x, y in zip(a.children, b.children, strict=True))


def text(structure: Structure) -> str:
    """A structure as a person reads it, with ``*`` for a leaf."""
    if not isinstance(structure, Nest):
        return "*"
    inner = [text(c) for c in structure.children]
    if structure.kind is type(None):
        return "None"
    if structure.kind is list:
        return f"[{', '.join(inner)}]"
    if structure.kind is tuple:
        return f"({', '.join(inner)}{',' if len(inner) == 1 else ''})"
    if structure.keys:
        pairs = zip(in_order(structure.keys), inner, strict=True)
        return "{" + ", ".join(f"{k!r}: {v}" for k, v in pairs) + "}"
    if structure.static is not None:
        inner = [
            part if isinstance(k, int) else f"{k}={part}"
            for k, part in zip(labels(structure), inner, strict=True)
        ]
    return f"{structure.kind.__name__}({', '.join(inner)})"
