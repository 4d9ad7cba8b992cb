"""Functions of integers and pointers with counted loops and conditional blocks, written with ``with``.

It exists so that the kernels beside it read as loops over tiles instead of labels and phis.  It must not know
anything about matrices, and it never checks types: LLVM's own parser does that.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from types import SimpleNamespace

from ....core.dataclass import dataclass
from ....core.lazy import once
from ... import ir_text
from ...ir_text import DIRECTS, Value, function, integer, phi

Operand = Value | int

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

    index: Value
    carried: list[Value]
    following: list[Value] = field(default_factory=list)


@dataclass(frozen=True)
class Signature:
    """How a function is defined and called: its parameters are LLVM's, ``"i64 %m, ptr %a"``.

    One that `directs` calls those that do the work: the plainest code will do, which LLVM makes in a tenth of the time.
    """

    name: str
    parameters: str
    result: str = "void"
    linkage: str = "internal fastcc "
    attributes: str = "noinline nounwind #0"
    directs: bool = False

    def __str__(self) -> str:
        mark = f"{DIRECTS} " if self.directs else ""
        return f"{self.linkage}{self.result} @{self.name}({self.parameters}) {mark}{self.attributes}"

    @once
    def values(self) -> dict[str, Value]:
        """The parameters by name."""
        split = (parameter.split(" %") for parameter in self.parameters.split(", "))
        return {name: Value(f"%{name}", kind) for kind, name in split}


class Writer(ir_text.Writer):
    """One function; `text()` closes it. Integers are operands, as i64; `arg` has the parameters by name.

    With `settled`, its loops step as they are written: see `hidden`.
    """

    def __init__(self, signature: Signature, settled: bool = False) -> None:
        super().__init__()
        self.signature = signature
        self.settled = settled
        self.arg: SimpleNamespace = SimpleNamespace(**signature.values)

    def args(self, names: str) -> list[Value]:
        """Several parameters."""
        return [self.signature.values[name] for name in names.split()]

    def invoke(self, callee: Signature, *values: Operand) -> Value:
        """Call an internal function; its result, if it has one."""
        kinds = [parameter.kind for parameter in callee.values.values()]
        spelled = ", ".join(f"{kind} {value}" for kind, value in zip(kinds, values, strict=True))
        text = f"call fastcc {callee.result} @{callee.name}({spelled})"
        if callee.result != "void":
            return self.effect(callee.result, 1, text)
        self.stmt(text)
        return Value("", "void")

    # -- integers --

    def op(self, operation: str, left: Operand, right: Operand) -> Value:
        """An instruction of two operands."""
        return self.binary(operation, _value(left), _value(right))

    def add(self, left: Operand, right: Operand) -> Value:
        return self.op("add", left, right)

    def subtract(self, left: Operand, right: Operand) -> Value:
        return self.op("sub", left, right)

    def multiply(self, left: Operand, right: Operand) -> Value:
        return self.op("mul", left, right)

    def compare(self, relation: str, left: Operand, right: Operand) -> Value:
        return super().compare(relation, _value(left), _value(right))

    def select(self, test: Value, then: Operand, otherwise: Operand) -> Value:
        return super().select(test, _value(then), _value(otherwise))

    def minimum(self, left: Value, right: Operand) -> Value:
        return self.select(self.compare("slt", left, right), left, right)

    def both(self, left: Value, right: Value) -> Value:
        return self.op("and", left, right)

    def either(self, left: Value, right: Value) -> Value:
        return self.op("or", left, right)

    def offset(self, pointer: Value, size: Operand) -> Value:
        """`pointer` moved by `size` bytes."""
        return self.step(pointer, size) if str(size) != "0" else pointer

    # -- blocks --

    @contextmanager
    def loop(self, stop: Operand, step: Operand = 1, *carried: Value) -> Iterator[Loop]:
        """Write ``for index in range(0, stop, step)``.

        The block must fill `following` with one value for each of `carried`, which are the first values; after
        the block, `carried` of the loop names the final ones.
        """
        before, (head, body, after) = self.block, map(self.fresh, "bbb")
        index = Value(f"%{self.fresh()}", "i64")
        state = Loop(index, [Value(f"%{self.fresh()}", v.kind, v.lanes) for v in carried])
        following, more = Value(f"{index}.next", "i64"), Value(f"{index}.in", "i1")
        self.branch(head)
        self.label(head)
        phis = self.reserve()
        self.stmt(f"{more} = icmp slt i64 {index}, {stop}")
        self.fork(more, body, after)
        self.label(body)
        yield state
        self.stmt(f"{following} = add nsw i64 {index}, {step}")
        steps = [following, *state.following]
        if self.settled:
            steps = [self.hidden(v) if v.lanes == 1 and v.kind in ("i64", "ptr") else v for v in steps]
        arms = zip([integer(0), *carried], steps, strict=True)
        for name, (first, last) in zip([index, *state.carried], arms, strict=True):
            phis.append(f"  {name} = {phi((first, before), (last, self.block))}")
        self.branch(head, ", !llvm.loop !0")
        self.label(after)

    def advance(self, loop: Loop, *sizes: Operand) -> None:
        """The first values that a loop carries, pointers, move by so many bytes."""
        loop.following += [self.offset(p, size) for p, size in zip(loop.carried, sizes, strict=False)]

    @contextmanager
    def returning(self, test: Value, result: str = "void") -> Iterator[None]:
        """Write a block that runs only if `test` holds and ends the function."""
        with self.leaving(test):
            yield
            self.stmt(f"ret {result}")

    def text(self, result: str = "void") -> str:
        """The whole function, which returns `result` at its end."""
        return function(str(self.signature), self, result)


def _value(operand: Operand) -> Value:
    return integer(operand) if isinstance(operand, int) else operand
