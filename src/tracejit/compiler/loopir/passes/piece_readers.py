"""Readers of arrays that copies and constants fill piece by piece read the sources of these copies directly.

``pad`` and ``concat`` in front of a stencil are that: the stencil reads the array at other places than it was written
at. Where the ends of the pieces lie divides the reader into boxes; in each of them every read lies in one piece. Valid
program in, valid program out, same results bit by bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, count, pairwise, product
from math import prod
from typing import Any

from ....core.dataclass import dataclass
from ...report import REWRITES, fired, wants
from ..effects import effects, is_plain, sequences
from ..ir import Load, Nest, Program, Store, walk
from ..numbering.values import numbered
from ..operands import Axis, Buffer, Const, Name
from ..slice_regions import Box
from ..statement import Statement, renamed
from .dce import drop_dead
from .pieces import (
    LEAST,
    MAX_GROWTH,
    MAX_STATEMENTS,
    MAX_WRITTEN,
    MOST_BOXES,
    is_apart,
    is_candidate,
    moved,
    place,
    shape_of,
)

WINDOW = 64  # statements from the first use of an array to the last


def read_through_pieces(program: Program) -> Program:
    """Let readers of arrays made of copies read their sources, in place; returns the program."""
    names = (f"e{k}" for k in count())
    blocks = [(block, filled) for block in sequences(program.body) if (filled := _filled(block))]
    owners = _owners(program) if blocks else {}
    grown = 0
    for block, filled in blocks:
        slots = Slots(block)
        for b in filled:
            array = _array(b, slots) if owners[b] == {id(block)} and grown < MAX_GROWTH else None
            boxes = None if array is None else _all_read(array, names)
            for nest, made in boxes or ():
                grown += sum(len(n.body) for n in made)
                slots.put(nest, made)
                if wants(REWRITES):
                    fired(read_through_pieces, nest.location, what=f"{b} in {len(made)} boxes")
        block[:] = [s for slot in slots.statements for s in slot]
    if grown:
        drop_dead(program)
    return program


def _filled(block: Sequence[Statement]) -> list[Buffer]:
    """The temporaries that several stores of a block's nests write."""
    stores: dict[Buffer, int] = {}
    for nest in block:
        for s in nest.body if isinstance(nest, Nest) else ():
            if isinstance(s, Store):
                stores[s.buffer] = stores.get(s.buffer, 0) + 1
    known = (b for b, n in stores.items() if n > 1 and b.kind == "temp")
    return [b for b in known if isinstance(b.size, int) and b.size >= LEAST]


def _owners(program: Program) -> dict[Buffer, set[int]]:
    """The blocks whose nests use each buffer; 0 stands for other uses."""
    found: dict[Buffer, set[int]] = {b: {0} for m in program.moves for b in (m.temp, m.target)}
    for block in sequences(program.body):
        for s in block:
            inside = walk([s]) if isinstance(s, Nest) else [s]
            for b in {b for t in inside for b in t.buffers()}:
                found.setdefault(b, set()).add(id(block) if isinstance(s, Nest) else 0)
    return found


class Slots:
    """A block whose nests give their slot to others; `users` are the slots that use a buffer."""

    def __init__(self, block: Sequence[Statement]):
        self.statements: list[list[Statement]] = [[s] for s in block]
        self.users: dict[Buffer, list[int]] = {}
        for p, s in enumerate(block):
            if isinstance(s, Nest):
                self.note(p, s)

    def note(self, slot: int, nest: Nest) -> None:
        for b in {b for s in walk([nest]) for b in s.buffers()}:
            slots = self.users.setdefault(b, [])
            if slot not in slots:
                slots.append(slot)

    def using(self, b: Buffer) -> tuple[list[Nest], Sequence[Statement]]:
        """The nests that use a buffer, in order, and all statements from the first of them to the last."""
        slots = sorted(self.users[b])
        nests = [
            n
            for p in slots
            for n in self.statements[p]
            if isinstance(n, Nest) and any(b in t.buffers() for t in walk([n]))
        ]
        between = self.statements[slots[0] : slots[-1] + 1] if slots[-1] - slots[0] < WINDOW else []
        return nests, [s for slot in between for s in slot]

    def put(self, nest: Nest, made: Sequence[Nest]) -> None:
        """Let others take the place of a nest."""
        for slot in {p for s in nest.body for b in s.buffers() for p in self.users[b]}:
            at = next((k for k, s in enumerate(self.statements[slot]) if s is nest), None)
            if at is not None:
                self.statements[slot][at : at + 1] = made
                for n in made:
                    self.note(slot, n)


# ---- the array and its pieces ---------------------------------------------------------------------------


@dataclass
class Piece:
    """A box of the array: `value` is a constant, or a load by a nest whose axis runs along each dimension."""

    nest: Nest
    box: Box
    axes: tuple[Name | None, ...]
    value: Const | Load


@dataclass
class Array:
    """A buffer that pieces tile, and the nests that read it."""

    buffer: Buffer
    shape: list[int]
    strides: list[int]
    pieces: list[Piece]
    readers: list[Nest]


def _array(b: Buffer, slots: Slots) -> Array | None:
    """The array, if reading its sources instead of it gives the same."""
    nests, between = slots.using(b)
    if not between or not all(is_plain(n) and is_candidate(n) for n in nests):
        return None
    writers = [n for n in nests if any(isinstance(s, Store) and s.buffer is b for s in n.body)]
    readers = nests[len(writers) :]
    in_order = all(a is b for a, b in zip(nests, writers, strict=False))
    if not in_order or not readers:
        return None
    if any(isinstance(s, Load) and s.buffer is b for n in writers for s in n.body):
        return None
    frame = shape_of(nests, {b}, b.size) if isinstance(b.size, int) else None
    pieces = None if frame is None else _pieces(b, writers, *frame)
    if frame is None or pieces is None or not _tile(pieces, b):
        return None
    return Array(b, *frame, pieces, readers) if _stay(pieces, readers, between) else None


def _pieces(b: Buffer, writers: Sequence[Nest], shape: list[int], strides: list[int]) -> list[Piece] | None:
    pieces = []
    for nest in writers:
        made = {s.out: s for s in nest.body if isinstance(s, Load)}
        computed = {name for s in nest.body for name in s.defines()}
        for s in nest.body:
            if not isinstance(s, Store) or s.buffer is not b:
                continue
            value = s.value if isinstance(s.value, Const) else made.get(s.value)
            where = place(s.index, nest, shape, strides)
            if value is None or where is None or {a for a in where[1] if a} != {a.name for a in nest.axes}:
                return None
            if isinstance(value, Load) and (value.guard is not None or computed & set(value.index.symbols)):
                return None
            pieces.append(Piece(nest, *where, value))
    return pieces


def _tile(pieces: Sequence[Piece], b: Buffer) -> bool:
    apart = all(
        any(s + n <= t or t + m <= s for (s, n, _), (t, m, _) in zip(p.box, q.box, strict=True))
        for p, q in combinations(pieces, 2)
    )
    return apart and sum(prod(n for _, n, _ in p.box) for p in pieces) == b.size


def _stay(pieces: Sequence[Piece], readers: Sequence[Nest], between: Sequence[Statement]) -> bool:
    """Do the sources stay as they are until the last reader is done?"""
    loads = [(p.value, p.nest) for p in pieces if isinstance(p.value, Load)]
    sources = {load.buffer for load, _ in loads}
    for s in between:
        if isinstance(s, Nest) and any(s is r for r in readers):
            stores = [t for t in s.body if isinstance(t, Store) and t.buffer in sources]
            if not all(
                is_apart(t.index, s, load.index, nest)
                for t in stores
                for load, nest in loads
                if load.buffer is t.buffer
            ):
                return False
        elif not sources.isdisjoint(effects(s).writes):
            return False
    return True


# ---- readers --------------------------------------------------------------------------------------------


def _all_read(array: Array, names: Iterator[Name]) -> list[tuple[Nest, list[Nest]]] | None:
    """Every reader, with what takes its place; None when one does not work out."""
    found: list[tuple[Nest, list[Nest]]] = []
    for nest in array.readers:
        made = _boxes(array, nest, names)
        if made is None:
            return None
        found.append((nest, made))
    return found


def _boxes(array: Array, nest: Nest, names: Iterator[Name]) -> list[Nest] | None:
    """A reader divided where the pieces of the array end."""
    where: dict[Name, tuple[Box, tuple[Name | None, ...]]] = {}
    for s in nest.body:
        if isinstance(s, Load) and s.buffer is array.buffer:
            found = place(s.index, nest, array.shape, array.strides)
            if found is None or s.guard is not None:
                return None
            where[s.out] = found
    ends = {a.name: {0, a.size} for a in nest.axes}
    for box, axes in where.values():
        for k, ((start, size, _), axis) in enumerate(zip(box, axes, strict=True)):
            if axis is None:
                continue
            for piece in array.pieces:
                first, extent, _ = piece.box[k]
                cuts = (first - start, first + extent - start)
                ends[axis].update(c for c in cuts if 0 < c < size)
    lines = [list(pairwise(sorted(ends[a.name]))) for a in nest.axes]
    cells = list(product(*lines))
    length = len(nest.body)
    if len(cells) > MOST_BOXES or length > MAX_STATEMENTS or length * len(cells) > MAX_WRITTEN:
        return None
    largest = max(cells, key=_points)
    cells.sort(key=lambda cell: (cell is not largest, cell[:1] != largest[:1], -_points(cell)))
    return [_cell(array, nest, where, cell, names) for cell in cells]


def _points(cell: Sequence[Any]) -> int:
    return prod(end - start for start, end in cell)


def _cell(
    array: Array, nest: Nest, where: dict[Any, Any], cell: Sequence[Any], names: Iterator[Name]
) -> Nest:
    """The reader for one box of its axes."""
    fresh: dict[Name, Any] = {}
    inside: dict[Name, tuple[Name, int, int]] = {}  # the new axis, where it starts, its size
    for axis, (start, end) in zip(nest.axes, cell, strict=True):
        inside[axis.name] = (next(names), start, end - start)
    body: list[Statement] = []
    for s in nest.body:
        fresh.update((name, next(names)) for name in s.defines())
        if isinstance(s, Load) and s.out in where:
            box, axes = where[s.out]
            value = _element(array, box, axes, inside, fresh[s.out])
            if isinstance(value, Const):
                fresh[s.out] = value
            else:
                body.append(value)
            continue
        new = renamed(s, fresh)
        if isinstance(new, (Load, Store)):
            new.index = moved(new.index, inside)
        body.append(new)
    made = Nest(
        [Axis(axis, size) for axis, _, size in inside.values() if size > 1],
        numbered(body),
        location=nest.location,
    )
    made.source = nest.source
    return made


def _element(
    array: Array, box: Box, axes: Sequence[Name | None], inside: dict[Any, Any], out: Name
) -> Const | Load:
    """What a read of the array finds in a box of the reader."""
    places: list[Any] = [  # of each dimension: the new axis, the first place, how many
        (None, start, 1) if axis is None else (inside[axis][0], start + inside[axis][1], inside[axis][2])
        for (start, _, _), axis in zip(box, axes, strict=True)
    ]
    piece = next(
        p
        for p in array.pieces
        if all(
            s <= at and at + n <= s + extent for (_, at, n), (s, extent, _) in zip(places, p.box, strict=True)
        )
    )
    if isinstance(piece.value, Const):
        return piece.value
    along = {
        own: (axis, at - first, n)
        for own, (axis, at, n), (first, _, _) in zip(piece.axes, places, piece.box, strict=True)
        if own is not None
    }
    return Load(out, piece.value.buffer, moved(piece.value.index, along))
