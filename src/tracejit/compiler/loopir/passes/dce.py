"""Dead code: stores that are never read or are overwritten at once, then their operands, then buffers.

Valid program in, valid program out, same results.
"""

from __future__ import annotations

from ..effects import is_plain, mentioned
from ..ir import Combine, Nest, Program, Store, While, walk
from ..operands import Buffer, IndexKey
from ..statement import Access, Statement


def drop_dead(program: Program) -> Program:
    """Remove what no output depends on, in place; returns the program."""
    read = {b for b in program.buffers if b.slot >= 0 and b.kind in ("output", "heap")}
    for s in walk(program.body):  # what a statement reads only to update it counts for nothing
        if isinstance(s, Access) and (reads := s.reads()):
            read.update(set(reads).difference(s.writes()) if s.only_writes else reads)
    _drop_dead_moves(program, read)
    program.body = _swept(program.body, read)
    used = {*mentioned(program.body), *(b for m in program.moves for b in (m.temp, m.target))}
    program.buffers = [
        b for b in program.buffers if b in used or b.kind in ("input", "output") or b.slot >= 0
    ]
    return program


def _drop_dead_moves(program: Program, read: set[Buffer]) -> None:
    """Temps stay temps where nobody reads what they would become part of; the others count as read."""
    waiting, program.moves = program.moves, []
    while live := [m for m in waiting if m.target in read]:
        program.moves += live
        waiting = [m for m in waiting if m not in live]
        read.update(m.temp for m in live)
    targets = {m.target for m in program.moves}
    for s in walk(program.body) if waiting else ():
        if isinstance(s, While):
            s.fills = [b for b in s.fills if b in targets]


def _swept(statements: list[Statement], read: set[Buffer]) -> list[Statement]:
    kept = []
    for s in statements:
        if s.only_writes and read.isdisjoint(s.writes()):
            continue
        if s.has_blocks:
            for block in s.blocks():
                block[:] = _swept(block, read)
        if isinstance(s, Nest):
            if is_plain(s):
                _sweep_nest(s)
            if not (s.body or s.tail):
                continue
        kept.append(s)
    return kept


def _sweep_nest(nest: Nest) -> None:
    live: set[str] = set()
    nest.tail = _live(nest.tail, live)
    accs = {a.name for a in nest.accs if a.name in live}
    scans = any(a.kind == "scan" for a in nest.axes)
    nest.body = _live(nest.body, live, None if scans else accs)
    if not scans:
        partners = {a for s in nest.body if isinstance(s, Combine) for a in s.accs}
        nest.accs = [a for a in nest.accs if a.name in partners]
        if not nest.accs:
            for axis in nest.axes:
                axis.kind = "parallel"


def _live(statements: list[Statement], live: set[str], accs: set[str] | None = None) -> list[Statement]:
    """Statements with an effect or a live result, last to first; `live` grows."""
    kept = []
    overwritten: dict[Buffer, set[IndexKey]] = {}  # what later statements write before anything reads it
    for s in reversed(statements):
        if isinstance(s, Store) and not s.add and s.guard is None:
            places = overwritten.setdefault(s.buffer, set())
            if s.index.key in places:
                continue
            places.add(s.index.key)
        elif isinstance(s, Access):
            for b in s.reads():
                overwritten.pop(b, None)
        names = s.defines()
        if names and live.isdisjoint(names):
            continue
        if isinstance(s, Combine) and accs is not None and accs.isdisjoint(s.accs):
            continue
        live.update(s.uses())
        kept.append(s)
    return kept[::-1]
