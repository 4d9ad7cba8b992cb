"""A relocatable object as a shared library: an ELF file that dynamic linkers, `cc -l`, debuggers and valgrind take.

Three segments: what is only read, code, and data, with addresses that count from 0. Words that hold an address are
listed for the dynamic linker; there is nothing else for it to do. Needs no linker, and no symbol of any other library.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from tracejit.runtime import elf, relocations
from tracejit.runtime.elf import ElfObject, ObjectError, Section
from tracejit.runtime.linking import debug_sections
from tracejit.runtime.linking.layout import Layout, Placed, round_up
from tracejit.runtime.linking.tables import Header, Names, add_section, finish

_PAGES = {"x86_64": 0x1000, "aarch64": 0x10000, "riscv64": 0x1000}  # the largest a system may have
_RELATIVE = {"x86_64": 8, "aarch64": 1027, "riscv64": 3}
_PT_LOAD, _PT_DYNAMIC, _PT_GNU_STACK = 1, 2, 0x6474E551
_EXECUTE, _WRITE, _READ = 1, 2, 4
_SHT_HASH, _SHT_DYNAMIC, _SHT_DYNSYM = 5, 6, 11
_DT_HASH, _DT_STRTAB, _DT_SYMTAB, _DT_RELA, _DT_RELASZ, _DT_RELAENT = 4, 5, 6, 7, 8, 9
_DT_STRSZ, _DT_SYMENT, _DT_SONAME = 10, 11, 14
_READ_ONLY, _CODE, _DATA, _ZEROS = range(4)  # the groups of sections
_SEGMENTS = 5


def shared_object(image: bytes, soname: str) -> bytes:
    """The shared library of a relocatable object: its global symbols are what the library exports.

    Parameters
    ----------
    image : bytes
    soname : str
        The name by which programs that are linked with it look for it: ``libmodel.so``.

    Raises
    ------
    ObjectError
        The object is damaged, refers to symbols that it does not define, or runs at fixed addresses only.
    """
    parsed = elf.parse(image)
    parsed.require_complete()
    fixed = relocations.NOT_SHARED[parsed.machine]
    if any(r.kind in fixed for r in parsed.relocations):
        raise ObjectError("the object is not position-independent")
    return _Library(parsed, soname).write()


def _groups(sections: Sequence[Section]) -> tuple[list[Section], ...]:
    """What is only read, code, data, and data that is zero at the start and not in the file."""
    groups: tuple[list[Section], ...] = ([], [], [], [])
    for s in sections:
        data = _ZEROS if s.kind == elf.SHT_NOBITS else _DATA
        code = _CODE if s.flags & elf.SHF_EXECINSTR else _READ_ONLY
        groups[data if s.flags & elf.SHF_WRITE else code].append(s)
    return groups


class _Library:
    """A library in the making: what has been laid out so far ends at `offset` of the file and at `address` in memory.

    Attributes
    ----------
    starts : list of int
        The address of each group of sections.
    segments : list of tuple
        Access, offset, address, bytes in the file, bytes in memory.
    numbers : dict
        Index of a section of the object to its number here.
    """

    def __init__(self, parsed: ElfObject, soname: str):
        self.parsed = parsed
        self.page = _PAGES[parsed.machine]
        self.layout = Layout(parsed, _groups(parsed.loaded()), table_in=_DATA)
        self.exported = [(i, s) for i, s in enumerate(parsed.symbols) if s.is_global]
        self.names = Names()
        self.soname = self.names.place(soname)
        for _, symbol in self.exported:
            self.names.place(symbol.name)
        self.offset = self.address = elf.HEADER.size + _SEGMENTS * elf.SEGMENT.size
        self.begin = (0, 0)
        self.starts: list[int] = []
        self.segments: list[tuple[int, int, int, int, int]] = []
        self.headers = [Header("", 0, align=0)]
        self.numbers: dict[int, int] = {}

    def write(self) -> bytes:
        hashes = _hash_table([s.name for _, s in self.exported])
        count = len(self.layout.slots) + sum(
            r.kind == relocations.POINTERS[self.parsed.machine] for r in self.parsed.relocations
        )
        # the numbers 1 to 3, by which other sections refer to them
        table = self.table(".hash", _SHT_HASH, len(hashes), 4, link=2)
        symbols = self.table(
            ".dynsym", _SHT_DYNSYM, elf.SYMBOL.size * (1 + len(self.exported)), 24, 3, info=1
        )
        strings = self.table(".dynstr", elf.SHT_STRTAB, len(self.names.data), 0)
        pointers = self.table(".rela.dyn", elf.SHT_RELA, elf.RELA.size * count, elf.RELA.size, link=2)
        self.group(_READ_ONLY)
        self.end_segment(_READ)
        self.group(_CODE)
        self.end_segment(_READ | _EXECUTE)
        entries = self.dynamic_entries(table, symbols, strings, pointers)
        dynamic = self.table(".dynamic", _SHT_DYNAMIC, len(entries), 16, link=3, flags=elf.SHF_WRITE)
        self.group(_DATA)
        self.group(_ZEROS)
        self.end_segment(_READ | _WRITE)
        placed = self.layout.place(self.starts)
        file = bytearray(self.offset)
        for address, content in [
            (table.address, hashes),
            (symbols.address, self.symbol_table(placed)),
            (strings.address, self.names.data),
            (pointers.address, self.pointer_table(placed)),
            (dynamic.address, entries),
            *placed.contents,
        ]:
            start = self.offset_of(address)
            file[start : start + len(content)] = content
        file[elf.HEADER.size : elf.HEADER.size + _SEGMENTS * elf.SEGMENT.size] = self.segment_table(dynamic)
        self.add_debug_sections(file, placed)
        return finish(file, self.headers, elf.ET_DYN, self.parsed.machine, _SEGMENTS)

    # ---- laying out -------------------------------------------------------------------------------------

    def take(self, size: int, align: int, in_file: bool = True) -> tuple[int, int]:
        """The address and the offset of the next bytes."""
        pad = -self.address % align
        found = self.address + pad, self.offset + pad
        self.address += pad + size
        if in_file:
            self.offset += pad + size
        return found

    def table(
        self, name: str, kind: int, size: int, entry: int, link: int = 0, info: int = 0, flags: int = 0
    ) -> Header:
        address, offset = self.take(size, 8)
        header = Header(name, kind, elf.SHF_ALLOC | flags, address, offset, size, link, info, 8, entry)
        self.headers.append(header)
        return header

    def group(self, number: int) -> None:
        """The sections of a group, and the table of addresses that may follow them."""
        size, in_file = self.layout.sizes[number], number != _ZEROS
        start, offset = self.take(size, self.layout.align(number), in_file)
        self.starts.append(start)
        for s in self.layout.groups[number]:
            within = self.layout.offsets[s.index]
            self.numbers[s.index] = len(self.headers)
            place = offset + within if in_file else offset
            self.headers.append(Header(s.name, s.kind, s.flags, start + within, place, s.size, align=s.align))

    def end_segment(self, access: int) -> None:
        """End a segment; the next begins on a page of its own, at the same place of it as in the file."""
        offset, address = self.begin
        self.segments.append((access, offset, address, self.offset - offset, self.address - address))
        self.address = round_up(self.address, self.page) + self.offset % self.page
        self.begin = self.offset, self.address

    def offset_of(self, address: int) -> int:
        """Where in the file an address is."""
        for _, offset, start, size, _ in self.segments:
            if start <= address <= start + size:
                return offset + address - start
        raise ObjectError(f"the address {address:#x} is not in the file")

    def add_debug_sections(self, file: bytearray, placed: Placed) -> None:
        """What debuggers and profilers read; nothing where the object has no debug information."""
        found = debug_sections.relocated(self.parsed, placed.addresses)
        for s, content in found:
            add_section(file, self.headers, Header(s.name, s.kind, align=s.align), content)
        if found:
            names = Names()
            table, local = debug_sections.symbol_table(self.parsed, placed.addresses, self.numbers, names)
            strings = add_section(file, self.headers, Header(".strtab", elf.SHT_STRTAB), names.data)
            symbols = Header(".symtab", elf.SHT_SYMTAB, 0, 0, 0, 0, strings, local, 8, elf.SYMBOL.size)
            add_section(file, self.headers, symbols, table)

    # ---- contents ---------------------------------------------------------------------------------------

    def symbol_table(self, placed: Placed) -> bytes:
        entries = [bytes(elf.SYMBOL.size)]
        for index, s in self.exported:
            number = self.numbers.get(s.section, s.section)
            entry = self.names.place(s.name), elf.STB_GLOBAL << 4 | s.kind, 0, number
            entries.append(elf.SYMBOL.pack(*entry, placed.addresses[index] or 0, s.size))
        return b"".join(entries)

    def pointer_table(self, placed: Placed) -> bytes:
        """What the dynamic linker is to add the place of the library to."""
        kind = _RELATIVE[self.parsed.machine]
        return b"".join(elf.RELA.pack(place, kind, target) for place, target in placed.pointers)

    def dynamic_entries(self, table: Header, symbols: Header, strings: Header, pointers: Header) -> bytes:
        entries = [(_DT_SONAME, self.soname), (_DT_HASH, table.address)]
        entries += [(_DT_STRTAB, strings.address), (_DT_STRSZ, strings.size)]
        entries += [(_DT_SYMTAB, symbols.address), (_DT_SYMENT, symbols.entry_size)]
        if pointers.size:
            entries += [(_DT_RELA, pointers.address), (_DT_RELASZ, pointers.size)]
            entries += [(_DT_RELAENT, pointers.entry_size)]
        return b"".join(struct.pack("<QQ", *entry) for entry in [*entries, (0, 0)])

    def segment_table(self, dynamic: Header) -> bytes:
        found = [
            elf.SEGMENT.pack(_PT_LOAD, access, offset, address, address, size, memory, self.page)
            for access, offset, address, size, memory in self.segments
        ]
        place, size = dynamic.address, dynamic.size
        access = _READ | _WRITE
        found.append(elf.SEGMENT.pack(_PT_DYNAMIC, access, dynamic.offset, place, place, size, size, 8))
        found.append(elf.SEGMENT.pack(_PT_GNU_STACK, access, 0, 0, 0, 0, 0, 16))
        return b"".join(found)


def _hash_table(names: Sequence[str]) -> bytes:
    """By which the dynamic linker finds symbols: buckets that lead to chains, as System V has them."""
    buckets, chains = [0] * max(1, len(names)), [0] * (1 + len(names))
    for number, name in enumerate(names, 1):
        bucket = _hash(name) % len(buckets)
        chains[number], buckets[bucket] = buckets[bucket], number
    words = [len(buckets), len(chains), *buckets, *chains]
    return struct.pack(f"<{len(words)}I", *words)


def _hash(name: str) -> int:
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ high >> 24) & ~high
    return value & 0xFFFFFFFF
