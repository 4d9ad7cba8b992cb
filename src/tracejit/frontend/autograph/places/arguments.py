"""Changes that a traced function makes to its arguments: the caller does not see them, so they warn or raise."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

from ....core.errors import Untraceable, at, stack_level, user_location
from ...nodes import NodeClass, Static
from ...structure import kind_of, node_of


class LostChangeWarning(UserWarning):
    """A compiled function changes a list or a dict among its arguments, and its caller's stays as it is."""


def changes(nest: Any, function: str) -> Callable[[], None]:
    """What looks, when `function` has run, whether it has changed its arguments: an error or a warning then."""
    assigned, written = _assignments(nest), _writings(nest)

    def look() -> None:
        _refuse(assigned())
        kind = written()
        if kind is not None:
            warnings.warn(
                f"{function} changes a {kind} among its arguments, and a compiled function gets copies of lists and "
                "dicts: its caller will not see the change. Return what has changed, or change a copy",
                LostChangeWarning,
                stacklevel=stack_level(),
            )

    return look


def _refuse(field: str | None) -> None:
    """Refuse to go on where a function has assigned a field of an argument: its caller would not see that."""
    if field is not None:
        raise Untraceable(
            f"a compiled function assigns {field} of an argument, which is a value there, made anew for each call: "
            f"return the changed object, as dataclasses.replace makes it{at(user_location())}"
        )


def _assignments(nest: Any) -> Callable[[], str | None]:
    """What tells later which field of a node inside has been assigned since, as ``class.field``; or None."""
    kept = [(x, node, node.flatten(x)) for x, node in _objects(nest)]

    def assigned() -> str | None:
        for x, node, (children, static) in kept:
            now, static_now = node.flatten(x)
            if Static(static) != Static(static_now):
                return type(x).__name__
            for k, (before, after) in enumerate(zip(children, now, strict=True)):
                if before is not after:
                    names = node.labels(static) if node.labels else range(len(now))
                    return f"{type(x).__name__}.{names[k]}"
        return None

    return assigned


def _objects(nest: Any) -> Iterator[tuple[Any, NodeClass]]:
    """The nodes inside whose fields can be assigned."""
    node, kind = node_of(nest), kind_of(nest)
    if node is not None and node.changes:
        yield nest, node
    children = node.flatten(nest)[0] if node is not None else () if kind is None or nest is None else nest
    for child in children.values() if isinstance(children, dict) else children:
        yield from _objects(child)


def _writings(nest: Any) -> Callable[[], str | None]:
    """What tells later of which kind a container inside is that has been written to since, or None."""
    kept = [(x, [*x.items()] if isinstance(x, dict) else [*x]) for x in _containers(nest)]

    def written() -> str | None:
        for x, before in kept:
            now = [*x.items()] if isinstance(x, dict) else [*x]
            if len(now) != len(before) or not all(map(_same, before, now)):
                return "dict" if isinstance(x, dict) else "list"
        return None

    return written


def _same(a: Any, b: Any) -> bool:
    return a is b or (
        a.__class__ is tuple is b.__class__ and len(a) == 2 == len(b) and a[0] == b[0] and a[1] is b[1]
    )


def _containers(nest: Any) -> Iterator[Any]:
    if isinstance(nest, (list, dict)):
        yield nest
    if isinstance(nest, (list, tuple, dict)):
        for child in nest.values() if isinstance(nest, dict) else nest:
            yield from _containers(child)
