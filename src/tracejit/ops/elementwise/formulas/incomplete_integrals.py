"""The incomplete gamma and beta functions, and the densities that they are integrals of.

A series on the side of small numbers and a continued fraction on the other converge in about as many steps as the root
of the parameters; where these are large, the integral of the density from the argument outwards, to where it is none,
is a sum over the points of Gauss. Exponents are written so that nothing large cancels in them.

Formulas: Abramowitz and Stegun, Handbook of Mathematical Functions, 6.1.41, 6.5.29, 6.5.31, 26.5.8.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .gamma_family import FAR, stirling_rest
from .power_series import plain
from .quotient_arithmetic import horner

#: From here on parameters are large.
_MANY = 500.0
_MOST_STEPS = 20_000
_TINY = 1e-300
#: The density is integrated to where its logarithm is less by this much.
_DECLINE = 50.0
#: The coefficients of ``log1p(x) - x`` in the square of ``x / (2 + x)``.
_ODD = tuple(2.0 / (2 * k + 3) for k in range(17))


def _rest_of_log(of: Any, off: Any, ratio: Any) -> Any:
    """``log(ratio) - off`` for ``ratio = 1 + off``."""
    near = of.abs(off) < 0.5
    v = of.select(near, off, 0.0)
    r = v / (v + 2.0)
    square = r * r
    close = r * (square * horner(square, _ODD) - v)
    return of.select(near, close, of.log(of.select(near, 1.0, ratio)) - off)


@cache
def _gauss() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Points and weights for integrals from 0 to 1."""
    points, weights = np.polynomial.legendre.leggauss(36)
    return tuple((0.5 + 0.5 * points).tolist()), tuple((0.5 * weights).tolist())


def _integral(of: Any, start: Any, term: Callable[[Any, Any], Any]) -> Any:
    """The integral of ``term(of, u)`` over u from 0 to 1; `start` is an operand or another."""
    points, weights = _gauss()

    def step(of: Any, k: Any, total: Any) -> tuple[list[Any], Any]:
        u, weight = of.entry("points_of_gauss", points, k), of.entry("weights_of_gauss", weights, k)
        return [total + weight * term(of, u)], of.equal(start, start)

    return of.until([0.0 * start], step, len(points))[0]


def _reach(of: Any, slope: Any, curvature: Any) -> Any:
    """How far outwards a density is integrated, from the slope and the curvature of its logarithm."""
    return 2.0 * _DECLINE / (slope + of.sqrt(slope * slope + 2.0 * _DECLINE * curvature))


def fraction(of: Any, first: Any, part: Callable[[Any], tuple[Any, Any]]) -> Any:
    """``first + over / (under + over / (under + ...))`` of ``over, under = part(k)``, by Lentz' method."""

    def step(of: Any, k: Any, value: Any, c: Any, d: Any) -> tuple[list[Any], Any]:
        over, under = part(k)
        d, c = under + over * d, under + over / c
        d = 1.0 / of.select(of.equal(d, 0.0), _TINY, d)
        c = of.select(of.equal(c, 0.0), _TINY, c)
        new = value * (c * d)
        return [new, c, d], of.moves(new - value, new, 1e-15)

    first = of.select(of.equal(first, 0.0), _TINY, first)
    return of.until([first, first, 0.0 * plain(first)], step, _MOST_STEPS)[0]


# ---- gamma ------------------------------------------------------------------------------------------------


def gamma_term(of: Any, a: Any, x: Any) -> Any:
    """``x**a * exp(-x) / gamma(a + 1)``."""
    large = a >= FAR
    wide = of.select(large, a, FAR)
    rest = _rest_of_log(of, (x - wide) / wide, x / wide)
    by_series = of.exp(wide * rest - stirling_rest(wide)) / of.sqrt(2.0 * math.pi * wide)
    small, half = of.select(large, 1.0, a), of.exp(-0.5 * x)
    direct = half * of.exp(small * of.log(x) - of.lgamma(small + 1.0)) * half
    return of.select(large, by_series, direct)


def _gamma_series(of: Any, a: Any, x: Any) -> list[Any]:
    def step(of: Any, k: Any, term: Any, total: Any) -> tuple[list[Any], Any]:
        term = term * x / (a + k)
        return [term, total + term], of.moves(term, total, 1e-17)

    one = 1.0 + 0.0 * x
    return [gamma_term(of, a, x) * of.until([one, one], step, _MOST_STEPS)[1]]


def _gamma_fraction(of: Any, a: Any, x: Any) -> list[Any]:
    def part(k: Any) -> tuple[Any, Any]:
        return k * (a - k), x + (2.0 * k + 1.0) - a

    return [gamma_term(of, a, x) * a / fraction(of, x + 1.0 - a, part)]


def _gamma_rest(of: Any, a: Any, x: Any) -> list[Any]:
    """The upper one for small `a` and `x`, where the lower is close to 1."""

    def step(of: Any, k: Any, term: Any, total: Any) -> tuple[list[Any], Any]:
        term = -term * x / k
        part = term / (a + k)
        return [term, total + part], of.moves(part, total, 1e-17)

    power = a * of.log(x) - of.lgamma(a + 1.0)
    total = of.until([1.0 + 0.0 * x, 0.0 * x], step, 40)[1]
    return [-of.expm1(power) - a * of.exp(power) * total]


def _gamma_integral(of: Any, a: Any, x: Any) -> list[Any]:
    """Outwards from `x`: the lower part below the mean, the upper above."""
    at, lower = plain(a), x < a
    length = _reach(of, of.abs((at - 1.0) / x - 1.0), (at - 1.0) / x / x)
    length = of.select(lower & (length > x), x, length)
    step = of.select(lower, -length, length)

    off = x - a

    def term(of: Any, u: Any) -> Any:
        t = x + step * u
        return of.exp(a * _rest_of_log(of, (off + step * u) / a, t / a)) / t

    scale = of.sqrt(a / (2.0 * math.pi)) * of.exp(-stirling_rest(a))
    return [_integral(of, x, term) * length * scale]


def gammas(of: Any, a: Any, x: Any) -> tuple[Any, Any]:
    """The lower and the upper incomplete gamma function, over the whole one, for finite a > 0 and x > 0."""
    many, few = a >= _MANY, a < _MANY
    tiny = (a < 0.5) & (x < 1.0)
    lower = (few & (x < a + 1.0) & ((a >= 0.5) | (x >= 1.0))) | (many & (x < a))
    part = of.where(few & lower, [0.0 * x], _gamma_series, [(a, 1.0), (x, 1.0)])
    part = of.where(few & (x >= a + 1.0), part, _gamma_fraction, [(a, 1.0), (x, 3.0)])
    part = of.where(tiny, part, _gamma_rest, [(a, 0.25), (x, 0.5)])
    (found,) = of.where(many, part, _gamma_integral, [(a, 1000.0), (x, 1000.0)])
    return of.select(lower, found, 1.0 - found), of.select(lower, 1.0 - found, found)


# ---- beta -------------------------------------------------------------------------------------------------


def beta_term(of: Any, a: Any, b: Any, x: Any, y: Any) -> Any:
    """``x**a * y**b / beta(a, b)`` for ``y = 1 - x``."""
    return a * _beta_term_over_a(of, a, b, x, y)


def _beta_term_over_a(of: Any, a: Any, b: Any, x: Any, y: Any) -> Any:
    """It has a value and derivatives where `a` is next to nothing."""
    log_x = of.select(x < 0.5, of.log(x), of.log1p(-y))
    log_y = of.select(y < 0.5, of.log(y), of.log1p(-x))
    few = of.exp(a * log_x + b * log_y + (of.lgamma(a + b) - of.lgamma(a + 1.0) - of.lgamma(b)))
    turned = a > b
    small, large = of.select(turned, b, a), of.select(turned, a, b)
    mixed = of.where(
        (small < FAR) & (large >= FAR),
        [few],
        _one_large,
        [
            (small, 1.0),
            (large, FAR),
            (of.select(turned, y, x), 0.5),
            (of.select(turned, log_x, log_y), -1.0),
            (of.select(turned, b / a, 1.0), 1.0),
        ],
    )
    return of.where(small >= FAR, mixed, _both_large, [(a, FAR), (b, FAR), (x, 0.5), (y, 0.5)])[0]


def _one_large(of: Any, small: Any, large: Any, share: Any, log_rest: Any, factor: Any) -> list[Any]:
    whole = small + large
    gammas = (large - 0.5) * of.log1p(small / large) - small
    gammas = gammas + stirling_rest(whole) - stirling_rest(large)
    exponent = small * of.log(share * whole) + (large * log_rest + gammas) - of.lgamma(small + 1.0)
    return [factor * of.exp(exponent)]


def _both_large(of: Any, a: Any, b: Any, x: Any, y: Any) -> list[Any]:
    return [_falling(of, a, b, x, y, x * b - y * a) * _scale(of, a, b) / a]


def _falling(of: Any, a: Any, b: Any, x: Any, y: Any, off: Any) -> Any:
    """The term over what it is at the mean, from which ``off / (a + b)`` is how far `x` is."""
    whole = a + b
    along_x = a * _rest_of_log(of, off / a, x * whole / a)
    return of.exp(along_x + b * _rest_of_log(of, -off / b, y * whole / b))


def _scale(of: Any, a: Any, b: Any) -> Any:
    whole = a + b
    rest = stirling_rest(whole) - stirling_rest(a) - stirling_rest(b)
    return of.sqrt(a / whole * b / (2.0 * math.pi)) * of.exp(rest)


def _beta_fraction(of: Any, a: Any, b: Any, x: Any, y: Any) -> list[Any]:
    """It converges below the mean (DiDonato and Morris, Significant digit computation of the incomplete beta, 1992).

    Term and fraction are without the factor `a`, which they share.
    """
    below = a * y - b * x + 1.0

    def part(k: Any) -> tuple[Any, Any]:
        at, factor = a + (2.0 * k - 1.0), of.select(of.equal(k, 1.0), 1.0, a + (k - 1.0))
        over = (k * factor / at) * ((a + b + (k - 1.0)) / at) * ((b - k) * x * x)
        return over, k + k * (b - k) * x / at + (a + k) * (below + k * (2.0 - x)) / (at + 2.0)

    return [_beta_term_over_a(of, a, b, x, y) / fraction(of, below / (a + 1.0), part)]


def _beta_integral(of: Any, a: Any, b: Any, x: Any, y: Any) -> list[Any]:
    """Outwards from `x`: the lower part below the mean, the upper above."""
    at, bt, lower = plain(a), plain(b), x * b < y * a
    towards_0, towards_1 = (at - 1.0) / x, (bt - 1.0) / y
    length = _reach(of, of.abs(towards_0 - towards_1), towards_0 / x + towards_1 / y)
    end = of.select(lower, x, y)
    length = of.select(length > end, end, length)
    step = of.select(lower, -length, length)
    off, steps = x * b - y * a, step * (a + b)

    def term(of: Any, u: Any) -> Any:
        t, rest = x + step * u, y - step * u
        return _falling(of, a, b, t, rest, off + steps * u) / (t * rest)

    return [_integral(of, x, term) * length * _scale(of, a, b)]


def beta(of: Any, a: Any, b: Any, x: Any) -> Any:
    """The incomplete beta function over the whole one, for finite a > 0 and b > 0, and 0 < x < 1."""
    y = 1.0 - x
    many = (a >= _MANY) & (b >= _MANY)
    few = (a < _MANY) | (b < _MANY)
    low = x * (a + b + 2.0) < a + 1.0
    first = [(of.select(low, a, b), 1.0), (of.select(low, b, a), 1.0)]
    second = [(of.select(low, x, y), 0.25), (of.select(low, y, x), 0.75)]
    part = of.where(few, [0.0 * x], _beta_fraction, first + second)
    operands = [(a, 1000.0), (b, 1000.0), (x, 0.5), (y, 0.5)]
    (found,) = of.where(many, part, _beta_integral, operands)
    lower = (few & low) | (many & (x * b < y * a))
    return of.select(lower, found, 1.0 - found)
