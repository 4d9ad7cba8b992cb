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
#: What a small kernel gives for one array or, the second not null, for two; null where it knows nothing of them.
APPLY = Signature("apply_small", "ptr %table, ptr %known, ptr %a, ptr %b", "ptr")
_LOOP = Signature("loop_for", "ptr %table, ptr %rows, i64 %count, ptr %dtype", "ptr")
_STRIDE = Signature("stride", "ptr %array, i64 %itemsize", "i64")
_RUN = Signature("run_loop", "ptr %table, ptr %loop, ptr %a, ptr %b, ptr %like", "ptr")


def functions() -> list[str]:
    """The functions of this module."""
    return [_loop(), _stride(), _run(), _apply(), _small()]


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


def _apply() -> str:
    w = Writer(APPLY)
    table, known, a, b = w.args("table known a b")
    none, kind = "ptr null", w.word(table, Word.NDARRAY)
    w.refuse(w.compare("ne", w.field(a, OB_TYPE), kind), none)
    dtype, rows = w.field(a, ARRAY_DTYPE), w.step(known, 8 * words.KNOWN)
    row = w.invoke(_LOOP, table, rows, w.word(known, words.Known.LOOPS, "i64"), dtype)
    w.refuse(w.compare("eq", row, NULL), none)
    w.refuse_unless(w.invoke(arrays.FITS, a, kind, dtype), none)
    with w.replacing(w.compare("ne", b, NULL), [a]) as shaped:
        w.refuse_unless(w.invoke(arrays.FITS, b, kind, dtype), none)
        scalars = [w.compare("eq", w.field(x, ARRAY_RANK, "i32"), integer(0, "i32")) for x in (a, b)]
        with w.when(w.either(*scalars), unless=True):
            w.refuse_unless(w.invoke(arrays.SAME, a, b), none)
        shaped.append(w.select(scalars[0], b, a))
    w.refuse(w.compare("sgt", w.invoke(arrays.COUNT, shaped[0]), words.LARGEST), none)
    return w.text(w.invoke(_RUN, table, row, a, b, shaped[0]).typed)


def _small() -> str:
    w = Writer(_SMALL)
    self, args, nargs = w.args("self args nargs")
    table, known = w.load("ptr", Value(f"@{words.TABLE}", "ptr")), w.field(self, ARRAY_DATA)
    none = w.word(table, Word.NONE)
    with w.returning(w.compare("ne", nargs, w.word(known, words.Known.INPUTS, "i64")), none.typed):
        w.own(table, none)
    with w.replacing(w.compare("eq", nargs, 2), [NULL]) as second:
        second.append(w.load("ptr", w.step(args, 8)))
    made = w.invoke(APPLY, table, known, w.load("ptr", args), second[0])
    with w.returning(w.compare("eq", made, NULL), none.typed):
        w.through(table, Word.CLEAR_ERROR, "void")
        w.own(table, none)
    return w.text(made.typed)
