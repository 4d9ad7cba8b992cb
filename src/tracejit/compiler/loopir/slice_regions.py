"""Boxes of indices: how overlapping static slices divide an array. Knows sizes and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any

from ...core.dim import Size, product

Slice = tuple[Size, Size, int]  # (start, size, step)
Box = list[Slice]
#: Slices that are compared with each other.
MOST = 64


def around(shape: Sequence[Size], slices: Sequence[Slice]) -> list[Box]:
    """Boxes that tile everything outside of `slices`."""
    parts = []
    inside: Box = [(0, d, 1) for d in shape]
    for k, (d, (start, size, _)) in enumerate(zip(shape, slices, strict=True)):
        for first, count in ((0, start), (start + size, d - start - size)):
            if count != 0:
                parts.append([*inside[:k], (first, count, 1), *inside[k + 1 :]])
        inside[k] = (start, size, 1)
    return parts


def relative(box: Sequence[Slice], part: Sequence[Slice]) -> Box:
    """The box as it lies in `part`, which it is inside of."""
    return [(start - first, size, 1) for (start, size, _), (first, _, _) in zip(box, part, strict=True)]


def overlap(shape: Sequence[Size], slices: Sequence[Sequence[Slice]]) -> bool:
    """Do these slices, two or more, of an array of known shape have most of each in common?"""
    flat = [t for s in slices for t in s]
    known = all(isinstance(x, int) for t in (*flat, shape) for x in t)
    if len(slices) < 2 or not known or not flat or any(t[2] != 1 for t in flat):
        return False
    for axis in zip(*slices, strict=True):
        low, high = max(a for a, _, _ in axis), min(a + n for a, n, _ in axis)
        if high - low < max(n for _, n, _ in axis) * 3 // 4 or high <= low:
            return False
    return True


def disjoint(slices: Sequence[Sequence[Slice]]) -> bool:
    """Have these few slices, of known sizes, no element in common?"""
    flat = [x for s in slices for t in s for x in t]
    if len(slices) > MOST or not all(isinstance(x, int) for x in flat):
        return False
    return all(any(map(_apart, a, b)) for a, b in combinations(slices, 2))


def _apart(a: Slice, b: Slice) -> bool:
    """Have two slices of one axis nothing in common? Of different steps only when one ends before the other begins."""
    if 0 in (a[1], b[1]):
        return True
    if a[2] == b[2] and (a[0] - b[0]) % a[2]:
        return True
    (low, high), (first, last) = (sorted((t[0], t[0] + (t[1] - 1) * t[2])) for t in (a, b))
    return high < first or last < low


def volume(box: Sequence[Slice]) -> Size:
    """How many elements a slice has."""
    return product(size for _, size, _ in box)


def divided(shape: Sequence[Size], slices: Sequence[Sequence[Slice]]) -> list[tuple[Box, tuple[int, ...]]]:
    """Boxes that tile an array, with the numbers of the slices that cover each; the largest and its rows first.

    Between two neighbouring ends of slices nothing changes along an axis. Neighbours that the same slices cover
    are joined, along the last axis first.
    """
    cells: list[tuple[Box, tuple[int, ...]]] = [([], tuple(range(len(slices))))]
    for k, d in enumerate(shape):
        assert isinstance(d, int)
        cells = [
            ([*box, piece], inside)
            for box, covering in cells
            for piece, inside in _divided_axis(d, k, slices, covering)
        ]
    for k in reversed(range(len(shape))):
        cells = _joined(cells, k)
    cells.sort(key=lambda cell: volume(cell[0]), reverse=True)
    rows = [box[0] for box, _ in cells][:1]
    return sorted(cells, key=lambda cell: [cell[0][0]] != rows)


def _divided_axis(
    d: int, k: int, slices: Sequence[Sequence[Slice]], covering: tuple[int, ...]
) -> list[tuple[Slice, tuple[int, ...]]]:
    ends = sorted(
        {0, d, *(e for p in covering for e in (slices[p][k][0], slices[p][k][0] + slices[p][k][1]))}
    )
    parts = []
    for low, high in pairwise(ends):
        inside = tuple(p for p in covering if slices[p][k][0] <= low < slices[p][k][0] + slices[p][k][1])
        parts.append(((low, high - low, 1), inside))
    return parts


def _joined(cells: list[tuple[Box, tuple[int, ...]]], k: int) -> list[tuple[Box, tuple[int, ...]]]:
    """Cells that differ along axis `k` alone, and touch there, as one."""
    lines: dict[tuple[Any, ...], list[Any]] = {}
    for box, covering in sorted(cells, key=lambda cell: cell[0][k][0]):
        key = (*box[:k], *box[k + 1 :], covering)
        runs = lines.setdefault(key, [])
        start, size, _ = box[k]
        if runs and runs[-1][0][k][0] + runs[-1][0][k][1] == start:
            first = runs[-1][0][k]
            runs[-1][0][k] = (first[0], first[1] + size, 1)
        else:
            runs.append(([*box], covering))
    return [cell for runs in lines.values() for cell in runs]
