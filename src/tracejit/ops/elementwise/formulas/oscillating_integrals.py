"""Integrals of waves, the sine and cosine integrals and those of Fresnel, and the dilogarithm.

Formulas: Abramowitz and Stegun, Handbook of Mathematical Functions, 5.2, 7.3 and 27.7; the dilogarithm by its series
in Bernoulli numbers (Lewin, Polylogarithms and associated functions, 1981).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import quotients as table
from .quotient_arithmetic import Rule, horner

_GAMMA = float(np.euler_gamma)
_HALF_PI = 0.5 * math.pi
#: From here on waves are those of auxiliary functions that fall slowly, and up to here power series.
_FAR = 3.0
_SPLIT = 134217729.0  # Veltkamp's: the halves of a number have squares without rounding


def _alternating(first: int, terms: int, divisor: Any) -> list[float]:
    """``(-1)**k / ((2 k + first)! divisor(k))``."""
    return [(-1.0) ** k / (math.factorial(2 * k + first) * divisor(k)) for k in range(terms)]


_SINE = _alternating(1, 13, lambda k: 2 * k + 1)
_COSINE = _alternating(2, 13, lambda k: -(2 * k + 2))
_FRESNEL_SINE = _alternating(1, 13, lambda k: 4 * k + 3)
_FRESNEL_COSINE = _alternating(0, 13, lambda k: 4 * k + 1)
#: Of ``B(2 k) / (2 k + 1)!``, the first eleven; the others do not matter up to log(2).
_BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330, 854513 / 138
)  # fmt: skip
_DILOGARITHM = [b / math.factorial(2 * k + 3) for k, b in enumerate(_BERNOULLI)]


def _quotient(parts: Any, u: Any) -> Any:
    return horner(u, parts[0]) / horner(u, parts[1])


# ---- the sine and cosine integrals ------------------------------------------------------------------------


def _wave(of: Any, x: Any) -> tuple[Any, Any, Any, Any]:
    """Auxiliary functions, and sine and cosine, of numbers from `_FAR` on."""
    inverse = 1.0 / x
    u = inverse * inverse
    f, g = inverse * _quotient(table.SINE_F, u), u * _quotient(table.SINE_G, u)
    return f, g, of.sin(x), of.cos(x)


def _sine_far(of: Any, x: Any) -> list[Any]:
    f, g, sine, cosine = _wave(of, x)
    return [_HALF_PI - f * cosine - g * sine]


def _cosine_far(of: Any, x: Any) -> list[Any]:
    f, g, sine, cosine = _wave(of, x)
    return [f * sine - g * cosine]


def sine_integral(of: Any, x: Any) -> Any:
    """The integral of ``sin(t) / t`` over t from 0 to `x`."""
    size = of.abs(x)
    near = of.select(size < _FAR, size, 1.0)
    found = of.select(of.equal(size, math.inf), _HALF_PI, near * horner(near * near, _SINE))
    (found,) = of.where((size >= _FAR) & (size < math.inf), [found], _sine_far, [(size, _FAR)])
    return of.copysign(of.select(size >= 0.0, found, math.nan), x)


def cosine_integral(of: Any, x: Any) -> Any:
    """Minus the integral of ``cos(t) / t`` over t from the size of `x` on."""
    size = of.abs(x)
    near = of.select((size > 0.0) & (size < _FAR), size, 1.0)
    square = near * near
    found = _GAMMA + of.log(near) + square * horner(square, _COSINE)
    found = of.select(of.equal(size, 0.0), -math.inf, of.select(of.equal(size, math.inf), 0.0, found))
    (found,) = of.where((size >= _FAR) & (size < math.inf), [found], _cosine_far, [(size, _FAR)])
    return of.select(size >= 0.0, found, math.nan)


# ---- Fresnel's integrals ----------------------------------------------------------------------------------


def _turns(of: Any, x: Any) -> tuple[Any, Any]:
    """Sine and cosine of ``pi x**2 / 2``: the square in two parts, of which whole turns are taken off exactly."""
    scaled = x * _SPLIT
    high = scaled - (scaled - x)
    low = x - high
    first = high * high
    rest = low * (x + high)
    off = first - 4.0 * of.nearest(0.25 * first)
    angle = _HALF_PI * (off + (rest - 4.0 * of.nearest(0.25 * rest)))
    return of.sin(angle), of.cos(angle)


def _fresnel_far(which: int) -> Rule:
    def rule(of: Any, x: Any) -> list[Any]:
        sine, cosine = _turns(of, x)
        inverse = 1.0 / (math.pi * x)
        u = (2.0 * inverse / x) * (2.0 * inverse / x)
        f = inverse * _quotient(table.FRESNEL_F, u)
        g = inverse * inverse / x * _quotient(table.FRESNEL_G, u)
        return [0.5 + f * sine - g * cosine if which else 0.5 - f * cosine - g * sine]

    return rule


def _fresnel(of: Any, x: Any, which: int) -> Any:
    size = of.abs(x)
    bound = math.sqrt(_FAR / _HALF_PI)
    near = of.select(size < bound, size, 0.0)
    square = near * near
    angle = _HALF_PI * square
    series = horner(angle * angle, _FRESNEL_COSINE if which else _FRESNEL_SINE)
    found = of.select(size < bound, near * (series if which else angle * series), 0.5)
    (found,) = of.where((size >= bound) & (size < 1e16), [found], _fresnel_far(which), [(size, 2.0)])
    return of.copysign(of.select(size >= 0.0, found, math.nan), x)


def fresnel_sin(of: Any, x: Any) -> Any:
    """The integral of ``sin(pi t**2 / 2)`` over t from 0 to `x`."""
    return _fresnel(of, x, 0)


def fresnel_cos(of: Any, x: Any) -> Any:
    """The integral of ``cos(pi t**2 / 2)`` over t from 0 to `x`."""
    return _fresnel(of, x, 1)


# ---- the dilogarithm --------------------------------------------------------------------------------------


def spence(of: Any, x: Any) -> Any:
    """The integral of ``log(t) / (1 - t)`` over t from 1 to `x`; NaN below 0.

    From 1/2 to 2 by a series in the logarithm. Others are reflected: what is above 2 to its inverse, then what is below
    1/2 to what it lacks to 1.
    """
    above = x > 2.0
    inside = of.select((x > 0.0) & (x < math.inf), x, 1.0)
    inner = of.select(above, 1.0 / inside, inside)
    below = inner < 0.5
    log, log_rest = of.log(inside), of.log1p(-of.select(below, inner, 0.25))
    v = 0.0 - of.select(below, log_rest, log)
    square = v * v
    found = v - 0.25 * square + v * square * horner(square, _DILOGARITHM)
    log_inner = of.select(above, -log, log)
    found = of.select(below, math.pi**2 / 6.0 - log_inner * log_rest - found, found)
    found = of.select(above, -0.5 * log * log - found, found)
    ends = of.select(
        of.equal(x, 0.0), math.pi**2 / 6.0, of.select(of.equal(x, math.inf), -math.inf, math.nan)
    )
    return of.select((x > 0.0) & (x < math.inf), found, ends)
