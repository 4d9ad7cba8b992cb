"""Operator writer: functions that read words of the operators' one table, and call what it points to."""

from __future__ import annotations

from ....runtime.lane.operator_words import Word
from ...ir_text import NULL, TRUE, Value
from ..matmul.counted_loops import Operand
from ..matmul.counted_loops import Writer as CountingWriter


class Writer(CountingWriter):
    """Reads words of the table and fields of objects, and calls what the table points to."""

    def word(self, table: Value, place: int, kind: str = "ptr") -> Value:
        return self.load(kind, self.step(table, 8 * place))

    def field(self, x: Value, offset: Operand, kind: str = "ptr") -> Value:
        return self.load(kind, self.step(x, offset), 4 if kind == "i32" else 8)

    def through(self, table: Value, place: int, kind: str, *operands: Value) -> Value:
        """Call a function of Python or NumPy."""
        spelled = f"call {kind} {self.word(table, place)}({', '.join(o.typed for o in operands)})"
        if kind == "void":
            self.stmt(spelled)
            return NULL
        return self.effect(kind, 1, spelled)

    def own(self, table: Value, x: Value) -> Value:
        """One more reference to an object."""
        self.through(table, Word.INCREF, "void", x)
        return x

    def room(self, kind: str, count: int = 1) -> Value:
        return self.effect("ptr", 1, f"alloca [{count} x {kind}], align 8")

    def refuse(self, test: Value, result: str = "i1 false") -> None:
        """If it holds, the function returns that."""
        with self.returning(test, result):
            pass

    def refuse_unless(self, test: Value, result: str = "i1 false") -> None:
        with self.leaving(test, unless=True):
            self.stmt(f"ret {result}")

    def go(self, test: Value, label: str, unless: bool = False) -> None:
        with self.leaving(test, unless=unless):
            self.branch(label)

    def negated(self, test: Value) -> Value:
        return self.op("xor", test, TRUE)
