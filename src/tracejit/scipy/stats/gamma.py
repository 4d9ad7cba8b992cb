"""The gamma distribution."""

from __future__ import annotations

from typing import Any

from ...core.op import ops
from ...core.tensor import Tensor
from ...numpy.conversion import floats
from .. import special
from ._parameters import where_positive


def logpdf(x: Any, a: Any, loc: Any = 0.0, scale: Any = 1.0) -> Tensor:
    """The logarithm of the density at `x` with the shape parameter `a`, from `loc` on, stretched by `scale`.

    Floats, of the shape to which they broadcast: ShapeError where they do not. NaN unless `a` and `scale` are above 0.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(scipy.stats.gamma.logpdf(1.0, 2.0))
    tf.Tensor(-1.0, shape=(), dtype=float64)
    """
    z: Any = (floats(x) - floats(loc)) / floats(scale)
    k: Any = floats(a)
    below = ops.less(z, 0.0)
    z = ops.where(below, 1.0, z)
    inside = special.xlogy(k - 1.0, z) - z - ops.lgamma(k) - ops.log(floats(scale))
    return where_positive(ops.where(below, -float("inf"), inside), a, scale)


def pdf(x: Any, a: Any, loc: Any = 0.0, scale: Any = 1.0) -> Tensor:
    """The density at `x` with `a`, `loc` and `scale`; dtype and errors (ShapeError) as :func:`logpdf`.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(round(float(scipy.stats.gamma.pdf(1.0, 2.0)), 6))
    0.367879
    """
    return ops.exp(logpdf(x, a, loc, scale))


def cdf(x: Any, a: Any, loc: Any = 0.0, scale: Any = 1.0) -> Tensor:
    """The probability to lie below `x`, of `a`, `loc` and `scale`; dtype and errors (ShapeError) as :func:`logpdf`.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(round(float(scipy.stats.gamma.cdf(1.0, 2.0)), 6))
    0.264241
    """
    below = special.gammainc(a, ops.maximum((floats(x) - floats(loc)) / floats(scale), 0.0))
    return where_positive(below, a, scale)
