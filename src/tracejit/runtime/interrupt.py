"""Ctrl-C while machine code runs in the main thread.

Python runs signal handlers only between bytecodes, and an exception raised by one inside a callback would be
lost. So for the time of a call the handler only takes a note, code that polls sees the note and returns, and
the note is then handed to the handler that was there before. Knows the calling convention, not executables.
"""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def interruptible() -> Iterator[int | None]:
    """For the block, make Ctrl-C visible to ``poll``, whose address this gives; then do what Ctrl-C does.

    None where it cannot come, outside the main thread, or where Python does not handle it.
    """
    global _pressed
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT) if main else None
    if not callable(before):
        yield None
        return
    signal.signal(signal.SIGINT, _take_note)
    try:
        yield _POLL_ADDRESS
    finally:
        signal.signal(signal.SIGINT, before)
        pressed, _pressed = _pressed, False
        if pressed:
            before(signal.SIGINT, None)
