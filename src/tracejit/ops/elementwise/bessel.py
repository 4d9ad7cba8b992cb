"""Bessel functions of any order; NumPy computes them in double precision.

Formulas: Abramowitz and Stegun, Handbook of Mathematical Functions, 9.1, 9.2, 9.6, 9.7.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.op import defop, ops, real, sample
from ...core.spec import TensorSpec
from ..lowering import Callback
from .arithmetic import ELEMENTARY
from .special import double

#: Up to here the first term of a power series is.
_TINY = 1e-9
#: From here on the asymptotic series for orders 0 and 1 are exact to rounding.
_FAR = 50.0


def _near(x: np.ndarray, order: int) -> tuple[np.ndarray, ...]:
    """J of the order, Y of the orders 0 and 1, of x > 0: Miller's recurrence downwards and Neumann's series."""
    most = max(float(np.max(x, initial=1.0)), float(order))
    start = 2 * int(0.5 * (most + 30.0 + 8.0 * math.sqrt(most)))
    after, value = np.zeros(x.shape), np.full(x.shape, 1e-300)
    wanted, total, even, odd, second = np.zeros((5, *x.shape))
    for k in range(start, -1, -1):
        n, sign = k // 2, (-1.0) ** (k // 2)
        if k == order:
            wanted = value
        if k == 1:
            second = value
        if k % 2 == 0:
            total = total + (2.0 * value if k else value)
            even = even + (sign * value / n if k else 0.0)
        elif n:
            odd = odd + sign * (2 * n + 1) / (n * (n + 1)) * value
        if k:
            after, value = value, 2.0 * k / x * value - after
        scale = np.where(np.abs(value) > 1e200, 1e-200, 1.0)
        parts = (after, value, wanted, total, even, odd, second)
        after, value, wanted, total, even, odd, second = (part * scale for part in parts)
    logarithm = np.log(0.5 * x) + np.euler_gamma
    first, second = value / total, second / total
    y0 = 2.0 / math.pi * (logarithm * first - 2.0 * even / total)
    y1 = 2.0 / math.pi * ((logarithm - 1.0) * second - first / x - odd / total)
    return wanted / total, y0, y1


def _upwards(x: np.ndarray, zeroth: np.ndarray, first: np.ndarray, order: int) -> np.ndarray:
    for k in range(1, order):
        zeroth, first = first, np.where(np.isinf(first), first, 2.0 * k / x * first - zeroth)
    return first if order else zeroth


def _waves(x: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
    """J and Y of order 0 or 1 of large numbers, by Hankel's series."""
    term, parts = np.ones(x.shape), [np.ones(x.shape), np.zeros(x.shape)]
    for k in range(1, 25):
        term = term * (4.0 * order * order - (2 * k - 1) ** 2) / (8.0 * k * x)
        parts[k % 2] = parts[k % 2] + (-1.0) ** (k // 2) * term
    cosine, sine = np.cos(x) + np.sin(x), np.sin(x) - np.cos(x)
    cosine, sine = (sine, -cosine) if order else (cosine, sine)
    size = 1.0 / np.sqrt(math.pi * x)
    p, q = parts
    return size * (p * cosine - q * sine), size * (p * sine + q * cosine)


def _first_kind(x: np.ndarray, *, order: int) -> np.ndarray:
    a = np.abs(x)
    far = (a > _FAR) & (a > order)
    tiny = a < _TINY
    near = np.where(far | tiny | np.isnan(a), 1.0, a)
    found = np.where(tiny, (0.5 * a) ** order * math.exp(-math.lgamma(order + 1.0)), _near(near, order)[0])
    wide = np.where(far, a, 2.0 * _FAR)
    found = np.where(far, _upwards(wide, _waves(wide, 0)[0], _waves(wide, 1)[0], order), found)
    found = np.where(a == 0.0, float(order == 0), np.where(np.isposinf(a), 0.0, found))
    return np.where(np.isnan(x), np.nan, np.where((x < 0.0) & (order % 2 == 1), -found, found))


def _second_kind(x: np.ndarray, *, order: int) -> np.ndarray:
    far = x > _FAR
    tiny = x < _TINY
    near = np.where(far | tiny | ~(x > 0.0), 1.0, x)
    _, zeroth, first = _near(near, 0)
    zeroth = np.where(tiny, 2.0 / math.pi * (np.log(0.5 * x) + np.euler_gamma), zeroth)
    first = np.where(tiny, -2.0 / math.pi / x, first)
    wide = np.where(far, x, 2.0 * _FAR)
    both = np.where(far, wide, np.where(tiny, x, near))
    zeroth, first = (np.where(far, _waves(wide, k)[1], small) for k, small in enumerate((zeroth, first)))
    found = np.where(np.isposinf(x), 0.0, _upwards(both, zeroth, first, order))
    return np.where(x > 0.0, found, np.where(x == 0.0, -np.inf, np.nan))


_SAMPLES = tuple(
    sample(shape, low=1.2, high=4.0, order=order) for shape, order in (((2, 3), 0), ((3,), 1), ((), 3))
)


@defop(
    partial=(
        lambda y, x, *, order: (
            0.5 * (ops.bessel_j(x, order=order - 1) - ops.bessel_j(x, order=order + 1))
            if order
            else -ops.bessel_j(x, order=1)
        ),
    ),
    kernel=double(_first_kind),
    lower=Callback(),
    traits=ELEMENTARY,
    samples=_SAMPLES,
)
def bessel_j(x: TensorSpec, *, order: int) -> TensorSpec:
    """The Bessel function of the first kind, of an order of 0 or more."""
    return real(x)


@defop(
    partial=(
        lambda y, x, *, order: (
            0.5 * (ops.bessel_y(x, order=order - 1) - ops.bessel_y(x, order=order + 1))
            if order
            else -ops.bessel_y(x, order=1)
        ),
    ),
    kernel=double(_second_kind),
    lower=Callback(),
    traits=ELEMENTARY,
    samples=_SAMPLES,
)
def bessel_y(x: TensorSpec, *, order: int) -> TensorSpec:
    """The Bessel function of the second kind, of an order of 0 or more; NaN below 0, -inf at 0."""
    return real(x)


def _modified(x: np.ndarray, *, order: float) -> np.ndarray:
    """The power series, its terms as logarithms; far away the asymptotic one."""
    a = np.abs(x)
    order = abs(order) if float(order).is_integer() else order
    far = a > max(40.0, order * order)
    near = np.where(far | ~(a > 0.0), 1.0, a)
    log_square = 2.0 * np.log(0.5 * near)
    size = math.lgamma(order + 1.0)
    sign = -1.0 if order < -1.0 and math.floor(order) % 2 == 0 else 1.0
    log_term = 0.5 * order * log_square - size - near
    total = sign * np.exp(log_term)
    for k in range(1, int(np.max(near, initial=1.0)) + 100):
        sign = sign if k + order > 0.0 else -sign
        log_term = log_term + log_square - math.log(k) - math.log(abs(k + order))
        total = total + sign * np.exp(log_term)
    wide = np.where(far, a, 1.0)
    part = series = np.ones(x.shape)
    for k in range(1, 25):
        part = -part * (4.0 * order * order - (2 * k - 1) ** 2) / (8.0 * k * wide)
        series = series + part
    found = np.where(far, series / np.sqrt(2.0 * math.pi * wide), total)
    at_zero = 1.0 if order == 0.0 else 0.0 if order > 0.0 else np.inf
    found = np.where(a == 0.0, at_zero, np.where(np.isposinf(a), 0.0, found))
    below = (-1.0) ** int(order) if float(order).is_integer() else np.nan
    return np.where(np.isnan(x), np.nan, np.where(x < 0.0, below * found, found))


def _modified_slope(y: Any, x: Any, *, order: float) -> Any:
    beside = 0.5 * (ops.bessel_ive(x, order=order - 1.0) + ops.bessel_ive(x, order=order + 1.0))
    return beside - ops.sign(x) * y


@defop(
    partial=(_modified_slope,),
    kernel=double(_modified),
    lower=Callback(),
    traits=ELEMENTARY,
    samples=tuple(
        sample(shape, low=0.5, high=3.0, order=order) for shape, order in (((2, 3), 0.0), ((3,), 2.5))
    ),
)
def bessel_ive(x: TensorSpec, *, order: float) -> TensorSpec:
    """``exp(-|x|)`` times the modified Bessel function of the first kind; of numbers below 0 for whole orders."""
    return real(x)
