"""LLVM's syntax: types, constants, values, and the writer of one function that every generator here uses.

``codegen.writing.scopes`` places instructions as far out as they may be, ``matmul.counted_loops`` adds loops written
with ``with``, ``math.writer`` numbers of one type. Knows neither loop programs nor mathematics.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from itertools import chain
from typing import Any

import numpy as np

#: An attribute that LLVM does not know, of functions that leave all work to others: the plainest code will do.
DIRECTS = '"directs"'

#: Intrinsics that hide where a value is from.
HIDDEN_POINTER, HIDDEN_INTEGER = "@llvm.launder.invariant.group.p0", "@llvm.expect.i64"

# ---- types and constants --------------------------------------------------------------------------------

_BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "half": 16, "float": 32, "double": 64, "ptr": 64}
_FLOATS = frozenset(("half", "float", "double"))
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


# ---- values -------------------------------------------------------------------------------------------


class Value:
    """An SSA value or a constant.

    Attributes
    ----------
    text : str
        How an operand spells it.
    kind : str
        LLVM type of one element.
    lanes : int
        1 for a scalar, else the length of the vector.
    level : int
        The outermost scope at whose head it may be used.
    number : int or None
        Its value when it is an integer known now.
    """

    __slots__ = ("text", "kind", "lanes", "level", "number")

    def __init__(self, text: str, kind: str, lanes: int = 1, level: int = 0, number: int | None = None):
        self.text: str = text
        self.kind: str = kind
        self.lanes: int = lanes
        self.level: int = level
        self.number: int | None = number

    def __str__(self) -> str:
        return self.text

    @property
    def type(self) -> str:
        return vector_type(self.kind, self.lanes)

    @property
    def typed(self) -> str:
        if self.lanes == 1:
            return f"{self.kind} {self.text}"
        return f"<{self.lanes} x {self.kind}> {self.text}"


def constant(value: float | int | bool, dtype: np.dtype) -> Value:
    number = int(value) if dtype.kind in "iu" else None
    return Value(literal(value, dtype), kind_of(dtype), 1, 0, number)


@lru_cache(maxsize=1024)
def integer(value: int, kind: str = "i64") -> Value:
    return Value(str(value), kind, 1, 0, value)


@cache
def iota(kind: str, lanes: int, step: int = 1) -> Value:
    """The vector 0, step, 2 step, ..."""
    if lanes == 1:
        return integer(0, kind)
    return Value(f"<{', '.join(f'{kind} {p * step}' for p in range(lanes))}>", kind, lanes)


@cache
def zeros(kind: str, lanes: int = 1) -> Value:
    return Value("zeroinitializer", kind, lanes)


TRUE, FALSE = Value("true", "i1"), Value("false", "i1")
NULL = Value("null", "ptr")


# ---- functions ------------------------------------------------------------------------------------------


class Writer:
    """The body of one function, line by line. Its methods are named for what they write.

    Attributes
    ----------
    lines : list
        What is written; a list among the lines is a place that is filled in later.
    declares : dict
        Declarations of the intrinsics the body calls, by symbol.
    block : str
        The label of the block being written.
    level : int
        That of values that are bound to their place: how many scopes there are.
    new_lines : callable
        What makes its lists of lines.
    """

    count: int

    def __init__(self, new_lines: Callable[[], list[Any]] = list) -> None:
        self.new_lines = new_lines
        self.lines: list[str | list[str]] = new_lines()
        self.declares: dict[str, str] = {}
        self.block: str = "entry"
        self.count = self.level = 0

    # -- lines --

    def fresh(self, stem: str = "t") -> str:
        """A name that nothing has yet."""
        self.count += 1
        return f"{stem}{self.count}"

    def stmt(self, line: str) -> None:
        """An instruction without a result, here."""
        self.lines.append(f"  {line}")

    def effect(self, kind: str, lanes: int, instruction: str) -> Value:
        """An instruction that reads memory or is bound to its place."""
        self.count += 1
        name = f"%t{self.count}"
        self.lines.append(f"  {name} = {instruction}")
        return Value(name, kind, lanes, self.level)

    def define(self, text: str, kind: str, lanes: int = 1) -> Value:
        """A value defined by what was just written, usable from here on."""
        return Value(text, kind, lanes, self.level)

    def pure(self, kind: str, lanes: int, instruction: str, *operands: Value) -> Value:
        """A pure instruction: the writers of scopes place it by its operands."""
        return self.effect(kind, lanes, instruction)

    def reserve(self) -> list[str]:
        """A place here for lines to come, such as the phis of a loop."""
        place: list[str] = self.new_lines()
        self.lines.append(place)
        return place

    def body(self) -> str:
        """Everything written."""
        return "\n".join(
            chain.from_iterable((line,) if isinstance(line, str) else line for line in self.lines)
        )

    # -- blocks --

    def label(self, name: str) -> None:
        """Begin a block."""
        self.lines.append(f"{name}:")
        self.block = name

    def branch(self, target: str, note: str = "") -> None:
        self.stmt(f"br label %{target}{note}")

    def fork(self, test: Value, then: str, orelse: str, note: str = "") -> None:
        """Go to one of two blocks."""
        self.stmt(f"br i1 {test.text}, label %{then}, label %{orelse}{note}")

    def when(self, test: Value, stem: str = "then", unless: bool = False, note: str = "") -> Block:
        """A block that runs only if `test` holds (`unless`: does not hold)."""
        label = self.fresh(stem)
        after = f"{label}.done"
        self.fork(test, *((after, label) if unless else (label, after)), note)
        self.label(label)
        return Block(self, after, True)

    def leaving(self, test: Value, stem: str = "then", unless: bool = False) -> Block:
        """A block that runs only if `test` holds (`unless`: does not hold), and ends elsewhere."""
        block = self.when(test, stem, unless)
        block.returns = False
        return block

    @contextmanager
    def replacing(
        self, test: Value, values: Sequence[Value], stem: str = "then", note: str = ""
    ) -> Iterator[list[Value]]:
        """A block that, if `test` holds, replaces `values`.

        The block fills the list it is given; after it, the list holds the merged values.
        """
        merged: list[Value] = []
        before = self.block
        with self.when(test, stem, note=note):
            yield merged
            inner = self.block
        merged[:] = [self.phi((old, before), (new, inner)) for old, new in zip(values, merged, strict=True)]

    def phi(self, *arms: tuple[Value, str]) -> Value:
        """The value that came from one of several blocks: (value, label) each."""
        first = arms[0][0]
        return self.effect(first.kind, first.lanes, phi(*arms))

    # -- arithmetic --

    def binary(self, op: str, a: Value, b: Value) -> Value:
        return self.pure(a.kind, a.lanes, f"{op} {a.typed}, {b.text}", a, b)

    def unary(self, op: str, a: Value) -> Value:
        return self.pure(a.kind, a.lanes, f"{op} {a.typed}", a)

    def compare(self, relation: str, a: Value, b: Value) -> Value:
        """``icmp`` or ``fcmp``, by the type."""
        op = "fcmp" if a.kind in _FLOATS else "icmp"
        return self.pure("i1", a.lanes, f"{op} {relation} {a.typed}, {b.text}", a, b)

    def select(self, test: Value, then: Value, orelse: Value) -> Value:
        text = f"select {test.typed}, {then.typed}, {orelse.typed}"
        return self.pure(then.kind, then.lanes, text, test, then, orelse)

    def convert(self, op: str, a: Value, kind: str) -> Value:
        """`a` as another type, by ``zext``, ``fptrunc``, ``bitcast`` ..."""
        return self.pure(kind, a.lanes, f"{op} {a.typed} to {vector_type(kind, a.lanes)}", a)

    def call(self, kind: str, lanes: int, symbol: str, *operands: Value) -> Value:
        """A call of a pure function."""
        spelled = ", ".join([o.typed for o in operands])
        return self.pure(kind, lanes, f"call {vector_type(kind, lanes)} {symbol}({spelled})", *operands)

    def declare(self, result: str, symbol: str, *operands: Value) -> str:
        """Note that the module must declare an intrinsic that takes such operands; its symbol."""
        if symbol not in self.declares:
            self.declares[symbol] = f"declare {result} {symbol}({', '.join([o.type for o in operands])})"
        return symbol

    def memory_intrinsic(self, result: str, symbol: str, *operands: Value) -> str:
        """The call of an intrinsic that touches memory: whoever asks knows where it may stand."""
        self.declare(result, symbol, *operands)
        return f"call {result} {symbol}({', '.join([o.typed for o in operands])})"

    def intrinsic(self, name: str, *operands: Value) -> Value:
        """A pure intrinsic over operands and a result of one type."""
        kind, lanes = operands[0].kind, operands[0].lanes
        symbol = self.declare(vector_type(kind, lanes), f"@llvm.{name}.{suffix(kind, lanes)}", *operands)
        return self.call(kind, lanes, symbol, *operands)

    def hidden(self, value: Value) -> Value:
        """An integer or a pointer of which LLVM does not see how it came about; it costs no instruction.

        Where what a loop counts is hidden before it comes round again, no pass looks for another way to count.
        """
        if value.kind == "ptr":
            return self.effect("ptr", 1, self.memory_intrinsic("ptr", HIDDEN_POINTER, value))
        return self.effect(value.kind, 1, self.memory_intrinsic("i64", HIDDEN_INTEGER, value, integer(0)))

    def any_lane(self, test: Value) -> Value:
        """Does it hold in any lane?"""
        if test.lanes == 1:
            return test
        symbol = self.declare("i1", f"@llvm.vector.reduce.or.{suffix('i1', test.lanes)}", test)
        return self.call("i1", 1, symbol, test)

    # -- vectors --

    def splat(self, value: Value, lanes: int) -> Value:
        if value.lanes == lanes:
            return value
        kind, shape = value.kind, vector_type(value.kind, lanes)
        if value.text[0] != "%":
            return Value(f"splat ({kind} {value.text})", kind, lanes)
        first = self.pure(kind, lanes, f"insertelement {shape} poison, {kind} {value.text}, i64 0", value)
        zeros = f"<{lanes} x i32> zeroinitializer"
        return self.pure(kind, lanes, f"shufflevector {first.typed}, {shape} poison, {zeros}", first)

    def shuffle(self, lanes: range | tuple[int, ...], a: Value, b: Value | None = None) -> Value:
        """These lanes of one vector, or of two side by side."""
        other = f"{a.type} poison" if b is None else b.typed
        text = f"shufflevector {a.typed}, {other}, {shuffle_mask(lanes)}"
        return self.pure(a.kind, len(lanes), text, *((a,) if b is None else (a, b)))

    def lane(self, value: Value, number: int | Value) -> Value:
        """One lane of a vector."""
        at = integer(number) if isinstance(number, int) else number
        return self.pure(value.kind, 1, f"extractelement {value.typed}, {at.typed}", value, at)

    def lanes_of(self, value: Value, first: int, count: int, step: int = 1) -> Value:
        """Lanes `first`, ``first + step``, ... of a vector."""
        if count == 1:
            return self.lane(value, first)
        return self.shuffle(range(first, first + count * step, step), value)

    # -- memory --

    def step(self, pointer: Value, index: Value | int, kind: str = "i8") -> Value:
        """`pointer` moved by so many elements of type `kind`."""
        index = integer(index) if isinstance(index, int) else index
        at = f"i64 {index.text}" if index.lanes == 1 else index.typed
        text = f"getelementptr {kind}, ptr {pointer.text}, {at}"
        return self.pure("ptr", index.lanes, text, pointer, index)

    def load(self, kind: str, pointer: Value, align: int = 8, lanes: int = 1) -> Value:
        return self.effect(kind, lanes, f"load {vector_type(kind, lanes)}, ptr {pointer.text}, align {align}")

    def store(self, value: Value, pointer: Value, align: int = 8, mask: Value | None = None) -> None:
        """Store a value, or only its lanes in `mask`."""
        if mask is None:
            self.stmt(f"store {value.typed}, ptr {pointer.text}, align {align}")
            return
        symbol = f"@llvm.masked.store.{suffix(value.kind, value.lanes)}.p0"
        self.stmt(self.memory_intrinsic("void", symbol, value, pointer, integer(align, "i32"), mask))

    def masked_load(self, pointer: Value, align: int, mask: Value, rest: Value) -> str:
        """The instruction that reads the lanes in `mask`; the others are those of `rest`."""
        symbol = f"@llvm.masked.load.{suffix(rest.kind, rest.lanes)}.p0"
        return self.memory_intrinsic(rest.type, symbol, pointer, integer(align, "i32"), mask, rest)


class Block:
    """A block being written, for a ``with``: behind it `after` begins, to which it `returns` unless it ends itself."""

    __slots__ = ("writer", "after", "returns")

    def __init__(self, writer: Writer, after: str, returns: bool):
        self.writer: Writer = writer
        self.after: str = after
        self.returns: bool = returns

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        if self.returns:
            self.writer.branch(self.after)
        self.writer.label(self.after)


def phi(*arms: tuple[Value, str]) -> str:
    """The instruction of `Writer.phi`."""
    return f"phi {arms[0][0].type} {', '.join([f'[ {value}, %{block} ]' for value, block in arms])}"


def function(head: str, writer: Writer, result: str = "") -> str:
    """The definition of a function; with `result` the body ends by returning that, ``"i32 0"`` or ``"void"``."""
    end = f"  ret {result}\n" if result else ""
    return f"define {head} {{\nentry:\n{writer.body()}\n{end}}}\n"
