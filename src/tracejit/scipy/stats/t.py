"""Student's distribution."""

from __future__ import annotations

import math
from typing import Any

from ...core.op import ops
from ...core.tensor import Tensor
from ...numpy.conversion import floats
from .. import special
from ._parameters import where_positive


def logpdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Tensor:
    """The logarithm of the density at `x` with `df` degrees of freedom, about `loc`, with the width `scale`.

    Floats, of the shape to which they broadcast: ShapeError where they do not. NaN unless `df` and `scale` are above 0.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(round(float(scipy.stats.t.logpdf(1.0, 3.0)), 6))
    -1.576253
    """
    z: Any = (floats(x) - floats(loc)) / floats(scale)
    n: Any = floats(df)
    size = ops.lgamma(0.5 * (n + 1.0)) - ops.lgamma(0.5 * n) - 0.5 * ops.log(n * math.pi)
    density = size - ops.log(floats(scale)) - 0.5 * (n + 1.0) * ops.log1p(z * z / n)
    return where_positive(density, df, scale)


def pdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Tensor:
    """The density at `x` with `df`, `loc` and `scale`; dtype and errors (ShapeError) as :func:`logpdf`.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(round(float(scipy.stats.t.pdf(1.0, 3.0)), 6))
    0.206748
    """
    return ops.exp(logpdf(x, df, loc, scale))


def cdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Tensor:
    """The probability to lie below `x`, of `df`, `loc` and `scale`; dtype and errors (ShapeError) as :func:`logpdf`.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(round(float(scipy.stats.t.cdf(1.0, 3.0)), 6))
    0.804499
    """
    z: Any = (floats(x) - floats(loc)) / floats(scale)
    n: Any = floats(df)
    # where z**2 has no slope, and the part of it an infinite one
    central = ops.less(z * z, 1e-14 * ops.minimum(n, 1.0))
    square = ops.square(ops.where(central, 1.0, z))
    near = ops.less(square, n)
    inner = 0.5 * special.betainc(0.5, 0.5 * n, ops.where(near, square / (n + square), 0.5))
    tail = 0.5 * special.betainc(0.5 * n, 0.5, ops.where(near, 0.5, n / (n + square)))
    below = ops.where(near, 0.5 - inner, tail)
    above = ops.where(near, 0.5 + inner, 1.0 - tail)
    height = ops.exp(ops.lgamma(0.5 * (n + 1.0)) - ops.lgamma(0.5 * n) - 0.5 * ops.log(n * math.pi))
    middle = 0.5 + height * z * (1.0 - (n + 1.0) / (6.0 * n) * z * z)
    probability = ops.where(central, middle, ops.where(ops.less(z, 0.0), below, above))
    return where_positive(probability, df, scale)


def logcdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Tensor:
    """The logarithm of :func:`cdf` of `x`, `df`, `loc` and `scale`; dtype and errors (ShapeError) as :func:`logpdf`.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(round(float(scipy.stats.t.logcdf(1.0, 3.0)), 6))
    -0.217536
    """
    return ops.log(cdf(x, df, loc, scale))
