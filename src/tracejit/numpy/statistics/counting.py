"""NumPy's counts, bins and histograms."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.dim import known, product
from ...core.errors import DtypeError, ShapeError, at, user_location
from ...core.op import ops
from ...core.tensor import Tensor
from ...math import segments, sorting
from ...ops.arrays.reduce import size_tensor
from ...ops.elementwise.arithmetic import matched
from ...ops.tensor.indexing import get
from .. import reductions
from ..conversion import any_is_zero, array, values_of, wide_floats
from ..making import linspace


def bincount(x: Any, weights: Any = None, minlength: int = 0, *, length: int | None = None) -> Tensor:
    """How often (int64) each number from 0 on occurs in `x`, or the sum (float64) of the `weights` of its places.

    The vector is as long as the largest number asks and at least `minlength`, or of the given `length`, which a traced
    function needs for numbers that it computes. IndexError for negative numbers, DtypeError for numbers with fractions.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.bincount([0, 1, 1, 3]))
    tf.Tensor([1 2 0 1], shape=(4,), dtype=int64)
    """
    numbers = array(x)
    if numbers.dtype.kind not in "biu" and numbers.shape != (0,):
        raise DtypeError(
            f"bincount counts integers, got {numbers.spec}: cast them first{at(user_location())}"
        )
    if length is None:
        length = max(int(values_of(x).astype(np.int64).max(initial=-1)) + 1, int(minlength))
    weight = None if weights is None else array(weights, np.float64)
    return segments.bincount(array(numbers, np.int64), weight, length, length, dtype=np.int64)


def digitize(x: Any, bins: Any, right: bool = False, *, method: str | None = None) -> Tensor:
    """The number (int64) of the bin each element of `x` lies in: how many of the ascending `bins` are not above it.

    Of descending bins, how many are above it, or with `right` not below. `method` is accepted. ShapeError for bins that
    are no vector.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.digitize([0.5, 1.5, 9.0], [0.0, 1.0, 2.0]))
    tf.Tensor([1 2 3], shape=(3,), dtype=int64)
    """
    edges = array(bins)
    if edges.shape == (0,):
        return searchsorted(edges, x)
    falling = ops.less(get(edges, -1), get(edges, 0))
    rising = ops.where(falling, get(edges, slice(None, None, -1)), edges)
    positions = searchsorted(rising, x, "left" if right else "right")
    return ops.where(falling, ops.subtract(size_tensor(edges.shape[0]), positions), positions)


def searchsorted(
    a: Any, v: Any, side: str = "left", sorter: Any = None, *, method: str | None = None
) -> Tensor:
    """Where (int64) in a sorted vector `a` each value in `v` belongs, before equal elements or behind them, by `side`.

    It is "left" or "right"; ValueError for another. `sorter` are the positions that sort `a`, where it is not sorted;
    `method` is accepted.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.searchsorted([1.0, 2.0, 3.0], [2.0, 2.5]))
    tf.Tensor([1 2], shape=(2,), dtype=int64)
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
    edges = histogram_bin_edges(a, bins, range, weights)
    count = edges.shape[0] - 1
    number, inside = _bins_of(flat, edges, count)
    number = ops.where(inside, number, count)
    weight = None if weights is None else ops.reshape(array(weights), shape=flat.shape)
    counts: Any = segments.bincount(number, weight, count, count, dtype=np.int64)
    if density:
        widths = ops.subtract(get(edges, slice(1, None)), get(edges, slice(None, -1)))
        counts = wide_floats(counts)
        counts = counts / widths / ops.reduce_sum(counts)
    return counts, edges


def histogram_bin_edges(
    a: Any, bins: Any = 10, range: Sequence[Any] | None = None, weights: Any = None
) -> Tensor:
    """The edges of so many `bins` of one width from the smallest element of `a` to the largest, or over `range`.

    A vector of floats, one longer than there are bins; edges are taken as they are, and `weights` make no difference.
    Names of NumPy's rules, "auto", "fd", "sturges" …, are for an `a` that is known when this is called. ValueError for
    fewer than no bins and for other names, SymbolicValue for the values of a traced function.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.histogram_bin_edges([0.0, 1.0, 2.0], bins=4))
    tf.Tensor([0.  0.5 1.  1.5 2. ], shape=(5,), dtype=float64)
    """
    if isinstance(bins, str):
        ends: Any = range
        return array(np.histogram_bin_edges(values_of(a), bins, ends, weights))
    if not isinstance(bins, (int, np.integer)):
        return array(bins)
    x = wide_floats(a)
    if range is None and any_is_zero(x.shape):
        range = (0.0, 1.0)
    ends = (reductions.min(x), reductions.max(x)) if range is None else range
    low, high = (ops.cast(wide_floats(end), dtype=x.np_dtype) for end in ends)
    flat = ops.equal(low, high)
    low, high = ops.where(flat, ops.subtract(low, 0.5), low), ops.where(flat, ops.add(high, 0.5), high)
    return linspace(low, high, int(bins) + 1)


def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,
    density: bool = False,
    weights: Any = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """How many points (`x`, `y`) lie in each bin of a grid, floats, and the edges of the bins of both.

    `bins` are one number or vector of edges for both axes, or two; `range` a pair for each. `density` and `weights` are
    those of :func:`histogram`. ShapeError where `x` and `y` are no vectors of one size.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> counts, x_edges, y_edges = tnp.histogram2d([0.0, 1.0, 1.0], [0.0, 1.0, 1.0], bins=2)
    >>> print(counts.numpy().tolist(), x_edges.numpy())
    [[1.0, 0.0], [0.0, 2.0]] [0.  0.5 1. ]
    """
    one = isinstance(bins, (int, np.integer)) or len(bins) != 2
    counts, (first, second) = histogramdd([x, y], [bins, bins] if one else bins, range, density, weights)
    return counts, first, second


def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Any = None,
    density: bool = False,
    weights: Any = None,
) -> tuple[Tensor, list[Tensor]]:
    """How many points lie in each bin of a grid, floats with an axis for each coordinate, and the edges of the bins.

    `sample` is a matrix with a point in each row, or a list of the coordinates. `bins` is one number for all
    coordinates, or numbers or edges for each; `range` has a pair or None for each. With `weights` their sums, with
    `density` divided by their total and the sizes of the bins. ShapeError where lengths differ.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> counts, edges = tnp.histogramdd([[0.0, 1.0, 1.0], [1.0, 1.0, 0.0]], bins=2)
    >>> print(counts)
    tf.Tensor(
    [[0. 1.]
     [1. 1.]], shape=(2, 2), dtype=float64)
    """
    columns = _columns(sample)
    given = [bins] * len(columns) if isinstance(bins, (int, np.integer)) else list(bins)
    ranges = [None] * len(columns) if range is None else list(range)
    if not len(columns) == len(given) == len(ranges):
        raise ShapeError(
            f"{len(columns)} coordinates, {len(given)} bins, {len(ranges)} ranges{at(user_location())}"
        )
    edges = [histogram_bin_edges(x, b, r) for x, b, r in zip(columns, given, ranges, strict=True)]
    sizes = [known(e.shape[0]) - 1 for e in edges]
    number: Any = 0
    inside: Any = True
    for x, e, size in zip(columns, edges, sizes, strict=True):
        place, within = _bins_of(x, e, size)
        number = ops.add(ops.multiply(number, size), place)
        inside = ops.logical_and(inside, within)
    count = product(sizes)
    weight = None if weights is None else ops.reshape(array(weights), shape=columns[0].shape)
    flat = segments.bincount(ops.where(inside, number, count), weight, count, count, dtype=np.int64)
    counts: Any = ops.cast(ops.reshape(flat, shape=tuple(sizes)), dtype=np.dtype(np.float64))
    if density:
        counts = ops.divide(counts, ops.reduce_sum(counts))
        for axis, e in enumerate(edges):
            widths = ops.subtract(get(e, slice(1, None)), get(e, slice(None, -1)))
            shape = tuple([sizes[k] if k == axis else 1 for k in builtins.range(len(sizes))])
            counts = ops.divide(counts, ops.reshape(ops.cast(widths, dtype=counts.dtype), shape=shape))
    return counts, edges


def _columns(sample: Any) -> list[Any]:
    """The coordinates of points as vectors of one size."""
    if isinstance(sample, (list, tuple)) and all(np.ndim(x) == 1 or len(array(x).shape) == 1 for x in sample):
        columns = [array(x) for x in sample]
    else:
        points = array(sample)
        whole = points if len(points.shape) == 2 else ops.reshape(points, shape=(points.spec.size, 1))
        columns = [get(whole, (slice(None), k)) for k in builtins.range(known(whole.shape[1]))]
    if any(len(x.shape) != 1 or x.shape != columns[0].shape for x in columns):
        raise ShapeError(
            f"coordinates of different sizes: {[str(x.spec) for x in columns]}{at(user_location())}"
        )
    return columns


def _bins_of(x: Any, edges: Any, count: Any) -> tuple[Any, Any]:
    """The number of the bin of each element, the upper edge of the last being in it, and whether there is one."""
    number = ops.subtract(searchsorted(edges, x, "right"), 1)
    number = ops.where(ops.equal(x, get(edges, -1)), count - 1, number)
    return number, ops.logical_and(ops.less_equal(0, number), ops.less(number, count))
