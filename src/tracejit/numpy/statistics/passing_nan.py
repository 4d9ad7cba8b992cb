"""NumPy's sums, means, extremes and order statistics that pass over NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.dim import nonnegative
from ...core.errors import DtypeError, at, user_location
from ...core.op import ops
from ...core.tensor import Tensor
from ...math import sorting
from ...ops.arrays.reduce import axes_of, kept
from .. import reductions
from ..conversion import any_is_zero, array, require, truth, wide_floats
from ..order import ordering
from ..shapes import moveaxis as moved
from .places import between, places_of, require_parts, rows_of
from .weighted import weighted_quantile


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

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.nansum([1.0, tnp.nan, 2.0]))
    tf.Tensor(3.0, shape=(), dtype=float64)
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

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.nanprod([3.0, tnp.nan, 2.0]))
    tf.Tensor(6.0, shape=(), dtype=float64)
    """
    x = _numbers(a, 1)[1]
    return reductions.prod(x, axis, dtype, keepdims=keepdims, initial=initial, where=where)


def nancumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """The :func:`cumprod` of `a` with NaN as 1, along `axis`, in `dtype`; ShapeError for an axis that is not there.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.nancumprod([3.0, tnp.nan, 2.0]))
    tf.Tensor([3. 3. 6.], shape=(3,), dtype=float64)
    """
    return reductions.cumprod(_numbers(a, 1)[1], axis, dtype)


def nancumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """The :func:`cumsum` of `a` with NaN as 0, along `axis`, in `dtype`; ShapeError for an axis that is not there.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.nancumsum([1.0, tnp.nan, 2.0]))
    tf.Tensor([1. 1. 3.], shape=(3,), dtype=float64)
    """
    return reductions.cumsum(_numbers(a, 0)[1], axis, dtype)


def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, where: Any = None
) -> Tensor:
    """The :func:`mean` over `axis`, with `keepdims`, of what is not NaN in `a` and `where` holds for; NaN of nothing.

    DtypeError for floats in a `dtype` without fractions, ShapeError for axes that are not there.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.nanmean([[1.0, tnp.nan, 3.0], [4.0, 5.0, 6.0]], axis=1))
    tf.Tensor([2. 5.], shape=(2,), dtype=float64)
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
    mean: Any = None,
    correction: float | None = None,
) -> Tensor:
    """The :func:`var` of what is not NaN in `a` over `axis`, with `dtype`, `ddof`, `keepdims` and DtypeError as there.

    Only what `where` holds for counts; `mean` and `correction` as there. NaN where there are no more such elements than
    `ddof`.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.nanvar([1.0, tnp.nan, 3.0]))
    tf.Tensor(1.0, shape=(), dtype=float64)
    """
    known, x = _numbers(a, 0, where)
    ddof = ddof if correction is None else correction
    variances = reductions.var(x, axis, dtype, ddof=ddof, keepdims=keepdims, where=known, mean=mean)
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
    mean: Any = None,
    correction: float | None = None,
) -> Tensor:
    """Square root of :func:`nanvar` of `a` over `axis`, with `dtype`, `ddof`, `keepdims`, `where` and DtypeError.

    Also with `mean` and `correction`.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.nanstd([1.0, tnp.nan, 3.0]))
    tf.Tensor(1.0, shape=(), dtype=float64)
    """
    return ops.sqrt(
        nanvar(a, axis, dtype, ddof=ddof, keepdims=keepdims, where=where, mean=mean, correction=correction)
    )


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

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.nanmax([[1.0, tnp.nan], [4.0, 3.0]], axis=1))
    tf.Tensor([1. 4.], shape=(2,), dtype=float64)
    """
    return _nan_extreme(reductions.max, -np.inf, a, axis, keepdims, initial, where)


def nanmin(
    a: Any, axis: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Tensor:
    """The :func:`min` of what is not NaN in `a` over `axis`, NaN of nothing.

    `keepdims`, `initial`, `where`, dtype and ValueError as there.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.nanmin([[1.0, tnp.nan], [4.0, 3.0]], axis=1))
    tf.Tensor([1. 3.], shape=(2,), dtype=float64)
    """
    return _nan_extreme(reductions.min, np.inf, a, axis, keepdims, initial, where)


def nanargmax(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """The :func:`argmax` (int64) along `axis`, with `keepdims`, of what is not NaN in `a`.

    ValueError where nothing is, now or when a compiled function runs.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.nanargmax([1.0, tnp.nan, 3.0]))
    tf.Tensor(2, shape=(), dtype=int64)
    """
    return reductions.argmax(_with_a_number(a, -np.inf, axis), axis, keepdims=keepdims)


def nanargmin(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """The :func:`argmin` (int64) along `axis`, with `keepdims`, of what is not NaN in `a`.

    ValueError where nothing is, now or when a compiled function runs.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.nanargmin([tnp.nan, 2.0, 1.0]))
    tf.Tensor(2, shape=(), dtype=int64)
    """
    return reductions.argmin(_with_a_number(a, np.inf, axis), axis, keepdims=keepdims)


def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
    weights: Any = None,
) -> Tensor:
    """As :func:`quantile` of what is not NaN in `a` over `axis`, with `q`, `method`, `keepdims`, `weights`.

    NaN where nothing is. Dtype and errors are those of :func:`quantile`, ValueError among them.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.nanquantile([1.0, tnp.nan, 2.0, 3.0], [0.25, 0.5]))
    tf.Tensor([1.5 2. ], shape=(2,), dtype=float64)
    """
    if weights is not None:
        return weighted_quantile(a, q, axis, method, keepdims, weights, passes_nan=True)
    x, parts = wide_floats(a), wide_floats(q)
    require_parts(parts)
    rows: Any = rows_of(x, axis)
    if not nonnegative(rows.shape[-1] - 1):  # of nothing NaN is left
        rows = ops.concat(
            rows, ops.fill(shape=(*rows.shape[:-1], 1), value=np.nan, dtype=rows.np_dtype), axis=-1
        )
    rows = ordering.sort(rows)
    count = reductions.sum(ops.logical_not(ops.is_nan(rows)), -1, keepdims=True)
    count = ops.cast(count, dtype=parts.np_dtype)
    place = places_of(ops.reshape(parts, shape=(parts.spec.size,)), ops.maximum(count, 1.0), method)
    found = between(rows, place, method, sorting.take_along)
    found = moved(ops.where(ops.equal(count, 0), np.nan, found), -1, 0)
    if keepdims:
        found = ops.reshape(found, shape=(found.shape[0], *kept(x.shape, axes_of(axis, len(x.shape)))))
    return ops.reshape(found, shape=(*parts.shape, *found.shape[1:]))


def nanpercentile(
    a: Any,
    q: Any,
    axis: Any = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
    weights: Any = None,
) -> Tensor:
    """As :func:`nanquantile` of `a` over `axis`, with `method`, `keepdims`, `weights` and dtype; `q` up to 100.

    ValueError for others.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.nanpercentile([1.0, tnp.nan, 2.0, 3.0], 50))
    tf.Tensor(2.0, shape=(), dtype=float64)
    """
    return nanquantile(
        a, ops.divide(wide_floats(q), 100), axis, method=method, keepdims=keepdims, weights=weights
    )


def nanmedian(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The :func:`median` of what is not NaN in `a` over `axis`, floats, with `keepdims`; ShapeError for other axes.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.nanmedian([1.0, tnp.nan, 2.0, 9.0]))
    tf.Tensor(2.0, shape=(), dtype=float64)
    """
    return nanquantile(a, 0.5, axis, keepdims=keepdims)


def _with_a_number(a: Any, neutral: float, axis: int | None) -> Tensor:
    """The elements with `neutral` in place of NaN, which not all may be along the axis."""
    known, x = _numbers(a, neutral)
    if known is None or any_is_zero(x.shape):
        return x
    require(reductions.any(known, axis), "all elements along the axis are NaN")
    return x
