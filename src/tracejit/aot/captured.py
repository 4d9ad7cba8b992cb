"""Variables and tensors that an exported function reads besides its arguments, and readable names for them."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from ..core.tensor import Tensor
from ..frontend.function.function import Function
from ..frontend.function.methods import BoundFunction, Method
from ..frontend.state.module import Module
from ..frontend.state.variable import Variable


def captured_names(f: Callable[..., Any], held: Sequence[Variable | Tensor]) -> list[str]:
    """A name for each: its own where no other has it, else the way from the function there, ``first.layers.0.w``.

    Parameters
    ----------
    f : callable
    held : sequence of Variable or Tensor
        What `f` reads.
    """
    own = [_own_name(x) for x in held]
    times = Counter(own)
    paths = _paths(f, {id(x) for x in held})
    return [
        name if name and times[name] == 1 else paths.get(id(x), name or "constant")
        for name, x in zip(own, held, strict=True)
    ]


def _own_name(x: Variable | Tensor) -> str:
    """The name that a Variable was given; empty where there is none."""
    name = x.name.removesuffix(":0").replace("/", ".") if isinstance(x, Variable) else ""
    return "" if name == "Variable" else name


def _paths(f: Callable[..., Any], wanted: set[int]) -> dict[int, str]:
    """The shortest way to each object that is wanted, from what a function can see."""
    found: dict[int, str] = {}
    seen: set[int] = set()
    level = _seen_by(f)
    while level and len(found) < len(wanted):
        following: list[tuple[str, Any]] = []
        for path, x in level:
            if id(x) in wanted:
                found.setdefault(id(x), path)
            elif id(x) not in seen:
                seen.add(id(x))
                prefix = f"{path}." if path else ""
                following += [(f"{prefix}{step}", part) for step, part in Module.parts_of(x)]
        level = following
    return found


def _seen_by(f: Any) -> list[tuple[str, Any]]:
    """Names that a function can use, and what they stand for; a Module's own attributes need no name before them."""
    while isinstance(f, (Function, BoundFunction)):
        f = f.python_function
    f = f.bound() if isinstance(f, Method) else f
    found: list[tuple[str, Any]] = [("", f)] if isinstance(f, Module) else []
    owner = getattr(f, "__self__", None)
    if owner is not None:
        found.append(("", owner))
    try:
        closure = inspect.getclosurevars(inspect.unwrap(f))
    except (TypeError, ValueError):
        return found
    return [*found, *closure.nonlocals.items(), *closure.globals.items()]
