"""NumPy's statistics: averages, order statistics, covariances, histograms, and sums that pass over NaN."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.dim import product
from ..core.errors import DtypeError, ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..math import segments, sorting
from ..ops.arrays.reduce import axes_of, kept, one_axis, size_tensor
from ..ops.elementwise.arithmetic import matched
from ..ops.tensor.indexing import get
from . import reductions
from .conversion import any_is_zero, array, is_number, require, truth, two_floats, values_of, wide_floats
from .making import linspace
from .shapes import moveaxis as moved


def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    """Mean of `a` over `axis`, with `weights` of its shape or of those axes; if `returned` also the sum of weights.

    `keepdims` keeps the axes as size 1; integers count as float64. ShapeError for weights of another shape.
    """
    if weights is None:
        x: Any = wide_floats(a)
        means = reductions.mean(x, axis, keepdims=keepdims)
        if not returned:
            return means
        count = size_tensor(product(x.shape[k] for k in axes_of(axis, len(x.shape))))
        return means, ops.broadcast_to(ops.cast(count, dtype=x.dtype), shape=means.shape)
    x, weight = two_floats(wide_floats(a), weights)
    axes = axes_of(axis, len(x.shape))
    if weight.shape != x.shape:
        given = [one_axis(k, len(x.shape)) for k in axis] if isinstance(axis, (tuple, list)) else axes
        expected = tuple([x.shape[k] for k in given])
        if weight.shape != expected:
            raise ShapeError(
                f"weights {weight.spec} for {x.spec}: over {axis} {expected} is needed{at(user_location())}"
            )
        weight = ops.transpose(
            weight, perm=tuple(np.argsort(given).tolist())
        )  # they are in the order of `axis`
        weight = ops.reshape(weight, shape=tuple([d if k in axes else 1 for k, d in enumerate(x.shape)]))
    total = reductions.sum(ops.broadcast_to(weight, shape=x.shape), axis, keepdims=keepdims)
    means = ops.divide(reductions.sum(ops.multiply(x, weight), axis, keepdims=keepdims), total)
    return (means, total) if returned else means


# ---- order statistics -----------------------------------------------------------------------------------


def quantile(a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False) -> Tensor:
    """The values below which so much of the elements of `a` over `axis` lies, `q` from 0 to 1.

    The result has the shape of `q`, and behind it what `keepdims` or dropping leaves of that of `a`, in floats.
    `method` is "linear", "lower", "higher", "midpoint" or "nearest"; "lower", "higher" and "nearest" keep the dtype.
    NaN where an element is. ValueError for another method, for no elements, which is a ShapeError, and for a `q` that
    is not from 0 to 1; IndexError where that shows only when a compiled function runs.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> float(tnp.quantile([1.0, 2.0, 4.0], 0.75))
    3.0
    """
    x, part = two_floats(wide_floats(a), q)
    _require_parts(part)
    rows = _last(x, axis)
    count = rows.shape[-1]
    if any_is_zero([count]):
        raise ShapeError(f"{x.spec} has no elements to order{at(user_location())}")
    place: Any = ops.multiply(ops.cast(part, dtype=np.dtype(np.float64)), size_tensor(count) - 1)
    inside = ops.logical_and(ops.less_equal(0, part), ops.less_equal(part, 1))
    place = ops.where(inside, place, ops.cast(size_tensor(count), dtype=place.dtype))  # which is refused
    ordered = sorting.sort(rows)
    flat = ops.reshape(place, shape=(place.spec.size,))
    quantiles = _between(ordered, flat, method)
    quantiles = ops.where(ops.is_nan(get(ordered, (Ellipsis, slice(-1, None)))), np.nan, quantiles)
    lead = len(quantiles.shape) - 1
    quantiles = ops.transpose(quantiles, perm=(lead, *range(lead)))
    shape = kept(x.shape, axes_of(axis, len(x.shape))) if keepdims else rows.shape[:-1]
    quantiles = ops.reshape(quantiles, shape=(*part.shape, *shape))
    whole = array(a).dtype
    return ops.cast(quantiles, dtype=whole) if whole.kind in "iuf" and method in _OF_ELEMENTS else quantiles


_OF_ELEMENTS = ("lower", "higher", "nearest")


def _require_parts(part: Any) -> None:
    if not part.is_symbolic and not ((part.array >= 0) & (part.array <= 1)).all():
        raise ValueError(f"q is from 0 to 1 (percentiles to 100), got {part.array}{at(user_location())}")


def _last(x: Any, axis: Any) -> Any:
    """The axes reduced over joined into one, behind the others."""
    axes = axes_of(axis, len(x.shape))
    rest = [k for k in range(len(x.shape)) if k not in axes]
    moved = ops.transpose(x, perm=(*rest, *axes))
    return ops.reshape(moved, shape=(*(x.shape[k] for k in rest), product(x.shape[k] for k in axes)))


def _at_positions(ordered: Any, number: Any) -> Any:
    return ops.gather(ordered, number, axis=len(ordered.shape) - 1)


def _between(ordered: Any, place: Any, method: str, pick: Callable[[Any, Any], Any] = _at_positions) -> Any:
    """Elements along the last axis at places that need not be whole."""
    low = ops.floor(place)
    high = ops.negative(ops.floor(ops.negative(place)))
    if method == "nearest":
        low = high = ops.round(place)
    elif method == "lower":
        high = low
    elif method == "higher":
        low = high
    elif method not in ("linear", "midpoint"):
        raise ValueError(
            f"method is linear, lower, higher, midpoint or nearest, got {method!r}{at(user_location())}"
        )
    below, above = (pick(ordered, ops.cast(k, dtype=np.dtype(np.int64))) for k in (low, high))
    weight = ops.cast(ops.subtract(place, low), dtype=ordered.dtype) if method == "linear" else 0.5
    both = ops.add(below, ops.multiply(ops.subtract(above, below), weight))
    infinite = ops.logical_and(ops.equal(above, below), ops.equal(ops.abs(below), np.inf))
    return ops.where(infinite, below, both)  # inf - inf is NaN


def percentile(a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False) -> Tensor:
    """As :func:`quantile` of `a` over `axis`, with `method`, `keepdims`, dtype and errors, with `q` from 0 to 100.

    ValueError for others.
    """
    part = q / 100 if is_number(q) else ops.divide(wide_floats(q), 100)
    return quantile(a, part, axis, method=method, keepdims=keepdims)


def median(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The middle element of `a` over `axis` (`keepdims`: kept as size 1), or the mean of two in the middle; floats.

    NaN where an element is, or none is. DtypeError for complex numbers.
    """
    x = wide_floats(a)
    if any_is_zero(x.shape[k] for k in axes_of(axis, len(x.shape))):
        return reductions.mean(x, axis, keepdims=keepdims)
    return quantile(a, 0.5, axis, keepdims=keepdims)


# ---- passing over NaN -----------------------------------------------------------------------------------


def _numbers(a: Any, neutral: Any, where: Any = None) -> tuple[Any, Any]:
    """Which elements are numbers, of those `where` holds for, and the elements with `neutral` in place of others."""
    x = array(a)
    if where is not None:
        chosen = ops.logical_and(truth(where), ops.logical_not(ops.is_nan(x)))
        return ops.broadcast_to(chosen, shape=x.shape), ops.where(chosen, x, neutral)
    if x.dtype.kind not in "fc":
        return None, x
    missing = ops.is_nan(x)
    return ops.logical_not(missing), ops.where(missing, neutral, x)


def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Tensor:
    """The :func:`sum` of `a` with NaN as 0, over `axis`, in `dtype`, with `keepdims`, `initial` and `where`.

    ShapeError for axes that are not there.
    """
    x = _numbers(a, 0)[1]
    return reductions.sum(x, axis, dtype, keepdims=keepdims, initial=initial, where=where)


def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Tensor:
    """The :func:`prod` of `a` with NaN as 1, over `axis`, in `dtype`, with `keepdims`, `initial` and `where`.

    ShapeError for axes that are not there.
    """
    x = _numbers(a, 1)[1]
    return reductions.prod(x, axis, dtype, keepdims=keepdims, initial=initial, where=where)


def nancumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """The :func:`cumprod` of `a` with NaN as 1, along `axis`, in `dtype`; ShapeError for an axis that is not there."""
    return reductions.cumprod(_numbers(a, 1)[1], axis, dtype)


def nancumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """The :func:`cumsum` of `a` with NaN as 0, along `axis`, in `dtype`; ShapeError for an axis that is not there."""
    return reductions.cumsum(_numbers(a, 0)[1], axis, dtype)


def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, where: Any = None
) -> Tensor:
    """The :func:`mean` over `axis`, with `keepdims`, of what is not NaN in `a` and `where` holds for; NaN of nothing.

    DtypeError for floats in a `dtype` without fractions, ShapeError for axes that are not there.
    """
    known, x = _numbers(a, 0, where)
    _require_fractions(x, dtype)
    return reductions.mean(x, axis, dtype, keepdims=keepdims, where=known)


def _require_fractions(x: Any, dtype: Any) -> None:
    if dtype is not None and x.dtype.kind in "fc" and np.dtype(dtype).kind not in "fc":
        raise DtypeError(
            f"{x.dtype.name} has fractions and {np.dtype(dtype).name} has none: give a float dtype{at(user_location())}"
        )


def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
    where: Any = None,
) -> Tensor:
    """The :func:`var` of what is not NaN in `a` over `axis`, with `dtype`, `ddof`, `keepdims` and DtypeError as there.

    Only what `where` holds for counts. NaN where there are no more such elements than `ddof`.
    """
    known, x = _numbers(a, 0, where)
    variances = reductions.var(x, axis, dtype, ddof=ddof, keepdims=keepdims, where=known)
    if known is None:
        return variances
    return ops.where(ops.less(ddof, reductions.sum(known, axis, keepdims=keepdims)), variances, np.nan)


def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
    where: Any = None,
) -> Tensor:
    """Square root of :func:`nanvar` of `a` over `axis`, with `dtype`, `ddof`, `keepdims`, `where` and DtypeError."""
    return ops.sqrt(nanvar(a, axis, dtype, ddof=ddof, keepdims=keepdims, where=where))


def _nan_extreme(
    reduce: Callable[..., Any], neutral: float, a: Any, axis: Any, keepdims: bool, initial: Any, where: Any
) -> Tensor:
    known, x = _numbers(a, neutral)
    extremes = reduce(x, axis, keepdims=keepdims, initial=initial, where=where)
    if known is None or initial is not None:
        return extremes
    return ops.where(reductions.any(known, axis, keepdims=keepdims, where=where), extremes, np.nan)


def nanmax(
    a: Any, axis: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Tensor:
    """The :func:`max` of what is not NaN in `a` over `axis`, NaN of nothing.

    `keepdims`, `initial`, `where`, dtype and ValueError as there.
    """
    return _nan_extreme(reductions.max, -np.inf, a, axis, keepdims, initial, where)


def nanmin(
    a: Any, axis: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Tensor:
    """The :func:`min` of what is not NaN in `a` over `axis`, NaN of nothing.

    `keepdims`, `initial`, `where`, dtype and ValueError as there.
    """
    return _nan_extreme(reductions.min, np.inf, a, axis, keepdims, initial, where)


def nanargmax(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """The :func:`argmax` (int64) along `axis`, with `keepdims`, of what is not NaN in `a`.

    ValueError where nothing is, now or when a compiled function runs.
    """
    return reductions.argmax(_with_a_number(a, -np.inf, axis), axis, keepdims=keepdims)


def nanargmin(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """The :func:`argmin` (int64) along `axis`, with `keepdims`, of what is not NaN in `a`.

    ValueError where nothing is, now or when a compiled function runs.
    """
    return reductions.argmin(_with_a_number(a, np.inf, axis), axis, keepdims=keepdims)


def nanquantile(
    a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """As :func:`quantile` of what is not NaN in `a` over `axis`, with `q`, `method`, `keepdims`, dtype and ValueError.

    NaN where nothing is.
    """
    x, parts = wide_floats(a), wide_floats(q)
    _require_parts(parts)
    rows: Any = reductions.sort(_last(x, axis))
    count = reductions.sum(ops.logical_not(ops.is_nan(rows)), -1, keepdims=True)
    last = ops.cast(ops.maximum(ops.subtract(count, 1), 0), dtype=parts.dtype)
    place = ops.multiply(last, ops.reshape(parts, shape=(parts.spec.size,)))
    found = _between(rows, place, method, sorting.take_along)
    found = moved(ops.where(ops.equal(count, 0), np.nan, found), -1, 0)
    if keepdims:
        found = ops.reshape(found, shape=(found.shape[0], *kept(x.shape, axes_of(axis, len(x.shape)))))
    return ops.reshape(found, shape=(*parts.shape, *found.shape[1:]))


def nanpercentile(
    a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """As :func:`nanquantile` of `a` over `axis`, with `method`, `keepdims`, dtype and ValueError, `q` from 0 to 100."""
    return nanquantile(a, ops.divide(wide_floats(q), 100), axis, method=method, keepdims=keepdims)


def nanmedian(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The :func:`median` of what is not NaN in `a` over `axis`, floats, with `keepdims`; ShapeError for other axes."""
    return nanquantile(a, 0.5, axis, keepdims=keepdims)


def _with_a_number(a: Any, neutral: float, axis: int | None) -> Tensor:
    """The elements with `neutral` in place of NaN, which not all may be along the axis."""
    known, x = _numbers(a, neutral)
    if known is None or any_is_zero(x.shape):
        return x
    require(reductions.any(known, axis), "all elements along the axis are NaN")
    return x


# ---- covariances ----------------------------------------------------------------------------------------


def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: float | None = None) -> Tensor:
    """Covariances of variables: the rows of `m` (its columns unless `rowvar`), and of `y`, in float64 or complex128.

    Sums are divided by the number of observations less 1, or less 0 with `bias`, or less `ddof`. A matrix, of one
    variable a scalar. ShapeError for more than two axes.
    """
    rows = _variables(m, rowvar)
    if y is not None:
        rows = ops.concat(rows, _variables(y, rowvar), axis=0)
    count: Any = size_tensor(rows.shape[1])
    less = (0 if bias else 1) if ddof is None else ddof
    offset = ops.subtract(rows, reductions.mean(rows, 1, keepdims=True))
    covariances = ops.matmul(
        offset, ops.conj(ops.transpose(offset)) if rows.dtype.kind == "c" else ops.transpose(offset)
    )
    covariances = ops.divide(covariances, ops.cast(ops.maximum(count - less, 0), dtype=covariances.dtype))
    return ops.reshape(covariances, shape=()) if covariances.shape == (1, 1) else covariances


def _variables(m: Any, rowvar: bool) -> Any:
    x = wide_floats(m)
    x = array(x, np.result_type(x.dtype, np.float64))
    if len(x.shape) > 2:
        raise ShapeError(f"takes a vector or a matrix of observations, got {x.spec}{at(user_location())}")
    if len(x.shape) < 2:
        return ops.reshape(x, shape=(1, x.spec.size))
    return x if rowvar else ops.transpose(x)


def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Tensor:
    """Correlations of variables: covariances over the product of the standard deviations, within [-1, 1].

    `x`, `y`, `rowvar`, shape, dtype and ShapeError are those of :func:`cov`.
    """
    covariances: Any = cov(x, y, rowvar)
    if not covariances.shape:
        return ops.divide(covariances, covariances)
    size = covariances.shape[0]
    flat = ops.reshape(covariances, shape=(size * size,))
    deviation = ops.sqrt(get(flat, slice(None, None, size + 1)))
    correlations = ops.divide(ops.divide(covariances, ops.reshape(deviation, shape=(size, 1))), deviation)
    within = lambda x: ops.minimum(ops.maximum(x, -1.0), 1.0)
    return (
        within(correlations)
        if correlations.dtype.kind == "f"
        else ops.complex(*map(within, (ops.real(correlations), ops.imag(correlations))))
    )


# ---- counting -------------------------------------------------------------------------------------------


def bincount(x: Any, weights: Any = None, minlength: int = 0, *, length: int | None = None) -> Tensor:
    """How often (int64) each number from 0 on occurs in `x`, or the sum (float64) of the `weights` of its places.

    The vector is as long as the largest number asks and at least `minlength`, or of the given `length`, which a traced
    function needs for numbers that it computes. IndexError for negative numbers.
    """
    if length is None:
        length = max(int(values_of(x).astype(np.int64).max(initial=-1)) + 1, int(minlength))
    weight = None if weights is None else array(weights, np.float64)
    return segments.bincount(array(x, np.int64), weight, length, length, dtype=np.int64)


def digitize(x: Any, bins: Any, right: bool = False) -> Tensor:
    """The number (int64) of the bin each element of `x` lies in: how many of the ascending `bins` are not above it.

    Of descending bins, how many are above it, or with `right` not below. ShapeError for bins that are no vector.
    """
    edges = array(bins)
    if edges.shape == (0,):
        return searchsorted(edges, x)
    falling = ops.less(get(edges, -1), get(edges, 0))
    rising = ops.where(falling, get(edges, slice(None, None, -1)), edges)
    positions = searchsorted(rising, x, "left" if right else "right")
    return ops.where(falling, ops.subtract(size_tensor(edges.shape[0]), positions), positions)


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Tensor:
    """Where (int64) in a sorted vector `a` each value in `v` belongs, before equal elements or behind them, by `side`.

    It is "left" or "right"; ValueError for another. `sorter` are the positions that sort `a`, where it is not sorted.
    """
    a, wanted = matched((array(a), array(v)), {})[0]
    if sorter is not None:
        a = ops.gather(a, array(sorter), axis=0)
    flat = ops.reshape(wanted, shape=(wanted.spec.size,))
    return ops.reshape(sorting.searchsorted(array(a), flat, side, np.int64), shape=wanted.shape)


def histogram(
    a: Any,
    bins: Any = 10,
    range: Sequence[Any] | None = None,
    density: bool = False,
    weights: Any = None,
) -> tuple[Tensor, Tensor]:
    """How many elements of `a` lie in each bin, and the edges of the bins; the last bin takes its upper edge too.

    `bins`, a number or their edges, and `range` are those of :func:`histogram_bin_edges`. Counts are int64, or sums of
    `weights`; with `density` floats whose integral is 1. ShapeError for weights of another size.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> counts, edges = tnp.histogram([1.0, 2.0, 2.0, 4.0], bins=3)
    >>> print(counts)
    tf.Tensor([1 2 1], shape=(3,), dtype=int64)
    """
    x = array(a)
    flat = ops.reshape(x, shape=(x.spec.size,))
    edges = histogram_bin_edges(flat, bins, range)
    count = edges.shape[0] - 1
    number = ops.subtract(searchsorted(edges, flat, "right"), 1)
    last = get(edges, -1)
    number = ops.where(ops.equal(flat, last), count - 1, number)
    inside = ops.logical_and(ops.less_equal(0, number), ops.less(number, count))
    number = ops.where(inside, number, count)
    weight = None if weights is None else ops.reshape(array(weights), shape=flat.shape)
    counts: Any = segments.bincount(number, weight, count, count, dtype=np.int64)
    if density:
        widths = ops.subtract(get(edges, slice(1, None)), get(edges, slice(None, -1)))
        counts = wide_floats(counts)
        counts = counts / widths / ops.reduce_sum(counts)
    return counts, edges


def histogram_bin_edges(a: Any, bins: Any = 10, range: Sequence[Any] | None = None) -> Tensor:
    """The edges of so many `bins` of one width from the smallest element of `a` to the largest, or over `range`.

    A vector of floats, one longer than there are bins; edges are taken as they are. ValueError for fewer than no bins.
    """
    if not isinstance(bins, (int, np.integer)):
        return array(bins)
    x = wide_floats(a)
    if range is None and any_is_zero(x.shape):
        range = (0.0, 1.0)
    ends = (reductions.min(x), reductions.max(x)) if range is None else range
    low, high = (ops.cast(wide_floats(end), dtype=x.dtype) for end in ends)
    flat = ops.equal(low, high)
    low, high = ops.where(flat, ops.subtract(low, 0.5), low), ops.where(flat, ops.add(high, 0.5), high)
    return linspace(low, high, int(bins) + 1)
