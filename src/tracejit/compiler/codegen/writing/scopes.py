"""One LLVM function being written with scopes: instructions placed as far out as their operands allow.

A scope is a region entered from one place (the function, a loop body, a branch). Its head stays open while
inner scopes are written, so an expression that depends on nothing inner is put there: loop invariants are
hoisted, and equal expressions shared, by construction. Knows LLVM's syntax and nothing of loop programs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir_text import Value, Writer, integer, phi


class Scope:
    """A region whose head stays open; `certain` says it is entered whenever the scope around it is."""

    __slots__ = ("head", "memo", "certain")

    def __init__(self, head: list[str], certain: bool = True):
        self.head: list[str] = head
        self.memo: dict[str, Value] = {}
        self.certain: bool = certain


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


class Inside:
    """The end of a scope, and of its floor."""

    __slots__ = ("writer", "floor")

    def __init__(self, writer: HoistingWriter):
        self.writer: HoistingWriter = writer
        self.floor: int = writer.floor

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        self.writer.floor = self.floor
        self.writer.leave()


class HoistingWriter(Writer):
    """The body of one function, in scopes.

    Attributes
    ----------
    floor : int
        No instruction moves out of the scope of this number.
    settled : bool
        Loops step as they are written: see `hidden`.
    """

    count: int

    def __init__(self, new_lines: Callable[[], list[Any]] = list, settled: bool = False) -> None:
        super().__init__(new_lines)
        self.settled = settled
        self.scopes: list[Scope] = []
        self.floor: int = 0
        self.entry: list[str] = self.reserve()
        self.enter()

    # -- scopes --

    @property
    def depth(self) -> int:
        return self.level - 1

    def enter(self, certain: bool = True) -> Scope:
        scope = Scope(self.new_lines(), certain)
        self.lines.append(scope.head)
        self.scopes.append(scope)
        self.level += 1
        return scope

    def leave(self) -> None:
        self.scopes.pop()
        self.level -= 1

    def scope(self, certain: bool = True, closed: bool = False) -> Inside:
        """A scope for the length of a ``with``; nothing moves out of a `closed` one."""
        inside = Inside(self)
        self.enter(certain)
        if closed:
            self.floor = self.depth
        return inside

    # -- instructions --

    def pure(self, kind: str, lanes: int, instruction: str, *operands: Value) -> Value:
        """A pure instruction, placed in the outermost scope that has its operands."""
        level = self.floor
        for operand in operands:
            if operand.level > level:
                level = operand.level
        return self.pure_at(level, kind, lanes, instruction)

    def pure_at(self, level: int, kind: str, lanes: int, instruction: str) -> Value:
        """A pure instruction at the head of scope `level`, or here when that scope is not open yet."""
        scopes = self.scopes
        here = level >= self.level
        scope = scopes[-1] if here else scopes[level]
        found = scope.memo.get(instruction)
        if found is not None:
            return found
        self.count += 1
        name = f"%t{self.count}"
        (self.lines if here else scope.head).append(f"  {name} = {instruction}")
        made = scope.memo[instruction] = Value(name, kind, lanes, self.level if here else level)
        return made

    def slot(self, kind: str, count: int = 1) -> Value:
        """A stack slot in the entry block."""
        name = f"%{self.fresh('slot')}"
        shape = kind if count == 1 else f"[{count} x {kind}]"
        self.entry.append(f"  {name} = alloca {shape}, align 8")
        return Value(name, "ptr")

    # -- integers: what is known now is worked out now --

    def add(self, a: Value, b: Value) -> Value:
        if a.number is not None and b.number is not None:
            return integer(a.number + b.number)
        if b.number == 0:
            return a
        return b if a.number == 0 else self.binary("add", a, b)

    def sub(self, a: Value, b: Value) -> Value:
        if a.number is not None and b.number is not None:
            return integer(a.number - b.number)
        return a if b.number == 0 else self.binary("sub", a, b)

    def mul(self, a: Value, b: Value) -> Value:
        if a.number is not None and b.number is not None:
            return integer(a.number * b.number)
        if a.number == 1 or b.number == 0:
            return b
        return a if b.number == 1 or a.number == 0 else self.binary("mul", a, b)

    def smallest(self, a: Value, b: Value) -> Value:
        if a.number is not None and b.number is not None:
            return integer(min(a.number, b.number))
        return self.intrinsic("smin", a, b)

    # -- loops --

    def open_repeat(self, carried: list[Value], certain: bool = True) -> Loop:
        """Begin a loop that tests at its end; `values` of the result are what it carries."""
        loop = Loop()
        loop.label, loop.before, loop.carried = self.fresh("loop"), self.block, carried
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
        return self.end(loop, values, more)

    def end(self, loop: Loop, values: list[Value], more: Value) -> list[Value]:
        self.fork(more, loop.label, f"{loop.label}.done")
        self.leave()
        self.label(f"{loop.label}.done")
        return [self.define(v.text, v.kind, v.lanes) for v in values]

    def fill(self, loop: Loop, phis: list[Value], before: list[Value], after: list[Value]) -> None:
        for var, old, new in zip(phis, before, after, strict=True):
            loop.phis.append(f"  {var} = {phi((old, loop.before), (new, self.block))}")

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
        following, more = Value(f"{var}.n", "i64"), Value(f"{var}.m", "i1")
        self.stmt(f"{following} = add nuw nsw i64 {var}, {loop.step}")
        step = self.hidden(following) if self.settled else following
        self.fill(loop, [loop.var, *loop.values], [loop.start, *loop.carried], [step, *values])
        self.stmt(f"{more} = icmp slt i64 {following}, {loop.stop.text}")
        after = self.end(loop, values, more)
        if not loop.may_skip:
            return after
        return [self.phi((old, loop.before), (v, last)) for old, v in zip(loop.carried, values, strict=True)]
