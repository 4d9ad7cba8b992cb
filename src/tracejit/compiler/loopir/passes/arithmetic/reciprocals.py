"""Shared reciprocals, under ``fastmath`` only: several quotients by one number become products with its reciprocal.

Dividers take many times as long as multipliers, and the derivatives of quotients and roots divide by what the function
divides by. Valid program in, valid program out; where a product stands for a quotient it is off by up to 1.5 ULP,
where the divisor is a root by 3, instead of half of one. NaN, infinities and zeros come out as they do by division
unless divisor or reciprocal is no normal number: of divisors below 2e-308 or beyond 4e307, of float32 below 1e-38 or
beyond 8e37.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import count

import numpy as np

from .....core import settings
from ....report import REWRITES, fired, wants
from ...ir import Compute, Load, Nest, Program, walk
from ...operands import Const, Name, Operand
from ...statement import Statement
from ..dce import drop_dead


def share_reciprocals(program: Program) -> Program:
    """Multiply by reciprocals in every nest where that saves divisions, in place; returns the program."""
    if not settings.current().fastmath:
        return program
    names = (f"d{k}" for k in count())
    changed = 0
    for nest in [s for s in walk(program.body) if isinstance(s, Nest)]:
        for block in nest.blocks():
            divisors = Divisors(block, nest)
            if divisors.worth:
                block[:] = _multiplied(block, divisors, names)
                changed += 1
                if wants(REWRITES):
                    fired(
                        share_reciprocals,
                        nest.location,
                        what=f"of {', '.join(sorted(map(str, divisors.worth)))}",
                    )
    return drop_dead(program) if changed else program


class Divisors:
    """What a block of a nest divides by.

    Attributes
    ----------
    negatives : dict
        Numbers with another sign, and what they are without it.
    roots : dict
        Roots that are nothing but divisors, and what they are the roots of.
    worth : set of Operand
        Those to invert: roots, literals, what several numbers are divided by, what is the same along the last axis.
    """

    def __init__(self, block: list[Statement], nest: Nest):
        self.negatives: dict[Operand, Operand] = {}
        self.roots: dict[Operand, Operand] = {}
        quotients: Counter[Operand] = Counter()
        needed: set[Operand] = set()  # other than to divide by
        for s in block:
            match s:
                case Compute(out, "neg", (x,), dtype) if dtype.kind == "f":
                    self.negatives[out] = x
                case Compute(out, "sqrt", (x,)):
                    self.roots[out] = x
                    needed.add(x)
                case Compute(_, "div", (x, divisor), dtype) if dtype.itemsize > 2:
                    quotients[self.negatives.get(divisor, divisor)] += 1
                    needed.add(x)
                case _:
                    needed.update(n for inner in walk([s]) for n in inner.uses())
        needed.update(x for out, x in self.negatives.items() if out in needed)
        self.roots = {out: x for out, x in self.roots.items() if out not in needed}
        alike = quotients.keys() - _varying(block, nest)
        self.worth = {
            d
            for d, times in quotients.items()
            if times > 1 or d in self.roots or d in alike or isinstance(d, Const)
        }


def _varying(block: list[Statement], nest: Nest) -> set[Operand]:
    """Numbers that may differ along the last axis; all of the block where there is none."""
    if not nest.axes:
        return {n for s in block for n in s.uses()}
    varying: set[Operand] = {nest.axes[-1].name}
    written = {b for s in walk(block) for b in s.writes()}
    for s in block:
        if not varying.isdisjoint(s.uses()) or (isinstance(s, Load) and s.buffer in written):
            varying.update(s.defines())
    return varying


def _multiplied(block: list[Statement], divisors: Divisors, names: Iterator[Name]) -> list[Statement]:
    """The block with products in place of quotients by what is worth inverting."""
    inverses: dict[Operand, Operand] = {}
    made: list[Statement] = []
    for s in block:
        if isinstance(s, Compute) and s.op == "div":
            x, signed = s.args
            divisor = divisors.negatives.get(signed, signed)
            if divisor in divisors.worth:
                start = len(made)
                if divisor not in inverses:
                    inverses[divisor] = _inverse(divisor, divisors.roots, s.dtype, made, names)
                out = s.out if divisor is signed else next(names)
                made.append(Compute(out, "mul", (x, inverses[divisor]), s.dtype, s.dtype))
                if out is not s.out:
                    made.append(Compute(s.out, "neg", (out,), s.dtype, s.dtype))
                for new in made[start:]:
                    new.source = s.source
                continue
        made.append(s)
    return made


def _inverse(
    divisor: Operand,
    roots: Mapping[Operand, Operand],
    dtype: np.dtype,
    made: list[Statement],
    names: Iterator[Name],
) -> Operand:
    """The reciprocal of a divisor, computed at the end of `made` unless it is a literal."""
    if isinstance(divisor, Const):
        with np.errstate(all="ignore"):
            return Const(float(dtype.type(1) / dtype.type(divisor.value)), dtype)
    inverse = next(names)
    if divisor in roots:
        made.append(Compute(inverse, "rsqrt", (roots[divisor],), dtype, dtype))
    else:
        made.append(Compute(inverse, "div", (Const(1.0, dtype), divisor), dtype, dtype))
    return inverse
