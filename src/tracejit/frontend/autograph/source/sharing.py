"""Aliases: names under which a function may know the same array, so that it must stay a NumPy array.

A part, ``row = y[i]`` or ``for row in y``, sees what is written to the whole, and other names what ``y += 1`` does.
What is written to elements is seen under every name of the whole, ``z = y``, as `ops.tensor.memory.storage` has it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .walking import below

_VIEWS = frozenset("reshape ravel transpose swapaxes squeeze view diagonal".split())
_OF_ITEMS = frozenset(("enumerate", "zip", "reversed", "iter"))


def shared_names(node: ast.AST) -> frozenset[str]:
    """The names in a function of what may be written to by parts, or changed in place while another name knows it."""
    nodes = below(node)
    added = {n.target.id for n in nodes if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)}
    filled = added | set(_filled(nodes))
    if not filled:
        return frozenset()
    shared = {name for name in _kept_in_lists(nodes) if name in added}
    pairs = [(one, other, whole) for one, other, whole in _pairs(nodes) if one != other]
    for one, other, whole in pairs:
        if (whole and not added.isdisjoint((one, other))) or (not whole and one in filled):
            shared |= {one, other}
    same = [{one, other} for one, other, whole in pairs if whole]
    while more := [names for names in same if names & shared and not names <= shared]:
        shared = shared.union(*more)
    return frozenset(shared)


def _filled(nodes: list[ast.AST]) -> Iterator[str]:
    for n in nodes:
        if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store):
            root = _root(n)
            if root is not None:
                yield root


def _kept_in_lists(nodes: list[ast.AST]) -> Iterator[str]:
    for n in nodes:
        if (
            isinstance(n, ast.Call)
            and isinstance(n.func, ast.Attribute)
            and n.func.attr in ("append", "insert")
        ):
            yield from (a.id for a in n.args if isinstance(a, ast.Name))


def _pairs(nodes: list[ast.AST]) -> Iterator[tuple[str, str, bool]]:
    """Each name that is assigned, what it may be a part of, and whether it is the whole."""
    for n in nodes:
        if isinstance(n, ast.Assign):
            for target in n.targets:
                yield from _matched(target, n.value)
            names = [t.id for t in n.targets if isinstance(t, ast.Name)]
            yield from ((a, b, True) for a in names for b in names)
        elif isinstance(n, (ast.AnnAssign, ast.NamedExpr)) and n.value is not None:
            yield from _matched(n.target, n.value)
        elif isinstance(n, (ast.For, ast.comprehension)):
            named = (
                isinstance(n.iter, ast.Call)
                and isinstance(n.iter.func, ast.Name)
                and n.iter.func.id in _OF_ITEMS
            )
            roots = map(_root, n.iter.args if isinstance(n.iter, ast.Call) and named else [n.iter])
            targets = [t.id for t in below(n.target) if isinstance(t, ast.Name)]
            yield from ((a, b, False) for b in roots if b is not None for a in targets)


def _matched(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, str, bool]]:
    """The pairs of one assignment to names; what is assigned to a part is copied."""
    if isinstance(target, (ast.Tuple, ast.List)):
        several = isinstance(value, (ast.Tuple, ast.List))
        values = value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value] * len(target.elts)
        for t, v in zip(target.elts, values, strict=False):
            yield from ((a, b, whole and several) for a, b, whole in _matched(t, v))
    elif isinstance(target, (ast.Name, ast.Starred)) and (root := _root(value)) is not None:
        name = target.value if isinstance(target, ast.Starred) else target
        if isinstance(name, ast.Name):
            yield name.id, root, isinstance(value, ast.Name)


def _root(node: ast.expr) -> str | None:
    """The name that an expression is the value of, or a part or another view of."""
    while not isinstance(node, ast.Name):
        if isinstance(node, (ast.Subscript, ast.Starred)):
            node = node.value
        elif isinstance(node, ast.Attribute) and node.attr in ("T", "mT", "real", "imag", "flat"):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS:
            node = node.func.value
        else:
            return None
    return node.id
