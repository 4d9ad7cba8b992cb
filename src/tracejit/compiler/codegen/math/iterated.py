"""Formulas that iterate, in vectors of double precision: loops until no lane goes on, each lane for itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....ops.elementwise.formulas.families import ITERATED
from ....ops.elementwise.formulas.gamma_family import polygamma
from ....ops.elementwise.formulas.quotient_arithmetic import Rule
from ...ir_text import TRUE, Value, integer, phi
from .definition import byte_table, called, in_double, vector_function
from .writer import Builder

_RELATIONS = frozenset(("oeq", "olt", "ole", "ogt", "oge"))


def _operator(operation: str, turned: bool = False) -> Any:
    """An operator of `Lanes` beside another or a number; relations make vectors of bools."""

    def method(self: Lanes, other: Any) -> Lanes:
        if not isinstance(other, (Lanes, float, int)):
            return NotImplemented
        a, b = (other, self) if turned else (self, other)
        return self.of.binary(operation, a, b)

    return method


class Lanes:
    """A vector, for Python's operators."""

    __slots__ = ("of", "value", "index")

    def __init__(self, of: OnVectors, value: Value, index: Value | None = None):
        self.of = of
        self.value = value
        self.index = index  # of what a loop counts, as an integer

    __add__, __sub__, __mul__, __truediv__ = map(_operator, ("fadd", "fsub", "fmul", "fdiv"))
    __radd__, __rmul__ = __add__, __mul__
    __rsub__, __rtruediv__ = _operator("fsub", turned=True), _operator("fdiv", turned=True)
    __lt__, __le__, __gt__, __ge__ = map(_operator, ("olt", "ole", "ogt", "oge"))
    __and__, __or__ = map(_operator, ("and", "or"))

    def __neg__(self) -> Lanes:
        return Lanes(self.of, self.of.b.neg(self.value))


def _as_method(name: str) -> Any:
    """An elementary function, which is called."""

    def method(self: OnVectors, *xs: Any) -> Lanes:
        return self.call(name, *xs)

    return method


class OnVectors:
    """The arithmetic that `formulas.iterated` describes."""

    depth = 0

    def __init__(self, builder: Builder):
        self.b = builder

    exp, expm1, log, log1p, sin, cos, lgamma, zeta = map(
        _as_method, ("exp", "expm1", "log", "log1p", "sin", "cos", "lgamma", "zeta")
    )
    power = _as_method("pow")

    def value(self, x: Any) -> Value:
        return x.value if isinstance(x, Lanes) else self.b.value(x)

    def binary(self, operation: str, a: Any, b: Any) -> Lanes:
        write = self.b.compare if operation in _RELATIONS else self.b.op
        return Lanes(self, write(operation, self.value(a), self.value(b)))

    def equal(self, a: Any, b: Any) -> Lanes:
        return self.binary("oeq", a, b)

    def select(self, condition: Lanes, a: Any, b: Any) -> Lanes:
        return Lanes(self, self.b.select(condition.value, self.value(a), self.value(b)))

    def abs(self, x: Any) -> Lanes:
        return Lanes(self, self.b.abs(self.value(x)))

    def sqrt(self, x: Any) -> Lanes:
        return Lanes(self, self.b.sqrt(self.value(x)))

    def copysign(self, x: Any, sign: Any) -> Lanes:
        return Lanes(self, self.b.copysign(self.value(x), self.value(sign)))

    def nearest(self, x: Any) -> Lanes:
        """Of sizes up to 2**51."""
        return Lanes(self, self.b.round(self.value(x))[0])

    def call(self, name: str, *xs: Any) -> Lanes:
        return Lanes(self, called(self.b, name, *map(self.value, xs)))

    special = call

    def polygamma(self, order: int, x: Any) -> Any:
        return polygamma(self, order, x)

    def moves(self, change: Any, total: Any, tolerance: float) -> Lanes:
        return self.abs(change) > tolerance * self.abs(total)

    # ---- choices and loops ----

    def where(
        self, condition: Lanes, usual: Sequence[Any], rule: Rule, operands: Sequence[tuple[Any, float]]
    ) -> list[Lanes]:
        w = self.b.w
        old = [self.value(y) for y in usual]
        with w.replacing(w.any_lane(condition.value), old, "some") as merged:
            made = rule(self, *(self.select(condition, x, other) for x, other in operands))
            merged += [
                self.select(condition, new, Lanes(self, y)).value for new, y in zip(made, old, strict=True)
            ]
        return [Lanes(self, y) for y in merged]

    def until(self, state: Sequence[Any], step: Rule, most: int) -> list[Lanes]:
        w, width, element = self.b.w, self.b.width, self.b.element
        first = [self.value(y) for y in state]
        all_lanes = w.splat(TRUE, width)
        before, head, after = w.block, w.fresh("loop"), w.fresh("end")
        w.branch(head)
        w.label(head)
        phis = w.reserve()
        kept = [Value(f"%{w.fresh('s')}", element, width) for _ in first]
        going, count = Value(f"%{w.fresh('s')}", "i1", width), Value(f"%{w.fresh('s')}", "i64")
        number = w.splat(w.convert("sitofp", count, element), width)
        new, on = step(self, Lanes(self, number, count), *(Lanes(self, y) for y in kept))
        made = [w.select(going, self.value(n), y) for n, y in zip(new, kept, strict=True)]
        on = self.b.op("and", going, on.value)
        next_count = w.binary("add", count, integer(1))
        more = w.binary("and", w.any_lane(on), w.compare("sle", next_count, integer(most)))
        arms = [*zip(kept, first, made, strict=True), (going, all_lanes, on), (count, integer(1), next_count)]
        phis += [f"  {y} = {phi((start, before), (later, w.block))}" for y, start, later in arms]
        w.fork(more, head, after)
        w.label(after)
        return [Lanes(self, y) for y in made]

    def entry(self, name: str, table: Sequence[float], k: Lanes) -> Lanes:
        b, symbol = self.b, f"@tj_{name}"
        assert k.index is not None, "an entry's number is what a loop counts"
        b.globals.append(byte_table(symbol, np.array(table).tobytes(), 8))
        index = b.w.binary("sub", k.index, integer(1))
        return Lanes(
            self, b.w.splat(b.w.load("double", b.w.step(Value(symbol, "ptr"), index, "double")), b.width)
        )


def _by_formula(name: str) -> None:
    """Declare the vector function of this name."""
    rule, operands = ITERATED[name]

    def write(b: Builder, *xs: Value) -> Value:
        of = OnVectors(b)
        return of.value(rule(of, *(Lanes(of, x) for x in xs)))

    vector_function(in_double(name, write), operands)


for _name in ITERATED:
    _by_formula(_name)
