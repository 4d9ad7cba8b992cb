"""Special functions that are written with others: digamma, polygamma, the multivariate gamma function, Bessel's."""

from __future__ import annotations

import math
from typing import Any

from ..core.errors import ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from ..ops.elementwise.arithmetic import matched
from ..ops.elementwise.special import derivative_of_digamma, unscaled


def digamma(x: Any, name: str | None = None) -> Tensor:
    """The derivative of the logarithm of the gamma function, of each element of `x`; DtypeError unless real floats.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.digamma(1.0))
    tf.Tensor(-0.5772157, shape=(), dtype=float32)
    """
    return ops.digamma(as_tensor(x))


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
    return derivative_of_digamma(as_tensor(x), order)


def multigammaln(a: Any, d: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension `d`, of each element of `a`, real floats.

    DtypeError for other dtypes.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.multigammaln(3.0, 2))
    tf.Tensor(1.550195, shape=(), dtype=float32)
    """
    x: Any = as_tensor(a)
    total: Any = 0.25 * d * (d - 1) * math.log(math.pi)
    for j in range(d):
        total = total + ops.lgamma(x - 0.5 * j)
    return total


def bessel_i0(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 0, of each element of `x`; DtypeError unless floats.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.bessel_i0([0.0, 1.0]))
    tf.Tensor([1.       1.266066], shape=(2,), dtype=float32)
    """
    v: Any = as_tensor(x)
    return unscaled(ops.bessel_i0e(v), v)


def bessel_i1(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 1, of each element of `x`; DtypeError unless floats.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.bessel_i1([0.0, 1.0]))
    tf.Tensor([0.         0.56515914], shape=(2,), dtype=float32)
    """
    v: Any = as_tensor(x)
    return unscaled(ops.bessel_i1e(v), v)


def bessel_j0(x: Any, name: str | None = None) -> Tensor:
    """The Bessel function of the first kind of order 0, of each element of `x`; DtypeError unless real floats.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.bessel_j0([0.0, 1.0]))
    tf.Tensor([1.        0.7651977], shape=(2,), dtype=float32)
    """
    return ops.bessel_j(as_tensor(x), order=0)


def bessel_j1(x: Any, name: str | None = None) -> Tensor:
    """The Bessel function of the first kind of order 1, of each element of `x`; DtypeError unless real floats.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.bessel_j1([0.0, 1.0]))
    tf.Tensor([0.         0.44005057], shape=(2,), dtype=float32)
    """
    return ops.bessel_j(as_tensor(x), order=1)


def bessel_y0(x: Any, name: str | None = None) -> Tensor:
    """The Bessel function of the second kind of order 0, of each element of `x`; DtypeError unless real floats.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.bessel_y0([1.0, 2.0]))
    tf.Tensor([0.08825696 0.5103757 ], shape=(2,), dtype=float32)
    """
    return ops.bessel_y(as_tensor(x), order=0)


def bessel_y1(x: Any, name: str | None = None) -> Tensor:
    """The Bessel function of the second kind of order 1, of each element of `x`; DtypeError unless real floats.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.bessel_y1([1.0, 2.0]))
    tf.Tensor([-0.7812128  -0.10703243], shape=(2,), dtype=float32)
    """
    return ops.bessel_y(as_tensor(x), order=1)


def betainc(a: Any, b: Any, x: Any, name: str | None = None) -> Tensor:
    """The incomplete beta function of `x` from 0 to 1 with positive `a` and `b`, over the whole; real floats.

    Derivatives along all three. DtypeError for other dtypes, ShapeError where they do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> round(float(tf.math.betainc(2.0, 1.0, 0.5)), 6)
    0.25
    """
    tensors, _ = matched((a, b, x), {})
    return ops.betainc(*tensors, orders=(0, 0))


def igamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The lower incomplete gamma function of `x` with the parameter `a`, over the whole; real floats.

    DtypeError for other dtypes, ShapeError where they do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.igamma(1.0, [0.0, 1.0]))
    tf.Tensor([0.         0.63212055], shape=(2,), dtype=float32)
    """
    return ops.gammainc(a, x, order=0)


def igammac(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The upper incomplete gamma function of `x` with the parameter `a`, over the whole; real floats.

    DtypeError for other dtypes, ShapeError where they do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.igammac(1.0, [0.0, 1.0]))
    tf.Tensor([1.         0.36787945], shape=(2,), dtype=float32)
    """
    return ops.gammaincc(a, x, order=0)


def zeta(x: Any, q: Any, name: str | None = None) -> Tensor:
    """The sum of ``(q + k)**-x`` over k from 0 on, for `x` above 1 and positive `q`; real floats.

    Infinite at 1, NaN elsewhere. DtypeError for other dtypes, ShapeError where they do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.zeta(2.0, 1.0))
    tf.Tensor(1.644934, shape=(), dtype=float32)
    """
    return ops.zeta(x, q, order=0)


def erfcinv(x: Any, name: str | None = None) -> Tensor:
    """Where :func:`erfc` is `x`, of each element from 0 to 2, exact for small ones; DtypeError unless real floats.

    Examples
    --------
    >>> import tracejit as tf
    >>> round(float(tf.math.erfc(tf.math.erfcinv(0.25))), 6)
    0.25
    """
    return ops.multiply(ops.ndtri(ops.multiply(as_tensor(x), 0.5)), -math.sqrt(0.5))


def lbeta(x: Any, name: str | None = None) -> Tensor:
    """The logarithm of the size of the beta function of the elements along the last axis of `x`, real floats.

    Of two it is that of Euler. DtypeError for other dtypes, ShapeError for scalars.

    Examples
    --------
    >>> import tracejit as tf
    >>> round(float(tf.exp(tf.math.lbeta([2.0, 2.0]))), 6)
    0.166667
    """
    v: Any = as_tensor(x)
    if not v.shape:
        raise ShapeError(f"lbeta takes vectors, got {v.spec}{at(user_location())}")
    return ops.reduce_sum(ops.lgamma(v), axis=(-1,)) - ops.lgamma(ops.reduce_sum(v, axis=(-1,)))
