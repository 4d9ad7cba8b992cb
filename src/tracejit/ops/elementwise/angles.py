"""Tangent, hyperbolic and inverse functions, element by element; sine and cosine are in ``transcendental``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.op import defop, floating, ops, real
from ...core.spec import TensorSpec
from ..lowering import Compose, Scalar
from .arithmetic import (
    COMPLEX_BY_KERNEL,
    ELEMENTARY,
    ELEMENTWISE,
    broadcast,
    elementary,
    matched,
    pairs,
    unary,
)

_LN2 = math.log(2.0)
_LARGE = {
    2: 100.0,
    4: 1e8,
    8: 1e8,
}  # by width: beyond it ``1 + x**2`` is ``x**2``, which does not overflow before


@defop(partial=(lambda y, x: 1.0 + y * y,), kernel=np.tan, **elementary("tan", -1.2, 1.2, complex=True))
def tan(x: TensorSpec) -> TensorSpec:
    """Tangent of an angle in radians."""
    return floating(x)


@defop(partial=(lambda y, x: ops.cosh(x),), kernel=np.sinh, **elementary("sinh", complex=True))
def sinh(x: TensorSpec) -> TensorSpec:
    """Hyperbolic sine."""
    return floating(x)


@defop(partial=(lambda y, x: ops.sinh(x),), kernel=np.cosh, **elementary("cosh", complex=True))
def cosh(x: TensorSpec) -> TensorSpec:
    """Hyperbolic cosine."""
    return floating(x)


@defop(
    partial=(lambda y, x: -2.0 * x,),
    kernel=lambda x: (1.0 - x) * (1.0 + x),
    lower=Compose(lambda x: (1.0 - x) * (1.0 + x)),
    traits=ELEMENTWISE,
    samples=unary(complex=True),
)
def one_minus_square(x: TensorSpec) -> TensorSpec:
    """``1 - x**2`` without cancellation near 1 and -1; its derivative has none near 0, unlike that of the product."""
    return floating(x)


@defop(
    partial=(lambda y, x: 1.0 / ops.sqrt(ops.one_minus_square(x)),),
    kernel=np.arcsin,
    **elementary("asin", -0.9, 0.9, complex=True) | COMPLEX_BY_KERNEL,
)
def asin(x: TensorSpec) -> TensorSpec:
    """The angle in [-pi/2, pi/2] whose sine is `x`; NaN outside of [-1, 1] but for complex numbers."""
    return floating(x)


@defop(
    partial=(lambda y, x: -1.0 / ops.sqrt(ops.one_minus_square(x)),),
    kernel=np.arccos,
    **elementary("acos", -0.9, 0.9, complex=True) | COMPLEX_BY_KERNEL,
)
def acos(x: TensorSpec) -> TensorSpec:
    """The angle in [0, pi] whose cosine is `x`; NaN outside of [-1, 1] but for complex numbers."""
    return floating(x)


@defop(
    partial=(lambda y, x: 1.0 / (x * x + 1.0),),
    kernel=np.arctan,
    **elementary("atan", complex=True) | COMPLEX_BY_KERNEL,
)
def atan(x: TensorSpec) -> TensorSpec:
    """The angle in [-pi/2, pi/2] whose tangent is `x`."""
    return floating(x)


def _turn(y: Any, x: Any, along: Any) -> Any:
    """``along(y, x) / (x**2 + y**2)`` without overflow; 0 infinitely far away, but NaN of NaN."""
    far = ops.equal(ops.maximum(ops.abs(x), ops.abs(y)), np.inf)
    y, x = ops.where(far, 1.0, y), ops.where(far, 1.0, x)
    distance = ops.abs(ops.complex(x, y))
    return ops.where(far, 0.0, along(y, x) / distance / distance)


@defop(
    partial=(
        lambda angle, y, x: _turn(y, x, lambda y, x: x),
        lambda angle, y, x: _turn(y, x, lambda y, x: -y),
    ),
    kernel=np.arctan2,
    lower=Scalar("atan2"),
    canonicalize=matched,
    traits=ELEMENTARY,
    samples=pairs(0.5, 2.0, complex=False) + pairs(-2.0, -0.5, complex=False),
)
def atan2(y: TensorSpec, x: TensorSpec) -> TensorSpec:
    """The angle in [-pi, pi] of the point (x, y); zeros and infinities of either sign as C has them."""
    return real(broadcast(y, x))


def _asinh(x: Any) -> Any:
    a = ops.abs(x)
    large = ops.less(_LARGE[x.dtype.itemsize], a)
    s = ops.where(large, 1.0, a)
    near = ops.log1p(s + s * (s / (1.0 + ops.sqrt(s * s + 1.0))))
    y = ops.where(large, ops.log(a) + _LN2, near)
    return ops.where(ops.less(x, 0.0), -y, ops.where(ops.equal(x, 0.0), x, y))


@defop(
    partial=(
        lambda y, x: 1.0 / (ops.sqrt(x * x + 1.0) if x.dtype.kind == "c" else ops.abs(ops.complex(1.0, x))),
    ),
    kernel=np.arcsinh,
    lower=Compose(_asinh),
    samples=unary(complex=True),
    **COMPLEX_BY_KERNEL,
)
def asinh(x: TensorSpec) -> TensorSpec:
    """The number whose hyperbolic sine is `x`."""
    return floating(x)


def _acosh(x: Any) -> Any:
    large = ops.less(_LARGE[x.dtype.itemsize], x)
    t = ops.where(large, 1.0, x - 1.0)
    return ops.where(large, ops.log(x) + _LN2, ops.log1p(t + ops.sqrt(t) * ops.sqrt(t + 2.0)))


def _acosh_slope(y: Any, x: Any) -> Any:
    if x.dtype.kind == "c":
        return 1.0 / (ops.sqrt(x - 1.0) * ops.sqrt(x + 1.0))
    inside = ops.where(ops.less(x, 0.0), 0.0 * x, x)
    return 1.0 / ops.sqrt(0.0 - ops.one_minus_square(inside))


@defop(
    partial=(_acosh_slope,),
    kernel=np.arccosh,
    lower=Compose(_acosh),
    samples=unary(1.5, 4.0, complex=True),
    **COMPLEX_BY_KERNEL,
)
def acosh(x: TensorSpec) -> TensorSpec:
    """The number, 0 or more, whose hyperbolic cosine is `x`; NaN below 1 but for complex numbers."""
    return floating(x)


@defop(
    partial=(lambda y, x: 1.0 / ops.one_minus_square(x),),
    kernel=np.arctanh,
    lower=Compose(lambda x: 0.5 * (ops.log1p(x) - ops.log1p(-x))),
    samples=unary(-0.9, 0.9, complex=True),
    **COMPLEX_BY_KERNEL,
)
def atanh(x: TensorSpec) -> TensorSpec:
    """The number whose hyperbolic tangent is `x`; NaN outside of [-1, 1] but for complex numbers."""
    return floating(x)
