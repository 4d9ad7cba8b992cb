"""A writer of LLVM IR functions: fresh names, counted loops, conditional blocks.

It exists so that the kernels beside it read as loops over tiles instead of labels and phis.  It must not know
anything about matrices, and it never checks types: LLVM's own parser does that.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

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


class Writer:
    """The body of one function; `text()` closes it."""

    def __init__(self, signature: Signature | str) -> None:
        self._lines = [f"define {signature} {{", "entry:"]
        self._count = 0
        self._label = "entry"

    def fresh(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def let(self, expression: str) -> str:
        """Write one instruction that has a result; return the result's name."""
        name = self.fresh()
        self._lines.append(f"  {name} = {expression}")
        return name

    def do(self, instruction: str) -> None:
        """Write one instruction without a result."""
        self._lines.append(f"  {instruction}")

    def call(self, function: Signature, *values: str | int) -> str:
        """Call an internal function; return the result's name, if it has one."""
        text = f"call fastcc {function.result} @{function.name}({function.arguments(values)})"
        if function.result != "void":
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

    def _new_label(self) -> str:
        self._count += 1
        return f"b{self._count}"

    def _open(self, label: str) -> None:
        self._lines.append(f"{label}:")
        self._label = label

    @contextmanager
    def loop(self, stop: str | int, step: str | int = 1, *carried: tuple[str, str]) -> Iterator[Loop]:
        """Write ``for index in range(0, stop, step)``.

        Each of `carried` is (type, first value). The block must fill `following` with one value for each;
        after the block, `carried` names the final values.
        """
        before, head, body, after = self._label, self._new_label(), self._new_label(), self._new_label()
        state = Loop(self.fresh(), [self.fresh() for _ in carried])
        self.do(f"br label %{head}")
        self._open(head)
        phis = len(self._lines)
        self.do(f"{state.index}.in = icmp slt i64 {state.index}, {stop}")
        self.do(f"br i1 {state.index}.in, label %{body}, label %{after}")
        self._open(body)
        yield state
        self.do(f"{state.index}.next = add nsw i64 {state.index}, {step}")
        self.do(f"br label %{head}, !llvm.loop !0")
        lines = [f"  {state.index} = phi i64 [ 0, %{before} ], [ {state.index}.next, %{self._label} ]"]
        for (kind, first), name, following in zip(carried, state.carried, state.following, strict=True):
            lines.append(f"  {name} = phi {kind} [ {first}, %{before} ], [ {following}, %{self._label} ]")
        self._lines[phis:phis] = lines
        self._open(after)

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """Write a block that runs only if `condition` holds."""
        body, after = self._new_label(), self._new_label()
        self.do(f"br i1 {condition}, label %{body}, label %{after}")
        self._open(body)
        yield
        self.do(f"br label %{after}")
        self._open(after)

    @contextmanager
    def replacing(self, condition: str, kinds: list[str], values: list[str]) -> Iterator[list[str]]:
        """Write a block that, if `condition` holds, replaces `values`.

        The block fills the list it is given; after it, the list holds the merged values.
        """
        before, body, after = self._label, self._new_label(), self._new_label()
        self.do(f"br i1 {condition}, label %{body}, label %{after}")
        self._open(body)
        merged: list[str] = []
        yield merged
        inner = self._label
        self.do(f"br label %{after}")
        self._open(after)
        merged[:] = [
            self.let(f"phi {kind} [ {old}, %{before} ], [ {new}, %{inner} ]")
            for kind, old, new in zip(kinds, values, merged, strict=True)
        ]

    @contextmanager
    def returning(self, condition: str, result: str = "void") -> Iterator[None]:
        """Write a block that runs only if `condition` holds and ends the function."""
        body, after = self._new_label(), self._new_label()
        self.do(f"br i1 {condition}, label %{body}, label %{after}")
        self._open(body)
        yield
        self.do(f"ret {result}")
        self._open(after)

    def text(self, result: str = "void") -> str:
        """The whole function, which returns `result` at its end."""
        self._lines += [f"  ret {result}", "}"]
        return "\n".join(self._lines) + "\n"
