"""Probe: are Python's and NumPy's objects laid out as the lane's code expects, and where are the functions it calls?

Looked at on live objects, once per process. Where anything is not as expected, calls go the Python way, which gives the
same results.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

try:
    from numpy._core._multiarray_umath import _ARRAY_API
except ImportError:  # private to numpy: without it, calls go the Python way
    _ARRAY_API = None

from tracejit.runtime import abi
from tracejit.runtime.lane import room, words
from tracejit.runtime.lane.words import Api

_ABI = (0x1000009, 0x2000000)  # of NumPy's C interface
# places in NumPy's table of functions
_ABI_VERSION, _NDARRAY, _NEW_FROM_DESCR = 0, 2, 94
_FUNCTIONS = {
    Api.NEW_TUPLE: "PyTuple_New", Api.SET_ITEM: "PyTuple_SetItem", Api.GET_ITEM: "PyTuple_GetItem",
    Api.LENGTH: "PyTuple_Size", Api.AS_DOUBLE: "PyFloat_AsDouble", Api.INCREF: "Py_IncRef",
    Api.DECREF: "Py_DecRef", Api.SAVE_THREAD: "PyEval_SaveThread", Api.RESTORE_THREAD: "PyEval_RestoreThread",
    Api.CALL: "PyObject_Vectorcall", Api.NEW_LIST: "PyList_New", Api.SET_LIST_ITEM: "PyList_SetItem",
    Api.GET_LIST_ITEM: "PyList_GetItem", Api.LIST_LENGTH: "PyList_Size", Api.NEW_DICT: "PyDict_New",
    Api.SET_DICT_ITEM: "PyDict_SetItem", Api.GET_DICT_ITEM: "PyDict_GetItemWithError",
    Api.NEXT_OF_DICT: "PyDict_Next", Api.DICT_LENGTH: "PyDict_Size", Api.AS_LONG: "PyLong_AsLongAndOverflow",
    Api.NEW_OBJECT: "PyType_GenericAlloc", Api.NEXT: "PyIter_Next", Api.THREAD: "PyThreadState_GetDict",
    Api.GET_CONTEXT: "PyContextVar_Get", Api.NO_MEMORY: "PyErr_NoMemory",
}  # fmt: skip
_LISTS = (words.ARRAY_DIMS, words.ARRAY_STRIDES)
_OBJECTS = {
    Api.NDARRAY: np.ndarray, Api.TUPLE: tuple, Api.LIST: list, Api.DICT: dict, Api.FLOAT: float, Api.INT: int,
    Api.FLOAT64: np.float64, Api.NONE: None, Api.FALSE: False, Api.TRUE: True,
}  # fmt: skip


@lru_cache(maxsize=1)
def api() -> ctypes.Array[Any] | None:
    """The table of `Api`, which lives as long as the process; None where the lane must not be used."""
    try:
        table = _table() if room.is_known() else None
    except (AttributeError, ValueError, TypeError, ImportError):
        return None
    if (
        table is None
        or not all(map(_is_laid_out, _samples()))
        or not all(map(_is_where_it_should_be, _numbers()))
    ):
        return None
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(table))  # objects that are called may outlive this module
    return table


def _table() -> ctypes.Array[Any] | None:
    """The table; None where NumPy's own is not what is expected."""
    table = (ctypes.c_uint64 * Api.WORDS)()
    for place, name in _FUNCTIONS.items():
        table[place] = address(getattr(ctypes.pythonapi, name))
    functions = _numpy_functions()
    version = ctypes.CFUNCTYPE(ctypes.c_uint)(functions[_ABI_VERSION])()
    if version not in _ABI or functions[_NDARRAY] != id(np.ndarray) or not _makes(functions[_NEW_FROM_DESCR]):
        return None
    table[Api.NEW_ARRAY] = functions[_NEW_FROM_DESCR]
    for place, x in _OBJECTS.items():
        table[place] = id(x)
    table[Api.OUT] = id(_OUT)
    table[Api.ALLOC], table[Api.FREE] = abi.ALLOC_ADDRESS, abi.FREE_ADDRESS
    return table


#: The interned name as which keywords of calls arrive.
_OUT = sys.intern("out")


def address(function: Any) -> int:
    """Where a function of Python is."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _numpy_functions() -> ctypes.Array[Any]:
    """The first part of NumPy's table of functions."""
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        address(ctypes.pythonapi.PyCapsule_GetPointer)
    )
    return (ctypes.c_size_t * (_NEW_FROM_DESCR + 1)).from_address(get(_ARRAY_API, None))


def _makes(address: int) -> bool:
    """Does the function make an array as it is asked to?"""
    pointer, number = ctypes.c_void_p, ctypes.c_int
    kinds: list[Any] = [ctypes.py_object] * 3 + [number, pointer, pointer, pointer, number, pointer]
    make: Callable[..., Any] = ctypes.PYFUNCTYPE(*kinds)(address)
    dtype = np.dtype(np.int16)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(dtype))  # the function keeps one
    sizes = (ctypes.c_ssize_t * 2)(3, 5)
    made = make(np.ndarray, dtype, 2, ctypes.addressof(sizes), None, None, 0, None)
    return type(made) is np.ndarray and made.shape == (3, 5) and made.dtype is dtype and made.flags.carray


def _samples() -> list[np.ndarray]:
    whole = np.zeros((4, 6), np.float32)
    read_only = np.arange(3)
    read_only.flags.writeable = False
    return [
        np.empty(()), np.empty(3, np.int64), np.empty((0, 2), np.bool_), whole, whole[:, 1:], whole.T, read_only,
        np.empty((2, 1, 3), np.complex128), np.empty(2, ">f8"), np.frombuffer(bytearray(17), "u1")[1:].view("f8"),
    ]  # fmt: skip


def _is_laid_out(array: np.ndarray) -> bool:
    """Is everything about an array where the lane's code looks for it?"""

    def word(offset: int, kind: Any = ctypes.c_size_t) -> int:
        return int(kind.from_address(id(array) + offset).value)

    rank = word(words.ARRAY_RANK, ctypes.c_int)
    if rank != array.ndim:
        return False
    lists = [(ctypes.c_ssize_t * rank).from_address(word(place)) if rank else () for place in _LISTS]
    return (
        word(words.OB_TYPE) == id(np.ndarray)
        and word(words.ARRAY_DATA) == array.__array_interface__["data"][0]
        and tuple(map(tuple, lists)) == (array.shape, array.strides)
        and word(words.ARRAY_DTYPE) == id(array.dtype)
        and word(words.ARRAY_FLAGS, ctypes.c_int) == array.flags.num
    )


#: The kinds of dtypes whose numbers the code reads, of at most a word.
NUMBERS = "biuf"


def _numbers() -> list[np.generic]:
    return [np.dtype(code).type(1.5) for code in np.typecodes["AllInteger"] + "?efd"]


def _is_where_it_should_be(number: np.generic) -> bool:
    """Is the value of a number where the code looks for it, and its class where its dtype says so?"""
    value = ctypes.string_at(id(number) + words.NUMBER, number.itemsize)
    kind = ctypes.c_size_t.from_address(id(number.dtype) + words.NUMBER_CLASS).value
    return (
        value == number.tobytes()
        and kind == id(type(number))
        and type(number).__basicsize__ >= words.NUMBER + 8
    )
