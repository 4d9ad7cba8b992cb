"""View: a tensor as a shape over a buffer. Changing a shape changes the view, never the memory.

Knows buffers and sizes; nothing of ops, nests or the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from ...core.dataclass import dataclass
from ...core.dim import Dim, Size, product
from ..loopir.operands import Buffer, Index

Term = tuple[str, Size]


@dataclass(frozen=True)
class Moving:
    """An offset known only at run time: element `position` of a rank-1 view, kept inside, times `stride`."""

    starts: View
    position: int
    room: Size  # the largest start that keeps the window inside
    stride: Size


@dataclass(frozen=True)
class View:
    """`shape` over `buffer`: element ``ix`` lies at ``index + sum(ix * strides)``, in buffer elements.

    A literal has no buffer but a `value`, the same for every element. Complex elements are two neighbouring
    reals; their strides count reals.
    """

    buffer: Buffer | None
    shape: tuple[Size, ...]
    strides: tuple[Size, ...]
    dtype: np.dtype
    const: Size = 0
    terms: tuple[Term, ...] = ()
    moving: tuple[Moving, ...] = ()
    value: Any = None

    @staticmethod
    def whole(buffer: Buffer, shape: Sequence[Size], dtype: np.dtype) -> View:
        """The row-major view of a whole buffer."""
        return View(buffer, tuple(shape), row_major(shape, 2 if dtype.kind == "c" else 1), dtype)

    @staticmethod
    def literal(value: Any, dtype: np.dtype, shape: Sequence[Size] = ()) -> View:
        """Every element is `value`."""
        return View(None, tuple(shape), (0,) * len(tuple(shape)), dtype, value=value)

    @property
    def memory(self) -> Buffer:
        """The buffer of a view that has one."""
        assert self.buffer is not None, "a literal has no memory"
        return self.buffer

    @property
    def unit(self) -> int:
        return 2 if self.dtype.kind == "c" else 1

    @property
    def is_contiguous(self) -> bool:
        """Row-major over consecutive elements (axes of size 1 do not matter)."""
        expected = row_major(self.shape, self.unit)
        return self.buffer is not None and all(
            s == e or d == 1 for d, s, e in zip(self.shape, self.strides, expected, strict=True)
        )

    @property
    def is_whole(self) -> bool:
        """Does it cover its buffer, in order?"""
        return (
            self.buffer is not None
            and self.is_contiguous
            and self.const == 0
            and not self.terms
            and not self.moving
            and product(self.shape) * self.unit == self.buffer.size
        )

    def index(self, positions: Sequence[Any], extra: Sequence[Term] = ()) -> Index:
        """The element offset at `positions`: axis names, int64 scalar names, or ints."""
        const: Size = self.const
        total: dict[str, Size] = {}
        for name, factor in (*self.terms, *extra):
            total[name] = total.get(name, 0) + factor
        for p, stride in zip(positions, self.strides, strict=True):
            if isinstance(p, (int, Dim)):
                const = const + p * stride
            elif stride != 0:
                total[p] = total.get(p, 0) + stride
        return Index(const, tuple((n, f) for n, f in total.items() if f != 0))

    def sliced(self, slices: Sequence[tuple[Size, Size, int]]) -> View:
        const, strides = self.const, []
        for stride, (start, _, step) in zip(self.strides, slices, strict=True):
            const = const + start * stride
            strides.append(stride * step)
        return replace(self, shape=tuple(n for _, n, _ in slices), strides=tuple(strides), const=const)

    def flipped(self, axis: int) -> View:
        return self.sliced([(d - 1, d, -1) if i == axis else (0, d, 1) for i, d in enumerate(self.shape)])

    def transposed(self, perm: Sequence[int]) -> View:
        return replace(
            self, shape=tuple(self.shape[p] for p in perm), strides=tuple(self.strides[p] for p in perm)
        )

    def broadcast(self, shape: Sequence[Size]) -> View:
        lead = len(shape) - len(self.shape)
        kept = (
            s if d == new or d != 1 else 0
            for d, s, new in zip(self.shape, self.strides, tuple(shape)[lead:], strict=True)
        )
        return replace(self, shape=tuple(shape), strides=(*(0,) * lead, *kept))

    def reshaped(self, shape: Sequence[Size]) -> View | None:
        """The view in another shape, or None when no strides express it."""
        shape = tuple(shape)
        if self.buffer is None or self.is_contiguous:
            unit = 0 if self.buffer is None else self.unit
            return replace(self, shape=shape, strides=row_major(shape, unit))
        strides = _split_and_join(self.shape, self.strides, shape)
        return None if strides is None else replace(self, shape=shape, strides=strides)

    def with_axis(self, axis: int, size: Size) -> View:
        """The view with a broadcast axis inserted."""
        return replace(
            self,
            shape=(*self.shape[:axis], size, *self.shape[axis:]),
            strides=(*self.strides[:axis], 0, *self.strides[axis:]),
        )

    def row(self, index: str) -> View:
        """Row `index` (a loop index) of the outermost axis."""
        moved = (*self.terms, (index, self.strides[0])) if self.strides[0] != 0 else self.terms
        return replace(self, shape=self.shape[1:], strides=self.strides[1:], terms=moved)

    def window(self, moving: tuple[Moving, ...], sizes: Sequence[Size]) -> View:
        return replace(
            self,
            shape=tuple(sizes),
            moving=(*self.moving, *(replace(m, stride=s) for m, s in zip(moving, self.strides, strict=True))),
        )


def row_major(shape: Sequence[Size], unit: Size = 1) -> tuple[Size, ...]:
    """Strides of consecutive elements, last axis fastest."""
    strides: list[Size] = []
    step: Size = unit
    for size in reversed(tuple(shape)):
        strides.append(step)
        step = step * size
    return tuple(reversed(strides))


def _split_and_join(
    old: Sequence[Size], old_strides: Sequence[Size], new: Sequence[Size]
) -> tuple[Any, ...] | None:
    """Match runs of old and new axes with equal products; a run joins only if its strides nest."""
    a = [(d, s) for d, s in zip(old, old_strides, strict=True) if d != 1]
    todo = list(new)
    strides: list[Size] = []
    while todo:
        if todo[0] == 1:
            todo.pop(0)
            strides.append(0)
            continue
        if not a:
            return None
        run, news = [a.pop(0)], [todo.pop(0)]
        while (left := product(d for d, _ in run)) != (right := product(news)):
            if isinstance(left, Dim) or isinstance(right, Dim) or left == 0:
                return None
            if left < right and a:
                run.append(a.pop(0))
            elif left > right and todo:
                news.append(todo.pop(0))
            else:
                return None
        if any(s != inner_s * inner_d for (_, s), (inner_d, inner_s) in pairwise(run)):
            return None
        strides.extend(row_major(news, run[-1][1]))
    return tuple(strides) if not a else None
