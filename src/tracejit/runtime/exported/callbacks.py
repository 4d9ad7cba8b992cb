"""Callbacks: functions of the types that SciPy's compiled loops call, which code for a suitable function has, too.

Which there are follows from the signature alone. Their text is `compiler.callbacks`; nothing here needs SciPy.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.runtime.exported.interface import Interface
from tracejit.runtime.signature import ArraySpec, Signature

_POINTER = ctypes.POINTER(ctypes.c_double)
_SIZE = ctypes.c_ssize_t
_DOUBLE = np.dtype(np.float64)


class Callback(NamedTuple):
    """A type of function that others call.

    Attributes
    ----------
    suffix : str
        Of the symbol, after the name of the exported function.
    text : str
        The type as SciPy writes it.
    type : type
        The same for `ctypes`.
    fits : callable
        Can a function of such inputs, with such a result, be called so?
    needs : str
        What these are, in words.
    """

    suffix: str
    text: str
    type: Any
    fits: Callable[[Sequence[ArraySpec], ArraySpec], bool]
    needs: str


def _number(spec: ArraySpec) -> bool:
    return spec == (_DOUBLE, ())


def _vector(spec: ArraySpec) -> bool:
    return spec[0] == _DOUBLE and len(spec[1]) == 1


def _numbers(inputs: Sequence[ArraySpec]) -> bool:
    return bool(inputs) and all(map(_number, inputs))


CALLBACKS = (
    Callback(
        "number",
        "double (double, void *)",
        ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_void_p),
        lambda inputs, result: len(inputs) == 1 and _numbers(inputs) and _number(result),
        "one float64 number, and returns one",
    ),
    Callback(
        "numbers",
        "double (int, double *, void *)",
        ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int, _POINTER, ctypes.c_void_p),
        lambda inputs, result: (
            _number(result) and (_numbers(inputs) or (len(inputs) == 1 and _vector(inputs[0])))
        ),
        "float64 numbers or one float64 vector, and returns a float64 number",
    ),
    Callback(
        "window",
        "int (double *, intptr_t, double *, void *)",
        ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, _SIZE, _POINTER, ctypes.c_void_p),
        lambda inputs, result: len(inputs) == 1 and _vector(inputs[0]) and _number(result),
        "one float64 vector, and returns a float64 number",
    ),
    Callback(
        "line",
        "int (double *, intptr_t, double *, intptr_t, void *)",
        ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, _SIZE, _POINTER, _SIZE, ctypes.c_void_p),
        lambda inputs, result: len(inputs) == 1 and _vector(inputs[0]) and _vector(result),
        "one float64 vector, and returns one",
    ),
)
#: Where there is SciPy, in the same process.
_MACHINES = ("x86_64", "aarch64", "riscv64")
#: Who calls what: the names of SciPy's functions.
CALLERS: dict[str, tuple[str, ...]] = {
    "quad": ("number", "numbers"),
    "nquad": ("numbers",),
    "cython_optimize": ("number",),
    "generic_filter": ("window",),
    "generic_filter1d": ("line",),
}


def callbacks(signature: Signature, arch: str) -> list[Callback]:
    """Those that code for a function has, beside the function; none where it has several results."""
    if len(signature.outputs) != 1 or signature.callee_allocated or arch not in _MACHINES:
        return []
    return [c for c in CALLBACKS if c.fits(signature.inputs, signature.outputs[0])]


def symbol(interface: Interface, callback: Callback) -> str:
    """The symbol of a callback; not seen outside of this package."""
    return f"{interface.name}.{callback.suffix}"
