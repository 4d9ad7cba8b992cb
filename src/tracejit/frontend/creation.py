"""Making tensors by rule: constant fills, ranges, identity matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import settings
from ..core.arrays import to_array
from ..core.dispatch import as_tensor
from ..core.op import ops
from ..core.tensor import Tensor
from ..ops.shape import sizes_of
from .conversion import constant


def default_float() -> np.dtype:
    """The dtype of Python floats, see ``set_default_dtype``."""
    return np.dtype(settings.current().default_dtype)


def zeros(shape: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """A tensor of zeros."""
    return ops.fill(shape=sizes_of(shape), value=0, dtype=np.dtype(dtype or default_float()))


def ones(shape: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """A tensor of ones."""
    return ops.fill(shape=sizes_of(shape), value=1, dtype=np.dtype(dtype or default_float()))


def zeros_like(x: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Zeros of the shape (and dtype) of `x`."""
    x = as_tensor(x)
    return ops.fill(shape=x.shape, value=0, dtype=np.dtype(dtype or x.dtype))


def ones_like(x: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Ones of the shape (and dtype) of `x`."""
    x = as_tensor(x)
    return ops.fill(shape=x.shape, value=1, dtype=np.dtype(dtype or x.dtype))


def fill(dims: Any, value: Any, name: str | None = None) -> Tensor:
    """A tensor of shape `dims` with every element the scalar `value`."""
    return ops.broadcast_to(as_tensor(value), sizes_of(dims))


def eye(num_rows: int, num_columns: int | None = None, dtype: Any = None, name: str | None = None) -> Tensor:
    """The identity matrix."""
    return constant(np.eye(num_rows, num_columns, dtype=dtype or default_float()))


def range_(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str | None = None
) -> Tensor:
    """``start, start + delta, ...`` up to but not including `limit`; with one argument from 0.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.range(3))
    tf.Tensor([0 1 2], shape=(3,), dtype=int32)
    """
    if limit is None:
        start, limit = 0, start
    bounds = [_bound(b) for b in (start, limit, delta)]
    wanted = np.result_type(*bounds) if dtype is None else np.dtype(dtype)
    if dtype is None and wanted.kind == "f" and not any(b.dtype == np.float64 for b in bounds):
        wanted = default_float()
    return constant(np.arange(*bounds, dtype=wanted))


def _bound(x: Any) -> Any:
    """A number that decides a shape, of the dtype a tensor of it has; one without a value raises."""
    holds = x.__class__ is Tensor or hasattr(x, "__tensor__")
    return (as_tensor(x).array if holds else to_array(x))[()]


def linspace(start: Any, stop: Any, num: int, name: str | None = None) -> Tensor:
    """`num` numbers evenly spaced from `start` to `stop`, both included."""
    ends = [_bound(b) for b in (start, stop)]
    dtype = np.result_type(*ends)
    return constant(
        np.linspace(ends[0], ends[1], int(num)).astype(dtype if dtype.kind == "f" else default_float())
    )


def size(x: Any, name: str | None = None) -> Tensor:
    """The number of elements, an int32 scalar."""
    total = as_tensor(x).spec.size
    return ops.cast(ops.size_value(size=total), dtype=np.dtype(np.int32))


def rank(x: Any, name: str | None = None) -> Tensor:
    """The number of axes, an int32 scalar."""
    return constant(len(as_tensor(x).shape))


def shape(x: Any, name: str | None = None) -> Tensor:
    """The sizes, an int32 vector."""
    sizes = as_tensor(x).shape
    if not sizes:
        return constant([], dtype=np.int32)
    parts = [ops.reshape(ops.size_value(size=s), shape=(1,)) for s in sizes]
    return ops.cast(ops.concat(*parts, axis=0), dtype=np.dtype(np.int32))
