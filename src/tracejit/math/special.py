"""Special functions that are written with others: digamma, polygamma, the multivariate gamma function, Bessel's."""

from __future__ import annotations

import math
from typing import Any

from ..core.errors import at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor


def digamma(x: Any, name: str | None = None) -> Tensor:
    """The derivative of the logarithm of the gamma function, of each element of `x`; DtypeError unless real floats.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.digamma(1.0))
    tf.Tensor(-0.5772157, shape=(), dtype=float32)
    """
    return ops.polygamma(as_tensor(x), order=0)


def polygamma(a: int, x: Any, name: str | None = None) -> Tensor:
    """The `a`-th derivative of digamma, of each element of `x`, real floats.

    `a` is a Python integer, for no derivative is known along it. ValueError where it is negative, DtypeError for
    other elements.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.polygamma(1, 1.0))
    tf.Tensor(1.644934, shape=(), dtype=float32)
    """
    order = int(a)
    if order != a:
        raise ValueError(f"polygamma takes a whole number of derivatives, got {a!r}{at(user_location())}")
    return ops.polygamma(as_tensor(x), order=order)


def multigammaln(a: Any, d: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension `d`, of each element of `a`, real floats.

    DtypeError for other dtypes.
    """
    x: Any = as_tensor(a)
    total: Any = 0.25 * d * (d - 1) * math.log(math.pi)
    for j in range(d):
        total = total + ops.lgamma(x - 0.5 * j)
    return total


def bessel_i0(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 0, of each element of `x`; DtypeError unless floats."""
    v: Any = as_tensor(x)
    return ops.multiply(ops.bessel_i0e(v), ops.exp(ops.abs(v)))


def bessel_i1(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 1, of each element of `x`; DtypeError unless floats."""
    v: Any = as_tensor(x)
    return ops.multiply(ops.bessel_i1e(v), ops.exp(ops.abs(v)))
