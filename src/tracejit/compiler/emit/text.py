"""One LLVM function being written: values, scopes, instructions placed as far out as their operands allow.

A scope is a region entered from one place (the function, a loop body, a branch). Its head stays open while
inner scopes are written, so an expression that depends on nothing inner is put there: loop invariants are
hoisted, and equal expressions shared, by construction. Knows LLVM's syntax and nothing of loop programs.
"""

from __future__ import annotations

import struct
from functools import cache, lru_cache
from itertools import chain

import numpy as np


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
        self.text, self.kind, self.lanes, self.level, self.number = text, kind, lanes, level, number

    @property
    def typed(self) -> str:
        return f"{vector_type(self.kind, self.lanes)} {self.text}"


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
    if dtype.itemsize == 8:
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    if dtype.itemsize == 4:
        return f"0x{struct.unpack('<Q', struct.pack('<d', np.float32(value)))[0]:016X}"
    return f"0xH{int(np.float16(value).view(np.uint16)):04X}"


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
def positions(first: int, count: int, step: int = 1) -> str:
    """A shuffle mask naming `count` lanes from `first`."""
    return f"<{count} x i32> <{', '.join(f'i32 {first + p * step}' for p in range(count))}>"


TRUE, FALSE = Value("true", "i1"), Value("false", "i1")


# ---- the function ---------------------------------------------------------------------------------------


class Scope:
    """A region whose head stays open; `certain` says it is entered whenever the scope around it is."""

    __slots__ = ("head", "memo", "certain")

    def __init__(self, certain: bool = True):
        self.head: list[str] = []
        self.memo: dict[str, Value] = {}
        self.certain = certain


class Loop:
    """A loop being written: closed, its phis are filled in."""

    __slots__ = ("label", "before", "phis", "carried", "values", "var", "start", "stop", "step", "may_skip")

    label: str
    before: str
    phis: list[str]
    carried: list[Value]
    values: list[Value]
    var: Value
    start: Value
    stop: Value
    step: int
    may_skip: bool


class Writer:
    """The body of one function.

    Attributes
    ----------
    declares : set of str
        Intrinsics the body calls.
    floor : int
        No instruction moves out of the scope of this number.
    """

    def __init__(self) -> None:
        self.lines: list[str | list[str]] = []
        self.scopes: list[Scope] = []
        self.declares: set[str] = set()
        self.block = "entry"
        self.floor = 0
        self.count = 0
        self.entry: list[str] = []
        self.lines.append(self.entry)
        self.enter()

    # -- scopes and blocks --

    @property
    def depth(self) -> int:
        return len(self.scopes) - 1

    def enter(self, certain: bool = True) -> Scope:
        scope = Scope(certain)
        self.lines.append(scope.head)
        self.scopes.append(scope)
        return scope

    def leave(self) -> None:
        self.scopes.pop()

    def fresh(self, stem: str = "t") -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")
        self.block = name

    def do(self, line: str) -> None:
        """An instruction without a result, here."""
        self.lines.append(f"  {line}")

    def branch(self, target: str) -> None:
        self.lines.append(f"  br label %{target}")

    def fork(self, test: Value, then: str, orelse: str) -> None:
        self.lines.append(f"  br i1 {test.text}, label %{then}, label %{orelse}")

    def text(self) -> str:
        return "\n".join(
            chain.from_iterable((line,) if isinstance(line, str) else line for line in self.lines)
        )

    # -- instructions --

    def put(self, kind: str, lanes: int, instruction: str, *operands: Value) -> Value:
        """A pure instruction, placed in the outermost scope that has its operands."""
        level = self.floor
        for operand in operands:
            if operand.level > level:
                level = operand.level
        return self.put_at(level, kind, lanes, instruction)

    def put_at(self, level: int, kind: str, lanes: int, instruction: str) -> Value:
        """A pure instruction at the head of scope `level`, or here when that scope is not open yet."""
        scopes = self.scopes
        here = level >= len(scopes)
        scope = scopes[-1] if here else scopes[level]
        found = scope.memo.get(instruction)
        if found is not None:
            return found
        self.count += 1
        name = f"%t{self.count}"
        (self.lines if here else scope.head).append(f"  {name} = {instruction}")
        made = scope.memo[instruction] = Value(name, kind, lanes, len(scopes) if here else level)
        return made

    def here(self, kind: str, lanes: int, instruction: str) -> Value:
        """An instruction that reads memory or is bound to its place."""
        self.count += 1
        name = f"%t{self.count}"
        self.lines.append(f"  {name} = {instruction}")
        return Value(name, kind, lanes, len(self.scopes))

    def bound(self, text: str, kind: str, lanes: int = 1) -> Value:
        """A value defined by what was just written, usable from here on."""
        return Value(text, kind, lanes, len(self.scopes))

    def intrinsic(self, name: str, kind: str, lanes: int, *operands: Value) -> Value:
        """A pure intrinsic over operands and a result of one type."""
        symbol = f"@llvm.{name}.{suffix(kind, lanes)}"
        shape = vector_type(kind, lanes)
        self.declares.add(
            f"declare {shape} {symbol}({', '.join(vector_type(o.kind, o.lanes) for o in operands)})"
        )
        return self.put(
            kind, lanes, f"call {shape} {symbol}({', '.join(o.typed for o in operands)})", *operands
        )

    def slot(self, kind: str, count: int = 1) -> str:
        """A stack slot in the entry block."""
        name = f"%{self.fresh('slot')}"
        shape = kind if count == 1 else f"[{count} x {kind}]"
        self.entry.append(f"  {name} = alloca {shape}, align 8")
        return name

    # -- integers --

    def add(self, a: Value, b: Value) -> Value:
        if a.number is not None and b.number is not None:
            return integer(a.number + b.number)
        if b.number == 0:
            return a
        return b if a.number == 0 else self.put("i64", 1, f"add i64 {a.text}, {b.text}", a, b)

    def sub(self, a: Value, b: Value) -> Value:
        if a.number is not None and b.number is not None:
            return integer(a.number - b.number)
        return a if b.number == 0 else self.put("i64", 1, f"sub i64 {a.text}, {b.text}", a, b)

    def mul(self, a: Value, b: Value) -> Value:
        if a.number is not None and b.number is not None:
            return integer(a.number * b.number)
        if a.number == 1 or b.number == 0:
            return b
        return (
            a if b.number == 1 or a.number == 0 else self.put("i64", 1, f"mul i64 {a.text}, {b.text}", a, b)
        )

    def smallest(self, a: Value, b: Value) -> Value:
        if a.number is not None and b.number is not None:
            return integer(min(a.number, b.number))
        return self.intrinsic("smin", "i64", 1, a, b)

    def compare(self, relation: str, a: Value, b: Value) -> Value:
        return self.put("i1", a.lanes, f"icmp {relation} {a.typed}, {b.text}", a, b)

    # -- vectors --

    def splat(self, value: Value, lanes: int) -> Value:
        if value.lanes == lanes:
            return value
        kind, shape = value.kind, vector_type(value.kind, lanes)
        if value.text[0] != "%":
            return Value(f"splat ({kind} {value.text})", kind, lanes)
        first = self.put(kind, lanes, f"insertelement {shape} poison, {kind} {value.text}, i64 0", value)
        return self.put(
            kind,
            lanes,
            f"shufflevector {shape} {first.text}, {shape} poison, <{lanes} x i32> zeroinitializer",
            first,
        )

    def lanes_of(self, value: Value, first: int, count: int, step: int = 1) -> Value:
        """Lanes `first`, ``first + step``, ... of a vector."""
        if count == 1:
            return self.put(value.kind, 1, f"extractelement {value.typed}, i64 {first}", value)
        shape = vector_type(value.kind, value.lanes)
        mask = positions(first, count, step)
        return self.put(value.kind, count, f"shufflevector {value.typed}, {shape} poison, {mask}", value)

    # -- loops --

    def open_repeat(self, carried: list[Value], certain: bool = True, stem: str = "loop") -> Loop:
        """Begin a loop that tests at its end; `values` of the result are what it carries."""
        loop = Loop()
        loop.label, loop.before, loop.carried = self.fresh(stem), self.block, carried
        self.branch(loop.label)
        self.begin(loop, certain)
        return loop

    def begin(self, loop: Loop, certain: bool) -> None:
        self.label(loop.label)
        loop.phis = []
        self.lines.append(loop.phis)
        self.enter(certain)
        depth = self.depth
        loop.values = [
            Value(f"%{loop.label}.{p}", v.kind, v.lanes, depth) for p, v in enumerate(loop.carried)
        ]

    def close_repeat(self, loop: Loop, values: list[Value], more: Value) -> list[Value]:
        """End the loop: again while `more`, with `values`."""
        self.fill(loop, loop.values, loop.carried, values)
        self.fork(more, loop.label, f"{loop.label}.done")
        self.leave()
        self.label(f"{loop.label}.done")
        return [self.bound(v.text, v.kind, v.lanes) for v in values]

    def fill(self, loop: Loop, phis: list[Value], before: list[Value], after: list[Value]) -> None:
        for phi, old, new in zip(phis, before, after, strict=True):
            shape = vector_type(phi.kind, phi.lanes)
            arms = f"[ {old.text}, %{loop.before} ], [ {new.text}, %{self.block} ]"
            loop.phis.append(f"  {phi.text} = phi {shape} {arms}")

    def open_loop(
        self, start: Value, stop: Value, step: int, carried: list[Value], certain: bool, may_skip: bool
    ) -> Loop:
        """Begin ``for var in range(start, stop, step)`` around `carried` values.

        `certain`: the loop's axis is never empty. `may_skip`: this loop may run zero times.
        """
        loop = Loop()
        loop.label, loop.before, loop.carried = self.fresh("loop"), self.block, carried
        loop.start, loop.stop, loop.step, loop.may_skip = start, stop, step, may_skip
        if may_skip:
            self.fork(self.compare("slt", start, stop), loop.label, f"{loop.label}.done")
        else:
            self.branch(loop.label)
        self.begin(loop, certain)
        loop.var = Value(f"%{loop.label}.i", "i64", 1, self.depth)
        return loop

    def close_loop(self, loop: Loop, values: list[Value]) -> list[Value]:
        """End a loop whose carried values are now `values`; the values they have behind it."""
        var, last = loop.var.text, self.block
        self.fill(
            loop, [loop.var, *loop.values], [loop.start, *loop.carried], [Value(f"{var}.n", "i64"), *values]
        )
        self.do(f"{var}.n = add nuw nsw i64 {var}, {loop.step}")
        self.do(f"{var}.m = icmp slt i64 {var}.n, {loop.stop.text}")
        self.lines.append(f"  br i1 {var}.m, label %{loop.label}, label %{loop.label}.done")
        self.leave()
        self.label(f"{loop.label}.done")
        if not loop.may_skip:
            return [self.bound(v.text, v.kind, v.lanes) for v in values]
        arms = [
            f"[ {old.text}, %{loop.before} ], [ {v.text}, %{last} ]"
            for old, v in zip(loop.carried, values, strict=True)
        ]
        return [
            self.here(v.kind, v.lanes, f"phi {vector_type(v.kind, v.lanes)} {arm}")
            for v, arm in zip(values, arms, strict=True)
        ]
