"""Common parts of ELF files: string and symbol tables, section headers, the file header."""

from __future__ import annotations

from tracejit.core.dataclass import dataclass
from tracejit.runtime import elf

_MACHINES = {name: number for number, name in elf.MACHINES.items()}
_FLAGS = {"riscv64": 5}  # short instructions, and floats in registers when functions are called


class Names:
    """A table of names that ends each with a zero byte, as ELF files have them."""

    data: bytearray

    def __init__(self) -> None:
        self.data = bytearray(b"\0")
        self._places: dict[str, int] = {"": 0}

    def place(self, name: str) -> int:
        """Where a name stands in the table."""
        if name not in self._places:
            self._places[name] = len(self.data)
            self.data += name.encode() + b"\0"
        return self._places[name]


@dataclass(slots=True)
class Header:
    """The header of a section, as it stands in the table at the end of a file."""

    name: str
    kind: int
    flags: int = 0
    address: int = 0
    offset: int = 0
    size: int = 0
    link: int = 0
    info: int = 0
    align: int = 1
    entry_size: int = 0


def add_section(file: bytearray, headers: list[Header], header: Header, content: bytes | bytearray) -> int:
    """Append a section that no segment loads; its number."""
    file += bytes(-len(file) % header.align)
    header.offset, header.size = len(file), header.size or len(content)
    file += content
    headers.append(header)
    return len(headers) - 1


def finish(file: bytearray, headers: list[Header], kind: int, machine: str, segments: int) -> bytes:
    """The file with the names of its sections, their table, and the header that leads to both."""
    names = Names()
    for header in headers:
        names.place(header.name)
    names.place(".shstrtab")
    last = add_section(file, headers, Header(".shstrtab", elf.SHT_STRTAB), names.data)
    file += bytes(-len(file) % 8)
    table = len(file)
    for h in headers:
        file += elf.SECTION_HEADER.pack(
            names.place(h.name),
            h.kind,
            h.flags,
            h.address,
            h.offset,
            h.size,
            h.link,
            h.info,
            h.align,
            h.entry_size,
        )
    first_segment = elf.HEADER.size if segments else 0
    file[: elf.HEADER.size] = elf.HEADER.pack(
        elf.MAGIC, kind, _MACHINES[machine], 1, 0, first_segment, table, _FLAGS.get(machine, 0), elf.HEADER.size,
        elf.SEGMENT.size if segments else 0, segments, elf.SECTION_HEADER.size, len(headers), last,
    )  # fmt: skip
    return bytes(file)
