"""The arithmetic of formulas that iterate: series, continued fractions and sums over points, of several operands.

They are written with Python's operators, and with the functions of `of`: here those of arrays; compiled code and
:mod:`power_series` bring others. NaN fails every comparison.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .gamma_family import hurwitz, polygamma
from .near_and_far import FORMULAS
from .quotient_arithmetic import OnArrays, OnNumbers, Rule


class Iterating:
    """Of float64 arrays."""

    nearest: Callable[[Any], Any] = staticmethod(np.rint)
    exp, expm1, log, log1p, sqrt, abs, sin, cos, power, copysign, select = (
        staticmethod(f)
        for f in (
            np.exp,
            np.expm1,
            np.log,
            np.log1p,
            np.sqrt,
            np.abs,
            np.sin,
            np.cos,
            np.power,
            np.copysign,
            np.where,
        )
    )
    equal: Callable[[Any, Any], Any] = staticmethod(np.equal)
    depth = 0  # how many power series are nested

    @staticmethod
    def special(name: str, x: Any) -> Any:
        """A formula by quotients."""
        return FORMULAS[name](OnArrays, np.asarray(x))

    @classmethod
    def lgamma(cls, x: Any) -> Any:
        return cls.special("lgamma", x)

    @classmethod
    def zeta(cls, s: Any, q: Any) -> Any:
        return hurwitz(cls, s, q)

    @classmethod
    def polygamma(cls, order: int, x: Any) -> Any:
        """Of positive numbers."""
        return polygamma(cls, order, x)

    @classmethod
    def moves(cls, change: Any, total: Any, tolerance: float) -> Any:
        """Does the change matter beside the total?"""
        return cls.abs(change) > tolerance * cls.abs(total)

    @classmethod
    def where(
        cls, condition: Any, usual: Sequence[Any], rule: Rule, operands: Sequence[tuple[Any, float]]
    ) -> list[Any]:
        """The values `usual`, but those of ``rule(of, *operands)`` where `condition` holds.

        Operands are pairs: behind each is what the rule sees where the condition does not hold.
        """
        if not np.any(condition):
            return list(usual)
        if np.all(condition):
            return rule(cls, *(x for x, _ in operands))
        shape = np.shape(condition)
        found = [np.array(np.broadcast_to(old, shape)) for old in usual]
        made = rule(cls, *(np.broadcast_to(x, shape)[condition] for x, _ in operands))
        for all_of_it, new in zip(found, made, strict=True):
            all_of_it[condition] = new
        return found

    @classmethod
    def until(cls, state: Sequence[Any], step: Rule, most: int) -> list[Any]:
        """The state after steps ``step(of, k, *state) -> (state, goes on)`` for k = 1.0, 2.0 ..., so many at the most.

        Each element ends for itself: the one that does not go on keeps its state.
        """
        state, going = list(state), np.True_
        for k in range(1, most + 1):
            new, on = step(cls, float(k), *state)
            state = [np.where(going, n, s) for n, s in zip(new, state, strict=True)]
            going = going & on
            if not np.any(going):
                break
        return state

    @staticmethod
    def entry(name: str, table: Sequence[float], k: float) -> float:
        """Number `k` of a table, from 1 on, which has this name."""
        return table[int(k) - 1]


class OnFloats(Iterating):
    """Of Python's floats, for which that is many times quicker; raises where the result is no ordinary number."""

    exp, expm1, log, log1p, sqrt, abs, sin, cos, power, copysign = (
        staticmethod(f)
        for f in (
            math.exp,
            math.expm1,
            math.log,
            math.log1p,
            math.sqrt,
            math.fabs,
            math.sin,
            math.cos,
            math.pow,
            math.copysign,
        )
    )
    equal, nearest = staticmethod(operator.eq), staticmethod(OnNumbers.nearest)

    @staticmethod
    def special(name: str, x: float) -> float:
        return FORMULAS[name](OnNumbers, x)

    @staticmethod
    def select(condition: bool, a: Any, b: Any) -> Any:
        return a if condition else b

    @classmethod
    def where(
        cls, condition: bool, usual: Sequence[Any], rule: Rule, operands: Sequence[tuple[Any, float]]
    ) -> list[Any]:
        return rule(cls, *(x for x, _ in operands)) if condition else list(usual)

    @classmethod
    def until(cls, state: Sequence[Any], step: Rule, most: int) -> list[Any]:
        for k in range(1, most + 1):
            state, on = step(cls, float(k), *state)
            if not on:
                break
        return list(state)


def computed(rule: Rule, *xs: Any) -> Any:
    """A formula of float64 arrays, which are broadcast, and Python's floats."""
    if not any(np.ndim(x) for x in xs):
        try:
            return np.float64(rule(OnFloats, *map(float, xs)))
        except (ArithmeticError, ValueError):
            pass
    return rule(Iterating, *np.broadcast_arrays(*xs))


def by_formula(family: Callable[..., Rule]) -> Callable[..., Any]:
    """The formulas of a family as a kernel; attributes say the orders."""
    return lambda *xs, order=0, orders=(): computed(family(*(orders or (order,))), *xs)


def by_rule(rule: Rule) -> Callable[..., Any]:
    """One formula as a kernel."""
    return lambda x: computed(rule, x)


def of_order(rule: Rule) -> Callable[..., Any]:
    """The same where the order is the first operand."""
    return lambda x, *, order: computed(rule, float(order), x)
