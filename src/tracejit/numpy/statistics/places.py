"""Where quantiles lie among elements in order, and which weight belongs to which element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.dim import product
from ...core.errors import ShapeError, at, user_location
from ...core.op import ops
from ...ops.arrays.reduce import axes_of, one_axis

#: Continuous estimators of quantiles, by the two parameters of their plotting positions.
ESTIMATORS = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}


def require_parts(part: Any) -> None:
    """ValueError for what is known not to be from 0 to 1."""
    if not part.is_symbolic and not ((part.array >= 0) & (part.array <= 1)).all():
        raise ValueError(f"q is from 0 to 1 (percentiles to 100), got {part.array}{at(user_location())}")


def rows_of(x: Any, axis: Any) -> Any:
    """The axes reduced over joined into one, behind the others."""
    axes = axes_of(axis, len(x.shape))
    rest = [k for k in range(len(x.shape)) if k not in axes]
    moved = ops.transpose(x, perm=(*rest, *axes))
    return ops.reshape(moved, shape=(*(x.shape[k] for k in rest), product(x.shape[k] for k in axes)))


def weights_along(x: Any, weight: Any, axis: Any) -> Any:
    """Weights of the shape of `x`, or of its axes `axis` in that order, as ones that broadcast to it.

    ShapeError for weights of another shape.
    """
    axes = axes_of(axis, len(x.shape))
    if weight.shape != x.shape:
        given = [one_axis(k, len(x.shape)) for k in axis] if isinstance(axis, (tuple, list)) else axes
        expected = tuple([x.shape[k] for k in given])
        if weight.shape != expected:
            raise ShapeError(
                f"weights {weight.spec} for {x.spec}: over {axis} {expected} is needed{at(user_location())}"
            )
        in_order = tuple(np.argsort(given).tolist())
        weight = ops.transpose(weight, perm=in_order)  # they are in the order of `axis`
        weight = ops.reshape(weight, shape=tuple([d if k in axes else 1 for k, d in enumerate(x.shape)]))
    return weight


def places_of(part: Any, count: Any, method: str) -> Any:
    """How many of so many elements are below a quantile, of which one may count in part."""
    if method not in ESTIMATORS:
        return ops.multiply(part, count - 1)
    alpha, beta = ESTIMATORS[method]
    place = ops.add(
        ops.multiply(part, ops.add(ops.cast(count, dtype=part.dtype), 1 - alpha - beta)), alpha - 1
    )
    return ops.minimum(ops.maximum(place, 0.0), ops.cast(count - 1, dtype=part.dtype))


def _at_positions(ordered: Any, number: Any) -> Any:
    return ops.gather(ordered, number, axis=len(ordered.shape) - 1)


def between(ordered: Any, place: Any, method: str, pick: Callable[[Any, Any], Any] = _at_positions) -> Any:
    """Elements along the last axis at places that need not be whole."""
    low = ops.floor(place)
    high = ops.negative(ops.floor(ops.negative(place)))
    if method == "nearest":
        low = high = ops.round(place)
    elif method == "lower":
        high = low
    elif method == "higher":
        low = high
    elif method not in ("linear", "midpoint", *ESTIMATORS):
        raise ValueError(
            f"method is linear, lower, higher, midpoint, nearest, {', '.join(ESTIMATORS)}, got {method!r}"
            f"{at(user_location())}"
        )
    below, above = (pick(ordered, ops.cast(k, dtype=np.dtype(np.int64))) for k in (low, high))
    weight = ops.cast(ops.subtract(place, low), dtype=ordered.dtype) if method != "midpoint" else 0.5
    apart = ops.subtract(above, below)
    both = ops.add(below, ops.multiply(apart, weight))
    from_above = ops.subtract(above, ops.multiply(apart, ops.subtract(1.0, weight)))
    both = ops.where(ops.equal(below, -np.inf), from_above, both)
    infinite = ops.logical_and(ops.equal(above, below), ops.equal(ops.abs(below), np.inf))
    return ops.where(infinite, below, both)  # inf - inf is NaN
