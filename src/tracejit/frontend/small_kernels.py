"""Small kernels: NumPy's loops on small arrays, called without what NumPy does around them.

Which takes most of the time of a ufunc on a few numbers. The loops are NumPy's own, given the same strides, so that the
bits are the same; where a ufunc is not laid out as it should be, or gives anything else, it is called as ever.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ..core.op import OPS
from ..runtime.lane.entries import Words
from ..runtime.lane.operator_words import Known, Loop
from ..runtime.lane.words import HEAD

_DTYPES = [
    np.dtype(name) for name in ("float64", "float32", "int64", "int32", "bool", "complex128", "complex64")
]
_METH_FASTCALL = 0x80
#: Of a ufunc: numbers of inputs, outputs, both; its loops, what they are given, how many they are, and their dtypes.
_INPUTS, _OUTPUTS, _ARGUMENTS, _LOOPS, _DATA, _COUNT, _TYPES = (HEAD + k for k in (0, 4, 8, 16, 24, 32, 48))


class _MethodDef(ctypes.Structure):
    """Python's description of a builtin."""

    _fields_ = [
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)
    ]  # fmt: skip


def give(code: int) -> None:
    """Let ops have a small kernel of their ufuncs, where it does what the ufunc does.

    Parameters
    ----------
    code : int
        The address of the machine code.
    """
    method = _MethodDef(b"small_kernel", code, _METH_FASTCALL, None)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(method))  # builtins refer to it
    made: dict[Any, Any] = {}
    for op in OPS.values():
        if op.ufunc:
            if op.kernel not in made:
                made[op.kernel] = _builtin(op.kernel, method)
            op.small = made[op.kernel]


def take_away() -> None:
    """From now on all kernels are called as ever."""
    for op in OPS.values():
        op.small = None


def _builtin(ufunc: Any, method: _MethodDef) -> Any:
    """The small kernel of a ufunc; None where there is none."""
    rows = _rows(ufunc)
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    while rows:
        table = np.zeros(len(Known) + len(Loop) * len(rows), np.uint64).view(Words)
        table[Known.INPUTS], table[Known.LOOPS] = ufunc.nin, len(rows)
        table[len(Known) :] = [word for row in rows.values() for word in row]
        table.kept = [ufunc]
        builtin = new(ctypes.addressof(method), table, None)
        wrong = [dtype for dtype in rows if not _does(builtin, ufunc, dtype)]
        if not wrong:
            return builtin
        rows = {dtype: row for dtype, row in rows.items() if dtype not in wrong}
    return None


def _rows(ufunc: Any) -> dict[np.dtype, list[int]]:
    """A `Loop` each for the dtypes of which it has one; nothing where it is not laid out as it should be."""
    here = id(ufunc)
    numbers = [
        ctypes.c_int.from_address(here + place).value for place in (_INPUTS, _OUTPUTS, _ARGUMENTS, _COUNT)
    ]
    if numbers != [ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.ntypes]:
        return {}
    loops, data, types = (
        ctypes.c_size_t.from_address(here + place).value for place in (_LOOPS, _DATA, _TYPES)
    )
    spelled = [kinds.replace("->", "") for kinds in ufunc.types]
    if ctypes.string_at(types, ufunc.nargs * ufunc.ntypes) != b"".join(
        bytes([np.dtype(c).num]) for kinds in spelled for c in kinds
    ):
        return {}
    rows = {}
    for dtype in _DTYPES:
        wanted = dtype.char * ufunc.nin
        for index, kinds in enumerate(spelled):
            if kinds.startswith(wanted):
                result = np.dtype(kinds[-1])
                word = 8 * index
                code = ctypes.c_size_t.from_address(loops + word).value
                extra = ctypes.c_size_t.from_address(data + word).value if data else 0
                rows[dtype] = [id(dtype), dtype.itemsize, id(result), result.itemsize, code, extra]
                break
    return rows


def _does(builtin: Any, ufunc: Any, dtype: np.dtype) -> bool:
    """Does it give what the ufunc gives, for some numbers of that dtype?"""
    numbers = np.array([0.75, -1.5, 0.0, 2.0, 0.3, 1.0, 3.5, -0.25, 0.5], np.float64).astype(dtype)
    for shape in ((9,), (3, 3), (1,), ()):
        given = [np.resize(np.roll(numbers, k), shape) for k in range(ufunc.nin)]
        with np.errstate(all="ignore"):
            expected = ufunc(*given, out=...)
        got = builtin(*given)
        if (
            got is None
            or got.dtype is not expected.dtype
            or got.shape != shape
            or got.tobytes() != expected.tobytes()
        ):
            return False
    return True
