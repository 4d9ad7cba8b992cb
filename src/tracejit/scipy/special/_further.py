"""Of ``scipy.special`` what networks, statistics and counting ask for, written with other functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.op import ops
from ...core.tensor import Tensor
from ...nn import activations
from ...numpy.conversion import floats, wide_floats
from ...numpy.elements.elementwise import hypot
from ...numpy.making import zeros_like
from ...ops.arrays.reduce import one_axis
from ...ops.elementwise.arithmetic import matched
from ...ops.elementwise.formulas.gamma_family import stirling_rest

#: Up to here whole numbers are told apart from their neighbours in spite of rounding.
_MOST = 1e12
#: From here on Stirling's series is exact to rounding.
_FAR = 15.0


def _along(of_one_axis: Callable[[Any, int], Tensor], x: Any, axis: Any) -> Tensor:
    """A function of one axis over several, or all."""
    v: Any = floats(x)
    if isinstance(axis, (int, np.integer)):
        return of_one_axis(v, int(axis))
    if axis is None:
        return ops.reshape(of_one_axis(ops.reshape(v, shape=(v.spec.size,)), 0), shape=v.shape)
    axes = tuple([one_axis(a, len(v.shape)) for a in axis])
    order = (*[k for k in range(len(v.shape)) if k not in axes], *axes)
    turned = ops.transpose(v, perm=order)
    lead = turned.shape[: len(order) - len(axes)]
    rows = ops.reshape(turned, shape=(*lead, math.prod(turned.shape[len(lead) :])))
    back = tuple([order.index(k) for k in range(len(order))])
    return ops.transpose(ops.reshape(of_one_axis(rows, len(lead)), shape=turned.shape), perm=back)


def softmax(x: Any, axis: Any = None) -> Tensor:
    """``exp(x) / sum(exp(x))`` without overflow, the sum over `axis`, one or several, None for all; floats.

    DtypeError for complex numbers and strings, ValueError for an axis that is not there.

    Examples
    --------
    >>> from tracejit.scipy import special
    >>> print(special.softmax([[1000.0, 1000.0], [0.0, 1.0]], axis=1)[0])
    tf.Tensor([0.5 0.5], shape=(2,), dtype=float64)
    """
    return _along(activations.softmax, x, axis)


def log_softmax(x: Any, axis: Any = None) -> Tensor:
    """The logarithm of :func:`softmax` of `x` over `axis`, also where that has vanished; floats.

    DtypeError for complex numbers and strings, ValueError for an axis that is not there.

    Examples
    --------
    >>> from tracejit.scipy import special
    >>> print(special.log_softmax([0.0, 1000.0]))
    tf.Tensor([-1000.     0.], shape=(2,), dtype=float64)
    """
    return _along(activations.log_softmax, x, axis)


# ---- counting -------------------------------------------------------------------------------------------


def _whole(value: Any, *numbers: Any) -> Any:
    """Rounded where these numbers are whole and not negative, as what is counted is; the derivative stays."""
    are = ops.less(value, _MOST)
    for x in numbers:
        are = ops.logical_and(are, ops.logical_and(ops.equal(x, ops.floor(x)), ops.less_equal(0.0, x)))
    return value + ops.stop_gradient(ops.where(are, ops.round(value) - value, 0.0))


def _log_ratio(a: Any, b: Any) -> Any:
    """``lgamma(a + b) - lgamma(a)``, by Stirling's series where both are large: no digit is lost there."""
    large = ops.logical_and(ops.less(_FAR, a), ops.less(_FAR, a + b))
    u, v = ops.where(large, a, 2.0 * _FAR), ops.where(large, b, 0.0)
    rests = stirling_rest(u + v) - stirling_rest(u)
    by_series = v * ops.log(u) + (u + v - 0.5) * ops.log1p(v / u) - v + rests
    x, y = ops.where(large, 1.0, a), ops.where(large, 0.0, b)
    return ops.where(large, by_series, ops.lgamma(x + y) - ops.lgamma(x))


def factorial(x: Any) -> Any:
    below = ops.less(x, 0.0)
    inside = ops.where(below, 0.0, x)
    return ops.where(below, 0.0, _whole(ops.exp(ops.lgamma(inside + 1.0)), inside))


def comb(n: Any, k: Any) -> Any:
    none = ops.logical_or(ops.logical_or(ops.less(n, k), ops.less(n, 0.0)), ops.less(k, 0.0))
    n, k = ops.where(none, 0.0, n), ops.where(none, 0.0, k)
    fewer = ops.where(ops.less(n - k, k), n - k, k)  # as many ways as to leave the others
    found = ops.exp(_log_ratio(n - fewer + 1.0, fewer) - ops.lgamma(fewer + 1.0))
    return ops.where(none, 0.0, _whole(found, n, k))


# ---- divergences and losses -----------------------------------------------------------------------------


def _entropy(x: Any, y: Any, rest: Callable[[Any, Any], Any]) -> Any:
    """``x log(x / y)`` and `rest` where both are positive, `rest` where `x` is 0, infinite elsewhere."""
    inside = ops.logical_and(ops.less(0.0, x), ops.less(0.0, y))
    at_0 = ops.logical_and(ops.equal(x, 0.0), ops.less_equal(0.0, y))
    u, v = ops.where(inside, x, 1.0), ops.where(inside, y, 1.0)
    ratio = ops.stop_gradient(u / v)
    told = ops.logical_and(ops.less(0.0, ratio), ops.less(ratio, np.inf))
    near = ops.log(ops.where(told, u, 1.0) / ops.where(told, v, 1.0))
    logarithm = ops.where(told, near, ops.log(ops.where(told, 1.0, u)) - ops.log(ops.where(told, 1.0, v)))
    found = ops.where(inside, u * logarithm + rest(u, v), ops.where(at_0, rest(0.0, y), np.inf))
    return ops.where(ops.logical_or(ops.is_nan(x), ops.is_nan(y)), x + y, found)


def rel_entr(x: Any, y: Any) -> Any:
    return _entropy(x, y, lambda u, v: 0.0) + _slope_at_0(x, y)


def kl_div(x: Any, y: Any) -> Any:
    return _entropy(x, y, lambda u, v: v - u) + _slope_at_0(x, y)


def _slope_at_0(x: Any, y: Any) -> Any:
    """0, whose derivative along `x` is -inf where `x` is 0 and `y` is positive."""
    there = ops.logical_and(ops.equal(x, 0.0), ops.less(0.0, y))
    return ops.where(there, ops.xlogy(ops.where(there, x, 1.0), ops.where(there, x, 1.0)), 0.0)


def huber(delta: Any, r: Any) -> Any:
    size = ops.abs(r)
    near = ops.less_equal(size, delta)
    middle, slope = ops.where(near, r, 0.0), ops.where(near, 0.0, delta)
    found = ops.where(near, 0.5 * middle * middle, slope * (ops.where(near, 0.0, size) - 0.5 * slope))
    found = ops.where(ops.is_nan(size + delta), size + delta, found)
    return ops.where(ops.less(delta, 0.0), np.inf, found)


def pseudo_huber(delta: Any, r: Any) -> Any:
    known = ops.less(0.0, delta)
    scale = ops.where(known, delta, 1.0)
    found = r * (r / (1.0 + hypot(1.0, r / scale)))
    outside = ops.where(ops.less(delta, 0.0), np.inf, ops.where(ops.is_nan(r), r, delta))
    return ops.where(known, found, outside)


def log_expit(x: Any) -> Any:
    return -ops.softplus(-x)


# ---- the gamma function ---------------------------------------------------------------------------------


def poch(z: Any, m: Any, sign: Callable[[Any], Any]) -> Any:
    """By logarithms, with the `sign` of the gamma function."""
    turned = ops.stop_gradient(sign(z) * sign(z + m))
    turned = ops.where(ops.logical_or(ops.equal(z, 0.0), ops.equal(z + m, 0.0)), np.nan, turned)
    return _whole(ops.exp(_log_ratio(z, m)) * turned, z, m)


def sici(x: Any) -> tuple[Tensor, Tensor]:
    """The sine and cosine integrals of each element of `x`, as floats: of ``sin(t) / t`` and ``cos(t) / t``.

    The first is over t from 0 to `x`; the second is minus that from the size of `x` on, -inf at 0. DtypeError for
    complex numbers and strings.

    Examples
    --------
    >>> from tracejit.scipy import special
    >>> print(*special.sici(2.0))
    tf.Tensor(1.605412976802695, shape=(), dtype=float64) tf.Tensor(0.422980828774865, shape=(), dtype=float64)
    """
    given = floats(x)
    return ops.sine_integral(given), ops.cosine_integral(given)


def fresnel(z: Any) -> tuple[Tensor, Tensor]:
    """Fresnel's integrals over t from 0 to each element of `z`, floats, of the sine and the cosine of ``pi t**2 / 2``.

    DtypeError for complex numbers and strings.

    Examples
    --------
    >>> from tracejit.scipy import special
    >>> print(*special.fresnel(2.0))
    tf.Tensor(0.34341567836369824, shape=(), dtype=float64) tf.Tensor(0.48825340607534073, shape=(), dtype=float64)
    """
    given = floats(z)
    return ops.fresnel_sin(given), ops.fresnel_cos(given)


def wofz(z: Any) -> Tensor:
    """Faddeeva's function ``exp(-z**2) erfc(-i z)`` of each element of `z`, complex; float32 gives complex64.

    Infinite where it is too large, far below the real line. DtypeError for strings.

    Examples
    --------
    >>> from tracejit.scipy import special
    >>> print(special.wofz([1j, 1.0]))
    tf.Tensor([0.42758358+0.j         0.36787944+0.60715771j], shape=(2,), dtype=complex128)
    """
    x: Any = wide_floats(z)
    x = x if x.dtype.kind == "c" else ops.complex(x, zeros_like(x))
    a, b = ops.real(x), ops.imag(x)
    below = ops.less(b, 0.0)
    height = ops.where(below, -b, b)
    first, second = ops.faddeeva_real(a, height, order=0), ops.faddeeva_imag(a, height, order=0)
    p, q = ops.where(below, a, 0.0), ops.where(below, b, 0.0)
    size, turn = 2.0 * ops.exp((q - p) * (q + p)), 2.0 * p * q
    real = ops.where(below, size * ops.cos(turn) - first, first)
    return ops.complex(real, ops.where(below, second - size * ops.sin(turn), second))


def voigt_profile(x: Any, sigma: Any, gamma: Any) -> Tensor:
    """The density of the sum of a normal variable and one of Cauchy's; derivatives go along every argument.

    Parameters
    ----------
    x : tensor-like
        Where. All three are real and broadcast; of integers they are float64.
    sigma : tensor-like
        Deviation of the normal variable; of 0 the density is Cauchy's.
    gamma : tensor-like
        Half width of the other one; of 0 the density is the normal one.

    Returns
    -------
    Tensor
        Of the broadcast shape, floats; NaN where a deviation or width is negative.

    Raises
    ------
    DtypeError
        For complex numbers and strings.
    ShapeError
        Where the arguments do not broadcast.

    Examples
    --------
    >>> from tracejit.scipy import special
    >>> print(special.voigt_profile([0.0, 1.0], 1.0, 0.5))
    tf.Tensor([0.27895547 0.20017964], shape=(2,), dtype=float64)
    """
    place, deviation, width = matched(tuple(floats(v) for v in (x, sigma, gamma)), {})[0]
    none = ops.equal(deviation, 0.0)
    scale = 1.0 / (math.sqrt(2.0) * ops.where(none, 1.0, deviation))
    usual = ops.faddeeva_real(place * scale, width * scale, order=0) * scale / math.sqrt(math.pi)
    usual = ops.where(ops.less(deviation, 0.0), np.nan, usual)
    return ops.where(none, _without_normal(place, deviation, width, none), usual)


def _without_normal(x: Any, deviation: Any, width: Any, none: Any) -> Any:
    """For deviations of 0, with the terms of their powers that derivatives up to the fifth need."""
    point = ops.logical_and(ops.equal(x, 0.0), ops.equal(width, 0.0))
    away = ops.where(ops.logical_and(none, ops.logical_not(point)), x, 1.0)
    inverse = 1.0 / (away * away + width * width)
    share = width * width * inverse
    rest = 1.0 - share
    second = (6.0 * rest - 2.0 * share) * inverse
    fourth = 24.0 * (5.0 * rest * rest - 10.0 * rest * share + share * share) * inverse * inverse
    s2 = deviation * deviation
    density = width / math.pi * inverse * (1.0 + 0.5 * s2 * second + 0.125 * s2 * s2 * fourth)
    density = ops.where(ops.less(width, 0.0), np.nan, density)
    return ops.where(point, np.inf, density)
