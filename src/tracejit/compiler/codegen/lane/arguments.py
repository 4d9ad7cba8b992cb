"""Arguments: what a call gives is looked for where an entry's steps say, and compared with what they say of it.

Nothing here runs Python code or keeps anything: all objects are borrowed.
"""

from __future__ import annotations

from ....runtime.lane import words
from ....runtime.lane.words import Api, Entry, Kind, Source, Step
from ...ir_text import NULL, integer
from .table_writer import Writer, internal

#: Is the call of this entry? What it gives goes into the frame.
TAKES = internal("takes", "ptr %api, ptr %of, ptr %args, i64 %nargs, ptr %names, ptr %frame", "i1")
#: Is it an array, of no subclass, of this dtype, these sizes, and with these flags?
FITS = internal("fits", "ptr %api, ptr %x, ptr %dtype, i64 %rank, ptr %shape, i32 %flags", "i1", inline=True)
_NAMED = internal("named", "ptr %api, ptr %of, ptr %names", "i1")
_PART = internal("part", "ptr %api, ptr %step, ptr %frame", "ptr")
_IS = internal("is", "ptr %api, ptr %step, ptr %x, ptr %frame", "i1")
_ARRAY = internal("array", "ptr %api, ptr %step, ptr %x, ptr %frame", "i1", inline=True)
_NUMBER = internal("number", "ptr %api, ptr %step, ptr %x, ptr %frame", "i1")


def functions() -> list[str]:
    """The functions of this module."""
    return [_fits(), _number(), _array(), _is(), _part(), _named(), _takes()]


def _fits() -> str:
    w = Writer(FITS)
    api, x, dtype, wanted, shape, flags = w.args("api x dtype rank shape flags")
    w.no(w.compare("ne", w.field(x, words.OB_TYPE), w.word(api, Api.NDARRAY, "ptr")))
    w.no(w.compare("ne", w.field(x, words.ARRAY_DTYPE), dtype))
    rank = w.convert("sext", w.field(x, words.ARRAY_RANK, "i32"), "i64")
    w.no(w.compare("ne", rank, wanted))
    has = w.binary("and", w.field(x, words.ARRAY_FLAGS, "i32"), flags)
    w.no(w.compare("ne", has, flags))
    dims = w.field(x, words.ARRAY_DIMS)
    with w.loop(rank) as axes:
        w.no(w.compare("ne", w.at(dims, axes.index, "i64"), w.at(shape, axes.index, "i64")))
    return w.text("i1 true")


def _number() -> str:
    """Is it a number that will do in place of an array? It goes into the frame."""
    w = Writer(_NUMBER)
    api, step, x, frame = w.args("api step x frame")
    accepts, kind = w.word(step, Step.ACCEPTS), w.field(x, words.OB_TYPE)
    others = (words.A_FLOAT, Api.FLOAT), (words.A_FLOAT64, Api.FLOAT64)
    found = [
        w.both(
            w.compare("ne", w.op("and", accepts, flag), 0), w.compare("eq", kind, w.word(api, place, "ptr"))
        )
        for flag, place in others
    ]
    w.no(w.negated(w.either(*found)))
    place = w.word(step, Step.PLACE)
    number = w.step(w.part(frame, "numbers"), place, "double")
    w.store(w.through(api, Api.AS_DOUBLE, "double", x), number)
    w.put(number, w.part(frame, "buffers"), place)
    w.put(NULL, w.part(frame, "objects"), place)
    return w.text("i1 true")


def _array() -> str:
    """Is it an array, or what holds one, as the step says? It and its data go into the frame."""
    w = Writer(_ARRAY)
    api, step, given, frame = w.args("api step x frame")
    accepts = w.word(step, Step.ACCEPTS)
    is_tensor = w.compare("eq", w.field(given, words.OB_TYPE), w.word(api, Api.TENSOR, "ptr"))
    tensors = w.compare("ne", w.op("and", accepts, words.A_TENSOR), 0)
    with w.replacing(w.both(is_tensor, tensors), [given]) as held:
        held.append(w.load("ptr", w.slot(api, given, Api.PAYLOAD)))
    x = held[0]
    dtype, shape = w.word(step, Step.VALUE, "ptr"), w.word(step, Step.SHAPE, "ptr")
    fits = w.invoke(FITS, api, x, dtype, w.word(step, Step.RANK), shape, integer(words.READABLE, "i32"))
    place = w.word(step, Step.PLACE)
    with w.leaving(w.negated(fits)):
        w.no(w.compare("eq", accepts, 0))
        ours = w.compare("eq", w.field(x, words.OB_TYPE), w.field(dtype, words.NUMBER_CLASS))
        with w.leaving(w.both(w.compare("ne", w.op("and", accepts, words.A_NUMBER), 0), ours)):
            number = w.step(w.part(frame, "numbers"), place, "i64")
            w.store(w.field(x, words.NUMBER, "i64"), number)
            w.put(number, w.part(frame, "buffers"), place)
            w.put(NULL, w.part(frame, "objects"), place)
            w.stmt("ret i1 true")
        w.stmt(f"ret {w.invoke(_NUMBER, api, step, x, frame).typed}")
    w.put(w.field(x, words.ARRAY_DATA), w.part(frame, "buffers"), place)
    w.put(x, w.part(frame, "objects"), place)
    return w.text("i1 true")


def _is() -> str:
    """Is it what the step says, which is no array? A number goes into the frame."""
    w = Writer(_IS)
    api, step, x, frame = w.args("api step x frame")
    kind, of, value = w.word(step, Step.KIND), w.field(x, words.OB_TYPE), w.word(step, Step.VALUE)
    nests = {
        Kind.TUPLE: (Api.TUPLE, Api.LENGTH),
        Kind.LIST: (Api.LIST, Api.LIST_LENGTH),
        Kind.DICT: (Api.DICT, Api.DICT_LENGTH),
    }
    for each, (its, length) in nests.items():
        with w.leaving(w.compare("eq", kind, each)):
            given = w.word(step, Step.ACCEPTS, "ptr")
            w.no(w.compare("ne", of, w.select(w.is_null(given), w.word(api, its, "ptr"), given)))
            place = w.word(step, Step.PLACE)
            w.put(x, w.part(frame, "nests"), place)
            w.put(integer(0), w.part(frame, "positions"), place)
            w.stmt(f"ret {w.compare('eq', w.through(api, length, 'i64', x), value).typed}")
    with w.leaving(w.compare("eq", kind, Kind.NUMBER)):
        w.stmt(f"ret {w.invoke(_NUMBER, api, step, x, frame).typed}")
    with w.leaving(w.compare("eq", kind, Kind.SAME)):
        w.stmt(f"ret {w.compare('eq', x, w.word(step, Step.VALUE, 'ptr')).typed}")
    with w.leaving(w.compare("eq", kind, Kind.REFERENT)):
        w.stmt(f"ret {w.compare('eq', x, w.field(w.word(step, Step.VALUE, 'ptr'), words.REFERENT)).typed}")
    with w.leaving(w.compare("eq", kind, Kind.FLOAT)):
        w.no(w.compare("ne", of, w.word(api, Api.FLOAT, "ptr")))
        bits = w.convert("bitcast", w.through(api, Api.AS_DOUBLE, "double", x), "i64")
        w.stmt(f"ret {w.compare('eq', bits, value).typed}")
    w.no(w.compare("ne", of, w.word(api, Api.INT, "ptr")))
    too_large = w.room("i32", 1)
    number = w.through(api, Api.AS_LONG, "i64", x, too_large)
    w.no(w.compare("ne", w.load("i32", too_large, 4), integer(0, "i32")))
    return w.text(w.compare("eq", number, value).typed)


def _part() -> str:
    """What is in a nest, or held by a Variable; null where there is something else."""
    w = Writer(_PART)
    api, step, frame = w.args("api step frame")
    source, key, parent = w.word(step, Step.SOURCE), w.word(step, Step.KEY), w.word(step, Step.PARENT)
    with w.returning(w.compare("eq", source, Source.OBJECT), w.word(step, Step.KEY, "ptr").typed):
        pass
    nests = w.part(frame, "nests")
    with w.leaving(w.compare("eq", source, Source.VARIABLE)):
        variable = w.field(w.word(step, Step.KEY, "ptr"), words.REFERENT)
        w.no(w.compare("eq", variable, w.word(api, Api.NONE, "ptr")), "ptr null")
        value = w.load("ptr", w.slot(api, variable, Api.VALUE))
        w.put(value, nests, parent)
        w.no(w.is_null(value), "ptr null")
        w.no(w.compare("ne", w.field(value, words.OB_TYPE), w.word(api, Api.TENSOR, "ptr")), "ptr null")
        w.stmt(f"ret {value.typed}")
    nest = w.at(nests, parent)
    for each, get in ((Source.TUPLE, Api.GET_ITEM), (Source.LIST, Api.GET_LIST_ITEM)):
        with w.leaving(w.compare("eq", source, each)):
            w.stmt(f"ret {w.through(api, get, 'ptr', nest, key).typed}")
    found, item = w.room("ptr", 1), w.room("ptr", 1)
    position = w.step(w.part(frame, "positions"), parent, "i64")
    there = w.through(api, Api.NEXT_OF_DICT, "i32", nest, position, found, item)
    w.no(w.compare("eq", there, integer(0, "i32")), "ptr null")
    w.no(w.compare("ne", w.load("ptr", found), w.word(step, Step.KEY, "ptr")), "ptr null")
    return w.text(w.load("ptr", item).typed)


def _named() -> str:
    """Are the keywords those of the entry, in its order?"""
    w = Writer(_NAMED)
    api, entry, names = w.args("api of names")
    count, wanted = w.word(entry, Entry.N_NAMES), w.word(entry, Entry.NAMES, "ptr")
    w.no(w.compare("ne", w.through(api, Api.LENGTH, "i64", names), count))
    with w.loop(count) as loop:
        name = w.through(api, Api.GET_ITEM, "ptr", names, loop.index)
        w.no(w.compare("ne", name, w.at(wanted, loop.index)))
    return w.text("i1 true")


def _takes() -> str:
    w = Writer(TAKES)
    api, entry, args, nargs, names, frame = w.args("api of args nargs names frame")
    w.no(w.compare("ne", nargs, w.word(entry, Entry.N_ARGS)))
    without = w.is_null(names)
    with w.when(without):
        w.no(w.compare("ne", w.word(entry, Entry.N_NAMES), 0))
    with w.when(without, unless=True):
        w.no(w.negated(w.invoke(_NAMED, api, entry, names)))
    steps = w.word(entry, Entry.STEPS, "ptr")
    with w.loop(w.word(entry, Entry.N_STEPS)) as loop:
        done = w.fresh("next")
        step = w.row(steps, loop.index, Step.WORDS)
        within = w.compare("ne", w.word(step, Step.SOURCE), Source.ARGUMENT)
        with w.replacing(w.negated(within), [NULL]) as given:
            given.append(w.at(args, w.word(step, Step.KEY)))
        with w.replacing(within, given) as parts:
            part = w.invoke(_PART, api, step, frame)
            w.no(w.is_null(part))
            parts.append(part)
        x = parts[0]
        with w.going(w.compare("ne", w.word(step, Step.KIND), Kind.ARRAY), done):
            w.no(w.negated(w.invoke(_IS, api, step, x, frame)))
        w.no(w.negated(w.invoke(_ARRAY, api, step, x, frame)))
        w.branch(done)
        w.label(done)
    return w.text("i1 true")
