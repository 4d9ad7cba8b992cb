"""The normal distribution."""

from __future__ import annotations

import math
from typing import Any

from ...core.op import ops
from ...core.tensor import Tensor
from ...numpy.conversion import floats
from .. import special


def _standard(x: Any, loc: Any, scale: Any) -> Any:
    return (floats(x) - floats(loc)) / floats(scale)


def logpdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Tensor:
    """The logarithm of the density at `x` about `loc`, with the deviation `scale`; floats, they broadcast.

    DtypeError for complex numbers, ShapeError where they do not broadcast.

    Examples
    --------
    >>> from tracejit.scipy.stats import norm
    >>> print(norm.logpdf(0.0))
    tf.Tensor(-0.9189385332046727, shape=(), dtype=float64)
    """
    z = _standard(x, loc, scale)
    return -0.5 * z * z - ops.log(floats(scale)) - 0.5 * math.log(2.0 * math.pi)


def pdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Tensor:
    """The density at `x` about `loc`, with the deviation `scale`; dtype and errors (ShapeError) as :func:`logpdf`."""
    return ops.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Tensor:
    """The probability to lie below `x`, of `loc` and `scale`; dtype and errors (ShapeError) as :func:`logpdf`."""
    return special.ndtr(_standard(x, loc, scale))


def sf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Tensor:
    """The probability to lie above `x`, of `loc` and `scale`; dtype and errors (ShapeError) as :func:`logpdf`."""
    return special.ndtr(-_standard(x, loc, scale))


def logcdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Tensor:
    """The logarithm of :func:`cdf` of `x`, `loc` and `scale`, of any shape, exact far below; floats, ShapeError."""
    return special.log_ndtr(_standard(x, loc, scale))


def logsf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Tensor:
    """The logarithm of :func:`sf` of `x`, `loc` and `scale`, of any shape, exact far above; floats, ShapeError."""
    return special.log_ndtr(-_standard(x, loc, scale))
