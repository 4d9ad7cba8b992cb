"""Arrays: what the operators' machine code asks of NumPy's arrays, and how it makes them and tensors of them."""

from __future__ import annotations

from ....runtime.lane.operator_words import Word
from ....runtime.lane.words import ARRAY_DIMS, ARRAY_DTYPE, ARRAY_FLAGS, ARRAY_RANK, OB_TYPE, READABLE
from ...ir_text import NULL, Value, integer
from ..matmul.counted_loops import Signature
from .operator_writer import Writer

COUNT = Signature("count", "ptr %array", "i64")
SAME = Signature("same", "ptr %one, ptr %other", "i1")
#: How often the second array, of fewer axes, follows itself in the first: it has the sizes of its last axes; else 0.
ROWS = Signature("rows", "ptr %one, ptr %other", "i64")
WRAPPED = Signature("wrapped", "ptr %table, ptr %array, ptr %dtype", "ptr")
FITS = Signature("fits", "ptr %array, ptr %kind, ptr %dtype", "i1")


def functions() -> list[str]:
    """The functions of this module."""
    return [_count(), _same(), _rows(), _fits(), _wrapped()]


def _count() -> str:
    """How many elements an array has."""
    w = Writer(COUNT)
    (array,) = w.args("array")
    rank = w.convert("sext", w.field(array, ARRAY_RANK, "i32"), "i64")
    dims = w.field(array, ARRAY_DIMS)
    with w.loop(rank, 1, integer(1)) as loop:
        size = w.load("i64", w.step(dims, loop.index, "i64"))
        loop.following.append(w.multiply(loop.carried[0], size))
    return w.text(loop.carried[0].typed)


def _same() -> str:
    """Do two arrays have one shape?"""
    w = Writer(SAME)
    one, other = w.args("one other")
    rank = w.field(one, ARRAY_RANK, "i32")
    w.refuse(w.compare("ne", rank, w.field(other, ARRAY_RANK, "i32")))
    dims = [w.field(x, ARRAY_DIMS) for x in (one, other)]
    with w.loop(w.convert("sext", rank, "i64")) as loop:
        a, b = (w.load("i64", w.step(d, loop.index, "i64")) for d in dims)
        w.refuse(w.compare("ne", a, b))
    return w.text("i1 true")


def _rows() -> str:
    w = Writer(ROWS)
    one, other = w.args("one other")
    none = "i64 0"
    rank, last = (w.convert("sext", w.field(x, ARRAY_RANK, "i32"), "i64") for x in (one, other))
    w.refuse(w.compare("sle", rank, last), none)
    whole, part = w.field(one, ARRAY_DIMS), w.field(other, ARRAY_DIMS)
    lead = w.subtract(rank, last)
    with w.loop(last) as loop:
        a = w.load("i64", w.step(whole, w.add(lead, loop.index), "i64"))
        w.refuse(w.compare("ne", a, w.load("i64", w.step(part, loop.index, "i64"))), none)
    count = w.invoke(COUNT, other)
    w.refuse(w.compare("eq", count, 0), none)
    return w.text(w.op("sdiv", w.invoke(COUNT, one), count).typed)


def _fits() -> str:
    """Is it an array, of no subclass, of this dtype, whose elements follow one another?"""
    w = Writer(FITS)
    array, kind, dtype = w.args("array kind dtype")
    w.refuse(w.compare("eq", array, NULL))
    w.refuse(w.compare("ne", w.field(array, OB_TYPE), kind))
    w.refuse(w.compare("ne", w.field(array, ARRAY_DTYPE), dtype))
    flags = integer(READABLE, "i32")
    has = w.binary("and", w.field(array, ARRAY_FLAGS, "i32"), flags)
    return w.text(w.compare("eq", has, flags).typed)


def _wrapped() -> str:
    """A tensor of an array, which it takes over; null, and an exception set, where there is no memory."""
    w = Writer(WRAPPED)
    table, array, dtype = w.args("table array dtype")
    tensor = w.through(table, Word.NEW_OBJECT, "ptr", w.word(table, Word.TENSOR), integer(0))
    with w.returning(w.compare("eq", tensor, NULL), "ptr null"):
        w.through(table, Word.DECREF, "void", array)

    def put(x: Value, place: Word) -> None:
        w.store(x, w.step(tensor, w.word(table, place, "i64")))

    put(array, Word.PAYLOAD)
    put(w.own(table, w.word(table, Word.NONE)), Word.SPEC)
    put(w.own(table, dtype), Word.DTYPE)
    serial = w.through(table, Word.NEXT, "ptr", w.word(table, Word.COUNTER))
    with w.returning(w.compare("eq", serial, NULL), "ptr null"):
        w.through(table, Word.DECREF, "void", tensor)
    put(serial, Word.SERIAL)
    return w.text(tensor.typed)


def new(w: Writer, table: Value, dtype: Value, like: Value) -> Value:
    """An array of that dtype with the sizes of another; null, and an exception, where there is no memory."""
    rank, dims, none = w.field(like, ARRAY_RANK, "i32"), w.field(like, ARRAY_DIMS), integer(0, "i32")
    kind, own = w.word(table, Word.NDARRAY), w.own(table, dtype)
    return w.through(table, Word.NEW_ARRAY, "ptr", kind, own, rank, dims, NULL, NULL, none, NULL)
