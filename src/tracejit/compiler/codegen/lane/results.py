"""Results: arrays are made for them, made Tensors, put into nests, and given to Variables."""

from __future__ import annotations

from ....runtime.lane import words
from ....runtime.lane.words import Api, Entry, Kind, Nest, Output, Update
from ...ir_text import NULL, Value, integer
from .arguments import FITS
from .spares import KEEP, SPARE
from .table_writer import Writer, internal

#: Are the arrays that the caller gives for results as they should be? They, borrowed, and their data go into the frame.
GIVEN = internal("given", "ptr %api, ptr %of, ptr %out, ptr %frame", "i1")
#: Make arrays for the results; false, and an exception set, when there is no memory.
MADE = internal("made", "ptr %api, ptr %of, ptr %frame", "i1")
#: Make Tensors of the arrays, and nests of these; the result, or null and an exception.
FINISHED = internal("finished", "ptr %api, ptr %of, ptr %frame", "ptr")
#: Give the Variables their values: 1, or 0 where somebody else has changed one or is about to, or -1 and an exception.
COMMITTED = internal("committed", "ptr %api, ptr %of, ptr %frame", "i32")
#: Give up the objects that are there, and take note that they are not.
DROP = internal("drop", "ptr %api, ptr %objects, i64 %count")
_ARRAY = internal("array_for", "ptr %api, ptr %output", "ptr", inline=True)
_APART = internal("apart", "ptr %buffers, ptr %bytes, i64 %before, ptr %data", "i1")
_TENSORS = internal("tensors", "ptr %api, ptr %of, ptr %results", "i1")
_TENSOR = internal("tensor", "ptr %api, ptr %array", "ptr")
_RENEW = internal("renew", "ptr %api, ptr %tensor", "i1")
_NEST = internal("nest", "ptr %api, ptr %nest, ptr %results", "ptr")
_RECORD = internal("record", "ptr %api, ptr %nest, ptr %kind, ptr %results", "ptr")
_DICT = internal("dict", "ptr %api, ptr %nest, ptr %results", "ptr")
_UNCHANGED = internal("unchanged", "ptr %api, ptr %of, ptr %frame", "i1")


def functions() -> list[str]:
    """The functions of this module."""
    return [
        _given(),
        _apart(),
        _array(),
        _made(),
        _renew(),
        _tensor(),
        _tensors(),
        _nest(),
        _record(),
        _dict(),
        _finished(),
        _unchanged(),
        _committed(),
        _drop(),
    ]


def _given() -> str:
    w = Writer(GIVEN)
    api, entry, out, frame = w.args("api of out frame")
    buffers, results = w.part(frame, "buffers"), w.part(frame, "results")
    count, before = w.word(entry, Entry.N_OUTPUTS), w.word(entry, Entry.N_INPUTS)
    several = w.compare("eq", w.field(out, words.OB_TYPE), w.word(api, Api.TUPLE, "ptr"))
    with w.when(several):
        w.no(w.compare("ne", w.through(api, Api.LENGTH, "i64", out), count))
    with w.when(several, unless=True):
        w.no(w.compare("ne", count, 1))
    flags = integer(words.WRITABLE, "i32")
    with w.loop(count) as loop:
        output = w.row(w.word(entry, Entry.OUTPUTS, "ptr"), loop.index, Output.WORDS)
        with w.replacing(several, [out]) as items:
            items.append(w.through(api, Api.GET_ITEM, "ptr", out, loop.index))
        x = items[0]
        dtype, shape = w.word(output, Output.DTYPE, "ptr"), w.word(output, Output.SHAPE, "ptr")
        w.no(w.negated(w.invoke(FITS, api, x, dtype, w.word(output, Output.RANK), shape, flags)))
        data, place = w.field(x, words.ARRAY_DATA), w.add(before, loop.index)
        w.no(w.negated(w.invoke(_APART, buffers, w.word(entry, Entry.BYTES, "ptr"), place, data)))
        w.put(data, buffers, place)
        w.put(x, results, loop.index)
    return w.text("i1 true")


def _apart() -> str:
    """Does memory, of as many bytes as belong to its place, overlap that of no buffer before?"""
    w = Writer(_APART)
    buffers, sizes, before, data = w.args("buffers bytes before data")
    end = w.step(data, w.at(sizes, before, "i64"))
    with w.loop(before) as loop:
        other = w.at(buffers, loop.index)
        other_end = w.step(other, w.at(sizes, loop.index, "i64"))
        w.no(w.both(w.compare("ult", data, other_end), w.compare("ult", other, end)))
    return w.text("i1 true")


def _made() -> str:
    w = Writer(MADE)
    api, entry, frame = w.args("api of frame")
    buffers, results = w.part(frame, "buffers"), w.part(frame, "results")
    before = w.word(entry, Entry.N_INPUTS)
    with w.loop(w.word(entry, Entry.N_OUTPUTS)) as loop:
        output = w.row(w.word(entry, Entry.OUTPUTS, "ptr"), loop.index, Output.WORDS)
        spare = w.invoke(SPARE, api, entry, output, loop.index)
        new, place = w.is_null(spare), w.add(before, loop.index)
        with w.when(new, unless=True):
            array = w.load("ptr", w.slot(api, spare, Api.PAYLOAD))
            w.put(w.field(array, words.ARRAY_DATA), buffers, place)
            w.put(spare, results, loop.index)
        with w.when(new):
            x = w.invoke(_ARRAY, api, output)
            with w.returning(w.is_null(x), "i1 false"):
                w.invoke(DROP, api, results, loop.index)
            w.put(x, results, loop.index)
            w.put(w.field(x, words.ARRAY_DATA), buffers, place)
    return w.text("i1 true")


def _array() -> str:
    """An array for a result, or null and an exception."""
    w = Writer(_ARRAY)
    api, output = w.args("api output")
    maker = w.word(output, Output.MAKER, "ptr")
    with w.leaving(w.is_null(maker), unless=True):
        w.stmt(f"ret {w.through(api, Api.CALL, 'ptr', maker, NULL, integer(0), NULL).typed}")
    array, dtype = w.word(api, Api.NDARRAY, "ptr"), w.word(output, Output.DTYPE, "ptr")
    rank, none = w.convert("trunc", w.word(output, Output.RANK), "i32"), integer(0, "i32")
    w.through(api, Api.INCREF, "void", dtype)  # the array's own
    shape = w.word(output, Output.SHAPE, "ptr")
    return w.text(
        w.through(api, Api.NEW_ARRAY, "ptr", array, dtype, rank, shape, NULL, NULL, none, NULL).typed
    )


def _renew() -> str:
    """Give a Tensor that is given again a number of its own; false, and an exception, when there is no memory."""
    w = Writer(_RENEW)
    api, tensor = w.args("api tensor")
    serial = w.through(api, Api.NEXT, "ptr", w.word(api, Api.SERIALS, "ptr"))
    w.no(w.is_null(serial))
    slot = w.slot(api, tensor, Api.SERIAL)
    before = w.load("ptr", slot)
    w.store(serial, slot)
    w.through(api, Api.DECREF, "void", before)
    return w.text("i1 true")


def _tensor() -> str:
    """A Tensor of an array, which it takes over, as `Tensor.__init__` makes it; or null, and an exception."""
    w = Writer(_TENSOR)
    api, array = w.args("api array")
    none = w.word(api, Api.NONE, "ptr")
    serial = w.through(api, Api.NEXT, "ptr", w.word(api, Api.SERIALS, "ptr"))
    w.no(w.is_null(serial), "ptr null")
    tensor = w.through(api, Api.NEW_OBJECT, "ptr", w.word(api, Api.TENSOR, "ptr"), integer(0))
    with w.returning(w.is_null(tensor), "ptr null"):
        w.through(api, Api.DECREF, "void", serial)
    dtype = w.field(array, words.ARRAY_DTYPE)
    for x in (none, dtype):
        w.through(api, Api.INCREF, "void", x)
    slots = {Api.PAYLOAD: array, Api.SPEC: none, Api.DTYPE: dtype, Api.SERIAL: serial}
    for place, x in slots.items():
        w.store(x, w.slot(api, tensor, place))
    return w.text(tensor.typed)


def _tensors() -> str:
    """Make Tensors of the arrays that are none; false, and an exception, when one cannot be made."""
    w = Writer(_TENSORS)
    api, entry, results = w.args("api of results")
    count, kind = w.word(entry, Entry.N_OUTPUTS), w.word(api, Api.TENSOR, "ptr")
    with w.loop(count) as loop:
        x = w.at(results, loop.index)
        is_one = w.compare("eq", w.field(x, words.OB_TYPE), kind)
        with w.when(is_one):
            w.no(w.negated(w.invoke(_RENEW, api, x)))
        with w.when(is_one, unless=True):
            tensor = w.invoke(_TENSOR, api, x)
            w.no(w.is_null(tensor))
            w.put(tensor, results, loop.index)
            w.invoke(KEEP, api, entry, loop.index, tensor)
    return w.text("i1 true")


def _nest() -> str:
    """A tuple, list or dict of results, which it takes over; null, and an exception, when there is no memory."""
    w = Writer(_NEST)
    api, nest, results = w.args("api nest results")
    kind, count, items = w.word(nest, Nest.KIND), w.word(nest, Nest.COUNT), w.word(nest, Nest.ITEMS, "ptr")
    none = w.word(api, Api.NONE, "ptr")
    with w.returning(w.compare("eq", kind, Kind.SAME), none.typed):
        w.through(api, Api.INCREF, "void", none)
    with w.leaving(w.compare("eq", kind, Kind.DICT)):
        w.stmt(f"ret {w.invoke(_DICT, api, nest, results).typed}")
    record = w.word(nest, Nest.CLASS, "ptr")
    with w.leaving(w.is_null(record), unless=True):
        w.stmt(f"ret {w.invoke(_RECORD, api, nest, record, results).typed}")
    is_list = w.compare("eq", kind, Kind.LIST)
    make = w.select(is_list, *(w.word(api, place, "ptr") for place in (Api.NEW_LIST, Api.NEW_TUPLE)))
    put = w.select(is_list, *(w.word(api, place, "ptr") for place in (Api.SET_LIST_ITEM, Api.SET_ITEM)))
    made = w.effect("ptr", 1, f"call ptr {make}({count.typed})")
    w.no(w.is_null(made), "ptr null")
    with w.loop(count) as loop:
        place = w.at(items, loop.index, "i64")
        item = w.at(results, place)
        w.put(NULL, results, place)
        w.effect("i32", 1, f"call i32 {put}({made.typed}, {loop.index.typed}, {item.typed})")
    return w.text(made.typed)


def _record() -> str:
    """What the class of a named tuple makes of results, which it takes over."""
    w = Writer(_RECORD)
    api, nest, kind, results = w.args("api nest kind results")
    count, items = w.word(nest, Nest.COUNT), w.word(nest, Nest.ITEMS, "ptr")
    given = w.effect("ptr", 1, f"alloca ptr, {w.add(count, 1).typed}, align 8")
    with w.loop(count) as loop:
        w.put(w.at(results, w.at(items, loop.index, "i64")), given, loop.index)
    made = w.through(api, Api.CALL, "ptr", kind, given, count, NULL)
    w.no(w.is_null(made), "ptr null")
    with w.loop(count) as loop:
        w.invoke(DROP, api, w.step(results, w.at(items, loop.index, "i64"), "i64"), 1)
    return w.text(made.typed)


def _dict() -> str:
    w = Writer(_DICT)
    api, nest, results = w.args("api nest results")
    count, items = w.word(nest, Nest.COUNT), w.word(nest, Nest.ITEMS, "ptr")
    made = w.through(api, Api.NEW_DICT, "ptr")
    w.no(w.is_null(made), "ptr null")
    with w.loop(count) as loop:
        pair = w.step(items, w.multiply(loop.index, 16))
        item = w.step(results, w.at(pair, 1, "i64"), "i64")
        key = w.at(pair, 0)
        status = w.through(api, Api.SET_DICT_ITEM, "i32", made, key, w.load("ptr", item))
        with w.returning(w.compare("ne", status, integer(0, "i32")), "ptr null"):
            w.through(api, Api.DECREF, "void", made)
        w.invoke(DROP, api, item, 1)
    return w.text(made.typed)


def _finished() -> str:
    w = Writer(FINISHED)
    api, entry, frame = w.args("api of frame")
    results, count = w.part(frame, "results"), w.word(entry, Entry.N_OUTPUTS)
    with w.when(w.compare("ne", w.word(entry, Entry.TENSORS), 0)):
        w.no(w.negated(w.invoke(_TENSORS, api, entry, results)), "ptr null")
    nests = w.word(entry, Entry.NESTS, "ptr")
    with w.loop(w.word(entry, Entry.N_NESTS)) as loop:
        made = w.invoke(_NEST, api, w.row(nests, loop.index, Nest.WORDS), results)
        with w.returning(w.is_null(made), "ptr null"):
            w.invoke(DROP, api, w.step(results, count, "i64"), loop.index)
        w.put(made, results, w.add(count, loop.index))
    result = w.step(results, w.word(entry, Entry.RESULT), "i64")
    found = w.load("ptr", result)
    w.store(NULL, result)
    return w.text(found.typed)


def _slot_of(w: Writer, api: Value, update: Value) -> tuple[Value, Value]:
    """A Variable that an update is for, or None, and where it keeps its value."""
    variable = w.field(w.word(update, Update.VARIABLE, "ptr"), words.REFERENT)
    return variable, w.slot(api, variable, Api.VALUE)


def _unchanged() -> str:
    """Are all the Variables there, with the values that the call began with?"""
    w = Writer(_UNCHANGED)
    api, entry, frame = w.args("api of frame")
    nests = w.part(frame, "nests")
    with w.loop(w.word(entry, Entry.N_UPDATES)) as loop:
        update = w.row(w.word(entry, Entry.UPDATES, "ptr"), loop.index, Update.WORDS)
        variable, slot = _slot_of(w, api, update)
        w.no(w.compare("eq", variable, w.word(api, Api.NONE, "ptr")))
        w.no(w.compare("ne", w.load("ptr", slot), w.at(nests, w.word(update, Update.KEPT))))
    return w.text("i1 true")


def _committed() -> str:
    w = Writer(COMMITTED)
    api, entry, frame = w.args("api of frame")
    wait, results = w.room("ptr", 1), w.part(frame, "results")
    w.store(w.word(api, Api.FALSE, "ptr"), wait)
    acquire = w.word(api, Api.ACQUIRE, "ptr")
    got = w.through(api, Api.CALL, "ptr", acquire, wait, integer(1), NULL)
    w.no(w.is_null(got), "i32 -1")
    w.through(api, Api.DECREF, "void", got)  # True and False stay
    w.no(w.compare("ne", got, w.word(api, Api.TRUE, "ptr")), "i32 0")
    unchanged = w.invoke(_UNCHANGED, api, entry, frame)
    with w.when(unchanged), w.loop(w.word(entry, Entry.N_UPDATES)) as loop:
        update = w.row(w.word(entry, Entry.UPDATES, "ptr"), loop.index, Update.WORDS)
        _, slot = _slot_of(w, api, update)
        place = w.step(results, w.word(update, Update.OUTPUT), "i64")
        before, after = w.load("ptr", slot), w.load("ptr", place)
        w.store(after, slot)
        w.store(before, place)  # given up with what else is left of the call
    free = w.through(api, Api.CALL, "ptr", w.word(api, Api.RELEASE, "ptr"), wait, integer(0), NULL)
    w.no(w.is_null(free), "i32 -1")
    w.through(api, Api.DECREF, "void", free)
    return w.text(w.convert("zext", unchanged, "i32").typed)


def _drop() -> str:
    w = Writer(DROP)
    api, objects, count = w.args("api objects count")
    with w.loop(count) as loop:
        place = w.step(objects, loop.index, "i64")
        x = w.load("ptr", place)
        with w.when(w.is_null(x), unless=True):
            w.store(NULL, place)
            w.through(api, Api.DECREF, "void", x)
    return w.text()
