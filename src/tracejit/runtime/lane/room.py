"""Objects of a Python class with a slot for the address of code that Python calls in their place.

While there is none Python calls the class's ``__call__``, which means the same.
"""

from __future__ import annotations

import ctypes
import sys
from functools import lru_cache
from typing import Any

from tracejit.runtime.lane import words

_VERSIONS = ((3, 11), (3, 14))  # of Python, first and last
_DEFAULT, _HAS_VECTORCALL = 1 << 18, 1 << 11  # flags of types
_MEMBERS = 72  # the number of the slot with members
_SIZE, _READ_ONLY = 19, 1  # kind and flags of a member


def is_known() -> bool:
    """Is this an interpreter that has been tried?"""
    return (
        sys.implementation.name == "cpython"
        and _VERSIONS[0] <= sys.version_info[:2] <= _VERSIONS[1]
        and object.__basicsize__ == words.HEAD
        and ctypes.sizeof(ctypes.c_void_p) == 8
        and sys.byteorder == "little"
    )


class _Member(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p), ("kind", ctypes.c_int), ("offset", ctypes.c_ssize_t), ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]  # fmt: skip


class _Slot(ctypes.Structure):
    _fields_ = [("slot", ctypes.c_int), ("value", ctypes.c_void_p)]


class _Spec(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p), ("basicsize", ctypes.c_int), ("itemsize", ctypes.c_int), ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(_Slot)),
    ]  # fmt: skip


@lru_cache(maxsize=8)
def with_room(kind: Any) -> Any:
    """A class like `kind`, and its subclass, whose objects have room; `kind` itself where there is no lane."""
    if not is_known() or hasattr(sys, "gettotalrefcount") or kind.__basicsize__ > words.CALLED_CODE:
        return kind
    members = (_Member * 2)(_Member(b"__vectorcalloffset__", _SIZE, words.CALLED_CODE, _READ_ONLY, None))
    slots = (_Slot * 2)(_Slot(_MEMBERS, ctypes.addressof(members)))
    name = f"{kind.__module__}.{kind.__qualname__}".encode()
    spec = _Spec(name, words.CALLED_BYTES, 0, _DEFAULT | _HAS_VECTORCALL, slots)
    make = ctypes.pythonapi.PyType_FromSpecWithBases
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object]
    made: type = make(ctypes.addressof(spec), (kind,))
    made.__doc__ = kind.__doc__
    for kept in (members, slots, spec, made):  # objects may outlive this module
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    return made


def has_room(x: Any) -> bool:
    """Is it an object that can be called by code?"""
    return type(x).__basicsize__ == words.CALLED_BYTES and type(x) is with_room(type(x).__base__)


def call_by(x: Any, code: int, table: int) -> None:
    """From now on calls of an object that has room are calls of the code, which reads the table."""
    for offset, word in ((words.CALLED_TABLE, table), (words.CALLED_CODE, code)):
        ctypes.c_uint64.from_address(id(x) + offset).value = word
