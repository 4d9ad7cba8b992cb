"""Literal factors, under ``fastmath`` only: those of a product are multiplied with each other, and applied once.

Derivatives are full of halves, doubled sums and changed signs: those of ``-0.5 * m / sqrt(r)`` by each coordinate of r
take six operations where one is enough. Each scalar is read as a literal times a root, which no literal multiplies:
``-(2 * x)`` is -2 times x, and ``(2 * x) * (3 * y)`` is 6 times ``x * y``. A root is multiplied where a statement other
than a product wants it. Where several products want the same literal, and share an operand that nothing else reads,
that operand is multiplied instead. A nest is left as it is unless operations are saved.

Valid program in, valid program out. No result is rounded more often than as written, and powers of two round nothing.
Literals beyond 2**32 or below 2**-32 are roots, products of literals too, so that only numbers within 2**64 of the
largest and smallest normal ones may overflow or underflow where they did not, or not where they did. Sums with the
literal 0, which change nothing but -0, are left out, as the rules on graphs do under this setting.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from itertools import count
from typing import NamedTuple

import numpy as np

from .....core import settings
from ....report import REWRITES, fired, wants
from ...ir import Compute, Nest, Program, walk
from ...operands import Const, Name, Operand
from ...statement import Statement, renamed

MOST = 2.0**32  # of a literal that is multiplied with others; its reciprocal is the least


class Scaled(NamedTuple):
    """A scalar as a literal times a root."""

    factor: float
    root: Name


def fold_factors(program: Program) -> Program:
    """Multiply by fewer literals in every nest, in place; returns the program."""
    if not settings.current().fastmath:
        return program
    names = (f"c{k}" for k in count())
    nests = [s for s in walk(program.body) if isinstance(s, Nest)]
    accumulators = {a.name for nest in nests for a in nest.accs}
    for nest in reversed(nests):  # inner ones first: those around them rename what they read
        for block in nest.blocks():
            made = Factors(block, accumulators, names).folded()
            if made is not None:
                saved = len(block) - len(made)
                block[:] = made
                if wants(REWRITES):
                    fired(fold_factors, nest.location, what=f"{saved} operations fewer")
    return program


def _is_moderate(value: float) -> bool:
    return 1 / MOST <= abs(value) <= MOST


def _times(x: float, y: float, dtype: np.dtype) -> float | None:
    product = float(dtype.type(x) * dtype.type(y))
    return product if _is_moderate(product) else None


class Product(NamedTuple):
    """A root that is the product of the roots of two scalars, whose literals are the scalar's that it comes from."""

    operands: tuple[Name, Name]
    dtype: np.dtype


class Factors:
    """What the scalars of a block are, and with which literals they are wanted.

    Attributes
    ----------
    scaled : dict
        Of scalars of the block that are multiples or products.
    products : dict
        The roots that are products.
    dtypes : dict
        Of the roots of multiples.
    multiples : set of int
        Statements, by identity, that only multiply by a literal.
    wanted : dict
        Root to the literals that it is wanted with, in their order.
    """

    def __init__(self, block: list[Statement], accumulators: Set[Name], names: Iterator[Name]):
        self.block, self.accumulators, self.names = block, accumulators, names
        self.scaled: dict[Name, Scaled] = {}
        self.products: dict[Name, Product] = {}
        self.dtypes: dict[Name, np.dtype] = {}
        self.multiples: set[int] = set()
        self.wanted: dict[Name, list[float]] = defaultdict(list)
        self.values: dict[Scaled, Name] = {}
        for s in block:
            if not (isinstance(s, Compute) and self._read(s)):
                for name in {n: None for inner in walk([s]) for n in inner.uses()}:
                    self._want(self.of(name))

    def of(self, name: Name) -> Scaled:
        return self.scaled.get(name) or Scaled(1.0, name)

    # ---- reading ----

    def _read(self, s: Compute) -> bool:
        """Is it a product or a multiple, which is noted?"""
        if s.dtype != s.argtype or s.dtype.kind != "f" or s.dtype.itemsize < 4:
            return False
        match s.op, s.args:
            case "neg", (str(x),):
                return self._multiple(s, x, -1.0)
            case "add", (str(x), str(y)) if x == y:
                return self._multiple(s, x, 2.0)
            case ("add", (Const(0), str(x))) | ("add", (str(x), Const(0))):
                return self._multiple(s, x, 1.0)
            case ("mul", (Const(literal), str(x))) | ("mul", (str(x), Const(literal))):
                return self._multiple(s, x, float(s.dtype.type(literal)))
            case "mul", (str(x), str(y)):
                a, b = self.of(x), self.of(y)
                factor = _times(a.factor, b.factor, s.dtype)
                if factor is None:
                    return False
                self.products[s.out] = Product((a.root, b.root), s.dtype)
                self.scaled[s.out], self.dtypes[s.out] = Scaled(factor, s.out), s.dtype
                return True
        return False

    def _multiple(self, s: Compute, x: Name, literal: float) -> bool:
        known = self.of(x)
        factor = _times(known.factor, literal, s.dtype) if _is_moderate(literal) else None
        if factor is None or x in self.accumulators:  # which change
            return False
        self.scaled[s.out], self.dtypes[known.root] = Scaled(factor, known.root), s.dtype
        self.multiples.add(id(s))
        return True

    def _want(self, scaled: Scaled) -> None:
        if scaled.factor not in self.wanted[scaled.root]:
            self.wanted[scaled.root].append(scaled.factor)

    # ---- where to multiply ----

    def _settle(self) -> None:
        """Note what products want: the roots of what they multiply, one of them with a literal where that is shared."""
        readers: dict[Name, list[Name]] = defaultdict(list)
        settled: set[Name] = set()
        for root, product in reversed(self.products.items()):
            found = readers[root]
            if settled.isdisjoint(found) and self._is_shared(root, found):
                settled.update(found)
                self.wanted[root] = list(self.wanted[found[0]])
            elif found:
                self._want(Scaled(1.0, root))
            for operand in product.operands if self.wanted[root] else ():
                readers[operand].append(root)

    def _is_shared(self, root: Name, readers: Sequence[Name]) -> bool:
        """Do several products read it, once each, and nothing else, and are all wanted with the same literal?"""
        literals = {tuple(self.wanted[r]) for r in readers}
        return (
            len(set(readers)) == len(readers) > 1
            and not self.wanted[root]
            and len(literals) == 1
            and len(self.wanted[readers[0]]) == 1
            and literals != {(1.0,)}
        )

    # ---- writing ----

    def folded(self) -> list[Statement] | None:
        """The block with literals where they are wanted; None where that saves nothing."""
        if not self.multiples:
            return None
        self._settle()
        made: list[Statement] = []
        new: dict[Name, Name] = {}  # what to read in place of scalars of the block
        inside = {n for s in self.block for n in s.defines()}
        for root in [r for r in self.dtypes if r not in inside]:
            self._write_multiples(Scaled(1.0, root), None, made)
        for s in self.block:
            if id(s) in self.multiples:
                pass
            elif isinstance(s, Compute) and s.out in self.products:
                self._write_product(s, made)
            else:
                made.append(renamed(s, new))
                for name in s.defines():
                    self._write_multiples(Scaled(1.0, name), s.source, made)
            for name in s.defines():
                new[name] = self._value(self.of(name)) or name
        return made if len(made) < len(self.block) else None

    def _value(self, scaled: Scaled) -> Name | None:
        """The name of a scalar that was written, or that is not of products."""
        raw = scaled.root if scaled.factor == 1.0 and scaled.root not in self.products else None
        return self.values.get(scaled, raw)

    def _write_product(self, s: Compute, made: list[Statement]) -> None:
        wanted, (first, second) = self.wanted[s.out], self.products[s.out].operands
        if not wanted:
            return
        pairs = [(x, y) for x in self._factors(first) for y in self._factors(second)]
        exact = [(x, y) for x, y in pairs if len(wanted) == 1 and x * y == wanted[0]]
        x, y = exact[0] if exact else (1.0, 1.0)
        best = Scaled(x * y, s.out)
        self.values[best] = next(self.names)
        args = tuple(str(self._value(z)) for z in (Scaled(x, first), Scaled(y, second)))
        self._append(Compute(self.values[best], "mul", args, s.dtype, s.dtype), s.source, made)
        self._write_multiples(best, s.source, made)

    def _factors(self, root: Name) -> list[float]:
        """The literals with which a root was written."""
        return [f for f in {1.0: None, **dict.fromkeys(self.wanted[root])} if self._value(Scaled(f, root))]

    def _write_multiples(self, known: Scaled, source: object, made: list[Statement]) -> None:
        """Write what is wanted of a root that was written as `known`."""
        root, name = known.root, str(self._value(known))
        for factor in self.wanted[root]:
            if factor == known.factor:
                continue
            dtype = self.dtypes[root]
            self.values[Scaled(factor, root)] = out = next(self.names)
            op, args = _multiplied(name, factor, dtype)
            self._append(Compute(out, op, args, dtype, dtype), source, made)

    def _append(self, s: Compute, source: object, made: list[Statement]) -> None:
        s.source = source
        made.append(s)


def _multiplied(x: Name, factor: float, dtype: np.dtype) -> tuple[str, tuple[Operand, ...]]:
    if factor == -1.0:
        return "neg", (x,)
    return ("add", (x, x)) if factor == 2.0 else ("mul", (x, Const(factor, dtype)))
