"""Entries: what a call must be to take the lane, and what is then done, as the tables say it.

Tables only grow while whoever is called lives, so that a call in progress never reads what is gone.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from math import prod
from typing import Any

import numpy as np

from tracejit.runtime import objects
from tracejit.runtime.executable import Executable
from tracejit.runtime.lane import words
from tracejit.runtime.lane.words import Entry, Kind, Output, Source, Step, Table
from tracejit.runtime.pool import SMALLEST

#: Kinds of calls of one function; those that come later go the Python way.
MAX_ENTRIES = 16
#: A call without loops of its own that touches no more bytes keeps other threads from running: it is over before they
#: would notice.
SHORT = 1 << 16

Row = dict[IntEnum, int]


class Words(np.ndarray):
    """A table that a builtin has as its ``self``: what its words point to lives as long."""

    kept: list[Any]


@dataclass
class Taken:
    """What a call of one kind looks like, and what is made of its outputs.

    Attributes
    ----------
    steps : list of Row
        A `Step` each; those of arrays say nothing of dtype and sizes.
    arguments : int
        How many there are by position.
    names : tuple of str
        The keywords.
    nests, result : list of Row, int
        A `Nest` each, and which of the outputs and nests is given back.
    updates : list of Row
        An `Update` each.
    settings : object, optional
        Under which it is made.
    tensors : bool
        Are the results Tensors?
    kept : list
        What the rows point to.
    """

    steps: list[Row]
    arguments: int
    names: tuple[str, ...] = ()
    nests: list[Row] = field(default_factory=list)
    result: int = 0
    updates: list[Row] = field(default_factory=list)
    settings: Any = None
    tensors: bool = False
    kept: list[Any] = field(default_factory=list)


def serves(executable: Executable) -> bool:
    """Can compiled code be called by tables at all, by what it takes and gives?"""
    signature = executable.signature
    return (
        not signature.callee_allocated
        and not signature.bound
        and len(signature.outputs) <= words.MAX_ARRAYS
        and len(signature.inputs) <= words.MAX_ARRAYS
        and len(signature.atoms) <= words.MAX_SIZES
        and all(
            dtype.isnative and not dtype.hasobject for dtype, _ in (*signature.inputs, *signature.outputs)
        )
    )


class Entries:
    """The table of one function.

    Parameters
    ----------
    api : ctypes array
        Of `words.Api`.
    slow : callable
        Called for all that the tables do not admit, and to raise what a call that failed should raise.
    """

    def __init__(self, api: ctypes.Array[Any], slow: Any):
        self.table = np.zeros(len(Table), np.uint64).view(Words)
        self.table.kept = [api, slow]
        self.table[Table.API], self.table[Table.SLOW] = ctypes.addressof(api), id(slow)
        self.count = 0

    @property
    def address(self) -> int:
        """Where the table is."""
        return self.table.ctypes.data

    def forget(self) -> None:
        """Let no call take the lane; those in progress still read what is kept."""
        self.table[Table.ENTRIES] = self.count = 0

    def add(
        self, executable: Executable, stop: int, taken: Taken, shapes: Sequence[tuple[int, ...]], weight: int
    ) -> bool:
        """From now on calls like this take the lane; False: not these.

        There is room for `MAX_ENTRIES`, and large results take memory that Python keeps.

        Parameters
        ----------
        executable : Executable
            That `serves`.
        stop : int
            The address of what answers its polls.
        taken : Taken
        shapes : sequence of tuple
            Of the inputs.
        weight : int
            Bytes that every call touches beside its arguments.
        """
        if self.count >= MAX_ENTRIES:
            return False
        signature = executable.signature
        sizes = tuple(shapes[index][axis] for _, index, axis in signature.atoms)
        results, workspace = executable.plan(sizes)
        itemsizes = [dtype.itemsize for dtype, _ in (*signature.inputs, *signature.outputs)]
        every = [prod(s) * itemsize for s, itemsize in zip((*shapes, *results), itemsizes, strict=True)]
        if max(every[len(shapes) :], default=0) >= SMALLEST:
            return False
        context = executable.new_context()
        context.poll = stop if executable.polls else None
        made = _Made(Entry)
        for name, values in (("NAMES", map(id, taken.names)), ("SIZES", sizes), ("BYTES", every)):
            made.point(Entry[name], np.array([*values], np.int64))
        outputs = [made.array_row(Output, *spec) for spec in _zipped(signature.outputs, results)]
        steps = [_completed(made, row, signature.inputs, shapes) for row in taken.steps]
        for place, rows, kind in (
            (Entry.OUTPUTS, outputs, Output), (Entry.STEPS, steps, Step), (Entry.NESTS, taken.nests, words.Nest),
            (Entry.UPDATES, taken.updates, words.Update),
        ):  # fmt: skip
            made.point(place, _rows(rows, kind))
        made.put({
            Entry.NEXT: int(self.table[Table.ENTRIES]), Entry.SETTINGS: id(taken.settings) if taken.settings else 0,
            Entry.N_ARGS: taken.arguments, Entry.N_NAMES: len(taken.names), Entry.N_STEPS: len(steps),
            Entry.N_INPUTS: len(shapes), Entry.KERNEL: executable.address,
            Entry.CONTEXT: ctypes.addressof(context),
            Entry.RELEASES: executable.polls or sum(every) + workspace + weight > SHORT,
            Entry.WORKSPACE: -(-workspace // 64) * 64, Entry.N_SIZES: len(sizes), Entry.N_OUTPUTS: len(results),
            Entry.TENSORS: taken.tensors, Entry.N_NESTS: len(taken.nests), Entry.RESULT: taken.result,
            Entry.N_UPDATES: len(taken.updates),
        })  # fmt: skip
        self.table.kept += [executable, context, taken, made.kept, made.row]
        self.count += 1
        self.table[Table.ENTRIES] = made.row.ctypes.data  # last, when all is there
        return True


class _Made:
    """One entry being written, and what its words point to."""

    def __init__(self, kind: type[IntEnum]):
        self.row = np.zeros(len(kind), np.int64)
        self.kept: list[Any] = []

    def put(self, values: Row) -> None:
        for place, value in values.items():
            self.row[place] = value

    def point(self, place: IntEnum, array: np.ndarray) -> None:
        """Let a word point to an array."""
        self.row[place] = self.address(array)

    def address(self, array: np.ndarray) -> int:
        self.kept.append(array)
        return array.ctypes.data

    def array_row(self, kind: type[Any], dtype: np.dtype[Any], shape: Iterable[int]) -> Row:
        """The words about an array, which tables of several kinds name alike."""
        sizes = np.array([*shape], np.int64)
        value = kind.VALUE if kind is Step else kind.DTYPE
        self.kept.append(dtype)
        return {value: id(dtype), kind.RANK: len(sizes), kind.SHAPE: self.address(sizes)}


def _completed(
    made: _Made, row: Row, inputs: Sequence[tuple[np.dtype[Any], Any]], shapes: Sequence[tuple[int, ...]]
) -> Row:
    """A step, with dtype and sizes if it is an array's."""
    if row.get(Step.KIND, Kind.ARRAY) != Kind.ARRAY:
        return row
    place = row[Step.PLACE]
    return row | made.array_row(Step, inputs[place][0], shapes[place])


def _zipped(specs: Sequence[tuple[np.dtype[Any], Any]], shapes: Sequence[tuple[int, ...]]) -> Any:
    return ((dtype, shape) for (dtype, _), shape in zip(specs, shapes, strict=True))


def _rows(rows: Sequence[Row], kind: type[IntEnum]) -> np.ndarray:
    found = np.zeros((max(len(rows), 1), len(kind)), np.int64)
    for made, row in zip(found, rows, strict=False):
        for place, value in row.items():
            made[place] = value
    return found


def argument(place: int, accepts: int) -> Row:
    """The step of an array that is the argument with its number."""
    return {Step.SOURCE: Source.ARGUMENT, Step.KEY: place, Step.PLACE: place, Step.ACCEPTS: accepts}


class Code:
    """The lane's code in memory: where its functions are. It lives as long as the process."""

    __slots__ = ("call", "entry", "stop")

    def __init__(self, image: bytes):
        loaded = objects.load(image)
        self.entry, self.call = loaded.function(words.ENTRY), loaded.function(words.CALL)
        self.stop = loaded.function(words.STOP)
