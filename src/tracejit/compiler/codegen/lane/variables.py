"""Variables' machine code: what reading one comes to, and its operators, which read it and go on with the tensor.

A read is a record of its own on the one tape of the thread, written as `Variable._recorded` writes it. All else, tapes
around tapes, Variables that nobody follows, traces, is left to Python.
"""

from __future__ import annotations

from ....runtime.lane import operator_words as words
from ....runtime.lane.operator_words import Word
from ....runtime.lane.words import ARRAY_DTYPE, OB_TYPE
from ...ir_text import NULL, Value, integer
from ..matmul.counted_loops import Signature
from . import arrays, records
from .operator_writer import Writer

#: The tensor that is read, a new reference; null, with nothing done, where Python has to read.
READ = Signature("read_variable", "ptr %table, ptr %mode, i1 %nobody, ptr %variable", "ptr")
#: The tensor that an operand stands for, a new reference: of a Variable what is read, else the operand. Null as above.
OPERAND = Signature("operand", READ.parameters, "ptr")
_LISTENER = Signature("listener", "ptr %table, ptr %mode, ptr %variable", "ptr")
_WRITE = Signature("write_read", "ptr %table, ptr %tape, ptr %variable, ptr %own, ptr %record", "i1")
_OF_READ = Signature("record_of_read", "ptr %table, ptr %mode, ptr %variable, ptr %value, ptr %own", "ptr")
_REMEMBER = Signature("remember", "ptr %table, ptr %mode, ptr %result, ptr %variable", "ptr")


def functions() -> list[str]:
    """The functions of this module."""
    written = [_listener(), _write(), _of_read(), _read(), _operand(), _remember(), _tensor()]
    return [*written, *(_entry(index, name) for index, name in enumerate(words.OPERATORS))]


def _is(w: Writer, table: Value, x: Value, thing: Word) -> Value:
    return w.compare("eq", x, w.word(table, thing))


def _of_class(w: Writer, table: Value, x: Value, kind: Word) -> Value:
    return _is(w, table, w.field(x, OB_TYPE), kind)


def _get(w: Writer, table: Value, x: Value, place: Word) -> Value:
    """A field of an object, borrowed."""
    return w.field(x, w.word(table, place, "i64"))


def _watches(w: Writer, table: Value, tape: Value, variable: Value) -> Value:
    """Does the tape begin to watch the Variable, now that it is read?"""
    serial = _get(w, table, _get(w, table, variable, Word.HANDLE), Word.SERIAL)
    known = w.through(table, Word.GET_DICT_ITEM, "ptr", _get(w, table, tape, Word.WATCHED), serial)
    flags = [_get(w, table, x, place) for x, place in ((tape, Word.WATCHES), (variable, Word.TRAINABLE))]
    wanted = w.both(*(_is(w, table, x, Word.TRUE) for x in flags))
    return w.both(wanted, w.compare("eq", known, NULL))


def _listener() -> str:
    """The only recorder, borrowed, where it is a tape that follows the Variable or will now; else null."""
    w = Writer(_LISTENER)
    table, mode, variable = w.args("table mode variable")
    none = "ptr null"
    listeners = _get(w, table, mode, Word.RECORDERS)
    w.refuse(w.compare("ne", w.through(table, Word.LENGTH, "i64", listeners), 1), none)
    tape = w.through(table, Word.GET_ITEM, "ptr", listeners, integer(0))
    w.refuse_unless(_of_class(w, table, tape, Word.TAPE), none)
    for place, kind in ((Word.TRACKED, Word.SET), (Word.RECORDS, Word.LIST), (Word.WATCHED, Word.DICT)):
        x = _get(w, table, tape, place)
        w.refuse(w.compare("eq", x, NULL), none)
        w.refuse_unless(_of_class(w, table, x, kind), none)
    for x, place in ((tape, Word.WATCHES), (variable, Word.TRAINABLE)):
        flag = _get(w, table, x, place)
        known = w.either(_is(w, table, flag, Word.TRUE), _is(w, table, flag, Word.FALSE))
        w.refuse_unless(known, none)
    handle = _get(w, table, variable, Word.HANDLE)
    w.refuse(w.compare("eq", handle, NULL), none)
    w.refuse_unless(_of_class(w, table, handle, Word.TENSOR), none)
    with w.returning(_watches(w, table, tape, variable), tape.typed):
        pass
    tracked = _get(w, table, tape, Word.TRACKED)
    return w.text(w.select(w.invoke(records.FOLLOWS, table, tracked, handle), tape, NULL).typed)


def _of_read() -> str:
    """The record of a read; null, with no exception, where Python has to write it."""
    w = Writer(_OF_READ)
    table, mode, variable, value, own = w.args("table mode variable value own")
    location = w.invoke(records.LOCATION, table, mode)
    with w.returning(w.compare("eq", location, NULL), "ptr null"):
        w.through(table, Word.CLEAR_ERROR, "void")
    inputs = w.invoke(records.PAIR, table, value, _get(w, table, variable, Word.HANDLE))
    outputs = w.invoke(records.PAIR, table, own, NULL)
    attrs = w.own(table, w.word(table, Word.NO_ATTRS))
    record = w.invoke(records.RECORD, table, w.word(table, Word.READ), inputs, attrs, outputs, location)
    with w.when(w.compare("eq", record, NULL)):
        w.through(table, Word.CLEAR_ERROR, "void")
    return w.text(record.typed)


def _twice(w: Writer, table: Value, array: Value) -> Value:
    """The bytes that a read counts for: what goes in and what comes out."""
    return w.multiply(w.invoke(records.BYTES, table, array), 2)


def _write() -> str:
    """Let the tape have the record of a read; false where there is no memory."""
    w = Writer(_WRITE)
    table, tape, variable, own, record = w.args("table tape variable own record")
    zero = integer(0, "i32")
    array = _get(w, table, own, Word.PAYLOAD)
    w.refuse_unless(w.invoke(records.HOLD, table, tape, _twice(w, table, array)))
    tracked = _get(w, table, tape, Word.TRACKED)
    with w.when(_watches(w, table, tape, variable)):
        serial = _get(w, table, _get(w, table, variable, Word.HANDLE), Word.SERIAL)
        w.refuse(w.compare("ne", w.through(table, Word.ADD, "i32", tracked, serial), zero))
        watched = _get(w, table, tape, Word.WATCHED)
        kept = w.through(table, Word.SET_DICT_ITEM, "i32", watched, serial, variable)
        w.refuse(w.compare("ne", kept, zero))
    added = w.through(table, Word.ADD, "i32", tracked, _get(w, table, own, Word.SERIAL))
    w.refuse(w.compare("ne", added, zero))
    status = w.through(table, Word.APPEND, "i32", _get(w, table, tape, Word.RECORDS), record)
    return w.text(w.compare("eq", status, zero).typed)


def _read() -> str:
    w = Writer(READ)
    table, mode, nobody, variable = w.args("table mode nobody variable")
    none = "ptr null"
    value = _get(w, table, variable, Word.VALUE)
    w.refuse(w.compare("eq", value, NULL), none)
    w.refuse_unless(_of_class(w, table, value, Word.TENSOR), none)
    with w.returning(nobody, value.typed):
        w.own(table, value)
    array = _get(w, table, value, Word.PAYLOAD)
    w.refuse(w.compare("eq", array, NULL), none)
    w.refuse_unless(_of_class(w, table, array, Word.NDARRAY), none)
    dtype = w.field(array, ARRAY_DTYPE)
    floats = [_is(w, table, dtype, place) for place in (Word.FLOAT64, Word.FLOAT32)]
    w.refuse_unless(w.either(*floats), none)
    tape = w.invoke(_LISTENER, table, mode, variable)
    w.refuse(w.compare("eq", tape, NULL), none)
    held = w.invoke(records.HELD, table, tape, _twice(w, table, array))
    w.refuse(w.compare("slt", held, 0), none)
    w.own(table, value)  # what is made may run code that collects garbage, and assigns
    own = w.invoke(arrays.WRAPPED, table, w.own(table, array), dtype)
    with w.returning(w.compare("eq", own, NULL), none):
        w.through(table, Word.DECREF, "void", value)
        w.through(table, Word.CLEAR_ERROR, "void")
    spec = w.own(table, _get(w, table, value, Word.SPEC))
    at = w.step(own, w.word(table, Word.SPEC, "i64"))
    before = w.load("ptr", at)
    w.store(spec, at)
    w.through(table, Word.DECREF, "void", before)
    record = w.invoke(_OF_READ, table, mode, variable, value, own)
    w.through(table, Word.DECREF, "void", value)
    with w.returning(w.compare("eq", record, NULL), none):
        w.through(table, Word.DECREF, "void", own)
    with w.replacing(w.compare("eq", w.invoke(_LISTENER, table, mode, variable), tape), [NULL]) as kept:
        written = w.invoke(_WRITE, table, tape, variable, own, record)
        kept.append(w.select(written, own, NULL))
    w.through(table, Word.DECREF, "void", record)
    with w.when(w.compare("eq", kept[0], NULL)):
        w.through(table, Word.DECREF, "void", own)
        w.through(table, Word.CLEAR_ERROR, "void")
    return w.text(kept[0].typed)


def _operand() -> str:
    w = Writer(OPERAND)
    table, mode, nobody, given = w.args("table mode nobody variable")
    with w.leaving(_of_class(w, table, given, Word.VARIABLE)):
        w.stmt(f"ret {w.invoke(READ, table, mode, nobody, given).typed}")
    return w.text(w.own(table, given).typed)


def _tensor() -> str:
    """``Variable.__tensor__``."""
    name, parameters = words.READ_VARIABLE, "ptr %self, ptr %nothing"
    w = Writer(Signature(name, parameters, "ptr", linkage="", attributes="nounwind #0"))
    (self,) = w.args("self")
    table = w.load("ptr", Value(f"@{words.TABLE}", "ptr"))
    w.go(_of_class(w, table, self, Word.VARIABLE), "slow", unless=True)
    mode, nobody = records.ordinary(w, table)
    result = w.invoke(READ, table, mode, nobody, self)
    w.refuse(w.compare("ne", result, NULL), result.typed)
    w.branch("slow")
    w.label("slow")
    called = w.room("ptr")
    w.store(self, called)
    python = w.word(table, Word.READ_IN_PYTHON)
    return w.text(w.through(table, Word.CALL, "ptr", python, called, integer(1), NULL).typed)


def _remember() -> str:
    """The result, which it takes over, once it is known what it was computed from; or null, and an exception."""
    w = Writer(_REMEMBER)
    table, mode, result, variable = w.args("table mode result variable")
    known = w.word(table, Word.COMPUTED)
    count, most = w.through(table, Word.DICT_LENGTH, "i64", known), w.word(table, Word.MOST_COMPUTED, "i64")
    inherited = w.compare("ne", _get(w, table, mode, Word.INHERITED), w.word(table, Word.NONE))
    w.go(w.either(w.compare("sge", count, most), inherited), "slow")
    location = w.invoke(records.LOCATION, table, mode)
    w.go(w.compare("eq", location, NULL), "slow")
    entry = w.invoke(records.PAIR, table, _get(w, table, variable, Word.NAME), location)
    w.through(table, Word.DECREF, "void", location)
    w.go(w.compare("eq", entry, NULL), "slow")
    status = w.through(table, Word.SET_DICT_ITEM, "i32", known, _get(w, table, result, Word.SERIAL), entry)
    w.through(table, Word.DECREF, "void", entry)
    w.refuse(w.compare("eq", status, integer(0, "i32")), result.typed)
    w.branch("slow")
    w.label("slow")
    w.through(table, Word.CLEAR_ERROR, "void")
    called = w.room("ptr", 2)
    w.store(result, called)
    w.store(variable, w.step(called, 8))
    said = w.through(table, Word.CALL, "ptr", w.word(table, Word.REMEMBER), called, integer(2), NULL)
    failed = w.compare("eq", said, NULL)
    w.through(table, Word.DECREF, "void", w.select(failed, result, said))
    return w.text(w.select(failed, NULL, result).typed)


def _entry(index: int, name: str) -> str:
    """What Python calls."""
    parameters = "ptr %self, ptr %other"
    w = Writer(Signature(words.of_variables(name), parameters, "ptr", linkage="", attributes="nounwind #0"))
    self, other = w.args("self other")
    table = w.load("ptr", Value(f"@{words.TABLE}", "ptr"))
    w.go(_of_class(w, table, self, Word.VARIABLE), "slow", unless=True)
    mode, nobody = records.ordinary(w, table)
    x = w.invoke(READ, table, mode, nobody, self)
    w.go(w.compare("eq", x, NULL), "slow")
    result = w.effect("ptr", 1, f"call ptr @{words.symbol(name)}({x.typed}, {other.typed})")
    w.through(table, Word.DECREF, "void", x)
    w.refuse(w.compare("eq", result, NULL), "ptr null")
    idle = _is(w, table, _get(w, table, mode, Word.BUSY), Word.FALSE)
    w.refuse_unless(w.both(idle, _of_class(w, table, result, Word.TENSOR)), result.typed)
    w.stmt(f"ret {w.invoke(_REMEMBER, table, mode, result, self).typed}")
    w.label("slow")
    called = w.room("ptr", 2)
    w.store(self, called)
    w.store(other, w.step(called, 8))
    python = w.word(table, words.place(index, words.Callable.OF_VARIABLES))
    return w.text(w.through(table, Word.CALL, "ptr", python, called, integer(2), NULL).typed)
