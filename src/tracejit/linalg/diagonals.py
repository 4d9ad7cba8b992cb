"""Diagonals, bands and triangles of matrices in the last two axes: chosen by row and column numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.dim import product
from ..core.errors import ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from ..frontend.control.reductions import reduce_sum
from ..ops.arrays.shape import expand_dims
from ..ops.tensor.indexing import get

_INT64 = np.dtype("int64")


def offsets(rows: Any, columns: Any) -> Any:
    """Of each place of a matrix, the number of its diagonal: 0 is the main one, 1 the one above."""
    down, across = (ops.iota(size=n, dtype=_INT64) for n in (rows, columns))
    return ops.subtract(across, expand_dims(down, 1))


def _matrices(x: Any) -> Any:
    x = as_tensor(x)
    if len(x.shape) < 2:
        raise ShapeError(f"takes matrices, got {x.spec}{at(user_location())}")
    return x


def diag_part(input: Any, name: str | None = "diag_part", k: int = 0) -> Tensor:
    """The diagonal `k` places above the main one of the last two axes of `input`, as its last axis; same dtype.

    ShapeError for fewer axes, and where there is no such diagonal.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.linalg.diag_part([[1.0, 2.0], [3.0, 4.0]]))
    tf.Tensor([1. 4.], shape=(2,), dtype=float32)
    """
    x = _matrices(input)
    *lead, rows, columns = x.shape
    down, right = max(-int(k), 0), max(int(k), 0)
    count = min(int(rows) - down, int(columns) - right)
    if count < 0 or (count == 0 and k):
        raise ShapeError(f"{x.spec} has no diagonal {k}{at(user_location())}")
    flat = ops.reshape(x, shape=(*lead, rows * columns))
    start = down * columns + right if count else 0
    return ops.slice(flat, slices=(*((0, d, 1) for d in lead), (start, count, columns + 1)))


def diag(
    diagonal: Any,
    name: str | None = "diag",
    k: int = 0,
    num_rows: int = -1,
    num_cols: int = -1,
    padding_value: Any = 0,
) -> Tensor:
    """Matrices with these diagonals, `padding_value` elsewhere.

    Parameters
    ----------
    diagonal : tensor-like
        The diagonals along the last axis.
    k : int
        So many places above the main diagonal.
    num_rows, num_cols : int
        The size of the matrices: square without them, and with one given the other as small as can be.
    padding_value : scalar

    Raises
    ------
    ShapeError
        For scalars, and where the diagonal does not fit the size.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.linalg.diag([1, 2]))
    tf.Tensor(
    [[1 0]
     [0 2]], shape=(2, 2), dtype=int32)
    """
    x: Any = as_tensor(diagonal)
    if not x.shape:
        raise ShapeError(f"a diagonal has an axis, got {x.spec}{at(user_location())}")
    down, right, size = max(-int(k), 0), max(int(k), 0), x.shape[-1]
    square = size + down + right if num_rows < 0 and num_cols < 0 else None
    rows = square or (size + down if num_rows < 0 else num_rows)
    columns = square or (size + right if num_cols < 0 else num_cols)
    if min(rows - down, columns - right) != size:
        raise ShapeError(
            f"{x.spec} is not the diagonal {k} of a matrix of {rows} rows and {columns} columns{at(user_location())}"
        )
    row = [
        ops.fill(shape=(*x.shape[:-1], n), value=0, dtype=x.dtype) for n in (right, columns - right - size)
    ]
    along = ops.concat(row[0], x, row[1], axis=len(x.shape) - 1)  # its element for each column
    chosen = ops.equal(offsets(rows, columns), int(k))
    return ops.where(chosen, expand_dims(along, -2), ops.cast(padding_value, dtype=x.dtype))


def set_diag(input: Any, diagonal: Any, name: str | None = "set_diag", k: int = 0) -> Tensor:
    """The matrices in the last two axes of `input` with `diagonal` as the one `k` places above the main one.

    Shape and dtype stay; ShapeError where the diagonal has another size.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.linalg.set_diag([[1, 2], [3, 4]], [0, 0]))
    tf.Tensor(
    [[0 2]
     [3 0]], shape=(2, 2), dtype=int32)
    """
    x = _matrices(input)
    rows, columns = x.shape[-2:]
    placed = diag(ops.cast(as_tensor(diagonal, x.dtype), dtype=x.dtype), None, k, rows, columns)
    return ops.where(ops.equal(offsets(rows, columns), int(k)), placed, x)


def band_part(input: Any, num_lower: int, num_upper: int, name: str | None = None) -> Tensor:
    """The matrices in `input`, its last two axes, with `num_lower` and `num_upper` diagonals beside the main one.

    -1 is all; 0 elsewhere; shape and dtype stay. ShapeError for fewer axes.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.linalg.band_part([[1, 2], [3, 4]], -1, 0))
    tf.Tensor(
    [[1 0]
     [3 4]], shape=(2, 2), dtype=int32)
    """
    x = _matrices(input)
    offset = offsets(*x.shape[-2:])
    low, high = int(num_lower), int(num_upper)
    if low >= 0:
        x = ops.where(ops.greater_equal(offset, -low), x, ops.cast(0, dtype=x.dtype))
    return ops.where(ops.less_equal(offset, high), x, ops.cast(0, dtype=x.dtype)) if high >= 0 else x


def trace(x: Any, name: str | None = None) -> Tensor:
    """The sum of the main diagonal of the last two axes of `x`; ShapeError for fewer axes, DtypeError for bools.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.linalg.trace([[1.0, 2.0], [3.0, 4.0]]))
    tf.Tensor(5.0, shape=(), dtype=float32)
    """
    return reduce_sum(diag_part(x), -1)


def tensor_diag(diagonal: Any, name: str | None = None) -> Tensor:
    """Twice the axes of `diagonal`: its elements where both halves of the position agree, else 0. Same dtype.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.linalg.tensor_diag([1, 2]))
    tf.Tensor(
    [[1 0]
     [0 2]], shape=(2, 2), dtype=int32)
    """
    x: Any = as_tensor(diagonal)
    row = ops.reshape(x, shape=(x.spec.size,))
    return ops.reshape(diag(row), shape=(*x.shape, *x.shape))


def tensor_diag_part(input: Any, name: str | None = None) -> Tensor:
    """What :func:`tensor_diag` was made of: the elements of `input`, of its dtype, at positions whose halves agree.

    ShapeError where the halves of its shape differ.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.linalg.tensor_diag_part([[1.0, 2.0], [3.0, 4.0]]))
    tf.Tensor([1. 4.], shape=(2,), dtype=float32)
    """
    x: Any = as_tensor(input)
    half = len(x.shape) // 2
    if x.shape[:half] != x.shape[half:] or not half:
        raise ShapeError(f"the second half of the sizes of {x.spec} is not the first{at(user_location())}")
    size = product(x.shape[:half])
    return ops.reshape(diag_part(ops.reshape(x, shape=(size, size))), shape=x.shape[:half])


def _turned(v: Any, k: int) -> Any:
    """The elements along the last axis, the first `k` behind the others."""
    return ops.concat(get(v, (..., slice(k, None))), get(v, (..., slice(k))), axis=len(v.shape) - 1)


def cross(a: Any, b: Any, name: str | None = None) -> Tensor:
    """The vector product of `a` and `b` along the last axis, of size 3, promoted; ShapeError for another size.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.linalg.cross([1, 0, 0], [0, 1, 0]))
    tf.Tensor([0 0 1], shape=(3,), dtype=int32)
    """
    x, y = as_tensor(a), as_tensor(b)
    if not x.shape or not y.shape or x.shape[-1] != 3 or y.shape[-1] != 3:
        raise ShapeError(f"the vectors have three elements, got {x.spec} and {y.spec}{at(user_location())}")
    (x1, y1), (x2, y2) = ([_turned(v, k) for v in (x, y)] for k in (1, 2))
    return ops.subtract(ops.multiply(x1, y2), ops.multiply(x2, y1))
