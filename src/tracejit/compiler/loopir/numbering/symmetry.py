"""What becomes of the numbers of a nest when two of its axes change places: the same, another one, or its negative.

What two bodies do to each other is such a number, and so is a kernel of two points. Each scalar is numbered as it is
and with the axes exchanged, so that equal numbers mean equal values, as in ``values``. There are two kinds of numbers.
Equal `exact` ones mean the same bits. Equal `near` ones mean the same magnitude, where `sign` tells whose negative it
is; only the signs of zeros are left open, as ``a - b`` and ``b - a`` are both +0. What tells zeros apart, such as a
division by them, therefore asks for exact ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..ir import Compute, Load, Size_
from ..operands import Const, Index, Name, Operand
from ..scalar_ops import SCALAR_OPS
from ..statement import Statement


class Form(NamedTuple):
    """The numbers of a value; it is `sign` times what others of the same `near` are times theirs."""

    exact: int
    near: int
    sign: int = 1

    @property
    def signed(self) -> tuple[int, int]:
        return self.near, self.sign


class Symmetry:
    """The numbers of straight-line statements in a nest, and those they are with two axes exchanged.

    Attributes
    ----------
    here, there : dict
        Each scalar's form as it is, and with the axes exchanged.
    """

    def __init__(self, body: Sequence[Statement], one: Name, other: Name):
        self.numbers: dict[Any, int] = {}
        self.zeros: set[int] = set()  # near numbers of literals that are 0, and of others
        self.literals: set[int] = set()
        self.here: dict[Name, Form] = {}
        self.there: dict[Name, Form] = {}
        swapped = {one: other, other: one}
        for s in body:
            for name in s.defines():
                self.here[name] = self.form(s, self.here, {})
                self.there[name] = self.form(s, self.there, swapped)
        self.by_near: dict[int, Name] = {}
        for name, form in self.here.items():
            self.by_near.setdefault(form.near, name)

    def same(self, name: Name) -> tuple[Name, int]:
        """The first scalar that is `name`, or its negative, and the sign."""
        first = self.by_near[self.here[name].near]
        return first, self.here[name].sign * self.here[first].sign

    def mirror(self, name: Name) -> tuple[Name, int] | None:
        """The scalar, and the sign, that `name` is with the axes exchanged; None where there is no such scalar."""
        form = self.there[name]
        found = self.by_near.get(form.near)
        return None if found is None else (found, form.sign * self.here[found].sign)

    def number(self, *key: Any) -> int:
        return self.numbers.setdefault(key, len(self.numbers))

    def form(self, s: Statement, forms: Mapping[Name, Form], swapped: Mapping[Name, Name]) -> Form:
        """The form of what a statement defines, by those of its arguments."""
        match s:
            case Load(_, buffer, index, None):
                return self.as_is("load", buffer.name, self.index_key(index, forms, swapped))
            case Compute(_, "index", (axis,), dtype):
                return self.as_is("index", swapped.get(str(axis), axis), dtype)
            case Compute(_, op, args, dtype, argtype):
                found = [self.operand(a, forms) for a in args]
                of_floats = argtype.kind == "f" and (dtype.kind == "f" or SCALAR_OPS[op].result == "bool")
                rule = self.of_floats if of_floats else self.of_others
                return rule(op, found, f"{argtype.str}{dtype.str}")
            case Size_(_, size):
                return self.as_is("size", size)
            case _:
                return self.as_is("only", len(self.numbers))

    def as_is(self, *key: Any) -> Form:
        """The form of a value that has no sign to speak of."""
        exact = self.number(*key)
        return Form(exact, self.number("near", exact))

    def index_key(self, index: Index, forms: Mapping[Name, Form], swapped: Mapping[Name, Name]) -> Any:
        const, terms = index.key
        return const, frozenset(
            (forms[n].exact if n in forms else swapped.get(n, n), factor) for n, factor in terms
        )

    def operand(self, x: Operand, forms: Mapping[Name, Form]) -> Form:
        if isinstance(x, Const):
            if x.dtype.kind != "f" or x.value != x.value:
                return self.as_is("const", x.dtype.str, x.key())
            positive = Const(abs(x.value), x.dtype)
            near = self.number("near", x.dtype.str, positive.key())
            (self.literals if x.value else self.zeros).add(near)
            sign = -1 if np.signbit(x.value) and x.value != 0 else 1
            return Form(self.number("const", x.dtype.str, x.key()), near, sign)
        return forms[x] if x in forms else self.as_is("outside", x)

    def of_others(self, op: str, args: Sequence[Form], kind: str) -> Form:
        """Of whole numbers, bools and conversions."""
        exact = [a.exact for a in args]
        return self.as_is(op, kind, *_in_order(op, exact))

    # -- floats --

    def of_floats(self, op: str, args: Sequence[Form], kind: str) -> Form:
        special = _RULES.get(op)
        if special is not None:
            return special(self, args, kind)
        signed, exact = _in_order(op, [a.signed for a in args]), [a.exact for a in args]
        traits, first = SCALAR_OPS[op].traits, args[0]
        if "even" in traits:
            return self.as_is(op, kind, first.near)
        if "odd" in traits:
            return Form(self.number(op, kind, *exact), self.number("near", op, kind, first.near), first.sign)
        if "blind" in traits:
            return self.as_is(op, kind, *signed)
        if "zeros" in traits:
            return Form(self.number(op, kind, *exact), self.number("near", op, kind, *signed))
        return self.as_is(op, kind, *exact)

    def negative(self, args: Sequence[Form], kind: str) -> Form:
        (x,) = args
        return Form(self.number("neg", kind, x.exact), x.near, -x.sign)

    def product(self, args: Sequence[Form], kind: str) -> Form:
        x, y = args
        near = self.number("near", "mul", kind, *sorted([x.near, y.near]))
        if x.exact == y.exact:  # never -0
            return Form(self.number("square", kind, x.near), near)
        return Form(self.number("mul", kind, *sorted([x.exact, y.exact])), near, x.sign * y.sign)

    def quotient(self, args: Sequence[Form], kind: str) -> Form:
        x, y = args
        near = self.number("near", "div", kind, x.near, y.exact)
        return Form(self.number("div", kind, x.exact, y.exact), near, x.sign)

    def sum(self, args: Sequence[Form], kind: str) -> Form:
        x, y = args
        return self.added(x, y, self.number("add", kind, *sorted([x.exact, y.exact])), kind)

    def difference(self, args: Sequence[Form], kind: str) -> Form:
        x, y = args
        return self.added(x, y._replace(sign=-y.sign), self.number("sub", kind, x.exact, y.exact), kind)

    def added(self, x: Form, y: Form, exact: int, kind: str) -> Form:
        if x.near in self.zeros:
            return Form(exact, y.near, y.sign)
        if y.near in self.zeros:
            return Form(exact, x.near, x.sign)
        (first, sign), (second, other) = sorted([x.signed, y.signed])
        if x.near in self.literals or y.near in self.literals:  # then zeros of both signs give the same
            exact = self.number("added", kind, first, sign, second, other)
        return Form(exact, self.number("near", "add", kind, first, second, sign * other), sign)

    def choice(self, args: Sequence[Form], kind: str) -> Form:
        which, x, y = args
        exact = self.number("select", kind, *(a.exact for a in args))
        sign = y.sign if x.near in self.zeros else x.sign
        same = x.near in self.zeros or y.near in self.zeros or x.sign == y.sign
        return Form(exact, self.number("near", "select", kind, which.exact, x.near, y.near, same), sign)


def _in_order(op: str, args: list[Any]) -> list[Any]:
    """Arguments in one order for all orders that give the same."""
    return sorted(args) if "commutes" in SCALAR_OPS[op].traits else args


_RULES: Mapping[str, Callable[[Symmetry, Sequence[Form], str], Form]] = {
    "neg": Symmetry.negative,
    "mul": Symmetry.product,
    "div": Symmetry.quotient,
    "add": Symmetry.sum,
    "sub": Symmetry.difference,
    "select": Symmetry.choice,
}
