"""The sine and cosine integrals, Fresnel's integrals and the dilogarithm, in double precision."""

from __future__ import annotations

import math
from typing import Any

from ....core.op import defop, ops, real, sample
from ....core.spec import TensorSpec
from ...lowering import Scalar
from ..arithmetic import ELEMENTARY
from ..formulas import oscillating_integrals as formulas
from ..formulas.iterated import by_rule
from ..formulas.quotient_arithmetic import horner
from ..special import double

_HALF_PI = 0.5 * math.pi
#: Up to here slopes are power series, because those of the quotients are differences of nearly equal numbers.
_NEAR_0, _NEAR_1 = 0.5, 0.03
_SINC = [(-1.0) ** k / math.factorial(2 * k + 1) for k in range(9)]
_LOG1P = [(-1.0) ** (k + 1) / (k + 1) for k in range(11)]


def _sine_slope(y: Any, x: Any) -> Any:
    near = ops.less(ops.abs(x), _NEAR_0)
    small, far = ops.where(near, x, 0.0), ops.where(near, _NEAR_0, x)
    return ops.where(near, horner(small * small, _SINC), ops.sin(far) / far)


@defop(
    partial=(_sine_slope,),
    kernel=double(by_rule(formulas.sine_integral)),
    lower=Scalar("sine_integral"),
    traits=ELEMENTARY,
    samples=(sample((2, 3), low=-2.5, high=2.5), sample((3,), low=3.5, high=9.0)),
)
def sine_integral(x: TensorSpec) -> TensorSpec:
    """The integral of ``sin(t) / t`` over t from 0 to `x`."""
    return real(x)


@defop(
    partial=(lambda y, x: ops.cos(x) / x,),
    kernel=double(by_rule(formulas.cosine_integral)),
    lower=Scalar("cosine_integral"),
    traits=ELEMENTARY,
    samples=(sample((2, 3), low=0.3, high=2.5), sample((3,), low=-9.0, high=-3.5)),
)
def cosine_integral(x: TensorSpec) -> TensorSpec:
    """Minus the integral of ``cos(t) / t`` over t from the size of `x` on; -inf at 0."""
    return real(x)


_WAVES = (sample((2, 3), low=-1.2, high=1.2), sample((3,), low=1.6, high=3.0))


@defop(
    partial=(lambda y, x: ops.sin(_HALF_PI * x * x),),
    kernel=double(by_rule(formulas.fresnel_sin)),
    lower=Scalar("fresnel_sin"),
    traits=ELEMENTARY,
    samples=_WAVES,
)
def fresnel_sin(x: TensorSpec) -> TensorSpec:
    """The integral of ``sin(pi t**2 / 2)`` over t from 0 to `x`."""
    return real(x)


@defop(
    partial=(lambda y, x: ops.cos(_HALF_PI * x * x),),
    kernel=double(by_rule(formulas.fresnel_cos)),
    lower=Scalar("fresnel_cos"),
    traits=ELEMENTARY,
    samples=_WAVES,
)
def fresnel_cos(x: TensorSpec) -> TensorSpec:
    """The integral of ``cos(pi t**2 / 2)`` over t from 0 to `x`."""
    return real(x)


def _spence_slope(y: Any, x: Any) -> Any:
    beyond = x - 1.0
    near = ops.less(ops.abs(beyond), _NEAR_1)
    small, far = ops.where(near, beyond, 0.0), ops.where(near, 1.0 + _NEAR_1, x)
    return ops.where(near, horner(small, _LOG1P), ops.log(far) / (1.0 - far))


@defop(
    partial=(_spence_slope,),
    kernel=double(by_rule(formulas.spence)),
    lower=Scalar("spence"),
    traits=ELEMENTARY,
    samples=(sample((2, 3), low=0.6, high=1.9), sample((3,), low=2.2, high=9.0)),
)
def spence(x: TensorSpec) -> TensorSpec:
    """The integral of ``log(t) / (1 - t)`` over t from 1 to `x`, the dilogarithm of ``1 - x``; NaN below 0."""
    return real(x)
