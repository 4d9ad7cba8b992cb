"""What loop programs are made of below statements: buffers, names, offsets into buffers, literals.

Everything here is data and knows nothing of statements.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Union

import numpy as np

from ...core.dataclass import dataclass
from ...core.dim import Dim, Size
from ...core.lazy import once

#: Where a buffer's memory comes from.
#: input: read only, the entry's input `slot` · output: the entry's output `slot` (counted from 0), memory given by
#: the caller · constant: ctx.constants[slot] · temp: workspace at byte ``offset``, set by the plan · local: at most
#: 32 elements in registers (a stack slot that promotes) · heap: allocated through ctx when the program runs, grown
#: by Grow, released by Free; with a slot it is that output, and handed over to the caller.
KINDS = ("input", "output", "constant", "temp", "local", "heap")


@dataclass(eq=False)
class Buffer:
    """A linear run of `size` elements. Compared by identity; `name` is unique in its program."""

    name: str
    dtype: np.dtype
    size: Size
    kind: str
    slot: int = -1
    offset: Size = -1

    def __str__(self) -> str:
        return self.name


IndexKey = tuple[Size, frozenset[tuple[str, Size]]]
Name = str  # an SSA scalar ("v12"), an axis ("i3") or a loop index; unique in its program


@dataclass(frozen=True)
class Index:
    """A linear element offset: ``const + sum(coefficient * symbol)``.

    Symbols are axes, loop indices or int64 SSA scalars (an index that was itself loaded).
    """

    const: Size = 0
    terms: tuple[tuple[Name, Size], ...] = ()

    @once
    def key(self) -> IndexKey:
        """The same for two sums of the same terms in another order."""
        return self.const, frozenset(self.terms)

    @once
    def symbols(self) -> tuple[Name, ...]:
        return tuple([name for name, _ in self.terms])

    @once
    def dims(self) -> tuple[Dim, ...]:
        """The symbolic sizes it is worked out from."""
        return dims(self.const, *[c for _, c in self.terms])

    def renamed(self, names: Names) -> Index:
        """With other symbols, or literals, in place of those that `names` maps."""
        if names.keys().isdisjoint(self.symbols):
            return self
        const = self.const
        terms: dict[Name, Size] = {}
        for n, c in self.terms:
            new = names.get(n, n)
            if isinstance(new, str):
                terms[new] = terms.get(new, 0) + c
            else:
                const = const + int(new.value) * c
        return Index(const, tuple([(n, c) for n, c in terms.items() if c != 0]))

    def __str__(self) -> str:
        parts = [s if c == 1 else f"({c})*{s}" for s, c in self.terms]
        if self.const != 0 or not parts:
            parts.append(f"<{self.const}>" if isinstance(self.const, Dim) else str(self.const))
        return " + ".join(parts)


Operand = Union[Name, "Const"]
Names = Mapping[Any, Any]  # a renaming: names to names, and where a scalar is only read to operands


@dataclass(frozen=True)
class Const:
    """A literal scalar; floats are kept by their bits so that NaN and -0.0 are themselves."""

    value: float | int | bool
    dtype: np.dtype

    def key(self) -> str:
        return np.asarray(self.value, self.dtype).tobytes().hex()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and self.dtype == other.dtype and self.key() == other.key()

    def __hash__(self) -> int:
        return hash((self.value, self.dtype)) if self.value == self.value else 0

    def __str__(self) -> str:
        value = np.asarray(self.value, self.dtype)[()]
        if self.dtype.kind != "f":
            return str(value)
        odd = value != value and self.key() != Const(np.nan, self.dtype).key()
        return f"nan({self.key()})" if odd else float(value).hex()


@dataclass
class Acc:
    """A scalar accumulated over the reduce axes of its nest: visible in the nest's `tail` under `name`."""

    name: Name
    dtype: np.dtype
    init: Const


@dataclass
class Axis:
    """One loop of a nest. `kind`: parallel (any order), reduce (feeds Combine), scan (ascending order)."""

    name: Name
    size: Size
    kind: str = "parallel"


@dataclass
class View:
    """Operand of a Call: `buffer` from `index`, with element strides per axis."""

    buffer: Buffer
    index: Index
    strides: tuple[Size, ...]

    def dims(self) -> tuple[Dim, ...]:
        return (*self.index.dims, *dims(*self.strides))

    def renamed(self, names: Names) -> View:
        return View(self.buffer, self.index.renamed(names), self.strides)


@dataclass(frozen=True)
class BufferAlias:
    """A temp that turns out to be part of `target`: its element 0 is `target`'s element `index`."""

    temp: Buffer
    target: Buffer
    index: Index


def scalars(*operands: Operand | Size | None) -> tuple[Name, ...]:
    """The names among operands."""
    return tuple([x for x in operands if x.__class__ is str])


def dims(*sizes: Any) -> tuple[Dim, ...]:
    """The symbolic ones among sizes."""
    return tuple([s for s in sizes if s.__class__ is Dim])


def renamed(operand: Any, names: Names) -> Any:
    """What `names` maps an operand to, or the operand."""
    return names.get(operand, operand) if operand.__class__ is str else operand
