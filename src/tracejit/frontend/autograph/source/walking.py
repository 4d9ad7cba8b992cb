"""A walk over the nodes of a syntax tree, faster than that of `ast`: nodes without children or position are skipped."""

from __future__ import annotations

import ast
from ast import AST
from typing import TypeVar

N = TypeVar("N", bound=ast.AST)

_PLACE = ("lineno", "col_offset", "end_lineno", "end_col_offset")
#: Fields of texts, numbers, contexts and operators.
_PLAIN = frozenset(
    "ctx id attr op ops kind type_comment arg asname module level conversion simple is_async tag rest "
    "kwd_attrs".split()
)
_fields: dict[type[ast.AST], tuple[str, ...]] = {ast.Constant: (), ast.MatchSingleton: ()}


def fields_of(node: ast.AST) -> tuple[str, ...]:
    """The names of a node's fields that may hold nodes with a place."""
    try:
        return _fields[node.__class__]
    except KeyError:
        found = tuple(name for name in node._fields if name not in _PLAIN)
        return _fields.setdefault(node.__class__, found)


def children(node: ast.AST) -> list[ast.AST]:
    """As ``ast.iter_child_nodes``, without contexts and operators."""
    found: list[ast.AST] = []
    for name in fields_of(node):
        value = getattr(node, name, None)
        if value.__class__ is list:
            found += [item for item in value if isinstance(item, AST)]
        elif isinstance(value, AST):
            found.append(value)
    return found


def below(*roots: ast.AST) -> list[ast.AST]:
    """As ``ast.walk``, without contexts and operators: the trees' nodes, those higher up first."""
    found = list(roots)
    for node in found:
        if fields_of(node):
            found += children(node)
    return found


def moved_down(tree: ast.AST, lines: int) -> None:
    """As ``ast.increment_lineno``."""
    for node in below(tree):
        if node._attributes:
            node.lineno += lines  # type: ignore[attr-defined]
            node.end_lineno += lines  # type: ignore[attr-defined]


def with_places(tree: N) -> N:
    """As ``ast.fix_missing_locations``: what has no place takes that of the node around it."""
    waiting: list[tuple[ast.AST, list[int]]] = [(tree, [1, 0, 1, 0])]
    while waiting:
        node, around = waiting.pop()
        if node._attributes:
            own = [getattr(node, name, None) for name in _PLACE]
            if None in own:
                own = [there if here is None else here for here, there in zip(own, around, strict=True)]
                for name, value in zip(_PLACE, own, strict=True):
                    setattr(node, name, value)
            around = own  # type: ignore[assignment]
        if fields_of(node):
            waiting += [(child, around) for child in children(node)]
    return tree
