"""Buffer assignment: the places of temporaries in the workspace, and its size.

A temporary is live from the first to the last top-level statement that mentions it, or a buffer it was swapped
with: either may hold its contents. One that ended gives its place to the next of the same size. Sizes known
only at entry get places whose offsets are sizes too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ....core.dim import Dim, Size
from ....runtime.abi import WORKSPACE_ALIGN as ALIGN
from ..effects import mentioned
from ..ir import Call, HostCall, Load, Program, Store, While, walk
from ..operands import Buffer, BufferAlias, Index


def forward_to_rows(program: Program) -> Program:
    """Carry out the program's moves: temps become parts of their targets. In place; returns the program."""
    moves = {m.temp: m for m in program.moves}
    if not moves:
        return program
    for s in walk(program.body):
        if isinstance(s, (Load, Store)):
            s.buffer, s.index = _settled(s.buffer, s.index, moves)
        elif isinstance(s, (Call, HostCall)):
            places = (_settled(v.buffer, v.index, moves) for v in s.views)
            s.views = tuple(replace(v, buffer=b, index=i) for v, (b, i) in zip(s.views, places, strict=True))
        elif isinstance(s, While):
            s.fills = []  # what the stores inside say themselves now
    program.buffers = [b for b in program.buffers if b not in moves]
    program.moves = []
    return program


def _settled(buffer: Buffer, index: Index, moves: Mapping[Buffer, BufferAlias]) -> tuple[Buffer, Index]:
    """Where an element ends up: a row of a stack that is a row of another, in nested loops."""
    while (move := moves.get(buffer)) is not None:
        buffer, index = move.target, _shifted(index, move.index)
    return buffer, index


def _shifted(a: Index, b: Index) -> Index:
    terms = dict(a.terms)
    for name, factor in b.terms:
        terms[name] = terms.get(name, 0) + factor
    return Index(a.const + b.const, tuple(terms.items()))


def assign_buffers(program: Program) -> Program:
    """Set the offset of every temp and the program's workspace, in bytes; returns the program."""
    first: dict[Buffer, int] = {}
    last: dict[Buffer, int] = {}
    for position, statement in enumerate(program.body):
        for b in mentioned([statement]):
            if b.kind == "temp":
                first.setdefault(b, position)
                last[b] = position
    for group in _swapped(program):
        start, end = min(first[b] for b in group), max(last[b] for b in group)
        first.update(dict.fromkeys(group, start))
        last.update(dict.fromkeys(group, end))
    starts: dict[int, list[Buffer]] = {}
    ends: dict[int, list[Buffer]] = {}
    for b in first:
        starts.setdefault(first[b], []).append(b)
        ends.setdefault(last[b], []).append(b)
    static, symbolic = _Arena(), _Arena()
    for position in range(len(program.body)):
        for b in starts.get(position, ()):
            (symbolic if isinstance(b.size, Dim) else static).take(b)
        for b in ends.get(position, ()):
            (symbolic if isinstance(b.size, Dim) else static).give(b)
    for b in first:
        if isinstance(b.size, Dim):
            b.offset = b.offset + static.top
    program.workspace = static.top + symbolic.top
    return program


def _swapped(program: Program) -> list[list[Buffer]]:
    """Temporaries that loops exchange, directly or by way of others, in groups."""
    group: dict[Buffer, list[Buffer]] = {}
    for s in walk(program.body):
        for a, b in s.swaps if isinstance(s, While) else ():
            one, other = group.setdefault(a, [a]), group.setdefault(b, [b])
            if one is not other:
                one.extend(other)
                group.update(dict.fromkeys(other, one))
    return [members for b, members in group.items() if b is members[0] and b.kind == "temp"]


class _Arena:
    """Places handed out by size; `top` is the end of the last one."""

    def __init__(self) -> None:
        self.top: Size = 0
        self.free: dict[Size, list[Size]] = {}

    def take(self, b: Buffer) -> None:
        room = _bytes(b)
        places = self.free.get(room)
        if places:
            b.offset = places.pop()
            return
        b.offset = self.top
        self.top = self.top + room

    def give(self, b: Buffer) -> None:
        self.free.setdefault(_bytes(b), []).append(b.offset)


def _bytes(b: Buffer) -> Size:
    """Room for a buffer, a multiple of the alignment when its size is known."""
    exact = b.size * b.dtype.itemsize
    if isinstance(exact, Dim):
        return (b.size + (ALIGN - 1)) * b.dtype.itemsize
    return -(-max(exact, 1) // ALIGN) * ALIGN
