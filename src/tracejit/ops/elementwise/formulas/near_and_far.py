"""Special functions of one number by quotients of polynomials.

A quotient of polynomials near zero and an asymptotic form far away are joined before the one division. What few numbers
need, as the reflection of the gamma family (Abramowitz and Stegun 6.1.17, 6.3.7, 6.4.7), is done for these alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import quotients as table
from .quotient_arithmetic import FORMULAS as FORMULAS
from .quotient_arithmetic import OnArrays, OnNumbers, formula

_FAR = 8.0  # from here on the gamma family by Stirling's series
_FAR_BESSEL = 12.0
_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
_LIFT = 2.0**100  # keeps squares of tiny numbers normal

Parts = tuple[Any, Any]


def _quotient(of: Any, x: Any, parts: tuple[Sequence[float], Sequence[float]]) -> Parts:
    return of.polynomial(x, parts[0]), of.polynomial(x, parts[1])


def _choose(of: Any, condition: Any, these: Parts, those: Parts) -> Any:
    """The quotient of `these` where `condition` holds, else of `those`, by one division."""
    return of.div(of.select(condition, these[0], those[0]), of.select(condition, these[1], those[1]))


def _at_least(of: Any, x: Any, bound: float) -> Any:
    """The larger of both; NaN in `x` stays."""
    return of.select(of.compare("olt", x, bound), bound, x)


# ---- the gamma family -----------------------------------------------------------------------------------


def _reflected(of: Any, name: str, x: Any, of_positive: Callable[..., Any], rule: Callable[..., Any]) -> Any:
    """The function of positive numbers, continued to those below 0 from its value at ``1 - x``."""
    below = of.compare("olt", x, 0.0)
    y = of_positive(of, of.select(below, of.sub(1.0, x), x))

    def reflection(of: Any, x: Any, y: Any) -> Any:
        return rule(of, *_turns(of, x), y)

    return of.for_some(f"{name}_reflected", below, y, reflection, (x, y))


def _turns(of: Any, x: Any) -> Parts:
    """What ``-x`` is beyond an even number, from -1 to 1, and how far the nearest integer is: both exact."""
    a = of.minimum(of.abs(x), 2.0**52)  # numbers from here on are integers
    turns = of.sub(a, of.mul(of.nearest(of.mul(a, 0.5)), 2.0))
    size = of.abs(turns)
    return turns, of.select(of.compare("ogt", size, 0.5), of.sub(1.0, size), size)


def _sine(of: Any, size: Any) -> Any:
    return of.sine(of.mul(size, math.pi))


@formula
def lgamma(of: Any, x: Any) -> Any:
    def reflected(of: Any, turns: Any, size: Any, y: Any) -> Any:
        tiny = of.compare("olt", size, 1e-200)  # there the sine is pi times the size, and may be denormal
        sine, scale = of.select(tiny, size, _sine(of, size)), of.select(tiny, 0.0, math.log(math.pi))
        value = of.sub(of.sub(scale, of.log(sine)), y)
        return of.select(of.compare("oeq", size, 0.0), math.inf, value)

    return _reflected(of, "lgamma", x, _lgamma, reflected)


def _lgamma(of: Any, a: Any) -> Any:
    """``(v - 1)(v - 2) P(v) / Q(v)``, with v moved up by 1 where it is small; Stirling's formula from 8 on."""
    small, near = of.compare("olt", a, 0.5), of.compare("olt", a, _FAR)
    logarithm = of.log(a)
    v = of.minimum(of.select(small, of.add(a, 1.0), a), _FAR)
    to_one, to_two = of.sub(a, 1.0), of.sub(a, 2.0)
    factors = of.mul(of.select(small, a, to_one), of.select(small, to_one, to_two))
    over, under = _quotient(of, v, table.LGAMMA)
    q = _choose(of, near, (of.mul(factors, over), under), (of.value(1.0), _at_least(of, a, _FAR)))
    direct = of.sub(q, of.select(small, logarithm, -0.0))  # -0.0 becomes 0.0
    rest = of.fma(of.polynomial(of.mul(q, q), table.LGAMMA_FAR), q, _HALF_LOG_2PI - 0.5)
    far = of.fma(of.sub(a, 0.5), of.sub(logarithm, 1.0), rest)
    return of.select(near, direct, far)


@formula
def digamma(of: Any, x: Any) -> Any:
    def reflected(of: Any, turns: Any, size: Any, y: Any) -> Any:
        beyond = of.compare("ogt", of.abs(turns), 0.5)
        slope = of.div(of.mul(_sine(of, of.sub(0.5, size)), math.pi), _sine(of, size))
        value = of.add(y, of.copysign(slope, of.select(beyond, of.neg(turns), turns)))
        return of.select(of.compare("oeq", size, 0.0), math.nan, value)

    return _reflected(of, "digamma", x, _digamma, reflected)


def _digamma(of: Any, a: Any) -> Any:
    near, v = of.compare("olt", a, _FAR), of.minimum(a, _FAR)
    zero, rest = table.DIGAMMA_ZERO
    over, under = _quotient(of, v, table.DIGAMMA)
    over = of.mul(of.sub(of.sub(v, zero), rest), over)
    q = _choose(of, near, (over, of.mul(under, v)), (of.value(1.0), _at_least(of, a, _FAR)))
    tail = of.mul(q, of.fma(q, of.polynomial(of.mul(q, q), table.DIGAMMA_FAR), 0.5))
    return of.select(near, q, of.sub(of.log(a), tail))


@formula
def trigamma(of: Any, x: Any) -> Any:
    def reflected(of: Any, turns: Any, size: Any, y: Any) -> Any:
        ratio = of.div(math.pi, _sine(of, size))
        return of.fma(ratio, ratio, of.neg(y))

    return _reflected(of, "trigamma", x, _trigamma, reflected)


def _trigamma(of: Any, a: Any) -> Any:
    near, v = of.compare("olt", a, _FAR), of.minimum(a, _FAR)
    over, under = _quotient(of, v, table.TRIGAMMA)
    these = of.mul(over, _LIFT), of.mul(under, of.mul(of.mul(v, _LIFT), v))
    q = _choose(of, near, these, (of.value(1.0), _at_least(of, a, _FAR)))
    square = of.mul(q, q)
    far = of.fma(square, of.fma(q, of.polynomial(square, table.TRIGAMMA_FAR), 0.5), q)
    return of.select(near, q, far)


# ---- inverses of the error functions --------------------------------------------------------------------


@formula
def erfinv(of: Any, x: Any) -> Any:
    a = of.abs(x)
    return of.copysign(_inverse(of, a, of.sub(1.0, a)), x)


@formula
def ndtri(of: Any, x: Any) -> Any:
    """``sqrt(2) erfinv(2 x - 1)``, from the smaller tail."""
    distance = of.sub(x, 0.5)
    tail = of.mul(of.select(of.compare("ogt", distance, 0.0), of.sub(1.0, x), x), 2.0)
    size = of.mul(_inverse(of, of.mul(of.abs(distance), 2.0), tail), math.sqrt(2.0))
    return of.copysign(size, distance)


def _inverse(of: Any, a: Any, rest: Any) -> Any:
    """erfinv of `a`, which is not negative, where ``rest = 1 - a`` is exact."""
    middle = of.compare("ole", a, table.ERFINV_LAST)
    over, under = _quotient(of, of.sub(table.ERFINV_SQUARE, of.mul(a, a)), table.ERFINV)
    s = of.sqrt(of.neg(of.log(rest)))
    r = of.minimum(of.sub(s, table.ERFCINV_FIRST), table.ERFCINV_LAST - table.ERFCINV_FIRST)
    y = _choose(of, middle, (of.mul(a, over), under), _quotient(of, r, table.ERFCINV))

    def far(of: Any, s: Any) -> Any:
        over, under = _quotient(of, of.minimum(of.sub(s, table.ERFCINV_LAST), 25.0), table.ERFCINV_FAR)
        return of.select(of.compare("oeq", s, math.inf), math.inf, of.div(over, under))

    return of.for_some("erfcinv_far", of.compare("ogt", s, table.ERFCINV_LAST), y, far, (s,))


# ---- Bessel functions -----------------------------------------------------------------------------------


@formula
def bessel_i0e(of: Any, x: Any) -> Any:
    a = of.abs(x)
    over, under = _quotient(of, of.minimum(a, _FAR_BESSEL), table.BESSEL_I0)
    return _bessel(of, a, (over, under), table.BESSEL_I0_FAR)


@formula
def bessel_i1e(of: Any, x: Any) -> Any:
    a = of.abs(x)
    v = of.minimum(a, _FAR_BESSEL)
    over, under = _quotient(of, v, table.BESSEL_I1)
    return of.copysign(_bessel(of, a, (of.mul(over, v), under), table.BESSEL_I1_FAR), x)


def _bessel(of: Any, a: Any, close: Parts, beyond: tuple[Sequence[float], Sequence[float]]) -> Any:
    inverse = of.div(1.0, _at_least(of, a, _FAR_BESSEL))
    over, under = _quotient(of, of.sub(1.0 / _FAR_BESSEL, inverse), beyond)
    near = of.compare("olt", a, _FAR_BESSEL)
    return _choose(of, near, close, (of.mul(over, of.sqrt(inverse)), under))


def on_arrays(name: str) -> Callable[[np.ndarray], Any]:
    """The formula of this name as a function of float64 arrays."""
    rule = FORMULAS[name]
    return lambda x: rule(OnArrays, x) if x.ndim else np.float64(rule(OnNumbers, float(x)))
