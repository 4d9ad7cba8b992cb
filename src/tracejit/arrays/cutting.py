"""Tensors cut up, repeated, padded and turned: written with slices, reshapes and broadcasts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.dim import Dim, Size, product, same, unknown
from ..core.errors import ShapeError, at, user_location
from ..core.op import ops
from ..core.spec import as_dtype, broadcast_shapes
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from ..core.tracing.recipes import by_recipe
from ..frontend.conversion import convert_to_tensor
from ..frontend.creation import default_float, is_known, known
from ..ops.arrays.reduce import axes_of, one_axis, size_tensor
from ..ops.arrays.shape import expand_dims, sizes_not_negative, sizes_of
from ..ops.tensor.indexing import get
from .selection import as_size, of_size, repeated_positions

_INT64 = np.dtype("int64")


def _part(x: Any, axis: int, index: Any) -> Tensor:
    return get(x, (*(slice(None),) * axis, index))


def _stretch(x: Tensor, axis: int, start: int, stop: int) -> Any:
    """``x[start:stop]`` along an axis that has these positions."""
    slices: list[tuple[Size, Size, int]] = [(0, size, 1) for size in x.shape]
    slices[axis] = (start, stop - start, 1)
    return ops.slice(x, slices=tuple(slices))


def _known(size: Size, what: str) -> int:
    if not isinstance(size, (int, np.integer)):
        raise ShapeError(
            f"{what} takes a size that is known when it is called, got {size}{at(user_location())}"
        )
    return int(size)


def common_shape(*shapes: tuple[Size, ...]) -> tuple[Size, ...]:
    """The shape that all broadcast to; ShapeError at the user's line where there is none."""
    try:
        return broadcast_shapes(*shapes)
    except ShapeError as error:
        raise ShapeError(f"{error}{at(user_location())}") from None


def is_tensor(x: Any) -> bool:
    """Is `x` a tensor or a Variable?

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.is_tensor(tf.constant(1)), tf.is_tensor([1])
    (True, False)
    """
    return isinstance(x, Tensor) or hasattr(x, "__tensor__")


def ensure_shape(x: Any, shape: Sequence[Any], name: str | None = None) -> Tensor:
    """The tensor `x` itself, when it has this `shape`; None stands for any size.

    Sizes that are known only when a compiled function runs, as those of ``x[:n]`` and of masks, are checked then.

    Raises
    ------
    ShapeError
        When it has another shape; a ValueError where that shows when a compiled function runs.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.ensure_shape([1, 2], [None]))
    tf.Tensor([1 2], shape=(2,), dtype=int32)
    >>> @tf.function
    ... def folded(x, n):
    ...     return tf.ensure_shape(x[n:], x[:n].shape) + x[:n]
    >>> print(folded(tf.constant([1, 2, 3, 4]), tf.constant(2)))
    tf.Tensor([4 6], shape=(2,), dtype=int32)
    """
    x = convert_to_tensor(x)
    wanted = tuple(shape)
    if len(wanted) == len(x.shape):
        for axis, size in enumerate(wanted):
            if size is not None and unknown(size - x.shape[axis]):
                x = of_size(x, axis, size)
    if len(wanted) != len(x.shape) or not all(
        w is None or same(w, d) for w, d in zip(wanted, x.shape, strict=True)
    ):
        raise ShapeError(f"{x.spec} where the shape {wanted} is asked for{at(user_location())}")
    return x


def split(
    value: Any, num_or_size_splits: Any, axis: int = 0, num: int | None = None, name: str | None = None
) -> list[Tensor]:
    """Cut a tensor into parts along an axis.

    Parameters
    ----------
    value : tensor-like
    num_or_size_splits : int or sequence of int
        How many equal parts, or their sizes; one size may be -1.
    axis : int
    num : int, optional
        How many sizes there are, where that is not known: accepted.

    Raises
    ------
    ValueError
        When the parts do not make up the axis.

    Examples
    --------
    >>> import tracejit as tf
    >>> [part.numpy().tolist() for part in tf.split([1, 2, 3, 4, 5], [2, -1])]
    [[1, 2], [3, 4, 5]]
    """
    x = convert_to_tensor(value)
    axis = one_axis(int(axis), len(x.shape))
    whole = _known(x.shape[axis], "split")
    sizes = _sizes(num_or_size_splits, whole)
    ends = np.cumsum(sizes)
    return [_part(x, axis, slice(int(e) - s, int(e))) for s, e in zip(sizes, ends, strict=True)]


def _sizes(wanted: Any, whole: int) -> list[int]:
    if isinstance(wanted, (int, np.integer)):
        count = int(wanted)
        if count < 1 or whole % count:
            raise ShapeError(
                f"split: an axis of size {whole} has no {count} equal parts; give the sizes of the parts, a list"
                f"{at(user_location())}"
            )
        return [whole // count] * count
    sizes = [int(s) for s in (known(wanted) if isinstance(wanted, Tensor) else wanted)]
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = whole - sum(sizes) - 1
    if sum(sizes) != whole or any(s < 0 for s in sizes):
        raise ShapeError(
            f"parts of sizes {sizes} do not make up an axis of size {whole}{at(user_location())}"
        )
    return sizes


def unstack(value: Any, num: int | None = None, axis: int = 0, name: str | None = None) -> list[Tensor]:
    """The slices of `value` along `axis`, without it and of its dtype: the inverse of :func:`tracejit.stack`.

    `num` is how many there are, which must be known. ShapeError where the axis has another size.

    Examples
    --------
    >>> import tracejit as tf
    >>> [row.numpy().tolist() for row in tf.unstack([[1, 2], [3, 4]], axis=1)]
    [[1, 3], [2, 4]]
    """
    x = convert_to_tensor(value)
    axis = one_axis(int(axis), len(x.shape))
    count = _known(x.shape[axis], "unstack")
    if num is not None and num != count:
        raise ShapeError(f"num is {num}, the axis has size {count}{at(user_location())}")
    return [_part(x, axis, i) for i in range(count)]


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """`on_value` at the position each index names along a new axis, `off_value` elsewhere.

    Parameters
    ----------
    indices : tensor-like of integers
        One that is not in ``range(depth)`` names no position.
    depth : int
        Size of the new axis.
    on_value, off_value : scalars
        1 and 0 by default.
    axis : int, optional
        Where the new axis goes; last by default.
    dtype : dtype-like, optional
        That of the values given, else that of Python floats.

    Raises
    ------
    ShapeError
        For an axis that is not there, and a negative `depth`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.one_hot([0, 2], 3))
    tf.Tensor(
    [[1. 0. 0.]
     [0. 0. 1.]], shape=(2, 3), dtype=float32)
    """
    index = as_tensor(indices)
    given = [v for v in (on_value, off_value) if v is not None]
    wanted = (
        as_dtype(dtype) if dtype is not None else as_tensor(given[0]).np_dtype if given else default_float()
    )
    rank = len(index.shape) + 1
    where = rank - 1 if axis is None else one_axis(int(axis), rank)
    (count,) = sizes_not_negative(depth)
    shape = tuple([count if a == where else 1 for a in range(rank)])
    positions = ops.reshape(ops.iota(size=count, dtype=_INT64), shape=shape)
    hot = ops.equal(expand_dims(index, where), positions)
    on, off = (
        as_tensor(default if v is None else v, wanted) for v, default in ((on_value, 1), (off_value, 0))
    )
    return ops.where(hot, ops.cast(on, dtype=wanted), ops.cast(off, dtype=wanted))


def gather(
    params: Any, indices: Any, axis: int | None = None, batch_dims: int = 0, name: str | None = None
) -> Tensor:
    """Parts of a tensor by number along an axis.

    Parameters
    ----------
    params : tensor-like
    indices : tensor-like of integers
        Negative ones count from the end.
    axis : int, optional
        The first one that is not of the batch, by default.
    batch_dims : int
        So many leading axes, of `indices` all but ``-batch_dims`` if negative, belong together in both.

    Raises
    ------
    IndexError
        When a number is out of range.
    ShapeError
        For an axis of the batch, and where leading sizes differ.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.gather([[1, 2], [3, 4]], [[1], [0]], batch_dims=1))
    tf.Tensor(
    [[2]
     [3]], shape=(2, 1), dtype=int32)
    """
    x, index = as_tensor(params), as_tensor(indices)
    batch = int(batch_dims) + (len(index.shape) if batch_dims < 0 else 0)
    where = one_axis(batch if axis is None else int(axis), len(x.shape))
    if not 0 <= batch <= min(where, len(index.shape)):
        raise ShapeError(
            f"gather with batch_dims={batch} and axis={where} of {x.spec} by {index.spec}: the axis is behind those of "
            f"the batch{at(user_location())}"
        )
    return ops.gather(x, index, axis=where, batch_dims=batch)


def tile(input: Any, multiples: Sequence[int], name: str | None = None) -> Tensor:
    """The whole tensor `input` repeated `multiples` times along each axis, of its dtype.

    ShapeError where there is not one number per axis, DtypeError where they are no integers.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.tile([1, 2], [2]))
    tf.Tensor([1 2 1 2], shape=(4,), dtype=int32)
    """
    x = as_tensor(input)
    times = sizes_of(multiples)
    if len(times) != len(x.shape):
        raise ShapeError(f"{len(times)} multiples for {x.spec}: one per axis is needed{at(user_location())}")
    pairs = list(zip(times, x.shape, strict=True))
    single = ops.reshape(x, shape=tuple([s for _, size in pairs for s in (1, size)]))
    spread = ops.broadcast_to(single, shape=tuple([s for pair in pairs for s in pair]))
    return ops.reshape(spread, shape=tuple([n * size for n, size in pairs]))


def repeat(input: Any, repeats: Any, axis: int | None = None, name: str | None = None) -> Tensor:
    """Each element `repeats` times in a row, along an axis or of all elements.

    Parameters
    ----------
    input : tensor-like
    repeats : int or sequence of int
        One number for all, or one for each position along the axis. What a compiled function computes, negative ones
        taken for 0, decides the size of the result when that runs.
    axis : int, optional
        None is the one axis of all elements in a row.

    Raises
    ------
    ShapeError
        Where there is neither one number nor one per position.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.repeat([1, 2], 2), tf.repeat([1, 2], [3, 1]))
    tf.Tensor([1 1 2 2], shape=(4,), dtype=int32) tf.Tensor([1 1 1 2], shape=(4,), dtype=int32)
    """
    x = as_tensor(input)
    if axis is None or not x.shape:
        x, axis = ops.reshape(x, shape=(product(x.shape),)), 0
    axis = one_axis(int(axis), len(x.shape))
    if not is_known(repeats):
        repeats = as_tensor(repeats)
        if repeats.shape:
            return ops.gather(x, repeated_positions(repeats, x.shape[axis]), axis=axis)
        repeats = as_size(repeats)
    elif not isinstance(repeats, (int, np.integer, Dim)):
        return _repeated_each(x, known(repeats), axis)
    shape = [*x.shape]
    spread = ops.broadcast_to(
        expand_dims(x, axis + 1), shape=(*shape[: axis + 1], repeats, *shape[axis + 1 :])
    )
    shape[axis] = shape[axis] * repeats
    return ops.reshape(spread, shape=tuple(shape))


def _repeated_each(x: Any, times: np.ndarray, axis: int) -> Tensor:
    if times.size == 1:
        return repeat(x, int(times.reshape(())), axis)
    size = _known(x.shape[axis], "repeat")
    if times.shape != (size,) or (times < 0).any():
        raise ShapeError(
            f"repeats of shape {times.shape} for an axis of size {size}: one number, not negative, for each position"
            f"{at(user_location())}"
        )
    return ops.gather(x, np.repeat(np.arange(size), times), axis=axis)


def roll(input: Any, shift: Any, axis: Any, name: str | None = None) -> Tensor:
    """The tensor moved along axes; what leaves at one end comes in at the other.

    Parameters
    ----------
    input : tensor-like
    shift : int or sequence of int
        By how much; may be tensors.
    axis : int or sequence of int
        Along which axis each shift goes; an axis named twice moves by both.

    Raises
    ------
    ShapeError
        For axes that are not there, or not as many as shifts.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.roll([1, 2, 3, 4], shift=1, axis=0))
    tf.Tensor([4 1 2 3], shape=(4,), dtype=int32)
    """
    x = as_tensor(input)
    if shift.__class__ is int and axis.__class__ is int:
        return by_recipe(_rolled, (x,), shift, axis)
    return _rolled((x,), shift, axis)


def _rolled(tensors: Sequence[Tensor], shift: Any, axis: Any) -> Tensor:
    (x,) = tensors
    axes = [axis] if isinstance(axis, (int, np.integer)) else [int(a) for a in axis]
    moves = [shift] if len(axes) == 1 and not isinstance(shift, (list, tuple)) else list(shift)
    if len(axes) != len(moves):
        raise ShapeError(f"{len(moves)} shifts for {len(axes)} axes{at(user_location())}")
    for move, along in zip(moves, axes, strict=True):
        x = _moved(x, move, one_axis(int(along), len(x.shape)))
    return x


def _moved(x: Any, shift: Any, axis: int) -> Any:
    size = x.shape[axis]
    if isinstance(shift, Tensor) and not shift.is_symbolic:
        shift = int(shift.array.reshape(()))
    if isinstance(shift, (int, np.integer)) and isinstance(size, int):
        start = -int(shift) % size if size else 0
        if not start:
            return x
        return ops.concat(_stretch(x, axis, start, size), _stretch(x, axis, 0, start), axis=axis)
    wide = size_tensor(size)
    index = ops.subtract(
        ops.iota(size=size, dtype=_INT64), ops.cast(ops.reshape(shift, shape=()), dtype=_INT64)
    )
    return ops.gather(x, ops.mod(index, ops.maximum(wide, 1)), axis=axis)


def pad(
    tensor: Any, paddings: Any, mode: str = "CONSTANT", constant_values: Any = 0, name: str | None = None
) -> Tensor:
    """`constant_values` before and after the tensor along each axis.

    Parameters
    ----------
    tensor : tensor-like
    paddings : sequence of (before, after)
        One pair per axis.
    mode : str
        ``"CONSTANT"``; ``"REFLECT"``, mirrored at the outermost elements; or ``"SYMMETRIC"``, at the edges.
    constant_values : scalar

    Raises
    ------
    ShapeError
        Where there is not one pair per axis, or what is mirrored does not reach as far.
    ValueError
        For another mode.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.pad([1.0, 2.0], [[1, 2]]))
    tf.Tensor([0. 1. 2. 0. 0.], shape=(5,), dtype=float32)
    >>> print(tf.pad([1.0, 2.0, 3.0], [[2, 1]], mode="REFLECT"))
    tf.Tensor([3. 2. 1. 2. 3. 2.], shape=(6,), dtype=float32)
    """
    x = as_tensor(tensor)
    rows = paddings if isinstance(paddings, (list, tuple)) else known(paddings).tolist()
    pairs = [sizes_of(row) for row in rows]
    if len(pairs) != len(x.shape) or any(len(p) != 2 or _is_negative(p) for p in pairs):
        raise ShapeError(
            f"paddings {pairs} for {x.spec}: one pair per axis, not negative{at(user_location())}"
        )
    if mode.upper() in ("REFLECT", "SYMMETRIC"):
        return _mirrored(x, pairs, int(mode.upper() == "SYMMETRIC"))
    if mode.upper() != "CONSTANT":
        raise ValueError(
            f"pad knows the modes CONSTANT, REFLECT and SYMMETRIC, got {mode!r}{at(user_location())}"
        )
    shape = tuple([before + size + after for (before, after), size in zip(pairs, x.shape, strict=True)])
    filled = ops.broadcast_to(ops.cast(as_tensor(constant_values, x.np_dtype), dtype=x.np_dtype), shape=shape)
    slices = tuple([(before, size, 1) for (before, _), size in zip(pairs, x.shape, strict=True)])
    return ops.slice_set(filled, x, slices=slices)


def _is_negative(sizes: Sequence[Size]) -> bool:
    return any(isinstance(s, int) and s < 0 for s in sizes)


def _mirrored(x: Any, pairs: Sequence[Any], edge: int) -> Tensor:
    """The tensor with its own elements before and after, in reverse; with `edge` from the outermost one on."""
    for axis, (before, after) in enumerate(pairs):
        size = _known(x.shape[axis], "pad") if before or after else x.shape[axis]
        if max(before, after) > size - 1 + edge and (before or after):
            raise ShapeError(
                f"axis {axis} of {x.spec} has no {max(before, after)} elements to mirror{at(user_location())}"
            )
        first = _part(x, axis, slice(before - edge, None if edge else 0, -1)) if before else None
        last = slice(size - 2 + edge, size - 2 + edge - after if size - 2 + edge >= after else None, -1)
        parts = [first, x, _part(x, axis, last) if after else None]
        x = ops.concat(*(p for p in parts if p is not None), axis=axis)
    return x


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """`tensor` backwards along `axis`, one or several; shape and dtype stay. ShapeError for axes that are not there.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.reverse([1, 2, 3], axis=[0]))
    tf.Tensor([3 2 1], shape=(3,), dtype=int32)
    """
    x = as_tensor(tensor)
    chosen = axes_of(axis, len(x.shape))
    return get(x, tuple([slice(None, None, -1 if a in chosen else 1) for a in range(len(x.shape))]))


def meshgrid(*args: Any, indexing: str = "xy", name: str | None = None) -> list[Tensor]:
    """Coordinates spread over a grid: one tensor per vector in `args`, of its dtype and of the shape of the grid.

    `indexing` is "xy", columns first, or "ij"; ValueError for others.

    Examples
    --------
    >>> import tracejit as tf
    >>> [t.numpy().tolist() for t in tf.meshgrid([1, 2], [3, 4])]
    [[[1, 2], [1, 2]], [[3, 3], [4, 4]]]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing is 'xy' or 'ij', got {indexing!r}{at(user_location())}")
    vectors = [ops.reshape(v, shape=(as_tensor(v).spec.size,)) for v in map(as_tensor, args)]
    order = list(range(len(vectors)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = 1, 0
    shape = tuple([vectors[i].shape[0] for i in order])
    return [
        ops.broadcast_to(
            ops.reshape(v, shape=tuple([v.shape[0] if i == k else 1 for i in order])), shape=shape
        )
        for k, v in enumerate(vectors)
    ]
