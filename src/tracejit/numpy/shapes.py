"""NumPy's ways to reshape arrays, to turn and to roll them, and to keep their triangles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arrays import cutting
from ..core.errors import ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..linalg.diagonals import offsets
from ..ops.arrays import shape as shapes
from ..ops.arrays.reduce import axes_of, one_axis
from .conversion import array

# ---- shapes ---------------------------------------------------------------------------------------------


def reshape(a: Any, shape: Any, order: str = "C") -> Tensor:
    """The same elements in another shape; one size may be -1. With `order` "F" the first axis runs fastest."""
    x = array(a)
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    if order == "F":
        return transpose(ops.reshape(transpose(x), shape=tuple(reversed(sizes))))
    if order not in ("C", "A", "K"):
        raise ValueError(f"order is 'C' or 'F', got {order!r}{at(user_location())}")
    return ops.reshape(x, shape=sizes)


def ravel(a: Any, order: str = "C") -> Tensor:
    """All elements in a row."""
    x = array(a)
    return reshape(x, x.spec.size, order)


def transpose(a: Any, axes: Sequence[int] | None = None) -> Tensor:
    """The axes in another order: backwards unless told."""
    x = array(a)
    rank = len(x.shape)
    order = reversed(range(rank)) if axes is None else (one_axis(int(k), rank) for k in axes)
    return ops.transpose(x, perm=tuple(order))


def moveaxis(a: Any, source: Any, destination: Any) -> Tensor:
    """Axes at other positions."""
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
    """One axis in front of the one at `start`."""
    rank = len(array(a).shape)
    axis = one_axis(axis, rank)
    start = start + rank if start < 0 else start
    return moveaxis(a, axis, start - 1 if start > axis else start)


def swapaxes(a: Any, axis1: int, axis2: int) -> Tensor:
    """Two axes exchanged."""
    x = array(a)
    order = list(range(len(x.shape)))
    i, j = one_axis(axis1, len(order)), one_axis(axis2, len(order))
    order[i], order[j] = j, i
    return ops.transpose(x, perm=tuple(order))


def squeeze(a: Any, axis: Any = None) -> Tensor:
    """Drop axes of size 1: all of them, or those named."""
    return shapes.squeeze(array(a), axis)


def expand_dims(a: Any, axis: Any) -> Tensor:
    """Insert axes of size 1."""
    x = array(a)
    if isinstance(axis, (int, np.integer)):
        return shapes.expand_dims(x, int(axis))
    chosen = axes_of(axis, len(x.shape) + len(axis))
    sizes = iter(x.shape)
    return ops.reshape(
        x, shape=tuple([1 if k in chosen else next(sizes) for k in range(len(x.shape) + len(axis))])
    )


def broadcast_to(array_: Any, shape: Any) -> Tensor:
    """Repeated along axes of size 1 and in front."""
    return ops.broadcast_to(array(array_), shape=shapes.sizes_of(shape))


def shape(a: Any) -> tuple:
    """The sizes."""
    return array(a).shape


def ndim(a: Any) -> int:
    """The number of axes."""
    return len(array(a).shape)


def size(a: Any, axis: int | None = None) -> Any:
    """The number of elements, or the size of one axis."""
    x = array(a)
    return x.spec.size if axis is None else x.shape[one_axis(axis, len(x.shape))]


def broadcast_arrays(*args: Any) -> tuple[Tensor, ...]:
    """All broadcast to one shape."""
    tensors = [array(x) for x in args]
    common = cutting.common_shape(*(x.shape for x in tensors))
    return tuple([ops.broadcast_to(x, shape=common) for x in tensors])


def _at_least(rank: int, place: Callable[[tuple], tuple]) -> Callable[..., Any]:
    def at_least(*arys: Any) -> Any:
        """Scalars, vectors and matrices with axes of size 1 until there are enough; several give a tuple."""
        found = [
            x if len(x.shape) >= rank else ops.reshape(x, shape=place(x.shape)) for x in map(array, arys)
        ]
        return found[0] if len(found) == 1 else tuple(found)

    at_least.__name__ = at_least.__qualname__ = f"atleast_{rank}d"
    return at_least


atleast_1d = _at_least(1, lambda shape: (1,))
atleast_2d = _at_least(2, lambda shape: (1, *(shape or (1,))))
atleast_3d = _at_least(3, lambda shape: (*shape, 1) if len(shape) == 2 else (1, *(shape or (1,)), 1))


# ---- order ----------------------------------------------------------------------------------------------


def flip(m: Any, axis: Any = None) -> Tensor:
    """Backwards along axes; None is all."""
    return cutting.reverse(array(m), axis)


def fliplr(m: Any) -> Tensor:
    """Backwards along the second axis."""
    return flip(m, 1)


def flipud(m: Any) -> Tensor:
    """Backwards along the first axis."""
    return flip(m, 0)


def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Tensor:
    """Turned `k` times by 90 degrees, from the first of two axes to the second."""
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
    """Moved along axes; what leaves at one end comes in at the other. With no axis, all elements in a row.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.roll([1, 2, 3], 1))
    tf.Tensor([3 1 2], shape=(3,), dtype=int64)
    """
    x = array(a)
    if axis is None:
        total = int(np.sum(shift)) if isinstance(shift, (tuple, list)) else shift
        return ops.reshape(cutting.roll(ravel(x), total, 0), shape=x.shape)
    axes = list(axis) if isinstance(axis, (tuple, list)) else [axis]
    shifts = list(shift) if isinstance(shift, (tuple, list)) else [shift]
    count = max(len(axes), len(shifts))
    axes, shifts = (v * count if len(v) == 1 else v for v in (axes, shifts))
    if not axes:
        return x
    return cutting.roll(x, shifts, axes)


def tril(m: Any, k: int = 0) -> Tensor:
    """The matrix with zeros above the `k`-th diagonal; of a vector, it in every row."""
    x = array(m)
    return ops.where(_offsets(x) <= k, x, ops.cast(0, dtype=x.dtype))


def triu(m: Any, k: int = 0) -> Tensor:
    """The matrix with zeros below the `k`-th diagonal; of a vector, it in every row."""
    x = array(m)
    return ops.where(_offsets(x) >= k, x, ops.cast(0, dtype=x.dtype))


def _offsets(x: Tensor) -> Any:
    """Of each place of the matrix that comes out, the number of its diagonal."""
    return offsets(*(x.shape[-2:] if len(x.shape) > 1 else x.shape * 2))


permute_dims = transpose
