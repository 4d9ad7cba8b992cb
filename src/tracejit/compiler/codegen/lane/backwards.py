"""Backward plans' machine code: is a tape of the kind that a table describes? Then its kernels, one after another.

A builtin ``(records, seeds, sources) -> cotangents`` whose ``self`` is the table; None for a tape of another kind. It
verifies and computes what `core.autodiff.straightline` does in Python. As ``(records, target, source, tracked)`` it
gives the cotangent of the source, a tensor or Variable, or a list for a list of sources, for a tensor that counts once,
where the tape follows all of them; None for those that are zeros or begin with NaN.
"""

from __future__ import annotations

from ....runtime.lane import backward_words as words
from ....runtime.lane.backward_words import Call, Constant, Made, Plan, Seed, Used
from ....runtime.lane.operator_words import TABLE, Word
from ....runtime.lane.words import ARRAY_DATA, ARRAY_DIMS, ARRAY_DTYPE, ARRAY_RANK, OB_TYPE
from ...ir_text import NULL, Value, integer
from ..matmul.counted_loops import Signature
from . import arrays, records, small_kernels
from .operator_writer import Writer

_ENTRY = Signature(
    words.BACKWARD, "ptr %self, ptr %args, i64 %nargs", "ptr", linkage="", attributes="nounwind #0"
)
_SHAPED = Signature("shaped", "ptr %table, ptr %row, ptr %tensor, ptr %payload", "i1")
_NEW = Signature("new_serial", "ptr %serials, i64 %count, i64 %serial", "i1")
_SERIAL = Signature("serial_of", "ptr %table, ptr %serial", "i64")
_KEEP = Signature("keep_array", "ptr %table, ptr %values, i64 %place, ptr %payload", "i1")
_TENSOR = Signature(
    "tape_tensor",
    "ptr %table, ptr %row, ptr %tensor, ptr %tensors, ptr %serials, ptr %values, ptr %met",
    "i1",
)
_RECORDS = Signature(
    "same_records", "ptr %table, ptr %plan, ptr %records, ptr %tensors, ptr %serials, ptr %values", "i1"
)
_ENDS = Signature(
    "same_ends",
    "ptr %table, ptr %plan, ptr %seeds, ptr %sources, ptr %tensors, ptr %serials, ptr %values",
    "i1",
)
_SOURCE = Signature("same_source", "ptr %table, ptr %serials, i64 %slot, ptr %given, ptr %tracked", "i1")
_TARGET = Signature(
    "same_target",
    "ptr %table, ptr %plan, ptr %target, ptr %sources, ptr %tracked, ptr %serials, ptr %values",
    "i1",
)
_SOUND = Signature("sound_cotangent", "ptr %table, ptr %made", "i1")
_TOLD = Signature("told_cotangents", "ptr %table, ptr %results, ptr %sources", "ptr")
_END = Signature("same_end", "ptr %table, ptr %serials, i64 %slot, ptr %tensor", "i1")
_CALL = Signature("call_kernel", "ptr %table, ptr %row, ptr %values", "ptr")
_COMPUTE = Signature("compute_backward", "ptr %table, ptr %plan, ptr %values", "ptr")


def functions() -> list[str]:
    """The functions of this module."""
    verified = [
        _shaped(),
        _new(),
        _serial(),
        _keep(),
        _tensor(),
        _records(),
        _ends(),
        _end(),
        _source(),
        _target(),
    ]
    return [*verified, _kernel(), _compute(), _sound(), _told(), _entry()]


# ---- is it of this kind? --------------------------------------------------------------------------------


def _shaped() -> str:
    """Does a tensor from outside have the dtype and the sizes of the row? Its value may have been dropped."""
    w = Writer(_SHAPED)
    table, row, tensor, payload = w.args("table row tensor payload")
    dtype = w.field(tensor, w.word(table, Word.DTYPE, "i64"))
    w.refuse(w.compare("ne", dtype, w.word(row, Used.DTYPE)))
    with w.leaving(w.compare("eq", w.field(payload, OB_TYPE), w.word(table, Word.NDARRAY))):
        rank = w.convert("sext", w.field(payload, ARRAY_RANK, "i32"), "i64")
        w.refuse(w.compare("ne", rank, w.word(row, Used.RANK, "i64")))
        dims, sizes = w.field(payload, ARRAY_DIMS), w.word(row, Used.SIZES)
        with w.loop(rank) as loop:
            a, b = (w.load("i64", w.step(p, loop.index, "i64")) for p in (dims, sizes))
            w.refuse(w.compare("ne", a, b))
        w.stmt("ret i1 true")
    shape = w.through(table, Word.GET_ATTR, "ptr", payload, w.word(table, Word.SHAPE))
    w.refuse(w.compare("eq", shape, NULL))
    equal = w.through(table, Word.EQUALS, "i32", shape, w.word(row, Used.SHAPE), integer(2, "i32"))
    w.through(table, Word.DECREF, "void", shape)
    return w.text(w.compare("eq", equal, integer(1, "i32")).typed)


def _new() -> str:
    """Is a serial number none of the first so many? They grow, but for those of what comes from outside."""
    w = Writer(_NEW)
    serials, count, serial = w.args("serials count serial")
    with w.loop(count) as loop:
        w.refuse(w.compare("eq", w.load("i64", w.step(serials, loop.index, "i64")), serial))
    return w.text("i1 true")


def _serial() -> str:
    """A serial number, of Python's; 0, which no tensor has, where it is too large."""
    w = Writer(_SERIAL)
    table, serial = w.args("table serial")
    beyond = w.room("i32")
    number = w.through(table, Word.AS_INTEGER, "i64", serial, beyond)
    fits = w.compare("eq", w.load("i32", beyond, 4), integer(0, "i32"))
    return w.text(w.select(fits, number, integer(0)).typed)


def _keep() -> str:
    """Let a payload be the value at that place, if there is one; false where it is no array."""
    w = Writer(_KEEP)
    table, values, place, payload = w.args("table values place payload")
    w.refuse(w.compare("slt", place, 0), "i1 true")
    w.refuse(w.compare("eq", payload, NULL))
    w.refuse(w.compare("ne", w.field(payload, OB_TYPE), w.word(table, Word.NDARRAY)))
    w.store(w.own(table, payload), w.step(values, place, "i64"))
    return w.text("i1 true")


def _tensor() -> str:
    """Is a tensor of a record the one of its row? `met`: how many slots came before, and the largest serial number."""
    w = Writer(_TENSOR)
    table, row, tensor, tensors, serials, values, met = w.args("table row tensor tensors serials values met")
    w.refuse(w.compare("eq", tensor, NULL))
    w.refuse(w.compare("ne", w.field(tensor, OB_TYPE), w.word(table, Word.TENSOR)))
    payload = w.field(tensor, w.word(table, Word.PAYLOAD, "i64"))
    w.refuse(w.compare("eq", payload, NULL))
    serial = w.invoke(_SERIAL, table, w.field(tensor, w.word(table, Word.SERIAL, "i64")))
    slot, kind = w.word(row, Used.SLOT, "i64"), w.word(row, Used.AS, "i64")
    place = w.step(serials, slot, "i64")
    known = w.compare("eq", kind, words.KNOWN)
    with w.when(known):
        w.refuse(w.compare("ne", w.load("i64", place), serial))
    with w.when(known, unless=True):
        count, newest = w.load("i64", met), w.step(met, 8)
        later = w.compare("sgt", serial, w.load("i64", newest))
        with w.when(later):
            w.store(serial, newest)
        with w.when(later, unless=True):
            w.refuse_unless(w.invoke(_NEW, serials, count, serial))
        w.store(serial, place)
        w.store(tensor, w.step(tensors, slot, "i64"))
        w.store(w.add(count, 1), met)
    with w.when(w.compare("eq", kind, words.OUTSIDE)):
        w.refuse_unless(w.invoke(_SHAPED, table, row, tensor, payload))
    return w.text(w.invoke(_KEEP, table, values, w.word(row, Used.VALUE, "i64"), payload).typed)


def _records() -> str:
    """Are these the ops, with the same attributes, and does the same feed the same?"""
    w = Writer(_RECORDS)
    table, plan, records, tensors, serials, values = w.args("table plan records tensors serials values")
    met, given, count = w.room("i64", 2), w.room("ptr"), w.word(plan, Plan.RECORDS, "i64")
    for place in range(2):
        w.store(integer(0), w.step(met, 8 * place))
    w.refuse(w.compare("ne", w.field(records, OB_TYPE), w.word(table, Word.LIST)))
    w.refuse(w.compare("ne", w.through(table, Word.LIST_LENGTH, "i64", records), count))
    rows, first = w.word(plan, Plan.RECORDS_AT), w.word(plan, Plan.TENSORS_AT)
    with w.loop(count, 1, first) as loop:
        record = w.through(table, Word.GET_LIST_ITEM, "ptr", records, loop.index)
        row = w.step(rows, w.multiply(loop.index, 8 * len(Made)))
        w.refuse(w.compare("eq", record, NULL))
        w.refuse(w.compare("ne", w.field(record, OB_TYPE), w.word(table, Word.RECORD)))
        op, attrs, *sides = (
            w.field(record, w.word(table, place, "i64"))
            for place in (Word.RECORD_OP, Word.RECORD_ATTRS, Word.RECORD_INPUTS, Word.RECORD_OUTPUTS)
        )
        w.refuse(w.compare("ne", op, w.word(row, Made.OP)))
        _attributes(w, table, row, attrs, given)
        tensor = loop.carried[0]
        for side, place in zip(sides, (Made.INPUTS, Made.OUTPUTS), strict=True):
            n = w.word(row, place, "i64")
            w.refuse(w.compare("ne", w.through(table, Word.LENGTH, "i64", side), n))
            with w.loop(n) as each:
                x = w.through(table, Word.GET_ITEM, "ptr", side, each.index)
                at = w.step(tensor, w.multiply(each.index, 8 * len(Used)))
                w.refuse_unless(w.invoke(_TENSOR, table, at, x, tensors, serials, values, met))
            tensor = w.step(tensor, w.multiply(n, 8 * len(Used)))
        loop.following.append(tensor)
    return w.text("i1 true")


def _attributes(w: Writer, table: Value, row: Value, attrs: Value, given: Value) -> None:
    """Go on only with the attributes of the row."""
    same = w.word(row, Made.SAME_ATTRS)
    none = w.compare("eq", same, NULL)
    with w.when(w.both(none, w.compare("ne", attrs, w.word(table, Word.NO_ATTRS)))):
        w.refuse(w.compare("ne", w.through(table, Word.DICT_LENGTH, "i64", attrs), 0))
    with w.when(none, unless=True):
        w.store(attrs, given)
        answer = w.through(table, Word.CALL, "ptr", same, given, integer(1), NULL)
        w.through(table, Word.DECREF, "void", answer)  # there is one True
        w.refuse(w.compare("ne", answer, w.word(table, Word.TRUE)))


def _ends() -> str:
    """Does it start so, and is the same asked for?"""
    w = Writer(_ENDS)
    table, plan, seeds, sources, tensors, serials, values = w.args(
        "table plan seeds sources tensors serials values"
    )
    count, rows = w.word(plan, Plan.SEEDS, "i64"), w.word(plan, Plan.SEEDS_AT)
    w.refuse(w.compare("ne", w.through(table, Word.DICT_LENGTH, "i64", seeds), count))
    with w.loop(count) as loop:
        row = w.step(rows, w.multiply(loop.index, 8 * len(Seed)))
        tensor = w.load("ptr", w.step(tensors, w.word(row, Seed.SLOT, "i64"), "i64"))
        serial = w.field(tensor, w.word(table, Word.SERIAL, "i64"))
        g = w.through(table, Word.GET_DICT_ITEM, "ptr", seeds, serial)
        w.refuse(w.compare("eq", g, NULL))
        unit = w.word(row, Seed.IS)
        w.refuse(w.both(w.compare("ne", unit, NULL), w.compare("ne", unit, g)))
        w.refuse(w.compare("ne", w.field(g, OB_TYPE), w.word(table, Word.TENSOR)))
        payload = w.field(g, w.word(table, Word.PAYLOAD, "i64"))
        w.refuse_unless(w.invoke(_KEEP, table, values, w.word(row, Seed.VALUE, "i64"), payload))
    count, rows = w.word(plan, Plan.SOURCES, "i64"), w.word(plan, Plan.SOURCES_AT)
    w.refuse(w.compare("ne", w.through(table, Word.LIST_LENGTH, "i64", sources), count))
    with w.loop(count) as loop:
        given = w.through(table, Word.GET_LIST_ITEM, "ptr", sources, loop.index)
        serial = w.invoke(_SERIAL, table, given)
        slot = w.load("i64", w.step(rows, loop.index, "i64"))
        connected = w.compare("sge", slot, 0)
        with w.when(connected):
            w.refuse(w.compare("ne", w.load("i64", w.step(serials, slot, "i64")), serial))
        with w.when(connected, unless=True):
            w.refuse_unless(w.invoke(_NEW, serials, w.word(plan, Plan.SLOTS, "i64"), serial))
    return w.text("i1 true")


def _end() -> str:
    """Is the tensor the one of that slot? False for none."""
    w = Writer(_END)
    table, serials, slot, tensor = w.args("table serials slot tensor")
    w.refuse(w.compare("slt", slot, 0))
    serial = w.invoke(_SERIAL, table, w.field(tensor, w.word(table, Word.SERIAL, "i64")))
    return w.text(w.compare("eq", w.load("i64", w.step(serials, slot, "i64")), serial).typed)


def _source() -> str:
    """Is it a tensor, or a Variable, that is followed and has that slot?"""
    w = Writer(_SOURCE)
    table, serials, slot, given, tracked = w.args("table serials slot given tracked")
    is_variable = w.compare("eq", w.field(given, OB_TYPE), w.word(table, Word.VARIABLE))
    with w.replacing(is_variable, [given]) as keys:
        keys.append(w.field(given, w.word(table, Word.HANDLE, "i64")))
        w.refuse(w.compare("eq", keys[0], NULL))
    w.refuse(w.compare("ne", w.field(keys[0], OB_TYPE), w.word(table, Word.TENSOR)))
    w.refuse_unless(w.invoke(records.FOLLOWS, table, tracked, keys[0]))
    return w.text(w.invoke(_END, table, serials, slot, keys[0]).typed)


def _target() -> str:
    """Is one target, which counts once, the end of the tape, and are the sources what is asked for?"""
    w = Writer(_TARGET)
    table, plan, target, sources, tracked, serials, values = w.args(
        "table plan target sources tracked serials values"
    )
    w.refuse(w.compare("ne", w.word(plan, Plan.SEEDS, "i64"), 1))
    w.refuse(w.compare("ne", w.field(tracked, OB_TYPE), w.word(table, Word.SET)))
    w.refuse_unless(w.invoke(records.FOLLOWS, table, tracked, target))
    row, count = w.word(plan, Plan.SEEDS_AT), w.word(plan, Plan.SOURCES, "i64")
    w.refuse_unless(w.invoke(_END, table, serials, w.word(row, Seed.SLOT, "i64"), target))
    unit, slots = w.word(row, Seed.IS), w.word(plan, Plan.SOURCES_AT)
    w.refuse(w.compare("eq", unit, NULL))
    several = w.compare("eq", w.field(sources, OB_TYPE), w.word(table, Word.LIST))
    with w.when(several):
        w.refuse(w.compare("ne", w.through(table, Word.LIST_LENGTH, "i64", sources), count))
        with w.loop(count) as loop:
            given = w.through(table, Word.GET_LIST_ITEM, "ptr", sources, loop.index)
            slot = w.load("i64", w.step(slots, loop.index, "i64"))
            w.refuse_unless(w.invoke(_SOURCE, table, serials, slot, given, tracked))
    with w.when(several, unless=True):
        w.refuse(w.compare("ne", count, 1))
        w.refuse_unless(w.invoke(_SOURCE, table, serials, w.load("i64", slots), sources, tracked))
    payload = w.field(unit, w.word(table, Word.PAYLOAD, "i64"))
    return w.text(w.invoke(_KEEP, table, values, w.word(row, Seed.VALUE, "i64"), payload).typed)


# ---- the kernels ----------------------------------------------------------------------------------------


def _kernel() -> str:
    """What a kernel makes of its values, a new reference; null, and an exception, where it fails."""
    w = Writer(_CALL)
    table, row, values = w.args("table row values")
    count, places = w.word(row, Call.INPUTS, "i64"), w.word(row, Call.INPUTS_AT)
    given = w.effect("ptr", 1, f"alloca ptr, {w.add(count, 1).typed}, align 8")
    with w.loop(count) as loop:
        value = w.load("ptr", w.step(values, w.load("i64", w.step(places, loop.index, "i64")), "i64"))
        w.store(value, w.step(given, loop.index, "i64"))
    small = w.word(row, Call.SMALL)
    with w.when(w.compare("ne", small, NULL)):
        with w.replacing(w.compare("eq", count, 2), [NULL]) as second:
            second.append(w.load("ptr", w.step(given, 8)))
        made = w.invoke(small_kernels.APPLY, table, small, w.load("ptr", given), second[0])
        w.refuse(w.compare("ne", made, NULL), made.typed)
        w.through(table, Word.CLEAR_ERROR, "void")
    made = w.through(table, Word.CALL, "ptr", w.word(row, Call.KERNEL), given, count, NULL)
    w.refuse(w.compare("eq", made, NULL), "ptr null")
    kind = w.word(table, Word.NDARRAY)
    w.refuse(w.compare("eq", w.field(made, OB_TYPE), kind), made.typed)
    result = w.room("ptr")
    w.store(made, result)
    array = w.through(table, Word.CALL, "ptr", w.word(table, Word.AS_ARRAY), result, integer(1), NULL)
    w.through(table, Word.DECREF, "void", made)
    return w.text(array.typed)


def _compute() -> str:
    """The list of cotangents; null, and an exception, where a kernel fails."""
    w = Writer(_COMPUTE)
    table, plan, values = w.args("table plan values")
    failed = "ptr null"
    rows = w.word(plan, Plan.CONSTANTS_AT)
    with w.loop(w.word(plan, Plan.CONSTANTS, "i64")) as loop:
        row = w.step(rows, w.multiply(loop.index, 8 * len(Constant)))
        array = w.own(table, w.word(row, Constant.ARRAY))
        w.store(array, w.step(values, w.word(row, Constant.VALUE, "i64"), "i64"))
    rows = w.word(plan, Plan.STEPS_AT)
    with w.loop(w.word(plan, Plan.STEPS, "i64")) as loop:
        row = w.step(rows, w.multiply(loop.index, 8 * len(Call)))
        made = w.invoke(_CALL, table, row, values)
        w.refuse(w.compare("eq", made, NULL), failed)
        w.store(made, w.step(values, w.word(row, Call.RESULT, "i64"), "i64"))
        gone = w.word(row, Call.GONE_AT)
        with w.loop(w.word(row, Call.GONE, "i64")) as each:
            place = w.step(values, w.load("i64", w.step(gone, each.index, "i64")), "i64")
            value = w.load("ptr", place)
            w.store(NULL, place)
            w.through(table, Word.DECREF, "void", value)
    count, places = w.word(plan, Plan.RESULTS, "i64"), w.word(plan, Plan.RESULTS_AT)
    results = w.through(table, Word.NEW_LIST, "ptr", count)
    w.refuse(w.compare("eq", results, NULL), failed)
    with w.loop(count) as loop:
        place = w.load("i64", w.step(places, loop.index, "i64"))
        with w.replacing(w.compare("sge", place, 0), [w.word(table, Word.NONE)]) as items:
            array = w.own(table, w.load("ptr", w.step(values, place, "i64")))
            tensor = w.invoke(arrays.WRAPPED, table, array, w.field(array, ARRAY_DTYPE))
            with w.returning(w.compare("eq", tensor, NULL), failed):
                w.through(table, Word.DECREF, "void", results)
            items.append(tensor)
        with w.when(w.compare("slt", place, 0)):
            w.own(table, items[0])
        w.through(table, Word.SET_LIST_ITEM, "i32", results, loop.index, items[0])
    return w.text(results.typed)


def _sound() -> str:
    """Is it a cotangent that tapes need not explain: of floats that neither begin with NaN nor are all zero?"""
    w = Writer(_SOUND)
    table, made = w.args("table made")
    w.refuse(w.compare("eq", made, w.word(table, Word.NONE)))
    array = w.field(made, w.word(table, Word.PAYLOAD, "i64"))
    data, dtype = w.field(array, ARRAY_DATA), w.field(array, ARRAY_DTYPE)
    count = w.invoke(arrays.COUNT, array)
    for place, kind, size in ((Word.FLOAT64, "double", 8), (Word.FLOAT32, "float", 4)):
        fits = w.both(w.compare("eq", dtype, w.word(table, place)), w.compare("sgt", count, 0))
        plain = w.invoke(arrays.FITS, array, w.word(table, Word.NDARRAY), dtype)
        with w.when(w.both(fits, plain)):
            zero = Value("0.0", kind)
            w.refuse(w.compare("uno", w.load(kind, data, size), zero))
            with w.loop(count) as loop:
                x = w.load(kind, w.step(data, loop.index, kind), size)
                w.refuse(w.compare("une", x, zero), "i1 true")
    return w.text("i1 false")


def _told() -> str:
    """The cotangents of a list, which it takes over, as they were asked for; None where a tape may explain one."""
    w = Writer(_TOLD)
    table, results, sources = w.args("table results sources")
    w.refuse(w.compare("eq", results, NULL), "ptr null")
    none = w.word(table, Word.NONE)
    with w.loop(w.through(table, Word.LIST_LENGTH, "i64", results)) as loop:
        made = w.through(table, Word.GET_LIST_ITEM, "ptr", results, loop.index)
        with w.leaving(w.invoke(_SOUND, table, made), unless=True):
            w.through(table, Word.DECREF, "void", results)
            w.stmt(f"ret {w.own(table, none).typed}")
    several = w.compare("eq", w.field(sources, OB_TYPE), w.word(table, Word.LIST))
    w.refuse(several, results.typed)
    only = w.own(table, w.through(table, Word.GET_LIST_ITEM, "ptr", results, integer(0)))
    w.through(table, Word.DECREF, "void", results)
    return w.text(only.typed)


def _entry() -> str:
    w = Writer(_ENTRY)
    self, args, _ = w.args("self args nargs")
    table, plan = w.load("ptr", Value(f"@{TABLE}", "ptr")), w.field(self, ARRAY_DATA)
    records, seeds, sources = (w.load("ptr", w.step(args, 8 * k)) for k in range(3))
    slots, count = w.word(plan, Plan.SLOTS, "i64"), w.word(plan, Plan.VALUES, "i64")
    tensors, serials, values = (
        w.effect("ptr", 1, f"alloca {kind}, {w.add(n, 1).typed}, align 8")
        for kind, n in (("ptr", slots), ("i64", slots), ("ptr", count))
    )
    with w.loop(count) as loop:
        w.store(NULL, w.step(values, loop.index, "i64"))
    result = w.room("ptr")
    w.store(NULL, result)
    w.go(w.invoke(_RECORDS, table, plan, records, tensors, serials, values), "another", unless=True)
    pair = w.compare("eq", w.field(seeds, OB_TYPE), w.word(table, Word.TENSOR))
    with w.leaving(pair):
        tracked = w.load("ptr", w.step(args, 24))
        same = w.invoke(_TARGET, table, plan, seeds, sources, tracked, serials, values)
        w.go(same, "another", unless=True)
        w.store(w.invoke(_TOLD, table, w.invoke(_COMPUTE, table, plan, values), sources), result)
        w.branch("done")
    w.go(w.invoke(_ENDS, table, plan, seeds, sources, tensors, serials, values), "another", unless=True)
    w.store(w.invoke(_COMPUTE, table, plan, values), result)
    w.branch("done")
    w.label("another")
    raised = w.through(table, Word.RAISED, "ptr")
    w.go(w.compare("ne", raised, NULL), "done")
    w.store(w.own(table, w.word(table, Word.NONE)), result)
    w.branch("done")
    w.label("done")
    with w.loop(count) as loop:
        w.through(table, Word.DECREF, "void", w.load("ptr", w.step(values, loop.index, "i64")))
    return w.text(w.load("ptr", result).typed)
