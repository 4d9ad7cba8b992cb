"""NumPy's ways to join arrays and to cut them, and to repeat."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, Literal, TypeAlias

import numpy as np

from ..arrays import cutting
from ..core.dim import known
from ..core.errors import DtypeError, ShapeError, SymbolicValue, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..math import sorting
from ..ops.arrays import shape as shapes
from ..ops.arrays.reduce import one_axis, size_tensor
from ..ops.tensor.indexing import get
from ..ops.tensor.memory.overlaps import anew, copied
from .conversion import array, lined_up, require, values_of
from .elements.elementwise import flatnonzero
from .shapes import atleast_2d, atleast_3d, moveaxis, ravel

_Casting: TypeAlias = Literal["no", "equiv", "safe", "same_kind", "unsafe"]


def concatenate(
    arrays_: Sequence[Any], axis: int | None = 0, *, dtype: Any = None, casting: _Casting = "same_kind"
) -> Tensor:
    """`arrays_` joined along `axis`, with None all elements in a row; promoted, or made of `dtype`.

    ShapeError where other sizes differ; DtypeError where `casting`, a rule of :func:`numpy.can_cast`, does not allow
    `dtype`: by default where it would lose more than precision.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.concatenate([[1, 2], [3]]))
    tf.Tensor([1 2 3], shape=(3,), dtype=int64)
    """
    parts = _converted(arrays_, dtype, casting)
    return ops.concat(*(parts if axis is not None else map(ravel, parts)), axis=axis or 0)


def _converted(arrays_: Sequence[Any], dtype: Any, casting: _Casting) -> list[Tensor]:
    """Tensors of `dtype`, if it is one, where `casting` allows that."""
    given = [array(x) for x in arrays_]
    target = dtype
    if dtype is None and casting not in ("same_kind", "unsafe"):  # which allow what promotion gives
        target = np.result_type(*(x.np_dtype for x in given))
    wrong = [x for x in given if target is not None and not np.can_cast(x.np_dtype, target, casting)]
    if wrong:
        raise DtypeError(
            f"{wrong[0].spec} does not become {np.dtype(target).name} by the rule {casting!r}: cast it first, or write "
            f'casting="unsafe"{at(user_location())}'
        )
    return [array(x, dtype) for x in given]


concat = concatenate


def stack(
    arrays_: Sequence[Any], axis: int = 0, *, dtype: Any = None, casting: _Casting = "same_kind"
) -> Tensor:
    """`arrays_`, all of one shape, joined along a new `axis`, in the promoted dtype or `dtype`.

    ShapeError where shapes differ; `casting` and DtypeError as :func:`concatenate`.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.stack([[1, 2], [3, 4]], axis=1))
    tf.Tensor(
    [[1 3]
     [2 4]], shape=(2, 2), dtype=int64)
    """
    return shapes.stack(_converted(arrays_, dtype, casting), axis)


def vstack(tup: Sequence[Any], *, dtype: Any = None, casting: _Casting = "same_kind") -> Tensor:
    """`tup` joined along the first axis, vectors as rows, and promoted, or made of `dtype`.

    `casting`, ShapeError and DtypeError are those of :func:`concatenate`.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.vstack([[1, 2], [3, 4]]))
    tf.Tensor(
    [[1 2]
     [3 4]], shape=(2, 2), dtype=int64)
    """
    return concatenate([atleast_2d(x) for x in tup], dtype=dtype, casting=casting)


row_stack = vstack


def hstack(tup: Sequence[Any], *, dtype: Any = None, casting: _Casting = "same_kind") -> Tensor:
    """`tup` joined along the second axis, vectors along their own; promoted, or made of `dtype`.

    `casting`, ShapeError and DtypeError are those of :func:`concatenate`.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.hstack([[1, 2], [3]]))
    tf.Tensor([1 2 3], shape=(3,), dtype=int64)
    """
    parts = [x if x.shape else ravel(x) for x in map(array, tup)]
    return concatenate(parts, 0 if len(parts[0].shape) == 1 else 1, dtype=dtype, casting=casting)


def dstack(tup: Sequence[Any], *, dtype: Any = None) -> Tensor:
    """The arrays `tup` joined along the third axis, and promoted, or made of `dtype`; ShapeError if sizes differ.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.dstack([[1, 2], [3, 4]]))
    tf.Tensor(
    [[[1 3]
      [2 4]]], shape=(1, 2, 2), dtype=int64)
    """
    return concatenate([atleast_3d(x) for x in tup], 2, dtype=dtype)


def column_stack(tup: Sequence[Any]) -> Tensor:
    """`tup` joined along the second axis, vectors as columns, and promoted; ShapeError where other sizes differ.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.column_stack([[1.0, 2.0], [3.0, 4.0]]))
    tf.Tensor(
    [[1. 3.]
     [2. 4.]], shape=(2, 2), dtype=float64)
    """
    parts = map(array, tup)
    return concatenate([x if len(x.shape) > 1 else ops.reshape(x, shape=(x.spec.size, 1)) for x in parts], 1)


def block(arrays_: Any) -> Tensor:
    """Joined from `arrays_`, nested lists: the innermost along the last axis, those around them along the one before.

    Their dtypes are promoted; ShapeError where sizes differ.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.block([[[1.0], [2.0]]]))
    tf.Tensor(
    [[[1.]
      [2.]]], shape=(1, 2, 1), dtype=float64)
    """
    depth = _depth(arrays_)
    parts = _each(arrays_, array)
    rank = max(depth, *(len(x.shape) for x in _leaves(parts)))
    wide = _each(parts, lambda x: ops.reshape(x, shape=(*(1,) * (rank - len(x.shape)), *x.shape)))

    def joined(nest: Any, level: int) -> Any:
        if not isinstance(nest, list):
            return nest
        return concatenate([joined(x, level - 1) for x in nest], -level)

    return anew(joined(wide, depth))


def _depth(nest: Any) -> int:
    return 1 + max(map(_depth, nest)) if isinstance(nest, list) else 0


def _each(nest: Any, f: Any) -> Any:
    return [_each(x, f) for x in nest] if isinstance(nest, list) else f(nest)


def _leaves(nest: Any) -> list[Any]:
    return [leaf for x in nest for leaf in _leaves(x)] if isinstance(nest, list) else [nest]


def append(arr: Any, values: Any, axis: int | None = None) -> Tensor:
    """`values` behind `arr` along `axis`, or all elements in a row; promoted. ShapeError where other sizes differ.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.append([1.0, 2.0], [3.0]))
    tf.Tensor([1. 2. 3.], shape=(3,), dtype=float64)
    """
    return concatenate([arr, values], axis)


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Tensor:
    """`arr` with `values` in front of the positions `obj` along `axis` or in all elements.

    Several positions are known when this is called, one may be computed by a traced function.

    In front of one position there may be several values; they are made of the dtype of `arr`. IndexError for positions
    outside of the axis, ShapeError where the values do not broadcast.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.insert([1, 2, 3], 1, [7, 8]))
    tf.Tensor([1 7 8 2 3], shape=(5,), dtype=int64)
    """
    x, along = lined_up(arr, axis)
    rank = len(x.shape)
    given = ops.cast(array(values), dtype=x.np_dtype)
    given = ops.reshape(given, shape=(*(1,) * (rank - len(given.shape)), *given.shape))
    if np.ndim(obj) == 0 and not isinstance(obj, slice):
        given = moveaxis(given, 0, along)  # one value in each row
    size = known(x.shape[along])
    if isinstance(obj, Tensor) and obj.is_symbolic:
        count = known(given.shape[along])
        order = _with_gap(obj, size, count)
        shape = tuple([count if k == along else d for k, d in enumerate(x.shape)])
        return ops.gather(ops.concat(x, ops.broadcast_to(given, shape=shape), axis=along), order, axis=along)
    obj = values_of(obj) if isinstance(obj, Tensor) else obj
    places = np.insert(np.arange(size), obj, 0).size - size
    count = places if places != 1 else known(given.shape[along])
    # the values are numbered behind the elements, as they are joined below
    order = np.insert(np.arange(size), obj, size + np.arange(count))
    shape = tuple([count if k == along else d for k, d in enumerate(x.shape)])
    return ops.gather(ops.concat(x, ops.broadcast_to(given, shape=shape), axis=along), order, axis=along)


def _with_gap(position: Any, size: int, count: int) -> Any:
    """The numbers of so many elements, and in front of one of them those of `count` behind them all."""
    position = _one_position(position, size + 1, size)
    number = np.arange(size + count)
    behind = ops.where(ops.less(number, position + count), number - position + size, number - count)
    return ops.where(ops.less(number, position), number, behind)


def _one_position(position: Any, count: int, size: int) -> Any:
    """A position that a traced function computes, counted from the front; IndexError for others when it runs."""
    if position.shape:
        raise SymbolicValue(
            f"of several positions, {position.spec}, it shows only when the function runs how they lie: give one"
            f"{at(user_location())}"
        )
    position = ops.cast(position, dtype=np.dtype(np.int64))
    return ops.gather(np.arange(count), ops.where(ops.less(position, 0), position + size, position), axis=0)


def delete(arr: Any, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False) -> Tensor:
    """`arr` without the positions `obj` along `axis` or in all elements; same dtype.

    Of several positions that a traced function computes, the size of the result shows only when it runs, unless
    `assume_unique_indices` says that no two are equal: ValueError where two are. IndexError for positions outside of
    the axis, ShapeError for a mask of another size.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.delete([1.0, 2.0, 3.0], 1))
    tf.Tensor([1. 3.], shape=(2,), dtype=float64)
    """
    x, along = lined_up(arr, axis)
    if isinstance(obj, Tensor) and obj.is_symbolic:
        return ops.gather(x, _kept(obj, known(x.shape[along]), assume_unique_indices), axis=along)
    obj = values_of(obj) if isinstance(obj, Tensor) else obj
    return ops.gather(x, np.delete(np.arange(known(x.shape[along])), obj), axis=along)


def _kept(obj: Any, size: int, differ: bool) -> Any:
    """The numbers of `size` elements without those of `obj`, which a traced function computes."""
    if obj.dtype.kind == "b":
        if obj.shape != (size,):
            raise ShapeError(f"a mask of {size} elements is asked for, got {obj.spec}{at(user_location())}")
        return flatnonzero(ops.logical_not(obj))
    if not obj.shape:
        number = np.arange(size - 1)
        return ops.where(ops.less(number, _one_position(obj, size, size)), number, number + 1)
    flat = ops.reshape(ops.cast(obj, dtype=np.dtype(np.int64)), shape=(-1,))
    from_front = ops.gather(np.arange(size), flat, axis=0)
    if not differ:
        gone = ops.fill(shape=flat.shape, value=0, dtype=np.dtype(bool))
        return flatnonzero(ops.scatter_set(np.ones(size, bool), from_front, gone, axis=0))
    ordered: Any = sorting.sort(from_front)
    require(ops.less(ordered[:-1], ordered[1:]), "two of the positions to delete are equal")
    count = known(flat.shape[0])
    number = np.arange(size - count)
    return ops.add(number, sorting.searchsorted(ops.subtract(ordered, np.arange(count)), number, "right", np.int64))


# ---- cutting --------------------------------------------------------------------------------------------


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """`ary` cut along `axis` into so many equal parts, or before each of some positions: `indices_or_sections`.

    Views of the same dtype. ShapeError where there are no equal parts.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print([part.numpy() for part in tnp.split(tnp.arange(4), [1, 3])])
    [array([0]), array([1, 2]), array([3])]
    """
    x = array(ary)
    if isinstance(indices_or_sections, (int, np.integer)):
        return cutting.split(x, int(indices_or_sections), axis)
    return _cut(x, list(indices_or_sections), axis)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The parts of `x` along `axis`, without that axis, of its dtype; ShapeError for an axis that is not there.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print([part.numpy() for part in tnp.unstack([[1, 2], [3, 4]])])
    [array([1, 2]), array([3, 4])]
    """
    return tuple(cutting.unstack(array(x), axis=axis))


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """`ary` cut along `axis` into parts, the first larger by one where they cannot be equal, or before some positions.

    `indices_or_sections` says how many parts, or where. Views of the same dtype; ShapeError for no part.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print([part.shape for part in tnp.array_split(tnp.arange(5.0), 2)])
    [TensorShape([3]), TensorShape([2])]
    """
    x = array(ary)
    if not isinstance(indices_or_sections, (int, np.integer)):
        return _cut(x, list(indices_or_sections), axis)
    count, size = int(indices_or_sections), x.shape[one_axis(axis, len(x.shape))]
    if count < 1:
        raise ShapeError(f"array_split takes one part at least, got {count}{at(user_location())}")
    each, more = divmod(size, count)
    return _cut(x, list(accumulate([each + (k < more) for k in range(count - 1)])), axis)


def _cut(x: Tensor, ends: list[Any], axis: int) -> list[Tensor]:
    axis = one_axis(axis, len(x.shape))
    whole = (slice(None),) * axis
    return [get(x, (*whole, slice(a, b))) for a, b in pairwise([0, *ends, None])]


def vsplit(ary: Any, indices_or_sections: Any) -> list[Tensor]:
    """`ary` cut along the first of two axes or more, see :func:`split`: `indices_or_sections`, dtype, ShapeError.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print([part.shape for part in tnp.vsplit(tnp.ones((4, 2)), 2)])
    [TensorShape([2, 2]), TensorShape([2, 2])]
    """
    return split(_of_rank(ary, 2), indices_or_sections, 0)


def _of_rank(a: Any, least: int) -> Tensor:
    x = array(a)
    if len(x.shape) < least:
        raise ShapeError(f"takes {least} axes or more, got {x.spec}{at(user_location())}")
    return x


def hsplit(ary: Any, indices_or_sections: Any) -> list[Tensor]:
    """`ary` cut along the second axis, or a vector, by `indices_or_sections`; dtype, ShapeError as :func:`split`.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print([part.shape for part in tnp.hsplit(tnp.ones((4, 2)), 2)])
    [TensorShape([4, 1]), TensorShape([4, 1])]
    """
    x = array(ary)
    return split(x, indices_or_sections, 1 if len(x.shape) > 1 else 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Tensor]:
    """`ary` cut along the third axis, see :func:`split`: `indices_or_sections`, dtype, ShapeError.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print([part.shape for part in tnp.dsplit(tnp.ones((1, 2, 4)), 2)])
    [TensorShape([1, 2, 2]), TensorShape([1, 2, 2])]
    """
    return split(_of_rank(ary, 3), indices_or_sections, 2)


# ---- repeating ------------------------------------------------------------------------------------------


def tile(A: Any, reps: Any) -> Tensor:
    """The whole array `A` repeated along each axis as often as `reps` says, same dtype; DtypeError for no integers.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.tile([1, 2], 2))
    tf.Tensor([1 2 1 2], shape=(4,), dtype=int64)
    """
    x = copied(array(A)) if isinstance(A, Tensor) else array(A)  # the result is a new array in NumPy, no view
    times = (reps,) if isinstance(reps, (int, np.integer)) else tuple(reps)
    rank = max(len(times), len(x.shape))
    times = (*(1,) * (rank - len(times)), *times)
    return cutting.tile(ops.reshape(x, shape=(*(1,) * (rank - len(x.shape)), *x.shape)), times)


def repeat(
    a: Any, repeats: Any, axis: int | None = None, *, total_repeat_length: int | None = None
) -> Tensor:
    """Each element of `a` `repeats` times in a row, along `axis` or of all elements; dtype as before.

    Of a `total_repeat_length` the first so many are left, and the last is repeated where they are fewer: the size is
    known where the `repeats` are computed. ShapeError where `repeats` are neither one nor one per element.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.repeat([1, 2], 2), tnp.repeat([1, 2], [2, 1]).numpy())
    tf.Tensor([1 1 2 2], shape=(4,), dtype=int64) [1 1 2]
    """
    repeated = cutting.repeat(array(a), repeats, axis)
    if total_repeat_length is None:
        return anew(repeated, a)
    along = one_axis(axis or 0, len(repeated.shape))
    last = ops.subtract(size_tensor(repeated.shape[along]), 1)
    return ops.gather(repeated, ops.minimum(np.arange(total_repeat_length), last), axis=along)
