"""Quantiles of elements of which some count more than others."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.errors import ShapeError, at, user_location
from ...core.op import ops
from ...core.tensor import Tensor
from ...math import sorting
from ...ops.arrays.reduce import axes_of, kept
from ...ops.arrays.shape import expand_dims
from ...ops.tensor.indexing import get
from .. import reductions
from ..conversion import any_is_zero, array, require, wide_floats
from ..shapes import moveaxis
from .places import require_parts, rows_of, weights_along

#: The method that goes with weights.
METHOD = "inverted_cdf"


def weighted_quantile(
    a: Any, q: Any, axis: Any, method: str, keepdims: bool, weights: Any, passes_nan: bool = False
) -> Tensor:
    """The first element of `a` over `axis` in order up to which so much, `q`, of the sum of the `weights` lies.

    Elements that are NaN count nothing if `passes_nan`, else the result is NaN. Shapes are those of `quantile`, the
    dtype is that of `a`. ValueError for another `method`, for weights below 0, and for a `q` that is not from 0 to
    1, now or when a compiled function runs; ShapeError for weights of another shape, and for no elements.
    """
    if method != METHOD:
        raise ValueError(f"with weights the method is {METHOD}, got {method!r}{at(user_location())}")
    x, parts = wide_floats(a), wide_floats(q)
    require_parts(parts)
    require(ops.logical_and(ops.less_equal(0, parts), ops.less_equal(parts, 1)), "q is not from 0 to 1")
    weight = array(weights, np.float64)
    require(ops.less_equal(0, weight), "a weight is less than 0")
    if any_is_zero(x.shape):
        raise ShapeError(f"{x.spec} has no elements to order{at(user_location())}")
    spread = ops.broadcast_to(weights_along(x, weight, axis), shape=x.shape)
    rows, counts = rows_of(x, axis), rows_of(spread, axis)
    lost = ops.is_nan(rows)
    counts = ops.where(lost, 0.0, counts) if passes_nan else counts
    order = sorting.order(rows)
    ordered, sums = sorting.take_along(rows, order), reductions.cumsum(sorting.take_along(counts, order), -1)
    shares = ops.cast(ops.divide(sums, get(sums, (Ellipsis, slice(-1, None)))), dtype=parts.np_dtype)
    flat = ops.reshape(parts, shape=(parts.spec.size, 1))
    below = ops.logical_or(ops.less(expand_dims(shares, -2), flat), ops.equal(expand_dims(shares, -2), 0))
    found = sorting.take_along(ordered, ops.minimum(reductions.sum(below, -1), rows.shape[-1] - 1))
    if not passes_nan:
        found = ops.where(reductions.any(lost, -1, keepdims=True), np.nan, found)
    shape = kept(x.shape, axes_of(axis, len(x.shape))) if keepdims else rows.shape[:-1]
    quantiles = ops.reshape(moveaxis(found, -1, 0), shape=(*parts.shape, *shape))
    return ops.cast(quantiles, dtype=array(a).np_dtype) if array(a).dtype.kind in "iuf" else quantiles
