"""Writer: functions that read words of tables and fields of objects, and call what tables point to."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

from ....runtime import abi
from ....runtime.lane import words
from ...ir_text import NULL, TRUE, Value
from ..matmul.counted_loops import Operand, Signature
from ..matmul.counted_loops import Writer as CountingWriter

_M, _N = words.MAX_ARRAYS, words.MAX_NESTS
_PARTS = {
    "buffers": 2 * _M,  # what the compiled function is given
    "objects": _M,  # the arrays of inputs; null for a number
    "numbers": _M,  # numbers among the inputs
    "nests": _M + _N,  # of arguments, and values that Variables had
    "positions": _N,  # how far dicts among them have been read
    "results": _M + _N,  # arrays, then Tensors, then nests of them; null when somebody else has them
    "context": ctypes.sizeof(abi.Context) // 8,
}


class Frame:
    """Memory of one call: where its parts begin, in bytes, and how many bytes it takes."""

    bytes: int

    def __init__(self, parts: dict[str, int]):
        self.offsets: dict[str, int] = {}
        self.bytes = 0
        for name, count in parts.items():
            self.offsets[name] = self.bytes
            self.bytes += 8 * count


FRAME = Frame(_PARTS)


def internal(name: str, parameters: str, result: str = "void", inline: bool = False) -> Signature:
    """How a function that only others of the module call is defined: of its parameters, `of` is an entry."""
    return Signature(name, parameters, result, attributes=f"{'' if inline else 'noinline '}nounwind #0")


class Writer(CountingWriter):
    """One function."""

    def word(self, table: Value, place: int, kind: str = "i64") -> Value:
        return self.load(kind, self.step(table, 8 * place))

    def at(self, table: Value, index: Operand, kind: str = "ptr") -> Value:
        return self.load(kind, self.step(table, index, "i64"))

    def put(self, x: Value, table: Value, index: Operand) -> None:
        self.store(x, self.step(table, index, "i64"))

    def row(self, rows: Value, index: Value, count: int) -> Value:
        """One of several tables of so many words, side by side."""
        return self.step(rows, self.multiply(index, 8 * count))

    def part(self, frame: Value, name: str) -> Value:
        """A part of the memory of this call."""
        return self.step(frame, FRAME.offsets[name])

    def field(self, x: Value, offset: Operand, kind: str = "ptr") -> Value:
        return self.load(kind, self.step(x, offset), 4 if kind == "i32" else 8)

    def slot(self, api: Value, x: Value, place: int) -> Value:
        """The address of a slot of an object, which is where the table says."""
        return self.step(x, self.word(api, place))

    def through(self, api: Value, place: int, kind: str, *operands: Value) -> Value:
        """Call a function of Python or NumPy."""
        function = self.word(api, place, "ptr")
        spelled = f"call {kind} {function}({', '.join(o.typed for o in operands)})"
        if kind == "void":
            self.stmt(spelled)
            return NULL
        return self.effect(kind, 1, spelled)

    def room(self, kind: str, count: int, align: int = 8) -> Value:
        return self.effect("ptr", 1, f"alloca [{count} x {kind}], align {align}")

    @contextmanager
    def going(self, test: Value, label: str) -> Iterator[None]:
        """If it holds do what the block does, then go to `label`."""
        with self.leaving(test):
            yield
            self.branch(label)

    def go(self, test: Value, label: str) -> None:
        with self.going(test, label):
            pass

    def negated(self, test: Value) -> Value:
        return self.op("xor", test, TRUE)

    def no(self, test: Value, result: str = "i1 false") -> None:
        """If it holds, the function returns `result`."""
        with self.returning(test, result):
            pass

    def is_null(self, x: Value) -> Value:
        return self.compare("eq", x, NULL)

    def copy(self, source: Value, target: Value, count: Operand) -> None:
        with self.loop(count) as loop:
            self.put(self.at(source, loop.index, "i64"), target, loop.index)
