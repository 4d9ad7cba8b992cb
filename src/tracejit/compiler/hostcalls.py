"""Ops whose kernels compiled code calls in Python: how programs encode such a call, and how it runs.

The spelling is all an object file knows: the op, its attributes and what its arguments look like. So it holds in any
process.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..core.dim import Dim
from ..core.op import OPS
from ..runtime.hostcall import host_entry
from ..runtime.signature import Signature


def spelled(
    op: str, arguments: Sequence[tuple[np.dtype, int]], attrs: Mapping[str, Any], results: int = 0
) -> str:
    """The call of the kernel of `op` on arrays of these dtypes and ranks, as text; the last `results` are written."""
    named = [[dtype.name, rank] for dtype, rank in arguments]
    return json.dumps([op, named, dict(attrs), results] if results else [op, named, dict(attrs)])


def results(name: str) -> int:
    """How many of its arrays, the last ones, a spelled call writes."""
    return sum(json.loads(name)[3:])


def is_host_call(name: str) -> bool:
    """Is it a spelled call, rather than the name of a library kernel?"""
    return name.startswith("[")


def arguments(name: str) -> list[tuple[np.dtype, int]]:
    """The dtypes and ranks of the arrays it takes and, behind them, of those it writes."""
    return [(np.dtype(dtype), rank) for dtype, rank in json.loads(name)[1]]


def function(name: str) -> Callable[..., Sequence[Any]]:
    """The kernel, with its attributes, from the arrays it takes to a sequence of what it writes."""
    op, _, attrs, *written = json.loads(name)
    run = functools.partial(OPS[op].kernel, **{key: _as_attribute(x) for key, x in attrs.items()})

    def call(*arrays: np.ndarray) -> Sequence[Any]:
        found = run(*arrays)
        return (found if isinstance(found, tuple) else (found,)) if written else ()

    return call


def _as_attribute(value: Any) -> Any:
    """An attribute as it was: text tells no tuples from lists, and attributes hold no lists."""
    return tuple([_as_attribute(x) for x in value]) if isinstance(value, list) else value


def entry(name: str) -> Any:
    """What machine code calls: pointers to the arrays, then all their sizes."""
    arrays = []
    atoms: list[tuple[str, int, int]] = []
    for position, (dtype, rank) in enumerate(arguments(name)):
        names = [f"s{len(atoms) + axis}" for axis in range(rank)]
        atoms += [(s, position, axis) for axis, s in enumerate(names)]
        arrays.append((dtype, tuple(Dim.of(s) for s in names)))
    given = len(arrays) - results(name)
    return host_entry(function(name), Signature(tuple(arrays[:given]), tuple(arrays[given:]), tuple(atoms)))
