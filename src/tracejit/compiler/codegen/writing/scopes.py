"""One LLVM function being written: values, scopes, instructions placed as far out as their operands allow.

A scope is a region entered from one place (the function, a loop body, a branch). Its head stays open while
inner scopes are written, so an expression that depends on nothing inner is put there: loop invariants are
hoisted, and equal expressions shared, by construction. Knows LLVM's syntax and nothing of loop programs.
"""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np

from ...ir_text import IRWriter, kind_of, literal, phi, shuffle_mask, suffix, vector_type


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

    def __str__(self) -> str:
        return self.text

    @property
    def typed(self) -> str:
        return f"{vector_type(self.kind, self.lanes)} {self.text}"


# ---- values -------------------------------------------------------------------------------------------


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


TRUE = Value("true", "i1")


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


class Writer(IRWriter):
    """The body of one function.

    Attributes
    ----------
    floor : int
        No instruction moves out of the scope of this number.
    """

    def __init__(self) -> None:
        super().__init__()
        self.scopes: list[Scope] = []
        self.floor = 0
        self.entry = self.reserve()
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
        return Value(self.let(instruction), kind, lanes, len(self.scopes))

    def bound(self, text: str, kind: str, lanes: int = 1) -> Value:
        """A value defined by what was just written, usable from here on."""
        return Value(text, kind, lanes, len(self.scopes))

    def intrinsic(self, name: str, kind: str, lanes: int, *operands: Value) -> Value:
        """A pure intrinsic over operands and a result of one type."""
        symbol = f"@llvm.{name}.{suffix(kind, lanes)}"
        shape = vector_type(kind, lanes)
        self.declare(shape, symbol, *[vector_type(o.kind, o.lanes) for o in operands])
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
        mask = shuffle_mask(range(first, first + count * step, step))
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
        loop.phis = self.reserve()
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
        for var, old, new in zip(phis, before, after, strict=True):
            shape = vector_type(var.kind, var.lanes)
            loop.phis.append(f"  {var} = {phi(shape, (old, loop.before), (new, self.block))}")

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
        self.fork(f"{var}.m", loop.label, f"{loop.label}.done")
        self.leave()
        self.label(f"{loop.label}.done")
        if not loop.may_skip:
            return [self.bound(v.text, v.kind, v.lanes) for v in values]
        return [
            self.here(v.kind, v.lanes, phi(vector_type(v.kind, v.lanes), (old, loop.before), (v, last)))
            for old, v in zip(loop.carried, values, strict=True)
        ]
