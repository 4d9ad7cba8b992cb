"""Ctrl-C while machine code runs in the main thread.

Python runs signal handlers only between bytecodes, and an exception raised by one inside a callback would be
lost. So for the time of a call the handler only takes a note, code that polls sees the note and returns, and
the note is then handed to the handler that was there before. Knows the calling convention, not executables.
"""

from __future__ import annotations

# What `signal` wraps: the same functions without its enumerations, ten times faster.
import _signal  # type: ignore[import-not-found]
import ctypes
import threading
from collections.abc import Callable
from typing import Any

from tracejit.runtime.abi import POLL_TYPE

_pressed = False  # belongs to the main thread, which alone receives signals


def _take_note(number: int, frame: Any) -> None:
    global _pressed
    _pressed = True


@POLL_TYPE
def _poll(context: int | None) -> int:
    return int(_pressed)


_POLL_ADDRESS = ctypes.cast(_poll, ctypes.c_void_p).value


class interruptible:
    """For a ``with`` block, make Ctrl-C visible to ``poll``, whose address this gives; then do what it does.

    The address is None where Ctrl-C cannot come, outside the main thread, or where Python does not handle it.
    """

    __slots__ = ("_before",)

    def __enter__(self) -> int | None:
        self._before: Callable[[int, Any], Any] | None = None
        if threading.get_ident() != threading.main_thread().ident:
            return None
        before = _signal.getsignal(_signal.SIGINT)
        if not callable(before):
            return None
        self._before = before
        _signal.signal(_signal.SIGINT, _take_note)
        return _POLL_ADDRESS

    def __exit__(self, *error: object) -> None:
        global _pressed
        if self._before is None:
            return
        _signal.signal(_signal.SIGINT, self._before)
        pressed, _pressed = _pressed, False
        if pressed:
            self._before(_signal.SIGINT, None)
