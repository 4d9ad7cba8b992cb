"""The beta distribution."""

from __future__ import annotations

from typing import Any

from ...core.op import ops
from ...core.tensor import Tensor
from ...numpy.conversion import floats
from .. import special
from ._parameters import where_positive


def logpdf(x: Any, a: Any, b: Any) -> Tensor:
    """The logarithm of the density at `x` with the parameters `a` and `b`, -inf outside of [0, 1]; floats.

    NaN where a parameter is not above 0. ShapeError where they do not broadcast.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(round(float(scipy.stats.beta.logpdf(0.5, 2.0, 2.0)), 6))
    0.405465
    """
    z: Any = floats(x)
    p: Any = floats(a)
    q: Any = floats(b)
    outside = ops.logical_or(ops.less(z, 0.0), ops.less(1.0, z))
    z = ops.where(outside, 0.5, z)
    inside = special.xlogy(p - 1.0, z) + special.xlog1py(q - 1.0, -z) - special.betaln(p, q)
    return where_positive(ops.where(outside, -float("inf"), inside), a, b)


def pdf(x: Any, a: Any, b: Any) -> Tensor:
    """The density at `x` with the parameters `a` and `b`; dtype and errors (ShapeError) as :func:`logpdf`.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(round(float(scipy.stats.beta.pdf(0.5, 2.0, 2.0)), 6))
    1.5
    """
    return ops.exp(logpdf(x, a, b))


def cdf(x: Any, a: Any, b: Any) -> Tensor:
    """The probability to lie below `x`, of `a` and `b`; dtype and errors (ShapeError) as :func:`logpdf`.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(round(float(scipy.stats.beta.cdf(0.5, 2.0, 2.0)), 6))
    0.5
    """
    return where_positive(special.betainc(a, b, ops.minimum(ops.maximum(floats(x), 0.0), 1.0)), a, b)
