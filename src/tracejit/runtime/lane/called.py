"""What the lane needs to know of this process: addresses of Python and NumPy functions.

Which thread is free for such calls, and where Tensors and Variables keep what they hold, it finds through the table of
`words.Api`.
"""

from __future__ import annotations

import _thread
import ctypes
import sys
import threading
import weakref
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from tracejit.core import settings
from tracejit.core.seams import settings_changed
from tracejit.core.tensor import Tensor, next_serial
from tracejit.core.tracing.dispatch import Mode, state
from tracejit.runtime.lane import probe, words
from tracejit.runtime.lane.words import Api

#: As which the dict of a thread has its mode, for the code.
_MODE = sys.intern("tracejit.mode")


@lru_cache(maxsize=1)
def api(variable: type, lock: Any) -> ctypes.Array[Any] | None:
    """The table of `words.Api` with all that calls with Tensors need; None where anything is not as expected.

    Parameters
    ----------
    variable : type
        The class of Variables.
    lock : RLock
        Held while they change.
    """
    table = probe.api()
    if table is None or threading.local is not _thread._local or not _refers():
        return None
    tensor = _offsets(Tensor, ("_payload", "_spec", "np_dtype", "serial"))
    (busy,), (value,) = _offsets(Mode, ("busy",)), _offsets(variable, ("_value",))
    serials = getattr(next_serial, "__self__", None)
    if 0 in (*tensor, busy, value) or serials is None or not _counts() or not _tells_of_weak(Tensor):
        return None
    kept = [Tensor, serials, _MODE, settings.in_block, lock.acquire, lock.release]
    places = [Api.TENSOR, Api.SERIALS, Api.MODE, Api.BLOCK, Api.ACQUIRE, Api.RELEASE]
    for x in kept:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(x))
    for place, word in (
        *zip(places, map(id, kept), strict=True),
        *zip((Api.PAYLOAD, Api.SPEC, Api.DTYPE, Api.SERIAL), tensor, strict=True),
        (Api.BUSY, busy),
        (Api.VALUE, value),
        (Api.WEAK, Tensor.__weakrefoffset__ & (1 << 64) - 1),
    ):
        table[place] = word
    settings_changed.on(_take_note)
    _take_note()
    return table


def _take_note() -> None:
    """Let the code know the process's settings."""
    table = probe.api()
    if table is not None:
        table[Api.SETTINGS] = id(settings.of_process())


def _offsets(kind: Any, names: Iterable[str]) -> list[int]:
    """Where objects keep what is in their slots, looked for in one of them; 0 for what is not found."""
    x = kind.__new__(kind)
    found = []
    for name in names:
        marker = object()
        getattr(kind, name).__set__(x, marker)
        places = range(words.HEAD, kind.__basicsize__, 8)
        found.append(next((k for k in places if _word(x, k) == id(marker)), 0))
    return found


def _word(x: Any, offset: int) -> int:
    return ctypes.c_size_t.from_address(id(x) + offset).value


class _Something:
    """What a weak reference can refer to."""


def _refers() -> bool:
    """Is the object of a weak reference where it should be, and None when it is gone?"""
    x = _Something()
    ref = weakref.ref(x)
    there = _word(ref, words.REFERENT) == id(x)
    del x
    return there and _word(ref, words.REFERENT) == id(None)


def _counts() -> bool:
    """Is the number of references to an object where it should be?"""
    held = [_Something()]
    count = ctypes.c_uint32.from_address(id(held[0]) + words.REFERENCES)
    alone = count.value
    held.append(held[0])
    return (alone, count.value) == (1, 2)


def _tells_of_weak(kind: Any) -> bool:
    """Does a slot tell whether there are weak references to an object?"""
    x, offset = kind.__new__(kind), kind.__weakrefoffset__
    without = offset and _word(x, offset)
    ref = weakref.ref(x)
    return offset != 0 and without == 0 and _word(x, offset) != 0 and ref() is x


_thread_dict = ctypes.PYFUNCTYPE(ctypes.c_void_p)(probe.address(ctypes.pythonapi.PyThreadState_GetDict))


def know_thread() -> None:
    """Let the code find the mode of the running thread."""
    found = _thread_dict()
    if found:
        ctypes.cast(found, ctypes.py_object).value[_MODE] = state.mode
