"""``a.flat[i] = v`` in converted functions: the elements of an array in a row, written to in its own axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.seams import numpy_function
from ...core.tensor import Tensor
from ...ops.tensor.indexing import get
from .items import holds_traced
from .parts import (
    set_item,
    set_item_of,
    set_item_shared,
    update_item,
    update_item_of,
    update_item_shared,
)

#: Functions of NumPy's that are called from here compare sizes for the program, see `core.asking`.
COMPARES_FOR_CALLERS = True


def set_flat(value: Any, x: Any, indices: Sequence[Any]) -> Any:
    """``x.flat[i] = value``; returns what `x` is from here on."""
    return _set(set_item, value, x, indices)


def set_flat_shared(value: Any, x: Any, indices: Sequence[Any]) -> Any:
    """The same of what other names may know."""
    return _set(set_item_shared, value, x, indices)


def update_flat(how: str, x: Any, indices: Sequence[Any], value: Any) -> Any:
    """``x.flat[i] += value`` and the like; returns what `x` is from here on."""
    return _update(update_item, how, x, indices, value)


def update_flat_shared(how: str, x: Any, indices: Sequence[Any], value: Any) -> Any:
    """The same of what other names may know."""
    return _update(update_item_shared, how, x, indices, value)


def _set(by: Callable[..., Any], value: Any, x: Any, indices: Sequence[Any]) -> Any:
    if not _is_array(x, indices):
        set_item_of(value, x, "flat", indices)
        return x
    return by(value, x, (_in_axes(x, indices[0]),))


def _update(by: Callable[..., Any], how: str, x: Any, indices: Sequence[Any], value: Any) -> Any:
    if not _is_array(x, indices):
        update_item_of(how, x, "flat", indices, value)
        return x
    return by(how, x, (_in_axes(x, indices[0]),), value)


def _is_array(x: Any, indices: Sequence[Any]) -> bool:
    return isinstance(x, (Tensor, np.ndarray)) and len(indices) == 1


def _in_axes(x: Any, index: Any) -> tuple[Any, ...]:
    """The index of these elements, one of NumPy's per axis."""
    shape = tuple(x.shape)
    if not holds_traced(index) and all(n.__class__ is int for n in shape):
        return np.unravel_index(np.arange(np.prod(shape, dtype=int))[index], shape)
    rows = numpy_function("arange")(numpy_function("prod")(shape) if shape else 1)
    found: tuple[Any, ...] = numpy_function("unravel_index")(get(rows, index), shape)
    return found
