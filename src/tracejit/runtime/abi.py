"""The calling convention between generated code and everything that calls it.

One entry per compiled function: ``i32 entry(ptr buffers, ptr dims, ptr ctx)``. `buffers` points to the data
pointers of the inputs, then of the outputs. `dims` is an i64 array: the sizes read from the inputs, then
the sizes the callee determines (trip counts), which it writes back. `ctx` is the versioned struct below.
The result is a status: 0, one of the negative codes here, or ``k > 0`` for entry ``k - 1`` of the
function's message table. Slots of outputs that the callee allocates are null at entry; whatever is there at
the end, after an error too, belongs to the caller. Offsets are fixed for a version; this module must not
know who emits or loads the code.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable

VERSION = 1

ENTRY_PARAMETERS = ("buffers", "dims", "ctx")
"""What an entry is given, each a pointer; so is every function behind ``ctx.functions`` that is an entry."""

DETAIL_COUNT = 4
LOOP_WORDS = 3
"""Words of ``ctx.loops`` for one loop."""

# ---- status codes ---------------------------------------------------------------------------------------
STATUS_OK = 0
STATUS_OUT_OF_MEMORY = -1
STATUS_INTERRUPTED = -2
STATUS_CALLBACK_FAILED = -3

WORKSPACE_ALIGN = 64
"""Alignment of the workspace, and the largest alignment `alloc` must be asked for."""

LARGE = 1 << 20
"""Bytes from which the callee asks `alloc_large` for memory."""

ALLOC_TYPE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
FREE_TYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

ENTRY_TYPE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
"""Type of an entry; calling through it releases the GIL."""

POLL_TYPE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
"""Type of ``poll(ctx)``: nonzero asks the callee to return ``STATUS_INTERRUPTED``."""


class Context(ctypes.Structure):
    """The ctx struct.

    Attributes
    ----------
    alloc, free : address
        ``ptr alloc(i64 align, i64 bytes)`` with bytes a positive multiple of align, null on failure;
        ``void free(ptr)``. Callee-allocated outputs come from `alloc`, or `alloc_large`, and are owned by the caller.
    workspace, workspace_bytes
        Scratch memory for this call, aligned to ``WORKSPACE_ALIGN``.
    constants, functions
        Arrays of data and of code addresses.
    poll
        Address of a ``POLL_TYPE`` function, or null.
    allocations
        The callee adds one for every `alloc`.
    detail
        Values for the placeholders of an error message.
    alloc_large, free_large
        As `alloc` and `free`, for ``LARGE`` bytes and more: memory may be kept for the next call.
    loops
        Where the callee is when it polls: the outermost loop and the innermost one, each by the place in the
        message table of the line it stands at (-1: none), the iterations behind it, and of how many (-1: not known).
    """

    _fields_ = [
        ("version", ctypes.c_int64),
        ("alloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
        ("workspace", ctypes.c_void_p),
        ("workspace_bytes", ctypes.c_int64),
        ("constants", ctypes.c_void_p),
        ("functions", ctypes.c_void_p),
        ("poll", ctypes.c_void_p),
        ("allocations", ctypes.c_int64),
        ("detail", ctypes.c_int64 * DETAIL_COUNT),
        ("loops", ctypes.c_int64 * (2 * LOOP_WORDS)),
        ("alloc_large", ctypes.c_void_p),
        ("free_large", ctypes.c_void_p),
    ]


def offset(field: str, word: int = 0) -> int:
    """Bytes from the start of the ctx struct to a field of it, or to a word of one that has several."""
    found: int = getattr(Context, field).offset
    return found + 8 * word


def status_of(message: int) -> int:
    """The status that stands for an entry of the message table."""
    return message + 1


def message_of(status: int) -> int:
    """The place in the message table that a positive status stands for."""
    return status - 1


def place_of_output(inputs: int, output: int) -> int:
    """Where `buffers` holds an output of a function with so many inputs."""
    return inputs + output


def place_of_bound(atoms: int, bound: int) -> int:
    """Where `dims` holds a size that the callee determines, behind so many that the caller gives."""
    return atoms + bound


_libc = ctypes.CDLL(None)
_libc.free.argtypes = [ctypes.c_void_p]
_libc.free.restype = None
_libc.aligned_alloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
_libc.aligned_alloc.restype = ctypes.c_void_p

ALLOC_ADDRESS: int = ctypes.cast(_libc.aligned_alloc, ctypes.c_void_p).value or 0
FREE_ADDRESS: int = ctypes.cast(_libc.free, ctypes.c_void_p).value or 0


def allocate(align: int, size: int) -> int:
    """Address of `size` new bytes (rounded up to a multiple of `align`); MemoryError when there are none."""
    whole = -(-max(size, 1) // align) * align
    address = _libc.aligned_alloc(align, whole) if whole <= sys.maxsize else None  # ctypes drops higher bits
    if not address:
        raise MemoryError(f"cannot allocate {size} bytes")
    return int(address)


release: Callable[[int | None], None] = _libc.free
"""Frees what `allocate` or a callee's `alloc` returned."""
