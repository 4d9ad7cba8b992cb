"""Names that stand for one of several Variables or a number: branches hand on the choice and the number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ....core.op import ops
from ....core.spec import TensorSpec
from ....core.tensor import Tensor
from ....core.tracing.dispatch import as_tensor
from ....ops.tensor.indexing import get
from ...state.either import Either, is_alias
from ...state.variable import Variable
from .kinds import Kind, coerced, held, is_number, number_kind

INDEX = Kind(TensorSpec((), np.dtype("int32")), False)


def variables_of(*values: Any) -> tuple[Variable, ...]:
    """Those that the values may stand for, each once."""
    variables = (v for x in values for v in ((x,) if isinstance(x, Variable) else getattr(x, "among", ())))
    return tuple({id(v): v for v in variables}.values())


def number_of(x: Any) -> Any:
    """What a name stands for where it is no Variable; None where it always is one."""
    return None if isinstance(x, Variable) else x.number if x.__class__ is Either else x


def leaf_kind(x: Any) -> Kind | None:
    """The type of a number or a Variable; None for anything else."""
    if is_alias(x):
        return Kind(x.spec, False)
    return number_kind(x) if is_number(x) else None


def position(x: Any, among: tuple[Variable, ...], which: Tensor | None = None) -> Tensor:
    """Where what a name stands for is among Variables, a number behind them all; `which` in place of its own."""
    if x.__class__ is not Either:
        return as_tensor(_index(x, among), INDEX.spec.dtype)
    there = [*(_index(v, among) for v in x.among), len(among)]
    return get(as_tensor(there, INDEX.spec.dtype), x.which if which is None else which)


def _index(x: Any, among: tuple[Variable, ...]) -> int:
    return next((k for k, v in enumerate(among) if v is x), len(among))


class Alias(NamedTuple):
    """The type of a loop variable that stands for one of these Variables, or for a number of a type.

    Attributes
    ----------
    among : tuple of Variable
    kind : Kind or None
        That of the number; None where it always is a Variable.
    """

    among: tuple[Variable, ...]
    kind: Kind | None

    def same(self, other: Any) -> bool:
        """The same Variables in the same places?"""
        return (
            isinstance(other, Alias)
            and self.kind == other.kind
            and [id(v) for v in self.among] == [id(v) for v in other.among]
        )

    def kinds(self) -> list[Kind]:
        """The types of what goes round."""
        return [INDEX, *([self.kind] if self.kind is not None else [])]

    def spread(self, x: Any) -> list[Tensor]:
        """What goes round for a value."""
        if self.kind is None:
            return [position(x, self.among)]
        number = number_of(x)
        if number is None:
            number = ops.fill(shape=self.kind.spec.shape, value=0, dtype=self.kind.spec.dtype)
        return [position(x, self.among), coerced(number, self.kind)]

    def value(self, take: Iterator[Tensor]) -> Either:
        """The value, of what went round."""
        which = next(take)
        return Either(which, self.among, None if self.kind is None else held(next(take), self.kind))
