"""A WebAssembly module of several objects, which imports nothing: what whoever instantiates it gets is all in it.

Memory begins with the stack, which grows downwards, so that one that overflows leaves memory and traps; constants and
variables follow, and behind them everything up to the end of memory, from ``__heap_base`` on, is free. Functions and
data that nothing exported reaches are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from tracejit.runtime.elf import ObjectError
from tracejit.runtime.linking.layout import round_up
from tracejit.runtime.linking.wasm import encoding, object_file
from tracejit.runtime.linking.wasm.encoding import sized, unsigned, vector
from tracejit.runtime.linking.wasm.object_file import Chunk, Relocation, Signature, Symbol, WasmObject

HEAP_BASE = "__heap_base"
#: Bytes for the stack, of which a function has 16 KB of scratch memory, and long programs thousands of small arrays.
STACK = 1 << 20
_PAGE, _ALIGN, _MOST = 1 << 16, 64, 1 << 32
_FUNCTION, _MEMORY, _GLOBAL = 0, 2, 3  # what is exported
_I32, _CONST, _END = b"\x7f", b"\x41", b"\x0b"

Place = tuple[int, str, int]
"""A function or a segment: which object (-1: data that joins), which of both, its number there."""
_HEAP: Place = (-1, "end", 0)


def link(images: Sequence[bytes], data: Mapping[str, bytes], exported: Collection[str]) -> bytes:
    """One module of several object_file.

    Parameters
    ----------
    images : sequence of bytes
        Objects for WebAssembly of 32 bits.
    data : mapping of name to bytes
        Constants that they refer to, each aligned to 64 bytes.
    exported : collection of str
        The functions that others may call. ``memory`` and ``__heap_base`` are exported too.

    Raises
    ------
    ObjectError
        An object is damaged; two define one name; or a symbol is defined by none of them, and the message names it.
    """
    return _Linker([object_file.parse(image) for image in images], data, exported).write()


class _Linker:
    def __init__(self, parts: Sequence[WasmObject], data: Mapping[str, bytes], exported: Collection[str]):
        self.parts = parts
        self.exported = list(exported)
        self.data = {(-1, "segment", k): Chunk(blob, 0, _ALIGN) for k, blob in enumerate(data.values())}
        self.defined = self._definitions(data)
        self.types: dict[Signature, int] = {}
        self.functions: dict[Place, int] = {}
        self.slots: dict[Place, int] = {}
        self.addresses: dict[Place, int] = {}
        self._find_reached()
        self._lay_out()

    # ---- names -----------------------------------------------------------------------------------------

    def _definitions(self, data: Mapping[str, bytes]) -> dict[str, tuple[Place, int]]:
        """Where each name that others may ask for is defined: the chunk, and the offset in it."""
        found: dict[str, tuple[Place, int]] = {HEAP_BASE: (_HEAP, 0)}
        found |= {name: (place, 0) for name, place in zip(data, self.data, strict=True)}
        for p, part in enumerate(self.parts):
            for symbol in part.symbols:
                if symbol.is_global and symbol.defined:
                    if symbol.name in found:
                        raise ObjectError(f"two definitions of the symbol {symbol.name!r}")
                    found[symbol.name] = self._own(p, symbol)
        wanted = {
            s.name
            for part in self.parts
            for s in part.symbols
            if not s.defined and s.kind in ("function", "data")
        }
        missing = sorted((wanted | {*self.exported}) - found.keys())
        if missing:
            raise ObjectError(f"undefined symbols: {', '.join(missing)}")
        no_functions = sorted(name for name in self.exported if found[name][0][1] != "function")
        if no_functions:
            raise ObjectError(f"no functions: {', '.join(no_functions)}")
        return found

    def _own(self, part: int, symbol: Symbol) -> tuple[Place, int]:
        if symbol.kind == "function":
            return (part, "function", symbol.number - len(self.parts[part].imports)), 0
        return (part, "segment", symbol.number), symbol.offset

    def _target(self, part: int, r: Relocation) -> tuple[Place, int]:
        """What a relocation is about."""
        symbol = self.parts[part].symbols[r.number]
        place, offset = self._own(part, symbol) if symbol.defined else self.defined[symbol.name]
        if (place[1] == "function") != (symbol.kind == "function"):
            raise ObjectError(f"the symbol {symbol.name!r} is a function here and data there")
        if r.kind.wants == "function" and self.parts[part].type_of(symbol.number) != self._type(place):
            raise ObjectError(f"the function {symbol.name!r} is called with other types than it has")
        return place, offset

    def _type(self, function: Place) -> Signature:
        part = self.parts[function[0]]
        return part.types[part.functions[function[2]]]

    # ---- places ----------------------------------------------------------------------------------------

    def _chunk(self, place: Place) -> Chunk:
        if place in self.data:
            return self.data[place]
        part = self.parts[place[0]]
        return (part.bodies if place[1] == "function" else part.segments)[place[2]]

    def _find_reached(self) -> None:
        """Number the functions, slots of the table and segments that exported functions reach."""
        waiting = [self.defined[name][0] for name in reversed(self.exported)]
        while waiting:
            place = waiting.pop()
            if place in self.functions or place in self.addresses or place == _HEAP:
                continue
            if place[1] == "function":
                self.functions[place] = len(self.functions)
            else:
                self.addresses[place] = 0
            for r in reversed(self._chunk(place).relocations):
                if r.kind.wants in ("function", "slot", "address"):
                    target, _ = self._target(place[0], r)
                    waiting.append(target)
                    if r.kind.wants == "slot":
                        self.slots.setdefault(target, 1 + len(self.slots))  # 0 is null

    def _lay_out(self) -> None:
        end = STACK
        for place in self.addresses:
            chunk = self._chunk(place)
            self.addresses[place] = start = round_up(end, chunk.align)
            end = start + len(chunk.data)
        self.addresses[_HEAP] = round_up(end, _ALIGN)
        if self.addresses[_HEAP] > _MOST - _PAGE:
            raise ObjectError(f"{end} bytes of constants are more than WebAssembly has memory")

    def _linked(self, place: Place) -> bytes:
        """The bytes of a chunk with all that depends on places, each number as short as it can be."""
        chunk, found, end = self._chunk(place), [], 0
        for r in chunk.relocations:
            found += [chunk.data[end : r.offset], self._spelled(place[0], r)]
            end = r.offset + object_file.WIDTHS[r.kind.coded]
        return b"".join([*found, chunk.data[end:]])

    def _spelled(self, part: int, r: Relocation) -> bytes:
        value = self._value(part, r)
        if r.kind.coded == "unsigned":
            return unsigned(value)
        if r.kind.coded == "signed":
            return encoding.signed(value - (value >> 31 << 32))
        return value.to_bytes(4, "little")

    def _value(self, part: int, r: Relocation) -> int:
        wants = r.kind.wants
        if wants == "type":
            return self._type_number(self.parts[part].types[r.number])
        if wants in ("global", "table"):
            return 0  # the stack pointer, and the one table
        place, offset = self._target(part, r)
        if wants == "address":
            return self.addresses[place] + offset + r.addend & _MOST - 1
        return self.functions[place] if wants == "function" else self.slots[place]

    def _type_number(self, signature: Signature) -> int:
        return self.types.setdefault(signature, len(self.types))

    # ---- the file --------------------------------------------------------------------------------------

    def write(self) -> bytes:
        """The module."""
        function_types = vector(unsigned(self._type_number(self._type(place))) for place in self.functions)
        code = vector(sized(self._linked(place)) for place in self.functions)
        heap = self.addresses[_HEAP]
        number = [b"\x7f" + flag + _number(value) for flag, value in ((b"\1", STACK), (b"\0", heap))]
        slots = unsigned(1 + len(self.slots))
        sections = {
            object_file.TYPE: vector(b"\x60" + sized(t.parameters) + sized(t.results) for t in self.types),
            object_file.FUNCTION: function_types,
            object_file.TABLE: vector([b"\x70\1" + slots + slots] if self._has_table() else []),
            object_file.MEMORY: vector([b"\0" + unsigned(round_up(heap, _PAGE) // _PAGE)]),
            object_file.GLOBAL: vector(number),
            object_file.EXPORT: vector(self._exports()),
            object_file.ELEMENT: vector(self._elements()),
            object_file.CODE: code,
            object_file.DATA: vector(self._segments()),
        }
        spelled = (bytes([kind]) + sized(content) for kind, content in sections.items() if content != b"\0")
        return object_file.MAGIC + b"".join(spelled)

    def _has_table(self) -> bool:
        """Is there a table? Calls through it need one, even where it holds no function."""
        return bool(self.slots) or any(
            r.kind.wants == "type" for place in self.functions for r in self._chunk(place).relocations
        )

    def _exports(self) -> Iterator[bytes]:
        for name in self.exported:
            number = self.functions[self.defined[name][0]]
            yield encoding.name(name) + bytes([_FUNCTION]) + unsigned(number)
        yield encoding.name("memory") + bytes([_MEMORY, 0])
        yield encoding.name(HEAP_BASE) + bytes([_GLOBAL, 1])

    def _elements(self) -> Iterator[bytes]:
        """The functions whose addresses are taken, in the table."""
        if self.slots:
            yield b"\0" + _number(1) + vector(unsigned(self.functions[place]) for place in self.slots)

    def _segments(self) -> Iterator[bytes]:
        """The data, but for zeros: memory has them from the beginning."""
        for place, address in self.addresses.items():
            content = b"" if place == _HEAP else self._linked(place)
            if content.strip(b"\0"):
                yield b"\0" + _number(address) + sized(content)


def _number(value: int) -> bytes:
    """The expression that is an i32."""
    return _CONST + encoding.signed(value - (value >> 31 << 32)) + _END
