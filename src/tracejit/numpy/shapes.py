"""NumPy's ways to reshape arrays, to turn and to roll them, and to keep their triangles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arrays import cutting
from ..core.dim import product
from ..core.errors import ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..linalg.diagonals import offsets
from ..ops.arrays import shape as shapes
from ..ops.arrays.reduce import axes_of, one_axis, size_tensor
from ..ops.tensor.indexing import get
from ..ops.tensor.memory.overlaps import anew
from ..ops.tensor.memory.views import in_a_row
from .conversion import array, values_of

# ---- shapes ---------------------------------------------------------------------------------------------


def reshape(a: Any, shape: Any, order: str = "C", *, copy: bool | None = None) -> Tensor:
    """The elements of `a` in another `shape`, same dtype; one size may be -1. In `order` "F" the first axis is fastest.

    `copy` is accepted: nobody can tell, for tensors do not change. ShapeError where the number of elements differs,
    ValueError for another order.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.reshape([1, 2, 3, 4], (2, -1)))
    tf.Tensor(
    [[1 2]
     [3 4]], shape=(2, 2), dtype=int64)
    """
    x = array(a)
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    if order == "F":
        return transpose(ops.reshape(transpose(x), shape=tuple(reversed(sizes))))
    if order not in ("C", "A", "K"):
        raise ValueError(f"order is 'C' or 'F', got {order!r}{at(user_location())}")
    return ops.reshape(x, shape=sizes)


def ravel(a: Any, order: str = "C") -> Tensor:
    """All elements of `a` in a row, in `order` (see :func:`reshape`), of its dtype; ValueError for another order.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.ravel([[1, 2], [3, 4]], order="F"))
    tf.Tensor([1 3 2 4], shape=(4,), dtype=int64)
    """
    x = array(a)
    return in_a_row(lambda: reshape(x, x.spec.size, order))


def transpose(a: Any, axes: Sequence[int] | None = None) -> Tensor:
    """`a` with its axes in the order `axes`, backwards unless told; the dtype stays. ShapeError if one is missing.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.transpose([[1, 2, 3]]).shape, tnp.transpose(tnp.ones((2, 3, 4)), (1, 0, 2)).shape)
    (3, 1) (3, 2, 4)
    """
    x = array(a)
    rank = len(x.shape)
    order = reversed(range(rank)) if axes is None else (one_axis(int(k), rank) for k in axes)
    return ops.transpose(x, perm=tuple(order))


def moveaxis(a: Any, source: Any, destination: Any) -> Tensor:
    """`a` with the axes `source` at the positions `destination`, same dtype; ShapeError for axes that are not there.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.moveaxis(tnp.ones((2, 3, 4)), 0, -1).shape)
    (3, 4, 2)
    """
    x = array(a)
    rank = len(x.shape)
    moved, places = (
        [one_axis(int(k), rank) for k in ([axis] if isinstance(axis, (int, np.integer)) else axis)]
        for axis in (source, destination)
    )
    order = [k for k in range(rank) if k not in moved]
    for place, axis in sorted(zip(places, moved, strict=True)):
        order.insert(place, axis)
    return ops.transpose(x, perm=tuple(order))


def rollaxis(a: Any, axis: int, start: int = 0) -> Tensor:
    """`a` with `axis` in front of the one at `start`; the dtype stays. ShapeError for an axis that is not there.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.rollaxis(tnp.ones((2, 3, 4)), 2).shape)
    (4, 2, 3)
    """
    rank = len(array(a).shape)
    axis = one_axis(axis, rank)
    start = start + rank if start < 0 else start
    return moveaxis(a, axis, start - 1 if start > axis else start)


def swapaxes(a: Any, axis1: int, axis2: int) -> Tensor:
    """`a` with `axis1` and `axis2` exchanged; the dtype stays. ShapeError for axes that are not there.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.swapaxes(tnp.ones((2, 3, 4)), 0, 2).shape)
    (4, 3, 2)
    """
    x = array(a)
    order = list(range(len(x.shape)))
    i, j = one_axis(axis1, len(order)), one_axis(axis2, len(order))
    order[i], order[j] = j, i
    return ops.transpose(x, perm=tuple(order))


def squeeze(a: Any, axis: Any = None) -> Tensor:
    """`a` without its axes of size 1, or those in `axis`, same dtype; ShapeError where one of those is larger.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.squeeze(tnp.ones((1, 3, 1))).shape, tnp.squeeze(tnp.ones((1, 3, 1)), axis=0).shape)
    (3,) (3, 1)
    """
    return shapes.squeeze(array(a), axis)


def expand_dims(a: Any, axis: Any) -> Tensor:
    """`a` with axes of size 1 at the positions `axis`; the dtype stays. ShapeError for positions that are not there.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.expand_dims([1, 2], 0).shape, tnp.expand_dims([1, 2], (0, 2)).shape)
    (1, 2) (1, 2, 1)
    """
    x = array(a)
    wanted = tuple(axis) if np.ndim(axis) else (axis,)
    rank = len(x.shape) + len(wanted)
    chosen, sizes = axes_of(wanted, rank), iter(x.shape)
    return ops.reshape(x, shape=tuple([1 if k in chosen else next(sizes) for k in range(rank)]))


def broadcast_to(array_: Any, shape: Any) -> Tensor:
    """`array_` repeated along axes of size 1 and in front, up to `shape`, same dtype; ShapeError if it does not fit.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.broadcast_to([1, 2], (2, 2)))
    tf.Tensor(
    [[1 2]
     [1 2]], shape=(2, 2), dtype=int64)
    """
    return ops.broadcast_to(array(array_), shape=shapes.sizes_of(shape))


def shape(a: Any) -> tuple[Any, ...]:
    """The sizes of `a`, a tuple.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.shape([[1, 2, 3]]))
    (1, 3)
    """
    return array(a).shape


def ndim(a: Any) -> int:
    """The number of axes of `a`.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.ndim([[1, 2, 3]]))
    2
    """
    return len(array(a).shape)


def size(a: Any, axis: Any = None) -> Any:
    """The number of elements of `a`, or how many there are along `axis`, one or several; ShapeError for others.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.size([[1, 2, 3]]), tnp.size([[1, 2, 3]], axis=0))
    3 1
    """
    x = array(a)
    return x.spec.size if axis is None else product(x.shape[k] for k in axes_of(axis, len(x.shape)))


def broadcast_arrays(*args: Any) -> list[Tensor]:
    """All `args` broadcast to one shape, each of its dtype; ShapeError where they do not broadcast.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print([x.shape for x in tnp.broadcast_arrays([[1], [2]], [1.0, 2.0, 3.0])])
    [TensorShape([2, 3]), TensorShape([2, 3])]
    """
    tensors = [array(x) for x in args]
    common = cutting.common_shape(*(x.shape for x in tensors))
    return [ops.broadcast_to(x, shape=common) for x in tensors]


def _at_least(rank: int, place: Callable[[tuple[Any, ...]], tuple[Any, ...]]) -> Callable[..., Any]:
    def at_least(*arys: Any) -> Any:
        reshaped = [
            x if len(x.shape) >= rank else ops.reshape(x, shape=place(x.shape)) for x in map(array, arys)
        ]
        return reshaped[0] if len(reshaped) == 1 else tuple(reshaped)

    at_least.__name__ = at_least.__qualname__ = f"atleast_{rank}d"
    at_least.__doc__ = f"""Each of `arys` with axes of size 1 until it has {rank}; same dtype, several give a tuple.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.atleast_{rank}d(2.5).shape, tnp.atleast_{rank}d([1, 2]).shape)
    {(1,) * rank} {place((2,)) if rank > 1 else (2,)}
    """
    return at_least


atleast_1d: Callable[..., Any] = _at_least(1, lambda shape: (1,))
atleast_2d: Callable[..., Any] = _at_least(2, lambda shape: (1, *(shape or (1,))))
atleast_3d: Callable[..., Any] = _at_least(
    3, lambda shape: (*shape, 1) if len(shape) == 2 else (1, *(shape or (1,)), 1)
)


# ---- order ----------------------------------------------------------------------------------------------


def flip(m: Any, axis: Any = None) -> Tensor:
    """`m` backwards along `axis`, one, several or None for all; same dtype, ShapeError for axes that are not there.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.flip([[1, 2], [3, 4]]))
    tf.Tensor(
    [[4 3]
     [2 1]], shape=(2, 2), dtype=int64)
    """
    return cutting.reverse(array(m), axis)


def fliplr(m: Any) -> Tensor:
    """`m` backwards along the second axis, of the same dtype; ShapeError for vectors.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.fliplr([[1, 2], [3, 4]]))
    tf.Tensor(
    [[2 1]
     [4 3]], shape=(2, 2), dtype=int64)
    """
    return flip(m, 1)


def flipud(m: Any) -> Tensor:
    """`m` backwards along the first axis, of the same dtype; ShapeError for scalars.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.flipud([[1, 2], [3, 4]]))
    tf.Tensor(
    [[3 4]
     [1 2]], shape=(2, 2), dtype=int64)
    """
    return flip(m, 0)


def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Tensor:
    """`m` turned `k` times by 90 degrees, from the first of two `axes` to the second; ShapeError if one. Same dtype.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.rot90([[1, 2], [3, 4]]))
    tf.Tensor(
    [[2 4]
     [1 3]], shape=(2, 2), dtype=int64)
    """
    x = array(m)
    first, second = (one_axis(int(a), len(x.shape)) for a in axes)
    if first == second:
        raise ShapeError(f"rot90 turns in the plane of two axes, got {tuple(axes)}{at(user_location())}")
    turns = k % 4
    if turns == 2:
        return flip(x, (first, second))
    if not turns:
        return x
    return (
        swapaxes(flip(x, second), first, second) if turns == 1 else flip(swapaxes(x, first, second), second)
    )


def roll(a: Any, shift: Any, axis: Any = None) -> Tensor:
    """`a` moved by `shift` along `axis`, one or several; what leaves at one end comes in at the other. Same dtype.

    With no axis, all elements in a row. ShapeError for axes that are not there.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.roll([1, 2, 3], 1))
    tf.Tensor([3 1 2], shape=(3,), dtype=int64)
    """
    x = array(a)
    if axis is None:
        total = ops.reduce_sum(shift) if isinstance(shift, Tensor) else int(np.sum(shift))
        return anew(ops.reshape(cutting.roll(ravel(x), total, 0), shape=x.shape), a)
    axes = list(axis) if isinstance(axis, (tuple, list)) else [axis]
    shifts = list(shift) if isinstance(shift, (tuple, list)) or np.ndim(shift) else [shift]
    count = max(len(axes), len(shifts))
    axes, shifts = (v * count if len(v) == 1 else v for v in (axes, shifts))
    return anew(cutting.roll(x, shifts, axes) if axes else x, a)


def tril(m: Any, k: int = 0) -> Tensor:
    """`m` with zeros above the `k`-th diagonal, a vector in every row; same dtype, ShapeError for scalars.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.tril([[1, 2], [3, 4]]))
    tf.Tensor(
    [[1 0]
     [3 4]], shape=(2, 2), dtype=int64)
    """
    x = array(m)
    return ops.where(_offsets(x) <= k, x, ops.cast(0, dtype=x.np_dtype))


def triu(m: Any, k: int = 0) -> Tensor:
    """`m` with zeros below the `k`-th diagonal, a vector in every row; same dtype, ShapeError for scalars.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.triu([[1, 2], [3, 4]]))
    tf.Tensor(
    [[1 2]
     [0 4]], shape=(2, 2), dtype=int64)
    """
    x = array(m)
    return ops.where(_offsets(x) >= k, x, ops.cast(0, dtype=x.np_dtype))


def _offsets(x: Tensor) -> Any:
    """Of each place of the matrix that comes out, the number of its diagonal."""
    if not x.shape:
        raise ShapeError(f"a scalar, {x.spec}, has no triangles{at(user_location())}")
    return offsets(*(x.shape[-2:] if len(x.shape) > 1 else x.shape * 2))


permute_dims = transpose


# ---- ends and rows --------------------------------------------------------------------------------------


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Tensor:
    """`filt` without the zeros at its front and back, or at the one that `trim`, "f" or "b", says, along `axis` or all.

    Of the same dtype; its values are known when this is called, SymbolicValue for what a traced function computes.
    ShapeError for axes that are not there.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.trim_zeros([0, 0, 1, 0, 2, 0]))
    tf.Tensor([1 0 2], shape=(3,), dtype=int64)
    """
    x = array(filt)
    present = np.nonzero(values_of(filt))
    sides, index = trim.lower(), [slice(None)] * len(x.shape)
    for k in axes_of(axis, len(x.shape)):
        size, places = x.shape[k], present[k]
        first = int(places.min()) if places.size else size
        last = int(places.max()) + 1 if places.size else 0
        index[k] = slice(first if "f" in sides else None, last if "b" in sides else None)
    return get(x, tuple(index))


def resize(a: Any, new_shape: Any) -> Tensor:
    """The elements of `a` in the shape `new_shape`, from the first on again and again; dtype kept.

    ShapeError for negative sizes.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.resize([1, 2, 3], (2, 2)))
    tf.Tensor(
    [[1 2]
     [3 1]], shape=(2, 2), dtype=int64)
    """
    row: Any = ravel(a)
    shape = shapes.sizes_of(new_shape)
    count = product(shape)
    if row.shape == (0,):
        return ops.fill(shape=shape, value=0, dtype=row.dtype)
    numbers = ops.mod(ops.iota(size=count, dtype=np.dtype(np.int64)), size_tensor(row.shape[0]))
    return ops.reshape(ops.gather(row, numbers, axis=0), shape=shape)
