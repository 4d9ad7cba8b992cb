"""The distribution of sums of squares of normal variables."""

from __future__ import annotations

from typing import Any

from ...core.tensor import Tensor
from ...numpy.conversion import floats
from . import gamma


def logpdf(x: Any, df: Any) -> Tensor:
    """The logarithm of the density at `x` with `df` degrees of freedom; floats, ShapeError if not broadcast.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(round(float(scipy.stats.chi2.logpdf(1.0, 2.0)), 6))
    -1.193147
    """
    return gamma.logpdf(x, 0.5 * floats(df), 0.0, 2.0)


def pdf(x: Any, df: Any) -> Tensor:
    """The density at `x` with `df` degrees of freedom; floats, ShapeError where they do not broadcast.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(round(float(scipy.stats.chi2.pdf(1.0, 2.0)), 6))
    0.303265
    """
    return gamma.pdf(x, 0.5 * floats(df), 0.0, 2.0)


def cdf(x: Any, df: Any) -> Tensor:
    """The probability to lie below `x`, with `df` degrees of freedom; floats, ShapeError if they do not broadcast.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(round(float(scipy.stats.chi2.cdf(1.0, 2.0)), 6))
    0.393469
    """
    return gamma.cdf(x, 0.5 * floats(df), 0.0, 2.0)
