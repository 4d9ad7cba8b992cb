"""The formulas that iterate, with what they are at the ends of their domains, by the names of their scalar operations.

A family has a formula for each order of derivative along its parameters; names of compiled ones have the orders behind.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .bessel_functions import bessel_ive, bessel_j, bessel_y
from .exponential_integrals import dawsn, erfcx, expi, expn
from .faddeeva_parts import faddeeva_part
from .gamma_family import hurwitz
from .incomplete_integrals import beta, beta_term, gamma_term, gammas
from .oscillating_integrals import cosine_integral, fresnel_cos, fresnel_sin, sine_integral, spence
from .power_series import derivative, sum_of
from .quotient_arithmetic import Rule

#: By name: ``rule(of, *operands)`` of float64, and how many operands it takes.
ITERATED: dict[str, tuple[Rule, int]] = {}
_WAVES = (sine_integral, cosine_integral, fresnel_sin, fresnel_cos, spence)
for _rule in (bessel_j, bessel_y, bessel_ive, expn, expi, dawsn, erfcx, *_WAVES):
    ITERATED[_rule.__name__] = _rule, _rule.__code__.co_argcount - 1
#: Higher derivatives are left to the kernel, and Bessel functions of higher orders.
_MOST_COMPILED, _HIGHEST_ORDER = 2, 1000


def _family(operands: int, parameters: int) -> Callable[[Callable[..., Rule]], Callable[..., Rule]]:
    """Declare a family ``(*orders) -> rule``, of which the orders up to 2 are compiled."""

    def declared(family: Callable[..., Rule]) -> Callable[..., Rule]:
        for m in range(_MOST_COMPILED + 1):
            for orders in [(m,)] if parameters == 1 else [(m, n) for n in range(_MOST_COMPILED + 1 - m)]:
                ITERATED[_name(family.__name__, orders)] = family(*orders), operands
        return family

    return declared


def _name(family: str, orders: tuple[int, ...]) -> str:
    return family + ("_" + "".join(map(str, orders)) if any(orders) else "")


def compiled(family: str) -> Callable[..., str | None]:
    """The name of the scalar operation for the attributes of an op, if there is one."""

    def name(order: int = 0, orders: tuple[int, ...] = ()) -> str | None:
        orders = orders or (order,)
        return _name(family, orders) if sum(orders) <= _MOST_COMPILED else None

    return name


def of_order(name: str) -> Callable[..., str | None]:
    """The name of the scalar operation of an op whose order is its first operand."""
    return lambda order: name if 0 <= order <= _HIGHEST_ORDER else None


# ---- gamma ------------------------------------------------------------------------------------------------


def _gammainc(which: int, order: int) -> Rule:
    def rule(of: Any, a: Any, x: Any) -> Any:
        valid = (a > 0.0) & (x > 0.0) & (a < math.inf) & (x < math.inf)
        at_a, at_x = of.select(valid, a, 1.0), of.select(valid, x, 1.0)
        found = derivative(of, order, lambda of, a: gammas(of, a, at_x)[which], at_a)
        if order:
            return of.select(valid, found, of.select((a > 0.0) & (x >= 0.0), 0.0, math.nan))
        ends = of.select(of.equal(x, 0.0), 0.0, of.select(of.equal(x, math.inf), 1.0, math.nan))
        ends = of.select(
            of.equal(a, math.inf) & (x >= 0.0), of.select(of.equal(x, math.inf), math.nan, 0.0), ends
        )
        ends = of.select(of.equal(a, 0.0) & (x > 0.0), 1.0, of.select(a > 0.0, ends, math.nan))
        return of.select(valid, found, 1.0 - ends if which else ends)

    return rule


@_family(2, 1)
def gammainc(order: int) -> Rule:
    return _gammainc(0, order)


@_family(2, 1)
def gammaincc(order: int) -> Rule:
    return _gammainc(1, order)


@_family(2, 1)
def gamma_density(order: int) -> Rule:
    def rule(of: Any, a: Any, x: Any) -> Any:
        inside = (a > 0.0) & (x > 0.0) & (a < math.inf) & (x < math.inf)
        outside = (a <= 0.0) | (x <= 0.0) | (a >= math.inf) | (x >= math.inf)
        (ends,) = of.where(outside, [math.nan], at_ends, [(a, 1.0), (x, 1.0)])
        at_a, at_x = of.select(inside, a, 1.0), of.select(inside, x, 1.0)
        found = derivative(of, order, lambda of, a: gamma_term(of, a, at_x) * a / at_x, at_a)
        return of.select(inside, found, ends)

    def at_ends(of: Any, a: Any, x: Any) -> list[Any]:
        """By the derivatives of its logarithm."""
        power = of.select(of.equal(a, 1.0), 0.0, (a - 1.0) * of.log(x))
        found = [of.select(of.equal(x, math.inf), 0.0, of.exp(power - x - of.lgamma(a)))]
        slopes = []
        for n in range(order):
            slopes.append(-of.polygamma(n, a) if n else _log_or_none(of, x) - of.polygamma(0, a))
            found.append(sum_of(math.comb(n, k) * found[k] * slopes[n - k] for k in range(n + 1)))
        return [found[order]]

    return rule


def _log_or_none(of: Any, x: Any) -> Any:
    """The logarithm; 0 for 0, where all that it is multiplied with is 0."""
    return of.log(of.select(of.equal(x, 0.0), 1.0, x))


# ---- beta -------------------------------------------------------------------------------------------------


def _along_both(of: Any, orders: tuple[int, ...], f: Callable[..., Any], a: Any, b: Any) -> Any:
    """The derivative of ``f(of, a, b)``."""
    return derivative(of, orders[0], lambda of, a: derivative(of, orders[1], lambda of, b: f(of, a, b), b), a)


@_family(3, 2)
def betainc(*orders: int) -> Rule:
    def rule(of: Any, a: Any, b: Any, x: Any) -> Any:
        inside = (x > 0.0) & (x < 1.0)
        valid = (a > 0.0) & (b > 0.0) & inside & (a < math.inf) & (b < math.inf)
        at_a, at_b, at_x = of.select(valid, a, 1.0), of.select(valid, b, 1.0), of.select(valid, x, 0.5)
        found = _along_both(of, orders, lambda of, a, b: beta(of, a, b, at_x), at_a, at_b)
        last = 0.0 if any(orders) else 1.0
        ends = of.select(of.equal(x, 0.0), 0.0, of.select(of.equal(x, 1.0), last, math.nan))
        ends = of.select((a > 0.0) & (b > 0.0), ends, math.nan)
        return of.select(valid, found, ends if any(orders) else _of_one_point(of, a, b, x, ends))

    return rule


def _of_one_point(of: Any, a: Any, b: Any, x: Any, others: Any) -> Any:
    """Where one parameter is 0 or infinite all of the distribution is at 0 or at 1; where that is both, NaN."""
    inside = (a >= 0.0) & (b >= 0.0) & (x >= 0.0) & (x <= 1.0)
    at_0 = inside & (of.equal(a, 0.0) | of.equal(b, math.inf))
    at_1 = inside & (of.equal(b, 0.0) | of.equal(a, math.inf))
    found = of.select(at_0, of.select(x > 0.0, 1.0, 0.0), of.select(x < 1.0, 0.0, 1.0))
    return of.select(at_0 & at_1, math.nan, of.select(at_0 | at_1, found, others))


@_family(3, 2)
def beta_density(*orders: int) -> Rule:
    def rule(of: Any, a: Any, b: Any, x: Any) -> Any:
        inside = (a > 0.0) & (b > 0.0) & (x > 0.0) & (x < 1.0) & (a < math.inf) & (b < math.inf)
        ends = (x <= 0.0) | (x >= 1.0) | (a <= 0.0) | (b <= 0.0) | (a >= math.inf) | (b >= math.inf)
        (others,) = of.where(ends, [math.nan], at_ends, [(a, 1.0), (b, 1.0), (x, 0.5)])
        at_a, at_b, at_x = of.select(inside, a, 1.0), of.select(inside, b, 1.0), of.select(inside, x, 0.5)
        y = 1.0 - at_x
        found = _along_both(
            of, orders, lambda of, a, b: beta_term(of, a, b, at_x, y) / (at_x * y), at_a, at_b
        )
        return of.select(inside, found, others)

    def at_ends(of: Any, a: Any, b: Any, x: Any) -> list[Any]:
        return [_beta_density_by_logarithm(of, a, b, x, orders)]

    return rule


def _beta_density_by_logarithm(of: Any, a: Any, b: Any, x: Any, orders: tuple[int, ...]) -> Any:
    """By the derivatives of its logarithm."""
    rest = 1.0 - x
    powers = [of.select(of.equal(p, 1.0), 0.0, (p - 1.0) * of.log(v)) for p, v in ((a, x), (b, rest))]
    log_beta = of.lgamma(a) + of.lgamma(b) - of.lgamma(a + b)
    found: dict[tuple[int, int], Any] = {(0, 0): of.exp(powers[0] + powers[1] - log_beta)}

    def slope(own: Any, v: Any, i: int, j: int) -> Any:
        """Of the logarithm along a parameter, differentiated `i` times along it and `j` times along the other."""
        joint = of.polygamma(i + j, a + b)
        if j:
            return joint
        return joint - of.polygamma(i, own) + (0.0 if i else _log_or_none(of, v))

    for n in range(orders[1]):
        found[0, n + 1] = sum_of(
            math.comb(n, k) * found[0, k] * slope(b, rest, n - k, 0) for k in range(n + 1)
        )
    for m in range(orders[0]):
        for n in range(orders[1] + 1):
            found[m + 1, n] = sum_of(
                math.comb(m, k) * math.comb(n, i) * found[k, i] * slope(a, x, m - k, n - i)
                for k in range(m + 1)
                for i in range(n + 1)
            )
    return found[orders[0], orders[1]]


# ---- zeta -------------------------------------------------------------------------------------------------


@_family(2, 1)
def zeta(order: int) -> Rule:
    def rule(of: Any, s: Any, q: Any) -> Any:
        valid = (s > 1.0) & (q > 0.0) & (s < math.inf)
        at_s, at_q = of.select(valid, s, 2.0), of.select(valid, q, 1.0)
        found = derivative(of, order, lambda of, s: hurwitz(of, s, at_q), at_s)
        end = math.nan if order else of.select(of.equal(s, 1.0) & (q > 0.0), math.inf, math.nan)
        return of.select(valid, found, end)

    return rule


# ---- Faddeeva's function ----------------------------------------------------------------------------------


@_family(2, 1)
def faddeeva_real(order: int) -> Rule:
    return faddeeva_part(0, order)


@_family(2, 1)
def faddeeva_imag(order: int) -> Rule:
    return faddeeva_part(1, order)
