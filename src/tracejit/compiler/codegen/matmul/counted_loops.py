"""Functions of integers and pointers with counted loops and conditional blocks, written with ``with``.

It exists so that the kernels beside it read as loops over tiles instead of labels and phis.  It must not know
anything about matrices, and it never checks types: LLVM's own parser does that.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ...ir_text import IRWriter, function, phi

_NO_LOOP_TRANSFORMS = """\
!0 = distinct !{!0, !1, !2}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = !{!"llvm.loop.vectorize.enable", i1 false}
"""


def loop_metadata() -> str:
    """Metadata every module using `Writer.loop` ends with: loops are already in their final shape."""
    return _NO_LOOP_TRANSFORMS


@dataclass
class Loop:
    """A loop being written: its counter, the values it carries, and what the next round carries."""

    index: str
    carried: list[str]
    following: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Signature:
    """How an internal function is defined and called: its parameters are LLVM's, ``"i64 %m, ptr %a"``."""

    name: str
    parameters: str
    result: str = "void"

    def __str__(self) -> str:
        return f"internal fastcc {self.result} @{self.name}({self.parameters}) noinline nounwind #0"

    def arguments(self, values: tuple[str | int, ...]) -> str:
        """The values, each after its parameter's type."""
        kinds = [parameter.split()[0] for parameter in self.parameters.split(", ")]
        return ", ".join(f"{kind} {value}" for kind, value in zip(kinds, values, strict=True))


class Writer(IRWriter):
    """One function; `text()` closes it."""

    def __init__(self, signature: Signature | str) -> None:
        super().__init__()
        self.signature = signature

    def call(self, callee: Signature, *values: str | int) -> str:
        """Call an internal function; return the result's name, if it has one."""
        text = f"call fastcc {callee.result} @{callee.name}({callee.arguments(values)})"
        if callee.result != "void":
            return self.let(text)
        self.do(text)
        return ""

    def add(self, left: str, right: str | int) -> str:
        return self.let(f"add i64 {left}, {right}")

    def subtract(self, left: str | int, right: str | int) -> str:
        return self.let(f"sub i64 {left}, {right}")

    def multiply(self, left: str, right: str | int) -> str:
        return self.let(f"mul i64 {left}, {right}")

    def compare(self, relation: str, left: str, right: str | int) -> str:
        return self.let(f"icmp {relation} i64 {left}, {right}")

    def minimum(self, left: str, right: str | int) -> str:
        return self.select(self.compare("slt", left, right), left, right)

    def select(self, condition: str, then: str | int, otherwise: str | int, kind: str = "i64") -> str:
        return self.let(f"select i1 {condition}, {kind} {then}, {kind} {otherwise}")

    def both(self, left: str, right: str) -> str:
        return self.let(f"and i1 {left}, {right}")

    def either(self, left: str, right: str) -> str:
        return self.let(f"or i1 {left}, {right}")

    def negate(self, condition: str) -> str:
        return self.let(f"xor i1 {condition}, true")

    def offset(self, pointer: str, size: str | int) -> str:
        """`pointer` moved by `size` bytes."""
        return pointer if str(size) == "0" else self.let(f"getelementptr i8, ptr {pointer}, i64 {size}")

    @contextmanager
    def loop(self, stop: str | int, step: str | int = 1, *carried: tuple[str, str]) -> Iterator[Loop]:
        """Write ``for index in range(0, stop, step)``.

        Each of `carried` is (type, first value). The block must fill `following` with one value for each;
        after the block, `carried` names the final values.
        """
        before, (head, body, after) = self.block, map(self.fresh, "bbb")
        state = Loop(f"%{self.fresh()}", [f"%{self.fresh()}" for _ in carried])
        self.branch(head)
        self.label(head)
        phis = self.reserve()
        self.do(f"{state.index}.in = icmp slt i64 {state.index}, {stop}")
        self.fork(f"{state.index}.in", body, after)
        self.label(body)
        yield state
        self.do(f"{state.index}.next = add nsw i64 {state.index}, {step}")
        end = self.block
        self.branch(head, ", !llvm.loop !0")
        phis.append(f"  {state.index} = {phi('i64', (0, before), (f'{state.index}.next', end))}")
        for (kind, first), name, following in zip(carried, state.carried, state.following, strict=True):
            phis.append(f"  {name} = {phi(kind, (first, before), (following, end))}")
        self.label(after)

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """Write a block that runs only if `condition` holds."""
        after = self._enter(condition)
        yield
        self.branch(after)
        self.label(after)

    def _enter(self, condition: str) -> str:
        """Begin a block that runs only if `condition` holds; the label of what comes behind it."""
        body, after = map(self.fresh, "bb")
        self.fork(condition, body, after)
        self.label(body)
        return after

    @contextmanager
    def replacing(self, condition: str, kinds: list[str], values: list[str]) -> Iterator[list[str]]:
        """Write a block that, if `condition` holds, replaces `values`.

        The block fills the list it is given; after it, the list holds the merged values.
        """
        before, after = self.block, self._enter(condition)
        merged: list[str] = []
        yield merged
        inner = self.block
        self.branch(after)
        self.label(after)
        merged[:] = [
            self.let(phi(kind, (old, before), (new, inner)))
            for kind, old, new in zip(kinds, values, merged, strict=True)
        ]

    @contextmanager
    def returning(self, condition: str, result: str = "void") -> Iterator[None]:
        """Write a block that runs only if `condition` holds and ends the function."""
        after = self._enter(condition)
        yield
        self.do(f"ret {result}")
        self.label(after)

    def text(self, result: str = "void") -> str:
        """The whole function, which returns `result` at its end."""
        return function(str(self.signature), self, result)
