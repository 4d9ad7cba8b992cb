"""Bessel functions of any order, in double precision.

Formulas: Abramowitz and Stegun, Handbook of Mathematical Functions, 9.1, 9.2, 9.6, 9.7.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.op import defop, ops, real, sample
from ...core.spec import TensorSpec
from ..lowering import Formula
from .arithmetic import ELEMENTARY
from .formulas import bessel_functions, families
from .formulas.iterated import of_order
from .special import double

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
    kernel=double(of_order(bessel_functions.bessel_j)),
    lower=Formula(families.of_order("bessel_j"), lambda order: (float(order),)),
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
    kernel=double(of_order(bessel_functions.bessel_y)),
    lower=Formula(families.of_order("bessel_y"), lambda order: (float(order),)),
    traits=ELEMENTARY,
    samples=_SAMPLES,
)
def bessel_y(x: TensorSpec, *, order: int) -> TensorSpec:
    """The Bessel function of the second kind, of an order of 0 or more; NaN below 0, -inf at 0."""
    return real(x)


def _modified(x: np.ndarray, *, order: float) -> np.ndarray:
    """Of orders below 0 that are not whole by the power series, its terms as logarithms, or the asymptotic one."""
    whole = float(order).is_integer()
    if whole or order > 0.0:
        return of_order(bessel_functions.bessel_ive)(x, order=abs(order))
    far = x > max(40.0, order * order)
    near = np.where(far | ~(x > 0.0), 1.0, x)
    log_square = 2.0 * np.log(0.5 * near)
    sign = -1.0 if order < -1.0 and math.floor(order) % 2 == 0 else 1.0
    log_term = 0.5 * order * log_square - math.lgamma(order + 1.0) - near
    total = sign * np.exp(log_term)
    for k in range(1, int(np.max(near, initial=1.0)) + 100):
        sign = sign if k + order > 0.0 else -sign
        log_term = log_term + log_square - math.log(k) - math.log(abs(k + order))
        total = total + sign * np.exp(log_term)
    found = np.where(
        far, of_order(bessel_functions.bessel_ive)(np.where(far, x, np.inf), order=-order), total
    )
    return np.where(x > 0.0, np.where(np.isposinf(x), 0.0, found), np.where(x == 0.0, np.inf, np.nan))


def _positive(order: float) -> str | None:
    """The name of the scalar operation for what is not left to `_modified`."""
    return families.of_order("bessel_ive")(abs(order) if float(order).is_integer() else order)


def _modified_slope(y: Any, x: Any, *, order: float) -> Any:
    beside = 0.5 * (ops.bessel_ive(x, order=order - 1.0) + ops.bessel_ive(x, order=order + 1.0))
    return beside - ops.sign(x) * y


@defop(
    partial=(_modified_slope,),
    kernel=double(_modified),
    lower=Formula(_positive, lambda order: (float(abs(order)),)),
    traits=ELEMENTARY,
    samples=tuple(
        sample(shape, low=0.5, high=3.0, order=order) for shape, order in (((2, 3), 0.0), ((3,), 2.5))
    ),
)
def bessel_ive(x: TensorSpec, *, order: float) -> TensorSpec:
    """``exp(-|x|)`` times the modified Bessel function of the first kind; of numbers below 0 for whole orders."""
    return real(x)
