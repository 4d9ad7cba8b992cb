"""The gamma family, inverses of the error functions and Bessel functions: the formulas of the ops, in vectors of double
precision. What few lanes need is a function beside the straight line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....ops.elementwise.special_formulas import FORMULAS
from ...ir_text import Value
from .definition import COLD, MathFunction, define, vector_function
from .logarithm import log
from .trigonometric import half_period
from .writer import Builder


class _OnVectors:
    """The arithmetic that the formulas ask for: the builder's, with elementary functions."""

    def __init__(self, builder: Builder):
        self.builder = builder

    def __getattr__(self, name: str) -> Any:
        return getattr(self.builder, name)

    def log(self, x: Value) -> Value:
        return log(self.builder, x)

    def sine(self, x: Value) -> Value:
        """Of angles up to a quarter turn, ``|x| <= pi/2``."""
        return half_period(self.builder, x, None)

    def nearest(self, x: Value) -> Value:
        """The nearest integer of ``|x| <= 2**51``."""
        return self.builder.round(x)[0]

    def for_some(
        self, name: str, condition: Value, usual: Value, rule: Callable[..., Value], operands: Sequence[Value]
    ) -> Value:
        b = self.builder
        beside = _beside(f"@tj_{name}_{b.suffix}{b.variant}", b, rule, len(operands))
        b.needs.append(beside)
        return b.if_any(condition, [usual], lambda: [b.w.call(b.element, b.width, beside.symbol, *operands)])[
            0
        ]


def _beside(symbol: str, like: Builder, rule: Callable[..., Value], operands: int) -> MathFunction:
    b = Builder(like.element, like.width, like.has_fma, like.has_avx512)
    parameters = [Value(f"%x{i}", b.element, b.width) for i in range(operands)]
    return define(b, symbol, parameters, rule(_OnVectors(b), *parameters), COLD)


def _written(b: Builder, name: str, x: Value) -> Value:
    """Of a float by way of double precision."""
    if b.is_double:
        return FORMULAS[name](_OnVectors(b), x)
    d, wide = b.widen(x)
    return b.narrow(FORMULAS[name](_OnVectors(d), wide))


@vector_function
def lgamma(b: Builder, x: Value) -> Value:
    return _written(b, "lgamma", x)


@vector_function
def digamma(b: Builder, x: Value) -> Value:
    return _written(b, "digamma", x)


@vector_function
def trigamma(b: Builder, x: Value) -> Value:
    return _written(b, "trigamma", x)


@vector_function
def erfinv(b: Builder, x: Value) -> Value:
    return _written(b, "erfinv", x)


@vector_function
def ndtri(b: Builder, x: Value) -> Value:
    return _written(b, "ndtri", x)


@vector_function
def bessel_i0e(b: Builder, x: Value) -> Value:
    return _written(b, "bessel_i0e", x)


@vector_function
def bessel_i1e(b: Builder, x: Value) -> Value:
    return _written(b, "bessel_i1e", x)
