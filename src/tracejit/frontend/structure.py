"""Nests: lists, tuples, named tuples and dicts whose leaves are everything else, taken apart and rebuilt.

A structure is hashable and compares by content, so it can be part of a cache key. Knows neither tensors nor
NumPy. None is a structure without leaves.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ..core.depth import too_deep


class Leaf:
    """The structure of anything that is not a nest."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "*"


LEAF = Leaf()


class Nest(NamedTuple):
    """The structure of a list, tuple, dict or None: how many children, of what structure.

    Attributes
    ----------
    kind : type
        list, tuple, a named tuple's class, dict, OrderedDict or NoneType.
    keys : tuple
        A dict's keys in its own order.
    children : tuple of structures
        For a dict in sorted order of the keys where they sort, so that equal dicts have equal leaves.
    """

    kind: type
    keys: tuple[Any, ...]
    children: tuple[Any, ...]


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


def _flatten(nest: Any, leaves: list[Any]) -> Structure:
    kind = kind_of(nest)
    if kind is None:
        leaves.append(nest)
        return LEAF
    if nest is None:
        return NONE
    if kind is dict or kind is OrderedDict:
        return Nest(kind, tuple(nest), tuple([_flatten(nest[k], leaves) for k in in_order(nest)]))
    return Nest(kind, (), tuple([_flatten(child, leaves) for child in nest]))


_kinds: dict[type, type | None] = {tuple: tuple, list: list, dict: dict, type(None): type(None)}


def kind_of(nest: Any) -> type | None:
    """The class to rebuild a nest with; None for a leaf."""
    kind = nest.__class__
    try:
        return _kinds[kind]
    except KeyError:
        return _kinds.setdefault(kind, _kind_of_class(kind))


def _kind_of_class(kind: type) -> type | None:
    if issubclass(kind, tuple):
        return kind if hasattr(kind, "_fields") else tuple
    return next((k for k in (list, OrderedDict, dict) if issubclass(kind, k)), None)


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
    kind, keys, children = structure
    if kind is type(None):
        return None
    built = [_unflatten(child, leaves) for child in children]
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
    kind = kind_of(nest)
    if (
        kind is None
        or len(nest) != len(structure.children)
        or (structure.keys and set(nest) != set(structure.keys))
    ):
        raise ValueError(f"expected a nest like {text(structure)}, got {text(flatten(nest)[1])}")
    values = [nest[k] for k in in_order(nest)] if structure.keys else list(nest)
    return [leaf for s, v in zip(structure.children, values, strict=True) for leaf in leaves_like(s, v)]


def alike(a: Structure, b: Structure) -> bool:
    """Equal structures, the order in which dicts were filled apart."""
    if a == b:
        return True
    if not isinstance(a, Nest) or not isinstance(b, Nest):
        return False
    if a.kind is not b.kind or len(a.children) != len(b.children) or set(a.keys) != set(b.keys):
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
    return f"{structure.kind.__name__}({', '.join(inner)})"
