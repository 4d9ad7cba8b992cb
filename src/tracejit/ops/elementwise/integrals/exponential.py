"""Exponential integrals, Dawson's integral and the scaled error function, in double precision."""

from __future__ import annotations

import math
from typing import Any

from ....core.op import defop, ops, real, sample
from ....core.spec import TensorSpec
from ...lowering import Formula, Scalar
from ..arithmetic import ELEMENTARY
from ..formulas import exponential_integrals, families
from ..formulas.iterated import by_rule, of_order
from ..special import derivative_number, double

#: From here on derivatives are those of an asymptotic series: what they are differences of are nearly equal.
_WIDE = 20.0
_ROOT_OF_PI = math.sqrt(math.pi)


@defop(
    partial=(lambda y, x, *, order: -ops.expn(x, order=order - 1) if order else -(y + y / x),),
    kernel=double(of_order(exponential_integrals.expn)),
    lower=Formula(families.of_order("expn"), lambda order: (float(order),)),
    traits=ELEMENTARY,
    samples=(sample((2, 3), low=0.2, high=3.0, order=1), sample((3,), low=0.2, high=3.0, order=3)),
)
def expn(x: TensorSpec, *, order: int) -> TensorSpec:
    """The integral of ``exp(-x t) / t**order`` over t from 1 on; NaN for negative numbers."""
    derivative_number(order)
    return real(x)


@defop(
    partial=(lambda y, x: ops.exp(x) / x,),
    kernel=double(by_rule(exponential_integrals.expi)),
    lower=Scalar("expi"),
    traits=ELEMENTARY,
    samples=(sample((2, 3), low=0.2, high=3.0), sample((3,), low=-3.0, high=-0.2)),
)
def expi(x: TensorSpec) -> TensorSpec:
    """The integral of ``exp(t) / t`` over t up to `x`, around 0 its principal value."""
    return real(x)


def _series(x: Any, sign: float) -> Any:
    """``sum(sign**k (2 k + 1)!! / (2 x**2)**k)``, of which few terms count where `x` is large."""
    step, total = sign / (2.0 * x * x), 1.0
    for k in range(8, 0, -1):
        total = 1.0 + (2 * k + 1) * step * total
    return total


def _dawsn_slope(y: Any, x: Any) -> Any:
    wide = ops.less(_WIDE, ops.abs(x))
    far, near = ops.where(wide, x, _WIDE), ops.where(wide, 0.0, x)
    return ops.where(wide, -_series(far, 1.0) / (2.0 * far * far), 1.0 - 2.0 * near * ops.where(wide, 0.0, y))


@defop(
    partial=(_dawsn_slope,),
    kernel=double(by_rule(exponential_integrals.dawsn)),
    lower=Scalar("dawsn"),
    traits=ELEMENTARY,
    samples=(sample((2, 3), low=-3.0, high=3.0),),
)
def dawsn(x: TensorSpec) -> TensorSpec:
    """``exp(-x**2)`` times the integral of ``exp(t**2)`` over t from 0 to `x`."""
    return real(x)


def _erfcx_slope(y: Any, x: Any) -> Any:
    wide = ops.less(_WIDE, x)
    far, near = ops.where(wide, x, _WIDE), ops.where(wide, 0.0, x)
    asymptotic = -_series(far, -1.0) / (_ROOT_OF_PI * far * far)
    return ops.where(wide, asymptotic, 2.0 * near * ops.where(wide, 0.0, y) - 2.0 / _ROOT_OF_PI)


@defop(
    partial=(_erfcx_slope,),
    kernel=double(by_rule(exponential_integrals.erfcx)),
    lower=Scalar("erfcx"),
    traits=ELEMENTARY,
    samples=(sample((2, 3), low=-2.0, high=3.0),),
)
def erfcx(x: TensorSpec) -> TensorSpec:
    """``exp(x**2) erfc(x)``, which falls slowly where the complementary error function is too small to be told."""
    return real(x)
