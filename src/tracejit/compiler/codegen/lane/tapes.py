"""Tapes' machine code: what entering, leaving and watching come to for the one tape of a thread.

All else, tapes around tapes, attempts at tracing, tapes that are used again, is left to the methods in Python.
"""

from __future__ import annotations

from ....runtime.lane import operator_words as words
from ....runtime.lane.operator_words import Word
from ....runtime.lane.words import OB_TYPE
from ...ir_text import NULL, Value, integer
from ..matmul.counted_loops import Signature
from . import op_calls, records
from .operator_writer import Writer


def functions() -> list[str]:
    """The functions of this module."""
    return [_enter(), _leave(), _watch()]


def _method(name: str) -> Writer:
    parameters = "ptr %self, ptr %args, i64 %nargs, ptr %names"
    return Writer(Signature(words.tape_method(name), parameters, "ptr", linkage="", attributes="nounwind #0"))


def _tape(w: Writer) -> tuple[Value, Value, Value]:
    """Go on only with a tape of no subclass and nothing by keyword: the table, the tape, the thread's mode."""
    self, names = w.args("self names")
    table = w.load("ptr", Value(f"@{words.TABLE}", "ptr"))
    w.go(w.compare("ne", names, NULL), "slow")
    w.go(w.compare("ne", w.field(self, OB_TYPE), w.word(table, Word.TAPE)), "slow")
    mode = w.through(table, Word.GET_ATTR, "ptr", w.word(table, Word.STATE), w.word(table, Word.MODE))
    w.refuse(w.compare("eq", mode, NULL), "ptr null")
    w.through(table, Word.DECREF, "void", mode)  # the thread has it
    return table, self, mode


def _has(w: Writer, table: Value, x: Value, place: Word, thing: Word) -> None:
    """Go on only where a field of an object is that thing."""
    field = w.field(x, w.word(table, place, "i64"))
    w.go(w.compare("ne", field, w.word(table, thing)), "slow")


def _set(w: Writer, table: Value, x: Value, place: Word, thing: Value) -> None:
    """Let a field of an object, which has something, have a new reference instead."""
    at = w.step(x, w.word(table, place, "i64"))
    before = w.load("ptr", at)
    w.store(thing, at)
    w.through(table, Word.DECREF, "void", before)


def _slow(w: Writer, table: Value, python: Word) -> str:
    """Leave it to Python."""
    w.label("slow")
    operands = w.args("self args nargs names")
    return w.text(w.invoke(op_calls.PASS_ON, table, w.word(table, python), *operands).typed)


def _enter() -> str:
    w = _method("__enter__")
    table, tape, mode = _tape(w)
    _has(w, table, tape, Word.RECORDING, Word.FALSE)
    _has(w, table, tape, Word.USED, Word.FALSE)
    _has(w, table, mode, Word.ATTEMPT, Word.NONE)
    _has(w, table, mode, Word.RECORDERS, Word.NOBODY)
    tracked = w.field(tape, w.word(table, Word.TRACKED, "i64"))
    w.go(w.compare("ne", w.field(tracked, OB_TYPE), w.word(table, Word.SET)), "slow")
    w.go(w.compare("ne", w.through(table, Word.SET_LENGTH, "i64", tracked), 0), "slow")
    only = w.through(table, Word.NEW_TUPLE, "ptr", integer(1))
    w.refuse(w.compare("eq", only, NULL), "ptr null")
    w.through(table, Word.SET_ITEM, "i32", only, integer(0), w.own(table, tape))
    true = w.word(table, Word.TRUE)
    _set(w, table, tape, Word.RECORDING, w.own(table, true))
    _set(w, table, mode, Word.RECORDERS, only)
    _set(w, table, mode, Word.BUSY, w.own(table, true))
    w.stmt(f"ret {w.own(table, tape).typed}")
    return _slow(w, table, Word.ENTER)


def _leave() -> str:
    w = _method("__exit__")
    table, tape, mode = _tape(w)
    _has(w, table, tape, Word.RECORDING, Word.TRUE)
    _has(w, table, tape, Word.MERGING, Word.NOBODY)
    w.go(w.invoke(records.HEARS, table, mode, tape), "slow", unless=True)
    slow = w.field(mode, w.word(table, Word.SLOW, "i64"))
    _set(w, table, mode, Word.BUSY, w.own(table, slow))
    _set(w, table, mode, Word.RECORDERS, w.own(table, w.word(table, Word.NOBODY)))
    _set(w, table, tape, Word.RECORDING, w.own(table, w.word(table, Word.FALSE)))
    w.stmt(f"ret {w.own(table, w.word(table, Word.NONE)).typed}")
    return _slow(w, table, Word.LEAVE)


def _watch() -> str:
    w = _method("watch")
    table, tape, mode = _tape(w)
    w.go(w.compare("ne", w.args("nargs")[0], 1), "slow")
    tensor = w.load("ptr", w.args("args")[0])
    w.go(w.compare("ne", w.field(tensor, OB_TYPE), w.word(table, Word.TENSOR)), "slow")
    _has(w, table, mode, Word.SLOW, Word.FALSE)
    dtype = w.field(tensor, w.word(table, Word.DTYPE, "i64"))
    floats = [w.compare("eq", dtype, w.word(table, place)) for place in (Word.FLOAT64, Word.FLOAT32)]
    w.go(w.either(*floats), "slow", unless=True)
    recorders = w.field(mode, w.word(table, Word.RECORDERS, "i64"))
    with w.when(w.compare("ne", recorders, w.word(table, Word.NOBODY))):
        w.go(w.invoke(records.HEARS, table, mode, tape), "slow", unless=True)
    tracked = w.field(tape, w.word(table, Word.TRACKED, "i64"))
    w.go(w.compare("ne", w.field(tracked, OB_TYPE), w.word(table, Word.SET)), "slow")
    serial = w.field(tensor, w.word(table, Word.SERIAL, "i64"))
    failed = w.compare("ne", w.through(table, Word.ADD, "i32", tracked, serial), integer(0, "i32"))
    w.refuse(failed, "ptr null")
    w.stmt(f"ret {w.own(table, w.word(table, Word.NONE)).typed}")
    return _slow(w, table, Word.WATCH)
