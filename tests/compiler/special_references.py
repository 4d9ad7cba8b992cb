"""Special functions in extended precision, by mpmath."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from mpmath import mp, mpf
from scipy import special

_DIGITS = 40


def _gamma_family(at_zero: float, at_poles: float, rule: Callable[[Any], Any]) -> Callable[[float], Any]:
    def of(x: float) -> Any:
        if x == math.inf:
            return 0.0 if rule is _trigamma else math.inf
        if x == 0.0:
            return math.copysign(1.0, x) * at_zero if at_zero < 0.0 else at_zero
        return at_poles if x < 0.0 and x == np.rint(x) else rule(mpf(x))

    return of


def _digamma(x: Any) -> Any:
    return mp.psi(0, x) if x > 0 else mp.psi(0, 1 - x) - mp.pi * mp.cospi(x) / mp.sinpi(x)


def _trigamma(x: Any) -> Any:
    return mp.psi(1, x) if x > 0 else (mp.pi / mp.sinpi(x)) ** 2 - mp.psi(1, 1 - x)


def _lgamma(x: Any) -> Any:
    return mp.loggamma(x) if x > 0 else mp.log(mp.pi / abs(mp.sinpi(x))) - mp.loggamma(1 - x)


def _erfinv(y: float) -> Any:
    if abs(y) >= 1.0:
        return math.copysign(math.inf, y) if abs(y) == 1.0 else math.nan
    return mp.erfinv(mpf(y)) if y else y


def _ndtri(p: float) -> Any:
    """Newton's method for the logarithm of the probability, from SciPy's value."""
    if not 0.0 < p < 1.0:
        return {0.0: -math.inf, 1.0: math.inf}.get(p, math.nan)
    if p == 0.5:
        return 0.0
    tail = mpf(min(p, 1.0 - p))
    x = mpf(float(special.ndtri(float(tail))))
    for _ in range(4):
        below = mp.erfc(-x / mp.sqrt(2)) / 2
        x -= mp.log(below / tail) * below / mp.npdf(x)
    return x if p < 0.5 else -x


def _scaled_bessel(order: int) -> Callable[[float], Any]:
    def of(x: float) -> Any:
        if math.isinf(x):
            return math.copysign(0.0, x) if order else 0.0
        return math.copysign(0.0, x) if order and x == 0 else mp.exp(-abs(mpf(x))) * mp.besseli(order, mpf(x))

    return of


RULES: dict[str, Callable[[float], Any]] = {
    "lgamma": _gamma_family(math.inf, math.inf, _lgamma),
    "digamma": _gamma_family(-math.inf, math.nan, _digamma),
    "trigamma": _gamma_family(math.inf, math.inf, _trigamma),
    "erfinv": _erfinv,
    "ndtri": _ndtri,
    "bessel_i0e": _scaled_bessel(0),
    "bessel_i1e": _scaled_bessel(1),
}


@cache
def _one(name: str, x: float, sign: float) -> np.longdouble:
    if math.isnan(x):
        return np.longdouble(x)
    with mp.workdps(_DIGITS):
        value = RULES[name](x)
        return np.longdouble(mp.nstr(value, 25) if isinstance(value, mpf) else value)


def extended(name: str, x: np.ndarray) -> np.ndarray:
    """The values at float32 or float64 `x`, as long doubles."""
    flat = [_one(name, v, math.copysign(1.0, v)) for v in x.astype(float).ravel().tolist()]
    return np.array(flat, np.longdouble).reshape(x.shape)
