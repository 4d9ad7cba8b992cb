"""Small kernels: NumPy's loops on small arrays, called without what NumPy does around them.

Which takes most of the time of a ufunc on a few numbers. The loops are NumPy's own, given the same strides, so that the
bits are the same; where a ufunc is not laid out as it should be, or gives anything else, it is called as ever.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.errors import TracejitError
from ..core.op import OPS, Op
from ..core.tensor import Tensor
from ..core.tracing.dispatch import accept_dtype
from ..runtime.lane import builtin
from ..runtime.lane.entries import Words
from ..runtime.lane.operator_words import KNOWN, Known, Loop
from ..runtime.lane.words import HEAD

_DTYPES = [
    np.dtype(name) for name in ("float64", "float32", "int64", "int32", "bool", "complex128", "complex64")
]
#: Of a ufunc: numbers of inputs, outputs, both; its loops, what they are given, how many they are, and their dtypes.
_INPUTS, _OUTPUTS, _ARGUMENTS, _LOOPS, _DATA, _COUNT, _TYPES = (HEAD + k for k in (0, 4, 8, 16, 24, 32, 48))


#: The tables of small kernels by op, of those that may be called without a look at their arguments.
TABLES: dict[Op, Words] = {}
#: Those of all ops that have one.
WRITTEN: dict[Op, Words] = {}
#: The loops of ufuncs that do what the ufunc does.
_verified: dict[Any, list[list[int]]] = {}


def give(code: int, heard: Callable[[Op], Callable[..., Any]]) -> None:
    """Let ops have a small kernel of their ufuncs, where it does what the ufunc does.

    Parameters
    ----------
    code : int
        The address of the machine code.
    heard : callable
        ``op -> (first, last, result) -> result``: what tells those who listen of a call of the op.
    """
    method = builtin.described("small_kernel", code, builtin.FASTCALL)
    for op in OPS.declared().values():  # no family that is declared later has a ufunc
        if op.ufunc:
            if op.kernel not in _verified:
                _verified[op.kernel] = _loops(op, method)
            loops = _verified[op.kernel]
            table = _table(op, loops)
            table.kept.append(heard(op))
            table[Known.HEARD] = id(table.kept[-1])
            op.small = builtin.function_of(method, table) if loops else None
            if op.small is not None:
                WRITTEN[op] = table
            if op.small is not None and _is_plain(op):
                TABLES[op] = table


def take_away() -> None:
    """From now on all kernels are called as ever."""
    TABLES.clear()
    WRITTEN.clear()
    for op in OPS.declared().values():
        op.small = None


def _is_plain(op: Op) -> bool:
    """Does a call of the op with tensors of floats come to its kernel, and nothing else?"""
    if op.slow or op.multiple:
        return False
    for dtype in (np.float32, np.float64):
        inputs = tuple([Tensor(np.ones(1, dtype)) for _ in range(len(op.tensors))])
        try:
            accept_dtype(op, inputs, {})
            brought, attrs = (inputs, {}) if op.canonicalize is None else op.canonicalize(inputs, {})
        except TracejitError:
            return False
        if (
            attrs
            or len(brought) != len(inputs)
            or any(a is not b for a, b in zip(brought, inputs, strict=True))
        ):
            return False
    return True


def _loops(op: Op, method: builtin.MethodDef) -> list[list[int]]:
    """A `Loop` each for the dtypes of which the ufunc has one that does what the ufunc does."""
    rows = _rows(op.kernel)
    small = builtin.function_of(method, _table(op, list(rows.values())))
    return [row for dtype, row in rows.items() if _does(small, op.kernel, dtype)]


def _table(op: Op, loops: list[list[int]]) -> Words:
    """The table of a small kernel, which keeps what it points to."""
    table = np.zeros(KNOWN + len(Loop) * len(loops), np.uint64).view(Words)
    table[Known.OP], table[Known.INPUTS], table[Known.LOOPS] = id(op), len(op.tensors), len(loops)
    table[KNOWN:] = [word for row in loops for word in row]
    table.kept = [op]
    return table


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
