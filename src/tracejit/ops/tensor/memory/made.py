"""NumPy arrays that a traced function creates, and which of them become tensors from the start.

An array cannot hold what has no value yet, and other names of it would miss a tensor put in its place. Who finds that
out leaves the function (`from_the_start`), which is traced again, with a tensor where that array is made.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

import numpy as np

from ....core.errors import is_internal
from ....core.tracing.transaction import Attempt, Unwinding

#: A line of converted code, by its instruction and those that called it, innermost first.
Site = tuple[tuple[int, int], ...]
T = TypeVar("T")

_DEPTH = 12  # callers by which two calls of one line are told apart


class NeedsTensor(Unwinding):
    """What is made at a site is to be a tensor."""

    def __init__(self, making: Making, site: Site):
        super().__init__("an array that has to be a tensor from the start")
        self.making = making
        self.site = site


class NeedsArrays(Unwinding):
    """What a program for NumPy computes is to be arrays to it, which parts are views of."""

    def __init__(self, making: Making):
        super().__init__("tensors that have to be arrays of NumPy's to the program")
        self.making = making


class Making:
    """The arrays that are made while a function is traced; a context.

    Attributes
    ----------
    tensors : set of Site
        Where tensors are made in their place.
    arrays : bool
        In programs for NumPy all tensors are arrays: their parts are views, which are written to together with them.
    """

    def __init__(self, tensors: set[Site], arrays: bool = False):
        self.tensors = tensors
        self.arrays = arrays
        self.made: dict[int, tuple[weakref.ref[np.ndarray], Site]] = {}

    def __enter__(self) -> Making:
        _open.makings.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _open.makings.remove(self)


class _Open(threading.local):
    def __init__(self) -> None:
        self.makings: list[Making] = []


_open = _Open()


def traced_with_tensors(
    once: Callable[[], T], attempt: Callable[[], Attempt], tensors: set[Site] | None = None
) -> T:
    """``once()``, again in an attempt of its own for each array that turns out to have to be a tensor."""
    known: set[Site] = set() if tensors is None else tensors
    arrays = False
    while True:
        making = Making(known, arrays)
        with attempt() as current, making:
            try:
                return once()
            except NeedsTensor as needed:
                if needed.making is not making:
                    raise
                current.rollback()
                known.add(needed.site)
            except NeedsArrays as needed_by:
                if needed_by.making is not making:
                    raise
                current.rollback()
                arrays = True
            except Exception:
                current.tell()
                raise


def is_made(x: Any, tensor_of: Callable[[np.ndarray], Any]) -> Any:
    """What converted code has where it makes an array: that array, or the tensor that it is to be."""
    if not _open.makings or x.__class__ is not np.ndarray or not x.ndim or x.dtype.kind not in "biufc":
        return x
    site, making = _site(), _open.makings[-1]
    if site in making.tensors:
        return tensor_of(x)
    making.made[id(x)] = weakref.ref(x), site
    return x


def from_the_start(x: np.ndarray) -> None:
    """Leave what is being traced to trace it again with a tensor for the array, if it is known where it was made."""
    root = whole_of(x)
    for making in reversed(_open.makings):
        known = making.made.get(id(root))
        if known is not None and known[0]() is root:
            raise NeedsTensor(making, known[1])


def all_are_arrays() -> bool:
    """Are tensors arrays of NumPy's to the program that is being traced?"""
    return bool(_open.makings) and _open.makings[-1].arrays


def with_arrays_from_the_start() -> None:
    """Leave what is being traced to trace it again, with arrays for tensors, unless they are."""
    for making in reversed(_open.makings):
        if not making.arrays:
            raise NeedsArrays(making)


def whole_of(x: np.ndarray) -> np.ndarray:
    """The array that has the memory of which `x` shows a part."""
    while x.base.__class__ is np.ndarray:
        x = x.base
    return x


def _site() -> Site:
    found: list[tuple[int, int]] = []
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and len(found) < _DEPTH:
        if not is_internal(frame.f_code):
            found.append((id(frame.f_code), frame.f_lasti))
        frame = frame.f_back
    return tuple(found)
