"""Entries of the call lane: the kind of call that each accepts, and the steps that follow.

Tables only grow while whoever is called lives, so that a call in progress never reads what is gone.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from tracejit.runtime import objects
from tracejit.runtime.executable import Executable
from tracejit.runtime.lane import words
from tracejit.runtime.lane.words import Entry, Kind, Nest, Output, Source, Step, Table, Update
from tracejit.runtime.pool import POOL, SMALLEST

#: Kinds of calls of one function; those that come later go the Python way.
MAX_ENTRIES = 32
#: A call without loops of its own that touches no more bytes keeps other threads from running: it is over before they
#: would notice.
SHORT = 1 << 16
#: Results of no more bytes are given again when nobody has them any more.
KEPT = 1 << 12

#: Words of a table, by their places.
Row = dict[int, int]


class Words(np.ndarray):
    """A table that a builtin has as its ``self``: what its words point to lives as long."""

    kept: list[Any]


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

    arguments: int
    steps: list[Row]
    tensors: bool

    def __init__(self, steps: list[Row], arguments: int, tensors: bool = False):
        self.steps, self.arguments, self.tensors = steps, arguments, tensors
        self.names: tuple[str, ...] = ()
        self.nests: list[Row] = []
        self.result = 0
        self.updates: list[Row] = []
        self.settings: Any = None
        self.kept: list[Any] = []


def serves(executable: Executable) -> bool:
    """Can compiled code be called by tables at all, by what it takes and gives?"""
    signature = executable.signature
    return (
        not signature.callee_allocated
        and not signature.bound
        and len(signature.outputs) <= words.MAX_ARRAYS
        and len(signature.inputs) <= words.MAX_ARRAYS
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

    forgotten: int
    count: int

    def __init__(self, api: ctypes.Array[Any], slow: Any):
        self.table: Words = np.zeros(Table.WORDS, np.uint64).view(Words)
        self.table.kept = [api, slow]
        self.table[Table.API], self.table[Table.SLOW] = ctypes.addressof(api), id(slow)
        self.count = self.forgotten = 0

    @property
    def address(self) -> int:
        """Where the table is."""
        return self.table.ctypes.data

    def forget(self) -> None:
        """Let no call take the lane; those in progress still read what is kept."""
        self.table[Table.ENTRIES] = self.count = 0
        self.forgotten += 1

    def add(
        self, executable: Executable, stop: int, taken: Taken, shapes: Sequence[tuple[int, ...]], weight: int
    ) -> bool:
        """From now on calls like this take the lane; False: not these.

        There is room for `MAX_ENTRIES`; large results that are no Tensors are Python's.

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
        large = max(every[len(shapes) :], default=0) >= SMALLEST
        if large and not taken.tensors:
            return False
        context = executable.new_context()
        context.poll = stop if executable.polls else None
        outputs = zip(signature.outputs, results, every[len(shapes) :], strict=True)
        made = _Written(taken, signature.inputs, shapes, outputs)
        made.rows({Entry.NAMES: map(id, taken.names), Entry.SIZES: sizes, Entry.BYTES: every})
        made.row.update({
            Entry.NEXT: int(self.table[Table.ENTRIES]), Entry.KERNEL: executable.address,
            Entry.CONTEXT: ctypes.addressof(context), Entry.WORKSPACE: -(-workspace // 64) * 64,
            Entry.RELEASES: executable.polls or large or sum(every) + workspace + weight > SHORT,
            Entry.N_INPUTS: len(shapes), Entry.N_OUTPUTS: len(results), Entry.N_SIZES: len(sizes),
        })  # fmt: skip
        entry = _table([made.row], Entry.WORDS)
        self.table.kept += [executable, context, taken, made.kept, entry]
        self.count += 1
        self.table[Table.ENTRIES] = entry.ctypes.data  # last, when all is there
        return True


class _Written:
    """The words of an entry that say what a call looks like, and the tables that they point to."""

    def __init__(self, taken: Taken, inputs: Sequence[Any], shapes: Sequence[tuple[int, ...]], outputs: Any):
        self.kept: list[Any] = []
        self.row: Row = {
            Entry.SETTINGS: 0 if taken.settings is None else id(taken.settings), Entry.N_ARGS: taken.arguments,
            Entry.N_NAMES: len(taken.names), Entry.N_STEPS: len(taken.steps), Entry.TENSORS: taken.tensors,
            Entry.N_NESTS: len(taken.nests), Entry.RESULT: taken.result, Entry.N_UPDATES: len(taken.updates),
        }  # fmt: skip
        steps = [self._completed(step, inputs, shapes) for step in taken.steps]
        made = [self._output(dtype, shape, size, taken.tensors) for (dtype, _), shape, size in outputs]
        spares: list[Any] = [None] * (2 * len(made))
        self.kept.append(spares)
        self.row[Entry.SPARES] = id(spares)
        for place, rows, count in (
            (Entry.STEPS, steps, Step.WORDS), (Entry.OUTPUTS, made, Output.WORDS),
            (Entry.NESTS, taken.nests, Nest.WORDS), (Entry.UPDATES, taken.updates, Update.WORDS),
        ):  # fmt: skip
            self.row[place] = self._address(_table(rows, count))

    def rows(self, columns: dict[int, Iterable[int]]) -> None:
        """Let words point to what they name."""
        for place, values in columns.items():
            self.row[place] = self._address(np.array([*values], np.int64))

    def _address(self, array: np.ndarray) -> int:
        self.kept.append(array)
        return array.ctypes.data

    def _completed(self, step: Row, inputs: Sequence[Any], shapes: Sequence[tuple[int, ...]]) -> Row:
        """A step, with dtype and sizes if it is an array's."""
        if step.get(Step.KIND, Kind.ARRAY) != Kind.ARRAY:
            return step
        place = step[Step.PLACE]
        return step | self._array(inputs[place][0], shapes[place], (Step.VALUE, Step.RANK, Step.SHAPE))

    def _output(self, dtype: np.dtype[Any], shape: tuple[int, ...], size: int, tensor: bool) -> Row:
        """An output of so many bytes, of which a large one is made by the pool, in Python."""
        row = self._array(dtype, shape, (Output.DTYPE, Output.RANK, Output.SHAPE))
        row[Output.KEPT] = tensor and size <= KEPT
        if size >= SMALLEST:
            maker = partial(POOL.array, shape, dtype)
            self.kept.append(maker)
            row[Output.MAKER] = id(maker)
        return row

    def _array(self, dtype: np.dtype[Any], shape: tuple[int, ...], places: tuple[int, int, int]) -> Row:
        self.kept.append(dtype)
        sizes = self._address(np.array(shape, np.int64))
        return dict(zip(places, (id(dtype), len(shape), sizes), strict=True))


def _table(rows: Sequence[Row], count: int) -> np.ndarray:
    """Rows of so many words."""
    found = np.zeros((max(len(rows), 1), count), np.int64)
    for words_, row in zip(found, rows, strict=False):
        for place, value in row.items():
            words_[place] = value
    return found


def argument(place: int, accepts: int) -> Row:
    """The step of an array that is the argument with its number."""
    return {Step.SOURCE: Source.ARGUMENT, Step.KEY: place, Step.PLACE: place, Step.ACCEPTS: accepts}


class Code:
    """The lane's code in memory: where its functions are. It lives as long as the process."""

    __slots__ = ("call", "entry", "stop")
    call: int
    entry: int

    def __init__(self, image: bytes):
        loaded = objects.load(image)
        self.entry, self.call = loaded.function(words.ENTRY), loaded.function(words.CALL)
        self.stop: int = loaded.function(words.STOP)
