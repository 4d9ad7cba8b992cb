"""Faddeeva's function ``exp(-z**2) erfc(-i z)`` of the upper half plane, its derivatives, by real and imaginary part.

By the midpoint rule for its integral, or near the points of that by the trapezoidal one, with the pole that lies
between the line of integration and the real one (Al Azah and Chandler-Wilde, Computation of the complex error function
using modified trapezoidal rules, 2021); far away by the asymptotic series. The terms of the real part have one sign.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .quotient_arithmetic import Rule

_COUNT = 12
_STEP = math.sqrt(math.pi / _COUNT)
_TURN = 2.0 * math.pi / _STEP
_SCALE = 2.0 * _STEP / math.pi
#: From this distance on by the asymptotic series, whose coefficients follow.
_FAR = 28.0
_SERIES = [math.prod(range(1, 2 * k, 2)) / 2.0**k for k in range(9)]
#: Points of both rules with their weights; the trapezoidal one begins with half of that at 0.
_POINTS = [((k + 0.5) * _STEP, k * _STEP) for k in range(_COUNT)]
_WEIGHTS = [(math.exp(-m * m), math.exp(-e * e) if e else 0.5) for m, e in _POINTS]


def _near(of: Any, x: Any, y: Any, parts: Sequence[int]) -> list[Any]:
    """Real part, imaginary part, or both."""
    turns = x * (1.0 / _STEP)
    phase = of.abs(turns - of.nearest(turns))  # from the points of the trapezoidal rule
    by_ends = (y < x) & (phase >= 0.25)
    square, totals = y * y, [0.0 * x for _ in parts]
    size = x * x + square
    for (middle, end), (of_middle, of_end) in zip(_POINTS, _WEIGHTS, strict=True):
        point, weight = of.select(by_ends, end, middle), of.select(by_ends, of_end, of_middle)
        below, above, own = x - point, x + point, point * point
        share = weight / ((below * below + square) * (above * above + square))
        totals = [
            total + share * (size - own if part else size + own)
            for part, total in zip(parts, totals, strict=True)
        ]
    pole = _pole(of, x, y, by_ends)
    return [
        _SCALE * (x if part else y) * total + pole[part] for part, total in zip(parts, totals, strict=True)
    ]


def _pole(of: Any, x: Any, y: Any, by_ends: Any) -> tuple[Any, Any]:
    """``2 exp(-z**2) / (1 + exp(-i T z))``, or with a minus, where the numbers are not high above."""
    high = (y >= x) & (y >= math.pi / _STEP)
    falls = of.exp(-_TURN * y)
    grown = of.select(high, 0.0, 2.0 * of.exp((y - x) * (y + x) - _TURN * y))
    angle, turn = _TURN * x - 2.0 * x * y, _TURN * x
    sign = of.select(by_ends, -1.0, 1.0)
    real, imaginary = sign + falls * of.cos(turn), falls * of.sin(turn)
    size = real * real + imaginary * imaginary
    cosine, sine = grown * of.cos(angle) / size, grown * of.sin(angle) / size
    return cosine * real + sine * imaginary, sine * real - cosine * imaginary


def _derivative(order: int, which: int) -> Rule:
    """By ``w' = 2 i / sqrt(pi) - 2 z w``, and what follows of it."""

    def rule(of: Any, x: Any, y: Any) -> list[Any]:
        if not order:
            return _near(of, x, y, (which,))
        before, (p, q) = (0.0, 0.0), _near(of, x, y, (0, 1))
        for n in range(order):
            turned = -2.0 * (x * p - y * q), -2.0 * (x * q + y * p)
            a, b = (-2.0 * n * v for v in before) if n else (0.0, 2.0 / math.sqrt(math.pi))
            before, (p, q) = (p, q), (turned[0] + a, turned[1] + b)
        return [q if which else p]

    return rule


def _far(order: int, which: int) -> Rule:
    """``i / sqrt(pi)`` times a series in ``1 / z``."""
    coefficients = [
        (-1.0) ** order * c * math.prod(range(2 * k + 1, 2 * k + 1 + order)) for k, c in enumerate(_SERIES)
    ]

    def rule(of: Any, x: Any, y: Any) -> list[Any]:
        most = of.select(x > y, x, y)
        a, b = x / most, y / most
        length = a * a + b * b
        real, imaginary = a / length / most, -b / length / most
        u, v = (real - imaginary) * (real + imaginary), 2.0 * real * imaginary
        p, q = coefficients[-1] + 0.0 * x, 0.0 * x
        for c in coefficients[-2::-1]:
            p, q = c + (p * u - q * v), p * v + q * u
        for _ in range(order + 1):
            p, q = p * real - q * imaginary, p * imaginary + q * real
        return [(p if which else -q) * (1.0 / math.sqrt(math.pi))]

    return rule


def faddeeva_part(which: int, order: int) -> Rule:
    """The real part or, of ``which = 1``, the imaginary one, of the derivative `order`; NaN below the real line."""
    near, far_away = _derivative(order, which), _far(order, which)
    odd = (order + which) % 2 == 1

    def rule(of: Any, x: Any, y: Any) -> Any:
        a = of.abs(x)
        valid = (a >= 0.0) & (y >= 0.0)
        inside = (a < _FAR) & (y < _FAR)
        finite = (a < math.inf) & (y < math.inf)
        found = of.where(valid & inside, [0.0 * a], near, [(a, 0.5), (y, 1.0)])
        far = valid & finite & ((a >= _FAR) | (y >= _FAR))
        (found,) = of.where(far, found, far_away, [(a, 30.0), (y, 30.0)])
        found = of.select(valid, of.select(finite, found, 0.0), math.nan)
        return found * of.copysign(1.0, x) if odd else found

    return rule
