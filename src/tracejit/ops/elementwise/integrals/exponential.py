"""Exponential integrals, Dawson's integral and the scaled error function; NumPy computes them in double precision.

Formulas: Abramowitz and Stegun, Handbook of Mathematical Functions, 5.1 and 7.1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....core.op import defop, ops, real, sample
from ....core.spec import TensorSpec
from ...lowering import Callback
from ..arithmetic import ELEMENTARY
from ..faddeeva import faddeeva
from ..special import derivative_number, double
from .incomplete import continued

#: From here on the asymptotic series of Ei is exact to rounding.
_FAR = 40.0
#: From here on derivatives are those of an asymptotic series: what they are differences of are nearly equal.
_WIDE = 20.0
_ROOT_OF_PI = math.sqrt(math.pi)


def _expn_near(x: np.ndarray, n: int) -> np.ndarray:
    """Of numbers up to 1, by the power series, in which one term has a logarithm."""
    psi = -np.euler_gamma + sum(1.0 / k for k in range(1, n))
    total = (-x) ** (n - 1) / math.factorial(n - 1) * (psi - np.log(x))
    term = np.ones_like(x)
    for m in range(max(n, 0) + 25):
        if m:
            term = term * -x / m
        if m != n - 1:
            total = total - term / (m - n + 1)
    return total


def _expn(x: np.ndarray, *, order: int) -> np.ndarray:
    if order == 0:
        found = np.exp(-x) / x
    else:
        near = np.where((x > 0.0) & (x <= 1.0), x, 1.0)
        far = np.where((x > 1.0) & np.isfinite(x), x, 2.0)
        fraction = continued(lambda k: -k * (order - 1.0 + k), lambda k: far + order + 2.0 * k)
        found = np.where(x <= 1.0, _expn_near(near, order), np.exp(-far) / fraction)
    at_0 = 1.0 / (order - 1) if order > 1 else np.inf
    found = np.where(np.isposinf(x), 0.0, np.where(x == 0.0, at_0, found))
    return np.where(x >= 0.0, found, np.nan)


@defop(
    partial=(lambda y, x, *, order: -ops.expn(x, order=order - 1) if order else -(y + y / x),),
    kernel=double(_expn),
    lower=Callback(),
    traits=ELEMENTARY,
    samples=(sample((2, 3), low=0.2, high=3.0, order=1), sample((3,), low=0.2, high=3.0, order=3)),
)
def expn(x: TensorSpec, *, order: int) -> TensorSpec:
    """The integral of ``exp(-x t) / t**order`` over t from 1 on; NaN for negative numbers."""
    derivative_number(order)
    return real(x)


def _expi(x: np.ndarray) -> np.ndarray:
    near = np.where((x > 0.0) & (x <= _FAR), x, 1.0)
    term, total = np.ones_like(near), np.euler_gamma + np.log(near)
    for k in range(1, 150):
        term = term * near / k
        total = total + term / k
    far = np.where((x > _FAR) & np.isfinite(x), x, 2.0 * _FAR)
    part = series = np.ones_like(far)
    for k in range(1, int(_FAR)):
        part = part * k / far
        series = series + part
    half = np.exp(0.5 * far)
    found = np.where(x <= _FAR, total, series / far * half * half)
    found = np.where(x < 0.0, -_expn(np.where(x < 0.0, -x, 1.0), order=1), found)
    found = np.where(x == 0.0, -np.inf, np.where(np.isposinf(x), np.inf, found))
    return np.where(np.isnan(x), x, found)


@defop(
    partial=(lambda y, x: ops.exp(x) / x,),
    kernel=double(_expi),
    lower=Callback(),
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


def _dawsn(x: np.ndarray) -> np.ndarray:
    a = np.abs(x)
    small, large = np.where(a < 1.0, a, 0.0), np.where((a >= 1.0) & (a < 1e8), a, 1.0)
    term = total = small
    for k in range(1, 30):
        term = term * (-2.0 * small * small) / (2 * k + 1)
        total = total + term
    found = np.where(a < 1.0, total, 0.5 * _ROOT_OF_PI * faddeeva(large + 0j).imag)
    return np.copysign(np.where(a < 1e8, found, np.where(np.isnan(a), a, 0.5 / np.where(a == 0.0, 1.0, a))), x)


def _dawsn_slope(y: Any, x: Any) -> Any:
    wide = ops.less(_WIDE, ops.abs(x))
    far, near = ops.where(wide, x, _WIDE), ops.where(wide, 0.0, x)
    return ops.where(wide, -_series(far, 1.0) / (2.0 * far * far), 1.0 - 2.0 * near * ops.where(wide, 0.0, y))


@defop(
    partial=(_dawsn_slope,),
    kernel=double(_dawsn),
    lower=Callback(),
    traits=ELEMENTARY,
    samples=(sample((2, 3), low=-3.0, high=3.0),),
)
def dawsn(x: TensorSpec) -> TensorSpec:
    """``exp(-x**2)`` times the integral of ``exp(t**2)`` over t from 0 to `x`."""
    return real(x)


def _erfcx(x: np.ndarray) -> np.ndarray:
    a = np.abs(x)
    right = np.where(a < 1e8, faddeeva(1j * np.where(a < 1e8, a, 1.0)).real, 1.0 / (_ROOT_OF_PI * a))
    return np.where(np.isnan(x), x, np.where(x < 0.0, 2.0 * np.exp(x * x) - right, right))


def _erfcx_slope(y: Any, x: Any) -> Any:
    wide = ops.less(_WIDE, x)
    far, near = ops.where(wide, x, _WIDE), ops.where(wide, 0.0, x)
    asymptotic = -_series(far, -1.0) / (_ROOT_OF_PI * far * far)
    return ops.where(wide, asymptotic, 2.0 * near * ops.where(wide, 0.0, y) - 2.0 / _ROOT_OF_PI)


@defop(
    partial=(_erfcx_slope,),
    kernel=double(_erfcx),
    lower=Callback(),
    traits=ELEMENTARY,
    samples=(sample((2, 3), low=-2.0, high=3.0),),
)
def erfcx(x: TensorSpec) -> TensorSpec:
    """``exp(x**2) erfc(x)``, which falls slowly where the complementary error function is too small to be told."""
    return real(x)
