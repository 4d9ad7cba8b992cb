"""Power series in one parameter, up to some order: formulas that are given them compute their derivatives, too."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import Any

from .quotient_arithmetic import Rule


def derivative(of: Any, order: int, f: Callable[[Any, Any], Any], x: Any) -> Any:
    """The derivative of this order of ``f(of, x)`` along `x`."""
    if not order:
        return f(of, x)
    series = Series(of, order)
    parts = series.parts(f(series, Terms(series, [x, 1.0])))
    return math.factorial(order) * parts[order] if len(parts) > order else 0.0 * x


class Series:
    """The arithmetic, over the one of coefficients, which may be of series in another parameter."""

    def __init__(self, of: Any, order: int):
        self.of, self.order = of, order
        self.depth: int = of.depth + 1

    def parts(self, x: Any) -> list[Any]:
        """The coefficients; those that are missing are 0."""
        return x.coefficients if isinstance(x, Terms) and x.series is self else [x]

    def made(self, coefficients: Sequence[Any]) -> Any:
        return Terms(self, list(coefficients)[: self.order + 1]) if len(coefficients) > 1 else coefficients[0]

    # ---- arithmetic ----

    def plus(self, a: Any, b: Any, sign: float = 1.0) -> Any:
        found = []
        for p, q in zip_longest(self.parts(a), self.parts(b)):
            if q is None:
                found.append(p)
            elif p is None:
                found.append(q if sign > 0 else -q)
            else:
                found.append(p + q if sign > 0 else p - q)
        return self.made(found)

    def times(self, a: Any, b: Any) -> Any:
        p, q = self.parts(a), self.parts(b)
        size = min(self.order + 1, len(p) + len(q) - 1)
        return self.made(
            [sum_of(p[i] * q[n - i] for i in range(len(p)) if 0 <= n - i < len(q)) for n in range(size)]
        )

    def over(self, a: Any, b: Any) -> Any:
        p, q = self.parts(a), self.parts(b)
        if len(q) == 1:
            return self.made([c / q[0] for c in p])
        found: list[Any] = []
        for n in range(self.order + 1):
            found.append(_rest(p, n, (found[i] * q[n - i] for i in range(n) if n - i < len(q))) / q[0])
        return self.made(found)

    # ---- functions ----

    def exp(self, x: Any) -> Any:
        return self._exponential(self.of.exp(self.parts(x)[0]), x)

    def expm1(self, x: Any) -> Any:
        found = self.parts(self.exp(x))
        return self.made([self.of.expm1(self.parts(x)[0]), *found[1:]])

    def _exponential(self, first: Any, x: Any) -> Any:
        """``exp(x)``, whose constant term is known."""
        p, found = self.parts(x), [first]
        if len(p) == 1:
            return first
        for n in range(1, self.order + 1):
            found.append(sum_of(k / n * p[k] * found[n - k] for k in range(1, n + 1) if k < len(p)))
        return self.made(found)

    def power(self, x: Any, y: Any) -> Any:
        """Of a number `x`."""
        p = self.parts(y)
        first, log = self.of.power(x, p[0]), self.of.log(x)
        return self._exponential(first, self.made([0.0, *(c * log for c in p[1:])]))

    def log(self, x: Any) -> Any:
        return self._logarithm(self.of.log(self.parts(x)[0]), self.parts(x))

    def log1p(self, x: Any) -> Any:
        p = self.parts(x)
        return self._logarithm(self.of.log1p(p[0]), [1.0 + p[0], *p[1:]])

    def _logarithm(self, first: Any, p: list[Any]) -> Any:
        found = [first]
        if len(p) == 1:
            return first
        for n in range(1, self.order + 1):
            found.append(
                _rest(p, n, (k / n * found[k] * p[n - k] for k in range(1, n) if n - k < len(p))) / p[0]
            )
        return self.made(found)

    def sqrt(self, x: Any) -> Any:
        p = self.parts(x)
        found = [self.of.sqrt(p[0])]
        if len(p) == 1:
            return found[0]
        for n in range(1, self.order + 1):
            found.append(_rest(p, n, (found[k] * found[n - k] for k in range(1, n))) / (2.0 * found[0]))
        return self.made(found)

    def abs(self, x: Any) -> Any:
        return self.select(plain(x) < 0.0, -x, x)

    def lgamma(self, x: Any) -> Any:
        of = self.of
        return self._taylor(x, lambda n, p: of.polygamma(n - 1, p) if n else of.lgamma(p))

    def polygamma(self, order: int, x: Any) -> Any:
        return self._taylor(x, lambda n, p: self.of.polygamma(order + n, p))

    def _taylor(self, x: Any, slope: Callable[[int, Any], Any]) -> Any:
        """Of ``number + parameter`` alone, from the derivatives at the number."""
        p, power = self.parts(x), 1.0
        found = [slope(0, p[0])]
        for n in range(1, self.order + 1 if len(p) > 1 else 1):
            power = power * p[1]
            found.append(slope(n, p[0]) * power / math.factorial(n))
        return self.made(found)

    # ---- choices and loops ----

    def equal(self, a: Any, b: Any) -> Any:
        return self.of.equal(plain(a), plain(b))

    def select(self, condition: Any, a: Any, b: Any) -> Any:
        both = zip_longest(self.parts(a), self.parts(b), fillvalue=0.0)
        return self.made([self.of.select(condition, p, q) for p, q in both])

    def moves(self, change: Any, total: Any, tolerance: float) -> Any:
        """Of derivatives: does it matter beside them and the value?"""
        first, *rest = zip_longest(self.parts(change), self.parts(total), fillvalue=0.0)
        found = self.of.moves(first[0], first[1], tolerance)
        for c, t in rest:
            found = found | self.of.moves(c, self.of.abs(t) + self.of.abs(first[1]), tolerance)
        return found

    def where(
        self, condition: Any, usual: Sequence[Any], rule: Rule, operands: Sequence[tuple[Any, float]]
    ) -> list[Any]:
        flat, sizes = [], []
        for x, other in operands:
            parts = self.parts(x)
            flat += [(p, 0.0 if n else other) for n, p in enumerate(parts) if not isinstance(p, float)]
            sizes.append(parts)
        width = self.order + 1

        def of_parts(of: Any, *given: Any) -> list[Any]:
            left = iter(given)
            xs = [self.made([p if isinstance(p, float) else next(left) for p in parts]) for parts in sizes]
            return [c for y in rule(self, *xs) for c in self._full(y)]

        before = [c for y in usual for c in self._full(y)]
        found = self.of.where(condition, before, of_parts, flat)
        return [self.made(found[i : i + width]) for i in range(0, len(found), width)]

    def _full(self, x: Any) -> list[Any]:
        parts = self.parts(x)
        return [*parts, *[0.0] * (self.order + 1 - len(parts))]

    def until(self, state: Sequence[Any], step: Rule, most: int) -> list[Any]:
        width = self.order + 1

        def of_parts(of: Any, k: Any, *parts: Any) -> tuple[list[Any], Any]:
            new, on = step(self, k, *(self.made(parts[i : i + width]) for i in range(0, len(parts), width)))
            return [c for y in new for c in self._full(y)], on

        found = self.of.until([c for y in state for c in self._full(y)], of_parts, most)
        return [self.made(found[i : i + width]) for i in range(0, len(found), width)]

    def entry(self, name: str, table: Sequence[float], k: Any) -> Any:
        return self.of.entry(name, table, k)


def plain(x: Any) -> Any:
    """`x` without its derivatives."""
    while isinstance(x, Terms):
        x = x.coefficients[0]
    return x


def sum_of(parts: Iterable[Any]) -> Any:
    """The sum of one or more."""
    first, *others = parts
    for part in others:
        first = first + part
    return first


def _rest(p: list[Any], n: int, known: Iterable[Any]) -> Any:
    """Coefficient `n` without what is known."""
    rest = p[n] if n < len(p) else 0.0
    for part in known:
        rest = rest - part
    return rest


class Terms:
    """A series, for Python's operators."""

    __slots__ = ("series", "coefficients")
    __array_ufunc__ = None  # arrays leave operators to it

    def __init__(self, series: Series, coefficients: list[Any]):
        self.series, self.coefficients = series, coefficients

    def _of_both(self, other: Any) -> Series:
        """The one whose coefficients the other's terms may be."""
        both = isinstance(other, Terms) and other.series.depth > self.series.depth
        return other.series if both else self.series

    def __add__(self, other: Any) -> Any:
        return self._of_both(other).plus(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._of_both(other).plus(self, other, -1.0)

    def __rsub__(self, other: Any) -> Any:
        return self.series.plus(other, self, -1.0)

    def __neg__(self) -> Any:
        return self.series.made([-c for c in self.coefficients])

    def __mul__(self, other: Any) -> Any:
        return self._of_both(other).times(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._of_both(other).over(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self.series.over(other, self)

    def __lt__(self, other: Any) -> Any:
        return plain(self) < plain(other)

    def __le__(self, other: Any) -> Any:
        return plain(self) <= plain(other)

    def __gt__(self, other: Any) -> Any:
        return plain(self) > plain(other)

    def __ge__(self, other: Any) -> Any:
        return plain(self) >= plain(other)
