"""Recycled memory for large arrays and workspaces.

Fresh memory costs a page fault per 4 KB, more than most memory-bound kernels, and the C allocator returns
large blocks to the system when they are freed. Blocks here are in power-of-two classes, aligned, and come
back to their class when the last array over them dies. Knows bytes and NumPy arrays, not who uses them.
"""

from __future__ import annotations

import _thread
import ctypes
import math
import weakref
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from tracejit.runtime.abi import ALLOC_TYPE, FREE_TYPE, allocate, release

SMALLEST = 1 << 16
"""Smaller arrays are left to NumPy, which recycles them itself."""

_ALIGN = 64
_HUGE = 1 << 21
_CLASS_BYTES = 256 << 20  # idle memory a class may keep
_MADV_HUGEPAGE = 14
_BYTE = np.dtype(np.uint8)


class _End(weakref.ref[Any]):
    """What Python calls when a block dies: C code with this as its argument, so that no signal can raise in it.

    A ``__del__`` would be Python code, in which Ctrl-C is lost.
    """

    __slots__ = ("_as_parameter_",)
    _as_parameter_: int  # the address, as ctypes asks for it


class Block:
    """Memory that returns to its pool, or to the system, when this object dies.

    Parameters
    ----------
    address, size : int
        Sizes are powers of two; 0 where that is not known.
    at_end : callable
        Takes what ctypes takes for the address; must be C code.
    """

    __slots__ = ("__array_interface__", "__weakref__", "_end", "address", "size")

    def __init__(self, address: int, size: int, at_end: Callable[[Any], Any] = release):
        self.address: int = address
        self.size: int = size
        end = _End(self, at_end)
        end._as_parameter_ = address
        self._end = end

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """This memory as an array that keeps it alive; the block must be used for one array only."""
        count = math.prod(shape) * dtype.itemsize
        if self.size:
            memory = _memory(self.size).from_address(self.address)
            memory.block = self
            return np.ndarray(shape, dtype, np.ndarray((count,), _BYTE, memory))
        self.__array_interface__: dict[str, Any] = {
            "shape": (count,),
            "typestr": "|u1",
            "data": (self.address, False),
            "version": 3,
        }
        return np.ndarray(shape, dtype, buffer=np.asarray(self))


@cache
def _memory(size: int) -> Any:
    """What ctypes calls so many bytes; NumPy reads their place from it in a third of the time of an interface."""
    return ctypes.c_uint8 * size


class BufferPool:
    """Classes of idle blocks; safe for threads, because each step is one list operation."""

    def __init__(self) -> None:
        self._idle: dict[int, list[Any]] = {}
        self._own: dict[int, int] = {}  # blocks of a class that come back, in use or idle

    def take(self, size: int) -> Block:
        """A block of at least `size` bytes with undefined contents, aligned to 64."""
        size = 1 << max(size - 1, SMALLEST - 1).bit_length()
        home = self._idle.setdefault(size, [])
        try:
            return Block(home.pop()._as_parameter_, size, home.append)
        except IndexError:
            pass
        own = self._own.get(size, 0)
        if (own + 1) * size > _CLASS_BYTES:
            return Block(_fresh(size), size)
        self._own[size] = own + 1
        return Block(_fresh(size), size, home.append)

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """An uninitialised C-contiguous array over a recycled block."""
        return self.take(math.prod(shape) * dtype.itemsize).array(shape, dtype)

    def idle_bytes(self) -> int:
        """Memory held and not in use."""
        return sum(size * len(ends) for size, ends in self._idle.items())

    def trim(self) -> None:
        """Give all idle memory back to the system."""
        for size, ends in self._idle.items():
            while True:
                try:
                    release(ends.pop())
                except IndexError:
                    break
                self._own[size] -= 1


POOL = BufferPool()
"""The pool of this process."""


def _fresh(size: int) -> int:
    if size < 2 * _HUGE:
        return allocate(_ALIGN, size)
    address = allocate(_HUGE, size)
    if _madvise is not None:  # one fault per 2 MB instead of per 4 KB; refusal does no harm
        _madvise(address, size, _MADV_HUGEPAGE)
    return address


_madvise = getattr(ctypes.CDLL(None), "madvise", None)
if _madvise is not None:
    _madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


# ---- for compiled code ----------------------------------------------------------------------------------

_lent: dict[int, Block] = {}


def _lend(align: int, size: int) -> int:
    """Memory that a compiled function asks for while it runs; 0 when there is none."""
    try:
        block = POOL.take(size)
        _lent[block.address] = block
    except MemoryError:
        return 0
    except KeyboardInterrupt:  # Python cannot raise it here: it comes again when the function returns
        _thread.interrupt_main()
        return _lend(align, size)
    return block.address


def adopted(address: int) -> Block:
    """What compiled code hands over, lent or allocated, as a block that nobody else has."""
    return _lent.pop(address, None) or Block(address, 0)


# C code takes memory back: a function in Python would raise here, where it is lost, what Ctrl-C has asked for meanwhile
_thunks = ALLOC_TYPE(_lend), FREE_TYPE(_lent.__delitem__)

#: Addresses of the functions that compiled code calls for large blocks, and to give them back.
LEND_ADDRESS, TAKE_BACK_ADDRESS = (ctypes.cast(f, ctypes.c_void_p).value or 0 for f in _thunks)
