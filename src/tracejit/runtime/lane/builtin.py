"""Lane: a compiled function as a builtin, and the tables that its machine code reads.

Shapes that a call in Python has checked are admitted; from then on calls with them take the lane. Tables only grow
while the builtin lives, so that a call in progress never reads what is gone.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from tracejit.runtime import objects
from tracejit.runtime.executable import Executable
from tracejit.runtime.lane import probe, words
from tracejit.runtime.lane.words import Entry, Spec, Table
from tracejit.runtime.pool import SMALLEST

#: Combinations of shapes; those that come later go the Python way.
MAX_ENTRIES = 16
#: A call without loops of its own that touches no more bytes keeps other threads from running: it is over before they
#: would notice.
SHORT = 1 << 16
_FASTCALL_WITH_KEYWORDS = 0x82
_float64 = np.dtype(np.float64)


class _MethodDef(ctypes.Structure):
    """Python's description of a builtin."""

    _fields_ = [
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)
    ]  # fmt: skip


class _Words(np.ndarray):
    """The table, as which a builtin has it: what its words point to lives as long."""

    kept: list[Any]


@lru_cache(maxsize=8)
def _loaded(code: bytes) -> tuple[_MethodDef, int]:
    """What all builtins with the same code share, and what answers polls; they live as long as the process."""
    loaded = objects.load(code)
    found = _MethodDef(b"compiled", loaded.function(words.ENTRY), _FASTCALL_WITH_KEYWORDS, None)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(found))  # builtins may outlive the cache
    return found, loaded.function(words.STOP)


class Lane:
    """A function that is called by machine code.

    Parameters
    ----------
    code : bytes
        The object with the lane's code, of this `words.VERSION`.
    executable : Executable
        The function; its outputs' shapes are known before a call.
    slow : callable
        Takes the same arguments; called for all that the tables do not admit, and to raise what a call that failed
        should raise.
    weight : int
        Bytes that every call touches beside its arguments.
    """

    def __init__(self, code: bytes, executable: Executable, slow: Callable[..., Any], weight: int = 0):
        signature, api = executable.signature, probe.api()
        assert api is not None
        self._executable, self._weight = executable, weight
        self._entries = 0
        method, stop = _loaded(code)
        context = executable.new_context()
        context.poll = stop if executable.polls else None
        inputs, outputs = (_specs(specs) for specs in (signature.inputs, signature.outputs))
        self._table = table = np.zeros(len(Table), np.uint64).view(_Words)
        table.kept = [executable, slow, context, inputs, outputs, signature]
        for place, value in {
            Table.API: ctypes.addressof(api),
            Table.SLOW: id(slow),
            Table.KERNEL: executable.address,
            Table.CONTEXT: ctypes.addressof(context),
            Table.N_INPUTS: len(signature.inputs),
            Table.N_OUTPUTS: len(signature.outputs),
            Table.INPUTS: inputs.ctypes.data,
            Table.OUTPUTS: outputs.ctypes.data,
        }.items():
            table[place] = value
        new = ctypes.pythonapi.PyCFunction_NewEx
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
        self.builtin: Callable[..., Any] = new(ctypes.addressof(method), table, None)

    @staticmethod
    def serves(executable: Executable) -> bool:
        """Can the function take a lane at all, in this process?"""
        signature = executable.signature
        return (
            not signature.callee_allocated
            and not signature.bound
            and 0 < len(signature.outputs) <= words.MAX_ARRAYS
            and len(signature.inputs) <= words.MAX_ARRAYS
            and len(signature.atoms) <= words.MAX_SIZES
            and all(dtype.isnative for dtype, _ in (*signature.inputs, *signature.outputs))
            and probe.api() is not None
        )

    def admit(self, shapes: Sequence[tuple[int, ...]]) -> bool:
        """From now on inputs of these shapes, for which the function has been called, take the lane; False: not these.

        There is room for `MAX_ENTRIES`, and large results take memory that Python keeps.
        """
        if self._entries >= MAX_ENTRIES:
            return False
        signature = self._executable.signature
        sizes = tuple(shapes[index][axis] for _, index, axis in signature.atoms)
        results, workspace = self._executable.plan(sizes)
        itemsizes = [dtype.itemsize for dtype, _ in (*signature.inputs, *signature.outputs)]
        every = [prod(s) * itemsize for s, itemsize in zip((*shapes, *results), itemsizes, strict=True)]
        if max(every[len(shapes) :], default=0) >= SMALLEST:
            return False
        self._entries += 1
        parts = [
            np.array([size for shape in part for size in shape], np.int64)
            for part in ((sizes,), shapes, results, (every,))
        ]
        entry = np.zeros(len(Entry), np.int64)
        for place, value in {
            Entry.NEXT: int(self._table[Table.ENTRIES]),
            Entry.RELEASES: self._executable.polls or sum(every) + workspace + self._weight > SHORT,
            Entry.WORKSPACE: -(-workspace // 64) * 64,
            Entry.N_SIZES: len(sizes),
            **{Entry(Entry.SIZES + k): part.ctypes.data for k, part in enumerate(parts)},
        }.items():
            entry[place] = value
        self._table.kept += [parts, entry]
        self._table[Table.ENTRIES] = entry.ctypes.data  # last, when all is there
        return True


def _specs(specs: Sequence[tuple[np.dtype[Any], tuple[Any, ...]]]) -> np.ndarray:
    """The words about inputs or outputs."""
    found = np.zeros((max(len(specs), 1), len(Spec)), np.uint64)
    for row, (dtype, shape) in zip(found, specs, strict=False):
        row[Spec.DTYPE], row[Spec.RANK] = id(dtype), len(shape)
        row[Spec.NUMBER] = dtype == _float64 and not shape
    return found
