"""The operator lane: machine code that replaces the operators of eager tensors once they are called often.

What the code does not know it leaves to the operators in Python, which mean the same; where interpreter or NumPy are
not laid out as it expects, they stay as they are. See `compiler.codegen.lane.operators`.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ...compiler.kernels import operator_lane, operator_lane_on_disk
from ...core import seams
from ...core.autodiff import backplan
from ...core.errors import Location, known_files, user_location
from ...core.op import Op
from ...core.protocols import Record
from ...core.seams import give_methods
from ...core.tensor import Tensor, next_serial
from ...core.tracing.dispatch import NO_ATTRS, Mode, scalars, state, tell
from ...ops.elementwise import arithmetic
from ...ops.state import read
from ...ops.tensor.operators import OPERATORS
from ...runtime import objects
from ...runtime.lane import backward_tables, builtin, probe
from ...runtime.lane import operator_words as words
from ...runtime.lane.backward_words import BACKWARD
from ...runtime.lane.operator_words import Word
from ...runtime.lane.words import Api
from ...runtime.threads.forks import fork_safe
from .. import small_kernels
from ..recording.recorder import LARGE, MANY, SMALL
from ..state import variable
from ..state.variable import Variable

_CALL = Op.__call__  # written in Python
#: What Variables have of their own, and their operators.
_OF_VARIABLES: dict[str, Any] = {name: vars(Variable)[name] for name in ("__tensor__", *words.OPERATORS)}
_FORWARD = {
    "__add__": arithmetic.add,
    "__sub__": arithmetic.subtract,
    "__mul__": arithmetic.multiply,
    "__truediv__": arithmetic.divide,
}
#: The op of an operator, and which of the operands it is called on.
_CALLS: dict[str, tuple[Op, slice]] = {
    **{name: (op, slice(2)) for name, op in _FORWARD.items()},
    **{f"__r{name[2:]}": (op, slice(None, None, -1)) for name, op in _FORWARD.items()},
    "__pow__": (arithmetic.square, slice(1)),
}
_FUNCTIONS = {
    Word.GET_ATTR: "PyObject_GetAttr", Word.NEW_OBJECT: "PyType_GenericAlloc", Word.NEXT: "PyIter_Next",
    Word.CALL: "PyObject_Vectorcall", Word.INCREF: "Py_IncRef", Word.DECREF: "Py_DecRef",
    Word.AS_DOUBLE: "PyFloat_AsDouble", Word.AS_INTEGER: "PyLong_AsLongLongAndOverflow",
    Word.NEW_INTEGER: "PyLong_FromLongLong", Word.NEW_TUPLE: "PyTuple_New", Word.SET_ITEM: "PyTuple_SetItem",
    Word.GET_ITEM: "PyTuple_GetItem", Word.LENGTH: "PyTuple_Size", Word.GET_DICT_ITEM: "PyDict_GetItemWithError",
    Word.SET_DICT_ITEM: "PyDict_SetItem",
    Word.CONTAINS: "PySet_Contains", Word.ADD: "PySet_Add", Word.APPEND: "PyList_Append",
    Word.FRAME: "PyEval_GetFrame", Word.CODE: "PyFrame_GetCode", Word.LAST: "PyFrame_GetLasti",
    Word.BACK: "PyFrame_GetBack", Word.CLEAR_ERROR: "PyErr_Clear", Word.DICT_LENGTH: "PyDict_Size",
    Word.NEW_LIST: "PyList_New",
    Word.LIST_LENGTH: "PyList_Size", Word.GET_LIST_ITEM: "PyList_GetItem", Word.SET_LIST_ITEM: "PyList_SetItem",
    Word.SET_LENGTH: "PySet_Size", Word.EQUALS: "PyObject_RichCompareBool", Word.RAISED: "PyErr_Occurred",
}  # fmt: skip
#: Where tuples of so many bytes before their items keep their hash.
_HASHES = {24: 0, 32: 24}
_lock = fork_safe()
#: Classes of tapes whose methods are machine code now.
_served: set[type] = set()
_NOBODY: tuple[Any, ...] = ()  # there is one empty tuple


def use(tape: type, make: bool = True) -> bool:
    """From now on operators are machine code, where they can be: are they?

    Parameters
    ----------
    tape : type
        What the code writes records for itself: a class that keeps them as `Recording` does.
    make : bool
        Else only code that was made on this machine before is taken.
    """
    with _lock:
        methods = _methods(tape) if make or operator_lane_on_disk() is not None else None
        if methods is None:
            return False
        if any(vars(Tensor)[name] is not method for name, method in methods.items()):
            give_methods(Tensor, methods)
            small_kernels.give(_code().function(words.SMALL), partial(_heard, chosen=None))
            give_methods(Op, {"__call__": _call_of_ops()})
            give_methods(Variable, _methods_of_variables())
            give_methods(Mode, {"tell": _tell_of_modes()})
            give_methods(tape, _methods_of_tapes(tape))
            _served.add(tape)
            seams.machine_backward.provide(
                backward_tables.maker(_code().function(BACKWARD), small_kernels.WRITTEN)
            )
            backplan.forget()  # its plans call kernels as ever
    return True


def leave() -> None:
    """From now on operators are Python again."""
    while _served:
        tape = _served.pop()
        for name in words.TAPE_METHODS:
            delattr(tape, name)  # the class behind it has them in Python
    give_methods(Tensor, {name: OPERATORS[name] for name in words.OPERATORS})
    give_methods(Op, {"__call__": _CALL})
    give_methods(Variable, _OF_VARIABLES)
    give_methods(Mode, {"tell": staticmethod(tell)})
    small_kernels.take_away()
    seams.machine_backward.provide(lambda *backward: None)
    backplan.forget()


@lru_cache(maxsize=1)
def _methods(tape: type) -> dict[str, Any] | None:
    """The operators by the names of their methods; None where the code must not be used."""
    api = probe.api()
    table = None if api is None else _table(api, tape)
    if table is None:
        return None
    loaded = _code()
    ctypes.c_uint64.from_address(loaded.address(words.TABLE)).value = table.ctypes.data
    methods = {}
    for name in words.OPERATORS:
        code = loaded.function(words.symbol(name))
        methods[name] = builtin.method_of(builtin.described(name, code, builtin.ONE), Tensor)
    return methods


@lru_cache(maxsize=1)
def _call_of_ops() -> Any:
    """What ops are called by."""
    code = _code().function(words.CALL_OP)
    return builtin.method_of(builtin.described("__call__", code, builtin.FASTCALL | builtin.KEYWORDS), Op)


@lru_cache(maxsize=1)
def _methods_of_variables() -> dict[str, Any]:
    """What reads Variables, by itself and in operators."""
    symbols = {name: (words.of_variables(name), builtin.ONE) for name in words.OPERATORS}
    symbols["__tensor__"] = words.READ_VARIABLE, builtin.NOTHING
    return {
        name: builtin.method_of(builtin.described(name, _code().function(symbol), kind), Variable)
        for name, (symbol, kind) in symbols.items()
    }


@lru_cache(maxsize=1)
def _tell_of_modes() -> Any:
    """What tells recorders of calls that Python has made."""
    return builtin.function_of(
        builtin.described("tell", _code().function(words.NOTE), builtin.FASTCALL), None
    )


@lru_cache(maxsize=1)
def _methods_of_tapes(tape: type) -> dict[str, Any]:
    """What enters and leaves tapes, and watches."""
    flags = builtin.FASTCALL | builtin.KEYWORDS
    methods = {}
    for name in words.TAPE_METHODS:
        code, python = _code().function(words.tape_method(name)), getattr(tape, name)
        methods[name] = builtin.method_of(builtin.described(name, code, flags, python), tape)
    return methods


@lru_cache(maxsize=1)
def _code() -> Any:
    """The machine code."""
    return objects.load(operator_lane())


def _keep(x: Any) -> Any:
    """Let an object that code points to live as long as the process."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(x))
    return x


def _table(api: Any, tape: Any) -> np.ndarray | None:
    """The table; None where tensors or modes are not laid out as the code expects."""
    counter, offsets = getattr(next_serial, "__self__", None), _offsets(tape)
    if counter is None or None in offsets.values() or Mode().recorders is not _NOBODY:
        return None
    table = _keep(np.zeros(words.SIZE, np.uint64))
    things = {
        Word.TENSOR: Tensor, Word.FLOAT: float, Word.INT: int, Word.FLOAT64: np.dtype(np.float64),
        Word.FLOAT32: np.dtype(np.float32), Word.STATE: state, Word.MODE: sys.intern("mode"), Word.FALSE: False,
        Word.TRUE: True, Word.AS_ARRAY: np.asarray, Word.SHAPE: sys.intern("shape"),
        Word.NOBODY: _NOBODY, Word.COUNTER: counter, Word.NONE: None, Word.NDARRAY: np.ndarray, Word.SET: set,
        Word.LIST: list, Word.DICT: dict, Word.TAPE: tape,
        Word.VARIABLE: Variable, Word.READ: read, Word.COMPUTED: variable.COMPUTED,
        Word.REMEMBER: variable.remember, Word.READ_IN_PYTHON: _OF_VARIABLES["__tensor__"],
        Word.RECORD: Record, Word.LOCATION: Location,
        Word.NO_ATTRS: NO_ATTRS, Word.SCALARS: scalars, Word.NUMBER_OF_FLOAT32: np.dtype(np.float32).num,
        Word.NUMBER_OF_FLOAT64: np.dtype(np.float64).num, Word.FILES: known_files,
        Word.CALL_OP: _CALL, Word.TELL: tell, Word.ENTER: tape.__enter__, Word.LEAVE: tape.__exit__,
        Word.WATCH: tape.watch, Word.SMALL_KERNELS: small_kernels.TABLES,
    }  # fmt: skip
    for word, thing in things.items():
        table[word] = id(_keep(thing))
    numbers = {
        Word.SMALL_BYTES: SMALL, Word.LARGE_BYTES: LARGE, Word.MANY_BYTES: MANY,
        Word.MOST_COMPUTED: variable.MOST_COMPUTED,
    }  # fmt: skip
    for word, number in (*offsets.items(), *numbers.items()):
        table[word] = number
    for word, name in _FUNCTIONS.items():
        table[word] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    table[Word.NEW_ARRAY] = api[Api.NEW_ARRAY]
    for index, name in enumerate(words.OPERATORS):
        table[words.place(index, words.Callable.SLOW)] = id(_keep(OPERATORS[name]))
        table[words.place(index, words.Callable.OF_VARIABLES)] = id(_keep(_OF_VARIABLES[name]))
        op, chosen = _CALLS[name]
        heard = _heard(op, chosen)
        table[words.place(index, words.Callable.HEARD)] = id(_keep(heard))
        table[words.place(index, words.Callable.OP)] = id(_keep(op))
        table[words.place(index, words.Callable.INPUTS)] = len(op.tensors)
    return table


def _offsets(tape: type) -> dict[Word, int | None]:
    """Where objects have the fields that the code reads and writes; None for what is not where it should be."""
    tensor = Tensor(np.zeros(2))
    tensor._spec = tensor.spec
    record = Record(arithmetic.add, (tensor,), {}, (tensor, tensor), Location((1,)))
    offsets: dict[Word, int | None] = {}
    for x, fields in (
        (tensor, {Word.PAYLOAD: "_payload", Word.SPEC: "_spec", Word.DTYPE: "np_dtype", Word.SERIAL: "serial"}),
        (Mode(), {Word.SLOW: "slow", Word.RECORDERS: "recorders", Word.INHERITED: "location", Word.BUSY: "busy",
                  Word.ATTEMPT: "attempt"}),
        (tape(), {Word.TRACKED: "tracked", Word.RECORDS: "records", Word.RECORDING: "_recording",
                  Word.USED: "_used", Word.MERGING: "_merging", Word.WATCHES: "_watches_variables",
                  Word.WATCHED: "_watched", Word.HELD: "held"}),
        (Variable(0.0), {Word.VALUE: "_value", Word.HANDLE: "handle", Word.TRAINABLE: "trainable",
                         Word.NAME: "name"}),
        (record, {Word.RECORD_OP: "op", Word.RECORD_INPUTS: "inputs", Word.RECORD_ATTRS: "attrs",
                  Word.RECORD_OUTPUTS: "outputs", Word.RECORD_LOCATION: "location"}),
    ):  # fmt: skip
        offsets.update({word: _offset(x, name) for word, name in fields.items()})
    offsets[Word.FILE] = _file_offset()
    offsets[Word.HASH] = _HASHES.get(tuple.__basicsize__)
    return offsets


def _file_offset() -> int | None:
    """Where code has the name of its file; None where it is not found."""
    codes = [compile("pass", f"a file for the lane {k}", "exec") for k in range(2)]
    found = [
        place
        for place in range(object.__basicsize__, type(codes[0]).__basicsize__, 8)
        if all(ctypes.c_size_t.from_address(id(c) + place).value == id(c.co_filename) for c in codes)
    ]
    return found[0] if len(found) == 1 else None


def _offset(x: Any, name: str) -> int | None:
    """Where the object has the field, which no other of its fields has the value of; None where it is not found."""
    marker = object()
    before = getattr(x, name)
    setattr(x, name, marker)
    try:
        found = [
            place
            for place in range(object.__basicsize__, type(x).__basicsize__, 8)
            if ctypes.c_size_t.from_address(id(x) + place).value == id(marker)
        ]
    finally:
        setattr(x, name, before)
    return found[0] if len(found) == 1 else None


def _heard(op: Op, chosen: slice | None) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """What tells those who listen of a call that machine code has made, on these of the operands; None: its inputs."""
    chosen = slice(len(op.tensors)) if chosen is None else chosen

    def heard(self: Tensor, other: Tensor, result: Tensor) -> Tensor:
        mode = state.mode
        operands: tuple[Any, ...] = (self, other)
        record = Record(op, operands[chosen], NO_ATTRS, (result,), mode.location or user_location(2))
        for recorder in mode.recorders:
            recorder.record(record)
        return result

    return heard
