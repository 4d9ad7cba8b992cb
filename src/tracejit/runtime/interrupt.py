"""Interruption of machine code: Ctrl-C, alarms and the like, and listeners that hear where loops are.

Python runs signal handlers only between bytecodes, and an exception raised by one inside a callback would be
lost. So for the time of a call the handlers only take a note. Code that polls comes here, where the note is handed
to the handler that was there before; what that raises is kept, the code returns, and it is raised again at the
call. Knows the calling convention, not executables.
"""

from __future__ import annotations

# What `signal` wraps: the same functions without its enumerations, ten times faster.
import _signal
import ctypes
import sys
import threading
from collections.abc import Callable
from typing import Any

from tracejit.runtime import watch
from tracejit.runtime.abi import POLL_TYPE, STATUS_INTERRUPTED, STATUS_OK, Context

#: What programs end calls with: Ctrl-C, timers, and requests to end. Handlers of others must not raise.
_SIGNALS = [
    int(getattr(_signal, name))
    for name in ("SIGINT", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
    if hasattr(_signal, name)
]
Handler = Callable[[int, Any], Any]
_noted: list[int] = []  # belongs to the main thread, which alone receives signals
_MAIN = threading.main_thread().ident
_ident = threading.get_ident


class _Calls(threading.local):
    """The call in progress in each thread, the innermost one."""

    now: _Call | None = None


_calls = _Calls()


def _take_note(number: int, frame: Any) -> None:
    _noted.append(number)


@POLL_TYPE
def _poll(context: int | None) -> int:
    call = _calls.now
    return 0 if call is None else call.look()


_POLL_ADDRESS = ctypes.cast(_poll, ctypes.c_void_p).value


class _Call:
    """One call of code that polls, from its beginning."""

    __slots__ = ("around", "before", "context", "failure", "listener", "messages", "taken")

    def __init__(self, context: Context, messages: watch.Messages):
        """Take the place of the handlers of signals, and let the code poll if there is anything to poll for."""
        self.context = context
        self.messages = messages
        self.failure: BaseException | None = None
        self.around = around = _calls.now
        self.before: dict[int, Handler] = {}  # who handles what is noted
        self.taken: dict[int, Handler] = {}  # those whose places this call has taken
        self.listener = watch.listener()
        if _ident() == _MAIN:
            try:
                self._take(around)
            except BaseException:
                self._give_back()
                raise
        polls = self.before or self.listener is not None
        context.poll = _POLL_ADDRESS if polls else None
        _calls.now = self

    def _take(self, around: _Call | None) -> None:
        if around is not None:
            self.before |= around.before
        for number in _SIGNALS:
            handler = _signal.getsignal(number)
            if callable(handler) and handler is not _take_note:
                self.taken[number] = self.before[number] = handler
                _signal.signal(number, _take_note)

    def _give_back(self) -> None:
        for number, handler in [*self.taken.items()]:
            _signal.signal(number, handler)
            del self.taken[number]

    def end(self) -> None:
        _calls.now = self.around
        if self.taken:
            try:
                self._give_back()
            finally:
                self._give_back()  # what is left where a handler that is back has raised meanwhile

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
        """Do what the signals that came do."""
        while _noted and self.before:
            number = _noted.pop(0)
            if handler := self.before.get(number):
                handler(number, sys._getframe())


def run(
    entry: Callable[..., int], arguments: tuple[int, ...], context: Context, messages: watch.Messages
) -> int:
    """The status of an entry, which Ctrl-C, or an error of somebody who listens, ends early by its exception.

    Where Python does not handle Ctrl-C or another signal, and outside of the main thread, that interrupts no code.
    """
    call = _Call(context, messages)
    try:
        status = entry(*arguments)
    finally:
        call.end()
    if _noted:
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
