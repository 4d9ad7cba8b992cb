"""Threads in which LLVM works: several at a time, and none that a signal disturbs.

Knows what a piece of work is called with and returns, not what it does.
"""

from __future__ import annotations

import _thread
import atexit
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

from ...core.lazy import let_fork, unforked
from ...runtime.threads.processors import processors

_PATIENCE = 0.1  # seconds
_working: set[Work] = set()  # LLVM must not be at work where the process ends
os.register_at_fork(after_in_child=_working.clear)  # the threads are the parent's


@atexit.register
def wait_for_all() -> None:
    """Wait until no LLVM is at work."""
    for work in tuple(_working):
        work.wait()


class Work:
    """One use of LLVM from beginning to end, in a thread of its own.

    Handlers of signals run in the main thread, between any two of its bytecodes, and what they raise (Ctrl-C's
    KeyboardInterrupt, a timeout) would end a finaliser of llvmlite before it has noted that the object is gone: it
    would be freed twice. Here nothing of the kind arrives, and whoever waits may be interrupted. A `threading.Thread`
    may not: interrupted while it starts it can block for ever, and an interrupt while one is dropped is lost.
    """

    def __init__(self, work: Callable[[], Any]):
        self.work = work
        self.began = self.given_up = self.is_over = False
        self.made: Any = None
        self.error: BaseException | None = None
        self.over = threading.Lock()
        self.over.acquire()

    def start(self) -> None:
        try:
            _thread.start_new_thread(self._run, ())
        except RuntimeError:  # the interpreter ends, or the system has no more threads
            self._run()

    def _run(self) -> None:
        self.began = True
        try:
            if not self.given_up:
                let_fork()
                _working.add(self)
                thread = _thread.get_ident()
                unforked.append(thread)
                try:
                    self.made = self.work()
                finally:
                    unforked.remove(thread)
        except BaseException as error:
            self.error = error
        finally:
            _working.discard(self)
            self.is_over = True
            self.over.release()

    def wait(self) -> None:
        while not self.is_over:
            if self.over.acquire(timeout=_PATIENCE):
                self.over.release()  # it stays held where an interrupt comes in between: hence the patience of others

    def give_up(self) -> None:
        """Until work that has begun is over, wait; what has not begun never works."""
        self.given_up = True
        if self.began:
            self.wait()

    def result(self) -> Any:
        """What the work returned, when it is over; or it raises what the work raised."""
        self.wait()
        if self.error is not None:
            raise self.error
        return self.made


def together(works: Sequence[Callable[[], Any]]) -> list[Any]:
    """What each of several works returns, at most as many at a time as there are cores.

    What a signal raises meanwhile is raised when they are over; at the second one, without waiting for that.
    """
    found: list[Any] = [None] * len(works)
    waiting = iter(enumerate(works))
    lock = threading.Lock()

    def one_by_one() -> None:
        while True:
            with lock:
                place, work = next(waiting, (0, None))
            if work is None:
                return
            found[place] = work()

    threads = [Work(one_by_one) for _ in range(min(processors(), len(works)))]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.wait()
    except BaseException:
        for thread in threads:
            thread.give_up()
        raise
    for thread in threads:
        thread.result()
    return found


def without_lock(function: Any, parameters: Sequence[Any]) -> Any:
    """A function of LLVM without the lock that llvmlite holds meanwhile: modules in contexts of their own need none.

    Where it is not what is known of it, the function as it is.
    """
    plain = getattr(function, "_cfn", None)
    return function if plain is None or list(plain.argtypes or ()) != list(parameters) else plain
