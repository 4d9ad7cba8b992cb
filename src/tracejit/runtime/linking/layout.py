"""Where the sections of an object go, and what its bytes are when they are there.

Sections are packed in groups, each of which goes to a place of its own: code, constants, data. Knows what relocations
mean, not whether the places are in this process or in a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from tracejit.core.dataclass import dataclass
from tracejit.runtime import elf, relocations
from tracejit.runtime.elf import ElfObject, ObjectError, Relocation, Section


def round_up(value: int, align: int) -> int:
    """The first multiple of `align` that is not less than `value`."""
    return -(-value // align) * align


@dataclass(slots=True)
class Placed:
    """An object at its addresses.

    Attributes
    ----------
    contents : list of (int, bytearray)
        What to write where.
    addresses : list of int or None
        Of its symbols; None for those in sections that are not loaded.
    pointers : list of (int, int)
        The words that hold a whole address: where each is, and the address it holds.
    """

    contents: list[tuple[int, bytearray]]
    addresses: list[int | None]
    pointers: list[tuple[int, int]] = field(default_factory=list)

    def globals(self, parsed: ElfObject) -> dict[str, int]:
        """The addresses of the global symbols."""
        found = zip(parsed.symbols, self.addresses, strict=True)
        return {s.name: a for s, a in found if s.is_global and a is not None}


class Layout:
    """Where the sections of one object go, relative to the start of their group.

    Parameters
    ----------
    parsed : ElfObject
    groups : sequence of sequences of Section
        Together the sections that are loaded.
    table_in : int
        The group that ends with the table of addresses (GOT).

    Attributes
    ----------
    offsets : dict
        Index of a section to its offset in its group.
    sizes : list of int
        Bytes of each group.
    slots : dict
        Index of a symbol to its place in the table of addresses.
    """

    table_in: int
    table_offset: int

    def __init__(self, parsed: ElfObject, groups: Sequence[Sequence[Section]], table_in: int):
        self.parsed = parsed
        self.groups = groups
        self.offsets: dict[int, int] = {}
        self.sizes: list[int] = [self._pack(group) for group in groups]
        self.slots: dict[int, int] = self._table_slots()
        self.table_in, self.table_offset = table_in, round_up(self.sizes[table_in], 8)
        if self.slots:
            self.sizes[table_in] = self.table_offset + 8 * len(self.slots)

    def align(self, group: int) -> int:
        """The alignment that a group needs."""
        return max([8, *(s.align for s in self.groups[group])])

    def _table_slots(self) -> dict[int, int]:
        through = relocations.THROUGH_TABLE[self.parsed.machine]
        symbols = (r.symbol for r in self.parsed.relocations if r.kind in through)
        return {symbol: slot for slot, symbol in enumerate(dict.fromkeys(symbols))}

    def _pack(self, sections: Sequence[Section]) -> int:
        end = 0
        for section in sections:
            self.offsets[section.index] = start = round_up(end, section.align)
            end = start + section.size
        return end

    def place(self, starts: Sequence[int]) -> Placed:
        """The final bytes and addresses when the groups start at `starts`."""
        bases = {
            s.index: start + self.offsets[s.index]
            for start, group in zip(starts, self.groups, strict=True)
            for s in group
        }
        addresses = [self._symbol_address(i, bases) for i in range(len(self.parsed.symbols))]
        contents = {s.index: bytearray(s.data) for group in self.groups for s in group}
        table = starts[self.table_in] + self.table_offset
        placed = Placed([], addresses)
        machine = self.parsed.machine
        patches = [p for p in self.parsed.relocations if p.section in contents]
        targets = [self._target(p, addresses, table) for p in patches]
        at = {bases[p.section] + p.offset: target for p, target in zip(patches, targets, strict=True)}
        for patch, target in zip(patches, targets, strict=True):
            place = start = bases[patch.section] + patch.offset
            if patch.kind in relocations.PAIRED.get(machine, ()):
                if target not in at:
                    raise ObjectError(f"{machine} relocation {patch.kind} without the one it belongs to")
                start, target = target, at[target]
            relocations.apply(machine, patch.kind, contents[patch.section], patch.offset, target, start)
            if patch.kind == relocations.POINTERS[machine]:
                placed.pointers.append((place, target))
        placed.contents += [(bases[index], content) for index, content in contents.items() if content]
        if self.slots:
            entries = [addresses[symbol] or 0 for symbol in self.slots]
            words = b"".join(entry.to_bytes(8, "little") for entry in entries)
            placed.contents.append((table, bytearray(words)))
            placed.pointers += [(table + 8 * slot, entry) for slot, entry in enumerate(entries)]
        return placed

    def _target(self, patch: Relocation, addresses: Sequence[int | None], table: int) -> int:
        """The address that a relocation is about."""
        address = addresses[patch.symbol]
        if address is None:
            raise ObjectError(
                f"relocation against {self.parsed.symbols[patch.symbol].name!r}, which is not loaded"
            )
        if patch.kind in relocations.THROUGH_TABLE[self.parsed.machine]:
            address = table + 8 * self.slots[patch.symbol]
        return address + patch.addend

    def _symbol_address(self, index: int, bases: dict[int, int]) -> int | None:
        symbol = self.parsed.symbols[index]
        if symbol.section == elf.SHN_ABS:
            return symbol.value
        base = bases.get(symbol.section)
        return None if base is None else base + symbol.value
