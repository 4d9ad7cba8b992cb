"""Whole numbers: quotients rounded down, their remainders, and the whole numbers beside a number."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np

from ...core.op import defop, ordered
from ...core.op import real as floats
from ...core.spec import TensorSpec
from ..lowering import Scalar
from ..symbolic_values import each_size
from .arithmetic import ELEMENTWISE, matched, numbers, pairs, unary


def _safe(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    return lambda a, b: function(a, b)


@defop(
    vjp=(None, None),
    kernel=_safe(np.floor_divide),
    lower=Scalar("floordiv"),
    canonicalize=matched,
    size_rule=each_size(operator.floordiv),
    traits=ELEMENTWISE,
    samples=pairs(0.5, 2.0, complex=False),
)
def floordiv(x: TensorSpec, y: TensorSpec) -> TensorSpec:
    """``x // y`` rounded down; integers divided by zero give 0. No gradient flows through it."""
    return ordered(numbers(x, y))


@defop(
    partial=(lambda y, a, b: 1.0, lambda y, a, b: -floordiv(a, b)),
    kernel=_safe(np.remainder),
    lower=Scalar("mod"),
    canonicalize=matched,
    traits=ELEMENTWISE,
    samples=pairs(0.5, 2.0, complex=False),
)
def mod(x: TensorSpec, y: TensorSpec) -> TensorSpec:
    """``x % y`` with the sign of `y`; integers modulo zero give 0. The derivative at the jumps is that beside them."""
    return ordered(numbers(x, y))


@defop(vjp=(None,), kernel=np.floor, lower=Scalar("floor"), traits=ELEMENTWISE, samples=unary())
def floor(x: TensorSpec) -> TensorSpec:
    """The largest whole number not above `x`; no gradient flows through it."""
    return floats(x)


@defop(vjp=(None,), kernel=np.round, lower=Scalar("round"), traits=ELEMENTWISE, samples=unary())
def round(x: TensorSpec) -> TensorSpec:
    """The nearest whole number, halves to even; no gradient flows through it."""
    return floats(x)


@defop(vjp=(None,), kernel=np.trunc, lower=Scalar("trunc"), traits=ELEMENTWISE, samples=unary())
def trunc(x: TensorSpec) -> TensorSpec:
    """The whole number next to `x` on the side of 0; no gradient flows through it."""
    return floats(x)
