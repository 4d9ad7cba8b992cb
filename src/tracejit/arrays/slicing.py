"""Parts of tensors by position, as functions: slices by begin and size, elements and rows by lists of positions.

Each says in the index language of `ops.indexing` and `ops.at` what tutorials say by name; nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.dim import Size, same
from ..core.errors import ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from ..frontend.conversion import convert_to_tensor
from ..frontend.creation import is_known, known
from ..ops.arrays.index import stacked_positions
from ..ops.arrays.reduce import one_axis, size_tensor
from ..ops.arrays.shape import sizes_of
from ..ops.tensor.at import At, Place
from ..ops.tensor.indexing import get
from . import selection

_INT64 = np.dtype("int64")
_whole = slice(None)  # before the name means a function here
_piece = slice


def slice(input_: Any, begin: Any, size: Any, name: str | None = None) -> Tensor:
    """The part of `size` that starts at `begin`.

    Parameters
    ----------
    input_ : tensor-like
    begin : sequence of int, or tensor
        Where it starts, one number per axis; may be known only at run time.
    size : sequence of int
        How much of each axis; -1 is all that is left.

    Raises
    ------
    IndexError
        When the part leaves the tensor.
    ShapeError
        Where there is not one number per axis.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.slice([[1, 2, 3], [4, 5, 6]], begin=[0, 1], size=[2, -1]))
    tf.Tensor(
    [[2 3]
     [5 6]], shape=(2, 2), dtype=int32)
    """
    x: Any = as_tensor(input_)
    starts, sizes = _numbers(begin), list(sizes_of(size))
    if not len(starts) == len(sizes) == len(x.shape):
        raise ShapeError(
            f"begin and size have one number per axis of {x.spec}, got {len(starts)} and {len(sizes)}"
            f"{at(user_location())}"
        )
    if any(isinstance(s, Tensor) for s in starts):
        return _late_slice(x, starts, sizes)
    parts = []
    for axis, (start, count, whole) in enumerate(zip(starts, sizes, x.shape, strict=True)):
        stop = whole if _is_rest(count) else start + count
        if isinstance(whole, int) and not 0 <= start <= stop <= whole:
            raise IndexError(
                f"the part from {start} to {stop} leaves axis {axis} of {x.spec}{at(user_location())}"
            )
        parts.append(_piece(start, stop))
    return get(x, tuple(parts))


def _is_rest(count: Size) -> bool:
    return isinstance(count, int) and count == -1


def _late_slice(x: Any, starts: Sequence[Any], sizes: Sequence[Size]) -> Tensor:
    """A part that starts where only a run of the function knows: each axis is read at checked positions."""
    if any(_is_rest(count) for count in sizes):
        raise ShapeError(
            f"size -1 of a part whose begin is known only at run time: give its size{at(user_location())}"
        )
    checked = []
    for start, count, whole in zip(starts, sizes, x.shape, strict=True):
        if not count:
            checked.append(as_tensor(np.int64(0)))
            continue
        more = size_tensor(count - 1)
        last = ops.checked_position(ops.add(ops.checked_position(start, size=whole), more), size=whole)
        checked.append(ops.subtract(last, more))  # told by the last one, so that its check is not idle
    return ops.dynamic_slice(x, stacked_positions(checked), sizes=tuple(sizes))


def _numbers(values: Any) -> list[Any]:
    """Ints where they are known, scalar tensors elsewhere."""
    if isinstance(values, (list, tuple)):
        return [n for v in values for n in (_numbers(v) if isinstance(v, Tensor) else [int(v)])]
    x: Any = as_tensor(values)
    if not x.is_symbolic:
        return [int(v) for v in x.array.reshape(-1)]
    return [get(x, i) for i in range(int(x.shape[0]))] if x.shape else [x]


def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: None = None,
    name: str | None = None,
) -> Tensor:
    """``input_[begin:end:strides]`` over the first axes, in numbers, of the same dtype.

    Bit i of a mask changes the meaning of the i-th numbers: there is no begin (`begin_mask`), no end (`end_mask`);
    they stand for an Ellipsis (`ellipsis_mask`), a new axis (`new_axis_mask`), or the position `begin` alone, whose
    axis is dropped (`shrink_axis_mask`). `var` is accepted. IndexError for a position that is not there, and for more
    numbers than axes.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.strided_slice([1, 2, 3, 4, 5, 6], [1], [6], [2]))
    tf.Tensor([2 4 6], shape=(3,), dtype=int32)
    """
    starts, stops = _numbers(begin), _numbers(end)
    steps = [1] * len(starts) if strides is None else _numbers(strides)
    index: list[Any] = []
    for i, (start, stop, step) in enumerate(zip(starts, stops, steps, strict=True)):
        bit = 1 << i
        if ellipsis_mask & bit:
            index.append(Ellipsis)
        elif new_axis_mask & bit:
            index.append(None)
        elif shrink_axis_mask & bit:
            index.append(start)
        else:
            index.append(_piece(None if begin_mask & bit else start, None if end_mask & bit else stop, step))
    return get(as_tensor(input_), tuple(index))


def gather_nd(params: Any, indices: Any, batch_dims: int = 0, name: str | None = None) -> Tensor:
    """Elements, or rows, of `params` at positions: the last axis of `indices` holds one position each.

    Parameters
    ----------
    params : tensor-like
    indices : tensor-like of integers
        Positions of n numbers name elements of the first n axes; what is behind these axes comes whole. Negative
        numbers count from the end.
    batch_dims : int
        So many leading axes belong together in both.

    Raises
    ------
    IndexError
        When a position is out of range.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.gather_nd([[1, 2], [3, 4]], [[0, 0], [1, 1]]))
    tf.Tensor([1 4], shape=(2,), dtype=int32)
    >>> print(tf.gather_nd([[1, 2], [3, 4]], [[1], [0]]))
    tf.Tensor(
    [[3 4]
     [1 2]], shape=(2, 2), dtype=int32)
    """
    x: Any = convert_to_tensor(params)
    where: Any = _positions(indices)
    lead = []
    for axis in range(int(batch_dims)):
        count = ops.iota(size=x.shape[axis], dtype=_INT64)
        lead.append(
            ops.reshape(count, shape=tuple([-1 if a == axis else 1 for a in range(len(where.shape) - 1)]))
        )
    columns = _columns(where)
    if not columns and not lead:
        return ops.broadcast_to(x, shape=(*where.shape[:-1], *x.shape))
    return get(x, (*lead, *columns))


def _positions(indices: Any) -> Any:
    where: Any = convert_to_tensor(indices)
    if (where.dtype.kind not in "iu" and where.spec.size != 0) or not where.shape:
        raise ShapeError(
            f"positions are integers, one position along the last axis, got {where.spec}{at(user_location())}"
        )
    return ops.cast(where, dtype=_INT64)


def _columns(where: Any) -> list[Any]:
    """The numbers of positions, one tensor per axis that they index."""
    return [get(where, (Ellipsis, i)) for i in range(int(where.shape[-1]))]


def scatter_nd(indices: Any, updates: Any, shape: Any, name: str | None = None) -> Tensor:
    """Zeros of that `shape` with `updates`, and their dtype, at positions; where those repeat they are added up.

    `indices` are as for :func:`tensor_scatter_nd_update`, and so are the errors: IndexError, ShapeError.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.scatter_nd([[4], [3], [1]], [9, 10, 11], [6]))
    tf.Tensor([ 0 11  0 10  9  0], shape=(6,), dtype=int32)
    """
    values: Any = convert_to_tensor(updates)
    zeros = ops.fill(shape=sizes_of(shape), value=0, dtype=values.dtype)
    return tensor_scatter_nd_add(zeros, indices, values)


def _places(tensor: Any, indices: Any, updates: Any) -> tuple[Place, Any]:
    """The part of a tensor that positions name, and what belongs there."""
    x: Any = convert_to_tensor(tensor)
    where, values = _positions(indices), convert_to_tensor(updates, x.dtype)
    place = At(x)[(*_columns(where), Ellipsis)]
    shape = (*where.shape[:-1], *x.shape[int(where.shape[-1]) :])
    return place, ops.broadcast_to(values, shape=shape)


def tensor_scatter_nd_update(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """The tensor with `updates` at positions; where positions repeat the last one stays.

    Parameters
    ----------
    tensor : tensor-like
    indices : tensor-like of integers
        The last axis holds one position each, as for :func:`gather_nd`.
    updates : tensor-like
        What is written there.

    Raises
    ------
    IndexError
        When a position is out of range.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.tensor_scatter_nd_update([1, 2, 3, 4], [[0], [2]], [9, 8]))
    tf.Tensor([9 2 8 4], shape=(4,), dtype=int32)
    """
    place, values = _places(tensor, indices, updates)
    return place.set(values)


def tensor_scatter_nd_add(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """`tensor` with `updates` added at the positions `indices`; where those repeat they are added up.

    Shape, dtype and errors (IndexError, ShapeError) are those of :func:`tensor_scatter_nd_update`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.tensor_scatter_nd_add([1, 2, 3], [[0], [0]], [10, 20]))
    tf.Tensor([31  2  3], shape=(3,), dtype=int32)
    """
    place, values = _places(tensor, indices, updates)
    return place.add(values)


def tensor_scatter_nd_sub(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """`tensor` with `updates` subtracted at the positions `indices`; where those repeat they are added up.

    Shape, dtype and errors (IndexError, ShapeError) are those of :func:`tensor_scatter_nd_update`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.tensor_scatter_nd_sub([1.0, 5.0], [[1]], [3.0]))
    tf.Tensor([1. 2.], shape=(2,), dtype=float32)
    """
    place, values = _places(tensor, indices, updates)
    return place.subtract(values)


def tensor_scatter_nd_max(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """`tensor` made no smaller than `updates` at the positions `indices`; the gradient is shared by equal elements.

    Shape, dtype and errors (IndexError, ShapeError) are those of :func:`tensor_scatter_nd_update`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.tensor_scatter_nd_max([1, 2, 3], [[0], [2]], [9, 1]))
    tf.Tensor([9 2 3], shape=(3,), dtype=int32)
    """
    return _extreme(tensor, indices, updates, True)


def tensor_scatter_nd_min(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """`tensor` made no larger than `updates` at the positions `indices`; the gradient is shared by equal elements.

    Shape, dtype and errors (IndexError, ShapeError) are those of :func:`tensor_scatter_nd_update`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.tensor_scatter_nd_min([1.0, 5.0], [[1]], [3.0]))
    tf.Tensor([1. 3.], shape=(2,), dtype=float32)
    """
    return _extreme(tensor, indices, updates, False)


def _extreme(tensor: Any, indices: Any, updates: Any, largest: bool) -> Tensor:
    """Of those that share a place the largest, or smallest, is the one to stay."""
    place, values = _places(tensor, indices, updates)
    x: Any = place.tensor
    flat = ops.reshape(x, shape=(x.spec.size,))
    number = ops.reshape(ops.iota(size=x.spec.size, dtype=_INT64), shape=x.shape)
    where, written = (ops.reshape(v, shape=(values.spec.size,)) for v in (get(number, place.index), values))
    return ops.reshape(ops.scatter_extreme(flat, where, written, largest=largest), shape=x.shape)


def boolean_mask(tensor: Any, mask: Any, axis: int | None = None, name: str | None = None) -> Tensor:
    """What a mask selects: elements, or rows where the mask has fewer axes.

    Parameters
    ----------
    tensor : tensor-like
    mask : array-like of bool
        Of the sizes of the axes it stands for. Of numbers, such as those of :func:`tracejit.one_hot`, those that are
        not 0 select. In a compiled function that computes it, the size of the result shows when that runs.
    axis : int, optional
        The first of these axes; 0 by default.

    Raises
    ------
    ShapeError
        When mask and tensor do not fit.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.boolean_mask([1, 2, 3], [True, False, True]))
    tf.Tensor([1 3], shape=(2,), dtype=int32)
    """
    x: Any = convert_to_tensor(tensor)
    chosen: Any = known(mask) if is_known(mask) else as_tensor(mask)
    first = 0 if axis is None else one_axis(int(axis), len(x.shape))
    covered = x.shape[first : first + len(chosen.shape)]
    if chosen.dtype.kind not in "buif" or not chosen.shape or not all(map(same, covered, chosen.shape)):
        raise ShapeError(
            f"a mask of {chosen.dtype.name}{list(chosen.shape)} for the axes from {first} of {x.spec}: "
            f"one of the same sizes is needed"
            f"{at(user_location())}"
        )
    if isinstance(chosen, Tensor):
        return selection.rows_at(x, chosen, first)
    return get(x, (*(_whole for _ in range(first)), *np.nonzero(chosen)))


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """`x` where the condition holds, else `y`; the three broadcast together. Or the positions where it holds.

    Parameters
    ----------
    condition : tensor-like of bool
        Without `x` and `y` numbers will do: what is not 0 holds.
    x, y : tensor-like, optional
        Both or none.

    Returns
    -------
    Tensor
        Without `x` and `y`, positions (int64), one in each row. How many, in a compiled function shows when it runs.

    Raises
    ------
    ValueError
        For one of `x` and `y` alone; ShapeError where they do not broadcast.
    DtypeError
        For a condition that is not bool, beside `x` and `y`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.where([True, False, True], [1, 2, 3], 0))
    tf.Tensor([1 0 3], shape=(3,), dtype=int32)
    >>> print(tf.where([[True, False], [False, True]]))
    tf.Tensor(
    [[0 0]
     [1 1]], shape=(2, 2), dtype=int64)
    """
    if x is None and y is None:
        return (
            convert_to_tensor(np.argwhere(known(condition)))
            if is_known(condition)
            else selection.positions(condition)
        )
    if x is None or y is None:
        raise ValueError(f"where takes a condition alone, or with both x and y{at(user_location())}")
    return ops.where(condition, x, y)
