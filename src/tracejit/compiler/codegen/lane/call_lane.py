"""Dispatch: from a call in Python to a compiled function's entry and back.

Python calls it as a builtin or as an object with room for the address of code, with the arguments of a call. It looks
for an entry of the function's table that they fit, makes arrays for the results, calls the compiled code, and gives the
results back. Whatever fits no entry, and whatever fails, it leaves to a Python callable with the same arguments. It
keeps nothing, so any number of threads may be in it; and it refers to nothing outside of its tables, so that it can be
kept and sent like any other object.
"""

from __future__ import annotations

import ctypes
from functools import partial

from ....runtime import abi
from ....runtime.lane import words
from ....runtime.lane.words import Api, Entry, Table, Update
from ...ir_text import NULL, Value, integer
from ..matmul.counted_loops import Signature, loop_metadata
from . import arguments, results, spares
from .table_writer import FRAME, Writer, internal

_CONTEXT_WORDS = ctypes.sizeof(abi.Context) // 8
_COUNT = (1 << 63) - 1  # the bits of a number of arguments; the other one is Python's
_ON_STACK = 16  # arguments that are passed on without asking for memory

_RUN = internal(
    "run", "ptr %api, ptr %kernel, i64 %releases, ptr %buffers, ptr %sizes, ptr %context", "i32", inline=True
)
#: Run the entry that the arguments fit; the result, or null and an exception, or the entry: the call is Python's.
_PERFORM = internal("perform", "ptr %api, ptr %of, ptr %out, ptr %frame", "ptr")
#: Take references to what must live during the call.
_HOLD = internal("hold", "ptr %api, ptr %of, ptr %frame")
_LET_GO = internal("let_go", "ptr %api, ptr %of, ptr %frame")
#: The result, or null and an exception, or the table: the call is Python's.
_ATTEMPT = internal(
    "attempt", "ptr %table, ptr %settings, ptr %args, i64 %nargs, ptr %names, ptr %out", "ptr"
)
#: The settings here, borrowed; null while anything is traced or recorded in this thread.
_FREE = internal("free_to_call", "ptr %api", "ptr")
_PASS_ON = internal("pass_on", "ptr %table, ptr %self, ptr %args, i64 %nargs, ptr %names", "ptr")
_external = partial(Signature, linkage="", attributes="nounwind #0")
_CALLED = "ptr %self, ptr %args, i64 %nargs, ptr %names"
_LANE = _external(words.ENTRY, _CALLED, "ptr")
_CALL = _external(words.CALL, _CALLED, "ptr")
_STOP = _external(words.STOP, "ptr %context", "i32")


def module_text() -> str:
    """The module, without triple and data layout: the same for every machine."""
    functions = [*arguments.functions(), *spares.functions(), *results.functions()]
    functions += [_run(), _perform(), _hold(), _let_go(), _attempt(), _free(), _pass_on(), _lane(), _call()]
    functions.append(Writer(_STOP).text("i32 1"))
    return "".join([*functions, 'attributes #0 = { "no-builtins" }\n', loop_metadata()])


def _run() -> str:
    """The status of the compiled function, while which other threads may run if it takes long."""
    w = Writer(_RUN)
    api, kernel, releases, buffers, sizes, context = w.args("api kernel releases buffers sizes context")
    call = f"call i32 {kernel}({', '.join(p.typed for p in (buffers, sizes, context))})"
    with w.leaving(w.compare("eq", releases, 0)):
        w.stmt(f"ret {w.effect('i32', 1, call).typed}")
    thread = w.through(api, Api.SAVE_THREAD, "ptr")
    status = w.effect("i32", 1, call)
    w.through(api, Api.RESTORE_THREAD, "void", thread)
    return w.text(status.typed)


def _perform() -> str:
    w = Writer(_PERFORM)
    api, entry, out, frame = w.args("api of out frame")
    stack = w.room("i8", words.STACK_WORK, abi.WORKSPACE_ALIGN)
    made, count, slow = w.part(frame, "results"), w.word(entry, Entry.N_OUTPUTS), entry.typed
    own = w.is_null(out)
    with w.when(own, unless=True):
        w.no(w.negated(w.invoke(results.GIVEN, api, entry, out, frame)), slow)
    with w.when(own):
        w.no(w.negated(w.invoke(results.MADE, api, entry, frame)), "ptr null")
    mine = w.select(own, count, 0)
    context = _context(w, entry, frame)
    work = w.word(entry, Entry.WORKSPACE)
    large = w.compare("sgt", work, words.STACK_WORK)
    with w.replacing(large, [stack]) as memory:
        take, _ = _allocators(w, api, context, work)
        block = w.effect("ptr", 1, f"call ptr {take}({integer(abi.WORKSPACE_ALIGN).typed}, {work.typed})")
        with w.returning(w.is_null(block), slow):
            w.invoke(results.DROP, api, made, mine)
        memory.append(block)
    w.store(memory[0], w.step(context, abi.offset("workspace")))
    w.store(work, w.step(context, abi.offset("workspace_bytes")))
    kernel, releases = w.word(entry, Entry.KERNEL, "ptr"), w.word(entry, Entry.RELEASES)
    sizes = w.word(entry, Entry.SIZES, "ptr")
    status = w.invoke(_RUN, api, kernel, releases, w.part(frame, "buffers"), sizes, context)
    with w.when(large):
        _, give = _allocators(w, api, context, work)
        w.stmt(f"call void {give}({memory[0].typed})")
    with w.returning(w.compare("ne", status, integer(abi.STATUS_OK, "i32")), slow):
        w.invoke(results.DROP, api, made, mine)
        with w.when(w.compare("eq", status, integer(abi.STATUS_INTERRUPTED, "i32"))):
            w.store(integer(1), w.step(entry, 8 * Entry.LONG))
    _give_back(w, api, entry, out, made)
    return w.text(_finish(w, api, entry, frame).typed)


def _allocators(w: Writer, api: Value, context: Value, work: Value) -> tuple[Value, Value]:
    """What gives memory for so much work, and what takes it back."""
    pooled = w.compare("sge", work, abi.LARGE)
    names = (Api.ALLOC, "alloc_large"), (Api.FREE, "free_large")
    take, give = (
        w.select(pooled, w.field(context, abi.offset(name)), w.word(api, place, "ptr"))
        for place, name in names
    )
    return take, give


def _context(w: Writer, entry: Value, frame: Value) -> Value:
    """A ctx struct of this call's own."""
    source, context = w.word(entry, Entry.CONTEXT, "ptr"), w.part(frame, "context")
    for word in range(_CONTEXT_WORDS):
        w.put(w.at(source, word, "i64"), context, word)
    return context


def _give_back(w: Writer, api: Value, entry: Value, out: Value, made: Value) -> None:
    """If the caller gave memory for results, that is the result."""
    with w.leaving(w.is_null(out), unless=True):
        one = w.compare("eq", w.word(entry, Entry.N_OUTPUTS), 1)
        chosen = w.select(one, w.load("ptr", made), out)
        w.through(api, Api.INCREF, "void", chosen)
        w.stmt(f"ret {chosen.typed}")


def _finish(w: Writer, api: Value, entry: Value, frame: Value) -> Value:
    """The result; before that Variables have their values."""
    made, count = w.part(frame, "results"), w.word(entry, Entry.N_OUTPUTS)
    finished = w.invoke(results.FINISHED, api, entry, frame)
    with w.returning(w.is_null(finished), "ptr null"):
        w.invoke(results.DROP, api, made, count)
    with w.when(w.compare("ne", w.word(entry, Entry.N_UPDATES), 0)):
        status = w.invoke(results.COMMITTED, api, entry, frame)
        w.invoke(results.DROP, api, made, count)
        failed = w.compare("slt", status, integer(0, "i32"))
        instead = w.select(failed, NULL, entry)
        with w.returning(w.compare("slt", status, integer(1, "i32")), instead.typed):
            w.through(api, Api.DECREF, "void", finished)
    return finished


def _hold() -> str:
    w = Writer(_HOLD)
    api, entry, frame = w.args("api of frame")
    objects, nests = w.part(frame, "objects"), w.part(frame, "nests")
    with (
        w.when(w.compare("ne", w.word(entry, Entry.RELEASES), 0)),
        w.loop(w.word(entry, Entry.N_INPUTS)) as loop,
    ):
        x = w.at(objects, loop.index)
        with w.when(w.is_null(x), unless=True):
            w.through(api, Api.INCREF, "void", x)
    with w.loop(w.word(entry, Entry.N_UPDATES)) as loop:
        update = w.row(w.word(entry, Entry.UPDATES, "ptr"), loop.index, Update.WORDS)
        w.through(api, Api.INCREF, "void", w.at(nests, w.word(update, Update.KEPT)))
    return w.text()


def _let_go() -> str:
    w = Writer(_LET_GO)
    api, entry, frame = w.args("api of frame")
    objects, nests = w.part(frame, "objects"), w.part(frame, "nests")
    with w.when(w.compare("ne", w.word(entry, Entry.RELEASES), 0)):
        w.invoke(results.DROP, api, objects, w.word(entry, Entry.N_INPUTS))
    with w.loop(w.word(entry, Entry.N_UPDATES)) as loop:
        update = w.row(w.word(entry, Entry.UPDATES, "ptr"), loop.index, Update.WORDS)
        w.through(api, Api.DECREF, "void", w.at(nests, w.word(update, Update.KEPT)))
    return w.text()


def _attempt() -> str:
    w = Writer(_ATTEMPT)
    table, settings, args, nargs, names, out = w.args("table settings args nargs names out")
    frame, entry, link = w.room("i8", FRAME.bytes), w.room("ptr", 1), w.room("ptr", 1)
    api = w.word(table, Table.API, "ptr")
    head, other, found = (w.fresh(name) for name in ("entry", "other", "found"))
    first = w.step(table, 8 * Table.ENTRIES)
    w.store(w.load("ptr", first), entry)
    w.store(first, link)
    w.branch(head)
    w.label(head)
    this = w.load("ptr", entry)
    w.no(w.is_null(this), table.typed)
    w.go(w.compare("ne", w.word(this, Entry.SETTINGS, "ptr"), settings), other)
    w.go(w.invoke(arguments.TAKES, api, this, args, nargs, names, frame), found)
    w.branch(other)
    w.label(other)
    following = w.step(this, 8 * Entry.NEXT)
    w.store(following, link)
    w.store(w.load("ptr", following), entry)
    w.branch(head)
    w.label(found)
    _move_to_front(w, first, w.load("ptr", link), this)
    w.no(w.compare("ne", w.word(this, Entry.LONG), 0), table.typed)
    holds = w.op("or", w.word(this, Entry.RELEASES), w.word(this, Entry.N_UPDATES))
    with w.leaving(w.compare("eq", holds, 0)):
        result = w.invoke(_PERFORM, api, this, out, frame)
        w.stmt(f"ret {w.select(w.compare('eq', result, this), table, result).typed}")
    w.invoke(_HOLD, api, this, frame)
    result = w.invoke(_PERFORM, api, this, out, frame)
    w.invoke(_LET_GO, api, this, frame)
    return w.text(w.select(w.compare("eq", result, this), table, result).typed)


def _move_to_front(w: Writer, first: Value, link: Value, entry: Value) -> None:
    """Let the next call look at this entry first; nobody else looks meanwhile, as Python's lock is held."""
    following = w.step(entry, 8 * Entry.NEXT)
    with w.when(w.compare("ne", first, link)):
        w.store(w.load("ptr", following), link)
        w.store(w.load("ptr", first), following)
        w.store(entry, first)


def _lane() -> str:
    """The builtin, which takes ``out=``."""
    w = Writer(_LANE)
    self, args, nargs, names = w.args("self args nargs names")
    table = w.field(self, words.ARRAY_DATA)
    api = w.word(table, Table.API, "ptr")
    with w.replacing(w.compare("ne", names, NULL), [NULL]) as given:
        w.go(w.compare("ne", w.through(api, Api.LENGTH, "i64", names), 1), "slow")
        name = w.through(api, Api.GET_ITEM, "ptr", names, integer(0))
        w.go(w.compare("ne", name, w.word(api, Api.OUT, "ptr")), "slow")
        given.append(w.at(args, nargs))
    result = w.invoke(_ATTEMPT, table, NULL, args, nargs, NULL, given[0])
    with w.returning(w.compare("ne", result, table), result.typed):
        pass
    w.branch("slow")
    w.label("slow")
    return w.text(w.through(api, Api.CALL, "ptr", w.word(table, Table.SLOW, "ptr"), args, nargs, names).typed)


def _free() -> str:
    w = Writer(_FREE)
    (api,) = w.args("api")
    place, none = w.room("ptr", 1), "ptr null"
    thread = w.through(api, Api.THREAD, "ptr")
    w.no(w.is_null(thread), none)
    mode = w.through(api, Api.GET_DICT_ITEM, "ptr", thread, w.word(api, Api.MODE, "ptr"))
    w.no(w.is_null(mode), none)
    busy = w.load("ptr", w.slot(api, mode, Api.BUSY))
    w.no(w.compare("ne", busy, w.word(api, Api.FALSE, "ptr")), none)
    w.store(NULL, place)
    w.through(api, Api.GET_CONTEXT, "i32", w.word(api, Api.BLOCK, "ptr"), NULL, place)
    block = w.load("ptr", place)
    w.no(w.is_null(block), none)
    w.through(api, Api.DECREF, "void", block)  # None, or what the context keeps
    outside = w.compare("eq", block, w.word(api, Api.NONE, "ptr"))
    return w.text(w.select(outside, w.word(api, Api.SETTINGS, "ptr"), block).typed)


def _pass_on() -> str:
    """Let Python make the call, with the object in front of the arguments."""
    w = Writer(_PASS_ON)
    table, self, args, nargs, names = w.args("table self args nargs names")
    api = w.word(table, Table.API, "ptr")
    stack = w.room("ptr", _ON_STACK + 1)
    with w.replacing(w.compare("ne", names, NULL), [nargs]) as counts:
        counts.append(w.add(nargs, w.through(api, Api.LENGTH, "i64", names)))
    large = w.compare("sgt", counts[0], _ON_STACK)
    with w.replacing(large, [stack]) as memory:
        words_ = w.op("and", w.add(counts[0], 8), -8)
        memory.append(w.through(api, Api.ALLOC, "ptr", integer(abi.WORKSPACE_ALIGN), w.multiply(words_, 8)))
    given = memory[0]
    with w.leaving(w.is_null(given)):
        w.stmt(f"ret {w.through(api, Api.NO_MEMORY, 'ptr').typed}")
    w.store(self, given)
    w.copy(args, w.step(given, 8), counts[0])
    slow = w.word(table, Table.SLOW, "ptr")
    result = w.through(api, Api.CALL, "ptr", slow, given, w.add(nargs, 1), names)
    with w.when(large):
        w.through(api, Api.FREE, "void", given)
    return w.text(result.typed)


def _call() -> str:
    """The object that is called."""
    w = Writer(_CALL)
    self, args, flagged, names = w.args("self args nargs names")
    nargs = w.op("and", flagged, _COUNT)
    table = w.field(self, words.CALLED_TABLE)
    api = w.word(table, Table.API, "ptr")
    settings = w.invoke(_FREE, api)
    w.go(w.is_null(settings), "slow")
    result = w.invoke(_ATTEMPT, table, settings, args, nargs, names, NULL)
    with w.returning(w.compare("ne", result, table), result.typed):
        pass
    w.branch("slow")
    w.label("slow")
    return w.text(w.invoke(_PASS_ON, table, self, args, nargs, names).typed)
