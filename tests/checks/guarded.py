"""Exported libraries called as C calls them, with every array between pages of memory that nobody may touch.

Arguments cannot be written, results and work hold rubbish before the call. What reads or writes outside of an array,
or writes into an argument, ends the process; what reads memory that it has not written gives other results with other
rubbish.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tracejit.aot import Artifact
from tracejit.core.dim import evaluate

Arrays = list[np.ndarray]
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_PAGE = mmap.PAGESIZE
_NUMBERS = itertools.count()


class Way(NamedTuple):
    """How memory lies around a call.

    Attributes
    ----------
    at_end : bool
        Do arrays end where the forbidden page begins? Else they begin where one ends.
    skew : int
        By how many elements they stand away from there.
    rubbish : int
        The byte that fills results and work before the call.
    """

    at_end: bool = True
    skew: int = 0
    rubbish: int = 0xA5


WAYS = (Way(), Way(at_end=False, rubbish=0x00), Way(skew=1, rubbish=0xFF), Way(False, 3, 0x7F))


class Memory:
    """So many bytes between two pages that nobody may touch."""

    def __init__(self, size: int, align: int, way: Way):
        self._pages = -(-max(size + way.skew * align, 1) // _PAGE) * _PAGE
        self._length = self._pages + 2 * _PAGE
        self._base = _LIBC.mmap(None, self._length, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
        self.allow(mmap.PROT_READ | mmap.PROT_WRITE)
        first = self._base + _PAGE
        self.address = first + (self._pages - size - way.skew * align if way.at_end else way.skew * align)
        self.size = size

    def allow(self, what: int) -> None:
        """Set what may be done with the pages in between."""
        if _LIBC.mprotect(self._base + _PAGE, self._pages, what) != 0:
            raise OSError(ctypes.get_errno(), "mprotect")

    def fill(self, byte: int) -> None:
        """The same in every byte of the pages, also before and behind."""
        ctypes.memset(self._base + _PAGE, byte, self._pages)

    def free(self) -> None:
        """Give it back."""
        _LIBC.munmap(self._base, self._length)

    def outside(self) -> bytes:
        """The bytes on the same pages that belong to nobody."""
        first = self._base + _PAGE
        before = ctypes.string_at(first, self.address - first)
        end = self.address + self.size
        return before + ctypes.string_at(end, first + self._pages - end)


class Vectors:
    """Vectors between pages that nobody may touch, for a ``with`` block: read-only, in steps, negative ones too."""

    def __enter__(self) -> Vectors:
        self._memory: list[Memory] = []
        return self

    def __exit__(self, *exc: object) -> None:
        for memory in self._memory:
            memory.free()

    def holding(self, x: np.ndarray, step: int, way: Way) -> np.ndarray:
        """The numbers of a vector that is not empty; the array must be gone when the block ends."""
        places = 1 + (x.size - 1) * abs(step)
        memory = _memory(x.dtype, places * x.itemsize, way)
        self._memory.append(memory)
        data = (ctypes.c_ubyte * memory.size).from_address(memory.address)
        found = np.ndarray((places,), x.dtype, data)[::step]
        found[...] = x
        found.flags.writeable = False
        memory.allow(mmap.PROT_READ)
        return found


class Library:
    """The shared library of an artifact, loaded from a file.

    Parameters
    ----------
    art : Artifact
    folder : Path
        Where files are written.
    target : str, optional
        Which code; by default the first.
    """

    def __init__(self, art: Artifact, folder: Path, target: str | None = None):
        path = folder / f"lib{art.name}_{next(_NUMBERS)}.so"
        art.write(path, target)
        self._library = ctypes.CDLL(str(path))
        code = art._code(target)
        self._interface, self._signature = code.interface, code.compiled.signature
        self._called = self._library[art.name]
        self._called.restype = ctypes.c_int32
        self._error = self._library[f"{art.name}_error"]
        self._error.restype, self._error.argtypes = ctypes.c_char_p, [ctypes.c_int32]
        path.unlink()

    def sizes(self, arrays: Sequence[np.ndarray]) -> dict[str, int]:
        """The named sizes of these arguments."""
        return {name: arrays[index].shape[axis] for name, index, axis in self._signature.atoms}

    def work(self, sizes: dict[str, int]) -> int:
        """Bytes of work, as the library itself says where it has a function for that."""
        work = self._interface.work
        if isinstance(work, int):
            return work
        asked = self._library[f"{self._interface.name}_workspace"]
        asked.restype, asked.argtypes = ctypes.c_int64, [ctypes.c_int64] * len(sizes)
        found = asked(*sizes.values())
        assert found == evaluate(work, sizes), (found, work, sizes)
        return int(found)

    def call(self, arrays: Sequence[np.ndarray], way: Way = WAYS[0]) -> tuple[str, Arrays]:
        """The text of the status, empty for success, and the results."""
        sizes = self.sizes(arrays)
        shapes = [
            (dtype, tuple(max(evaluate(s, sizes), 0) for s in shape))
            for dtype, shape in self._signature.outputs
        ]
        given = [_given(x, way) for x in arrays]
        made = [_memory(d, int(np.prod(shape)) * d.itemsize, way) for d, shape in shapes]
        work = [Memory(self.work(sizes), 1, way)] if self._interface.work != 0 else []
        for m in (*made, *work):
            m.fill(way.rubbish)
        pointers = [ctypes.c_void_p(m.address) for m in (*given, *made)]
        numbers = [ctypes.c_int64(n) for n in sizes.values()]
        status = self._called(*pointers, *numbers, *(ctypes.c_void_p(m.address) for m in work))
        outputs = [
            np.frombuffer(ctypes.string_at(m.address, m.size), dtype).reshape(shape)
            for m, (dtype, shape) in zip(made, shapes, strict=True)
        ]
        dirty = [m for m in (*made, *work) if set(m.outside()) - {way.rubbish}]
        for m in (*given, *made, *work):
            m.free()
        assert not dirty, "bytes beside a result or work were written"
        return "" if status == 0 else self._error(status).decode(), outputs


def _align(dtype: np.dtype) -> int:
    return dtype.itemsize // (2 if dtype.kind == "c" else 1)


def _memory(dtype: np.dtype, size: int, way: Way) -> Memory:
    return Memory(size, _align(dtype), way)


def _given(x: np.ndarray, way: Way) -> Memory:
    """An argument: a copy that cannot be written."""
    made = _memory(x.dtype, x.nbytes, way)
    ctypes.memmove(made.address, np.ascontiguousarray(x).ctypes.data, x.nbytes)
    made.allow(mmap.PROT_READ)
    return made
