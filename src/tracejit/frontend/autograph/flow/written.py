"""Arrays that branches and loops write to: other names of the array see the change, or the write is refused.

Variables are compared leaf by leaf: what each was before, and what a side of a branch, or an iteration, makes of it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from ....core.errors import Untraceable, at, user_location
from ....core.tensor import Overwritten, Tensor, twin
from ....core.tracing.dispatch import state
from ....core.tracing.trace import Trace
from ....ops.tensor.indexing import get
from ....ops.tensor.memory.made import whole_of
from ....ops.tensor.memory.overlaps import Overlaps, Way, Written, overlaps_now
from ....ops.tensor.memory.storage import (
    Member,
    Storage,
    array_storage,
    in_place,
    is_in_place,
    known_by,
    may_be,
    member_of,
    refuse,
    stands_for,
)
from ...structure import flatten_values as flatten
from .surroundings import Surroundings

Key = tuple[int, int]  # of a variable and of a leaf in it


def _leaves(values: Sequence[Any], kind: Any) -> dict[Key, Any]:
    """The leaves that have axes and are of a kind."""
    return {
        (k, j): leaf
        for k, value in enumerate(values)
        for j, leaf in enumerate([value] if isinstance(value, Tensor) else flatten(value)[0])
        if isinstance(leaf, kind) and leaf.ndim
    }


def _arrays(values: Sequence[Any]) -> dict[Key, Tensor]:
    """The leaves that are tensors with axes."""
    return _leaves(values, Tensor)


def _known_arrays(values: Sequence[Any], alone: set[int]) -> dict[Key, np.ndarray]:
    """The leaves that are arrays of NumPy's which others know, too: not just one of the `alone`."""
    found = _leaves(values, np.ndarray)
    known = [id(whole_of(x)) for x in found.values()]
    return {key: x for key, x in found.items() if id(x) not in alone or known.count(id(x)) > 1}


def _is_outer(tensor: Tensor) -> bool:
    """Was it there before what is being traced?"""
    now = state.interpreter
    return not tensor.is_symbolic or tensor.value.graph is not getattr(now, "graph", None)


def _storage(tensor: Tensor) -> Storage | None:
    """What it stands for that there was before, or that has views; None for what nobody else knows."""
    member = stands_for(tensor) if _is_outer(tensor) else member_of(tensor)
    return None if member is None else member.storage


class WrittenInBranch:
    """What the two sides of a branch have written to.

    Parameters
    ----------
    around : Surroundings
        What each side starts from.
    """

    def __init__(self, around: Surroundings):
        self.around = around
        self.before: dict[Key, Tensor] = _arrays([*around.before, *around.contents.containers])
        self.sides: list[dict[Key, tuple[Tensor, Storage | None]]] = []
        self.numpys: list[dict[Key, np.ndarray]] = []  # arrays of NumPy's that a side leaves
        self.overwritten: list[dict[Hashable, tuple[Written, ...]]] = []
        self.stale: list[dict[Key, Written]] = []  # left by a side that has written to it under another name
        self.ways: list[dict[Key, Way | None]] = []
        self.begun = _nodes_so_far()

    def ends_with(self, values: Sequence[Any]) -> None:
        """A side leaves its variables, and what lists and dicts hold, so."""
        self.sides.append({key: (x, _storage(x)) for key, x in _arrays(values).items()})
        self.numpys.append(_leaves(values, np.ndarray))
        if (overlaps := overlaps_now()) is not None:
            self.overwritten.append(dict(overlaps.written))
            self.stale.append(_stale(overlaps, _arrays(values)))
            self.ways.append({key: overlaps.way_of(x) for key, x in _arrays(values).items()})

    def hand_on(self, values: Sequence[Any]) -> None:
        """They are so after the branch."""
        overlaps = overlaps_now()
        after, sides = _arrays(values), self.sides[-2:]
        if overlaps is not None:
            for written in self.overwritten:
                overlaps.join(written)
            _given(overlaps, after, self.stale[-2:], self.begun, self._same(overlaps))
        changed = {id(s): s for s in self.around.arrays.storages()}
        settled: dict[int, list[Tensor]] = {number: [] for number in changed}
        joined: list[tuple[Tensor, Storage]] = []
        for key, x in after.items():
            known = [side[key] for side in sides if key in side]
            was = self.before.get(key)
            own = None if was is None else member_of(was)
            if own is not None and len(known) == 2 and all(s is own.storage for _, s in known):
                if id(own.storage) in changed and own.view is None and x is not was:
                    settled[id(own.storage)].append(x)
                    continue
            joined += [(x, storage) for tensor, storage in known if storage is not None and tensor is not x]
        for number, storage in changed.items():
            if settled[number]:
                storage.settle(settled[number])
            elif storage.now is not None:
                storage.becomes(None, f"a branch has written to this array{at(user_location())}\n")
                storage.written()
        for x, storage in joined:  # each holds what its side has left, whatever was written before
            may_be(x, storage)
        self._hand_on_numpys(after)

    def _same(self, overlaps: Overlaps) -> dict[Key, Way]:
        """What each side leaves as the same part of an array, whatever that holds."""
        sides, now = self.sides[-2:], state.interpreter
        assert isinstance(now, Trace)
        found: dict[Key, Way] = {}
        for key, (x, _) in sides[0].items() if len(sides) == 2 else ():
            y = sides[1].get(key, (x, None))[0]
            ways = [side.get(key) for side in self.ways[-2:]]
            if len(ways) == 1:  # before the first write all else is as it was
                ways += [overlaps.way_of(t) for t in (x, y) if t.is_symbolic and t.value.graph is now.graph]
            if len(ways) == 2 and ways[0] is not None and ways[1] is not None and ways[0].leads_with(ways[1]):
                found[key] = ways[0]
        return found

    def _hand_on_numpys(self, after: dict[Key, Tensor]) -> None:
        """What was an array of NumPy's on a side is one to the program afterwards."""
        sides = self.numpys[-2:]
        holders: dict[int, set[Key]] = {}
        for key, x in (pair for side in sides for pair in side.items()):
            holders.setdefault(id(whole_of(x)), set()).add(key)
        for key, tensor in after.items():
            for array in (side[key] for side in sides if key in side):
                in_place(tensor)
                if id(array) not in self.around.places.alone or len(holders[id(whole_of(array))]) > 1:
                    may_be(tensor, array_storage(array))


class WrittenInLoop:
    """What a loop writes to, found by tracing its body until nothing new is.

    Parameters
    ----------
    around : Surroundings
        What the first iteration starts from.
    rows : sequence of Tensor
        What the loop goes over.
    """

    def __init__(self, around: Surroundings, rows: Sequence[Tensor]):
        self.around = around
        self.rows: list[Member] = [stands_for(r) for r in rows]
        self.over: list[Tensor] = list(rows)
        self.row_values: list[Hashable] = [None] * len(rows)  # what an iteration knows their rows by
        arrays = _known_arrays(around.before, around.places.alone)
        self.before: dict[Key, Tensor | np.ndarray] = {**_arrays(around.before), **arrays}
        self.standing: dict[Key, Tensor] = {  # what stays readable when the loop has written to it
            key: twin(t) for key, x in self.before.items() if (t := _standing(x)) is not None
        }
        self.numpys: set[Key] = {  # what is an array of NumPy's to the program
            *_leaves(around.before, np.ndarray),
            *(key for key, x in self.before.items() if is_in_place(x)),
        }
        self.given: dict[Key, Tensor] = {}
        self.outer: dict[int, Storage] = {}  # written to, and known outside
        self.exact: dict[int, Key] = {}  # of these, that which one variable stands for in every iteration
        self.together: list[list[Key]] = []  # variables that may be one array
        self.may_be: dict[Key, list[Storage]] = {}  # what is known outside that a variable may be
        self.overwritten: dict[Hashable, tuple[Written, ...]] = {}
        self.written_before: list[Tensor] = []  # what is written to, as it was before the loop
        self.stale: dict[Key, Written] = {}
        self.same: dict[Key, Way] = {}  # what stands in every iteration for the same part of an array
        self.begun = _nodes_so_far()

    def begin(self, values: Sequence[Any]) -> None:
        """An iteration, or the test, begins with these values."""
        self.around.arrays.saved.clear()
        begun = _arrays(values)
        self.given = {key: x for key, x in begun.items() if key in self.before}
        self._in_place(begun)
        for storage in self.outer.values():
            storage.becomes(None, f"an iteration of this loop writes to this array{at(user_location())}\n")
        for keys in self.together:
            group = [self.given[k] for k in keys if k in self.given]
            for k, x in enumerate(group):
                for other in group[:k]:
                    may_be(x, stands_for(other).storage)

    def _in_place(self, values: dict[Key, Tensor]) -> None:
        for key in self.numpys & values.keys():
            in_place(values[key])

    def row(self, k: int, row: Tensor, i: Tensor) -> Tensor:
        """The row of iteration `i`; where the loop writes to the array, of what that is then."""
        storage, view = self.rows[k].storage, self.rows[k].view
        self.row_values[k] = known_by(row)
        own = self.given.get(self.exact[id(storage)]) if id(storage) in self.exact and view is None else None
        if own is not None:
            return get(own, i)
        if row.ndim or storage.now is None:
            storage.add(row, _row_of_another)
        if storage.now is None:
            storage.outdate()
        return row

    def ends_with(self, values: Sequence[Any], appended: Sequence[Any]) -> bool:
        """An iteration ends with these values; True where more is written to than was known."""
        after = _arrays(values)
        groups = _Groups()
        storages = {id(m.storage): key for key, x in self.given.items() if (m := member_of(x)) is not None}
        objects = {id(x): key for key, x in self.given.items()}
        ends: dict[Key, Any] = {}
        for key in self.given:
            first = self._storage_before(key)
            groups.join(key, first)
            x = after.get(key)
            own = None if x is None else member_of(x)
            if x is not None and id(x) in objects:
                ends[key] = objects[id(x)]
            elif own is not None and id(own.storage) in storages:
                ends[key] = storages[id(own.storage)]
            elif x is not None and _is_outer(x):
                ends[key] = stands_for(x).storage
            if key in ends:
                groups.join(key, ends[key])
        self.may_be = {
            key: [m for m in group if isinstance(m, Storage)]
            for group in groups.all()
            for key in group
            if not isinstance(key, Storage)
        }
        written = [key for key, x in self.given.items() if _is_written(x)]
        outer, exact = dict(self.outer), {}
        together = []
        for group in groups.all():
            keys = [m for m in group if not isinstance(m, Storage)]
            if not any(k in written for k in keys):
                continue
            known = [m for m in group if isinstance(m, Storage)]
            outer.update((id(s), s) for s in known)
            if (
                len(keys) == 1
                and len(known) == 1
                and ends.get(keys[0]) == keys[0]
                and self._is_whole(keys[0])
            ):
                exact[id(known[0])] = keys[0]
            if _share([self._storage_before(k) for k in keys]) or _share([ends.get(k) for k in keys]):
                together.append(sorted(keys))
        self._refuse_kept(appended, groups, written)
        new = [s for key, s in outer.items() if key not in self.outer]
        again = together != self.together or (
            exact != self.exact and any(id(m.storage) in outer for m in self.rows)
        )
        again = again or any(_is_read(s) for s in new) or any(s is m.storage for s in new for m in self.rows)
        self.outer, self.exact, self.together = outer, exact, together
        if not again:  # else the next attempt takes what it reads from what the array is then
            self._require_apart(after, written)
        return again

    def _storage_before(self, key: Key) -> Storage:
        """What a variable stands for before the loop."""
        x = self.before[key]
        return array_storage(x) if isinstance(x, np.ndarray) else stands_for(x).storage

    def _is_whole(self, key: Key) -> bool:
        """Does a variable stand for all of an array before the loop, and not for a part?"""
        x = self.before[key]
        return whole_of(x) is x if isinstance(x, np.ndarray) else stands_for(x).view is None

    def _refuse_kept(self, appended: Sequence[Any], groups: _Groups, written: Sequence[Key]) -> None:
        """Raise where a list keeps, iteration by iteration, what is one array that the next one writes to."""
        kept = {id(m.storage) for x in _arrays(appended).values() if (m := member_of(x)) is not None}
        kept |= {id(x) for x in _arrays(appended).values()}
        for key in written:
            member = member_of(self.given[key])
            if id(self.given[key]) in kept or (member is not None and id(member.storage) in kept):
                raise Untraceable(
                    "a list keeps an array, or a part of one, that a later iteration of the loop writes to, and would "
                    f"show that in NumPy: append a copy, made with .copy(){at(user_location())}"
                )

    def _require_apart(self, after: dict[Key, Tensor], written: Sequence[Key]) -> None:
        """Raise where an iteration reads what the one before has written to under another name, as a part of it.

        What was `written` by assignment to items, under names that are known to stand for one array, is no concern.
        """
        overlaps, now = overlaps_now(), state.interpreter
        if overlaps is None or not isinstance(now, Trace):
            return
        begun = {key: known_by(x) for key, x in self.given.items()}
        before = {key: self.standing[key] for key in begun if key in self.standing}
        ends = {key: t for key, x in after.items() if (t := _standing(x)) is not None}
        read = {v for node in now.graph.nodes for v in node.inputs}
        over = list(zip(self.over, self.row_values, strict=True))
        others = [t for t, v in now.captures.values() if v in read] + [r for r, v in over if v in read]
        writes = [key for key in before if begun[key] in overlaps.written]
        reads = [key for key in before if begun[key] in read or key in writes]
        rows = [r for r, v in over if v in overlaps.written]
        free = {(a, b) for keys in self.together for a in keys for b in keys if a in written}
        free = {(a, b) for a, b in free if b in written or b not in writes}
        pairs = [(a, b) for a in writes for b in reads if a != b and (a, b) not in free]
        self.stale = _stale(overlaps, after)
        if (
            any(key in self.stale for key in reads)
            or any(overlaps.stale(x) for x in [*(before[key] for key in reads), *others])
            or any(
                overlaps.shares(x, row) for x in [*(before[key] for key in reads), *others] for row in rows
            )
            or any(
                overlaps.shares(x, held[key])
                for held in (before, ends)
                for key in writes
                if key in held
                for x in others
            )
            or any(
                overlaps.shares(held[a], held[b])
                for held in (before, ends)
                for a, b in pairs
                if {a, b} <= held.keys()
            )
        ):
            refuse(
                "an iteration of this loop writes to a part of an array that a later one reads under another name, and "
                f"would show that in NumPy: write to the whole by its name, a[i] = v{at(user_location())}"
            )
        self.written_before = [*(before[key] for key in writes), *rows]
        known = {*begun.values(), *self.row_values}
        self.overwritten = {root: entry for root, entry in overlaps.written.items() if root not in known}
        ways = {key: overlaps.way_of(x) for key, x in ends.items() if key in before}
        same = {
            key: overlaps.way_of(before[key])
            for key, w in ways.items()
            if w and w.root == begun[key] and not w.steps
        }
        self.same = {key: way for key, way in same.items() if way is not None}

    def hand_on(self, values: Sequence[Any]) -> None:
        """The variables are so after the loop."""
        after = _arrays(values)
        if (overlaps := overlaps_now()) is not None:
            overlaps.join(self.overwritten)
            for x in self.written_before:
                overlaps.note(x)
            _given(overlaps, after, [self.stale], self.begun, self.same)
        self._in_place(after)
        settled = set()
        for number, storage in self.outer.items():
            key = self.exact.get(number)
            if key is not None and key in after:
                storage.settle([after[key]])
                settled.add(key)
            else:
                storage.becomes(None, f"a loop has written to this array{at(user_location())}\n")
                storage.written()
        for key, storages in self.may_be.items():
            if key in after and key not in settled and after[key] is not self.before[key]:
                for storage in storages:
                    if storage.now is not None or storage.array is not None:
                        may_be(after[key], storage)
        for keys in self.together:
            group = [after[k] for k in keys if k in after]
            for k, x in enumerate(group):
                for other in group[:k]:
                    may_be(x, stands_for(other).storage)


def _nodes_so_far() -> int:
    """How long the graph is that is being traced."""
    now = state.interpreter
    return len(now.graph.nodes) if isinstance(now, Trace) else 0


def _standing(x: Any) -> Tensor | None:
    """A tensor, or the array that it is a part of where that was written to; None where that is not known."""
    if x.__class__ is not Overwritten:
        return x if isinstance(x, Tensor) else None
    member = member_of(x)
    return None if member is None else member.storage.now


def _stale(overlaps: Overlaps, leaves: dict[Key, Tensor]) -> dict[Key, Written]:
    found = {key: overlaps.stale(t) for key, x in leaves.items() if (t := _standing(x)) is not None}
    return {key: entry for key, entry in found.items() if entry is not None}


def _given(
    overlaps: Overlaps,
    after: dict[Key, Tensor],
    stale: Sequence[dict[Key, Written]],
    begun: int,
    same: dict[Key, Way],
) -> None:
    """Leaves that the nodes since `begun` give are new: as they are, or `stale` where they were so inside.

    Those of which `same` tells are the same parts of arrays as before.
    """
    now = state.interpreter
    assert isinstance(now, Trace)
    values = {v for node in now.graph.nodes[begun:] for v in node.outputs}
    for key, x in after.items():
        if known_by(x) in values:
            overlaps.given(x, next((side[key] for side in stale if key in side), None), same.get(key))


def _row_of_another(whole: Tensor) -> Tensor:
    raise Untraceable(f"a row of an array that has been written to since is read{at(user_location())}")


def _is_written(x: Tensor) -> bool:
    member = member_of(x)
    return member is not None and x.__class__ is not Tensor


def _is_read(storage: Storage) -> bool:
    """Does the body that is being traced read what stands for an array outside?"""
    captures = getattr(state.interpreter, "captures", {})
    return any(serial in captures for serial in storage.serials())


def _share(of: Sequence[Any]) -> bool:
    known = [id(x) if isinstance(x, Storage) else x for x in of if x is not None]
    return len(known) > len(set(known))


class _Groups:
    """Keys and storages that may be one array in some iteration."""

    def __init__(self) -> None:
        self.of: dict[Any, list[Any]] = {}

    def _group(self, x: Any) -> list[Any]:
        return self.of.setdefault(id(x) if isinstance(x, Storage) else x, [x])

    def join(self, a: Any, b: Any) -> None:
        """Two that may be one."""
        one, other = self._group(a), self._group(b)
        if one is other:
            return
        one += other
        for x in other:
            self.of[id(x) if isinstance(x, Storage) else x] = one

    def all(self) -> Iterator[list[Any]]:
        """The groups, each once."""
        yield from {id(g): g for g in self.of.values()}.values()
