"""The arithmetic of the formulas by quotients, for NumPy's arrays and Python's numbers; compiled code brings the same.

NaN fails every comparison, as it does in compiled code.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

Rule = Callable[..., Any]

#: By name: ``rule(of, x)`` of float64, where `of` is the arithmetic.
FORMULAS: dict[str, Rule] = {}


def formula(rule: Rule) -> Rule:
    """Declare the decorated rule as the formula of its name."""
    FORMULAS[rule.__name__] = rule
    return rule


def horner(x: Any, coefficients: Sequence[float]) -> Any:
    """A polynomial of whatever has Python's operators; coefficients from the constant term up."""
    total: Any = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = total * x + c
    return total


class OnArrays:
    """The arithmetic, of float64 arrays."""

    add, sub, mul, div, neg, abs, sqrt, log = (
        staticmethod(f)
        for f in (np.add, np.subtract, np.multiply, np.divide, np.negative, np.abs, np.sqrt, np.log)
    )
    sine, copysign, nearest, select = (staticmethod(f) for f in (np.sin, np.copysign, np.rint, np.where))
    value, polynomial = staticmethod(float), staticmethod(horner)
    _relations: ClassVar[dict[str, Rule]] = {
        "olt": np.less,
        "ole": np.less_equal,
        "ogt": np.greater,
        "oeq": np.equal,
    }

    @staticmethod
    def fma(a: Any, b: Any, c: Any) -> Any:
        return a * b + c

    @classmethod
    def compare(cls, relation: str, a: Any, b: Any) -> Any:
        return cls._relations[relation](a, b)

    @classmethod
    def minimum(cls, x: Any, bound: Any) -> Any:
        return cls.select(cls.compare("ogt", x, bound), bound, x)

    @classmethod
    def for_some(cls, name: str, condition: Any, usual: Any, rule: Rule, operands: Sequence[Any]) -> Any:
        """`usual`, but ``rule(of, *operands)`` where `condition` holds, which is rare."""
        if not np.any(condition):
            return usual
        found = np.array(usual)
        found[condition] = rule(cls, *(x[condition] for x in operands))
        return found


def _or_array(function: Callable[..., float], of_arrays: Rule) -> Any:
    """A function of Python's numbers, and NumPy's where Python raises instead of giving infinity or NaN."""

    def computed(*args: float) -> float:
        try:
            return function(*args)
        except (ValueError, ZeroDivisionError):
            return float(of_arrays(*args))

    return staticmethod(computed)


class OnNumbers(OnArrays):
    """The same of one Python float, for which that is several times quicker."""

    add, sub, mul, neg, abs = (
        staticmethod(f) for f in (operator.add, operator.sub, operator.mul, operator.neg, math.fabs)
    )
    sine, copysign = staticmethod(math.sin), staticmethod(math.copysign)
    div, sqrt, log = (
        _or_array(operator.truediv, np.divide),
        _or_array(math.sqrt, np.sqrt),
        _or_array(math.log, np.log),
    )
    _relations: ClassVar[dict[str, Rule]] = {
        "olt": operator.lt,
        "ole": operator.le,
        "ogt": operator.gt,
        "oeq": operator.eq,
    }

    @staticmethod
    def nearest(x: float) -> float:
        return float(round(x))

    @staticmethod
    def select(condition: bool, a: Any, b: Any) -> Any:
        return a if condition else b

    @classmethod
    def for_some(cls, name: str, condition: bool, usual: Any, rule: Rule, operands: Sequence[Any]) -> Any:
        return rule(cls, *operands) if condition else usual
