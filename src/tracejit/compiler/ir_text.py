"""LLVM's syntax: types, constants, and the writer of one function that every generator here builds on.

``codegen.writing.scopes`` adds values that are placed as far out as they may be, ``matmul.counted_loops`` loops written
with ``with``, ``math.writer`` arithmetic of one type. Knows neither loop programs nor mathematics.
"""

from __future__ import annotations

import struct
from functools import cache
from itertools import chain

import numpy as np

# ---- types and constants --------------------------------------------------------------------------------

_BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "half": 16, "float": 32, "double": 64, "ptr": 64}
_SHORT = {"half": "f16", "float": "f32", "double": "f64", "ptr": "p0"}


@cache
def kind_of(dtype: np.dtype) -> str:
    """LLVM's type for a scalar of `dtype` in a register."""
    if dtype.kind == "b":
        return "i1"
    if dtype.kind in "iu":
        return f"i{8 * dtype.itemsize}"
    return {2: "half", 4: "float", 8: "double"}[dtype.itemsize]


def memory_kind(kind: str) -> str:
    """LLVM's type for a scalar of register type `kind` in memory: a bool takes a byte."""
    return "i8" if kind == "i1" else kind


def bits_of(kind: str) -> int:
    return _BITS[kind]


@cache
def vector_type(kind: str, lanes: int) -> str:
    return kind if lanes == 1 else f"<{lanes} x {kind}>"


@cache
def suffix(kind: str, lanes: int) -> str:
    """How intrinsic names spell a type: ``v8f64``."""
    short = _SHORT.get(kind, kind)
    return short if lanes == 1 else f"v{lanes}{short}"


def literal(value: float | int | bool, dtype: np.dtype) -> str:
    """`value` as an LLVM constant of `dtype`, bit by bit."""
    kind = dtype.kind
    if kind == "b":
        return "true" if value else "false"
    if kind in "iu":
        return str(int(value))
    return float_literal(value, kind_of(dtype))


def float_literal(value: float, kind: str) -> str:
    """`value` as a constant of type ``half``, ``float`` or ``double``, bit by bit."""
    if kind == "half":
        return f"0xH{int(np.float16(value).view(np.uint16)):04X}"
    rounded = np.float32(value) if kind == "float" else value
    return f"0x{struct.unpack('<Q', struct.pack('<d', rounded))[0]:016X}"


@cache
def shuffle_mask(lanes: range | tuple[int, ...]) -> str:
    """The mask of a shuffle that takes these lanes."""
    return f"<{len(lanes)} x i32> <{', '.join([f'i32 {p}' for p in lanes])}>"


# ---- functions ------------------------------------------------------------------------------------------


class IRWriter:
    """The body of one function, line by line.

    Attributes
    ----------
    lines : list
        What is written; a list among the lines is a place that is filled in later.
    declares : set of str
        Declarations of the intrinsics the body calls.
    block : str
        The label of the block being written.
    """

    def __init__(self) -> None:
        self.lines: list[str | list[str]] = []
        self.declares: set[str] = set()
        self.block = "entry"
        self.count = 0

    def fresh(self, stem: str = "t") -> str:
        """A name that nothing has yet."""
        self.count += 1
        return f"{stem}{self.count}"

    def let(self, instruction: str) -> str:
        """An instruction with a result, here; the result's name."""
        self.count += 1
        name = f"%t{self.count}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def do(self, line: str) -> None:
        """An instruction without a result, here."""
        self.lines.append(f"  {line}")

    def reserve(self) -> list[str]:
        """A place here for lines to come, such as the phis of a loop."""
        place: list[str] = []
        self.lines.append(place)
        return place

    def label(self, name: str) -> None:
        """Begin a block."""
        self.lines.append(f"{name}:")
        self.block = name

    def branch(self, target: str, note: str = "") -> None:
        self.do(f"br label %{target}{note}")

    def fork(self, test: object, then: str, orelse: str, note: str = "") -> None:
        """Go to one of two blocks; `test` is an i1 or its name."""
        self.do(f"br i1 {test}, label %{then}, label %{orelse}{note}")

    def declare(self, result: str, symbol: str, *parameters: str) -> None:
        """Note that the module must declare an intrinsic."""
        self.declares.add(f"declare {result} {symbol}({', '.join(parameters)})")

    def body(self) -> str:
        """Everything written."""
        return "\n".join(
            chain.from_iterable((line,) if isinstance(line, str) else line for line in self.lines)
        )


def phi(kind: str, *arms: tuple[object, str]) -> str:
    """The value that came from one of several blocks: (value, label) each."""
    return f"phi {kind} {', '.join([f'[ {value}, %{block} ]' for value, block in arms])}"


def function(head: str, writer: IRWriter, result: str = "") -> str:
    """The definition of a function; with `result` the body ends by returning that, ``"i32 0"`` or ``"void"``."""
    end = f"  ret {result}\n" if result else ""
    return f"define {head} {{\nentry:\n{writer.body()}\n{end}}}\n"
