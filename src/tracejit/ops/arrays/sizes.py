"""Sizes among other numbers: ``x.shape[0] / 2``, ``x * x.shape[0]`` where the size is known when the function runs.

With ints and sizes a `Dim` computes by itself, and gives sizes. With floats, arrays and tensors it is the Python int
that it stands for, which takes the dtype of what it meets.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np

from ...core.dim import Dim, known
from ...core.seams import give_methods, number_of_size

_COMPARED = ("__lt__", "__le__", "__gt__", "__ge__")
_OF_SIZES = ("__add__", "__sub__", "__mul__", "__floordiv__", "__mod__")
_REFLECTED = ("__radd__", "__rsub__", "__rmul__", "__rfloordiv__")
_OF_NUMBERS = ("__truediv__", "__rtruediv__", "__pow__", "__rpow__")
_OF_BITS = ("__and__", "__or__", "__xor__", "__lshift__", "__rshift__", "__rlshift__", "__rrshift__")


def _as_number(name: str) -> Callable[[Dim, Any], Any]:
    def operator(size: Dim, other: Any) -> Any:
        if name in _COMPARED and isinstance(other, float):  # a branch on it is that of the call
            return getattr(float(known(size)), name)(other)
        if not (isinstance(other, (int, float, complex, Dim)) or hasattr(other, "__array_priority__")):
            return NotImplemented
        return getattr(number_of_size(size), name)(number_of_size(other) if isinstance(other, Dim) else other)

    return operator


def _of_sizes(name: str) -> Callable[[Dim, Any], Any]:
    of_size, of_number = getattr(Dim, name), _as_number(name)

    def operator(size: Dim, other: Any) -> Any:
        if other.__class__ is int or other.__class__ is Dim or isinstance(other, Integral):
            return of_size(size, other)
        return of_number(size, other)

    return operator


def _of_bits(name: str) -> Callable[[Dim, Any], Any]:
    return lambda size, other: getattr(known(size), name)(known(other) if isinstance(other, Dim) else other)


def _power(size: Dim, exponent: Any) -> Any:
    if exponent.__class__ is not int or not 0 <= exponent < 9:
        return _as_number("__pow__")(size, exponent)
    power: Any = 1
    for _ in range(exponent):
        power = size * power
    return power


def _remainder(size: Dim, other: Any) -> Any:
    return other - other // size * size


def _of_ufunc(size: Dim, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    given = [number_of_size(x) if isinstance(x, Dim) else x for x in inputs]
    return getattr(ufunc, method)(*given, **kwargs)


def _complete() -> None:
    """Give Dim the operators of Python's ints."""
    methods: dict[str, Any] = {name: _of_sizes(name) for name in (*_OF_SIZES, *_REFLECTED, *_COMPARED)}
    methods |= {name: _as_number(name) for name in _OF_NUMBERS} | {name: _of_bits(name) for name in _OF_BITS}
    methods |= {"__pow__": _power, "__rmod__": _remainder, "__array_ufunc__": _of_ufunc}
    methods["__divmod__"] = lambda size, other: (size // other, size % other)
    methods["__abs__"] = lambda size: size if size >= 0 else -size
    methods["__invert__"] = lambda size: -size - 1
    give_methods(Dim, methods)


_complete()
