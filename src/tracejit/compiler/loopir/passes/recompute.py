"""Recomputation: a temporary with cheap elements is not stored; its readers compute the elements again.

A stencil reads each element of what it is applied to several times, at other indices than they were computed
at, so fusion cannot pass them in registers. Where an element takes one load and little arithmetic, working it out
where it is read costs less than a pass over memory. What is dear may be kept beside it: ``1 + tanh(x)`` is worked out
from ``tanh(x)`` where that is stored, too. Valid program in, valid program out, same results.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

from ....core.dataclass import dataclass
from ....core.dim import product
from ...report import REWRITES, fired, wants
from ..effects import Effects, effects, is_plain, sequences
from ..ir import Compute, Load, Nest, Program, Store, walk
from ..numbering.values import ValueTable
from ..operands import Buffer, Const, Index
from ..scalar_ops import CHEAP
from ..statement import Statement, all_renamed
from .dce import drop_dead

SMALLEST = 256  # elements of a temporary worth it
LARGE = 1 << 15  # bytes of one that leaves the nearest cache


@dataclass(frozen=True)
class Limits:
    """What recomputing an element may cost, by what keeping it costs.

    Attributes
    ----------
    computes : int
        Operations for one element.
    work : int
        Operations for all reads of one element together.
    loads : int
        Loads for one element, of what differs from element to element.
    """

    computes: int
    work: int
    loads: int

    @staticmethod
    def of(buffer: Buffer) -> Limits:
        assert isinstance(buffer.size, int)
        return FAR if buffer.size * buffer.dtype.itemsize >= LARGE else NEAR


NEAR = Limits(computes=4, work=12, loads=1)
FAR = Limits(computes=16, work=16, loads=4)


def recompute(program: Program) -> Program:
    """Replace reads of cheap temporaries by their computation, in place; returns the program."""
    uses = _uses(program)
    names = (f"w{k}" for k in count())
    changed = [_in_block(block, uses, names) for block in sequences(program.body)]
    if any(changed):
        drop_dead(program)
    return program


@dataclass
class Uses:
    """How a temporary is used: its stores, its loads, and whether anything else mentions it."""

    stores: dict[int, Store]  # by id
    loads: dict[int, Load]
    other: bool = False


def _uses(program: Program) -> dict[Buffer, Uses]:
    uses = {
        b: Uses({}, {})
        for b in program.buffers
        if b.kind == "temp" and isinstance(b.size, int) and b.size >= SMALLEST
    }
    for move in program.moves:
        for b in (move.temp, move.target):
            if b in uses:
                uses[b].other = True
    _note(walk(program.body), uses)
    return uses


def _note(statements: Iterable[Statement], uses: dict[Buffer, Uses]) -> None:
    for s in statements:
        for b in s.buffers():
            if b not in uses:
                continue
            if isinstance(s, Load):
                uses[b].loads[id(s)] = s
            elif isinstance(s, Store):
                uses[b].stores[id(s)] = s
            else:
                uses[b].other = True


def _forget(statements: Iterable[Statement], uses: dict[Buffer, Uses]) -> None:
    for s in statements:
        if isinstance(s, (Load, Store)) and s.buffer in uses:
            usage = uses[s.buffer]
            (usage.loads if isinstance(s, Load) else usage.stores).pop(id(s))


def _in_block(block: list[Statement], uses: dict[Buffer, Uses], names: Iterator[str]) -> bool:
    changed = False
    known: dict[int, Effects] = {}  # by id, as every temporary asks for those of what follows
    for position, nest in enumerate(block):
        if not isinstance(nest, Nest) or not is_plain(nest):
            continue
        for store in [s for s in nest.body if isinstance(s, Store) and _is_candidate(s, uses)]:
            recipe = _recipe(nest, store, uses)
            readers = recipe and _readers(block, position, recipe, uses[store.buffer], known)
            if recipe and readers:
                for reader, loads in readers:
                    if wants(REWRITES):
                        fired(recompute, reader.location, what=str(store.buffer))
                    for part in (reader.body, reader.tail):
                        made = _with_recipe(part, loads, recipe, names)
                        _forget(part, uses)
                        part[:] = made
                        _note(part, uses)
                    del known[id(reader)]
                changed = True
    return changed


def _is_candidate(s: Store, uses: dict[Buffer, Uses]) -> bool:
    usage = uses.get(s.buffer)
    return (
        usage is not None
        and not usage.other
        and len(usage.stores) == 1
        and bool(usage.loads)
        and not s.add
        and s.guard is None
    )


# ---- what an element is computed from -------------------------------------------------------------------


@dataclass
class Recipe:
    """How a temporary's elements are made: statements over the axes that its store runs over.

    Attributes
    ----------
    axes : list of (name, stride, size)
        The axes of the store, widest stride first.
    body : list of statements
        Loads and computes, in order.
    value : operand
        What is stored.
    reads : set of Buffer
        What the loads read.
    """

    axes: list[tuple[str, int, int]]
    body: list[Any]
    value: Any
    reads: set[Buffer]

    @property
    def elements(self) -> int:
        total = 1
        for _, _, size in self.axes:
            total *= size
        return total

    @property
    def computes(self) -> int:
        return sum(isinstance(s, Compute) for s in self.body)


def _recipe(nest: Nest, store: Store, uses: dict[Buffer, Uses]) -> Recipe | None:
    """The recipe for what `store` writes, or None when it is not cheap or does not fill the buffer."""
    sizes = {a.name: a.size for a in nest.axes}
    axes = []
    for name, stride in store.index.terms:
        size = sizes.get(name)
        if not isinstance(stride, int) or not isinstance(size, int) or stride <= 0:
            return None
        axes.append((name, stride, size))
    axes.sort(key=lambda axis: -axis[1])
    covered = product(size for _, _, size in axes)
    if covered != store.buffer.size or store.index.const != 0 or len(axes) != len(nest.axes):
        return None
    expected = covered
    for _, stride, size in axes:  # row-major, so that an offset tells the index
        expected //= size
        if stride != expected:
            return None
    body = _chain(nest, store, _kept_beside(nest, store, uses))
    fastest = axes[-1][0]
    if body is None or any(
        dict(s.index.terms).get(fastest, 0) not in (0, 1) for s in body if isinstance(s, Load)
    ):
        return None
    return Recipe(axes, body, store.value, {s.buffer for s in body if isinstance(s, Load)})


def _kept_beside(nest: Nest, store: Store, uses: dict[Buffer, Uses]) -> dict[str, Load]:
    """What the nest stores at the same index in other temporaries that are read: loads of them, by scalar."""
    stores = [s for s in (*nest.body, *nest.tail) if isinstance(s, Store)]
    found = {}
    for s in nest.body:
        if not isinstance(s, Store) or s.buffer is store.buffer or isinstance(s.value, Const):
            continue
        usage = uses.get(s.buffer)
        read = usage is not None and (usage.other or bool(usage.loads))
        alone = sum(other.buffer is s.buffer for other in stores) == 1
        if read and alone and s.index == store.index and s.guard is None and not s.add:
            found[s.value] = Load(s.value, s.buffer, s.index)
    return found


def _chain(nest: Nest, store: Store, kept: dict[str, Load]) -> list[Any] | None:
    """The statements that the stored value needs, when they are few and cheap: what is dear must be kept."""
    made = {s.out: s for s in nest.body if isinstance(s, (Load, Compute))}
    own = {a.name for a in nest.axes}
    written = {s.buffer for s in (*nest.body, *nest.tail) if isinstance(s, Store)}
    limits = Limits.of(store.buffer)
    needed: dict[str, Load | Compute] = {}
    todo = [store.value]
    varying = computes = 0
    while todo:
        name = todo.pop()
        if isinstance(name, Const) or name in needed:
            continue
        s = made.get(name)
        if s is None:
            return None
        if isinstance(s, Compute) and s.op not in CHEAP:
            if name not in kept:
                return None
            varying += 1
            s = kept[name]
        elif isinstance(s, Load):
            terms = {n for n, _ in s.index.terms}
            if s.guard is not None or s.buffer in written or not terms.isdisjoint(made):
                return None
            varying += not terms.isdisjoint(own)
        else:
            computes += 1
            todo.extend(s.args)
        needed[name] = s
        if varying > limits.loads or computes > limits.computes:
            return None
    return [needed[s.out] for s in nest.body if isinstance(s, (Load, Compute)) and s.out in needed]


# ---- where it is read -----------------------------------------------------------------------------------


def _readers(
    block: list[Statement], position: int, recipe: Recipe, uses: Uses, known: dict[int, Effects]
) -> list[tuple[Nest, dict[int, dict[str, Any]]]] | None:
    """The nests behind `position` that read the temporary, with the shifts of each load; None when one defies it."""
    left = set(uses.loads)
    (store,) = uses.stores.values()
    work = Limits.of(store.buffer).work
    readers: list[tuple[Nest, dict[int, dict[str, Any]]]] = []
    for later in block[position + 1 :]:
        if not left:
            break
        effect = known.get(id(later))
        if effect is None:
            effect = known[id(later)] = effects(later)
        if store.buffer in effect.reads:
            loads = _loads(later, recipe, left)
            if loads is None or len(loads) * recipe.computes > work or effect.writes & recipe.reads:
                return None
            readers.append((later, loads))  # type: ignore[arg-type]
            left -= loads.keys()
        elif effect.writes & recipe.reads:
            return None  # from here on the elements would come out differently
    return None if left else readers


def _loads(later: Statement, recipe: Recipe, left: set[int]) -> dict[int, dict[str, Any]] | None:
    if not isinstance(later, Nest) or not is_plain(later):
        return None
    sizes = {a.name: a.size for a in later.axes}
    points = product(sizes.values())
    if not isinstance(points, int) or points > recipe.elements:
        return None  # an element would be read for many indices
    by_load = {}
    for s in (*later.body, *later.tail):
        if isinstance(s, Load) and id(s) in left:
            shifts = _shifts(s, recipe, sizes)
            if shifts is None or s.guard is not None:
                return None
            by_load[id(s)] = shifts
    return by_load


def _shifts(load: Load, recipe: Recipe, sizes: dict[str, Any]) -> dict[str, Any] | None:
    """For each axis of the recipe, the reader's axis (or None) and the offset that together make its index."""
    by_stride = {c: n for n, c in load.index.terms}
    rest = load.index.const
    if not isinstance(rest, int) or rest < 0 or len(by_stride) != len(load.index.terms):
        return None
    shifts: dict[str, Any] = {}
    for name, stride, size in recipe.axes:
        offset, rest = divmod(rest, stride)
        axis = by_stride.pop(stride, None)
        reach = sizes.get(axis) if axis is not None else 1
        if not isinstance(reach, int) or offset + reach > size:
            return None
        shifts[name] = (axis, offset)
    return None if by_stride or rest else shifts


def _with_recipe(
    part: list[Statement], loads: dict[int, dict[str, Any]], recipe: Recipe, names: Iterator[str]
) -> list[Statement]:
    """The statements with the recipe in place of loads of the temporary; nothing is computed twice."""
    table = ValueTable()
    for s in part:
        shifts = loads.get(id(s))
        if shifts is None:
            table.add(s)
            continue
        copies, value = _shifted(recipe, shifts, names)
        for copy in copies:
            table.add(copy)
        table.names.update(dict.fromkeys(s.defines(), table.names.get(value, value)))
    return table.kept


def _shifted(recipe: Recipe, shifts: dict[str, Any], names: Iterator[str]) -> tuple[list[Statement], Any]:
    """The recipe's statements for an element at other indices, under other names; and what they give."""
    new = {s.out: next(names) for s in recipe.body}
    copies = all_renamed(recipe.body, new)
    for s in copies:
        if isinstance(s, Load):
            s.index = _shifted_index(s.index, shifts)
    return copies, new.get(recipe.value, recipe.value)


def _shifted_index(index: Index, shifts: dict[str, Any]) -> Index:
    const = index.const
    terms: dict[str, Any] = {}
    for name, stride in index.terms:
        axis, offset = shifts.get(name, (name, 0))
        const = const + stride * offset
        if axis is not None:
            terms[axis] = terms.get(axis, 0) + stride
    return Index(const, tuple(terms.items()))
