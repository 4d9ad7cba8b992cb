"""Exponential integrals, Dawson's integral and the scaled error function.

Formulas: Abramowitz and Stegun, Handbook of Mathematical Functions, 5.1 and 7.1; Rybicki, Dawson's integral and the
sampling theorem, 1989; Al Azah and Chandler-Wilde, Computation of the complex error function using modified trapezoidal
rules, 2021.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .incomplete_integrals import fraction
from .quotient_arithmetic import horner

#: From here on the asymptotic series of Ei is exact to rounding.
_FAR = 40.0
_ROOT_OF_PI = math.sqrt(math.pi)
_GAMMA = float(np.euler_gamma)
#: Between the points of Dawson's sum, and the middles of the sum for the error function.
_SPACING = 0.25
_STEP = math.sqrt(math.pi / 12)
_MIDDLES = tuple((k + 0.5) * _STEP for k in range(12))


def _expn_near(of: Any, n: Any, x: Any) -> list[Any]:
    """Up to 1, by the power series, in which one term has a logarithm."""
    logarithm = of.log(x)
    last = of.polygamma(0, n) - logarithm

    def step(of: Any, k: Any, term: Any, total: Any) -> tuple[list[Any], Any]:
        """``k - 1`` is the power."""
        part = of.select(of.equal(k, n), term * last, term / of.select(of.equal(k, n), 1.0, n - k))
        return [-term * x / k, total + part], n + 25.0 > k

    return [of.until([1.0 + 0.0 * x, 0.0 * x], step, 1000)[1]]


def _expn_far(of: Any, n: Any, x: Any) -> list[Any]:
    return [of.exp(-x) / fraction(of, x + n, lambda k: (-k * (n - 1.0 + k), x + n + 2.0 * k))]


def expn(of: Any, n: Any, x: Any) -> Any:
    """The integral of ``exp(-x t) / t**n`` over t from 1 on; NaN for negative numbers."""
    some = n > 0.0
    found = [of.select(n > 0.0, math.nan, of.exp(-x) / x)]
    found = of.where(some & (x > 0.0) & (x <= 1.0), found, _expn_near, [(n, 1.0), (x, 1.0)])
    (usual,) = of.where(some & (x > 1.0) & (x < math.inf), found, _expn_far, [(n, 1.0), (x, 2.0)])
    at_0 = of.select(n > 1.0, 1.0 / of.select(n > 1.0, n - 1.0, 1.0), math.inf)
    ends = of.select(of.equal(x, 0.0), at_0, of.select(of.equal(x, math.inf), 0.0, math.nan))
    return of.select((x > 0.0) & (x < math.inf), usual, ends)


def _expi_near(of: Any, x: Any) -> list[Any]:
    def step(of: Any, k: Any, term: Any, total: Any) -> tuple[list[Any], Any]:
        term = term * x / k
        return [term, total + term / k], of.moves(term / k, total, 1e-17)

    return [of.until([1.0 + 0.0 * x, of.log(x) + _GAMMA], step, 200)[1]]


def _expi_far(of: Any, x: Any) -> list[Any]:
    def step(of: Any, k: Any, part: Any, series: Any) -> tuple[list[Any], Any]:
        part = part * k / x
        return [part, series + part], of.moves(part, series, 1e-17)

    half = of.exp(0.5 * x)
    return [of.until([1.0 + 0.0 * x] * 2, step, int(_FAR) - 1)[1] / x * half * half]


def expi(of: Any, x: Any) -> Any:
    """The integral of ``exp(t) / t`` over t up to `x`, around 0 its principal value."""
    found = of.where((x > 0.0) & (x <= _FAR), [math.nan], _expi_near, [(x, 1.0)])
    found = of.where((x > _FAR) & (x < math.inf), found, _expi_far, [(x, 2.0 * _FAR)])
    (found,) = of.where(x < 0.0, found, lambda of, x: [-expn(of, 1.0 + 0.0 * x, -x)], [(x, -1.0)])
    return of.select(of.equal(x, 0.0), -math.inf, of.select(of.equal(x, math.inf), math.inf, found))


def _dawsn_near(of: Any, x: Any) -> list[Any]:
    """Up to 1, by its series."""
    coefficients = [1.0]
    for k in range(1, 25):
        coefficients.append(coefficients[-1] * -2.0 / (2 * k + 1))
    return [x * horner(x * x, coefficients)]


def _dawsn_middle(of: Any, x: Any) -> list[Any]:
    """A sum over points around `x` (Rybicki)."""
    even = 2.0 * of.nearest(x * (0.5 / _SPACING))
    off = x - even * _SPACING
    grows = of.exp(2.0 * _SPACING * off)
    falls = 1.0 / grows
    up, down, total = grows, falls, 0.0 * x
    for k in range(1, 26, 2):
        weight = math.exp(-((k * _SPACING) ** 2))
        total = total + weight * (up / (even + float(k)) + down / (even - float(k)))
        up, down = up * (grows * grows), down * (falls * falls)
    return [of.exp(-off * off) * total / _ROOT_OF_PI]


def dawsn(of: Any, x: Any) -> Any:
    """``exp(-x**2)`` times the integral of ``exp(t**2)`` over t from 0 to `x`."""
    size = of.abs(x)
    found = of.where(
        size < 1.0, [0.5 / of.select(of.equal(size, 0.0), 1.0, size)], _dawsn_near, [(size, 0.5)]
    )
    (found,) = of.where((size >= 1.0) & (size < 1e8), found, _dawsn_middle, [(size, 1.0)])
    return of.copysign(found, x)


def _erfcx_right(of: Any, x: Any) -> list[Any]:
    """Of positive numbers, by the midpoint rule, with the pole that lies between its line and the real one."""
    square, total = x * x, 0.0 * x
    for middle in _MIDDLES:
        total = total + math.exp(-middle * middle) / (square + middle * middle)
    near = x < math.pi / _STEP
    v = of.select(near, x, 0.0)
    pole = 2.0 * of.exp(v * v) / (1.0 + of.exp(2.0 * math.pi / _STEP * v))
    return [(2.0 * _STEP / math.pi) * x * total + of.select(near, pole, 0.0)]


def _exp_of_square(of: Any, x: Any) -> Any:
    """``exp(x**2)`` for sizes up to 40, with what the square loses by rounding."""
    scaled = x * 134217729.0  # Veltkamp's splitting: the square of the first half is exact
    first = scaled - (scaled - x)
    return of.exp(first * first) * of.exp((x - first) * (x + first))


def erfcx(of: Any, x: Any) -> Any:
    """``exp(x**2) erfc(x)``."""
    size = of.abs(x)
    (right,) = of.where(size < 1e8, [1.0 / (_ROOT_OF_PI * size)], _erfcx_right, [(size, 1.0)])
    (square,) = of.where(
        (x < 0.0) & (size < 40.0), [math.inf], lambda of, x: [_exp_of_square(of, x)], [(size, 1.0)]
    )
    return of.select(x < 0.0, 2.0 * square - right, right)
