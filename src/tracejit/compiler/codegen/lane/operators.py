"""The operators' machine code: what ``a * b`` of small eager tensors comes to, from two objects to a new one.

Python calls a function of two objects. It looks whether they are tensors of floats that fit, or one and a number, and
whether the thread does nothing out of the ordinary; computes, makes array and tensor, and tells those who listen. All
else it leaves to the operator written in Python. It refers to nothing outside of its one table.
"""

from __future__ import annotations

from ....runtime.lane import operator_words as words
from ....runtime.lane.operator_words import Word
from ....runtime.lane.words import (
    ARRAY_DATA,
    ARRAY_DTYPE,
    ARRAY_RANK,
    OB_TYPE,
)
from ...ir_text import NULL, Value, float_literal, integer
from ..matmul.counted_loops import Signature, loop_metadata
from . import arrays, backwards, op_calls, records, small_kernels, tapes, variables
from .operator_writer import Writer

_NUMBER = Signature("number", "ptr %table, ptr %given, i1 %single, ptr %out", "i1")
_OPERATE = Signature(
    "operate",
    "ptr %table, ptr %callables, ptr %self, ptr %other, ptr %given, i1 %turned, ptr %double, ptr %single",
    "ptr",
)
_KINDS = {"double": "double", "single": "float"}
#: Elements that a kernel takes at once.
_LANES = 8


def module_text() -> str:
    """The module, without triple and data layout: the same for every machine."""
    instructions = dict.fromkeys(instruction for instruction, _ in words.OPERATORS.values())
    functions = [_kernel(instruction, name) for instruction in instructions for name in _KINDS]
    functions += [*arrays.functions(), _number(), *records.functions(), _operate()]
    functions += [*small_kernels.functions(), *op_calls.functions()]
    functions += [*tapes.functions(), *backwards.functions(), *variables.functions()]
    functions += [_entry(index, name) for index, name in enumerate(words.OPERATORS)]
    variable = f"@{words.TABLE} = global ptr null, align 8\n"
    return "".join([variable, *functions, 'attributes #0 = { "no-builtins" }\n', loop_metadata()])


def _kernel(instruction: str, name: str) -> str:
    """One instruction on every element of two arrays, of which a step of 0 repeats one."""
    kind = _KINDS[name]
    parameters = "ptr %a, ptr %b, ptr %out, i64 %count, i64 %step_a, i64 %step_b"
    w = Writer(Signature(f"{instruction}_{name}", parameters, linkage="internal "))
    a, b, out, count, step_a, step_b = w.args("a b out count step_a step_b")
    sides, steps, align = (a, b), (step_a, step_b), 8 if kind == "double" else 4
    whole = w.op("and", count, -_LANES)
    for repeated in (None, a, b):
        plain = [w.compare("eq", s, int(p is not repeated)) for p, s in zip(sides, steps, strict=True)]
        with w.when(w.both(*plain)), w.loop(whole, _LANES) as loop:
            x, y = (
                w.splat(w.load(kind, p, align), _LANES)
                if p is repeated
                else w.load(kind, w.step(p, loop.index, kind), align, _LANES)
                for p in sides
            )
            w.store(w.binary(instruction, x, y), w.step(out, loop.index, kind), align)
    neither = w.compare("eq", w.op("or", step_a, step_b), 0)  # one element
    done = w.select(neither, 0, whole)
    with w.loop(w.subtract(count, done)) as loop:
        i = w.add(done, loop.index)
        x, y = (
            w.load(kind, w.step(p, w.multiply(i, s), kind), align) for p, s in zip(sides, steps, strict=True)
        )
        w.store(w.binary(instruction, x, y), w.step(out, i, kind), align)
    return w.text()


def _number() -> str:
    """Write a Python number as an element; false where Python has to say what it means in this dtype."""
    w = Writer(_NUMBER)
    table, given, single, out = w.args("table given single out")
    kind, value, beyond = w.field(given, OB_TYPE), w.room("double"), w.room("i32")
    is_float = w.compare("eq", kind, w.word(table, Word.FLOAT))
    with w.when(is_float):
        w.store(w.through(table, Word.AS_DOUBLE, "double", given), value)
    with w.when(is_float, unless=True):
        w.refuse(w.compare("ne", kind, w.word(table, Word.INT)))
        whole = w.through(table, Word.AS_INTEGER, "i64", given, beyond)
        w.refuse(w.compare("ne", w.load("i32", beyond, 4), integer(0, "i32")))
        w.refuse(w.compare("sgt", whole, words.LARGEST_INTEGER))
        w.refuse(w.compare("slt", whole, -words.LARGEST_INTEGER))
        w.store(w.convert("sitofp", whole, "double"), value)
    number = w.load("double", value)
    w.store(number, out)
    with w.when(single):
        size = w.intrinsic("fabs", number)
        too_large = w.compare("ogt", size, Value(float_literal(3.4028234663852886e38, "double"), "double"))
        infinite = w.compare("oeq", size, Value(float_literal(float("inf"), "double"), "double"))
        w.refuse(w.both(too_large, w.op("xor", infinite, Value("true", "i1"))))
        w.store(w.convert("fptrunc", number, "float"), out, 4)
    declared = "".join(f"{line}\n" for line in w.declares.values())
    return declared + w.text("i1 true")


def _operate() -> str:
    """The operator: see the module."""
    w = Writer(_OPERATE)
    table, callables, self, other, given, turned, double, single = w.args(
        "table callables self other given turned double single"
    )
    rooms = {
        name: w.room("i64")
        for name in ("data", "step_self", "step_other", "shaped", "number", "scalar", "rows")
    }
    called = w.room("ptr", 3)
    w.store(self, called)
    w.store(given, w.step(called, 8))
    w.store(NULL, rooms["scalar"])
    w.go(w.compare("eq", other, NULL), "slow")
    w.go(w.compare("ne", w.field(self, OB_TYPE), w.word(table, Word.TENSOR)), "slow")
    mode, nobody = records.ordinary(w, table)
    x, kind = w.field(self, w.word(table, Word.PAYLOAD, "i64")), w.word(table, Word.NDARRAY)
    w.go(w.compare("eq", x, NULL), "slow")
    w.go(w.compare("ne", w.field(x, OB_TYPE), kind), "slow")
    dtype = w.field(x, ARRAY_DTYPE)
    is_single = w.compare("eq", dtype, w.word(table, Word.FLOAT32))
    w.go(w.either(is_single, w.compare("eq", dtype, w.word(table, Word.FLOAT64))), "slow", unless=True)
    w.go(w.invoke(arrays.FITS, x, kind, dtype), "slow", unless=True)
    for name, first in {
        "step_self": integer(1),
        "step_other": integer(1),
        "rows": integer(1),
        "shaped": x,
    }.items():
        w.store(first, rooms[name])
    other = _stood_in(w, table, (mode, nobody), (given, other), is_single, called, rooms["scalar"])
    is_tensor = w.compare("eq", w.field(other, OB_TYPE), w.word(table, Word.TENSOR))
    with w.when(is_tensor):
        y = w.field(other, w.word(table, Word.PAYLOAD, "i64"))
        w.go(w.invoke(arrays.FITS, y, kind, dtype), "slow", unless=True)
        _broadcast(w, x, y, rooms)
    with w.when(is_tensor, unless=True):
        w.go(w.invoke(_NUMBER, table, other, is_single, rooms["number"]), "slow", unless=True)
        w.store(rooms["number"], rooms["data"])
        w.store(integer(0), rooms["step_other"])
    kernel = w.select(is_single, single, double), w.select(is_single, 4, 8)
    out = _computed(w, table, x, turned, kernel, rooms)
    result = w.invoke(arrays.WRAPPED, table, out, dtype)
    with w.returning(nobody, result.typed):
        w.through(table, Word.DECREF, "void", w.load("ptr", rooms["scalar"]))
    told = w.invoke(records.TELL, table, callables, mode, self, other, result, turned)
    w.through(table, Word.DECREF, "void", w.load("ptr", rooms["scalar"]))
    w.stmt(f"ret {told.typed}")
    w.label("slow")
    w.through(table, Word.DECREF, "void", w.load("ptr", rooms["scalar"]))
    slow = w.word(callables, words.Callable.SLOW)
    return w.text(w.through(table, Word.CALL, "ptr", slow, called, integer(2), NULL).typed)


def _stood_in(
    w: Writer,
    table: Value,
    thread: tuple[Value, Value],
    operand: tuple[Value, Value],
    is_single: Value,
    called: Value,
    held: Value,
) -> Value:
    """The tensor or number that the other operand is: of a Variable what is read; recorders know no numbers.

    What stands in for it is held, and what was read is what Python is called with.
    """
    mode, nobody = thread
    given, other = operand
    is_tensor = w.compare("eq", w.field(other, OB_TYPE), w.word(table, Word.TENSOR))
    is_variable = w.compare("eq", w.field(other, OB_TYPE), w.word(table, Word.VARIABLE))
    stands = w.either(is_variable, w.negated(w.either(is_tensor, nobody)))
    with w.replacing(stands, [other]) as operands:
        with w.replacing(is_variable, [NULL]) as read:
            read.append(w.invoke(variables.READ, table, mode, nobody, other))
            w.store(w.select(w.compare("eq", read[0], NULL), given, read[0]), w.step(called, 8))
        with w.replacing(w.negated(is_variable), read) as stand_in:
            stand_in.append(w.invoke(records.SCALAR, table, other, is_single))
        scalar = stand_in[0]
        w.go(w.compare("eq", scalar, NULL), "slow")
        w.store(scalar, held)
        operands.append(scalar)
    return operands[0]


def _broadcast(w: Writer, x: Value, y: Value, rooms: dict[str, Value]) -> None:
    """How to step through arrays of one shape, of which one is a scalar, or the second a row; others are Python's."""
    w.store(w.field(y, ARRAY_DATA), rooms["data"])
    with w.when(w.invoke(arrays.SAME, x, y), unless=True):
        scalar = w.compare("eq", w.field(y, ARRAY_RANK, "i32"), integer(0, "i32"))
        with w.when(scalar):
            w.store(integer(0), rooms["step_other"])
        with w.when(scalar, unless=True):
            alone = w.compare("eq", w.field(x, ARRAY_RANK, "i32"), integer(0, "i32"))
            with w.when(alone):
                w.store(integer(0), rooms["step_self"])
                w.store(y, rooms["shaped"])
            with w.when(alone, unless=True):
                w.store(w.invoke(arrays.ROWS, x, y), rooms["rows"])


def _computed(
    w: Writer, table: Value, x: Value, turned: Value, kernel: tuple[Value, Value], rooms: dict[str, Value]
) -> Value:
    """A new array with the results of the kernel, which is of elements of so many bytes."""
    like, rows = w.load("ptr", rooms["shaped"]), w.load("i64", rooms["rows"])
    w.go(w.compare("eq", rows, 0), "slow")
    count = w.invoke(arrays.COUNT, like)
    w.go(w.compare("sgt", count, words.LARGEST), "slow")
    out = arrays.new(w, table, w.field(x, ARRAY_DTYPE), like)
    w.refuse(w.compare("eq", out, NULL), "ptr null")
    row = w.op("sdiv", count, rows)
    steps = [w.load("i64", rooms[name]) for name in ("step_self", "step_other")]
    with w.loop(rows) as loop:
        at = w.multiply(w.multiply(loop.index, row), kernel[1])
        sides = [w.step(w.field(x, ARRAY_DATA), at), w.load("ptr", rooms["data"])]
        (a, b), (step_a, step_b) = (
            (w.select(turned, y, x), w.select(turned, x, y)) for x, y in (sides, steps)
        )
        operands = (a, b, w.step(w.field(out, ARRAY_DATA), at), row, step_a, step_b)
        w.stmt(f"call void {kernel[0]}({', '.join(o.typed for o in operands)})")
    return out


def _entry(index: int, name: str) -> str:
    """What Python calls."""
    instruction, turned = words.OPERATORS[name]
    signature = Signature(
        words.symbol(name), "ptr %self, ptr %other", "ptr", linkage="", attributes="nounwind #0"
    )
    w = Writer(signature)
    self, other = w.args("self other")
    table = w.load("ptr", Value(f"@{words.TABLE}", "ptr"))
    callables = w.step(table, 8 * words.place(index, words.Callable.SLOW))
    kernels = [Value(f"@{instruction}_{kind}", "ptr") for kind in _KINDS]
    operand = other
    if name == "__pow__":
        number = w.room("double")
        is_number = w.invoke(_NUMBER, table, other, Value("false", "i1"), number)
        two = Value(float_literal(2.0, "double"), "double")
        squares = w.both(is_number, w.compare("oeq", w.load("double", number), two))
        operand = w.select(squares, self, NULL)
    flag = Value("true" if turned else "false", "i1")
    return w.text(w.invoke(_OPERATE, table, callables, self, operand, other, flag, *kernels).typed)
