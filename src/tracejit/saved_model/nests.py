"""Structures of arguments and results, and Python values among them, as plain JSON and back. No code is ever run."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

from ..core.dtype import DType
from ..core.spec import as_dtype
from ..frontend.structure import LEAF, Leaf, Nest, Structure

_TYPES: dict[str, type] = {
    t.__name__: t
    for t in (int, float, complex, bool, str, tuple, list, dict, OrderedDict, type(None), type(Ellipsis))
}


def encoded(x: Any) -> Any:
    """JSON for a structure, a Python value or a nest of them.

    Raises
    ------
    TypeError
        Says what cannot be saved.
    """
    match x:
        case Leaf():
            return ["leaf"]
        case Nest():
            if _TYPES.get(x.kind.__name__) is not x.kind:
                raise TypeError(f"it takes or returns a {x.kind.__name__}; use tuples, lists and dicts")
            return ["nest", x.kind.__name__, encoded(x.keys), encoded(x.children)]
        case None | bool() | int() | str():
            return ["value", x]
        case float():
            return ["float", x.hex()]
        case complex():
            return ["complex", x.real.hex(), x.imag.hex()]
        case tuple() | list():
            return ["tuple" if isinstance(x, tuple) else "list", [encoded(e) for e in x]]
        case np.dtype() | DType():
            return ["dtype", x.name]
        case type() if _TYPES.get(x.__name__) is x:
            return ["type", x.__name__]
    if x is Ellipsis:
        return ["ellipsis"]
    raise TypeError(f"it depends on a Python object, {type(x).__name__}, which a file of numbers cannot hold")


_KINDS = (tuple, list, dict, OrderedDict, type(None))  # of structures


def decoded_structure(x: Any) -> Structure:
    """The structure that :func:`encoded` was given; ValueError for anything else."""
    structure = decoded(x)
    if not _is_structure(structure):
        raise ValueError(f"not a structure: {x!r}")
    return structure


def _is_structure(x: Any) -> bool:
    if not isinstance(x, Nest):
        return x is LEAF
    mapping = x.kind in (dict, OrderedDict)
    fits = (
        x.kind in _KINDS
        and isinstance(x.keys, tuple)
        and isinstance(x.children, tuple)
        and len(x.keys) == len(set(x.keys)) == (len(x.children) if mapping else 0)
        and (x.kind is not type(None) or not x.children)
    )
    return fits and all(_is_structure(child) for child in x.children)


def decoded(x: Any) -> Any:
    """The inverse of :func:`encoded`; ValueError for anything else."""
    match x:
        case ["leaf"]:
            return LEAF
        case ["nest", str(kind), keys, children] if kind in _TYPES:
            return Nest(_TYPES[kind], decoded(keys), decoded(children))
        case ["value", None | bool() | int() | str() as value]:
            return value
        case ["float", text]:
            return float.fromhex(text)
        case ["complex", a, b]:
            return complex(float.fromhex(a), float.fromhex(b))
        case ["tuple", items]:
            return tuple(decoded(e) for e in items)
        case ["list", items]:
            return [decoded(e) for e in items]
        case ["dtype", str(name)] if as_dtype(name).kind in "biufcV":
            return as_dtype(name)
        case ["type", str(name)] if name in _TYPES:
            return _TYPES[name]
        case ["ellipsis"]:
            return Ellipsis
    raise ValueError(f"not an encoded value: {x!r}")
