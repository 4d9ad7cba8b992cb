"""Arrays that are written piece by piece: the nests that write and read them run box by box.

``concat``, ``roll`` and ``pad`` copy their parts side by side, and the gradient of a slice is added to a part. Where a
run of nests writes parts of arrays of one shape, and reads of them what lies where it writes, the ends of all parts
divide the shape into boxes, and each box takes the statements of every nest that covers it: values pass in registers,
and copies that nobody reads any more go. Valid program in, valid program out, same results bit by bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from ....core.dataclass import dataclass
from ....core.dim import Size
from ...report import REWRITES, fired, wants
from ..effects import sequences
from ..ir import Compute, Load, Nest, Program, Size_, Store
from ..numbering.values import numbered
from ..operands import Axis, Buffer, Index, Name
from ..reach import reach
from ..slice_regions import Box, divided
from ..statement import Statement, renamed
from .dce import drop_dead

LEAST = 512  # elements of an array worth it
MAX_GROWTH = 4096  # statements that are written in a program
LONGEST = 32  # nests of one run
MOST_BOXES = 32
MAX_STATEMENTS = 256  # of one box
MAX_WRITTEN = 1024  # statements of all boxes
_SIMPLE = (Load, Store, Compute, Size_)


def join_pieces(program: Program) -> Program:
    """Do runs of nests box by box in every block, in place; returns the program."""
    names = (f"p{k}" for k in count())
    grown = 0
    for block in sequences(program.body):
        made: list[Statement] = []
        for run in _runs(block):
            joined = _joined(run, names) if grown < MAX_GROWTH else run
            grown += 0 if joined is run else sum(len(n.body) for n in joined)
            made += joined
        block[:] = made
    if grown:
        drop_dead(program)
    return program


def _runs(block: Sequence[Statement]) -> Iterator[list[Any]]:
    """The block in stretches: nests that may be done box by box, as long as they come, and what is between."""
    run: list[Any] = []
    for s in block:
        if run and is_candidate(s) != is_candidate(run[0]):
            yield run
            run = []
        run.append(s)
    yield run


def is_candidate(s: Statement) -> bool:
    """Is it a nest of simple statements in any order, of known sizes?"""
    return (
        isinstance(s, Nest)
        and not s.accs
        and not s.tail
        and all(a.kind == "parallel" and isinstance(a.size, int) and a.size > 0 for a in s.axes)
        and all(
            isinstance(t, _SIMPLE)
            and not (isinstance(t, Compute) and t.op == "index")
            and not (isinstance(t, Store) and (t.add or t.guard is not None))
            for t in s.body
        )
    )


def _joined(run: list[Any], names: Iterator[Name]) -> list[Any]:
    """The stretch with its runs done box by box; the list itself when there are none."""
    if len(run) < 2 or not is_candidate(run[0]):
        return run
    nests = [one for nest in run for one in _single(nest, names)]
    made: list[Any] = []
    changed = False
    while nests:
        parts = _parts(nests)
        cells = _cells(parts)
        if cells:
            if wants(REWRITES):
                fired(join_pieces, nests[0].location, what=f"{len(parts)} nests in {len(cells)} boxes")
            made += [_box(parts, box, covering, names) for box, covering in cells]
            changed = True
        else:
            made += nests[: max(len(parts), 1)]
        nests = nests[max(len(parts), 1) :]
    return made if changed else run


def _single(nest: Nest, names: Iterator[Name]) -> list[Nest]:
    """A nest with several stores as one for each, if none reads what another writes."""
    stores = [s for s in nest.body if isinstance(s, Store)]
    read = {s.buffer for s in nest.body if isinstance(s, Load)}
    if len({s.index.key for s in stores}) < 2 or any(s.buffer in read for s in stores):
        return [nest]
    made = []
    for store in stores:
        needed = {*store.uses()}
        body: list[Statement] = [store]
        for s in reversed(nest.body):
            if not isinstance(s, Store) and not needed.isdisjoint(s.defines()):
                needed.update(s.uses())
                body.insert(0, s)
        fresh = {name: next(names) for s in body for name in s.defines()}
        fresh.update((a.name, next(names)) for a in nest.axes)
        one = Nest(nest.axes, body, location=nest.location).renamed(fresh)
        one.source = nest.source
        made.append(one)
    return made


# ---- where nests lie ------------------------------------------------------------------------------------


@dataclass
class Part:
    """A nest, the box of the common shape that it covers, and the axis that runs along each dimension."""

    nest: Nest
    box: Box
    axes: tuple[Name | None, ...]


def _parts(nests: Sequence[Nest]) -> list[Part]:
    """As many nests from the first as lie in one shape, and touch what they write at their own place alone."""
    size = _size(nests[0])
    if size is None:
        return []
    nests = list(nests[:LONGEST])
    while True:
        written = {b for n in nests for b in _stored(n) if b.size == size}
        shape = shape_of(nests, written, size)
        parts: list[Part] = []
        for nest in nests:
            part = None if shape is None else _placed(nest, written, *shape)
            if part is None or not all(_is_elsewhere(p.nest, nest, written) for p in [*parts, part]):
                break
            parts.append(part)
        if len(parts) == len(nests):
            return parts
        nests = nests[: max(len(parts), 1)]
        if len(nests) == 1:
            return []


def _size(nest: Nest) -> int | None:
    sizes = {b.size for b in _stored(nest)}
    size = sizes.pop()
    return size if isinstance(size, int) and not sizes and size >= LEAST else None


def _stored(nest: Nest) -> list[Buffer]:
    return [s.buffer for s in nest.body if isinstance(s, Store)]


def _accesses(nest: Nest) -> list[Load | Store]:
    return [s for s in nest.body if isinstance(s, (Load, Store))]


def shape_of(nests: Sequence[Nest], arrays: set[Buffer], size: int) -> tuple[list[int], list[int]] | None:
    """The sizes and strides of a shape in which every access to `arrays` is a place."""
    steps: set[Any] = {1}
    for nest in nests:
        own = {a.name for a in nest.axes}
        for s in _accesses(nest):
            if s.buffer in arrays:
                steps.update(c for name, c in s.index.terms if name in own)
    if not all(isinstance(c, int) and c > 0 for c in steps):
        return None
    strides = sorted(steps, reverse=True)
    shape, whole = [], size
    for stride in strides:
        if whole % stride:
            return None
        shape.append(whole // stride)
        whole = stride
    return shape, strides


def _placed(nest: Nest, written: set[Buffer], shape: Sequence[int], strides: Sequence[int]) -> Part | None:
    """Where a nest lies, if all its accesses to what is written say the same."""
    found = {s.index.key: s.index for s in _accesses(nest) if s.buffer in written}
    if len(found) != 1:
        return None
    where = place(found.popitem()[1], nest, shape, strides)
    if where is None or {a for a in where[1] if a is not None} != {a.name for a in nest.axes}:
        return None
    return Part(nest, *where)


def place(
    index: Index, nest: Nest, shape: Sequence[int], strides: Sequence[int]
) -> tuple[Box, tuple[Name | None, ...]] | None:
    """The box of a shape that an index reaches in a nest, and the axis along each dimension."""
    sizes = {a.name: a.size for a in nest.axes}
    by_step = {c: name for name, c in index.terms}
    if len(by_step) != len(index.terms) or not sizes.keys() >= set(by_step.values()):
        return None
    rest: Any = index.const
    box: Box = []
    axes: list[Name | None] = []
    for extent, stride in zip(shape, strides, strict=True):
        if not isinstance(rest, int) or rest < 0:
            return None
        start, rest = divmod(rest, stride)
        axis = by_step.pop(stride, None)
        size: Any = 1 if axis is None else sizes[axis]
        if start + size > extent:
            return None
        box.append((start, size, 1))
        axes.append(axis)
    return None if by_step else (box, tuple(axes))


def _is_elsewhere(first: Nest, second: Nest, written: set[Buffer]) -> bool:
    """Is what one of them writes, apart from the arrays of the common shape, nowhere in the other?"""
    if written.issuperset(_stored(first)) and written.issuperset(_stored(second)):
        return True
    for one, other in ((first, second), (second, first)):
        for s in one.body:
            if isinstance(s, Store) and s.buffer not in written:
                for t in _accesses(other):
                    if t is not s and t.buffer is s.buffer and not is_apart(s.index, one, t.index, other):
                        return False
    return True


def is_apart(a: Index, nest: Nest, b: Index, other: Nest) -> bool:
    """Do the two never reach the same element, wherever the axes of their nests stand?"""
    first, second = (reach(i, {x.name: x.size for x in n.axes}) for i, n in ((a, nest), (b, other)))
    return first is not None and second is not None and first.misses(second)


# ---- boxes ----------------------------------------------------------------------------------------------


def _cells(parts: Sequence[Part]) -> list[tuple[Box, tuple[int, ...]]]:
    """The boxes that the parts divide their shape into, with those that cover each; none if that gains nothing."""
    if len(parts) < 2 or all(p.box == parts[0].box for p in parts) or not _hand_over(parts):
        return []
    shape = [max(p.box[k][0] + p.box[k][1] for p in parts) for k in range(len(parts[0].box))]
    cells = [cell for cell in divided(shape, [p.box for p in parts]) if cell[1]]
    lengths = [sum(len(parts[p].nest.body) for p in covering) for _, covering in cells]
    small = len(cells) <= MOST_BOXES and max(lengths) <= MAX_STATEMENTS and sum(lengths) <= MAX_WRITTEN
    return cells if small else []


def _hand_over(parts: Sequence[Part]) -> bool:
    """Does one write what a later one reads?"""
    written: set[Buffer] = set()
    for p in parts:
        if any(isinstance(s, Load) and s.buffer in written for s in p.nest.body):
            return True
        written.update(_stored(p.nest))
    return False


def _box(parts: Sequence[Part], box: Box, covering: Sequence[int], names: Iterator[Name]) -> Nest:
    """One nest over a box with the statements of all parts that cover it."""
    axes = [next(names) for _ in box]
    body: list[Statement] = []
    for p in covering:
        body += _within(parts[p], box, axes, names)
    nest = Nest(
        [Axis(axis, size) for axis, (_, size, _) in zip(axes, box, strict=True) if size != 1],
        numbered(body),
        location=parts[covering[0]].nest.location,
    )
    nest.source = parts[covering[0]].nest.source
    return nest


def _within(part: Part, box: Box, axes: Sequence[Name], names: Iterator[Name]) -> Iterator[Statement]:
    """The part's statements for the places of the box, under names of their own."""
    fresh = {name: next(names) for s in part.nest.body for name in s.defines()}
    places = {
        own: (axis, start - first, size)
        for own, axis, (start, size, _), (first, _, _) in zip(part.axes, axes, box, part.box, strict=True)
        if own is not None
    }
    for s in part.nest.body:
        new = renamed(s, fresh)
        if isinstance(new, (Load, Store)):
            new.index = moved(new.index, places)
        yield new


def moved(index: Index, places: Mapping[Name, tuple[Any, Any, Any]]) -> Index:
    """An index in a box: `places` gives, for an axis, the new one, where that starts, and its size."""
    const = index.const
    terms: dict[Name, Size] = {}
    for name, c in index.terms:
        axis, shift, size = places.get(name, (name, 0, 0))
        const = const + shift * c
        if size != 1:
            terms[axis] = terms.get(axis, 0) + c
    return Index(const, tuple(terms.items()))
