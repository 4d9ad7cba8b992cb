"""Row fusion of matrix products: the nests that make and read the rows share a loop with the product.

A convolution is that: what windows see side by side, a product with the filters, and what becomes of it, each for all
images, through memory that no cache holds. In a loop over the images each passes through all of them in a cache, and
threads take images. Temporaries used in that loop alone shrink to one image. Nests that are not in the loop, as sums
over all images, stay behind it. Valid program in, valid program out, same results bit by bit: a product by rows sums
in the order of the whole one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from .....core.dataclass import dataclass
from ....report import REWRITES, fired, wants
from ...effects import Effects, effects, sequences
from ...ir import Call, Combine, Compute, Load, Nest, Program, Size_, Store, While, walk
from ...operands import Buffer, Index, Name
from ...statement import Statement, all_renamed
from ..parallelize import Stretches, independent, is_filled_first

FEWEST = 4
"""Rows of a loop."""
SHORTEST = 48
"""Rows of a product that one row of the loop has at least: the kernel's tiles take a dozen at once."""
LARGEST_RIGHT = 1 << 15
"""Elements of the right operand, up to which it is no loss to read it again in each row."""
LARGE, SMALL = 1 << 19, 1 << 19
"""Bytes that no cache holds, of the larger of operand and result, and so many that one does, of its part in a row."""
WINDOW = 24
"""How far from a product a statement is looked for that joins it."""
SIMPLE = (Load, Store, Compute, Size_, Combine, Nest)


def fuse_products(program: Program) -> Program:
    """Give products a loop over rows with what is before and behind them, in place; returns the program."""
    names = (f"r{k}" for k in count())
    mentions: Counter[Buffer] | None = None
    for block in sequences(program.body):
        if not any(_rows_of(block, place) for place in range(len(block))):
            continue
        if mentions is None:
            mentions = Counter(b for s in walk(program.body) for b in s.buffers())
        if _fuse_block(block, program, names, mentions):
            mentions = None
    return program


def _fuse_block(block: list[Any], program: Program, names: Iterator[Name], mentions: Counter[Buffer]) -> bool:
    """Did any product of the block get a loop?"""
    place, changed = 0, False
    while place < len(block):
        for rows in _rows_of(block, place):
            group = Group(block, place, rows, next(names), mentions)
            group.grow()
            if group.is_good():
                place, changed = group.replace_members({m.temp for m in program.moves}), True
                break
        place += 1
    return changed


def _is_product(s: Statement) -> bool:
    return isinstance(s, Call) and s.function == "matmul"


def _is_loop_of_products(s: Statement) -> bool:
    """Is it a loop over rows already, as a convolution over images is?"""
    if not isinstance(s, While) or s.cond or s.test is not None or s.swaps or s.reverse or s.fills:
        return False
    return isinstance(s.count, int) and all(isinstance(i, Nest) or _is_product(i) for i in s.body)


def _rows_of(block: Sequence[Any], place: int) -> list[int]:
    """In how many rows a product may be done, by the nests that make or read its rows; the likeliest number first."""
    call = block[place]
    if _is_loop_of_products(call):
        return [call.count] if call.count >= FEWEST else []
    if not _is_product(call):
        return []
    m, k, n = call.sizes
    if not all(isinstance(size, int) for size in (m, k, n)) or n * k > LARGEST_RIGHT:
        return []
    first, *_, last = call.views
    near = block[max(place - WINDOW, 0) : place + WINDOW]
    found = Counter(
        s.axes[0].size
        for s in near
        if isinstance(s, Nest) and s.axes and not {first.buffer, last.buffer}.isdisjoint(_touched(s))
    )
    bytes_ = max(n, k) * last.buffer.dtype.itemsize * m
    return [
        rows
        for rows, _ in found.most_common()
        if isinstance(rows, int) and rows >= FEWEST and m % rows == 0
        if m // rows >= SHORTEST and bytes_ >= LARGE and bytes_ // rows <= SMALL
    ]


def _touched(s: Statement) -> set[Buffer]:
    return {b for inner in walk([s]) for b in inner.buffers()}


@dataclass
class Group:
    """Statements of a block that become one loop over `rows`, begun with the product at `place`.

    Attributes
    ----------
    index : str
        Of the loop.
    mentions : Counter
        How often the program mentions each buffer.
    members : dict
        Statements by their places, each as what it does for one row.
    """

    block: list[Any]
    place: int
    rows: int
    index: Name
    mentions: Counter[Buffer]

    moves_to_front = False  # what is between members, where it cannot go behind the loop

    def __post_init__(self) -> None:
        first = self.of_one_row(self.block[self.place])
        self.members: dict[int, list[Any]] = {} if first is None else {self.place: first}
        self.effects: dict[int, Effects] = {}

    def grow(self) -> None:
        """Let statements around join, as long as they are near."""
        if not self.members:
            return
        for place in range(self.place - 1, max(self.place - WINDOW, 0) - 1, -1):
            self.ask(place)
        for place in range(self.place + 1, min(self.place + WINDOW, len(self.block))):
            self.ask(place)

    def ask(self, place: int) -> None:
        """Let a statement join if it has something in common with the others and every row of theirs is its own."""
        if not any(self.meets(place, member) for member in self.members):
            return
        new = self.of_one_row(self.block[place])
        if new is None:
            return
        together = dict(sorted((self.members | {place: new}).items()))
        if self.between(together) is None:
            return
        if self.stays_in_rows(flat(together), _touched(self.block[place])):
            self.members = together

    def between(self, members: Sequence[int] | dict[int, Any]) -> tuple[list[int], list[int]] | None:
        """Places between members that go behind the loop, and those that must go in front; None if neither will do."""
        behind: list[int] = []
        front: list[int] = []
        for p in range(min(members), max(members)):
            if p in members:
                continue
            if not any(self.of(p).conflicts(self.of(q)) for q in members if q > p):
                behind.append(p)
            elif not self.moves_to_front or any(
                self.of(q).conflicts(self.of(p)) for q in (*members, *behind) if q < p
            ):
                return None
            else:
                front.append(p)
        return behind, front

    def stays_in_rows(self, body: list[Any], buffers: set[Buffer] | None = None) -> bool:
        """Does each row touch memory of its own, or fill what it shares with others before it reads it?

        With `buffers`, as far as these say.
        """
        inside = [
            s
            for s in walk(body)
            if buffers is None or isinstance(s, Nest) or not buffers.isdisjoint(s.buffers())
        ]
        private = independent(Stretches(self.index, self.rows, (), inside, {}), inside, self.mentions)
        return private is not None and all(is_filled_first(body, buffer) for buffer in private)

    def is_good(self) -> bool:
        """Are there others that join the product, which all stay in their rows?"""
        return len(self.members) > 1 and self.stays_in_rows(flat(self.members))

    def of(self, place: int) -> Effects:
        if place not in self.effects:
            self.effects[place] = effects(self.block[place])
        return self.effects[place]

    def meets(self, one: int, two: int) -> bool:
        """Does one of these statements write what the other touches?"""
        a, b = self.of(one), self.of(two)
        return not (
            a.writes.isdisjoint(b.reads) and a.writes.isdisjoint(b.writes) and a.reads.isdisjoint(b.writes)
        )

    def of_one_row(self, s: Statement) -> list[Any] | None:
        """What a statement does in one row of the loop; None if it is not done row by row."""
        if isinstance(s, Call) and _is_product(s):
            return self.product(s)
        if isinstance(s, While) and _is_loop_of_products(s) and s.count == self.rows:
            return all_renamed(s.body, {s.index: self.index})
        if not isinstance(s, Nest) or not s.axes or s.axes[0].size != self.rows:
            return None
        if s.axes[0].kind != "parallel" or not all(isinstance(inner, SIMPLE) for inner in walk([s])):
            return None
        made = s.renamed({s.axes[0].name: self.index})
        made.source = s.source
        made.axes = made.axes[1:]
        plain = not made.axes and not made.accs and any(isinstance(inner, Nest) for inner in made.body)
        return made.body if plain and all(isinstance(inner, Nest) for inner in made.body) else [made]

    def product(self, s: Call) -> list[Any] | None:
        """The rows of a product that are of one row of the loop."""
        m, k, n = s.sizes
        if not isinstance(m, int) or m % self.rows or m // self.rows < SHORTEST:
            return None
        if not isinstance(k, int) or not isinstance(n, int) or n * k > LARGEST_RIGHT:
            return None
        inner = m // self.rows
        left, right, result = s.views
        moved = [
            replace(v, index=Index(v.index.const, (*v.index.terms, (self.index, v.strides[0] * inner))))
            for v in (left, result)
        ]
        return [replace(s, views=(moved[0], right, moved[1]), sizes=(inner, k, n))]

    def replace_members(self, moved: set[Buffer]) -> int:
        """Put the loop in the place of its members, what was between around it; returns the place of the loop."""
        loop = While(self.index, self.rows, flat(self.members))
        shrink(loop, self.rows, self.mentions, moved)
        if wants(REWRITES):
            fired(fuse_products, None, what=f"{len(self.members)} statements in {self.rows} rows")
        return self.put([loop])

    def put(self, made: list[Any]) -> int:
        """Put statements in the place of the members, what was between around them; returns the place of the last."""
        parts = self.between(self.members)
        assert parts is not None
        behind, front = ([self.block[p] for p in part] for part in parts)
        start, end = min(self.members), max(self.members)
        self.block[start : end + 1] = [*front, *made, *behind]
        return start + len(front) + len(made) - 1


def flat(members: dict[int, list[Any]]) -> list[Any]:
    return [s for part in members.values() for s in part]


def shrink(loop: While, rows: int, mentions: Counter[Buffer], moved: set[Buffer]) -> None:
    """Let temporaries hold one row that are used in this loop alone, and filled there before they are read."""
    inside = list(walk(loop.body))
    here = Counter(b for s in inside for b in s.buffers())
    for buffer in [b for b in here if b.kind == "temp" and b not in moved and here[b] == mentions[b]]:
        users = [s for s in inside if buffer in s.buffers()]
        steps = {dict(i.terms).get(loop.index, 0) for s in users for i in _indices(s, buffer)}
        step = steps.pop()
        if steps or not isinstance(step, int) or step == 0 or buffer.size != step * rows:
            continue
        _stride(users, buffer, loop.index, 0)
        buffer.size = step
        if not is_filled_first(loop.body, buffer):
            _stride(users, buffer, loop.index, step)
            buffer.size = step * rows


def _indices(s: Any, buffer: Buffer) -> list[Index]:
    return [v.index for v in s.views if v.buffer is buffer] if isinstance(s, Call) else [s.index]


def _stride(users: Sequence[Any], buffer: Buffer, name: Name, step: int) -> None:
    """Let the next iteration's elements be so far away, wherever these statements reach into a buffer."""

    def changed(index: Index) -> Index:
        terms = {**dict(index.terms), name: step}
        return Index(index.const, tuple((n, c) for n, c in terms.items() if c != 0))

    for s in users:
        if isinstance(s, Call):
            s.views = tuple(replace(v, index=changed(v.index)) if v.buffer is buffer else v for v in s.views)
        else:
            s.index = changed(s.index)
