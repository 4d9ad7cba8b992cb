"""Direct reads: ``x[index]`` by NumPy itself, where nothing traces or records and both agree on the index.

It may skip work, never add meaning: what NumPy reads differently, or refuses, goes the way of `indexing.get`, which
also words the errors.
"""

from __future__ import annotations

from collections.abc import Hashable
from types import EllipsisType, NoneType
from typing import Any

import numpy as np

from ...core.tensor import Tensor
from ...core.tracing.dispatch import Mode

#: Parts of an index that mean the same to everybody.
_SIMPLE = frozenset([int, NoneType, EllipsisType])
_BOUNDS = frozenset([int, NoneType])


def read(mode: Mode, x: Any, index: Any) -> Tensor | None:
    """The part of an eager tensor; None where the long way is to be taken."""
    array = x._payload
    if mode.busy or mode.guards or array.__class__ is not np.ndarray or x.dtype.kind == "O":
        return None
    kind = index.__class__
    if kind is int:
        understood: Any = (index, ...)
        copies = False
    elif kind is slice:
        understood = index if _is_plain(index) else None
        copies = False
    else:
        understood, copies = _understood(index if isinstance(index, tuple) else (index,))
    if understood is None:
        return None
    try:
        part = array[understood]
    except (IndexError, ValueError, TypeError):
        return None
    if part.__class__ is not np.ndarray:
        part = np.asarray(part)
    elif copies:
        if not part.flags.c_contiguous:
            part = np.ascontiguousarray(part)
    elif part.shape == array.shape:
        return None  # it may be the tensor itself, which is to stay the same one
    return Tensor(part)


def key_of(index: Any) -> Hashable | None:
    """A simple index as a key, of which `index_of` is the inverse; None where tensors, arrays or others choose."""
    if index.__class__ is int:
        return index
    parts: list[Hashable] = []
    for entry in index if isinstance(index, tuple) else (index,):
        if entry.__class__ is slice and _is_plain(entry):
            parts.append((entry.start, entry.stop, entry.step))
        elif entry.__class__ in _SIMPLE:
            parts.append(entry)
        else:
            return None
    return tuple(parts)


def index_of(key: Any) -> Any:
    """The index with this key."""
    if key.__class__ is int:
        return key
    return tuple([slice(*part) if part.__class__ is tuple else part for part in key])


def _is_plain(part: slice) -> bool:
    return (
        part.start.__class__ in _BOUNDS and part.stop.__class__ in _BOUNDS and part.step.__class__ in _BOUNDS
    )


def _understood(index: tuple[Any, ...]) -> tuple[tuple[Any, ...] | None, bool]:
    """The index as NumPy takes it, None where it would not; and whether arrays choose, which copies."""
    entries: list[Any] = []
    copies = False
    for entry in index:
        kind = entry.__class__
        if kind is slice:
            if not _is_plain(entry):
                return None, False
        elif kind not in _SIMPLE:
            if kind is Tensor:
                entry = entry._payload
            if entry.__class__ is not np.ndarray or not entry.ndim or entry.dtype.kind not in "iub":
                return None, False
            copies = True
        entries.append(entry)
    return tuple(entries), copies
