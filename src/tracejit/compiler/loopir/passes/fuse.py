"""Fusion: nests over the same iteration space become one, so that values stay in registers.

Valid program in, valid program out, same results bit by bit. A nest joins the latest earlier one that has its
axes if no statement between them and no element they share forbids it: what one writes the other may touch
only at the same index. A nest has a body, run for each element, and a tail, run once its inner axes are done, where
what was reduced is stored: element-wise nests and reductions of them join, over different axes too
(`sums_both_ways`); what reads a finished row is joined by `row_fusion`. Computing each scalar once, and storing
nothing in vain, is left to the passes behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from math import gcd
from typing import Any

from ....core.dataclass import dataclass
from ....core.dim import Dim
from ...report import REWRITES, fired, wants
from ..effects import Effects, effects, is_plain
from ..ir import Combine, Load, Nest, Program, Store
from ..operands import Axis, Buffer, Index, IndexKey
from ..statement import Statement, all_renamed
from .pairs import pairs_of, write_pairs
from .sums_both_ways import Sums, Writer, is_worth_it, split, sums_of

MAX_STATEMENTS = 512
FEW = 32  # statements that may run one by one with what is added one by one
WINDOW = 48  # how many groups back a nest looks for one to join


def fuse(program: Program) -> Program:
    """Fuse every block of the program, in place; returns it."""
    program.body = _fused(program.body, program.atoms, Writer(program))
    return program


def _fused(statements: Sequence[Statement], atoms: Sequence[str], writer: Writer) -> list[Statement]:
    """Fuse one block, inner blocks first; `atoms` are the sizes known when the program begins."""
    groups: list[Group] = []
    for statement in statements:
        for block in statement.blocks() if not isinstance(statement, Nest) else ():
            block[:] = _fused(block, atoms, writer)
        group = Group.of(statement, atoms)
        home = _home(groups, group)
        if home is None:
            groups.append(group)
        else:
            if wants(REWRITES) and isinstance(statement, Nest):
                fired(fuse, statement.location, what=f"{group} with {home[0]}")
            home[0].absorb(group, home[1])
    return [s for group in groups for s in _written(group, writer)]


def _written(group: Group, writer: Writer) -> list[Statement]:
    """The statements of a group, whose nest may have sums over several axes."""
    nest, sums = group.statement, group.sums
    if sums and group.may_nest and (pairs := pairs_of(nest, sums, writer)):
        if wants(REWRITES):
            fired(pairs_of, nest.location, what=f"of {pairs.row.name} and {pairs.column.name}")
        return write_pairs(writer, nest, pairs)
    return writer.write(nest, sums) if len(sums) > 1 else [nest]


def _home(groups: list[Group], new: Group) -> tuple[Group, str] | None:
    """The group to join and the part of it (body or tail), or None."""
    if not new.can_join:
        return None
    home = None
    for group in reversed(groups[-WINDOW:]):
        conflicts = group.effects.conflicts(new.effects)
        part = group.accepts(new) if group.is_nest else None
        if part is not None:
            home = (group, part)
            if conflicts:
                return home
        if conflicts:
            return home
    return home


@dataclass
class Group:
    """A statement with its effects.

    For nests, `loaded` and `stored` give the indices of body and tail accesses by buffer; None as an index is one
    that fusion must not reason about. `count` is how many statements there are, loads of what is at hand apart.
    `sums` are the accumulators with their tails, by the axes they are over; the nest itself has the first of them.
    `may_nest`: sums over other axes may join. `scatters`: it adds at places that were loaded, one after the other.
    """

    statement: Any
    effects: Effects
    is_nest: bool = False
    can_join: bool = False
    loaded: dict[str, dict[Buffer, set[Any]]] = field(default_factory=dict)
    stored: dict[str, dict[Buffer, set[Any]]] = field(default_factory=dict)
    count: int = 0
    sums: list[Sums] = field(default_factory=list)
    may_nest: bool = False
    scatters: bool = False

    def __str__(self) -> str:
        return f"nest {', '.join(a.name for a in self.statement.axes) or 'once'}"

    @staticmethod
    def of(statement: Statement, atoms: Sequence[str]) -> Group:
        group = Group(statement, effects(statement))
        if isinstance(statement, Nest) and is_plain(statement):
            group.is_nest = True
            group.can_join = not any(a.kind == "scan" for a in statement.axes)
            for part, body in (("body", statement.body), ("tail", statement.tail)):
                group.loaded[part], group.stored[part] = _indices(body)
            group.count = len(statement.body) + len(statement.tail)
            group.sums = [sums_of(statement)] if statement.accs else []
            group.scatters = any(
                isinstance(s, Store) and s.add and _safe_key(s.index, _computed(statement.body)) is None
                for s in statement.body
            )
            group.may_nest = group.can_join and is_worth_it(statement, atoms) and not _in_order(statement)
        return group

    def accepts(self, later: Group) -> str | None:
        """Where `later` may join: in the body, in the tail, or nowhere."""
        mine, other = self.statement, later.statement
        if not self.can_join or self.count + later.count > MAX_STATEMENTS:
            return None
        if self.scatters != later.scatters and max(self.count, later.count) > FEW:
            return None
        if len(mine.axes) == len(other.axes) and all(
            a.size == b.size for a, b in zip(mine.axes, other.axes, strict=True)
        ):
            kinds = [a.kind for a in mine.axes] == [a.kind for a in other.axes]
            free = kinds or not mine.accs or not other.accs or self._sums_fit(later)
            if free and self._aligned(later, "body", mine.axes):
                return "body"
        if mine.accs and not other.accs and len(self.sums) == 1:
            outer = [a for a in mine.axes if a.kind == "parallel"]
            same = len(outer) == len(other.axes) and all(
                a.size == b.size for a, b in zip(outer, other.axes, strict=True)
            )
            if same and self._aligned(later, "tail", outer):
                return "tail"
        return None

    def _sums_fit(self, later: Group) -> bool:
        """May sums over other axes be added to these, because they are of what is made here?"""
        mine, other = self.statement, later.statement
        if not (self.may_nest and later.may_nest) or self.stored["body"].keys().isdisjoint(
            later.loaded["body"]
        ):
            return False
        names = {b.name: a.name for a, b in zip(mine.axes, other.axes, strict=True)}
        over = [*(s.over for s in self.sums), *(frozenset(names[x] for x in s.over) for s in later.sums)]
        return split(mine.axes, over) is not None

    def _aligned(self, later: Group, part: str, axes: Sequence[Axis]) -> bool:
        """Do the elements both touch coincide, index by index?"""
        rename = {b.name: a.name for a, b in zip(axes, later.statement.axes, strict=True)}
        every = frozenset(a.name for a in axes)
        other = "tail" if part == "body" else "body"
        mine, theirs = self.effects, later.effects
        for b in (mine.writes & theirs.reads) | (mine.writes & theirs.writes):
            if not isinstance(b, Buffer) or b in self.stored[other]:
                return False
            touched = later.touched(b, rename)
            if touched is None or not _apart(self.stored[part][b] | touched) or not _covers(touched, every):
                return False
        for b in mine.reads & theirs.writes:
            if not isinstance(b, Buffer) or b in self.loaded[other]:
                return False
            touched = later.touched(b, rename)
            if (
                touched is None
                or not _apart(self.loaded[part].get(b, touched) | touched)
                or not _covers(touched, every)
            ):
                return False
        return True

    def touched(self, b: Buffer, rename: dict[str, str]) -> set[Any] | None:
        """Indices at which the body uses `b`, renamed; None when the tail does too, or one is unknown."""
        if b in self.loaded["tail"] or b in self.stored["tail"]:
            return None
        keys = self.loaded["body"].get(b, set()) | self.stored["body"].get(b, set())
        return None if None in keys else {_renamed_key(k, rename) for k in keys}

    def absorb(self, later: Group, part: str) -> None:
        """Append the other nest's statements to this one's `part`."""
        mine, other = self.statement, later.statement
        axes = mine.axes if part == "body" else [a for a in mine.axes if a.kind == "parallel"]
        rename = {b.name: a.name for a, b in zip(axes, other.axes, strict=True)}
        (mine.body if part == "body" else mine.tail).extend(all_renamed(other.body, rename))
        for sums in later.sums:
            self._take(
                Sums(frozenset(rename[x] for x in sums.over), sums.accs, all_renamed(sums.tail, rename))
            )
        self.count += later.count
        for table, more in ((self.loaded, later.loaded), (self.stored, later.stored)):
            for source in ("body", "tail"):
                into = table[part if source == "body" else "tail"]
                for b, keys in more[source].items():
                    renamed = {None if k is None else _renamed_key(k, rename) for k in keys}
                    if more is later.loaded:
                        self.count -= len(renamed & (into.get(b, set()) | self.stored[part].get(b, set())))
                    into.setdefault(b, set()).update(renamed)
        self.effects.join(later.effects)
        self.may_nest &= later.may_nest or part == "tail"

    def _take(self, new: Sums) -> None:
        """More sums: over the same axes as some that are here, or over others."""
        same = next((s for s in self.sums if s.over == new.over), None)
        if same is not None:
            same.accs.extend(new.accs)
            same.tail.extend(new.tail)
            return
        self.sums.append(new)
        if len(self.sums) == 1:
            self.statement.accs, self.statement.tail = new.accs, new.tail
            for a in self.statement.axes:
                a.kind = "reduce" if a.name in new.over else "parallel"


def _in_order(nest: Nest) -> bool:
    """Does it add to memory, or look for a position?"""
    return any(
        (isinstance(s, Store) and s.add) or (isinstance(s, Combine) and len(s.accs) > 1)
        for s in (*nest.body, *nest.tail)
    )


def _renamed_key(key: IndexKey, rename: dict[str, str]) -> IndexKey:
    return key[0], frozenset((rename.get(n, n), c) for n, c in key[1])


def _apart(keys: set[Any]) -> bool:
    """Do different indices never meet, whatever the axes are? As ``3*i`` and ``3*i + 1``, which differ modulo 3."""
    if len(keys) == 1:
        return True
    if None in keys or len({terms for _, terms in keys}) != 1:
        return False
    first, terms = next(iter(keys))
    step = gcd(*(f for _, c in terms for f in ([f for _, f in c.terms] if isinstance(c, Dim) else [c])))
    shifts = [const - first for const, _ in keys]
    return all(isinstance(x, int) for x in shifts) and len({x % step for x in shifts if step}) == len(keys)


def _covers(keys: set[Any], axes: frozenset[Any]) -> bool:
    """Does the one index differ for every point of the axes?"""
    return all(axes <= {n for n, _ in terms} for _, terms in keys)


def _indices(body: Sequence[Statement]) -> tuple[dict[Any, Any], dict[Any, Any]]:
    loaded: dict[Buffer, set[Any]] = {}
    stored: dict[Buffer, set[Any]] = {}
    computed = _computed(body)
    for s in body:
        if isinstance(s, Load):
            loaded.setdefault(s.buffer, set()).add(_safe_key(s.index, computed))
        elif isinstance(s, Store):
            key = _safe_key(s.index, computed)
            stored.setdefault(s.buffer, set()).add(key)
            for b in s.reads():
                loaded.setdefault(b, set()).add(key)
    return loaded, stored


def _computed(body: Sequence[Statement]) -> set[str]:
    return {name for s in body for name in s.defines()}


def _safe_key(index: Index, computed: set[str]) -> IndexKey | None:
    """The index as a key; None when it depends on a scalar of the nest."""
    return None if any(n in computed for n in index.symbols) else index.key
