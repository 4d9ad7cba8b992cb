"""The distribution of counts of independent events."""

from __future__ import annotations

from typing import Any

from ...core.op import ops
from ...core.tensor import Tensor
from ...numpy.conversion import floats
from .. import special


def _of_a_count(value: Any, count: Any, mu: Any) -> Any:
    """NaN where the count is, and where fewer than none are expected."""
    known = ops.logical_and(ops.equal(count, count), ops.less_equal(0.0, floats(mu)))
    return ops.where(known, value, float("nan"))


def logpmf(k: Any, mu: Any) -> Tensor:
    """The logarithm of the probability of the count `k` where `mu` are expected, -inf of what is no count; floats.

    NaN where `mu` is below 0. ShapeError where they do not broadcast.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(round(float(scipy.stats.poisson.logpmf(2.0, 1.5)), 6))
    -1.382217
    """
    count: Any = floats(k)
    value = special.xlogy(count, mu) - ops.lgamma(count + 1.0) - floats(mu)
    none = ops.logical_or(ops.less(count, 0.0), ops.not_equal(count, ops.floor(count)))
    return _of_a_count(ops.where(none, -float("inf"), value), count, mu)


def pmf(k: Any, mu: Any) -> Tensor:
    """The probability of the count `k` where `mu` are expected; dtype and errors (ShapeError) as :func:`logpmf`.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(round(float(scipy.stats.poisson.pmf(2.0, 1.5)), 6))
    0.251021
    """
    return ops.exp(logpmf(k, mu))


def cdf(k: Any, mu: Any) -> Tensor:
    """The probability of at most `k` where `mu` are expected; dtype and errors (ShapeError) as :func:`logpmf`.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(round(float(scipy.stats.poisson.cdf(2.0, 1.5)), 6))
    0.808847
    """
    count: Any = ops.floor(floats(k))
    none = ops.less(count, 0.0)
    below = ops.where(none, 0.0, special.gammaincc(ops.where(none, 0.0, count) + 1.0, mu))
    return _of_a_count(below, count, mu)
