"""NumPy's ways to join arrays and to cut them, to repeat, to pad and to take parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from ..arrays import cutting
from ..core.dim import known
from ..core.errors import DtypeError, ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..math import sorting
from ..ops.arrays import shape as shapes
from ..ops.arrays.reduce import one_axis, size_tensor
from ..ops.elementwise.arithmetic import matched
from ..ops.tensor.indexing import get
from . import reductions
from .conversion import array, arrays, lined_up, values_of
from .shapes import atleast_2d, atleast_3d, moveaxis, ravel
from .statistics.quantiles import median


def concatenate(arrays_: Sequence[Any], axis: int | None = 0, *, dtype: Any = None) -> Tensor:
    """`arrays_` joined along `axis`, with None all elements in a row; promoted, or made of `dtype`.

    ShapeError where other sizes differ; DtypeError where `dtype` would lose more than precision.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.concatenate([[1, 2], [3]]))
    tf.Tensor([1 2 3], shape=(3,), dtype=int64)
    """
    parts = _converted(arrays_, dtype)
    return ops.concat(*(parts if axis is not None else map(ravel, parts)), axis=axis or 0)


def _converted(arrays_: Sequence[Any], dtype: Any) -> list[Tensor]:
    """Tensors of `dtype`, if it is one, which keeps all but precision."""
    given = [array(x) for x in arrays_]
    wrong = [x for x in given if dtype is not None and not np.can_cast(x.dtype, dtype, "same_kind")]
    if wrong:
        raise DtypeError(
            f"{wrong[0].spec} would lose more than precision as {np.dtype(dtype).name}: cast it first"
            f"{at(user_location())}"
        )
    return [array(x, dtype) for x in given]


concat = concatenate


def stack(arrays_: Sequence[Any], axis: int = 0, *, dtype: Any = None) -> Tensor:
    """`arrays_`, all of one shape, joined along a new `axis`, in the promoted dtype or `dtype`.

    ShapeError where shapes differ, DtypeError as :func:`concatenate`.
    """
    return shapes.stack(_converted(arrays_, dtype), axis)


def vstack(tup: Sequence[Any], *, dtype: Any = None) -> Tensor:
    """`tup` joined along the first axis, vectors as rows, and promoted, or made of `dtype`; errors of `concatenate`.

    ShapeError where other sizes differ.
    """
    return concatenate([atleast_2d(x) for x in tup], dtype=dtype)


def hstack(tup: Sequence[Any], *, dtype: Any = None) -> Tensor:
    """`tup` joined along the second axis, vectors along their own; promoted, or made of `dtype`.

    ShapeError where other sizes differ.
    """
    parts = [x if x.shape else ravel(x) for x in map(array, tup)]
    return concatenate(parts, 0 if len(parts[0].shape) == 1 else 1, dtype=dtype)


def dstack(tup: Sequence[Any], *, dtype: Any = None) -> Tensor:
    """The arrays `tup` joined along the third axis, and promoted, or made of `dtype`; ShapeError if sizes differ."""
    return concatenate([atleast_3d(x) for x in tup], 2, dtype=dtype)


def column_stack(tup: Sequence[Any]) -> Tensor:
    """`tup` joined along the second axis, vectors as columns, and promoted; ShapeError where other sizes differ."""
    parts = map(array, tup)
    return concatenate([x if len(x.shape) > 1 else ops.reshape(x, shape=(x.spec.size, 1)) for x in parts], 1)


def block(arrays_: Any) -> Tensor:
    """Joined from `arrays_`, nested lists: the innermost along the last axis, those around them along the one before.

    Their dtypes are promoted; ShapeError where sizes differ.
    """
    depth = _depth(arrays_)
    parts = _each(arrays_, array)
    rank = max(depth, *(len(x.shape) for x in _leaves(parts)))
    wide = _each(parts, lambda x: ops.reshape(x, shape=(*(1,) * (rank - len(x.shape)), *x.shape)))

    def joined(nest: Any, level: int) -> Any:
        if not isinstance(nest, list):
            return nest
        return concatenate([joined(x, level - 1) for x in nest], -level)

    return joined(wide, depth)


def _depth(nest: Any) -> int:
    return 1 + max(map(_depth, nest)) if isinstance(nest, list) else 0


def _each(nest: Any, f: Any) -> Any:
    return [_each(x, f) for x in nest] if isinstance(nest, list) else f(nest)


def _leaves(nest: Any) -> list[Any]:
    return [leaf for x in nest for leaf in _leaves(x)] if isinstance(nest, list) else [nest]


def append(arr: Any, values: Any, axis: int | None = None) -> Tensor:
    """`values` behind `arr` along `axis`, or all elements in a row; promoted. ShapeError where other sizes differ."""
    return concatenate([arr, values], axis)


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Tensor:
    """`arr` with `values` in front of the positions `obj`, known when this is called, along `axis` or in all elements.

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
    given = ops.cast(array(values), dtype=x.dtype)
    given = ops.reshape(given, shape=(*(1,) * (rank - len(given.shape)), *given.shape))
    if np.ndim(obj) == 0 and not isinstance(obj, slice):
        given = moveaxis(given, 0, along)  # one value in each row
    size = known(x.shape[along])
    places = np.insert(np.arange(size), obj, 0).size - size
    count = places if places != 1 else known(given.shape[along])
    # the values are numbered behind the elements, as they are joined below
    order = np.insert(np.arange(size), obj, size + np.arange(count))
    shape = tuple([count if k == along else d for k, d in enumerate(x.shape)])
    return ops.gather(ops.concat(x, ops.broadcast_to(given, shape=shape), axis=along), order, axis=along)


def delete(arr: Any, obj: Any, axis: int | None = None) -> Tensor:
    """`arr` without the positions `obj`, known when this is called, along `axis` or in all elements; same dtype.

    IndexError for positions outside of the axis.
    """
    x, along = lined_up(arr, axis)
    return ops.gather(x, np.delete(np.arange(known(x.shape[along])), obj), axis=along)


# ---- cutting --------------------------------------------------------------------------------------------


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """`ary` cut along `axis` into so many equal parts, or before each of some positions: `indices_or_sections`.

    Views of the same dtype. ShapeError where there are no equal parts.
    """
    x = array(ary)
    if isinstance(indices_or_sections, (int, np.integer)):
        return cutting.split(x, int(indices_or_sections), axis)
    return _cut(x, list(indices_or_sections), axis)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The parts of `x` along `axis`, without that axis, of its dtype; ShapeError for an axis that is not there."""
    return tuple(cutting.unstack(array(x), axis=axis))


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """`ary` cut along `axis` into parts, the first larger by one where they cannot be equal, or before some positions.

    `indices_or_sections` says how many parts, or where. Views of the same dtype; ShapeError for no part.
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
    """`ary` cut along the first of two axes or more, see :func:`split`: `indices_or_sections`, dtype, ShapeError."""
    return split(_of_rank(ary, 2), indices_or_sections, 0)


def _of_rank(a: Any, least: int) -> Tensor:
    x = array(a)
    if len(x.shape) < least:
        raise ShapeError(f"takes {least} axes or more, got {x.spec}{at(user_location())}")
    return x


def hsplit(ary: Any, indices_or_sections: Any) -> list[Tensor]:
    """`ary` cut along the second axis, or a vector, by `indices_or_sections`; dtype, ShapeError as :func:`split`."""
    x = array(ary)
    return split(x, indices_or_sections, 1 if len(x.shape) > 1 else 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Tensor]:
    """`ary` cut along the third axis, see :func:`split`: `indices_or_sections`, dtype, ShapeError."""
    return split(_of_rank(ary, 3), indices_or_sections, 2)


# ---- repeating ------------------------------------------------------------------------------------------


def pad(
    array_: Any,
    pad_width: Any,
    mode: str = "constant",
    *,
    constant_values: Any = 0,
    end_values: Any = 0,
    stat_length: Any = None,
    reflect_type: str = "even",
) -> Tensor:
    """Elements of the same dtype around `array_`; `pad_width` is a number, (before, after), or one such pair per axis.

    `mode` is "constant", with `constant_values` given likewise, "reflect", "symmetric", "edge", "wrap", "linear_ramp"
    to the `end_values`, or "maximum", "minimum", "mean" or "median" along the axis, of `stat_length` elements next to
    the end; "empty" is 0. With the `reflect_type` "odd" what is reflected is mirrored at the value there, too.
    ValueError for others.
    """
    mode = "constant" if mode == "empty" else mode
    x: Any = array(array_)
    pairs = np.broadcast_to(pad_width, (len(x.shape), 2)).tolist()
    if mode in ("reflect", "symmetric") and reflect_type == "odd":
        for axis, sizes in enumerate(pairs):
            x = _turned_over(x, axis, sizes, mode)
        return x
    if mode in ("reflect", "symmetric") and reflect_type != "even":
        raise ValueError(f"reflect_type is even or odd, got {reflect_type!r}{at(user_location())}")
    if mode in _ENDS:
        lengths = np.broadcast_to(0 if stat_length is None else stat_length, (len(pairs), 2)).tolist()
        for axis, (sizes, taken) in enumerate(zip(pairs, lengths, strict=True)):
            x = _with_ends(x, axis, sizes, taken, _ENDS[mode])
        return x
    if mode == "linear_ramp":
        values = np.broadcast_to(end_values, (len(pairs), 2)).tolist()
        for axis, (sizes, ends) in enumerate(zip(pairs, values, strict=True)):
            x = _with_ramps(x, axis, sizes, ends)
        return x
    if mode in ("edge", "wrap"):
        for axis, (before, after) in enumerate(pairs):
            x = ops.gather(x, _positions_around(x.shape[axis], before, after, mode), axis=axis)
        return x
    if mode != "constant":
        return cutting.pad(x, pairs, mode, 0)
    return _with_constants(x, pairs, constant_values)


def _with_constants(x: Any, pairs: Sequence[Any], constant_values: Any) -> Tensor:
    """One value all around, or one for each side; in integers without their fractions."""
    if not isinstance(constant_values, (list, tuple, np.ndarray)):
        whole = isinstance(constant_values, float) and x.dtype.kind in "iu"
        return cutting.pad(x, pairs, "constant", int(constant_values) if whole else constant_values)
    for axis, values in enumerate(np.broadcast_to(constant_values, (len(pairs), 2)).tolist()):
        for side, value in enumerate(values):
            width = [[0, 0] for _ in pairs]
            width[axis][side] = pairs[axis][side]
            x = _with_constants(x, width, value)
    return x


def _turned_over(x: Any, axis: int, sizes: Sequence[int], mode: str) -> Tensor:
    """Elements mirrored at the ends, and their values at the value there: twice that less the element."""
    size = known(x.shape[axis])
    if size == 1:
        return ops.gather(x, np.zeros(1 + sizes[0] + sizes[1], np.int64), axis=axis)
    step = 1 if mode == "symmetric" else 0
    period = 2 * (size - 1 + step)
    turns, place = np.divmod(np.arange(-sizes[0], size + sizes[1]), period)
    over = place >= size
    whole = ops.gather(x, np.where(over, period - step - place, place), axis=axis)
    along = tuple([-1 if k == axis else 1 for k in range(len(x.shape))])
    sign, lasts, firsts = (
        array(v.reshape(along), x.dtype) for v in (np.where(over, -1, 1), 2 * (over + turns), -2 * turns)
    )
    first, last = (get(x, (*(slice(None),) * axis, end)) for end in (slice(0, 1), slice(-1, None)))
    return ops.add(ops.multiply(sign, whole), ops.add(ops.multiply(lasts, last), ops.multiply(firsts, first)))


def _positions_around(size: Any, before: int, after: int, mode: str) -> Any:
    """Positions along an axis with some in front and behind: the outermost ones again, or those of the other end."""
    number = ops.subtract(ops.iota(size=size + before + after, dtype=np.dtype(np.int64)), before)
    if mode == "wrap":
        return ops.mod(number, size_tensor(size))
    return ops.minimum(ops.maximum(number, 0), ops.subtract(size_tensor(size), 1))


#: What pads an axis with one value, by mode.
_ENDS: dict[str, Callable[..., Any]] = {
    "maximum": reductions.max,
    "minimum": reductions.min,
    "mean": reductions.mean,
    "median": median,
}


def _with_ends(
    x: Any, axis: int, sizes: Sequence[int], taken: Sequence[int], value: Callable[..., Any]
) -> Tensor:
    """What a reduction over so many elements at each end gives, so often there; 0 are all; rounded in integers."""
    parts = [x]
    for side, (count, length) in enumerate(zip(sizes, taken, strict=True)):
        chosen = slice(-length if side and length else None, None if side or not length else length)
        end = value(get(x, (*(slice(None),) * axis, chosen)), axis, keepdims=True)
        end = ops.round(end) if x.dtype.kind in "iu" and end.dtype.kind == "f" else end
        repeated = _repeated(ops.cast(end, dtype=x.dtype), axis, count)
        parts = [*parts, *repeated] if side else [*repeated, *parts]
    return ops.concat(*parts, axis=axis)


def _repeated(end: Any, axis: int, count: int) -> list[Tensor]:
    shape = tuple([count if k == axis else d for k, d in enumerate(end.shape)])
    return [ops.broadcast_to(end, shape=shape)] if count else []


def _with_ramps(x: Any, axis: int, sizes: Sequence[int], ends: Sequence[Any]) -> Tensor:
    """Evenly spaced elements from the outermost ones to `ends`."""
    parts = [x]
    for side, (size, end) in enumerate(zip(sizes, ends, strict=True)):
        last: Any = get(x, (*(slice(None),) * axis, slice(-1, None) if side else slice(0, 1)))
        steps = ops.reshape(
            array(np.arange(size) / max(size, 1)), shape=(size, *(1,) * (len(x.shape) - axis - 1))
        )
        part = ops.add(
            end, ops.multiply(ops.subtract(ops.cast(last, dtype=np.dtype(np.float64)), end), steps)
        )
        part = ops.cast(ops.floor(part) if x.dtype.kind in "iu" else part, dtype=x.dtype)
        parts = [*parts, cutting.reverse(part, axis)] if side else [part, *parts]
    return ops.concat(*parts, axis=axis)


def tile(A: Any, reps: Any) -> Tensor:
    """The whole array `A` repeated along each axis as often as `reps` says, same dtype; DtypeError for no integers."""
    x = array(A)
    times = (reps,) if isinstance(reps, (int, np.integer)) else tuple(reps)
    rank = max(len(times), len(x.shape))
    times = (*(1,) * (rank - len(times)), *times)
    return cutting.tile(ops.reshape(x, shape=(*(1,) * (rank - len(x.shape)), *x.shape)), times)


def repeat(a: Any, repeats: Any, axis: int | None = None) -> Tensor:
    """Each element of `a` `repeats` times in a row, along `axis` or of all elements; dtype as before.

    ShapeError where `repeats` are neither one nor one per element.
    """
    return cutting.repeat(array(a), repeats, axis)


# ---- taking ---------------------------------------------------------------------------------------------


def take(a: Any, indices: Any, axis: int | None = None, mode: str = "raise") -> Tensor:
    """Elements of `a` by number along `axis`, or of all elements: `indices` replace the axis, the dtype stays.

    What numbers beyond the end mean is the `mode`: "raise", "wrap", by which they begin again, or "clip" to the ends.
    IndexError for such numbers, ValueError for another mode, DtypeError for indices that are no integers.
    """
    x, along = lined_up(a, axis)
    number = array(indices, np.int64 if np.size(indices) == 0 else None)
    if number.dtype.kind == "b":
        number = array(number, np.int64)
    size = size_tensor(x.shape[along])
    if mode == "wrap":
        number = ops.mod(number, size)
    elif mode == "clip":
        number = ops.minimum(ops.maximum(number, 0), ops.subtract(size, 1))
    elif mode != "raise":
        raise ValueError(f"mode is raise, wrap or clip, got {mode!r}{at(user_location())}")
    return ops.gather(x, number, axis=along)


def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Tensor:
    """Elements of `arr` along `axis` by `indices` that differ from row to row; other axes broadcast, the dtype stays.

    IndexError for numbers beyond the end, DtypeError for indices that are no integers, ShapeError where axes do not
    fit.
    """
    x, along = lined_up(arr, axis)
    numbers = array(indices)
    if len(numbers.shape) == len(x.shape):
        together = cutting.common_shape(*(_without(v.shape, along) for v in (x, numbers)))
        x, numbers = (
            ops.broadcast_to(v, shape=(*together[:along], v.shape[along], *together[along:]))
            for v in (x, numbers)
        )
    return sorting.take_along(x, numbers, along)


def _without(shape: tuple[Any, ...], axis: int) -> tuple[Any, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


def compress(condition: Any, a: Any, axis: int | None = None) -> Tensor:
    """The positions of `a` along `axis` for which `condition` holds, known when this is called; same dtype.

    SymbolicValue for a condition that a traced function computes.
    """
    x, along = lined_up(a, axis)
    return ops.gather(x, np.flatnonzero(values_of(condition)), axis=along)


def extract(condition: Any, arr: Any) -> Tensor:
    """The elements of `arr` for which `condition` holds, which is known when this is called, as a vector of its dtype.

    SymbolicValue for a condition that a traced function computes.
    """
    return compress(values_of(condition).ravel(), arr)


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Tensor:
    """For each element the first of `choicelist` whose condition in `condlist` holds, else `default`; they broadcast.

    The dtype is that to which choices are promoted. DtypeError for conditions that are no bools, ValueError where the
    lists differ in length.
    """
    selected = default
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        selected = ops.where(array(condition), *matched(arrays(choice, selected), {})[0])
    return selected


def choose(a: Any, choices: Any, mode: str = "raise") -> Tensor:
    """For each element of `a`, an integer, the element of the choice of that number; they all broadcast.

    What numbers beyond the last mean is the `mode` of :func:`take`. The dtype is that to which `choices` are promoted.
    IndexError for such numbers, ValueError for another mode, ShapeError where they do not broadcast.
    """
    number = array(a)
    whole = matched(arrays(*choices) if isinstance(choices, (list, tuple)) else (array(choices),), {})[0]
    parts = [array(x) for x in whole] if len(whole) > 1 else list(cutting.unstack(array(whole[0]), axis=0))
    shape = cutting.common_shape(number.shape, *(x.shape for x in parts))
    stacked = shapes.stack([ops.broadcast_to(x, shape=shape) for x in parts], len(shape))
    numbers = take(np.arange(len(parts)), ops.broadcast_to(number, shape=shape), mode=mode)
    return ops.reshape(
        sorting.take_along(stacked, ops.reshape(numbers, shape=(*shape, 1)), len(shape)), shape=shape
    )


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Tensor:
    """For each element of `x` the function or number in `funclist` of the last condition in `condlist` that holds.

    One more in `funclist` is for where none does, else 0. Functions are called with the whole of `x`, `args` and `kw`,
    and what they say of other elements is left out; of the dtype of `x`. ValueError for another number of functions.
    """
    v = array(x)
    conditions = condlist if isinstance(condlist, (list, tuple)) else [condlist]
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        raise ValueError(
            f"{len(conditions)} conditions need as many functions or one more, got {len(funclist)}"
            f"{at(user_location())}"
        )
    values = [f(v, *args, **kw) if callable(f) else f for f in funclist]
    chosen: Any = values[-1] if len(values) > len(conditions) else 0
    for condition, value in zip(conditions, values, strict=False):
        chosen = ops.where(array(condition), *matched(arrays(value, chosen), {})[0])
    return ops.broadcast_to(ops.cast(array(chosen), dtype=v.dtype), shape=v.shape)
