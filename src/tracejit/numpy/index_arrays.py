"""NumPy's arrays of positions: grids, and numbers of elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays import cutting
from ..core.dim import known
from ..core.errors import ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from ..ops.tensor.memory.overlaps import copied
from .conversion import array, require, values_of
from .elements.elementwise import nonzero


def meshgrid(*xi: Any, indexing: str = "xy", sparse: bool = False, copy: bool = True) -> list[Tensor]:
    """Coordinates `xi` spread over a grid: one tensor per vector, of its dtype, all of the grid's shape.

    `sparse` ones keep size 1 along the others' axes. `indexing` is "xy", columns first, or "ij"; ValueError for
    others. Without `copy` they may be views.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print([x.shape for x in tnp.meshgrid([1.0, 2.0], [3.0, 4.0, 5.0])])
    [TensorShape([3, 2]), TensorShape([3, 2])]
    """
    if not xi:
        return []
    vectors = [copied(array(x)) if copy and isinstance(x, Tensor) else array(x) for x in xi]
    if not sparse:
        return cutting.meshgrid(*vectors, indexing=indexing)
    axes = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        axes[:2] = 1, 0
    return [
        ops.reshape(x, shape=tuple([x.spec.size if k == a else 1 for k in range(len(xi))]))
        for x, a in zip(vectors, axes, strict=True)
    ]


def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    """The positions of an array of the shape `dimensions`: one such array of `dtype` per axis, along a new first axis.

    `sparse` ones are a tuple of tensors, each with size 1 along the others' axes. ValueError for negative sizes.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.indices((2, 2)).shape)
    (2, 2, 2)
    """
    if sparse:
        return tuple([as_tensor(x) for x in np.indices(dimensions, dtype=dtype, sparse=True)])
    return as_tensor(np.indices(dimensions, dtype=dtype))


def ix_(*args: Any) -> tuple[Any, ...]:
    """Vectors of positions as indices of the grid of their combinations: each along an axis of its own.

    NumPy's arrays for `args` that are known, else tensors; bools are masks. ValueError for what is no vector.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> x = tnp.arange(6).reshape((2, 3))
    >>> print(x[tnp.ix_([0, 1], [0, 2])])
    tf.Tensor(
    [[0 2]
     [3 5]], shape=(2, 2), dtype=int64)
    """
    if not any(isinstance(x, Tensor) and x.is_symbolic for x in args):
        return np.ix_(*map(values_of, args))
    vectors = [array(x) for x in args]
    if any(len(x.shape) != 1 for x in vectors):
        raise ShapeError(f"takes vectors, got {[str(x.spec) for x in vectors]}{at(user_location())}")
    numbers = [nonzero(x)[0] if x.dtype.kind == "b" else x for x in vectors]
    return tuple(
        [
            ops.reshape(x, shape=tuple([-1 if i == k else 1 for i in range(len(numbers))]))
            for k, x in enumerate(numbers)
        ]
    )


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: Any = "C") -> Any:
    """The numbers, among all elements of an array of the shape `dims`, of those at the positions `multi_index`.

    `mode`, one or one for each axis, says what positions beyond the end mean, as in :func:`take`; with the `order` "F"
    columns come first. NumPy's array for positions that are known, else an int64 tensor. ValueError for positions that
    are not there, now or when a compiled function runs.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.ravel_multi_index(([0, 1], [2, 0]), (2, 3)))
    [2 3]
    """
    parts = list(multi_index)
    if not any(isinstance(x, Tensor) and x.is_symbolic for x in parts):
        return np.ravel_multi_index(tuple(map(values_of, parts)), dims, mode, order)
    modes = [mode] * len(parts) if isinstance(mode, str) else list(mode)
    axes = list(zip(map(array, parts), dims, modes, strict=True))
    number: Any = 0
    for x, size, how in axes if order == "C" else reversed(axes):
        if how == "raise":
            inside = ops.logical_and(ops.less_equal(0, x), ops.less(x, size))
            require(inside, f"a position is outside of an axis of {size}")
        x = ops.mod(x, size) if how == "wrap" else ops.minimum(ops.maximum(x, 0), size - 1)
        number = ops.add(ops.multiply(number, size), ops.cast(x, dtype=np.dtype(np.int64)))
    return number


def unravel_index(indices: Any, shape: Any, order: Any = "C") -> tuple[Any, ...]:
    """The positions, in an array of that `shape`, of the elements of the numbers `indices` among all.

    A tuple with one for each axis, NumPy's arrays for numbers that are known, else tensors; with the `order` "F"
    columns come first. ValueError for numbers that are not there, now or when a compiled function runs.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> rows, columns = tnp.unravel_index([2, 3], (2, 3))
    >>> print(rows, columns)
    [0 1] [2 0]
    """
    if not (isinstance(indices, Tensor) and indices.is_symbolic):
        return np.unravel_index(values_of(indices), shape, order)
    sizes = [int(d) for d in np.atleast_1d(shape)]
    total = math.prod(sizes)
    rest: Any = indices
    require(ops.logical_and(ops.less_equal(0, rest), ops.less(rest, total)), f"a number is not below {total}")
    positions = []
    for size in reversed(sizes) if order == "C" else sizes:
        positions.append(ops.mod(rest, size))
        rest = ops.floordiv(rest, size)
    return tuple(reversed(positions) if order == "C" else positions)


def diag_indices_from(arr: Any) -> tuple[np.ndarray, ...]:
    """The positions of the diagonal of `arr`, all of whose axes are of one size, as int64 vectors, one per axis.

    ShapeError where they are not.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> rows, columns = tnp.diag_indices_from(tnp.zeros((2, 2)))
    >>> print(rows, columns)
    [0 1] [0 1]
    """
    sizes = [known(size) for size in array(arr).shape]
    if len(sizes) < 2 or len(set(sizes)) > 1:
        raise ShapeError(f"{array(arr).spec} has no diagonal of all axes{at(user_location())}")
    return np.diag_indices(sizes[0], len(sizes))


def tril_indices_from(arr: Any, k: int = 0) -> tuple[np.ndarray, ...]:
    """The positions on and below the `k`-th diagonal of the matrix `arr`, two int64 vectors; ShapeError for others.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> rows, columns = tnp.tril_indices_from(tnp.zeros((2, 2)))
    >>> print(rows, columns)
    [0 1 1] [0 0 1]
    """
    return np.tril_indices(*_rows_and_columns(arr, k))


def triu_indices_from(arr: Any, k: int = 0) -> tuple[np.ndarray, ...]:
    """The positions on and above the `k`-th diagonal of the matrix `arr`, two int64 vectors; ShapeError for others.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> rows, columns = tnp.triu_indices_from(tnp.zeros((2, 2)))
    >>> print(rows, columns)
    [0 0 1] [0 1 1]
    """
    return np.triu_indices(*_rows_and_columns(arr, k))


def _rows_and_columns(arr: Any, k: int) -> tuple[int, int, int]:
    x = array(arr)
    if len(x.shape) != 2:
        raise ShapeError(f"takes a matrix, got {x.spec}{at(user_location())}")
    rows, columns = map(known, x.shape)
    return rows, k, columns
