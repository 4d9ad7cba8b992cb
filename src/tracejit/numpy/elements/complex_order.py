"""NumPy's order of complex numbers: by their real parts, and where those are equal by the imaginary ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.dim import product
from ...core.op import ops
from ...math import elementary, sorting
from ...ops.arrays.reduce import axes_of, kept
from ...ops.arrays.shape import expand_dims
from ...ops.elementwise.arithmetic import matched
from ..conversion import any_is_zero, array


def also_of_complex(function: Callable[..., Any], of_complex: Callable[..., Any]) -> Callable[..., Any]:
    """A function of two operands, and another one for complex numbers."""

    def of_two(x1: Any, x2: Any) -> Any:
        given = [np.dtype(complex) if x.__class__ is complex else getattr(x, "dtype", None) for x in (x1, x2)]
        if not any(dtype is not None and dtype.kind == "c" for dtype in given):
            return function(x1, x2)
        return of_complex(*matched((x1, x2), {})[0])

    return of_two


def less(a: Any, b: Any) -> Any:
    """Is `a` before `b`? Never where a part that decides is NaN."""
    return _before(a, b, ops.less)


def less_equal(a: Any, b: Any) -> Any:
    """Is `a` before `b`, or equal to it?"""
    return _before(a, b, ops.less_equal)


def greater(a: Any, b: Any) -> Any:
    """Is `a` behind `b`?"""
    return less(b, a)


def greater_equal(a: Any, b: Any) -> Any:
    """Is `a` behind `b`, or equal to it?"""
    return less_equal(b, a)


def _before(a: Any, b: Any, among_equals: Callable[[Any, Any], Any]) -> Any:
    (real_a, imag_a), (real_b, imag_b) = ((ops.real(x), ops.imag(x)) for x in (a, b))
    numbers = ops.logical_not(ops.logical_or(ops.is_nan(imag_a), ops.is_nan(imag_b)))
    return ops.logical_or(
        ops.logical_and(ops.less(real_a, real_b), numbers),
        ops.logical_and(ops.equal(real_a, real_b), among_equals(imag_a, imag_b)),
    )


def larger(a: Any, b: Any) -> Any:
    """The one of two behind the other; NaN wins."""
    return ops.where(ops.logical_or(ops.is_nan(a), greater_equal(a, b)), a, b)


def smaller(a: Any, b: Any) -> Any:
    """The one of two before the other; NaN wins."""
    return ops.where(ops.logical_or(ops.is_nan(a), less_equal(a, b)), a, b)


def place_of_largest(x: Any, axis: int) -> Any:
    """Position (int64) of the first NaN along an axis, or else of the first largest element."""
    gone = ops.is_nan(x)
    real = ops.where(gone, -np.inf, ops.real(x))
    first = ops.logical_and(_is_largest(real, axis), ops.logical_not(gone))
    imag = ops.where(first, ops.imag(x), -np.inf)
    best = ops.logical_and(_is_largest(imag, axis), first)
    lost = expand_dims(ops.reduce_max(gone, axis=(axis,)), axis)
    return elementary.argmax(ops.cast(ops.where(lost, gone, best), dtype=np.dtype(np.int8)), axis)


def _is_largest(x: Any, axis: int) -> Any:
    return ops.equal(x, expand_dims(ops.reduce_max(x, axis=(axis,)), axis))


def place_of_smallest(x: Any, axis: int) -> Any:
    """Position (int64) of the first NaN along an axis, or else of the first smallest element."""
    return place_of_largest(ops.negative(x), axis)


def largest(x: Any, axis: Any, keepdims: bool) -> Any:
    """The largest element over axes, NaN if one is, of none the least; gradients flow to the first of equal ones."""
    return _chosen(place_of_largest, x, axis, keepdims, -np.inf)


def smallest(x: Any, axis: Any, keepdims: bool) -> Any:
    """The smallest element over axes, as `largest` the largest."""
    return _chosen(place_of_smallest, x, axis, keepdims, np.inf)


def _chosen(place: Callable[[Any, int], Any], x: Any, axis: Any, keepdims: bool, of_none: float) -> Any:
    axes = axes_of(axis, len(x.shape))
    rest = [k for k in range(len(x.shape)) if k not in axes]
    outer = [x.shape[k] for k in rest]
    rows = ops.transpose(x, perm=(*rest, *axes))
    rows = ops.reshape(rows, shape=(*outer, product(x.shape[k] for k in axes)))
    shape = tuple(kept(x.shape, axes) if keepdims else outer)
    if any_is_zero(rows.shape[-1:]):
        return ops.broadcast_to(array(complex(of_none, of_none), x.dtype), shape=shape)
    found = sorting.take_along(rows, expand_dims(place(rows, len(rest)), len(rest)), len(rest))
    return ops.reshape(found, shape=shape)


def order(x: Any, axis: int, descends: bool) -> Any:
    """Positions (int64) that sort along an axis; those whose imaginary part is NaN, then real part, then both last."""
    real, imag = ops.real(x), ops.imag(x)
    lost = [ops.cast(ops.is_nan(part), dtype=np.dtype(np.int8)) for part in (imag, real)]
    if descends:
        real, imag = ops.negative(real), ops.negative(imag)
    positions = sorting.order(imag, axis)
    for key in (real, ops.add(lost[0], ops.multiply(lost[1], 2))):
        by_key = sorting.order(sorting.take_along(key, positions, axis), axis)
        positions = sorting.take_along(positions, by_key, axis)
    return positions
