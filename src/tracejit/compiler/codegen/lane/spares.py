"""Spares: small results of former calls that nobody has any more are given again, their memory and their objects.

A list belongs to an entry, with the two last that were made for each output: one may still be the caller's while the
next call runs. They stay in the list while they are in use, when more than the list refers to them.
"""

from __future__ import annotations

from ....runtime.lane import words
from ....runtime.lane.words import Api, Entry, Output
from ...ir_text import NULL, Value, integer
from .arguments import FITS
from .table_writer import Writer, internal

#: A Tensor for an output that nobody else has, for the call; null where there is none.
SPARE = internal("spare", "ptr %api, ptr %of, ptr %output, i64 %place", "ptr")
#: Let the list have a Tensor, too, in place of the one before the last.
KEEP = internal("keep", "ptr %api, ptr %of, i64 %place, ptr %tensor")
_FREE = internal("free", "ptr %api, ptr %output, ptr %x", "i1", inline=True)


def functions() -> list[str]:
    """The functions of this module."""
    return [_free(), _spare(), _keep()]


def _references(w: Writer, x: Value) -> Value:
    return w.field(x, words.REFERENCES, "i32")


def _is_tensor(w: Writer, api: Value, x: Value) -> Value:
    return w.compare("eq", w.field(x, words.OB_TYPE), w.word(api, Api.TENSOR, "ptr"))


def _free() -> str:
    """Is it a Tensor that only the list has, also weakly, with an array of its own as it was made?"""
    w = Writer(_FREE)
    api, output, x = w.args("api output x")
    one = integer(1, "i32")
    w.no(w.negated(_is_tensor(w, api, x)))
    w.no(w.compare("ne", _references(w, x), one))
    w.no(w.compare("ne", w.load("ptr", w.slot(api, x, Api.WEAK)), NULL))
    array = w.load("ptr", w.slot(api, x, Api.PAYLOAD))
    w.no(w.compare("ne", _references(w, array), one))
    dtype, shape = w.word(output, Output.DTYPE, "ptr"), w.word(output, Output.SHAPE, "ptr")
    flags = integer(words.OWN, "i32")
    return w.text(w.invoke(FITS, api, array, dtype, w.word(output, Output.RANK), shape, flags).typed)


def _spare() -> str:
    w = Writer(SPARE)
    api, entry, output, place = w.args("api of output place")
    w.no(w.compare("eq", w.word(output, Output.KEPT), 0), "ptr null")
    spares = w.word(entry, Entry.SPARES, "ptr")
    with w.loop(2) as loop:
        at = w.add(w.multiply(place, 2), loop.index)
        x = w.through(api, Api.GET_LIST_ITEM, "ptr", spares, at)
        with w.leaving(w.invoke(_FREE, api, output, x)):
            w.through(api, Api.INCREF, "void", x)
            w.stmt(f"ret {x.typed}")
    return w.text("ptr null")


def _keep() -> str:
    w = Writer(KEEP)
    api, entry, place, tensor = w.args("api of place tensor")
    output = w.row(w.word(entry, Entry.OUTPUTS, "ptr"), place, Output.WORDS)
    with w.returning(w.compare("eq", w.word(output, Output.KEPT), 0)):
        pass
    spares, first = w.word(entry, Entry.SPARES, "ptr"), w.multiply(place, 2)
    last = w.add(first, 1)
    older = w.through(api, Api.GET_LIST_ITEM, "ptr", spares, last)
    for at, x in ((first, older), (last, tensor)):
        w.through(api, Api.INCREF, "void", x)
        w.through(api, Api.SET_LIST_ITEM, "i32", spares, at, x)
    return w.text()
