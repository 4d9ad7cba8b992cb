"""The incomplete gamma and beta functions and Hurwitz' zeta function; NumPy computes them in double precision.

Their derivatives along parameters are no elementary functions: an op takes the order of such a derivative, which its
kernel finds by Cauchy's integral over a circle around the parameter, where the function is analytic. Formulas:
Abramowitz and Stegun, Handbook of Mathematical Functions, 6.1, 6.5, 23.2, 26.5.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....core.errors import require
from ....core.op import defop, ops, real, sample
from ....core.spec import TensorSpec
from ...lowering import Callback
from ..arithmetic import ELEMENTARY, broadcast, matched
from ..special import BERNOULLI, derivative_number, double, polygammas
from ..special_formulas import on_arrays

_of_reals = on_arrays("lgamma")

#: From here on Stirling's series is exact to rounding.
_FAR = 15.0
#: On a circle of an eighth of the distance to where the function ends, so many are exact to rounding.
_POINTS = 16
_MOST_TERMS = 20_000


def stirling_rest(z: Any) -> Any:
    """What Stirling's formula leaves out of ``log(gamma(z))``, exact to rounding for large `z`."""
    return sum(b / (2 * k * (2 * k - 1) * z ** (2 * k - 1)) for k, b in enumerate(BERNOULLI, 1))


def _log_gamma(z: Any) -> Any:
    """Of numbers with a positive real part, moved upwards first; complex ones up to a multiple of 2 pi i."""
    product = np.ones_like(z)
    for _ in range(int(_FAR)):
        low = z.real < _FAR
        product = np.where(low, product * z, product)
        z = np.where(low, z + 1.0, z)
    return (z - 0.5) * np.log(z) - z + 0.5 * math.log(2.0 * math.pi) + stirling_rest(z) - np.log(product)


def _on_circle(f: Callable[[Any], Any], z: Any, order: int, radius: Any) -> Any:
    """The derivative `order` at real numbers of a function of complex numbers, which are behind along a new axis.

    Half of the circle will do, as the other half gives the conjugate numbers.
    """
    number = np.arange(_POINTS // 2 + 1)
    turn = np.exp(2j * math.pi * number / _POINTS)
    weight = np.where(number % (_POINTS // 2) == 0, 1.0, 2.0) / _POINTS
    values = f(z[..., None] + radius[..., None] * turn)
    return math.factorial(order) * np.sum(weight * (values * turn**-order).real, axis=-1) / radius**order


# ---- the incomplete gamma function ----------------------------------------------------------------------


def _gamma_term(a: Any, x: Any) -> Any:
    """``x**a * exp(-x) / gamma(a + 1)``, without cancellation where both are large."""
    large = a.real >= _FAR
    wide = np.where(large, a, _FAR)
    off = (x - wide) / wide
    log_ratio = np.where(np.abs(off) < 0.5, np.log1p(off), np.log(x / wide))
    by_series = wide * (log_ratio - off) - 0.5 * np.log(2.0 * math.pi * wide) - stirling_rest(wide)
    small = np.where(large, 1.0, a)
    return np.exp(np.where(large, by_series, small * np.log(x) - x - _log_gamma(small + 1.0)))


def _gamma_series(a: Any, x: Any) -> Any:
    term = total = np.ones(np.broadcast_shapes(a.shape, x.shape), a.dtype)
    for k in range(1, _MOST_TERMS):
        term = term * x / (a + k)
        total = total + term
        if not np.any(np.abs(term) > 1e-17 * np.abs(total)):
            break
    return total


def continued(numerator: Callable[[int], Any], denominator: Callable[[int], Any]) -> Any:
    """``b0 + a1 / (b1 + a2 / (b2 + ...))`` by Lentz' method."""
    tiny = 1e-300
    value = c = np.where(denominator(0) == 0.0, tiny, denominator(0))
    d = np.zeros_like(value)
    for k in range(1, _MOST_TERMS):
        d = denominator(k) + numerator(k) * d
        c = denominator(k) + numerator(k) / c
        d, c = 1.0 / np.where(d == 0.0, tiny, d), np.where(c == 0.0, tiny, c)
        value = value * (c * d)
        if not np.any(np.abs(c * d - 1.0) > 1e-15):
            break
    return value


def _gammas(a: Any, x: Any) -> tuple[Any, Any]:
    """The lower and the upper incomplete gamma function, over the whole one, for a > 0 and finite x > 0."""
    low = x < a.real + 1.0
    near, inner = np.where(low, x, 1.0), np.where(low, a, 1.0)
    lower = _gamma_term(inner, near) * _gamma_series(inner, near)
    far, outer = np.where(low, 2.0, x), np.where(low, 1.0, a)
    fraction = continued(lambda k: -k * (k - outer), lambda k: far + 2 * k + 1.0 - outer)
    upper = _gamma_term(outer, far) * outer / fraction
    return np.where(low, lower, 1.0 - upper), np.where(low, 1.0 - lower, upper)


def _gammainc(a: np.ndarray, x: np.ndarray, *, order: int, which: int) -> np.ndarray:
    """The lower (0) or upper (1) one; on the circle of a derivative it grows by a factor that stays small."""
    a, x = np.broadcast_arrays(a, x)
    valid = (a > 0.0) & (x > 0.0) & np.isfinite(a) & np.isfinite(x)
    shape, at_x = np.where(valid, a, 1.0), np.where(valid, x, 1.0)
    if order:
        growth = np.abs(np.log(at_x) - np.log(shape + 1.0))
        radius = np.minimum(0.125 * shape, 1.0 / (1.0 + growth))
        found = _on_circle(lambda z: _gammas(z, at_x[..., None])[which], shape, order, radius)
        return np.where(valid, found, np.where((a > 0.0) & (x >= 0.0), 0.0, np.nan))
    ends = np.where(x == 0.0, 0.0, np.where(np.isposinf(x), 1.0, np.nan))
    ends = np.where(np.isposinf(a) & (x >= 0.0), np.where(np.isposinf(x), np.nan, 0.0), ends)
    ends = np.where((a == 0.0) & (x > 0.0), 1.0, np.where(a > 0.0, ends, np.nan))
    return np.where(valid, _gammas(shape, at_x)[which], 1.0 - ends if which else ends)


def _log_or_none(x: np.ndarray) -> np.ndarray:
    """The logarithm; 0 for 0, where all that it is multiplied with is 0."""
    return np.log(np.where(x == 0.0, 1.0, x))


def _gamma_density(a: np.ndarray, x: np.ndarray, *, order: int) -> np.ndarray:
    """By the derivatives of its logarithm."""
    power = np.where(a == 1.0, 0.0, (a - 1.0) * np.log(x))
    found = [np.exp(power - x - _of_reals(a))]
    slopes = [_log_or_none(x) - polygammas(a, order=0)]
    for n in range(order):
        found.append(sum(math.comb(n, k) * found[k] * slopes[n - k] for k in range(n + 1)))
        slopes.append(-polygammas(a, order=n + 1))
    return found[order]


def _gamma_density_slope(y: Any, a: Any, x: Any, *, order: int) -> Any:
    slope = y * ((a - 1.0) / x - 1.0)
    return slope + order * ops.gamma_density(a, x, order=order - 1) / x if order else slope


_POSITIVE = tuple(sample(*shapes, low=0.7, high=3.0) for shapes in (((2, 3), (2, 3)), ((2, 1, 3), (4, 1))))


@defop(
    partial=(lambda y, a, x, *, order: ops.gamma_density(a, x, order=order + 1), _gamma_density_slope),
    kernel=double(_gamma_density),
    lower=Callback(),
    canonicalize=matched,
    traits=ELEMENTARY,
    samples=tuple(sample(*s.shapes, low=0.7, high=3.0, order=0) for s in _POSITIVE),
)
def gamma_density(a: TensorSpec, x: TensorSpec, *, order: int) -> TensorSpec:
    """``x**(a - 1) * exp(-x) / gamma(a)``, its derivative number `order` along `a`."""
    derivative_number(order)
    return real(broadcast(a, x))


@defop(
    partial=(
        lambda y, a, x, *, order: ops.gammainc(a, x, order=order + 1),
        lambda y, a, x, *, order: ops.gamma_density(a, x, order=order),
    ),
    kernel=double(functools.partial(_gammainc, which=0)),
    lower=Callback(),
    canonicalize=matched,
    traits=ELEMENTARY,
    samples=tuple(sample(*s.shapes, low=0.7, high=3.0, order=0) for s in _POSITIVE),
)
def gammainc(a: TensorSpec, x: TensorSpec, *, order: int) -> TensorSpec:
    """The lower incomplete gamma function over the whole, its derivative number `order` along `a`."""
    derivative_number(order)
    return real(broadcast(a, x))


@defop(
    partial=(
        lambda y, a, x, *, order: ops.gammaincc(a, x, order=order + 1),
        lambda y, a, x, *, order: -ops.gamma_density(a, x, order=order),
    ),
    kernel=double(functools.partial(_gammainc, which=1)),
    lower=Callback(),
    canonicalize=matched,
    traits=ELEMENTARY,
    samples=tuple(sample(*s.shapes, low=0.7, high=3.0, order=0) for s in _POSITIVE),
)
def gammaincc(a: TensorSpec, x: TensorSpec, *, order: int) -> TensorSpec:
    """What :func:`gammainc` lacks to 1, exact where that is small; its derivative number `order` along `a`."""
    derivative_number(order)
    return real(broadcast(a, x))


# ---- the incomplete beta function -----------------------------------------------------------------------


def _both(orders: tuple[int, ...]) -> None:
    """Shape rule: the numbers of two derivatives."""
    require(len(orders) == 2, f"takes two orders, got {orders}")
    for order in orders:
        derivative_number(order)


def _beta_part(a: Any, b: Any, x: Any) -> Any:
    """By the continued fraction, which converges below the mean."""

    def numerator(k: int) -> Any:
        m = k // 2
        if k % 2:
            return -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        return m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))

    one = np.ones(np.broadcast_shapes(a.shape, b.shape, x.shape), np.result_type(a, b, x))
    fraction = continued(numerator, lambda k: one)
    log_beta = _log_gamma(a) + _log_gamma(b) - _log_gamma(a + b)
    return np.exp(a * np.log(x) + b * np.log1p(-x) - log_beta) / (a * fraction)


def _beta(a: Any, b: Any, x: Any) -> Any:
    low = x < (a.real + 1.0) / (a.real + b.real + 2.0)
    part = _beta_part(np.where(low, a, b), np.where(low, b, a), np.where(low, x, 1.0 - x))
    return np.where(low, part, 1.0 - part)


def _betainc(a: np.ndarray, b: np.ndarray, x: np.ndarray, *, orders: tuple[int, ...]) -> np.ndarray:
    a, b, x = np.broadcast_arrays(a, b, x)
    valid = (a > 0.0) & (b > 0.0) & (x > 0.0) & (x < 1.0) & np.isfinite(a) & np.isfinite(b)
    u, v, at_x = np.where(valid, a, 1.0), np.where(valid, b, 1.0), np.where(valid, x, 0.5)
    first, second = orders
    growth = [np.abs(np.log(y) - np.log((p + 1.0) / (u + v + 1.0))) for p, y in ((u, at_x), (v, 1.0 - at_x))]
    reach = [np.minimum(0.125 * p, 1.0 / (1.0 + g)) for p, g in zip((u, v), growth, strict=True)]

    def along_b(u: Any, v: Any, x: Any, radius: Any) -> Any:
        if not second:
            return _beta(u, v, x)
        turn = np.exp(2j * math.pi * np.arange(_POINTS) / _POINTS)
        values = _beta(u[..., None] + 0j, v[..., None] + radius[..., None] * turn, x[..., None])
        return math.factorial(second) * np.mean(values * turn**-second, axis=-1) / radius**second

    if first:
        behind = (v[..., None], at_x[..., None], reach[1][..., None])
        found = _on_circle(lambda z: along_b(z, *np.broadcast_arrays(*behind)), u, first, reach[0])
    else:
        found = np.real(along_b(u, v, at_x, reach[1]))
    ends = np.where(x == 0.0, 0.0, np.where(x == 1.0, 0.0 if first or second else 1.0, np.nan))
    ends = np.where((a > 0.0) & (b > 0.0), ends, np.nan)
    return np.where(valid, found, ends if first or second else _of_one_point(a, b, x, ends))


def _of_one_point(a: np.ndarray, b: np.ndarray, x: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Where one parameter is 0 or infinite all of the distribution is at 0 or at 1; where that is both, NaN."""
    inside = (a >= 0.0) & (b >= 0.0) & (x >= 0.0) & (x <= 1.0)
    at_0, at_1 = inside & ((a == 0.0) | np.isposinf(b)), inside & ((b == 0.0) | np.isposinf(a))
    found = np.where(at_0, np.where(x > 0.0, 1.0, 0.0), np.where(x < 1.0, 0.0, 1.0))
    return np.where(at_0 & at_1, np.nan, np.where(at_0 | at_1, found, others))


def _beta_density(a: np.ndarray, b: np.ndarray, x: np.ndarray, *, orders: tuple[int, ...]) -> np.ndarray:
    """By the derivatives of its logarithm."""
    rest = 1.0 - x
    powers = [np.where(p == 1.0, 0.0, (p - 1.0) * np.log(v)) for p, v in ((a, x), (b, rest))]
    log_beta = _of_reals(a) + _of_reals(b) - _of_reals(a + b)
    found: dict[tuple[int, int], Any] = {(0, 0): np.exp(powers[0] + powers[1] - log_beta)}

    def slope(own: Any, v: Any, i: int, j: int) -> Any:
        """Of the logarithm along a parameter, differentiated `i` times along it and `j` times along the other."""
        joint = polygammas(a + b, order=i + j)
        if j:
            return joint
        return joint - polygammas(own, order=i) + (0.0 if i else _log_or_none(v))

    for n in range(orders[1]):
        parts = (math.comb(n, k) * found[0, k] * slope(b, rest, n - k, 0) for k in range(n + 1))
        found[0, n + 1] = sum(parts)
    for m in range(orders[0]):
        for n in range(orders[1] + 1):
            found[m + 1, n] = sum(
                math.comb(m, k) * math.comb(n, i) * found[k, i] * slope(a, x, m - k, n - i)
                for k in range(m + 1)
                for i in range(n + 1)
            )
    return found[orders[0], orders[1]]


def _beta_density_slope(y: Any, a: Any, b: Any, x: Any, *, orders: tuple[int, ...]) -> Any:
    (m, n), rest = orders, 1.0 - x
    slope = y * ((a - 1.0) / x - (b - 1.0) / rest)
    slope = slope + m * ops.beta_density(a, b, x, orders=(m - 1, n)) / x if m else slope
    return slope - n * ops.beta_density(a, b, x, orders=(m, n - 1)) / rest if n else slope


_BELOW_ONE = (
    sample((2, 3), (2, 3), (2, 3), low=0.2, high=1.0, orders=(0, 0)),
    sample((3,), (2, 1), (), low=0.2, high=1.0, orders=(0, 0)),
)


@defop(
    partial=(
        lambda y, a, b, x, *, orders: ops.beta_density(a, b, x, orders=(orders[0] + 1, orders[1])),
        lambda y, a, b, x, *, orders: ops.beta_density(a, b, x, orders=(orders[0], orders[1] + 1)),
        _beta_density_slope,
    ),
    kernel=double(_beta_density),
    lower=Callback(),
    canonicalize=matched,
    traits=ELEMENTARY,
    samples=_BELOW_ONE,
)
def beta_density(a: TensorSpec, b: TensorSpec, x: TensorSpec, *, orders: tuple[int, ...]) -> TensorSpec:
    """``x**(a - 1) * (1 - x)**(b - 1) / beta(a, b)``; `orders` count derivatives along `a` and `b`."""
    _both(orders)
    return real(broadcast(broadcast(a, b), x))


@defop(
    partial=(
        lambda y, a, b, x, *, orders: ops.betainc(a, b, x, orders=(orders[0] + 1, orders[1])),
        lambda y, a, b, x, *, orders: ops.betainc(a, b, x, orders=(orders[0], orders[1] + 1)),
        lambda y, a, b, x, *, orders: ops.beta_density(a, b, x, orders=orders),
    ),
    kernel=double(_betainc),
    lower=Callback(),
    canonicalize=matched,
    traits=ELEMENTARY,
    samples=_BELOW_ONE,
)
def betainc(a: TensorSpec, b: TensorSpec, x: TensorSpec, *, orders: tuple[int, ...]) -> TensorSpec:
    """The incomplete beta function over the whole; `orders` count derivatives along `a` and `b`."""
    _both(orders)
    return real(broadcast(broadcast(a, b), x))


# ---- the zeta function ----------------------------------------------------------------------------------


_FIRST_TERMS = 14


def _zeta_rest(s: Any, end: Any) -> Any:
    """The sum from `end` on, by Euler's and Maclaurin's formula."""
    total = end ** (1.0 - s) / (s - 1.0) + 0.5 * end**-s
    factor = s * end ** (-s - 1.0)
    for k, b in enumerate(BERNOULLI, 1):
        total = total + b / math.factorial(2 * k) * factor
        factor = factor * (s + 2 * k - 1.0) * (s + 2 * k) / (end * end)
    return total


def _zeta(s: np.ndarray, q: np.ndarray, *, order: int) -> np.ndarray:
    s, q = np.broadcast_arrays(s, q)
    valid = (s > 1.0) & (q > 0.0) & np.isfinite(s)
    at_s, at_q = np.where(valid, s, 2.0), np.where(valid, q, 1.0)
    terms = [at_q + k for k in range(_FIRST_TERMS)]
    end = at_q + _FIRST_TERMS
    if order:
        radius = np.minimum(0.125 * (at_s - 1.0), 1.0 / np.log(end))
        found = _on_circle(lambda z: _zeta_rest(z, end[..., None]), at_s, order, radius)
    else:
        found = _zeta_rest(at_s, end)
    found = found + sum((-np.log(q)) ** order * q**-at_s for q in terms)
    return np.where(valid, found, np.where((s == 1.0) & (q > 0.0) & (order == 0), np.inf, np.nan))


def _zeta_along_q(y: Any, s: Any, q: Any, *, order: int) -> Any:
    slope = -s * ops.zeta(s + 1.0, q, order=order)
    return slope - order * ops.zeta(s + 1.0, q, order=order - 1) if order else slope


@defop(
    partial=(lambda y, s, q, *, order: ops.zeta(s, q, order=order + 1), _zeta_along_q),
    kernel=double(_zeta),
    lower=Callback(),
    canonicalize=matched,
    traits=ELEMENTARY,
    samples=tuple(sample(*s.shapes, low=1.5, high=4.0, order=0) for s in _POSITIVE),
)
def zeta(s: TensorSpec, q: TensorSpec, *, order: int) -> TensorSpec:
    """The sum of ``(q + k)**-s`` over k from 0 on, its derivative number `order` along `s`; NaN below 1, inf at 1."""
    derivative_number(order)
    return real(broadcast(s, q))
