"""Lane: machine code as functions and methods of Python; a compiled function as one, whose arguments are its inputs.

Shapes that a call in Python has checked are admitted; from then on calls with them take the lane.
"""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tracejit.runtime.executable import Executable
from tracejit.runtime.lane import entries, probe, words
from tracejit.runtime.lane.entries import MAX_ENTRIES as MAX_ENTRIES
from tracejit.runtime.lane.words import Kind, Nest

_float64 = np.dtype(np.float64)

#: How a function is called: with nothing; with one object; with an array of them; with names of those by keyword, too.
NOTHING, ONE, FASTCALL, KEYWORDS = 0x4, 0x8, 0x80, 0x2


class MethodDef(ctypes.Structure):
    """Python's description of a function; objects made of it need it as long as they live."""

    _fields_ = [
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)
    ]  # fmt: skip


def described(name: str, code: int, flags: int, like: Callable[..., Any] | None = None) -> MethodDef:
    """The description of the function at an address; it lives as long as the process.

    Its signature and what is said of it are those of `like`.
    """
    doc = None if like is None else _doc(name, like)
    method = MethodDef(name.encode(), code, flags, doc)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(method))
    return method


def _doc(name: str, like: Callable[..., Any]) -> bytes:
    """What Python takes the signature of builtins from, and what is said of them."""
    first, *others = inspect.signature(like).parameters.values()
    taken = ", ".join([f"${first.name}", *(str(p.replace(annotation=p.empty)) for p in others)])
    return f"{name}({taken})\n--\n\n{like.__doc__ or ''}".encode()


def function_of(method: MethodDef, table: Any) -> Callable[..., Any]:
    """A function whose ``self`` is the table."""
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    made: Callable[..., Any] = new(ctypes.addressof(method), table, None)
    return made


def method_of(method: MethodDef, kind: type) -> Any:
    """A method of objects of the class."""
    new = ctypes.pythonapi.PyDescr_NewMethod
    new.restype, new.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.c_void_p]
    return new(kind, ctypes.addressof(method))


@lru_cache(maxsize=8)
def _loaded(code: bytes) -> tuple[MethodDef, int]:
    """What all builtins with the same code share, and what answers polls; they live as long as the process."""
    loaded = entries.Code(code)
    return described("compiled", loaded.entry, FASTCALL | KEYWORDS), loaded.stop


class Lane:
    """A function that is called by machine code.

    Parameters
    ----------
    code : bytes
        The object with the lane's code, of this `words.VERSION`.
    executable : Executable
        The function; its outputs' shapes are known before a call.
    slow : callable
        Takes the same arguments; called for all that the tables do not admit, and to raise what a call that failed
        should raise.
    weight : int
        Bytes that every call touches beside its arguments.
    """

    def __init__(self, code: bytes, executable: Executable, slow: Callable[..., Any], weight: int = 0):
        api = probe.api()
        assert api is not None
        self._executable, self._weight = executable, weight
        self._entries = entries.Entries(api, slow)
        method, self._stop = _loaded(code)
        self._taken = _taken(executable)
        self.builtin = function_of(method, self._entries.table)

    @staticmethod
    def serves(executable: Executable) -> bool:
        """Can the function take a lane at all, in this process?"""
        return bool(executable.signature.outputs) and entries.serves(executable) and probe.api() is not None

    def admit(self, shapes: Sequence[tuple[int, ...]]) -> bool:
        """From now on inputs of these shapes, for which the function has been called, take the lane; False: not these.

        There is room for `MAX_ENTRIES`, and large results take memory that Python keeps.
        """
        return self._entries.add(self._executable, self._stop, self._taken, shapes, self._weight)


def _taken(executable: Executable) -> entries.Taken:
    """Calls with the inputs as arguments, which give the outputs: one, or a tuple."""
    signature = executable.signature
    numbers = [dtype == _float64 and not shape for dtype, shape in signature.inputs]
    accepted = [(words.A_FLOAT | words.A_FLOAT64) * number for number in numbers]
    taken = entries.Taken([entries.argument(k, a) for k, a in enumerate(accepted)], len(accepted))
    count = len(signature.outputs)
    if count > 1:
        places = np.arange(count)
        taken.kept.append(places)
        taken.nests = [{Nest.KIND: Kind.TUPLE, Nest.COUNT: count, Nest.ITEMS: places.ctypes.data}]
        taken.result = count
    return taken
