"""The gamma family, inverses of the error functions and Bessel functions: the formulas of the ops, in vectors of double
precision. What few lanes need is a function beside the straight line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....ops.elementwise.formulas.near_and_far import FORMULAS
from ...ir_text import Value
from .definition import COLD, MathFunction, define, in_double, vector_function
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


for _name, _rule in FORMULAS.items():
    vector_function(in_double(_name, lambda b, x, rule=_rule: rule(_OnVectors(b), x)), 1)
