"""Hurwitz' zeta function, and what is made of it: derivatives of the logarithm of the gamma function.

Formulas: Abramowitz and Stegun, Handbook of Mathematical Functions, 6.1.41, 6.4.10, 23.1.30.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .quotient_arithmetic import horner

#: Bernoulli numbers of even order, from the second on.
BERNOULLI = (
    1 / 6,
    -1 / 30,
    1 / 42,
    -1 / 30,
    5 / 66,
    -691 / 2730,
    7 / 6,
    -3617 / 510,
    43867 / 798,
    -174611 / 330,
)
#: From here on Stirling's series is exact to rounding.
FAR = 15.0
_STIRLING = tuple(b / (2 * k * (2 * k - 1)) for k, b in enumerate(BERNOULLI, 1))
#: So many terms are added before Euler's and Maclaurin's formula takes over.
_FIRST_TERMS = 14
_HALVES = tuple(b / math.factorial(2 * k) for k, b in enumerate(BERNOULLI, 1))


def stirling_rest(z: Any) -> Any:
    """What Stirling's formula leaves out of ``log(gamma(z))``, exact to rounding from `FAR` on."""
    inverse = 1.0 / z
    return horner(inverse * inverse, _STIRLING) * inverse


def hurwitz(of: Any, s: Any, q: Any) -> Any:
    """The sum of ``(q + k)**-s`` over k from 0 on, for s > 1 and q > 0."""
    total: Any = 0.0
    for k in range(_FIRST_TERMS):
        total = total + of.power(q + float(k), -s)
    end = q + float(_FIRST_TERMS)
    last = of.power(end, -s)
    square, factor = 1.0 / (end * end), s * last / end
    rest = last * end / (s - 1.0) + 0.5 * last
    for k, b in enumerate(_HALVES, 1):
        rest = rest + b * factor
        factor = factor * (s + (2 * k - 1.0)) * (s + 2.0 * k) * square
    return total + rest


def polygamma(of: Any, order: int, x: Any) -> Any:
    """The derivative number `order` of digamma, for x > 0."""
    return of.special("trigamma" if order else "digamma", x) if order < 2 else by_zeta(of.zeta, order, x)


def by_zeta(zeta: Callable[[float, Any], Any], order: int, x: Any) -> Any:
    """The same from the second derivative on."""
    return (-1.0) ** (order + 1) * math.factorial(order) * zeta(order + 1.0, x)
