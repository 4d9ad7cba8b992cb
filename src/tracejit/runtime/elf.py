"""ELF64 relocatable objects: the records of the format, and their reader: bytes in, checked tables out.

Every offset, count and index is checked against the bytes before use, so a damaged object raises ObjectError
and never reads outside. Knows the file format only: not where code goes, nor what relocations mean.
"""

from __future__ import annotations

import struct
from collections.abc import Container, Iterator
from dataclasses import field
from typing import NamedTuple

from tracejit.core.dataclass import dataclass

MACHINES = {62: "x86_64", 183: "aarch64", 243: "riscv64"}
SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_NOBITS, SHT_REL = 1, 2, 3, 4, 8, 9
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR, SHF_TLS, SHF_COMPRESSED = 1, 2, 4, 0x400, 0x800
SHN_UNDEF, SHN_LORESERVE, SHN_ABS = 0, 0xFF00, 0xFFF1
ET_REL, ET_DYN = 1, 3
STB_LOCAL, STB_GLOBAL, STB_WEAK = 0, 1, 2
STT_OBJECT, STT_FUNC, STT_SECTION, STT_FILE = 1, 2, 3, 4
MAGIC = b"\x7fELF\x02\x01\x01"
HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELA = struct.Struct("<QQq")
SEGMENT = struct.Struct("<IIQQQQQQ")
_MAX_SECTION = 1 << 30
_MAX_NAME = 1 << 12


class ObjectError(ValueError):
    """The bytes are not an object this package can load; the message says why."""


@dataclass(slots=True)
class Section:
    """One section; `data` is empty for zero-initialised (NOBITS) sections, whose `size` still counts."""

    index: int
    name: str
    kind: int
    flags: int
    size: int
    align: int
    link: int
    info: int
    data: bytes

    @property
    def allocated(self) -> bool:
        """Does this section exist in memory when the object is loaded?"""
        return bool(self.flags & SHF_ALLOC)


class Symbol(NamedTuple):
    """One symbol; `section` is a section index, SHN_UNDEF or SHN_ABS, `kind` a function, an object, a section …"""

    name: str
    section: int
    value: int
    is_global: bool
    kind: int = 0
    size: int = 0


class Relocation(NamedTuple):
    """Patch `kind` at `offset` of section `section` with `symbol` + `addend`."""

    section: int
    offset: int
    kind: int
    symbol: int
    addend: int


@dataclass(slots=True)
class ElfObject:
    """A checked relocatable object."""

    machine: str
    sections: list[Section]
    symbols: list[Symbol]
    relocations: list[Relocation] = field(default_factory=list)

    def undefined(self) -> list[str]:
        """Names this object expects from elsewhere."""
        return sorted(s.name for s in self.symbols if s.section == SHN_UNDEF and s.name)

    def loaded(self) -> list[Section]:
        """The sections that exist in memory; those for unwinding, which this code never does, left out.

        ObjectError when some would have to run before the code may be called.
        """
        for section in self.sections:
            if section.name.startswith((".init", ".ctors", ".fini")) and section.size:
                raise ObjectError("constructors are not supported")
        return [s for s in self.sections if s.allocated and s.name != ".eh_frame"]

    def require_complete(self) -> None:
        """ObjectError, with their names, when there are symbols that this object does not define."""
        missing = self.undefined()
        if missing:
            raise ObjectError(f"undefined symbols: {', '.join(missing)}")


def parse(image: bytes) -> ElfObject:
    """Read an object; ObjectError when it is damaged, for another format or uses unsupported features."""
    if len(image) < HEADER.size or image[:6] != MAGIC[:6]:
        raise ObjectError("not a little-endian ELF64 object")
    _, kind, machine, _, _, _, table, _, _, _, _, entry_size, count, names = HEADER.unpack_from(image)
    if kind != ET_REL or machine not in MACHINES:
        raise ObjectError(f"not a relocatable object for {' or '.join(MACHINES.values())}")
    if (
        entry_size != SECTION_HEADER.size
        or not 0 < count < SHN_LORESERVE
        or table + count * entry_size > len(image)
    ):
        raise ObjectError("section table outside the object")
    headers = [SECTION_HEADER.unpack_from(image, table + i * entry_size) for i in range(count)]
    if sum(size for _, kind, _, _, _, size, *_ in headers if kind != SHT_NOBITS) > len(image):
        raise ObjectError("sections overlap")
    sections = [_section(image, i, header) for i, header in enumerate(headers)]
    if names >= count:
        raise ObjectError("no section names")
    for section, header in zip(sections, headers, strict=True):
        section.name = _text(sections[names].data, header[0])
    result = ElfObject(MACHINES[machine], sections, list(_symbols(sections)))
    result.relocations.extend(relocations_of(result, [s.index for s in sections if s.allocated]))
    return result


def _section(image: bytes, index: int, header: tuple[int, ...]) -> Section:
    _, kind, flags, _, offset, size, link, info, align, _ = header
    if kind == SHT_NOBITS:
        data = b""
    elif offset + size > len(image):
        raise ObjectError(f"section {index} outside the object")
    else:
        data = image[offset : offset + size]
    if flags & SHF_ALLOC:
        if size > _MAX_SECTION or align > 4096 or align & (align - 1):
            raise ObjectError(f"section {index} has size {size} and alignment {align}")
        if flags & (SHF_TLS | SHF_COMPRESSED):
            raise ObjectError(f"section {index} is thread-local or compressed")
    return Section(index, "", kind, flags, size, max(align, 1), link, info, data)


def _text(table: bytes, offset: int) -> str:
    end = table.find(b"\0", offset, offset + _MAX_NAME)
    if offset > len(table) or end < 0:
        raise ObjectError("name outside its table")
    return table[offset:end].decode("utf-8", "replace")


def _symbols(sections: list[Section]) -> Iterator[Symbol]:
    tables = [s for s in sections if s.kind == SHT_SYMTAB]
    if len(tables) > 1:
        raise ObjectError("more than one symbol table")
    for table in tables:
        if table.link >= len(sections) or table.size % SYMBOL.size:
            raise ObjectError("damaged symbol table")
        names = sections[table.link].data
        for name, info, _, index, value, size in SYMBOL.iter_unpack(table.data):
            is_global = info >> 4 in (STB_GLOBAL, STB_WEAK)
            yield _symbol(sections, Symbol(_text(names, name), index, value, is_global, info & 15, size))


def _symbol(sections: list[Section], symbol: Symbol) -> Symbol:
    if symbol.section in (SHN_UNDEF, SHN_ABS):
        return symbol
    if symbol.section >= len(sections):
        raise ObjectError(f"symbol {symbol.name!r} is in no section")
    if symbol.value > sections[symbol.section].size:
        raise ObjectError(f"symbol {symbol.name!r} lies outside its section")
    return symbol


def relocations_of(image: ElfObject, wanted: Container[int]) -> Iterator[Relocation]:
    """What is to be patched in the sections with these indices."""
    for table in image.sections:
        if table.kind not in (SHT_RELA, SHT_REL):
            continue
        if table.info >= len(image.sections):
            raise ObjectError("relocations for no section")
        if table.info not in wanted:
            continue
        if table.kind == SHT_REL or table.size % RELA.size:
            raise ObjectError("damaged relocation table")
        for offset, info, addend in RELA.iter_unpack(table.data):
            if info >> 32 >= len(image.symbols):
                raise ObjectError("relocation against no symbol")
            yield Relocation(table.info, offset, info & 0xFFFFFFFF, info >> 32, addend)
