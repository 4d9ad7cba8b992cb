"""NumPy's order statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.dim import nonnegative
from ...core.errors import ShapeError, at, user_location
from ...core.op import ops
from ...core.tensor import Tensor
from ...math import sorting
from ...ops.arrays.reduce import axes_of, kept, refuse_nothing, size_tensor
from ...ops.arrays.shape import expand_dims
from ...ops.tensor.indexing import get
from .. import reductions
from ..conversion import any_is_zero, array, is_number, two_floats, wide_floats
from .passing_nan import nanmedian
from .places import between, places_of, require_parts, rows_of
from .weighted import weighted_quantile


def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
    weights: Any = None,
) -> Tensor:
    """The values below which so much of the elements of `a` over `axis` lies, `q` from 0 to 1.

    The result has the shape of `q`, and behind it what `keepdims` or dropping leaves of that of `a`, in floats.
    `method` is "linear", "lower", "higher", "midpoint" or "nearest", or one of the continuous estimators "hazen",
    "weibull", "median_unbiased", "normal_unbiased" and "interpolated_inverted_cdf"; "lower", "higher" and "nearest"
    keep the dtype. With `weights`, of the shape of `a` or of those axes, it is "inverted_cdf": the first element up to
    which so much of their sum lies. NaN where an element is. ValueError for another method, for no elements, which is
    a ShapeError, for weights below 0, and for a `q` that is not from 0 to 1; where that shows only when a compiled
    function runs, IndexError without weights.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> float(tnp.quantile([1.0, 2.0, 4.0], 0.75))
    3.0
    """
    if weights is not None:
        return weighted_quantile(a, q, axis, method, keepdims, weights)
    x, part = two_floats(wide_floats(a), q)
    require_parts(part)
    rows = rows_of(x, axis)
    count = rows.shape[-1]
    nothing = f"{x.spec} has no elements to order"
    if any_is_zero([count]):
        raise ShapeError(f"{nothing}{at(user_location())}")
    refuse_nothing(count, nothing)
    place = places_of(ops.cast(part, dtype=np.dtype(np.float64)), size_tensor(count), method)
    inside = ops.logical_and(ops.less_equal(0, part), ops.less_equal(part, 1))
    place = ops.where(inside, place, ops.cast(size_tensor(count), dtype=place.dtype))  # which is refused
    ordered = sorting.sort(rows)
    flat = ops.reshape(place, shape=(place.spec.size,))
    quantiles = between(ordered, flat, method)
    lost = expand_dims(ops.is_nan(get(ordered, (Ellipsis, -1))), -1)
    quantiles = ops.where(lost, np.nan, quantiles)
    lead = len(quantiles.shape) - 1
    quantiles = ops.transpose(quantiles, perm=(lead, *range(lead)))
    shape = kept(x.shape, axes_of(axis, len(x.shape))) if keepdims else rows.shape[:-1]
    quantiles = ops.reshape(quantiles, shape=(*part.shape, *shape))
    whole = array(a).np_dtype
    return ops.cast(quantiles, dtype=whole) if whole.kind in "iuf" and method in _OF_ELEMENTS else quantiles


_OF_ELEMENTS = ("lower", "higher", "nearest")


def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
    weights: Any = None,
) -> Tensor:
    """As :func:`quantile` of `a` over `axis`, with `method`, `keepdims`, `weights`, dtype and errors; `q` up to 100.

    ValueError for others.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.percentile([1.0, 2.0, 3.0, 5.0], [50, 75]))
    tf.Tensor([2.5 3.5], shape=(2,), dtype=float64)
    """
    part = q / 100 if is_number(q) else ops.divide(wide_floats(q), 100)
    return quantile(a, part, axis, method=method, keepdims=keepdims, weights=weights)


def median(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The middle element of `a` over `axis` (`keepdims`: kept as size 1), or the mean of two in the middle; floats.

    NaN where an element is, or none is. DtypeError for complex numbers.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.median([[1.0, 3.0, 2.0], [4.0, 6.0, 9.0]], axis=1))
    tf.Tensor([2. 6.], shape=(2,), dtype=float64)
    """
    x = wide_floats(a)
    if all(nonnegative(x.shape[k] - 1) for k in axes_of(axis, len(x.shape))):
        return quantile(a, 0.5, axis, keepdims=keepdims)
    lost = reductions.any(ops.is_nan(x), axis, keepdims=keepdims)
    return ops.where(lost, np.nan, nanmedian(x, axis, keepdims=keepdims))
