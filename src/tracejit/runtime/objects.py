"""Loader of relocatable objects into this process: no linker, no file, no LLVM.

Objects are packed into large reservations, each with a region for code and constants (writable until an
object is complete, then executable, never both) and one for data. Loaded code is immortal: callers may keep
bare addresses, so nothing is ever unmapped. Knows machine code only as bytes with relocations.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache

from tracejit.core.dataclass import dataclass
from tracejit.runtime import cpu, elf
from tracejit.runtime.elf import ElfObject, ObjectError
from tracejit.runtime.linking.layout import Layout, round_up

_ARENA_BYTES = 16 << 20
_DATA_FRACTION = 4  # a quarter of an arena is for data
_PERF_FOLDER = "/tmp"  # which perf has written into it
_MAX_OBJECT = 1 << 30  # every address must be within reach of a 32-bit displacement
_RW, _RX = mmap.PROT_READ | mmap.PROT_WRITE, mmap.PROT_READ | mmap.PROT_EXEC
_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0)

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


@lru_cache(maxsize=1)
def _cache_flush() -> Callable[[int, int], None] | None:
    """What makes instruction fetches see new code; x86-64 needs nothing."""
    if cpu.host().arch != "aarch64":
        return None
    try:
        flush = ctypes.CDLL("libgcc_s.so.1").__clear_cache
    except (OSError, AttributeError):
        return None  # the system does it when pages become executable
    flush.argtypes, flush.restype = [ctypes.c_void_p, ctypes.c_void_p], None
    return flush


@dataclass(frozen=True, slots=True)
class LoadedObject:
    """Code in memory: the global symbols of one object and their addresses."""

    symbols: Mapping[str, int]
    bytes: int
    executable: frozenset[str] = frozenset()

    def address(self, symbol: str) -> int:
        """Address of a global symbol; KeyError names what there is."""
        try:
            return self.symbols[symbol]
        except KeyError:
            raise KeyError(f"no symbol {symbol!r}; the object has {sorted(self.symbols)}") from None

    def function(self, symbol: str) -> int:
        """Address of a global symbol that stands for code; KeyError where it does not."""
        address = self.address(symbol)
        if symbol not in self.executable:
            raise KeyError(f"the symbol {symbol!r} is no function")
        return address


class _Arena:
    """One reservation, filled from the bottom: code from `base`, data from `data_base`."""

    def __init__(self, code_bytes: int, data_bytes: int):
        self.base = self._reserve(code_bytes + data_bytes)
        self.code, self.code_end = self.base, self.base + code_bytes
        self.data, self.data_end = self.code_end, self.code_end + data_bytes

    @staticmethod
    def _reserve(size: int) -> int:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
        address = _libc.mmap(None, size, _RW, flags, -1, 0)
        if address is None or address == ctypes.c_void_p(-1).value:
            raise OSError(ctypes.get_errno(), "cannot reserve memory for code")
        return int(address)

    def fits(self, code_bytes: int, data_bytes: int) -> bool:
        return self.code + code_bytes <= self.code_end and self.data + data_bytes <= self.data_end

    def take(self, code_bytes: int, data_bytes: int) -> None:
        """Use up the space at `code` and `data`; code by pages, because a page has one protection."""
        self.code += round_up(code_bytes, mmap.PAGESIZE)
        self.data += round_up(data_bytes, 64)


_arenas: list[_Arena] = []
_lock = threading.Lock()


def _renew_lock() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)  # another thread may have held it when the child was made


def load(image: bytes) -> LoadedObject:
    """Load an object for this machine.

    Raises
    ------
    ObjectError
        The bytes are damaged, for another machine, or refer to symbols they do not define.
    OSError
        The system refuses memory.
    """
    parsed = elf.parse(image)
    if parsed.machine != cpu.host().arch:
        raise ObjectError(f"object for {parsed.machine}, this machine is {cpu.host().arch}")
    parsed.require_complete()
    layout = code_and_data(parsed)
    code_bytes, data_bytes = layout.sizes
    [_] = map(_lock.acquire, (True,))  # one step: no interrupt comes between it and what opens the lock again
    try:
        arena = _arena_for(code_bytes, data_bytes)
        code = arena.code
        placed = layout.place((code, arena.data))  # may raise: nothing is taken yet
        arena.take(code_bytes, data_bytes)
        for address, content in placed.contents:
            ctypes.memmove(address, bytes(content), len(content))
        _seal(code, code_bytes)
        if os.environ.get("TRACEJIT_PERF_MAP", "0") not in ("", "0"):
            _name_for_perf(parsed, placed.addresses)
    finally:
        _lock.release()
    inside = {s.index for s in parsed.loaded() if s.flags & elf.SHF_EXECINSTR}
    functions = frozenset(s.name for s in parsed.symbols if s.is_global and s.section in inside)
    return LoadedObject(placed.globals(parsed), code_bytes + data_bytes, functions)


#: The lines of the map of code that is not in a file, in which perf looks for names; and whose process it has them.
_named: list[str] = []
_named_in: int | None = None


def _name_for_perf(parsed: ElfObject, addresses: Sequence[int | None]) -> None:
    """Tell perf the names of functions, those inside of one with its name: ``wave.loops0``.

    A child of this process has a map of its own, with all there is.
    """
    global _named_in
    known = zip(parsed.symbols, addresses, strict=True)
    functions = [(s, a) for s, a in known if s.kind == elf.STT_FUNC and s.size and a is not None]
    entries = [s.name for s, _ in functions if s.is_global]
    inside = f"{entries[0]}." if len(entries) == 1 else ""
    new = [f"{a:x} {s.size:x} {'' if s.is_global else inside}{s.name}\n" for s, a in functions]
    _named.extend(new)
    process = os.getpid()
    lines = new if _named_in == process else _named
    with suppress(OSError), open(f"{_PERF_FOLDER}/perf-{process}.map", "a", encoding="utf-8") as file:
        file.writelines(lines)
        _named_in = process


def code_and_data(parsed: ElfObject) -> Layout:
    """The layout in two groups, of which the first is never written to."""
    sections = parsed.loaded()
    data = [s for s in sections if s.flags & elf.SHF_WRITE]
    return Layout(parsed, ([s for s in sections if not s.flags & elf.SHF_WRITE], data), table_in=0)


def _arena_for(code_bytes: int, data_bytes: int) -> _Arena:
    if code_bytes + data_bytes > _MAX_OBJECT:
        raise ObjectError(f"object of {code_bytes + data_bytes} bytes is too large")
    if not _arenas or not _arenas[-1].fits(round_up(code_bytes, mmap.PAGESIZE), round_up(data_bytes, 64)):
        usual = _ARENA_BYTES // _DATA_FRACTION
        code_region = max(round_up(code_bytes, mmap.PAGESIZE), _ARENA_BYTES - usual)
        _arenas.append(_Arena(code_region, max(round_up(data_bytes, mmap.PAGESIZE), usual)))
    return _arenas[-1]


def _seal(address: int, size: int) -> None:
    flush = _cache_flush()
    if flush is not None:
        flush(address, address + size)
    if size and _libc.mprotect(address, round_up(size, mmap.PAGESIZE), _RX):
        raise OSError(ctypes.get_errno(), "cannot make code executable")
