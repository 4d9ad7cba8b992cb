"""Validation of attributes from files: each must be what the op's declaration says, in the form that traces use.

In a trace they are canonical (`Op.canonicalize`), and shape rules rely on that. Those in a file anybody has written.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..dim import Dim
from ..errors import FAILURES, TracejitError
from ..op import Op
from ..tensor import Tensor
from .graph import Constant, Graph

_MAX_STRING = 1 << 12  # characters
_MAX_NUMBER = 1 << 40  # sizes, lengths of loops
_MAX_ITEMS = 1 << 12  # of a tuple


class NotAdmitted(TracejitError, ValueError):
    """A graph says something that no trace says, or that graphs from elsewhere must not say."""


def need(ok: object, what: str) -> None:
    """NotAdmitted with `what`, unless `ok`."""
    if not ok:
        raise NotAdmitted(what)


def _is_int(x: Any) -> bool:
    return type(x) is int and abs(x) <= _MAX_NUMBER


def _is_size(x: Any) -> bool:
    return isinstance(x, Dim) or (_is_int(x) and x >= 0)


def _is_text(x: Any) -> bool:
    return isinstance(x, str) and len(x) <= _MAX_STRING


def _is_slices(x: Any) -> bool:
    """Start, length and step for each axis."""
    return _all(
        lambda s: isinstance(s, tuple) and len(s) == 3 and all(_is_int(p) or isinstance(p, Dim) for p in s)
    )(x)


def _all(is_item: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda x: isinstance(x, tuple) and len(x) <= _MAX_ITEMS and all(map(is_item, x))


def _or_none(is_it: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda x: x is None or is_it(x)


def _is_a(kind: Any) -> Callable[[Any], bool]:
    return lambda x: isinstance(x, kind)


#: What an attribute may be, by how its declaration is annotated.
KINDS: dict[str, Callable[[Any], bool]] = {
    "Any": _is_a((bool, int, float, complex)),
    "Constant": _is_a(Constant),
    "Graph": _is_a(Graph),
    "Graph | None": _or_none(_is_a(Graph)),
    "Size": _is_size,
    "Size | None": _or_none(_is_size),
    "Slices": _is_slices,
    "bool": _is_a(bool),
    "float": _is_a(float),
    "float | None": _or_none(_is_a(float)),
    "int": _is_int,
    "int | str": lambda x: _is_int(x) or _is_text(x),
    "np.dtype": lambda x: isinstance(x, np.dtype) and x.kind in "biufcV",
    "str": _is_text,
    "tuple[Shape, ...]": _all(lambda x: _is_int(x) or _all(_is_int)(x)),
    "tuple[Size, ...]": _all(_is_size),
    "tuple[Slices, ...]": _all(_is_slices),
    "tuple[bool, ...]": _all(_is_a(bool)),
    "tuple[int, ...]": _all(_is_int),
    "tuple[str, ...]": _all(_is_text),
}


@lru_cache(maxsize=512)
def declared(op: Op) -> dict[str, str]:
    """The annotations of an op's attributes."""
    parameters = inspect.signature(op.infer).parameters.values()
    return {p.name: str(p.annotation) for p in parameters if p.kind is p.KEYWORD_ONLY}


def check_attributes(op: Op, inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> None:
    """NotAdmitted unless each is of the kind that is declared, and axes are axes of the first input, counted from 0."""
    kinds = declared(op)
    for name, value in attrs.items():
        need(name in kinds, f"{op} has no attribute {name}")
        need(
            KINDS[kinds[name]](value),
            f"{op} has the attribute {name}={_short(value)}, which is no {kinds[name]}",
        )
    rank = len(inputs[0].shape) if inputs else 0
    axis = attrs.get("axis", ())
    axes = axis if isinstance(axis, tuple) else (axis,)
    need(
        list(axes) == sorted({a for a in axes if 0 <= a < rank}),
        f"{op} has the axis {_short(axis)} of {rank}",
    )
    need(attrs.get("error", "ValueError") in FAILURES, f"{op} raises {_short(attrs.get('error'))}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
