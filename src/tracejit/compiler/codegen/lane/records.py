"""Records: what a tape keeps of an operator's call, written by machine code as `Recording.record` writes it.

That is for the one tape of the thread, of no subclass, which follows one of the operands, and calls from the user's own
code. Of all else the recorders hear in Python.
"""

from __future__ import annotations

from ....runtime.lane import operator_words as words
from ....runtime.lane.operator_words import Word
from ....runtime.lane.words import ARRAY_DTYPE, OB_TYPE
from ...ir_text import NULL, Value, integer
from ..matmul.counted_loops import Signature
from . import arrays
from .operator_writer import Writer

#: Let the tape have the call's record: 1, or 0 where recorders have to be told, or -1 and an exception.
RECORDED = Signature(
    "recorded", "ptr %table, ptr %callables, ptr %mode, ptr %self, ptr %other, ptr %result, i1 %turned", "i32"
)
#: The result, which it takes over, once those who listen know of it; or null, and an exception.
TELL = Signature("tell", RECORDED.parameters, "ptr")
#: The tensor that stands for a Python number beside tensors of that dtype, a new reference; null where there is none.
SCALAR = Signature("scalar", "ptr %table, ptr %given, i1 %single", "ptr")
#: Is that recorder the only one?
HEARS = Signature("hears", "ptr %table, ptr %mode, ptr %recorder", "i1")
#: How many bytes an array of floats has; -1 of what is none.
BYTES = Signature("bytes", "ptr %table, ptr %array", "i64")
#: How many bytes the tape holds with so many more, 0 where they are not counted; -1 where it would drop some.
HELD = Signature("held", "ptr %table, ptr %tape, i64 %more", "i64")
#: Let the tape count so many more bytes; false where `HELD` is -1.
HOLD = Signature("hold", "ptr %table, ptr %tape, i64 %more", "i1")
#: The only recorder, borrowed, where it is a tape of no subclass, else null.
ONLY = Signature("only_tape", "ptr %table, ptr %mode", "ptr")
_TAPE = Signature("tape", "ptr %table, ptr %mode, ptr %self, ptr %other", "ptr")
#: Does the tape follow a tensor?
FOLLOWS = Signature("follows", "ptr %table, ptr %tracked, ptr %tensor", "i1")
#: The line of the user's that is running, or the mode's, a new reference; null where Python has to look for it.
LOCATION = Signature("location", "ptr %table, ptr %mode", "ptr")
#: A tuple of one object, or of two; null, and an exception, where there is no memory.
PAIR = Signature("pair", "ptr %table, ptr %one, ptr %other", "ptr")
#: A record of what it takes over; null, and an exception, where there is no memory or something is null.
RECORD = Signature(
    "record", "ptr %table, ptr %op, ptr %inputs, ptr %attrs, ptr %outputs, ptr %location", "ptr"
)


def functions() -> list[str]:
    """The functions of this module."""
    counted = [_bytes(), _held(), _hold(), _only(), _note()]
    return [
        *counted,
        _scalar(),
        _follows(),
        _hears(),
        _tape(),
        _location(),
        _pair(),
        _record(),
        _recorded(),
        _tell(),
    ]


def _scalar() -> str:
    """What `core.tracing.promotion.known_scalar` gives."""
    w = Writer(SCALAR)
    table, given, single = w.args("table given single")
    kind = w.field(given, OB_TYPE)
    known = [w.compare("eq", kind, w.word(table, place)) for place in (Word.FLOAT, Word.INT)]
    w.refuse_unless(w.either(*known), "ptr null")
    key = w.through(table, Word.NEW_TUPLE, "ptr", integer(3))
    w.refuse(w.compare("eq", key, NULL), "ptr null")
    number = w.select(single, w.word(table, Word.NUMBER_OF_FLOAT32), w.word(table, Word.NUMBER_OF_FLOAT64))
    for place, x in enumerate((kind, given, number)):
        w.through(table, Word.SET_ITEM, "i32", key, integer(place), w.own(table, x))
    found = w.through(table, Word.GET_DICT_ITEM, "ptr", w.word(table, Word.SCALARS), key)
    with w.when(w.compare("ne", found, NULL)):
        w.own(table, found)
    w.through(table, Word.DECREF, "void", key)
    return w.text(found.typed)


def _follows() -> str:
    w = Writer(FOLLOWS)
    table, tracked, tensor = w.args("table tracked tensor")
    serial = w.field(tensor, w.word(table, Word.SERIAL, "i64"))
    found = w.through(table, Word.CONTAINS, "i32", tracked, serial)
    return w.text(w.compare("eq", found, integer(1, "i32")).typed)


def _hears() -> str:
    w = Writer(HEARS)
    table, mode, recorder = w.args("table mode recorder")
    recorders = w.field(mode, w.word(table, Word.RECORDERS, "i64"))
    w.refuse(w.compare("ne", w.through(table, Word.LENGTH, "i64", recorders), 1))
    only = w.through(table, Word.GET_ITEM, "ptr", recorders, integer(0))
    return w.text(w.compare("eq", only, recorder).typed)


def _only() -> str:
    w = Writer(ONLY)
    table, mode = w.args("table mode")
    none = "ptr null"
    recorders = w.field(mode, w.word(table, Word.RECORDERS, "i64"))
    w.refuse(w.compare("ne", w.through(table, Word.LENGTH, "i64", recorders), 1), none)
    tape = w.through(table, Word.GET_ITEM, "ptr", recorders, integer(0))
    w.refuse(w.compare("ne", w.field(tape, OB_TYPE), w.word(table, Word.TAPE)), none)
    tracked = w.field(tape, w.word(table, Word.TRACKED, "i64"))
    kept = w.field(tape, w.word(table, Word.RECORDS, "i64"))
    for x, kind in ((tracked, Word.SET), (kept, Word.LIST)):
        w.refuse(w.compare("eq", x, NULL), none)
        w.refuse(w.compare("ne", w.field(x, OB_TYPE), w.word(table, kind)), none)
    return w.text(tape.typed)


def _tape() -> str:
    """The only recorder, borrowed, where it is a tape that follows one of two tensors; the second may be null."""
    w = Writer(_TAPE)
    table, mode, self, other = w.args("table mode self other")
    none = "ptr null"
    tape = w.invoke(ONLY, table, mode)
    w.refuse(w.compare("eq", tape, NULL), none)
    tracked = w.field(tape, w.word(table, Word.TRACKED, "i64"))
    with w.returning(w.invoke(FOLLOWS, table, tracked, self), tape.typed):
        pass
    w.refuse(w.compare("eq", other, NULL), none)
    return w.text(w.select(w.invoke(FOLLOWS, table, tracked, other), tape, NULL).typed)


def _location() -> str:
    w = Writer(LOCATION)
    table, mode = w.args("table mode")
    none = "ptr null"
    inherited = w.field(mode, w.word(table, Word.INHERITED, "i64"))
    with w.returning(w.compare("ne", inherited, w.word(table, Word.NONE)), inherited.typed):
        w.own(table, inherited)
    running, found = w.room("ptr"), w.room("ptr")
    first = w.through(table, Word.FRAME, "ptr")
    w.refuse(w.compare("eq", first, NULL), none)
    w.store(w.own(table, first), running)
    with w.loop(words.DEEPEST) as loop:
        frame = w.load("ptr", running)
        code = w.through(table, Word.CODE, "ptr", frame)
        w.store(code, found)
        file = w.field(code, w.word(table, Word.FILE, "i64"))
        known = w.through(table, Word.GET_DICT_ITEM, "ptr", w.word(table, Word.FILES), file)
        w.go(w.compare("eq", known, w.word(table, Word.FALSE)), "users")
        back = w.through(table, Word.BACK, "ptr", frame)
        for x in (frame, code):
            w.through(table, Word.DECREF, "void", x)
        w.refuse(w.compare("eq", back, NULL), none)
        w.store(back, running)
        internal = w.compare("eq", known, w.word(table, Word.TRUE))
        last = w.compare("eq", loop.index, words.DEEPEST - 1)
        with w.returning(w.either(last, w.negated(internal)), none):
            w.through(table, Word.DECREF, "void", back)
    w.stmt(f"ret {none}")
    w.label("users")
    frame, code = w.load("ptr", running), w.load("ptr", found)
    last = w.convert("sext", w.through(table, Word.LAST, "i32", frame), "i64")
    w.through(table, Word.DECREF, "void", frame)
    number = w.through(table, Word.NEW_INTEGER, "ptr", last)
    place = w.through(table, Word.NEW_OBJECT, "ptr", w.word(table, Word.LOCATION), integer(2))
    absent = w.either(w.compare("eq", number, NULL), w.compare("eq", place, NULL))
    with w.returning(absent, none):
        for x in (code, number, place):
            w.through(table, Word.DECREF, "void", x)
    hashed = w.word(table, Word.HASH, "i64")
    with w.when(w.compare("ne", hashed, 0)):
        w.store(integer(-1), w.step(place, hashed))
    for at, x in enumerate((code, number)):
        w.through(table, Word.SET_ITEM, "i32", place, integer(at), x)
    return w.text(place.typed)


def _pair() -> str:
    w = Writer(PAIR)
    table, one, other = w.args("table one other")
    alone = w.compare("eq", other, NULL)
    made = w.through(table, Word.NEW_TUPLE, "ptr", w.select(alone, 1, 2))
    w.refuse(w.compare("eq", made, NULL), "ptr null")
    w.through(table, Word.SET_ITEM, "i32", made, integer(0), w.own(table, one))
    with w.when(alone, unless=True):
        w.through(table, Word.SET_ITEM, "i32", made, integer(1), w.own(table, other))
    return w.text(made.typed)


def _record() -> str:
    w = Writer(RECORD)
    table, op, inputs, attrs, outputs, location = w.args("table op inputs attrs outputs location")
    parts = (inputs, attrs, outputs, location)
    made = w.through(table, Word.NEW_OBJECT, "ptr", w.word(table, Word.RECORD), integer(0))
    absent = w.compare("eq", made, NULL)
    for x in parts:
        absent = w.either(absent, w.compare("eq", x, NULL))
    with w.returning(absent, "ptr null"):
        for x in (*parts, made):
            w.through(table, Word.DECREF, "void", x)
    fields = {
        Word.RECORD_OP: w.own(table, op), Word.RECORD_INPUTS: inputs, Word.RECORD_OUTPUTS: outputs,
        Word.RECORD_ATTRS: attrs, Word.RECORD_LOCATION: location,
    }  # fmt: skip
    for place, x in fields.items():
        w.store(x, w.step(made, w.word(table, place, "i64")))
    return w.text(made.typed)


def _bytes() -> str:
    w = Writer(BYTES)
    table, array = w.args("table array")
    known = w.both(
        w.compare("ne", array, NULL), w.compare("eq", w.field(array, OB_TYPE), w.word(table, Word.NDARRAY))
    )
    w.refuse_unless(known, "i64 -1")
    dtype, count = w.field(array, ARRAY_DTYPE), w.invoke(arrays.COUNT, array)
    for place, size in ((Word.FLOAT64, 8), (Word.FLOAT32, 4)):
        w.refuse(w.compare("eq", dtype, w.word(table, place)), w.multiply(count, size).typed)
    return w.text("i64 -1")


def _held() -> str:
    w = Writer(HELD)
    table, tape, more = w.args("table tape more")
    w.refuse(w.compare("sle", more, w.word(table, Word.SMALL_BYTES, "i64")), "i64 0")
    w.refuse(w.compare("sgt", more, w.word(table, Word.LARGE_BYTES, "i64")), "i64 -1")
    beyond = w.room("i32")
    w.store(integer(0, "i32"), beyond)
    held = w.field(tape, w.word(table, Word.HELD, "i64"))
    before = w.through(table, Word.AS_INTEGER, "i64", held, beyond)
    after = w.add(before, more)
    known = w.compare("eq", w.load("i32", beyond, 4), integer(0, "i32"))
    fits = w.both(w.compare("sge", before, 0), w.compare("sle", after, w.word(table, Word.MANY_BYTES, "i64")))
    return w.text(w.select(w.both(known, fits), after, integer(-1)).typed)


def _hold() -> str:
    w = Writer(HOLD)
    table, tape, more = w.args("table tape more")
    held = w.invoke(HELD, table, tape, more)
    w.refuse(w.compare("slt", held, 0))
    w.refuse(w.compare("eq", held, 0), "i1 true")
    number = w.through(table, Word.NEW_INTEGER, "ptr", held)
    w.refuse(w.compare("eq", number, NULL))
    at = w.step(tape, w.word(table, Word.HELD, "i64"))
    before = w.load("ptr", at)
    w.store(number, at)
    w.through(table, Word.DECREF, "void", before)
    return w.text("i1 true")


def _note() -> str:
    """``(mode, op, inputs, attrs, outputs)``: what `dispatch.tell` does."""
    parameters = "ptr %self, ptr %args, i64 %nargs"
    w = Writer(Signature(words.NOTE, parameters, "ptr", linkage="", attributes="nounwind #0"))
    args, nargs = w.args("args nargs")
    table = w.load("ptr", Value(f"@{words.TABLE}", "ptr"))
    mode, op, inputs, attrs, outputs = (w.load("ptr", w.step(args, 8 * k)) for k in range(5))
    pair = w.field(w.word(table, Word.NOBODY), OB_TYPE)  # a tuple, too
    for x in (inputs, outputs):
        w.go(w.compare("ne", w.field(x, OB_TYPE), pair), "slow")
    w.go(w.compare("ne", w.through(table, Word.LENGTH, "i64", outputs), 1), "slow")
    tape = w.invoke(ONLY, table, mode)
    w.go(w.compare("eq", tape, NULL), "slow")
    tracked, count = (
        w.field(tape, w.word(table, Word.TRACKED, "i64")),
        w.through(table, Word.LENGTH, "i64", inputs),
    )
    w.go(w.compare("eq", count, 0), "slow")
    with w.loop(count) as loop:
        given = w.through(table, Word.GET_ITEM, "ptr", inputs, loop.index)
        w.go(w.compare("ne", w.field(given, OB_TYPE), w.word(table, Word.TENSOR)), "slow")
        w.go(w.invoke(FOLLOWS, table, tracked, given), "followed")
    w.branch("slow")
    w.label("followed")
    result, first = (w.through(table, Word.GET_ITEM, "ptr", x, integer(0)) for x in (outputs, inputs))
    for x in (result, first):
        w.go(w.compare("ne", w.field(x, OB_TYPE), w.word(table, Word.TENSOR)), "slow")
    sizes = [_size(w, table, x) for x in (result, first)]
    w.go(w.either(*(w.compare("slt", size, 0) for size in sizes)), "slow")
    more = w.add(*sizes)
    w.go(w.compare("slt", w.invoke(HELD, table, tape, more), 0), "slow")
    location = w.invoke(LOCATION, table, mode)
    w.go(w.compare("eq", location, NULL), "slow")
    parts = [w.own(table, x) for x in (inputs, attrs, outputs)]
    record = w.invoke(RECORD, table, op, *parts, location)
    w.refuse(w.compare("eq", record, NULL), "ptr null")
    again = w.compare(
        "eq", w.invoke(ONLY, table, mode), tape
    )  # what is made may run code that collects garbage
    with w.replacing(again, [Value("false", "i1")]) as held:
        held.append(w.invoke(HOLD, table, tape, more))
    with w.leaving(held[0], unless=True):
        w.through(table, Word.DECREF, "void", record)
        w.branch("slow")
    serial = w.field(result, w.word(table, Word.SERIAL, "i64"))
    tracked, kept = (w.field(tape, w.word(table, place, "i64")) for place in (Word.TRACKED, Word.RECORDS))
    status = w.through(table, Word.ADD, "i32", tracked, serial)
    both = w.op("or", status, w.through(table, Word.APPEND, "i32", kept, record))
    w.through(table, Word.DECREF, "void", record)
    w.refuse(w.compare("ne", both, integer(0, "i32")), "ptr null")
    w.stmt(f"ret {w.own(table, w.word(table, Word.NONE)).typed}")
    w.label("slow")
    w.through(table, Word.CLEAR_ERROR, "void")
    return w.text(w.through(table, Word.CALL, "ptr", w.word(table, Word.TELL), args, nargs, NULL).typed)


def _size(w: Writer, table: Value, tensor: Value) -> Value:
    """How many bytes the value of a tensor has."""
    return w.invoke(BYTES, table, w.field(tensor, w.word(table, Word.PAYLOAD, "i64")))


def _recorded() -> str:
    w = Writer(RECORDED)
    table, callables, mode, self, other, result, turned = w.args(
        "table callables mode self other result turned"
    )
    told, failed = "i32 0", "i32 -1"
    dtype = w.field(result, w.word(table, Word.DTYPE, "i64"))
    floats = [w.compare("eq", dtype, w.word(table, place)) for place in (Word.FLOAT64, Word.FLOAT32)]
    w.refuse_unless(w.either(*floats), told)
    alone = w.compare("eq", w.word(callables, words.Callable.INPUTS, "i64"), 1)
    second = w.select(alone, NULL, other)
    w.refuse(w.compare("eq", w.invoke(_TAPE, table, mode, self, second), NULL), told)
    swapped = w.both(turned, w.negated(alone))
    more = w.add(_size(w, table, result), _size(w, table, w.select(swapped, other, self)))
    tape = w.invoke(ONLY, table, mode)
    w.refuse(w.compare("slt", w.invoke(HELD, table, tape, more), 0), told)
    location = w.invoke(LOCATION, table, mode)
    with w.returning(w.compare("eq", location, NULL), told):
        w.through(table, Word.CLEAR_ERROR, "void")
    inputs = w.invoke(PAIR, table, w.select(swapped, other, self), w.select(swapped, self, second))
    outputs = w.invoke(PAIR, table, result, NULL)
    attrs = w.own(table, w.word(table, Word.NO_ATTRS))
    record = w.invoke(RECORD, table, w.word(callables, words.Callable.OP), inputs, attrs, outputs, location)
    w.refuse(w.compare("eq", record, NULL), failed)
    tape = w.invoke(
        _TAPE, table, mode, self, second
    )  # again: what is made may run code that collects garbage
    with w.replacing(w.compare("ne", tape, NULL), [Value("false", "i1")]) as held:
        held.append(w.invoke(HOLD, table, tape, more))
    with w.returning(w.negated(held[0]), told):
        w.through(table, Word.DECREF, "void", record)
    serial = w.field(result, w.word(table, Word.SERIAL, "i64"))
    tracked = w.field(tape, w.word(table, Word.TRACKED, "i64"))
    kept = w.field(tape, w.word(table, Word.RECORDS, "i64"))
    status = w.through(table, Word.ADD, "i32", tracked, serial)
    both = w.op("or", status, w.through(table, Word.APPEND, "i32", kept, record))
    w.through(table, Word.DECREF, "void", record)
    return w.text(
        w.select(w.compare("eq", both, integer(0, "i32")), integer(1, "i32"), integer(-1, "i32")).typed
    )


def _tell() -> str:
    w = Writer(TELL)
    table, callables, mode, self, other, result, turned = w.args(
        "table callables mode self other result turned"
    )
    w.refuse(w.compare("eq", result, NULL), "ptr null")
    status = w.invoke(RECORDED, table, callables, mode, self, other, result, turned)
    w.refuse(w.compare("eq", status, integer(1, "i32")), result.typed)
    with w.replacing(w.compare("eq", status, integer(0, "i32")), [NULL]) as told:
        called = w.room("ptr", 3)
        for place, x in enumerate((self, other, result)):
            w.store(x, w.step(called, 8 * place))
        heard = w.word(callables, words.Callable.HEARD)
        told.append(w.through(table, Word.CALL, "ptr", heard, called, integer(3), NULL))
    w.through(table, Word.DECREF, "void", result)
    return w.text(told[0].typed)


def ordinary(w: Writer, table: Value) -> tuple[Value, Value]:
    """Go on only where nothing makes the thread slow: its mode, and whether nobody listens."""
    mode = w.through(table, Word.GET_ATTR, "ptr", w.word(table, Word.STATE), w.word(table, Word.MODE))
    w.refuse(w.compare("eq", mode, NULL), "ptr null")
    slow = w.field(mode, w.word(table, Word.SLOW, "i64"))
    recorders = w.field(mode, w.word(table, Word.RECORDERS, "i64"))
    w.through(table, Word.DECREF, "void", mode)  # the thread has it
    w.go(w.compare("ne", slow, w.word(table, Word.FALSE)), "slow")
    return mode, w.compare("eq", recorders, w.word(table, Word.NOBODY))
