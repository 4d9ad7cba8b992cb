"""Fusion: nests over the same iteration space become one, values pass in registers instead of through memory.

Valid program in, valid program out, same results bit by bit. A nest joins the latest earlier one that has its
axes if no statement between them and no element they share forbids it: what one writes the other may touch
only at the same index. Each scalar is computed once per nest; stores nobody reads are dropped at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..core.dim import Size
from .loops import (
    Allocate,
    Axis,
    Buffer,
    Call,
    Combine,
    Compute,
    Fail,
    Free,
    Grow,
    HostCall,
    If,
    Index,
    Load,
    Nest,
    Program,
    Size_,
    Statement,
    Store,
    While,
    blocks,
    buffers_of,
    walk,
)

MAX_STATEMENTS = 512
WINDOW = 48  # how many groups back a nest looks for one to join

IndexKey = tuple[Any, frozenset]


def fuse(program: Program) -> Program:
    """Fuse every block of the program, in place; returns it."""
    program.body = fuse_block(program.body)
    drop_dead(program)
    return program


def fuse_block(statements: Sequence[Statement]) -> list[Statement]:
    """Fuse one block, inner blocks first."""
    groups: list[Group] = []
    for statement in statements:
        for block in blocks(statement) if isinstance(statement, (While, If)) else ():
            block[:] = fuse_block(block)
        group = Group.of(statement)
        home = _home(groups, group)
        if home is None:
            groups.append(group)
        else:
            home[0].absorb(group, home[1])
    return [g.statement for g in groups]


def _home(groups: list[Group], new: Group) -> tuple[Group, str] | None:
    """The group to join and the part of it (body or tail), or None."""
    if not new.can_join:
        return None
    found = None
    for group in reversed(groups[-WINDOW:]):
        conflicts = group.conflicts(new)
        part = group.accepts(new) if group.is_nest else None
        if part is not None:
            found = (group, part)
            if conflicts:
                return found
        if conflicts:
            return found
    return found


@dataclass
class Group:
    """A statement with what it reads and writes.

    `reads` and `writes` name buffers and block-level scalars. For nests, `loaded` and `stored` give the
    indices of body and tail accesses by buffer; None as an index is one that fusion must not reason about.
    """

    statement: Any
    reads: set
    writes: set
    is_nest: bool = False
    can_join: bool = False
    loaded: dict[str, dict[Buffer, set]] = field(default_factory=dict)
    stored: dict[str, dict[Buffer, set]] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    count: int = 0

    @staticmethod
    def of(statement: Statement) -> Group:
        reads, writes = accesses(statement)
        group = Group(statement, reads, writes)
        if isinstance(statement, Nest) and not any(isinstance(s, (Nest, While, If)) for s in statement.body):
            group.is_nest = True
            group.can_join = not any(a.kind == "scan" for a in statement.axes)
            for part, body in (("body", statement.body), ("tail", statement.tail)):
                group.loaded[part], group.stored[part] = _indices(body)
                group.tables[part] = Table()
            group.count = len(statement.body) + len(statement.tail)
        return group

    def conflicts(self, later: Group) -> bool:
        """Must `later` stay behind this statement?"""
        return not (
            self.writes.isdisjoint(later.reads)
            and self.writes.isdisjoint(later.writes)
            and self.reads.isdisjoint(later.writes)
        )

    def accepts(self, later: Group) -> str | None:
        """Where `later` may join: in the body, in the tail, or nowhere."""
        mine, other = self.statement, later.statement
        if not self.can_join or self.count + later.count > MAX_STATEMENTS:
            return None
        if len(mine.axes) == len(other.axes) and all(
            a.size == b.size for a, b in zip(mine.axes, other.axes, strict=True)
        ):
            kinds = [a.kind for a in mine.axes] == [a.kind for a in other.axes]
            if (kinds or not mine.accs or not other.accs) and self._aligned(later, "body", mine.axes):
                return "body"
        if mine.accs and not other.accs:
            outer = [a for a in mine.axes if a.kind == "parallel"]
            same = len(outer) == len(other.axes) and all(
                a.size == b.size for a, b in zip(outer, other.axes, strict=True)
            )
            if same and self._aligned(later, "tail", outer):
                return "tail"
        return None

    def _aligned(self, later: Group, part: str, axes: Sequence[Axis]) -> bool:
        """Do the elements both touch coincide, index by index?"""
        rename = {b.name: a.name for a, b in zip(axes, later.statement.axes, strict=True)}
        every = frozenset(a.name for a in axes)
        other = "tail" if part == "body" else "body"
        for b in (self.writes & later.reads) | (self.writes & later.writes):
            if not isinstance(b, Buffer) or b in self.stored[other]:
                return False
            touched = later.touched(b, rename)
            if touched is None or len(self.stored[part][b] | touched) != 1 or not _covers(touched, every):
                return False
        for b in self.reads & later.writes:
            if not isinstance(b, Buffer) or b in self.loaded[other]:
                return False
            touched = later.touched(b, rename)
            if (
                touched is None
                or len(self.loaded[part].get(b, touched) | touched) != 1
                or not _covers(touched, every)
            ):
                return False
        return True

    def touched(self, b: Buffer, rename: dict[str, str]) -> set | None:
        """Indices at which the body uses `b`, renamed; None when the tail does too, or one is unknown."""
        if b in self.loaded["tail"] or b in self.stored["tail"]:
            return None
        found = self.loaded["body"].get(b, set()) | self.stored["body"].get(b, set())
        return None if None in found else {_renamed_key(k, rename) for k in found}

    def absorb(self, later: Group, part: str) -> None:
        """Append the other nest's statements to this one's `part`."""
        mine, other = self.statement, later.statement
        axes = mine.axes if part == "body" else [a for a in mine.axes if a.kind == "parallel"]
        rename = {b.name: a.name for a, b in zip(axes, other.axes, strict=True)}
        if not self.tables[part].started:
            self._restart(part)
        target = mine.body if part == "body" else mine.tail
        renamed = self.tables[part].append(target, other.body, rename)
        if other.accs:
            for a, b in zip(mine.axes, other.axes, strict=True):
                a.kind = b.kind
            mine.accs.extend(other.accs)
            if not self.tables["tail"].started:
                self._restart("tail")
            self.tables["tail"].append(
                mine.tail, other.tail, {k: v for k, v in renamed.items() if v in _names(mine.axes)}
            )
        for table, more in ((self.loaded, later.loaded), (self.stored, later.stored)):
            for source in ("body", "tail"):
                into = table[part if source == "body" else "tail"]
                for b, keys in more[source].items():
                    into.setdefault(b, set()).update(
                        None if k is None else _renamed_key(k, rename) for k in keys
                    )
        self.reads |= later.reads
        self.writes |= later.writes
        self.count = len(mine.body) + len(mine.tail)

    def _restart(self, part: str) -> None:
        """Run the nest's own statements through the table, so that later ones find them."""
        nest = self.statement
        own = nest.body if part == "body" else nest.tail
        fresh: list[Statement] = []
        self.tables[part].append(fresh, own, {})
        own[:] = fresh


def _names(axes: Iterable[Axis]) -> set[str]:
    return {a.name for a in axes}


class Table:
    """Value numbering of straight-line statements: each scalar is computed, loaded or forwarded once."""

    def __init__(self) -> None:
        self.started = False
        self.names: dict[str, Any] = {}
        self.known: dict[tuple, str] = {}
        self.memory: dict[Buffer, dict[tuple, Any]] = {}

    def append(
        self, target: list[Statement], statements: Sequence[Statement], rename: dict[str, str]
    ) -> dict[str, Any]:
        """Add `statements`, with `rename` applied, to `target`; returns the complete renaming."""
        self.started = True
        names: dict[Any, Any] = self.names
        names.update(rename)
        for s in statements:
            match s:
                case Load(out, buffer, index, guard, other):
                    index = _renamed(index, names)
                    if guard is None:
                        cells = self.memory.setdefault(buffer, {})
                        key = _key(index)
                        if key in cells:
                            names[out] = cells[key]
                            continue
                        cells[key] = out
                    target.append(Load(out, buffer, index, names.get(guard, guard), names.get(other, other)))
                case Compute(out, op, args, dtype, argtype):
                    args = tuple([names.get(a, a) for a in args])
                    same = (op, args, dtype, argtype)
                    if same in self.known:
                        names[out] = self.known[same]
                        continue
                    self.known[same] = out
                    target.append(Compute(out, op, args, dtype, argtype))
                case Size_(out, size):
                    if ("size", size) in self.known:
                        names[out] = self.known["size", size]
                        continue
                    self.known["size", size] = out
                    target.append(s)
                case Store(buffer, index, value, add, guard):
                    index, value = _renamed(index, names), names.get(value, value)
                    target.append(Store(buffer, index, value, add, names.get(guard, guard)))
                    self.memory[buffer] = {} if add or guard is not None else {_key(index): value}
                case Combine(rule, accs, values):
                    target.append(Combine(rule, accs, tuple(names.get(v, v) for v in values)))
                case _:
                    target.append(s)
        return names


def _renamed(index: Index, names: dict[str, Any]) -> Index:
    if not any(n in names for n, _ in index.terms):
        return index
    const = index.const
    terms: dict[str, Size] = {}
    for n, c in index.terms:
        new = names.get(n, n)
        if isinstance(new, str):
            terms[new] = terms.get(new, 0) + c
        else:
            const = const + new.value * c
    return Index(const, tuple((n, c) for n, c in terms.items() if c != 0))


def _key(index: Index) -> IndexKey:
    return index.const, frozenset(index.terms)


def _renamed_key(key: IndexKey, rename: dict[str, str]) -> IndexKey:
    return key[0], frozenset((rename.get(n, n), c) for n, c in key[1])


def _covers(keys: set, axes: frozenset) -> bool:
    """Does the one index differ for every point of the axes?"""
    return all(axes <= {n for n, _ in terms} for _, terms in keys)


def _indices(body: Sequence[Statement]) -> tuple[dict, dict]:
    loaded: dict[Buffer, set] = {}
    stored: dict[Buffer, set] = {}
    computed = {s.out for s in body if isinstance(s, (Load, Compute, Size_))}
    for s in body:
        if isinstance(s, Load):
            loaded.setdefault(s.buffer, set()).add(_safe_key(s.index, computed))
        elif isinstance(s, Store):
            key = _safe_key(s.index, computed)
            stored.setdefault(s.buffer, set()).add(key)
            if s.add or s.guard is not None:
                loaded.setdefault(s.buffer, set()).add(key)
    return loaded, stored


def _safe_key(index: Index, computed: set[str]) -> IndexKey | None:
    """The index as a key; None when it depends on a scalar of the nest."""
    return None if any(n in computed for n, _ in index.terms) else _key(index)


def accesses(statement: Statement) -> tuple[set, set]:
    """Buffers and outer scalars a statement (with all it holds) reads and writes."""
    reads: set = set()
    writes: set = set()
    defined: set[str] = set()
    for s in walk([statement]):
        match s:
            case Load(out, buffer, index):
                reads.update((buffer, *_read_by(index)))
                defined.add(out)
            case Compute(out, _, args):
                reads.update(a for a in args if a.__class__ is str)
                defined.add(out)
            case Size_(out, size):
                reads.update(("size", n) for n in _atoms(size))
                defined.add(out)
            case Store(buffer, index, value, add, guard):
                writes.add(buffer)
                if add or guard is not None:
                    reads.add(buffer)
                reads.update(_read_by(index))
                reads.update(v for v in (value, guard) if v.__class__ is str)
            case Combine(_, _, values):
                reads.update(v for v in values if v.__class__ is str)
            case Nest():
                defined.update(a.name for a in s.axes)
                defined.update(a.name for a in s.accs)
                reads.update(("size", n) for a in s.axes for n in _atoms(a.size))
            case While():
                reads.update(x for x in (s.count, s.test) if x.__class__ is str)
                defined.add(s.index)
                writes.update(s.fills, *s.swaps)
                reads.update(b for pair in s.swaps for b in pair)
                if s.trips is not None:
                    writes.add(s.trips)
                if s.binds is not None:
                    writes.add(("size", s.binds))
            case If(test):
                reads.update(x for x in (test,) if x.__class__ is str)
            case Call(_, views, sizes) | HostCall(_, views, sizes):
                reads.update(x for v in views for x in (v.buffer, *_read_by(v.index)))
                reads.update(("size", n) for size in sizes for n in _atoms(size))
                writes.add(views[-1].buffer if isinstance(s, Call) else "what host functions do")
            case Allocate(buffer, elements):
                writes.add(buffer)
                if elements.__class__ is str:
                    reads.add(elements)
                else:
                    reads.update(("size", n) for n in _atoms(elements))
            case Grow(buffer, index):
                writes.add(buffer)
                reads.update((buffer, *_read_by(index)))
            case Free(buffer):
                writes.add(buffer)
            case Fail(test, _, details):
                reads.update(x for x in (test, *details) if x.__class__ is str)
    if isinstance(statement, (Load, Compute, Size_)):
        writes.add(statement.out)
    return reads - defined, writes


def _read_by(index: Index) -> Iterator[Any]:
    """The scalars and sizes that an offset is worked out from."""
    for name, factor in index.terms:
        yield name
        yield from (("size", n) for n in _atoms(factor))
    yield from (("size", n) for n in _atoms(index.const))


def _atoms(size: Any) -> Iterable[str]:
    return () if isinstance(size, int) else (a.name for a in size.atoms())


# ---- dead code ------------------------------------------------------------------------------------------


def drop_dead(program: Program) -> None:
    """Remove stores to buffers nobody reads, then scalars nobody uses, then empty nests and unused buffers."""
    read: set[Buffer] = {b for b in program.buffers if b.slot >= 0 and b.kind in ("output", "heap")}
    for s in walk(program.body):
        match s:
            case Load(_, buffer):
                read.add(buffer)
            case Call(_, views) | HostCall(_, views):
                read.update(v.buffer for v in views)
            case While():
                read.update(b for pair in s.swaps for b in pair)
    _drop_dead_moves(program, read)
    program.body = _swept(program.body, read)
    used = {b for s in walk(program.body) for b in buffers_of(s)}
    program.buffers = [
        b for b in program.buffers if b in used or b.kind in ("input", "output") or b.slot >= 0
    ]


def _drop_dead_moves(program: Program, read: set[Buffer]) -> None:
    """Temps stay temps where nobody reads what they would become part of; the others count as read."""
    waiting, program.moves = program.moves, []
    while live := [m for m in waiting if m.target in read]:
        program.moves += live
        waiting = [m for m in waiting if m not in live]
        read.update(m.temp for m in live)


def _swept(statements: list[Statement], read: set[Buffer]) -> list[Statement]:
    kept: list[Statement] = []
    for s in statements:
        match s:
            case Nest():
                s.tail = [t for t in s.tail if not (isinstance(t, Store) and t.buffer not in read)]
                s.body = [t for t in s.body if not (isinstance(t, Store) and t.buffer not in read)]
                _sweep_nest(s, read)
                if s.body or s.tail:
                    kept.append(s)
            case While() | If():
                for block in blocks(s):
                    block[:] = _swept(block, read)
                kept.append(s)
            case Allocate() | Grow() | Free() if s.buffer not in read:
                continue
            case _:
                kept.append(s)
    return kept


def _sweep_nest(nest: Nest, read: set[Buffer]) -> None:
    if any(isinstance(s, Nest) for s in nest.body):
        nest.body = _swept(nest.body, read)
        return
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
    for s in reversed(statements):
        if isinstance(s, (Load, Compute, Size_)) and s.out not in live:
            continue
        if isinstance(s, Combine) and accs is not None and accs.isdisjoint(s.accs):
            continue
        live.update(_uses(s))
        kept.append(s)
    return kept[::-1]


def _uses(s: Statement) -> Iterable[str]:
    match s:
        case Load(_, _, index, guard, other):
            return (*(n for n, _ in index.terms), *(x for x in (guard, other) if isinstance(x, str)))
        case Compute(_, _, args):
            return (a for a in args if isinstance(a, str))
        case Store(_, index, value, _, guard):
            return (*(n for n, _ in index.terms), *(x for x in (value, guard) if isinstance(x, str)))
        case Combine(_, _, values):
            return (v for v in values if isinstance(v, str))
    return ()


__all__ = ["accesses", "drop_dead", "fuse", "fuse_block", "replace"]
