"""Faddeeva's function of the upper half plane by its real and its imaginary part, in double precision."""

from __future__ import annotations

from typing import Any

from ....core.op import defop, ops, real, sample
from ....core.spec import TensorSpec
from ...lowering import Formula
from ..arithmetic import ELEMENTARY, broadcast, matched
from ..formulas import families
from ..formulas.iterated import by_formula
from ..special import derivative_number, double

_SAMPLES = (
    sample((2, 3), (2, 3), low=0.1, high=3.0, order=0),
    sample((2, 1, 3), (4, 1), low=0.1, high=3.0, order=1),
)


def _along_real(y: Any, a: Any, b: Any, *, order: int) -> Any:
    return ops.faddeeva_real(a, b, order=order + 1)


def _along_imag(y: Any, a: Any, b: Any, *, order: int) -> Any:
    return ops.faddeeva_imag(a, b, order=order + 1)


@defop(
    partial=(_along_real, lambda y, a, b, *, order: -_along_imag(y, a, b, order=order)),
    kernel=double(by_formula(families.faddeeva_real)),
    lower=Formula(families.compiled("faddeeva_real")),
    canonicalize=matched,
    traits=ELEMENTARY,
    samples=_SAMPLES,
)
def faddeeva_real(a: TensorSpec, b: TensorSpec, *, order: int) -> TensorSpec:
    """The real part of the derivative `order` of ``exp(-z**2) erfc(-i z)`` at ``a + i b``; NaN where `b` is below 0."""
    derivative_number(order)
    return real(broadcast(a, b))


@defop(
    partial=(_along_imag, _along_real),
    kernel=double(by_formula(families.faddeeva_imag)),
    lower=Formula(families.compiled("faddeeva_imag")),
    canonicalize=matched,
    traits=ELEMENTARY,
    samples=_SAMPLES,
)
def faddeeva_imag(a: TensorSpec, b: TensorSpec, *, order: int) -> TensorSpec:
    """The imaginary part of the derivative of which :func:`faddeeva_real` is the real one; NaN where `b` is below 0."""
    derivative_number(order)
    return real(broadcast(a, b))
