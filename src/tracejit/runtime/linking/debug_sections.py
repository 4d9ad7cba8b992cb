"""DWARF sections, which no program loads and debuggers read, with relocated addresses.

Knows which sections these are, nothing of what they say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracejit.runtime import elf, relocations
from tracejit.runtime.elf import ElfObject, ObjectError, Section
from tracejit.runtime.linking.tables import Names

_PREFIX = ".debug_"


def of(parsed: ElfObject) -> list[Section]:
    """The debug sections of an object."""
    return [s for s in parsed.sections if s.name.startswith(_PREFIX) and s.kind == elf.SHT_PROGBITS]


def relocated(parsed: ElfObject, addresses: Sequence[int | None]) -> list[tuple[Section, bytes]]:
    """The debug sections with the addresses that the object's symbols have when it is loaded at 0."""
    contents = {s.index: bytearray(s.data) for s in of(parsed)}
    for r in elf.relocations_of(parsed, contents):
        symbol = parsed.symbols[r.symbol]
        target = symbol.value if symbol.section in contents else addresses[r.symbol]
        if target is None:
            raise ObjectError(f"relocation against {symbol.name!r}, which is not loaded")
        content = contents[r.section]
        relocations.apply(parsed.machine, r.kind, content, r.offset, target + r.addend, r.offset)
    return [(s, bytes(contents[s.index])) for s in of(parsed)]


def symbol_table(
    parsed: ElfObject, addresses: Sequence[int | None], numbers: Mapping[int, int], names: Names
) -> tuple[bytes, int]:
    """A table of the functions, the local ones first, by which profilers know them; how many are local.

    `numbers` are those of the sections in the file that the table is for, `names` takes the names.
    """
    entries = [bytes(elf.SYMBOL.size)]
    pairs = [p for p in zip(parsed.symbols, addresses, strict=True) if p[0].kind == elf.STT_FUNC]
    for s, address in sorted(pairs, key=lambda pair: pair[0].is_global):
        binding = elf.STB_GLOBAL if s.is_global else elf.STB_LOCAL
        entry = names.place(s.name), binding << 4 | s.kind, 0, numbers.get(s.section, s.section)
        entries.append(elf.SYMBOL.pack(*entry, address or 0, s.size))
    return b"".join(entries), 1 + sum(not s.is_global for s, _ in pairs)
