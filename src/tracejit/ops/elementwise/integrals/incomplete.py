"""The incomplete gamma and beta functions and Hurwitz' zeta function, in double precision.

Their derivatives along parameters are no elementary functions: an op takes the order of such a derivative, which is
that of its formula for power series. The first two are compiled, others are the kernel's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....core.errors import require
from ....core.op import defop, ops, real, sample
from ....core.spec import TensorSpec
from ...lowering import Formula
from ..arithmetic import ELEMENTARY, broadcast, matched
from ..formulas import families
from ..formulas.iterated import by_formula
from ..special import derivative_number, double


def _family(family: Callable[..., Any]) -> dict[str, Any]:
    """What the declaration of an op says of its formulas."""
    return {"kernel": double(by_formula(family)), "lower": Formula(families.compiled(family.__name__))}


# ---- the incomplete gamma function ----------------------------------------------------------------------


def _gamma_density_slope(y: Any, a: Any, x: Any, *, order: int) -> Any:
    slope = y * ((a - 1.0) / x - 1.0)
    return slope + order * ops.gamma_density(a, x, order=order - 1) / x if order else slope


_POSITIVE = tuple(sample(*shapes, low=0.7, high=3.0) for shapes in (((2, 3), (2, 3)), ((2, 1, 3), (4, 1))))


@defop(
    partial=(lambda y, a, x, *, order: ops.gamma_density(a, x, order=order + 1), _gamma_density_slope),
    **_family(families.gamma_density),
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
    **_family(families.gammainc),
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
    **_family(families.gammaincc),
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
    **_family(families.beta_density),
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
    **_family(families.betainc),
    canonicalize=matched,
    traits=ELEMENTARY,
    samples=_BELOW_ONE,
)
def betainc(a: TensorSpec, b: TensorSpec, x: TensorSpec, *, orders: tuple[int, ...]) -> TensorSpec:
    """The incomplete beta function over the whole; `orders` count derivatives along `a` and `b`."""
    _both(orders)
    return real(broadcast(broadcast(a, b), x))


# ---- the zeta function ----------------------------------------------------------------------------------


def _zeta_along_q(y: Any, s: Any, q: Any, *, order: int) -> Any:
    slope = -s * ops.zeta(s + 1.0, q, order=order)
    return slope - order * ops.zeta(s + 1.0, q, order=order - 1) if order else slope


@defop(
    partial=(lambda y, s, q, *, order: ops.zeta(s, q, order=order + 1), _zeta_along_q),
    **_family(families.zeta),
    canonicalize=matched,
    traits=ELEMENTARY,
    samples=tuple(sample(*s.shapes, low=1.5, high=4.0, order=0) for s in _POSITIVE),
)
def zeta(s: TensorSpec, q: TensorSpec, *, order: int) -> TensorSpec:
    """The sum of ``(q + k)**-s`` over k from 0 on, its derivative number `order` along `s`; NaN below 1, inf at 1."""
    derivative_number(order)
    return real(broadcast(s, q))
