"""WebAssembly object files, as LLVM writes them: bytes in, checked tables out.

An object is a module whose functions and data are not placed yet: a section called ``linking`` has its symbols, one
``reloc.CODE`` and one ``reloc.DATA`` what depends on their places. Every index and offset is checked, so that a damaged
object raises ObjectError and nothing else. Instructions are not looked at: whoever runs the module validates them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import NamedTuple

from tracejit.core.dataclass import dataclass
from tracejit.runtime.elf import ObjectError
from tracejit.runtime.linking.wasm.encoding import Reader

MAGIC = b"\0asm\1\0\0\0"
CUSTOM, TYPE, IMPORT, FUNCTION, TABLE, MEMORY, GLOBAL, EXPORT, START, ELEMENT, CODE, DATA, DATA_COUNT = range(
    13
)
STACK_POINTER, TABLE_NAME = "__stack_pointer", "__indirect_function_table"
_LINKING_VERSION = 2
_SEGMENTS, _INITIALIZERS, _COMDATS, _SYMBOLS = 5, 6, 7, 8
_VALUE_TYPES = frozenset((0x7F, 0x7E, 0x7D, 0x7C, 0x7B))  # i32, i64, f32, f64, v128
_LOCAL, _UNDEFINED, _NAMED, _THREAD_LOCAL, _ABSOLUTE = 0x02, 0x10, 0x40, 0x100, 0x200
_KINDS = ("function", "data", "global", "section", "tag", "table")


class RelocationKind(NamedTuple):
    """What a relocation asks for, of which symbol, and how it is spelled there."""

    wants: str
    symbol: str
    coded: str
    moved: bool = False


#: Those of code that runs where it is linked to; the others belong to shared libraries and debuggers.
RELOCATIONS = {
    0: RelocationKind("function", "function", "unsigned"),
    1: RelocationKind("slot", "function", "signed"),
    2: RelocationKind("slot", "function", "word"),
    3: RelocationKind("address", "data", "unsigned", True),
    4: RelocationKind("address", "data", "signed", True),
    5: RelocationKind("address", "data", "word", True),
    6: RelocationKind("type", "", "unsigned"),
    7: RelocationKind("global", "global", "unsigned"),
    20: RelocationKind("table", "table", "unsigned"),
}
WIDTHS = {"unsigned": 5, "signed": 5, "word": 4}


class Relocation(NamedTuple):
    """At `offset` stands what `kind` wants: of the symbol or type of a number, plus `addend` bytes."""

    offset: int
    kind: RelocationKind
    number: int
    addend: int


class Signature(NamedTuple):
    """The type of a function, as it is spelled."""

    parameters: bytes
    results: bytes


class Symbol(NamedTuple):
    """A name for a function or a part of a segment: the number of that, and where in the segment."""

    kind: str
    name: str
    defined: bool
    is_global: bool
    number: int
    offset: int = 0


@dataclass(slots=True)
class Chunk:
    """The body of a function, or the bytes of a segment, and what depends on places in it."""

    data: bytes
    start: int
    align: int = 1
    relocations: list[Relocation] = field(default_factory=list)


@dataclass(slots=True)
class WasmObject:
    """A checked object.

    Attributes
    ----------
    types : list of Signature
    imports : list of (str, int)
        Functions that it does not define: name and type; they have the first numbers.
    functions : list of int
        The types of those that it defines.
    bodies, segments : list of Chunk
    symbols : list of Symbol
    """

    types: list[Signature] = field(default_factory=list)
    imports: list[tuple[str, int]] = field(default_factory=list)
    functions: list[int] = field(default_factory=list)
    bodies: list[Chunk] = field(default_factory=list)
    segments: list[Chunk] = field(default_factory=list)
    symbols: list[Symbol] = field(default_factory=list)

    def type_of(self, function: int) -> Signature:
        """The type of a function by its number."""
        own = function - len(self.imports)
        return self.types[self.functions[own] if own >= 0 else self.imports[function][1]]


def parse(image: bytes) -> WasmObject:
    """Read an object; ObjectError when it is damaged, or has what code of this package never has."""
    if not image.startswith(MAGIC):
        raise ObjectError("not a WebAssembly object")
    return _Parser(Reader(image, len(MAGIC))).read()


class _Parser:
    def __init__(self, file: Reader):
        self.file = file
        self.result = WasmObject()
        self.sections: list[tuple[int, int]] = []
        self.late: dict[str, Reader] = {}
        self.starts = {CODE: -1, DATA: -1}

    def read(self) -> WasmObject:
        readers: dict[int, Callable[[Reader], None]] = {
            CUSTOM: self.custom, TYPE: self.types, IMPORT: self.imports, FUNCTION: self.functions, CODE: self.code,
            DATA: self.data,
        }  # fmt: skip
        while self.file:
            kind = self.file.byte()
            content = self.file.inside()
            self.sections.append((kind, content.at))
            if kind in readers:
                readers[kind](content)
            elif kind in (GLOBAL, MEMORY, TABLE, EXPORT, START) or kind > DATA_COUNT:
                raise ObjectError(f"a section of kind {kind}, which objects do not have")
        if len(self.result.bodies) != len(self.result.functions):
            raise ObjectError(f"{len(self.result.bodies)} bodies for {len(self.result.functions)} functions")
        if "linking" not in self.late:
            raise ObjectError("a module that is linked already, not an object")
        self.linking(self.late.pop("linking"))
        for reader in self.late.values():
            self.relocations(reader)
        return self.result

    # ---- sections of every module ----

    def custom(self, content: Reader) -> None:
        name = content.name()
        if name == "linking" or name.startswith("reloc."):
            if name in self.late:
                raise ObjectError(f"two sections {name}")
            self.late[name] = content

    def types(self, content: Reader) -> None:
        for _ in range(content.count()):
            if content.byte() != 0x60:
                raise ObjectError("a type that is not one of a function")
            parts = content.inside().rest(), content.inside().rest()
            if not _VALUE_TYPES.issuperset(b"".join(parts)):
                raise ObjectError("a function of something else than numbers")
            self.result.types.append(Signature(*parts))
        content.done()

    def imports(self, content: Reader) -> None:
        for _ in range(content.count()):
            content.name()
            name, kind = content.name(), content.byte()
            if kind == 0:
                self.result.imports.append((name, self.type(content)))
            elif kind in (1, 2):
                self.table_or_memory(content, name, kind)
            elif kind != 3 or (content.byte(), content.byte()) != (0x7F, 1) or name != STACK_POINTER:
                raise ObjectError(f"undefined symbols: {name}")
        content.done()

    def table_or_memory(self, content: Reader, name: str, kind: int) -> None:
        if name != (TABLE_NAME if kind == 1 else "__linear_memory"):
            raise ObjectError(f"undefined symbols: {name}")
        if kind == 1 and content.byte() != 0x70:
            raise ObjectError(f"{name} is not a table of functions")
        flags = content.byte()
        if flags & ~1:
            raise ObjectError(f"{name} is shared, or of 64 bits")
        for _ in range(1 + flags):
            content.unsigned()

    def type(self, content: Reader) -> int:
        found = content.unsigned()
        if found >= len(self.result.types):
            raise ObjectError(f"the type {found} of {len(self.result.types)}")
        return found

    def functions(self, content: Reader) -> None:
        self.result.functions += [self.type(content) for _ in range(content.count())]
        content.done()

    def code(self, content: Reader) -> None:
        self.starts[CODE] = content.at
        for _ in range(content.count()):
            body = content.inside()
            self.result.bodies.append(Chunk(body.data[body.at : body.end], body.at))
        content.done()

    def data(self, content: Reader) -> None:
        self.starts[DATA] = content.at
        for _ in range(content.count()):
            if content.unsigned() or content.byte() != 0x41:
                raise ObjectError("a segment that is not placed by a number")
            content.signed()
            if content.byte() != 0x0B:
                raise ObjectError("a segment that is not placed by a number")
            body = content.inside()
            self.result.segments.append(Chunk(body.data[body.at : body.end], body.at))
        content.done()

    # ---- what only objects have ----

    def linking(self, content: Reader) -> None:
        if content.unsigned() != _LINKING_VERSION:
            raise ObjectError("objects of another version of the format")
        while content:
            kind = content.byte()
            part = content.inside()
            if kind == _SEGMENTS:
                self.segments(part)
            elif kind == _SYMBOLS:
                self.result.symbols += [self.symbol(part) for _ in range(part.count())]
                part.done()
            elif kind in (_INITIALIZERS, _COMDATS) and part.count():
                raise ObjectError("constructors and shared definitions are not supported")

    def segments(self, part: Reader) -> None:
        if part.count() != len(self.result.segments):
            raise ObjectError("segments without a description")
        for segment in self.result.segments:
            name, power, flags = part.name(), part.unsigned(), part.unsigned()
            if power > 12 or flags & 2:
                raise ObjectError(f"the segment {name} is thread-local, or aligned to 2**{power} bytes")
            segment.align = 1 << power

    def symbol(self, part: Reader) -> Symbol:
        number, flags = part.byte(), part.unsigned()
        if number >= len(_KINDS) or flags & (_THREAD_LOCAL | _ABSOLUTE):
            raise ObjectError(f"a symbol of kind {number} with flags {flags:#x}")
        kind, defined, is_global = _KINDS[number], not flags & _UNDEFINED, not flags & _LOCAL
        if kind == "data":
            return self.data_symbol(part, defined, is_global)
        index = part.unsigned()
        if kind == "section":
            return Symbol(kind, "", defined, False, index)
        name = part.name() if defined or flags & _NAMED else ""
        if kind == "function":
            imports, count = self.result.imports, len(self.result.imports) + len(self.result.functions)
            if index >= count or defined != (index >= len(imports)):
                raise ObjectError(f"the symbol {name!r} is for a function that there is not")
            return Symbol(kind, name if defined or name else imports[index][0], defined, is_global, index)
        if defined or index or kind == "tag":
            raise ObjectError(f"the {kind} {name!r} is not supported")
        return Symbol(kind, name, defined, is_global, index)

    def data_symbol(self, part: Reader, defined: bool, is_global: bool) -> Symbol:
        name = part.name()
        if not defined:
            return Symbol("data", name, False, is_global, 0)
        index, offset, _ = part.unsigned(), part.unsigned(), part.unsigned()
        if index >= len(self.result.segments) or offset > len(self.result.segments[index].data):
            raise ObjectError(f"the symbol {name!r} lies in no segment")
        return Symbol("data", name, True, is_global, index, offset)

    def relocations(self, content: Reader) -> None:
        section = content.unsigned()
        if section >= len(self.sections):
            raise ObjectError("relocations for no section")
        kind, start = self.sections[section]
        if kind not in self.starts:
            return
        chunks = self.result.bodies if kind == CODE else self.result.segments
        coded = {"unsigned", "signed"} if kind == CODE else {"word"}
        place, last = 0, -1
        for _ in range(content.count()):
            number, offset, index = content.byte(), start + content.unsigned(), content.unsigned()
            found = RELOCATIONS.get(number)
            if found is None or found.coded not in coded:
                raise ObjectError(f"relocations of kind {number} are not supported")
            addend = content.signed() if found.moved else 0
            self.check_target(found, index)
            while place < len(chunks) and offset >= chunks[place].start + len(chunks[place].data):
                place += 1
            inside = offset - chunks[place].start if place < len(chunks) else -1
            if offset <= last or inside < 0 or inside + WIDTHS[found.coded] > len(chunks[place].data):
                raise ObjectError(f"a relocation at byte {offset}, which is no place for one")
            last = offset + WIDTHS[found.coded] - 1
            chunks[place].relocations.append(Relocation(inside, found, index, addend))
        content.done()

    def check_target(self, kind: RelocationKind, index: int) -> None:
        if kind.wants == "type":
            if index >= len(self.result.types):
                raise ObjectError(f"a relocation for the type {index} of {len(self.result.types)}")
        elif index >= len(self.result.symbols) or self.result.symbols[index].kind != kind.symbol:
            raise ObjectError(f"a relocation for the {kind.symbol} {index}, which there is not")
