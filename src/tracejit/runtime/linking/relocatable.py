"""Several relocatable objects as one: what they expect of each other is found, and only some names are seen outside.

Data joins them as bytes under a name, so that it never passes a compiler. Knows the format, not what the code does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from tracejit.core.dataclass import dataclass
from tracejit.runtime import elf
from tracejit.runtime.elf import ElfObject, ObjectError, Section, Symbol
from tracejit.runtime.linking import debug_sections
from tracejit.runtime.linking.layout import round_up
from tracejit.runtime.linking.tables import Header, Names, add_section, finish

_KEPT_FLAGS = elf.SHF_WRITE | elf.SHF_ALLOC | elf.SHF_EXECINSTR
_SHF_INFO_LINK = 0x40
_ALIGN = 64  # of data that joins

Place = tuple[int, int]
"""A symbol or a section of one of the objects: which object, which index there; data has the object -1."""


def merge(
    images: Sequence[bytes],
    data: Mapping[str, bytes],
    exported: Collection[str],
    code: Mapping[str, bytes] | None = None,
) -> bytes:
    """One relocatable object of several.

    Parameters
    ----------
    images : sequence of bytes
        Objects for one machine.
    data : mapping of name to bytes
        Constants that they refer to, each aligned to 64 bytes.
    exported : collection of str
        The symbols that others see; all others become local.
    code : mapping of name to bytes, optional
        Functions that they refer to, as instructions.

    Raises
    ------
    ObjectError
        An object is damaged or for another machine; two define one name; or a symbol is defined by none of them,
        and the message names it.
    """
    parts = [elf.parse(image) for image in images]
    machines = {p.machine for p in parts}
    if len(machines) != 1:
        raise ObjectError(f"objects for one machine can be joined, not for {sorted(machines)}")
    return _Merge(parts, _blobs(data, code or {}), frozenset(exported)).write()


class _Blob(NamedTuple):
    """Bytes that join, and what they are."""

    content: bytes
    section: str
    flags: int
    align: int
    kind: int


def _blobs(data: Mapping[str, bytes], code: Mapping[str, bytes]) -> dict[str, _Blob]:
    alloc, run = elf.SHF_ALLOC, elf.SHF_ALLOC | elf.SHF_EXECINSTR
    found = {n: _Blob(b, f".rodata.{n}", alloc, _ALIGN, elf.STT_OBJECT) for n, b in data.items()}
    return found | {n: _Blob(b, f".text.{n}", run, 16, elf.STT_FUNC) for n, b in code.items()}


@dataclass(slots=True)
class _Entry:
    """A symbol of the result."""

    name: str
    kind: int
    section: int
    value: int
    size: int
    is_global: bool


class _Merge:
    def __init__(self, parts: Sequence[ElfObject], data: Mapping[str, _Blob], exported: frozenset[str]):
        self.parts = parts
        self.data = data
        self.exported = exported
        self.file = bytearray(elf.HEADER.size)
        self.headers = [Header("", 0, align=0)]
        self.sections: dict[Place, int] = {}
        self.shifts: dict[Place, int] = {}
        self.defined = self._definitions()

    def _definitions(self) -> dict[str, Place]:
        """Where each name that others may ask for is defined."""
        found: dict[str, Place] = {name: (-1, i) for i, name in enumerate(self.data)}
        for p, part in enumerate(self.parts):
            for i, symbol in enumerate(part.symbols):
                if symbol.is_global and symbol.section != elf.SHN_UNDEF:
                    if symbol.name in found:
                        raise ObjectError(f"two definitions of the symbol {symbol.name!r}")
                    found[symbol.name] = (p, i)
        wanted = {name for part in self.parts for name in part.undefined()} | self.exported
        missing = sorted(wanted - found.keys())
        if missing:
            raise ObjectError(f"undefined symbols: {', '.join(missing)}")
        return found

    def write(self) -> bytes:
        for sections in self._alike().values():
            self._join(sections)
        for i, blob in enumerate(self.data.values()):
            header = Header(blob.section, elf.SHT_PROGBITS, blob.flags, align=blob.align)
            self.sections[-1, i] = add_section(self.file, self.headers, header, blob.content)
        add_section(self.file, self.headers, Header(".note.GNU-stack", elf.SHT_PROGBITS), b"")
        self._write_relocations(self._write_symbols())
        return finish(self.file, self.headers, elf.ET_REL, self.parts[0].machine, segments=0)

    def _alike(self) -> dict[tuple[Any, ...], list[tuple[Place, Section]]]:
        """The sections that become one: of one name and kind. Some readers of files expect one ``.text``."""
        found: dict[tuple[Any, ...], list[tuple[Place, Section]]] = {}
        for p, part in enumerate(self.parts):
            for s in (*part.loaded(), *debug_sections.of(part)):
                found.setdefault((s.name, s.kind, s.flags & _KEPT_FLAGS), []).append(((p, s.index), s))
        return found

    def _join(self, sections: Sequence[tuple[Place, Section]]) -> None:
        """Write sections that are alike, one behind the other."""
        content, size, first = bytearray(), 0, sections[0][1]
        for place, s in sections:
            self.shifts[place] = start = round_up(size, s.align)
            size = start + s.size
            if s.kind != elf.SHT_NOBITS:
                content += bytes(start - len(content)) + s.data
        align = max(s.align for _, s in sections)
        header = Header(first.name, first.kind, first.flags & _KEPT_FLAGS, size=size, align=align)
        number = add_section(self.file, self.headers, header, content)
        self.sections.update(dict.fromkeys([place for place, _ in sections], number))

    def _entries(self) -> dict[Place, _Entry]:
        """The symbols of the result: first the local ones, as the format wants it."""
        found: dict[Place, _Entry] = {}
        for i, (name, blob) in enumerate(self.data.items()):
            seen = name in self.exported
            found[-1, i] = _Entry(name, blob.kind, self.sections[-1, i], 0, len(blob.content), seen)
        for p, part in enumerate(self.parts):
            for i, s in enumerate(part.symbols):
                section = s.section if s.section == elf.SHN_ABS else self.sections.get((p, s.section), 0)
                if section and s.kind != elf.STT_FILE:
                    seen = s.is_global and s.name in self.exported
                    value = s.value + self.shifts.get((p, s.section), 0)
                    found[p, i] = _Entry(s.name, s.kind, section, value, s.size, seen)
        return dict(sorted(found.items(), key=lambda item: item[1].is_global))

    def _write_symbols(self) -> dict[Place, int]:
        """Write the table of symbols and that of their names; the number of each."""
        names, entries = Names(), self._entries()
        table = bytearray(elf.SYMBOL.size)
        for e in entries.values():
            binding = elf.STB_GLOBAL if e.is_global else elf.STB_LOCAL
            place = names.place(e.name)
            table += elf.SYMBOL.pack(place, binding << 4 | e.kind, 0, e.section, e.value, e.size)
        local = 1 + sum(not e.is_global for e in entries.values())
        strings = len(self.headers) + 1
        add_section(
            self.file,
            self.headers,
            Header(".symtab", elf.SHT_SYMTAB, 0, 0, 0, 0, strings, local, 8, elf.SYMBOL.size),
            table,
        )
        add_section(self.file, self.headers, Header(".strtab", elf.SHT_STRTAB), names.data)
        return {place: number for number, place in enumerate(entries, 1)}

    def _write_relocations(self, places: Mapping[Place, int]) -> None:
        symbols = len(self.headers) - 2
        tables: dict[int, bytearray] = {}
        for p, part in enumerate(self.parts):
            debug = elf.relocations_of(part, [s.index for s in debug_sections.of(part)])
            for r in (*part.relocations, *debug):
                target = self.sections.get((p, r.section))
                if target is not None:
                    number = self._number(places, p, r.symbol, part.symbols[r.symbol])
                    offset = r.offset + self.shifts.get((p, r.section), 0)
                    entry = elf.RELA.pack(offset, number << 32 | r.kind, r.addend)
                    tables.setdefault(target, bytearray()).extend(entry)
        for target, table in tables.items():
            name = f".rela{self.headers[target].name}"
            header = Header(name, elf.SHT_RELA, _SHF_INFO_LINK, 0, 0, 0, symbols, target, 8, elf.RELA.size)
            add_section(self.file, self.headers, header, table)

    def _number(self, places: Mapping[Place, int], part: int, index: int, symbol: Symbol) -> int:
        place = (part, index) if symbol.section != elf.SHN_UNDEF else self.defined[symbol.name]
        if place not in places:
            raise ObjectError(f"relocation against {symbol.name!r}, which is not loaded")
        return places[place]
