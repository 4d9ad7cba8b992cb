"""Small kernels' machine code: NumPy's own loop on small arrays, without what NumPy does around it.

A builtin of one or two arrays, whose ``self`` is a table of loops by dtype. Where it knows no loop, or the arrays are
not laid out as it expects, it gives None.
"""

from __future__ import annotations

from ....runtime.lane import operator_words as words
from ....runtime.lane.operator_words import Loop, Word
from ....runtime.lane.words import ARRAY_DATA, ARRAY_DTYPE, ARRAY_RANK, ARRAY_STRIDES, OB_TYPE
from ...ir_text import NULL, Value, integer
from ..matmul.counted_loops import Signature
from . import arrays
from .operator_writer import Writer

_SMALL = Signature(
    words.SMALL, "ptr %self, ptr %args, i64 %nargs", "ptr", linkage="", attributes="nounwind #0"
)
_LOOP = Signature("loop_for", "ptr %table, ptr %rows, i64 %count, ptr %dtype", "ptr")
_STRIDE = Signature("stride", "ptr %array, i64 %itemsize", "i64")
_RUN = Signature("run_loop", "ptr %table, ptr %loop, ptr %a, ptr %b, ptr %like", "ptr")


def functions() -> list[str]:
    """The functions of this module."""
    return [_loop(), _stride(), _run(), _small()]


def _loop() -> str:
    """The row of that dtype, or null."""
    w = Writer(_LOOP)
    _, rows, count, dtype = w.args("table rows count dtype")
    with w.loop(count) as loop:
        row = w.step(rows, w.multiply(loop.index, 8 * len(Loop)))
        with w.returning(w.compare("eq", w.word(row, Loop.DTYPE), dtype), row.typed):
            pass
    return w.text("ptr null")


def _stride() -> str:
    """The step that NumPy's loops are given for a contiguous array: 0 repeats the element of one without axes."""
    w = Writer(_STRIDE)
    array, itemsize = w.args("array itemsize")
    rank = w.field(array, ARRAY_RANK, "i32")
    with w.returning(w.compare("eq", rank, integer(0, "i32")), "i64 0"):
        pass
    with w.leaving(w.compare("eq", rank, integer(1, "i32"))):
        w.stmt(f"ret {w.load('i64', w.field(array, ARRAY_STRIDES)).typed}")
    return w.text(itemsize.typed)


def _run() -> str:
    """A new array like the given one, with what the loop makes of one array or, the second not null, of two."""
    w = Writer(_RUN)
    table, row, a, b, like = w.args("table loop a b like")
    out = arrays.new(w, table, w.word(row, Loop.RESULT), like)
    w.refuse(w.compare("eq", out, NULL), "ptr null")
    data, strides, count = w.room("ptr", 3), w.room("i64", 3), w.room("i64")
    w.store(w.invoke(arrays.COUNT, like), count)
    size = w.word(row, Loop.BYTES, "i64")
    with w.replacing(w.compare("ne", b, NULL), [integer(1)]) as places:
        w.store(w.field(b, ARRAY_DATA), w.step(data, 8))
        w.store(w.invoke(_STRIDE, b, size), w.step(strides, 8))
        places.append(integer(2))
    w.store(w.field(a, ARRAY_DATA), data)
    w.store(w.invoke(_STRIDE, a, size), strides)
    last = places[0]
    w.store(w.field(out, ARRAY_DATA), w.step(data, last, "i64"))
    w.store(w.word(row, Loop.RESULT_BYTES, "i64"), w.step(strides, last, "i64"))
    operands = (data, count, strides, w.word(row, Loop.DATA))
    w.stmt(f"call void {w.word(row, Loop.CODE)}({', '.join(o.typed for o in operands)})")
    return w.text(out.typed)


def _small() -> str:
    w = Writer(_SMALL)
    self, args, nargs = w.args("self args nargs")
    table, known = w.load("ptr", Value(f"@{words.TABLE}", "ptr")), w.field(self, ARRAY_DATA)
    kind = w.word(table, Word.NDARRAY)
    w.go(w.compare("ne", nargs, w.word(known, words.Known.INPUTS, "i64")), "none")
    a = w.load("ptr", args)
    w.go(w.compare("ne", w.field(a, OB_TYPE), kind), "none")
    dtype, rows = w.field(a, ARRAY_DTYPE), w.step(known, 8 * len(words.Known))
    row = w.invoke(_LOOP, table, rows, w.word(known, words.Known.LOOPS, "i64"), dtype)
    w.go(w.compare("eq", row, NULL), "none")
    w.go(w.invoke(arrays.FITS, a, kind, dtype), "none", unless=True)
    like, second = w.room("ptr"), w.room("ptr")
    w.store(a, like)
    w.store(NULL, second)
    with w.when(w.compare("eq", nargs, 2)):
        b = w.load("ptr", w.step(args, 8))
        w.store(b, second)
        w.go(w.invoke(arrays.FITS, b, kind, dtype), "none", unless=True)
        none = integer(0, "i32")
        with w.when(w.compare("eq", w.field(a, ARRAY_RANK, "i32"), none)):
            w.store(b, like)
        ranks = [w.compare("ne", w.field(x, ARRAY_RANK, "i32"), none) for x in (a, b)]
        with w.when(w.both(*ranks)):
            w.go(w.invoke(arrays.SAME, a, b), "none", unless=True)
    shaped = w.load("ptr", like)
    w.go(w.compare("sgt", w.invoke(arrays.COUNT, shaped), words.LARGEST), "none")
    w.stmt(f"ret {w.invoke(_RUN, table, row, a, w.load('ptr', second), shaped).typed}")
    w.label("none")
    return w.text(w.own(table, w.word(table, Word.NONE)).typed)
