"""Bessel functions: of whole orders from those of the orders 0 and 1, modified ones of any order.

The first are Bessel's integrals by the midpoint rule, exact to rounding as their integrands are periodic, and Hankel's
series far away. Other orders follow by the recurrence: upwards where that is stable, else by ratios downwards.

Formulas: Abramowitz and Stegun, Handbook of Mathematical Functions, 9.1.21, 27, 73, 88, 9.2.5, 9.6.10, 9.7.1.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from .incomplete_integrals import fraction
from .quotient_arithmetic import horner

#: From here on Hankel's series is exact to rounding.
_FAR = 25.0
#: Below, orders from 3 on are 0.
_TINY = 1e-100
_FEW, _POINTS = 16, 32  # for J alone, and for Y
#: So many terms of Neumann's series count up to there.
_TERMS = 32
_MOST_ORDERS = 1 << 30


def _middles(points: int) -> np.ndarray:
    """The middles of so many parts of a quarter turn."""
    return (np.arange(points) + 0.5) * math.pi / (2 * points)


@cache
def _table(name: str) -> tuple[float, ...]:
    """Sines of the middles, and the factors there in Neumann's series of the second kind."""
    if name == "few sines":
        return tuple(np.sin(_middles(_FEW)).tolist())
    angle = _middles(_POINTS)
    if name == "sines":
        return tuple(np.sin(angle).tolist())
    k = np.arange(1, _TERMS + 1)[:, None]
    if name == "even":
        parts = np.cos(2 * k * angle) / k
    else:
        parts = np.sin((2 * k + 1) * angle) * (2 * k + 1) / (k * (k + 1))
    return tuple(((-1.0) ** k * parts).sum(axis=0).tolist())


def _hankel(order: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Both series in the inverse square."""
    terms = [1.0]
    for k in range(1, 24):
        terms.append(terms[-1] * (4.0 * order * order - (2 * k - 1) ** 2) / (8.0 * k))
    signs = [(-1.0) ** (k // 2) for k in range(24)]
    signed = [s * t for s, t in zip(signs, terms, strict=True)]
    return tuple(signed[::2]), tuple(signed[1::2])


_HANKEL = (_hankel(0), _hankel(1))


def _zeroth(of: Any, x: Any) -> list[Any]:
    """J of order 0 up to `_FAR`."""

    def step(of: Any, k: Any, total: Any) -> tuple[list[Any], Any]:
        sine = of.entry("bessel_few_sines", _table("few sines"), k)
        return [total + of.cos(x * sine)], of.equal(x, x)

    return [of.until([0.0 * x], step, _FEW)[0] / float(_FEW)]


def _first(of: Any, x: Any) -> list[Any]:
    """J of order 1 up to `_FAR`."""

    def step(of: Any, k: Any, total: Any) -> tuple[list[Any], Any]:
        sine = of.entry("bessel_few_sines", _table("few sines"), k)
        return [total + of.sin(x * sine) * sine], of.equal(x, x)

    return [of.until([0.0 * x], step, _FEW)[0] / float(_FEW)]


def _near(of: Any, x: Any) -> list[Any]:
    """J of the orders 0 and 1, Y of both, up to `_FAR`."""

    def step(of: Any, k: Any, *sums: Any) -> tuple[list[Any], Any]:
        sine = of.entry("bessel_sines", _table("sines"), k)
        angle = x * sine
        cosine, turned = of.cos(angle), of.sin(angle)
        even, odd = of.entry("bessel_even", _table("even"), k), of.entry("bessel_odd", _table("odd"), k)
        parts = cosine, turned * sine, cosine * even, turned * odd
        return [s + p for s, p in zip(sums, parts, strict=True)], of.equal(x, x)

    j0, j1, even, odd = (s / float(_POINTS) for s in of.until([0.0 * x] * 4, step, _POINTS))
    logarithm = of.log(0.5 * x) + float(np.euler_gamma)
    y0 = (2.0 / math.pi) * (logarithm * j0 - 2.0 * even)
    y1 = (2.0 / math.pi) * ((logarithm - 1.0) * j1 - j0 / x - odd)
    return [j0, j1, y0, y1]


def _far(of: Any, x: Any) -> list[Any]:
    """J and Y of the orders 0 and 1."""
    inverse, cosine, sine = 1.0 / x, of.cos(x), of.sin(x)
    size = 1.0 / of.sqrt(math.pi * x)
    turns = ((cosine + sine, sine - cosine), (sine - cosine, -cosine - sine))
    found = []
    for (c, s), (even, odd) in zip(turns, _HANKEL, strict=True):
        p, q = horner(inverse * inverse, even), horner(inverse * inverse, odd) * inverse
        found.append((size * (p * c - q * s), size * (p * s + q * c)))
    return [found[0][0], found[1][0], found[0][1], found[1][1]]


def _upwards(of: Any, n: Any, x: Any, zeroth: Any, first: Any) -> list[Any]:
    """Order n > 1."""

    def step(of: Any, k: Any, before: Any, value: Any) -> tuple[list[Any], Any]:
        after = 2.0 * k / x * value - before
        return [value, of.select(of.equal(value, -math.inf), value, after)], n > k + 1.0

    return [of.until([zeroth, first], step, _MOST_ORDERS)[1]]


def _downwards(of: Any, n: Any, x: Any, zeroth: Any, first: Any) -> list[Any]:
    """J of order n > 1, which is not below x, by the ratios of neighbours."""

    def step(of: Any, k: Any, ratio: Any, product: Any) -> tuple[list[Any], Any]:
        order = n + 1.0 - k
        next_one = 1.0 / (2.0 * order / x - ratio)
        more = order > 2.0
        return [of.select(more, next_one, ratio), of.select(more, product * next_one, product)], order > 3.0

    beyond = 1.0 / fraction(of, 2.0 * (n + 1.0) / x, lambda k: (-1.0, 2.0 * (n + 1.0 + k) / x))
    third, product = of.until([beyond, 1.0 + 0.0 * x], step, _MOST_ORDERS)
    second = 2.0 / x * first - zeroth
    by_first = (x < 1.0) | (of.abs(first) >= of.abs(second))
    return [product * of.select(by_first, first / (4.0 / x - third), second)]


def bessel_j(of: Any, n: Any, x: Any) -> Any:
    """Of the first kind, of order n."""
    size = of.abs(x)
    (zeroth,) = of.where((size <= _FAR) & ((n < 1.0) | (n > 1.0)), [math.nan], _zeroth, [(size, 1.0)])
    (first,) = of.where((size <= _FAR) & (n > 0.0), [math.nan], _first, [(size, 1.0)])
    far = [(size, 2.0 * _FAR)]
    zeroth, first = of.where(size > _FAR, [zeroth, first], lambda of, x: _far(of, x)[:2], far)
    usual = [of.select(n < 1.0, zeroth, first)]
    operands = [(n, 2.0), (size, 2.0), (zeroth, 0.2), (first, 0.6)]
    usual = of.where((n > 1.0) & (size > n), usual, _upwards, operands)
    (found,) = of.where((n > 1.0) & (size >= _TINY) & (size <= n), usual, _downwards, operands)
    found = of.select((n > 1.0) & (size < _TINY), of.select(n > 2.0, 0.0, 0.125 * size * size), found)
    found = of.select(of.equal(size, math.inf), 0.0, found)
    odd = of.equal(of.abs(n - 2.0 * of.nearest(0.5 * n)), 1.0)
    return of.select((x < 0.0) & odd, -found, found)


def bessel_y(of: Any, n: Any, x: Any) -> Any:
    """Of the second kind, of order n; NaN below 0, -inf at 0."""
    near = of.where(x <= _FAR, [math.nan] * 4, _near, [(x, 1.0)])
    _, _, zeroth, first = of.where(x > _FAR, near, _far, [(x, 2.0 * _FAR)])
    usual = [of.select(n < 1.0, zeroth, first)]
    operands = [(n, 2.0), (x, 2.0), (zeroth, 0.5), (first, -0.1)]
    (found,) = of.where((n > 1.0) & (x > 0.0), usual, _upwards, operands)
    ends = of.select(of.equal(x, 0.0), -math.inf, math.nan)
    return of.select(x > 0.0, of.select(of.equal(x, math.inf), 0.0, found), ends)


# ---- modified -----------------------------------------------------------------------------------------------


def _modified_near(of: Any, v: Any, x: Any) -> list[Any]:
    """The power series, from its largest term to both sides."""
    square = 0.25 * x * x
    divisor = of.select(of.equal(square, 0.0), 1.0, square)
    middle = of.nearest(0.5 * (of.sqrt(v * v + x * x) - v))

    def up(of: Any, k: Any, term: Any, total: Any) -> tuple[list[Any], Any]:
        at = middle + k
        term = term * square / (at * (at + v))
        return [term, total + term], of.moves(term, total, 1e-17)

    def down(of: Any, k: Any, term: Any, total: Any) -> tuple[list[Any], Any]:
        at = middle + 1.0 - k
        term = term * (at * (at + v)) / divisor  # 0 before the first term
        return [term, total + term], of.moves(term, total, 1e-17)

    largest = (2.0 * middle + v) * of.log(0.5 * x) - of.lgamma(middle + 1.0)
    first = of.exp(largest - of.lgamma(middle + v + 1.0) - x)
    (_, above), (_, below) = (of.until([first, 0.0 * x], way, 20_000) for way in (up, down))
    return [first + (above + below)]


def _modified_far(of: Any, v: Any, x: Any) -> list[Any]:
    def step(of: Any, k: Any, part: Any, series: Any) -> tuple[list[Any], Any]:
        odd = 2.0 * k - 1.0
        part = part * (odd * odd - 4.0 * v * v) / (8.0 * k * x)
        return [part, series + part], of.moves(part, series, 1e-17)

    one = 1.0 + 0.0 * x
    return [of.until([one, one], step, 24)[1] / of.sqrt(2.0 * math.pi * x)]


def bessel_ive(of: Any, v: Any, x: Any) -> Any:
    """``exp(-|x|)`` times the modified one of the first kind, of order v >= 0; below 0 for whole orders."""
    size = of.abs(x)
    far = (size > 40.0) & (size > v * v)
    near = (size > 0.0) & ((size <= 40.0) | (size <= v * v))
    found = of.where(near, [math.nan], _modified_near, [(v, 1.0), (size, 1.0)])
    (found,) = of.where(far, found, _modified_far, [(v, 1.0), (size, 100.0)])
    found = of.select(of.equal(size, 0.0), of.select(v > 0.0, 0.0, 1.0), found)
    found = of.select(of.equal(size, math.inf), 0.0, found)
    off = of.abs(v - 2.0 * of.nearest(0.5 * v))
    below = of.select(of.equal(off, 0.0), found, of.select(of.equal(off, 1.0), -found, math.nan))
    return of.select(x < 0.0, below, found)
