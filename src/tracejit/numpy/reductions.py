"""NumPy's sums, means, extremes and orders over axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.dim import product, unknown
from ..core.errors import DtypeError, ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from ..frontend.control import reductions
from ..frontend.control.branching import associative_scan
from ..math import elementary
from ..ops.arrays.reduce import axes_of, one_axis, refuse_nothing, size_tensor
from ..ops.tensor.memory.overlaps import anew
from .conversion import any_is_zero, array, floats, lined_up, summable, truth, wide_floats
from .elements import complex_order


def sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Tensor:
    """Sum of `a` over `axis` (None: all; `keepdims`: kept as size 1), of what `where` holds for, and of `initial`.

    In `dtype`, small integers and bools as int64. ShapeError for axes that are not there, DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.sum([[1.0, 2.0], [3.0, 4.0]], axis=0))
    tf.Tensor([4. 6.], shape=(2,), dtype=float64)
    """
    if dtype is not None and np.dtype(dtype).kind == "b":  # of bools a sum is "or", a product "and"
        any_true = any(a, axis, keepdims=keepdims, where=where)
        return any_true if initial is None else ops.logical_or(any_true, truth(initial))
    total = reductions.reduce_sum(_chosen(summable(a, dtype), where, 0), axis, keepdims)
    return total if initial is None else ops.add(total, _initial(initial, total.np_dtype))


def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Tensor:
    """Product of `a` over `axis` (None: all; `keepdims`: kept as size 1), of what `where` holds for, and of `initial`.

    In `dtype`, small integers and bools as int64. ShapeError for axes that are not there, DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.prod([2.0, 3.0]))
    tf.Tensor(6.0, shape=(), dtype=float64)
    """
    if dtype is not None and np.dtype(dtype).kind == "b":
        all_true = all(a, axis, keepdims=keepdims, where=where)
        return all_true if initial is None else ops.logical_and(all_true, truth(initial))
    total = reductions.reduce_prod(_chosen(summable(a, dtype), where, 1), axis, keepdims)
    return anew(total, a) if initial is None else ops.multiply(total, _initial(initial, total.np_dtype))


def mean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, where: Any = None) -> Tensor:
    """Mean of `a` over `axis` (None: all; `keepdims`: kept as size 1), of what `where` holds for; integers as float64.

    In an integer `dtype` it is rounded towards 0. ShapeError for axes that are not there, DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.mean([[1.0, 2.0], [3.0, 6.0]], axis=0))
    tf.Tensor([2. 4.], shape=(2,), dtype=float64)
    """
    x = wide_floats(a, dtype)
    if where is None:
        means = reductions.reduce_mean(x, axis, keepdims)
    else:
        wide = ops.cast(x, dtype=np.dtype(np.float32)) if x.np_dtype == np.float16 else x
        total = sum(wide, axis, keepdims=keepdims, where=where)
        means = ops.divide(total, ops.cast(_count(x, axis, keepdims, where), dtype=total.np_dtype))
        means = ops.cast(means, dtype=x.np_dtype)
    return means if dtype is None else array(means, dtype)


def var(
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
    """Mean squared distance of `a` from the mean over `axis`, divided by the size less `ddof` or `correction`.

    The axes (None: all) are kept as size 1 with `keepdims`; only what `where` holds for counts; real floats. `mean` is
    the mean with its axes kept, if it is known already. DtypeError for a `dtype` without fractions, ShapeError for axes
    that are not there.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.var([1.0, 3.0]))
    tf.Tensor(1.0, shape=(), dtype=float64)
    """
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        raise DtypeError(
            f"a variance has a fraction, and {np.dtype(dtype).name} has none: leave dtype out, or give a float"
            f"{at(user_location())}"
        )
    if dtype is not None and np.dtype(dtype).kind == "f" and array(a).dtype.kind == "c":
        raise DtypeError(
            f"complex numbers, {array(a).spec}, do not vary along reals: leave dtype out{at(user_location())}"
        )
    x: Any = wide_floats(a, dtype)
    center = _mean(x, axis, keepdims=True, where=where) if mean is None else array(mean)
    offset = ops.subtract(x, center)
    squares = ops.real(offset * ops.conj(offset)) if x.dtype.kind == "c" else ops.square(offset)
    total: Any = sum(squares, axis, keepdims=keepdims, where=where)
    less = ddof if correction is None else correction
    count = ops.cast(_count(x, axis, keepdims, where), dtype=total.dtype)
    variances = total / (ops.maximum(count - less, 0) if less else count)
    return variances if dtype is None or array(a).dtype.kind == "c" else array(variances, dtype)


_mean = mean


def std(
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
    """Square root of :func:`var`, with its dtype and errors; of one element always 0, as is its derivative.

    Parameters are `a`, `axis`, `dtype`, `ddof`, `keepdims`, `where`, `mean` and `correction`; errors DtypeError and
    ShapeError.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.std([1.0, 3.0]))
    tf.Tensor(1.0, shape=(), dtype=float64)
    """
    variances = var(
        a, axis, dtype, ddof=ddof, keepdims=keepdims, where=where, mean=mean, correction=correction
    )
    x, one = array(a), where is None and mean is None
    size = product(x.shape[k] for k in axes_of(axis, len(x.shape))) if one else 2
    if not unknown(size):
        return variances if size == 1 else ops.sqrt(variances)
    alone = ops.equal(size_tensor(size), 1)
    return ops.where(alone, variances, ops.sqrt(ops.where(alone, 1.0, variances)))


def _chosen(x: Any, where: Any, neutral: Any) -> Any:
    """`neutral` in place of the elements for which `where` does not hold."""
    return x if where is None else ops.where(truth(where), x, neutral)


def _initial(initial: Any, dtype: np.dtype) -> Tensor:
    """What a reduction begins with, in its dtype, which must hold an integer; ShapeError for more than one number."""
    value = as_tensor(initial, dtype) if initial.__class__ is int else array(initial, dtype)
    if value.shape:
        raise ShapeError(
            f"a reduction begins with one number, not with initial={value.spec}{at(user_location())}"
        )
    return value


def _count(x: Any, axis: Any, keepdims: bool, where: Any) -> Any:
    """How many elements over the axes `where` holds for."""
    if where is None:
        return size_tensor(product(x.shape[k] for k in axes_of(axis, len(x.shape))))
    return sum(ops.broadcast_to(truth(where), shape=x.shape), axis, keepdims=keepdims)


# ---- extremes -------------------------------------------------------------------------------------------


def _extreme(
    of_two: Callable[..., Any],
    reduce: Callable[..., Any],
    neutral: Callable[[Any], Any],
    of_complex: tuple[Callable[..., Any], Callable[..., Any]],
) -> Any:
    def extreme(
        a: Any, axis: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = None
    ) -> Tensor:
        x = array(a)
        axes = axes_of(axis, len(x.shape))
        nothing = f"{x.spec} may have no elements over {axes}, and then no extreme: give initial="
        if initial is None and (where is not None or any_is_zero(x.shape[k] for k in axes)):
            raise ShapeError(f"{nothing}{at(user_location())}")
        if initial is None:
            for k in axes:
                refuse_nothing(x.shape[k], nothing)
        chosen = _chosen(x, where, None if where is None else neutral(x.np_dtype))
        fold, join = of_complex if x.dtype.kind == "c" else (reduce, of_two)
        extremes = fold(chosen, axis, keepdims)
        return extremes if initial is None else join(extremes, _initial(initial, extremes.dtype))

    return extreme


def _least(dtype: np.dtype) -> Any:
    return (
        np.iinfo(dtype).min
        if dtype.kind in "iu"
        else {"b": False, "c": complex(-np.inf, -np.inf)}.get(dtype.kind, -np.inf)
    )


def _greatest(dtype: np.dtype) -> Any:
    return (
        np.iinfo(dtype).max
        if dtype.kind in "iu"
        else {"b": True, "c": complex(np.inf, np.inf)}.get(dtype.kind, np.inf)
    )


_largest = _extreme(ops.maximum, reductions.reduce_max, _least, (complex_order.largest, complex_order.larger))
_smallest = _extreme(
    ops.minimum, reductions.reduce_min, _greatest, (complex_order.smallest, complex_order.smaller)
)


def max(
    a: Any, axis: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Tensor:
    """Largest element of `a` over `axis` (None: all; `keepdims`: kept as size 1), and of `initial`; the dtype stays.

    Only what `where` holds for counts. NaN wins; ties share the gradient. ValueError where there are no elements,
    DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.max([[1.0, 5.0], [7.0, 3.0]], axis=0))
    tf.Tensor([7. 5.], shape=(2,), dtype=float64)
    """
    return _largest(a, axis, keepdims=keepdims, initial=initial, where=where)


def min(
    a: Any, axis: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Tensor:
    """Smallest element of `a` over `axis` (None: all; `keepdims`: kept as size 1), and of `initial`; the dtype stays.

    Only what `where` holds for counts. NaN wins; ties share the gradient. ValueError where there are no elements,
    DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.min([[1.0, 5.0], [7.0, 3.0]], axis=0))
    tf.Tensor([1. 3.], shape=(2,), dtype=float64)
    """
    return _smallest(a, axis, keepdims=keepdims, initial=initial, where=where)


amax = max
amin = min


def ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The largest element of `a` over `axis` (`keepdims`: kept as size 1) less the smallest, of the same dtype.

    Errors as :func:`max`, ValueError, and DtypeError for bools.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.ptp([1.0, 5.0, 3.0]))
    tf.Tensor(4.0, shape=(), dtype=float64)
    """
    x = array(a)
    return ops.subtract(max(x, axis, keepdims=keepdims), min(x, axis, keepdims=keepdims))


def all(a: Any, axis: Any = None, *, keepdims: bool = False, where: Any = None) -> Tensor:
    """Is every element of `a` over `axis` (None: all; `keepdims`: kept as size 1) for which `where` holds not 0?

    Bools. ShapeError for axes that are not there, DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.all([[True, False], [True, True]], axis=1))
    tf.Tensor([False  True], shape=(2,), dtype=bool)
    """
    return reductions.reduce_all(_chosen(truth(a), where, True), axis, keepdims)


def any(a: Any, axis: Any = None, *, keepdims: bool = False, where: Any = None) -> Tensor:
    """Is an element of `a` over `axis` (None: all; `keepdims`: kept as size 1) for which `where` holds not 0?

    Bools. ShapeError for axes that are not there, DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.any([[False, False], [True, False]], axis=1))
    tf.Tensor([False  True], shape=(2,), dtype=bool)
    """
    return reductions.reduce_any(_chosen(truth(a), where, False), axis, keepdims)


def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """How many elements of `a` over `axis` (None: all; `keepdims`: kept as size 1) are not 0, as int64.

    ShapeError for axes that are not there, DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.count_nonzero([0.0, 1.0, 2.0]))
    tf.Tensor(2, shape=(), dtype=int64)
    """
    return sum(truth(a), axis, keepdims=keepdims)


# ---- along one axis -------------------------------------------------------------------------------------


def argmax(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """Position (int64) of the largest element of `a` along `axis`, or among all; `keepdims` keeps the axis as size 1.

    NaN wins. ValueError where there are no elements.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.argmax([1.0, 5.0, 3.0]))
    tf.Tensor(1, shape=(), dtype=int64)
    """
    return _position("argmax", (elementary.argmax, complex_order.place_of_largest), a, axis, keepdims)


def argmin(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """Position (int64) of the smallest element of `a` along `axis`, or among all; `keepdims` keeps the axis as size 1.

    NaN wins. ValueError where there are no elements.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.argmin([4.0, 1.0, 3.0]))
    tf.Tensor(1, shape=(), dtype=int64)
    """
    return _position("argmin", (elementary.argmin, complex_order.place_of_smallest), a, axis, keepdims)


def _position(
    name: str, find: Sequence[Callable[..., Any]], a: Any, axis: int | None, keepdims: bool
) -> Tensor:
    x, along = lined_up(a, axis)
    if any_is_zero([x.shape[along]]):
        raise ShapeError(
            f"attempt to get {name} of an empty sequence: axis {axis} of {array(a).spec}{at(user_location())}"
        )
    positions = find[x.dtype.kind == "c"](x, along)
    if not keepdims:
        return positions
    whole = array(a).shape
    return ops.reshape(
        positions, shape=tuple([1 if axis is None or k == along else d for k, d in enumerate(whole)])
    )


def cumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """Running sums of `a` along `axis`, or of all elements in a row; in `dtype`, small integers and bools as int64.

    ShapeError for an axis that is not there, DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.cumsum([1.0, 2.0, 3.0]))
    tf.Tensor([1. 3. 6.], shape=(3,), dtype=float64)
    """
    if dtype is not None and np.dtype(dtype).kind == "b":  # "or" of what has come
        return truth(cumsum(truth(a), axis))
    return elementary.cumsum(*lined_up(summable(a, dtype), axis))


def cumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """Running products of `a` along `axis`, or of all elements in a row; exact derivatives where elements are 0.

    In `dtype`, small integers and bools as int64. ShapeError for an axis that is not there, DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.cumprod([1.0, 2.0, 3.0]))
    tf.Tensor([1. 2. 6.], shape=(3,), dtype=float64)
    """
    if dtype is not None and np.dtype(dtype).kind == "b":  # "and" of what has come
        return truth(cumprod(truth(a), axis))
    return anew(elementary.cumprod(*lined_up(summable(a, dtype), axis)), a)


def _running_max(a: Any, axis: int = 0) -> Tensor:
    """The largest element so far of `a` along `axis`; gradients reach it."""
    return associative_scan(ops.maximum, array(a), axis=axis)


def _running_min(a: Any, axis: int = 0) -> Tensor:
    """The smallest element so far of `a` along `axis`; gradients reach it."""
    return associative_scan(ops.minimum, array(a), axis=axis)


def _running_logsumexp(a: Any, axis: int = 0) -> Tensor:
    """The logarithm of the sum of exponentials so far of `a` along `axis`, floats."""
    return elementary.cumulative_logsumexp(floats(a), axis)


def cumulative_sum(
    x: Any, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """Running sums of `x` along `axis`, which a vector need not name, of `dtype` as :func:`cumsum`.

    With `include_initial` the first is the empty sum, 0. ShapeError where an axis must be named or is not there,
    DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.cumulative_sum([1.0, 2.0, 3.0], include_initial=True))
    tf.Tensor([0. 1. 3. 6.], shape=(4,), dtype=float64)
    """
    return _running(cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Any, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """Running products of `x` along `axis`, which a vector need not name, of `dtype` as :func:`cumprod`.

    With `include_initial` the first is the empty product, 1. ShapeError where an axis must be named or is not there,
    DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.cumulative_prod([1.0, 2.0, 3.0]))
    tf.Tensor([1. 2. 6.], shape=(3,), dtype=float64)
    """
    return _running(cumprod, 1, x, axis, dtype, include_initial)


def _running(fold: Any, start: int, x: Any, axis: int | None, dtype: Any, include_initial: bool) -> Tensor:
    whole = array(x)
    if axis is None and len(whole.shape) != 1:
        raise ShapeError(f"of {whole.spec} the axis must be named{at(user_location())}")
    along = -1 if axis is None else axis
    folded = fold(whole, along, dtype)
    if not include_initial:
        return folded
    place = one_axis(along, len(folded.shape))
    shape = tuple([1 if k == place else size for k, size in enumerate(folded.shape)])
    return ops.concat(ops.fill(shape=shape, value=start, dtype=folded.dtype), folded, axis=place)


def logsumexp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """``log(sum(exp(a)))``, floats, over `axis` (None: all; `keepdims`: kept as size 1) without overflow.

    ValueError for complex numbers, ShapeError for axes that are not there.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.logsumexp([1000.0, 1000.0]))
    tf.Tensor(1000.6931471805599, shape=(), dtype=float64)
    """
    return reductions.reduce_logsumexp(floats(a), axis, keepdims)
