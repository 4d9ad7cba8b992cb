"""Op calls: what ``sin(x)`` of a small eager tensor comes to, in machine code.

Python calls a function of the op and its arguments. If these are tensors of floats, the op has a small kernel, and the
thread does nothing out of the ordinary, it computes, makes the tensor and tells those who listen. The rest is Python's.
"""

from __future__ import annotations

from ....runtime.lane import operator_words as words
from ....runtime.lane.operator_words import Word
from ....runtime.lane.words import ARRAY_DATA, ARRAY_DTYPE, OB_TYPE
from ...ir_text import NULL, Value
from ..matmul.counted_loops import Signature
from . import arrays, records, small_kernels, variables
from .operator_writer import Writer

_CALL = Signature(
    words.CALL_OP, "ptr %self, ptr %args, i64 %nargs, ptr %names", "ptr", linkage="", attributes="nounwind #0"
)
#: What a function in Python gives for an object and the arguments behind it.
PASS_ON = Signature("pass_on", "ptr %table, ptr %python, ptr %self, ptr %args, i64 %nargs, ptr %names", "ptr")
_PAYLOAD = Signature("payload", "ptr %table, ptr %x", "ptr")


def functions() -> list[str]:
    """The functions of this module."""
    return [_payload(), _pass_on(), _call()]


def _payload() -> str:
    """The array of a tensor of floats; null for what is none."""
    w = Writer(_PAYLOAD)
    table, x = w.args("table x")
    none = "ptr null"
    w.refuse(w.compare("ne", w.field(x, OB_TYPE), w.word(table, Word.TENSOR)), none)
    array = w.field(x, w.word(table, Word.PAYLOAD, "i64"))
    w.refuse(w.compare("eq", array, NULL), none)
    w.refuse(w.compare("ne", w.field(array, OB_TYPE), w.word(table, Word.NDARRAY)), none)
    dtype = w.field(array, ARRAY_DTYPE)
    floats = [w.compare("eq", dtype, w.word(table, place)) for place in (Word.FLOAT64, Word.FLOAT32)]
    return w.text(w.select(w.either(*floats), array, NULL).typed)


def _pass_on() -> str:
    w = Writer(PASS_ON)
    table, python, self, args, nargs, names = w.args("table python self args nargs names")
    with w.replacing(w.compare("ne", names, NULL), [nargs]) as counts:
        counts.append(w.add(nargs, w.through(table, Word.LENGTH, "i64", names)))
    given = w.effect("ptr", 1, f"alloca ptr, {w.add(counts[0], 1).typed}, align 8")
    w.store(self, given)
    with w.loop(counts[0]) as loop:
        argument = w.load("ptr", w.step(args, loop.index, "i64"))
        w.store(argument, w.step(given, w.add(loop.index, 1), "i64"))
    return w.text(w.through(table, Word.CALL, "ptr", python, given, w.add(nargs, 1), names).typed)


def _call() -> str:
    w = Writer(_CALL)
    self, args, nargs, names = w.args("self args nargs names")
    table = w.load("ptr", Value(f"@{words.TABLE}", "ptr"))
    w.go(w.compare("ne", names, NULL), "slow")
    found = w.through(table, Word.GET_DICT_ITEM, "ptr", w.word(table, Word.SMALL_KERNELS), self)
    w.go(w.compare("eq", found, NULL), "slow")
    known = w.field(found, ARRAY_DATA)
    w.go(w.compare("ne", nargs, w.word(known, words.Known.INPUTS, "i64")), "slow")
    mode, nobody = records.ordinary(w, table)
    held, passed = w.room("ptr", 2), w.room("ptr", 2)
    for place in range(2):
        w.store(NULL, w.step(held, 8 * place))
    two = w.compare("eq", nargs, 2)
    first = _operand(w, table, mode, nobody, (args, held, passed), 0, "slow")
    with w.replacing(two, [first]) as others:
        others.append(_operand(w, table, mode, nobody, (args, held, passed), 1, "read"))
    second = others[0]
    a = w.invoke(_PAYLOAD, table, first)
    w.go(w.compare("eq", a, NULL), "read")
    with w.replacing(two, [NULL]) as more:
        more.append(w.invoke(_PAYLOAD, table, second))
        w.go(w.compare("eq", more[0], NULL), "read")
    made = w.invoke(small_kernels.APPLY, table, known, a, more[0])
    w.go(w.compare("eq", made, NULL), "read")
    result = w.invoke(arrays.WRAPPED, table, made, w.field(made, ARRAY_DTYPE))
    with w.returning(nobody, result.typed):
        _let_go(w, table, held)
    told = w.invoke(records.TELL, table, known, mode, first, second, result, Value("false", "i1"))
    _let_go(w, table, held)
    w.stmt(f"ret {told.typed}")
    python = Word.CALL_OP
    w.label("read")
    w.through(table, Word.CLEAR_ERROR, "void")
    given = w.invoke(PASS_ON, table, w.word(table, python), self, passed, nargs, names)
    _let_go(w, table, held)
    w.stmt(f"ret {given.typed}")
    w.label("slow")
    return w.text(w.invoke(PASS_ON, table, w.word(table, python), self, args, nargs, names).typed)


def _operand(
    w: Writer,
    table: Value,
    mode: Value,
    nobody: Value,
    rooms: tuple[Value, Value, Value],
    place: int,
    else_to: str,
) -> Value:
    """The tensor of an argument, held and passed on from here on; to that label where Python has to read it."""
    args, held, passed = (w.step(room, 8 * place) for room in rooms)
    given = w.load("ptr", args)
    w.store(given, passed)
    tensor = w.invoke(variables.OPERAND, table, mode, nobody, given)
    w.go(w.compare("eq", tensor, NULL), else_to)
    w.store(tensor, held)
    w.store(tensor, passed)
    return tensor


def _let_go(w: Writer, table: Value, held: Value) -> None:
    for place in range(2):
        w.through(table, Word.DECREF, "void", w.load("ptr", w.step(held, 8 * place)))
