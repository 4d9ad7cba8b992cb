"""The call lane's machine code: one function for all compiled functions, which reads tables.

Python calls it as a builtin with the arguments of a call. It looks whether they are arrays just as the tables say,
makes arrays for the results, calls the entry and gives the results back. Whatever is not so, and whatever fails, it
leaves to a Python callable with the same arguments. It keeps nothing, so any number of threads may be in it; and it
refers to nothing outside of its tables, so that it can be kept and sent like any other object.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

from ...runtime import abi
from ...runtime.lane import words
from ...runtime.lane.words import Api, Entry, Spec, Table
from ..ir_text import NULL, TRUE, Value, integer
from .matmul.counted_loops import Operand, Signature, Writer, loop_metadata

_FITS = Signature("fits", "ptr %x, ptr %spec, ptr %kind, i32 %flags", "i1")
_READ = Signature("read", "ptr %api, ptr %table, ptr %args, ptr %arrays, ptr %numbers", "i1")
_FIND = Signature("find", "ptr %table, ptr %args", "ptr")
_GIVEN = Signature("given", "ptr %api, ptr %table, ptr %found, ptr %out, ptr %arrays, ptr %results", "i1")
_APART = Signature("apart", "ptr %arrays, ptr %bytes, i64 %before, ptr %data", "i1")
_MADE = Signature("made", "ptr %api, ptr %table, ptr %found, ptr %arrays, ptr %results", "i1")
_DROP = Signature("drop", "ptr %api, ptr %results, i64 %count")
_RUN = Signature("run", "ptr %api, ptr %kernel, i64 %releases, ptr %arrays, ptr %sizes, ptr %context", "i32")
_LANE = Signature(
    words.ENTRY, "ptr %self, ptr %args, i64 %nargs, ptr %names", "ptr", linkage="", attributes="nounwind #0"
)
_STOP = Signature(words.STOP, "ptr %context", "i32", linkage="", attributes="nounwind #0")
_CONTEXT_WORDS = ctypes.sizeof(abi.Context) // 8


def module_text() -> str:
    """The module, without triple and data layout: the same for every machine."""
    functions = [_fits(), _read(), _find(), _given(), _apart(), _made(), _drop(), _run(), _lane()]
    functions.append(_Writer(_STOP).text("i32 1"))
    return "".join([*functions, 'attributes #0 = { "no-builtins" }\n', loop_metadata()])


class _Writer(Writer):
    """Reads words of tables and fields of objects, and calls what tables point to."""

    def word(self, table: Value, place: IntEnum, kind: str = "i64") -> Value:
        return self.load(kind, self.step(table, 8 * place))

    def at(self, table: Value, index: Value, kind: str = "ptr") -> Value:
        return self.load(kind, self.step(table, index, "i64"))

    def spec(self, table: Value, side: Table, index: Value) -> Value:
        """The words about an input or an output."""
        return self.step(self.word(table, side, "ptr"), self.multiply(index, 8 * len(Spec)))

    def field(self, x: Value, offset: int, kind: str = "ptr") -> Value:
        return self.load(kind, self.step(x, offset), 4 if kind == "i32" else 8)

    def through(self, api: Value, place: Api, kind: str, *operands: Value) -> Value:
        """Call a function of Python or NumPy."""
        function = self.word(api, place, "ptr")
        spelled = f"call {kind} {function}({', '.join(o.typed for o in operands)})"
        if kind == "void":
            self.stmt(spelled)
            return NULL
        return self.effect(kind, 1, spelled)

    def room(self, kind: str, count: int, align: int = 8) -> Value:
        return self.effect("ptr", 1, f"alloca [{count} x {kind}], align {align}")

    @contextmanager
    def going(self, test: Value, label: str) -> Iterator[None]:
        """If it holds do what the block does, then go to `label`."""
        with self.leaving(test):
            yield
            self.branch(label)

    def go(self, test: Value, label: str) -> None:
        with self.going(test, label):
            pass

    def negated(self, test: Value) -> Value:
        return self.op("xor", test, TRUE)

    def no(self, test: Value) -> None:
        """If it holds, the function returns false."""
        with self.returning(test, "i1 false"):
            pass


def _fits() -> str:
    """Is it an array, of no subclass, of this dtype and rank, and with these flags?"""
    w = _Writer(_FITS)
    x, spec, kind, flags = w.args("x spec kind flags")
    w.no(w.compare("ne", w.field(x, words.OB_TYPE), kind))
    w.no(w.compare("ne", w.field(x, words.ARRAY_DTYPE, "i64"), w.word(spec, Spec.DTYPE)))
    rank = w.convert("sext", w.field(x, words.ARRAY_RANK, "i32"), "i64")
    w.no(w.compare("ne", rank, w.word(spec, Spec.RANK)))
    has = w.binary("and", w.field(x, words.ARRAY_FLAGS, "i32"), flags)
    return w.text(w.compare("eq", has, flags).typed)


def _read() -> str:
    """Are all arguments as they should be? Their data go into the arrays."""
    w = _Writer(_READ)
    api, table, args, arrays, numbers = w.args("api table args arrays numbers")
    array, flags = w.word(api, Api.NDARRAY, "ptr"), integer(words.READABLE, "i32")
    number, exact = w.word(api, Api.FLOAT64, "ptr"), w.word(api, Api.FLOAT, "ptr")
    with w.loop(w.word(table, Table.N_INPUTS)) as loop:
        x, spec = w.at(args, loop.index), w.spec(table, Table.INPUTS, loop.index)
        place = w.step(arrays, loop.index, "ptr")
        done = w.fresh("next")
        kind = w.field(x, words.OB_TYPE)
        is_number = w.either(w.compare("eq", kind, exact), w.compare("eq", kind, number))
        with w.going(is_number, done):
            w.no(w.compare("eq", w.word(spec, Spec.NUMBER), 0))
            copy = w.step(numbers, loop.index, "double")
            w.store(w.through(api, Api.AS_DOUBLE, "double", x), copy)
            w.store(copy, place)
        w.no(w.negated(w.invoke(_FITS, x, spec, array, flags)))
        w.store(w.field(x, words.ARRAY_DATA), place)
        w.branch(done)
        w.label(done)
    return w.text("i1 true")


def _find() -> str:
    """The entry of the arguments' shapes, or null."""
    w = _Writer(_FIND)
    table, args = w.args("table args")
    entry, sizes = w.room("ptr", 1), w.room("ptr", 1)
    head, other, found = (w.fresh(name) for name in ("entry", "other", "found"))
    w.store(w.word(table, Table.ENTRIES, "ptr"), entry)
    w.branch(head)
    w.label(head)
    this = w.load("ptr", entry)
    w.go(w.compare("eq", this, NULL), found)
    w.store(w.word(this, Entry.INPUT_SHAPES, "ptr"), sizes)
    with w.loop(w.word(table, Table.N_INPUTS)) as inputs:
        rank = w.word(w.spec(table, Table.INPUTS, inputs.index), Spec.RANK)
        wanted = w.load("ptr", sizes)
        with w.loop(rank) as axes:  # a number has none, and then nothing of it is read
            dims = w.field(w.at(args, inputs.index), words.ARRAY_DIMS)
            differs = w.compare("ne", w.at(dims, axes.index, "i64"), w.at(wanted, axes.index, "i64"))
            w.go(differs, other)
        w.store(w.step(wanted, rank, "i64"), sizes)
    w.branch(found)
    w.label(other)
    w.store(w.word(this, Entry.NEXT, "ptr"), entry)
    w.branch(head)
    w.label(found)
    return w.text(w.load("ptr", entry).typed)


def _given() -> str:
    """Are the arrays for the results as they should be? They, borrowed, and their data go into the tables."""
    w = _Writer(_GIVEN)
    api, table, entry, out, arrays, results = w.args("api table found out arrays results")
    count, before = w.word(table, Table.N_OUTPUTS), w.word(table, Table.N_INPUTS)
    several = w.compare("eq", w.field(out, words.OB_TYPE), w.word(api, Api.TUPLE, "ptr"))
    with w.when(several):
        w.no(w.compare("ne", w.through(api, Api.LENGTH, "i64", out), count))
    with w.when(several, unless=True):
        w.no(w.compare("ne", count, 1))
    array, flags = w.word(api, Api.NDARRAY, "ptr"), integer(words.WRITABLE, "i32")
    sizes = w.word(entry, Entry.OUTPUT_SHAPES, "ptr")
    with w.loop(count, 1, sizes) as loop:
        spec = w.spec(table, Table.OUTPUTS, loop.index)
        item = w.step(results, loop.index, "ptr")
        w.store(out, item)
        with w.when(several):
            w.store(w.through(api, Api.GET_ITEM, "ptr", out, loop.index), item)
        x = w.load("ptr", item)
        w.no(w.negated(w.invoke(_FITS, x, spec, array, flags)))
        rank = w.word(spec, Spec.RANK)
        with w.loop(rank) as axes:
            have = w.at(w.field(x, words.ARRAY_DIMS), axes.index, "i64")
            w.no(w.compare("ne", have, w.at(loop.carried[0], axes.index, "i64")))
        data, place = w.field(x, words.ARRAY_DATA), w.add(before, loop.index)
        w.no(w.negated(w.invoke(_APART, arrays, w.word(entry, Entry.BYTES, "ptr"), place, data)))
        w.store(data, w.step(arrays, place, "ptr"))
        loop.following.append(w.step(loop.carried[0], rank, "i64"))
    return w.text("i1 true")


def _apart() -> str:
    """Does memory, of as many bytes as belong to its place, overlap that of no buffer before?"""
    w = _Writer(_APART)
    arrays, sizes, before, data = w.args("arrays bytes before data")
    end = w.step(data, w.at(sizes, before, "i64"))
    with w.loop(before) as loop:
        other = w.at(arrays, loop.index)
        other_end = w.step(other, w.at(sizes, loop.index, "i64"))
        w.no(w.both(w.compare("ult", data, other_end), w.compare("ult", other, end)))
    return w.text("i1 true")


def _made() -> str:
    """Make arrays for the results; false, and an exception set, when there is no memory."""
    w = _Writer(_MADE)
    api, table, entry, arrays, results = w.args("api table found arrays results")
    before, sizes = w.word(table, Table.N_INPUTS), w.word(entry, Entry.OUTPUT_SHAPES, "ptr")
    array = w.word(api, Api.NDARRAY, "ptr")
    with w.loop(w.word(table, Table.N_OUTPUTS), 1, sizes) as loop:
        spec = w.spec(table, Table.OUTPUTS, loop.index)
        dtype, rank = w.word(spec, Spec.DTYPE, "ptr"), w.word(spec, Spec.RANK)
        w.through(api, Api.INCREF, "void", dtype)  # the array's own
        short = w.convert("trunc", rank, "i32")
        shape, none = loop.carried[0], integer(0, "i32")
        x = w.through(api, Api.NEW_ARRAY, "ptr", array, dtype, short, shape, NULL, NULL, none, NULL)
        with w.returning(w.compare("eq", x, NULL), "i1 false"):
            w.invoke(_DROP, api, results, loop.index)
        w.store(x, w.step(results, loop.index, "ptr"))
        w.store(w.field(x, words.ARRAY_DATA), w.step(arrays, w.add(before, loop.index), "ptr"))
        loop.following.append(w.step(shape, rank, "i64"))
    return w.text("i1 true")


def _drop() -> str:
    w = _Writer(_DROP)
    api, results, count = w.args("api results count")
    with w.loop(count) as loop:
        w.through(api, Api.DECREF, "void", w.at(results, loop.index))
    return w.text()


def _run() -> str:
    """The status of the entry, while which other threads may run if it takes long."""
    w = _Writer(_RUN)
    api, kernel, releases, arrays, sizes, context = w.args("api kernel releases arrays sizes context")
    call = f"call i32 {kernel}({', '.join(p.typed for p in (arrays, sizes, context))})"
    with w.leaving(w.compare("eq", releases, 0)):
        w.stmt(f"ret {w.effect('i32', 1, call).typed}")
    thread = w.through(api, Api.SAVE_THREAD, "ptr")
    status = w.effect("i32", 1, call)
    w.through(api, Api.RESTORE_THREAD, "void", thread)
    return w.text(status.typed)


def _lane() -> str:
    """The builtin."""
    w = _Writer(_LANE)
    self, args, nargs, names = w.args("self args nargs names")
    most = words.MAX_ARRAYS
    arrays, numbers, results = w.room("ptr", 2 * most), w.room("double", most), w.room("ptr", most)
    sizes, context = w.room("i64", words.MAX_SIZES), w.room("i64", _CONTEXT_WORDS)
    stack = w.room("i8", words.STACK_WORK, abi.WORKSPACE_ALIGN)
    table = w.field(self, words.ARRAY_DATA)
    api, count = w.word(table, Table.API, "ptr"), w.word(table, Table.N_OUTPUTS)
    w.go(w.compare("ne", nargs, w.word(table, Table.N_INPUTS)), "slow")
    with w.replacing(w.compare("ne", names, NULL), [NULL]) as given:
        w.go(w.compare("ne", w.through(api, Api.LENGTH, "i64", names), 1), "slow")
        name = w.through(api, Api.GET_ITEM, "ptr", names, integer(0))
        w.go(w.compare("ne", name, w.word(api, Api.OUT, "ptr")), "slow")
        given.append(w.at(args, nargs))
    out = given[0]
    w.go(w.negated(w.invoke(_READ, api, table, args, arrays, numbers)), "slow")
    entry = w.invoke(_FIND, table, args)
    w.go(w.compare("eq", entry, NULL), "slow")
    w.go(w.compare("ne", w.word(entry, Entry.LONG), 0), "slow")
    own = w.compare("eq", out, NULL)
    with w.when(own, unless=True):
        w.go(w.negated(w.invoke(_GIVEN, api, table, entry, out, arrays, results)), "slow")
    with (
        w.when(own),
        w.returning(w.negated(w.invoke(_MADE, api, table, entry, arrays, results)), "ptr null"),
    ):
        pass
    made = w.select(own, count, 0)
    _copy(w, w.word(entry, Entry.SIZES, "ptr"), sizes, w.word(entry, Entry.N_SIZES))
    _copy(w, w.word(table, Table.CONTEXT, "ptr"), context, _CONTEXT_WORDS)
    work = w.word(entry, Entry.WORKSPACE)
    large = w.compare("sgt", work, words.STACK_WORK)
    with w.replacing(large, [stack]) as memory:
        block = w.through(api, Api.ALLOC, "ptr", integer(abi.WORKSPACE_ALIGN), work)
        with w.going(w.compare("eq", block, NULL), "slow"):
            w.invoke(_DROP, api, results, made)
        memory.append(block)
    w.store(memory[0], w.step(context, abi.offset("workspace")))
    w.store(work, w.step(context, abi.offset("workspace_bytes")))
    kernel, releases = w.word(table, Table.KERNEL, "ptr"), w.word(entry, Entry.RELEASES)
    status = w.invoke(_RUN, api, kernel, releases, arrays, sizes, context)
    with w.when(large):
        w.through(api, Api.FREE, "void", memory[0])
    with w.going(w.compare("ne", status, integer(abi.STATUS_OK, "i32")), "slow"):
        w.invoke(_DROP, api, results, made)
        with w.when(w.compare("eq", status, integer(abi.STATUS_INTERRUPTED, "i32"))):
            w.store(integer(1), w.step(entry, 8 * Entry.LONG))
    _give(w, api, results, out, count)
    w.label("slow")
    slow = w.word(table, Table.SLOW, "ptr")
    return w.text(w.through(api, Api.CALL, "ptr", slow, args, nargs, names).typed)


def _copy(w: _Writer, source: Value, target: Value, count: Operand) -> None:
    with w.loop(count) as loop:
        w.store(w.at(source, loop.index, "i64"), w.step(target, loop.index, "i64"))


def _give(w: _Writer, api: Value, results: Value, out: Value, count: Value) -> None:
    """Return one result, or a tuple."""
    first = w.load("ptr", results)
    with w.leaving(w.compare("ne", out, NULL)):
        chosen = w.select(w.compare("eq", count, 1), first, out)
        w.through(api, Api.INCREF, "void", chosen)
        w.stmt(f"ret {chosen.typed}")
    with w.returning(w.compare("eq", count, 1), first.typed):
        pass
    several = w.through(api, Api.NEW_TUPLE, "ptr", count)
    with w.returning(w.compare("eq", several, NULL), "ptr null"):
        w.invoke(_DROP, api, results, count)
    with w.loop(count) as loop:
        w.through(api, Api.SET_ITEM, "i32", several, loop.index, w.at(results, loop.index))
    w.stmt(f"ret {several.typed}")
