"""The normal distribution."""

from __future__ import annotations

import math
from typing import Any

from ...core.op import ops
from ...core.tensor import Tensor
from ...numpy.conversion import floats
from .. import special
from ._parameters import positive


def _standard(x: Any, loc: Any, scale: Any) -> Any:
    return (floats(x) - floats(loc)) / positive(scale)


def logpdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Tensor:
    """The logarithm of the density at `x` about `loc`, with the deviation `scale`; floats, they broadcast.

    NaN where `scale` is not above 0. DtypeError for complex numbers, ShapeError where they do not broadcast.

    Examples
    --------
    >>> from tracejit.scipy.stats import norm
    >>> print(norm.logpdf(0.0))
    tf.Tensor(-0.9189385332046727, shape=(), dtype=float64)
    """
    z = _standard(x, loc, scale)
    return -0.5 * z * z - ops.log(floats(scale)) - 0.5 * math.log(2.0 * math.pi)


def pdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Tensor:
    """The density at `x` about `loc`, with the deviation `scale`; dtype and errors (ShapeError) as :func:`logpdf`.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(scipy.stats.norm.pdf([0.0, 1.0], loc=0.0, scale=2.0))
    tf.Tensor([0.19947114 0.17603266], shape=(2,), dtype=float64)
    """
    return ops.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Tensor:
    """The probability to lie below `x`, of `loc` and `scale`; dtype and errors (ShapeError) as :func:`logpdf`.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(scipy.stats.norm.cdf([0.0, 1.0]))
    tf.Tensor([0.5        0.84134475], shape=(2,), dtype=float64)
    """
    return special.ndtr(_standard(x, loc, scale))


def sf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Tensor:
    """The probability to lie above `x`, of `loc` and `scale`; dtype and errors (ShapeError) as :func:`logpdf`.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(scipy.stats.norm.sf([0.0, 1.0]))
    tf.Tensor([0.5        0.15865525], shape=(2,), dtype=float64)
    """
    return special.ndtr(-_standard(x, loc, scale))


def logcdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Tensor:
    """The logarithm of :func:`cdf` of `x`, `loc` and `scale`, of any shape, exact far below; floats, ShapeError.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(scipy.stats.norm.logcdf([0.0, -20.0]))
    tf.Tensor([  -0.69314718 -203.91715537], shape=(2,), dtype=float64)
    """
    return special.log_ndtr(_standard(x, loc, scale))


def logsf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Tensor:
    """The logarithm of :func:`sf` of `x`, `loc` and `scale`, of any shape, exact far above; floats, ShapeError.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(scipy.stats.norm.logsf([0.0, 20.0]))
    tf.Tensor([  -0.69314718 -203.91715537], shape=(2,), dtype=float64)
    """
    return special.log_ndtr(-_standard(x, loc, scale))
