"""NumPy's differences, integrals, interpolation and convolutions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.errors import ShapeError, at, user_location
from ...core.op import ops
from ...core.tensor import Tensor
from ...ops.arrays.reduce import one_axis
from ...ops.arrays.shape import expand_dims
from ...ops.elementwise.arithmetic import matched
from ...ops.tensor.indexing import get
from ..conversion import array, arrays, is_number, wide_floats
from ..joining import concatenate
from ..order.ordering import argsort
from ..shapes import atleast_1d
from ..statistics.counting import searchsorted


def _part(x: Any, axis: int, start: int | None, stop: int | None) -> Any:
    return get(x, (*(slice(None),) * axis, slice(start, stop)))


def _steps(x: Any, axis: int) -> Any:
    """Each element less the one before it; of bools, whether they differ."""
    after, before = _part(x, axis, 1, None), _part(x, axis, None, -1)
    return ops.not_equal(after, before) if x.dtype.kind == "b" else ops.subtract(after, before)


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """Each element of `a` less the one before it along `axis`, `n` times; of bools whether they differ. Same dtype.

    `prepend` and `append` are joined to it first. ShapeError for scalars and negative `n`.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.diff([1, 4, 9]))
    tf.Tensor([3 5], shape=(2,), dtype=int64)
    """
    x: Any = array(a)
    if n == 0:  # before anything is joined to it, as in NumPy
        return x
    if n < 0 or not x.shape:
        raise ShapeError(
            f"diff takes an axis, and n of at least 0, got {x.spec} and {n}{at(user_location())}"
        )
    axis = one_axis(axis, len(x.shape))
    edge = tuple([1 if k == axis else d for k, d in enumerate(x.shape)])

    def end(value: Any) -> list[Any]:
        if value is None:
            return []
        given = array(value)
        return [given if given.shape else ops.broadcast_to(given, shape=edge)]

    parts = [*end(prepend), x, *end(append)]
    x = concatenate(parts, axis) if len(parts) > 1 else x
    for _ in range(n):
        x = _steps(x, axis)
    return x


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Tensor:
    """Differences of all elements of `ary` in a row, with `to_begin` in front and `to_end` behind, in its dtype.

    DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.ediff1d([1.0, 4.0, 9.0]))
    tf.Tensor([3. 5.], shape=(2,), dtype=float64)
    """
    x = array(ary)
    middle = diff(ops.reshape(x, shape=(x.spec.size,)))
    ends = [None if v is None else ops.cast(array(v), dtype=middle.np_dtype) for v in (to_begin, to_end)]
    parts = [ends[0], middle, ends[1]]
    return ops.concat(*(ops.reshape(v, shape=(v.spec.size,)) for v in parts if v is not None), axis=0)


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Slopes along each axis by differences: central ones inside, one-sided ones at the ends.

    This is NumPy's ``gradient`` of sampled values; derivatives of functions are :func:`tracejit.grad`.

    Parameters
    ----------
    f : tensor-like
    *varargs : number or vector
        The distance of samples, or their coordinates, one for all axes or one each.
    axis : int or sequence of int, optional
        All by default; several give a tuple.
    edge_order : int
        1 or 2: how many differences the ends take into account.

    Returns
    -------
    Tensor or tuple of Tensor
        Of the shape of `f` and, as are integers, of float64, or of its floats.

    Raises
    ------
    ShapeError
        For another number of spacings, another `edge_order`, or too few samples.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.gradient([1.0, 4.0, 9.0, 16.0]))
    tf.Tensor([3. 4. 6. 7.], shape=(4,), dtype=float64)
    """
    x = wide_floats(f)
    rank = len(x.shape)
    chosen = range(rank) if axis is None else [axis] if isinstance(axis, (int, np.integer)) else axis
    axes = [one_axis(int(k), rank) for k in chosen]
    spacings = varargs * len(axes) if len(varargs) == 1 else varargs or (1.0,) * len(axes)
    if len(spacings) != len(axes) or edge_order not in (1, 2):
        raise ShapeError(
            f"{len(spacings)} spacings for {len(axes)} axes, edge_order {edge_order} of 1 or 2{at(user_location())}"
        )
    slopes = tuple([_slopes(x, k, h, edge_order) for k, h in zip(axes, spacings, strict=True)])
    return slopes[0] if len(slopes) == 1 else slopes


def _slopes(x: Any, axis: int, spacing: Any, edge_order: int) -> Tensor:
    size = x.shape[axis]
    if size < edge_order + 1:
        raise ShapeError(
            f"axis {axis} of {x.spec} has fewer than {edge_order + 1} samples{at(user_location())}"
        )
    h: Any = array(spacing, x.dtype) if is_number(spacing) else wide_floats(spacing)
    steps = _steps(h, 0) if h.shape else ops.broadcast_to(h, shape=(size - 1,))
    wide = tuple([size - 1 if k == axis else 1 for k in range(len(x.shape))])
    steps = ops.reshape(steps, shape=wide)
    slopes = ops.divide(_steps(x, axis), steps)
    before, after = _part(slopes, axis, None, -1), _part(slopes, axis, 1, None)
    left, right = _part(steps, axis, None, -1), _part(steps, axis, 1, None)
    # the slope at a place of the parabola through it and its neighbours; between equal steps it does not read the place
    middle = (
        ops.divide(before * right + after * left, left + right)
        if h.shape
        else ops.divide(ops.subtract(_part(x, axis, 2, None), _part(x, axis, None, -2)), 2 * h)
    )
    first, last = _part(slopes, axis, 0, 1), _part(slopes, axis, -1, None)
    if edge_order == 2:
        first = first + (first - _part(middle, axis, 0, 1))
        last = last + (last - _part(middle, axis, -1, None))
    return ops.concat(first, middle, last, axis=axis)


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Tensor:
    """The integral of the samples `y` along `axis` by the trapezoidal rule, at places `x` or `dx` apart; floats.

    The axis falls away. ShapeError for an axis that is not there, and for distances that do not broadcast.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.trapezoid([1.0, 2.0, 3.0]))
    tf.Tensor(4.0, shape=(), dtype=float64)
    """
    values: Any = wide_floats(y)
    given, axis = axis, one_axis(axis, len(values.shape))
    width: Any = dx
    if x is not None:
        places = array(x)
        width = diff(places, axis=given if len(places.shape) > 1 else 0)
        if len(places.shape) == 1:
            width = ops.reshape(
                width, shape=tuple([-1 if k == axis else 1 for k in range(len(values.shape))])
            )
    pairs = _part(values, axis, 1, None) + _part(values, axis, None, -1)
    return ops.reduce_sum(ops.multiply(width, pairs) * 0.5, axis=axis)


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Tensor:
    """Values at `x` on straight lines between the points (`xp`, `fp`), which ascend; outside, `left` and `right`.

    Floats of the shape of `x`; gradients flow to `x`, `xp` and `fp`. "extrapolate" as `left` or `right` is the line
    through the two points there. With a `period` places that far apart are one, the points need not ascend, and there
    is no outside. ValueError for a period of 0, ShapeError for points that are not two vectors of one size.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> float(tnp.interp(2.5, [1, 2, 3], [3, 2, 0]))
    1.0
    """
    at_x, points, values = (wide_floats(v) for v in (x, xp, fp))
    at_x, points = matched((at_x, points), {})[0]
    if len(points.shape) != 1 or points.shape != values.shape:
        raise ShapeError(
            f"points are two vectors of one size, got {points.spec}, {values.spec}{at(user_location())}"
        )
    extended = [_is_extended(side) for side in (left, right)]
    if period is not None:
        at_x, points, values = _around(at_x, points, values, period)
        left = right = None
        extended = [False, False]
    last = points.shape[0] - 1
    above = ops.minimum(ops.maximum(searchsorted(points, at_x, "right"), 1), max(last, 1))
    low, high = ops.subtract(above, 1), ops.minimum(above, last)
    x0, x1, y0, y1 = (ops.gather(v, k, axis=0) for v in (points, values) for k in (low, high))
    under, over = ops.less(at_x, get(points, 0)), ops.less(get(points, -1), at_x)
    outside = ops.logical_or(
        *(_without(side, line) for side, line in zip((under, over), extended, strict=True))
    )
    part = _part_of(ops.where(outside, 0.0, at_x - x0), ops.where(ops.equal(x0, x1), 1.0, x1 - x0))
    y = y0 + part * (y1 - y0)
    first, final = get(values, 0), get(values, -1)
    y = y if extended[0] else ops.where(under, *arrays(first if left is None else left, y))
    if extended[1]:
        return y
    y = ops.where(ops.equal(at_x, get(points, -1)), final, y)
    return ops.where(over, *arrays(final if right is None else right, y))


def _is_extended(side: Any) -> bool:
    """Does the line through the outermost points go on? ValueError for other words."""
    if isinstance(side, str) and side != "extrapolate":
        raise ValueError(f"left and right are values or 'extrapolate', got {side!r}{at(user_location())}")
    return isinstance(side, str)


def _without(side: Any, extended: bool) -> Any:
    return ops.logical_and(side, False) if extended else side


def _part_of(step: Any, width: Any) -> Any:
    """`step` divided by `width`, both scaled where 1 / `width` would overflow, which the gradient asks for."""
    limits = np.finfo(width.dtype)
    scale = ops.where(ops.less(ops.abs(width), float(limits.tiny)), 2.0**limits.nmant, 1.0)
    scale = ops.cast(scale, dtype=width.dtype)
    return ops.divide(step * scale, width * scale)


def _around(x: Any, points: Any, values: Any, period: Any) -> tuple[Any, Any, Any]:
    """Places within one period, and the points in it in order with one more in front and behind."""
    if is_number(period) and period == 0:
        raise ValueError(f"a period is not 0{at(user_location())}")
    length = ops.abs(array(period, x.dtype))
    x, points = ops.mod(x, length), ops.mod(points, length)
    order = argsort(points)
    points, values = (ops.gather(v, order, axis=0) for v in (points, values))
    first, last = slice(0, 1), slice(-1, None)
    points = ops.concat(get(points, last) - length, points, get(points, first) + length, axis=0)
    return x, points, ops.concat(get(values, last), values, get(values, first), axis=0)


def convolve(a: Any, v: Any, mode: str = "full") -> Tensor:
    """Sums of products of vectors `a` and `v`, of which one runs backwards along the other; of the promoted dtype.

    `mode` is "full", "same" or "valid": every overlap, as many as the longer has elements, or whole ones. ValueError
    for another, and for vectors without elements.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.convolve([1, 2, 3], [0, 1]))
    tf.Tensor([0 1 2 3], shape=(4,), dtype=int64)
    """
    x, kernel = matched([atleast_1d(u) for u in (a, v)], {})[0]
    if x.shape[0] < kernel.shape[0]:
        x, kernel = kernel, x
    return _slid(x, get(kernel, slice(None, None, -1)), mode)


def correlate(a: Any, v: Any, mode: str = "valid") -> Tensor:
    """Sums of products of vectors `a` and `v` at every displacement, the second conjugated; see :func:`convolve`.

    The dtype is the promoted one; ValueError for another `mode`, and for vectors without elements.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.correlate([1.0, 2.0, 3.0], [0.0, 1.0]))
    tf.Tensor([2. 3.], shape=(2,), dtype=float64)
    """
    x, kernel = matched([array(u) for u in (a, v)], {})[0]
    kernel = ops.conj(kernel) if kernel.dtype.kind == "c" else kernel
    if x.shape[0] >= kernel.shape[0]:
        return _slid(x, kernel, mode)
    return get(_slid(kernel, x, mode), slice(None, None, -1))


def _slid(x: Any, kernel: Any, mode: str) -> Tensor:
    """The products of `kernel` with windows of `x`, which is not shorter."""
    size, width = x.shape[0], kernel.shape[0]
    if width == 0 or mode not in ("full", "same", "valid"):
        raise ValueError(
            f"takes vectors with elements, and the mode full, same or valid: got {x.spec}, {kernel.spec} and {mode!r}"
            f"{at(user_location())}"
        )
    before = {"full": width - 1, "same": width // 2, "valid": 0}[mode]
    after = {"full": width - 1, "same": (width - 1) // 2, "valid": 0}[mode]
    ends = [ops.fill(shape=(n,), value=0, dtype=x.dtype) for n in (before, after)]
    longer = ops.concat(ends[0], x, ends[1], axis=0)
    count = size + before + after - width + 1
    first, within = (ops.iota(size=n, dtype=np.dtype(np.int64)) for n in (count, width))
    windows = ops.gather(longer, ops.add(expand_dims(first, 1), within), axis=0)
    return ops.reduce_sum(ops.multiply(windows, kernel), axis=1)


def unwrap(p: Any, discont: float | None = None, axis: int = -1, *, period: float = 2 * np.pi) -> Tensor:
    """The angles `p` along `axis` without jumps: whole periods are added where two differ by more than half of one.

    Floats of the same shape, integers if the angles and the `period`, a whole turn, are; jumps below `discont` are
    none. ShapeError for an axis that is not there.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.unwrap([0.0, 2 * tnp.pi]))
    tf.Tensor([0. 0.], shape=(2,), dtype=float64)
    """
    x: Any = wide_floats(p)
    axis = one_axis(axis, len(x.shape))
    steps = _steps(x, axis)
    half = period / 2
    wrapped = ops.subtract(ops.mod(steps + half, period), half)
    wrapped = ops.where(ops.logical_and(ops.equal(wrapped, -half), ops.less(0, steps)), half, wrapped)
    limit = half if discont is None else max(discont, half)
    moved = ops.where(ops.less(ops.abs(steps), limit), 0.0, wrapped - steps)
    first = ops.fill(
        shape=tuple([1 if k == axis else d for k, d in enumerate(x.shape)]), value=0.0, dtype=x.dtype
    )
    unwrapped = x + ops.cumsum(ops.concat(first, moved, axis=axis), axis=axis)
    whole = np.result_type(array(p).np_dtype, period)
    return ops.cast(unwrapped, dtype=whole) if whole.kind in "iu" else unwrapped
