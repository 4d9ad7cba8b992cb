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
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from tracejit.runtime import cpu, elf, relocations
from tracejit.runtime.elf import ElfObject, ObjectError, Section

_ARENA_BYTES = 16 << 20
_DATA_FRACTION = 4  # a quarter of an arena is for data
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

    def address(self, symbol: str) -> int:
        """Address of a global symbol; KeyError names what there is."""
        try:
            return self.symbols[symbol]
        except KeyError:
            raise KeyError(f"no symbol {symbol!r}; the object has {sorted(self.symbols)}") from None


def _round(value: int, align: int) -> int:
    return -(-value // align) * align


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
        self.code += _round(code_bytes, mmap.PAGESIZE)
        self.data += _round(data_bytes, 64)


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
    _check(parsed)
    layout = _Layout(parsed)
    with _lock:
        arena = _arena_for(layout.code_bytes, layout.data_bytes)
        code = arena.code
        placed = layout.place(code, arena.data)  # may raise: nothing is taken yet
        arena.take(layout.code_bytes, layout.data_bytes)
        for address, content in placed.contents:
            ctypes.memmove(address, bytes(content), len(content))
        _seal(code, layout.code_bytes)
    return LoadedObject(placed.symbols, layout.code_bytes + layout.data_bytes)


def _check(parsed: ElfObject) -> None:
    if parsed.machine != cpu.host().arch:
        raise ObjectError(f"object for {parsed.machine}, this machine is {cpu.host().arch}")
    missing = parsed.undefined()
    if missing:
        raise ObjectError(f"undefined symbols: {', '.join(missing)}")
    for section in parsed.sections:
        if section.name.startswith((".init", ".ctors", ".fini")) and section.size:
            raise ObjectError("constructors are not supported")


def _arena_for(code_bytes: int, data_bytes: int) -> _Arena:
    if code_bytes + data_bytes > _MAX_OBJECT:
        raise ObjectError(f"object of {code_bytes + data_bytes} bytes is too large")
    if not _arenas or not _arenas[-1].fits(_round(code_bytes, mmap.PAGESIZE), _round(data_bytes, 64)):
        usual = _ARENA_BYTES // _DATA_FRACTION
        code_region = max(_round(code_bytes, mmap.PAGESIZE), _ARENA_BYTES - usual)
        _arenas.append(_Arena(code_region, max(_round(data_bytes, mmap.PAGESIZE), usual)))
    return _arenas[-1]


def _seal(address: int, size: int) -> None:
    flush = _cache_flush()
    if flush is not None:
        flush(address, address + size)
    if size and _libc.mprotect(address, _round(size, mmap.PAGESIZE), _RX):
        raise OSError(ctypes.get_errno(), "cannot make code executable")


@dataclass(slots=True)
class _Placed:
    contents: list[tuple[int, bytearray]]
    symbols: dict[str, int]


class _Layout:
    """Where the sections of one object go, relative to the start of its code and of its data."""

    def __init__(self, parsed: ElfObject):
        self.parsed = parsed
        kept = [s for s in parsed.sections if s.allocated and s.name != ".eh_frame"]
        self.offsets: dict[int, int] = {}
        self.data = [s for s in kept if s.flags & elf.SHF_WRITE]
        self.code = [s for s in kept if not s.flags & elf.SHF_WRITE]
        self.slots = self._table_slots()
        self.table_offset = 0
        self.code_bytes = self._pack(self.code)
        if self.slots:
            self.table_offset = _round(self.code_bytes, 8)
            self.code_bytes = self.table_offset + 8 * len(self.slots)
        self.data_bytes = self._pack(self.data)

    def _table_slots(self) -> dict[int, int]:
        through = relocations.THROUGH_TABLE[self.parsed.machine]
        symbols = (r.symbol for r in self.parsed.relocations if r.kind in through)
        return {symbol: slot for slot, symbol in enumerate(dict.fromkeys(symbols))}

    def _pack(self, sections: list[Section]) -> int:
        end = 0
        for section in sections:
            self.offsets[section.index] = start = _round(end, section.align)
            end = start + section.size
        return end

    def place(self, code: int, data: int) -> _Placed:
        """The final bytes and addresses when code starts at `code` and data at `data`."""
        bases = {s.index: code + self.offsets[s.index] for s in self.code}
        bases.update((s.index, data + self.offsets[s.index]) for s in self.data)
        addresses = [self._symbol_address(i, bases) for i in range(len(self.parsed.symbols))]
        contents = {s.index: bytearray(s.data) for s in (*self.code, *self.data)}
        table = code + self.table_offset
        machine, through = self.parsed.machine, relocations.THROUGH_TABLE[self.parsed.machine]
        for patch in self.parsed.relocations:
            content, target = contents.get(patch.section), addresses[patch.symbol]
            if content is None:
                continue
            if target is None:
                name = self.parsed.symbols[patch.symbol].name
                raise ObjectError(f"relocation against {name!r}, which is not loaded")
            if patch.kind in through:
                target = table + 8 * self.slots[patch.symbol]
            place = bases[patch.section] + patch.offset
            relocations.apply(machine, patch.kind, content, patch.offset, target + patch.addend, place)
        placed = [(bases[index], content) for index, content in contents.items() if content]
        if self.slots:
            entries = b"".join((addresses[symbol] or 0).to_bytes(8, "little") for symbol in self.slots)
            placed.append((table, bytearray(entries)))
        found = zip(self.parsed.symbols, addresses, strict=True)
        return _Placed(placed, {s.name: a for s, a in found if s.is_global and a is not None})

    def _symbol_address(self, index: int, bases: dict[int, int]) -> int | None:
        symbol = self.parsed.symbols[index]
        if symbol.section == elf.SHN_ABS:
            return symbol.value
        base = bases.get(symbol.section)
        return None if base is None else base + symbol.value
