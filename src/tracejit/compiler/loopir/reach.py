"""The ranges of buffers that accesses touch while loops run, as far as they are known beforehand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...core.dataclass import dataclass
from ...core.dim import Size, nonnegative
from .operands import Index, Name


@dataclass(frozen=True)
class Reach:
    """The elements from `low` to `high`, counted from a place given by terms that are `outside` of the loops."""

    low: Size
    high: Size
    outside: frozenset[tuple[Name, Size]] = frozenset()

    def misses(self, other: Reach) -> bool:
        """Is all of it before the other, or behind it, whatever the sizes are?"""
        gaps = other.low - self.high - 1, self.low - other.high - 1
        return self.outside == other.outside and any(map(nonnegative, gaps))


def reach(index: Index, sizes: Mapping[Name, Size], steps: Iterable[tuple[Size, Size]] = ()) -> Reach | None:
    """What an index reaches while axes of these `sizes` count, and further so many steps of such lengths are taken.

    None where that is not known: going back by a step whose length is not.
    """
    low = high = index.const
    extents = [*steps, *((factor, sizes[name]) for name, factor in index.terms if name in sizes)]
    for factor, size in extents:
        if nonnegative(factor):
            high = high + factor * (size - 1)
        elif isinstance(factor, int):
            low = low + factor * (size - 1)
        else:
            return None
    return Reach(low, high, frozenset((name, c) for name, c in index.terms if name not in sizes))
