"""Interruption of machine code: Ctrl-C, and listeners that hear where loops are.

Python runs signal handlers only between bytecodes, and an exception raised by one inside a callback would be
lost. So for the time of a call the handler only takes a note. Code that polls comes here, where the note is handed
to the handler that was there before; what that raises is kept, the code returns, and it is raised again at the
call. Knows the calling convention, not executables.
"""

from __future__ import annotations

# What `signal` wraps: the same functions without its enumerations, ten times faster.
import _signal
import ctypes
import threading
from collections.abc import Callable
from typing import Any

from tracejit.runtime import watch
from tracejit.runtime.abi import POLL_TYPE, STATUS_INTERRUPTED, STATUS_OK, Context

_pressed = False  # belongs to the main thread, which alone receives signals
_MAIN = threading.main_thread().ident
_ident = threading.get_ident
_SIGINT = int(_signal.SIGINT)


class _Calls(threading.local):
    """The call in progress in each thread, the innermost one."""

    now: _Call | None = None


_calls = _Calls()


def _take_note(number: int, frame: Any) -> None:
    global _pressed
    _pressed = True


@POLL_TYPE
def _poll(context: int | None) -> int:
    call = _calls.now
    return 0 if call is None else call.look()


_POLL_ADDRESS = ctypes.cast(_poll, ctypes.c_void_p).value


class _Call:
    """One call of code that polls, from its beginning."""

    __slots__ = ("around", "before", "context", "failure", "listener", "messages")

    def __init__(self, context: Context, messages: watch.Messages):
        """Take the place of the handler of Ctrl-C, and let the code poll if there is anything to poll for."""
        self.context = context
        self.messages = messages
        self.failure: BaseException | None = None
        self.before: Callable[[int, Any], Any] | None = None
        self.around = around = _calls.now
        self.listener = watch.listener()
        if _ident() == _MAIN:
            before = _signal.getsignal(_SIGINT)
            if before is _take_note and around is not None:
                self.before = around.before
            elif callable(before):
                self.before = before
                _signal.signal(_SIGINT, _take_note)
        polls = self.before is not None or self.listener is not None
        context.poll = _POLL_ADDRESS if polls else None
        _calls.now = self

    def end(self) -> None:
        around = _calls.now = self.around
        if self.before is not None and (around is None or around.before is not self.before):
            _signal.signal(_SIGINT, self.before)

    def look(self) -> int:
        """What a poll does: 1 asks the code to return."""
        try:
            self.answer()
            if self.listener is not None:
                self.listener.at(watch.loops(self.context, self.messages))
        except BaseException as error:
            self.failure = error
            return 1
        return 0

    def answer(self) -> None:
        """If Ctrl-C was pressed, do what it does."""
        global _pressed
        if _pressed and self.before is not None:
            _pressed = False
            self.before(_SIGINT, None)


def run(
    entry: Callable[..., int], arguments: tuple[int, ...], context: Context, messages: watch.Messages
) -> int:
    """The status of an entry, which Ctrl-C, or an error of somebody who listens, ends early by its exception.

    Where Python does not handle Ctrl-C, and outside of the main thread, the code is not interrupted.
    """
    call = _Call(context, messages)
    try:
        status = entry(*arguments)
    finally:
        call.end()
    if _pressed:
        call.answer()
    if status == STATUS_OK:
        if call.listener is not None:
            call.listener.over()
    elif status == STATUS_INTERRUPTED and call.failure is not None:
        raise explained(call.failure, watch.loops(context, messages))
    return status


def explained(error: BaseException, loops: watch.Loops) -> BaseException:
    """What ended a call early, with a note where that was if it was Ctrl-C."""
    if isinstance(error, KeyboardInterrupt):
        error.add_note(watch.text(loops))
    return error.with_traceback(None)
