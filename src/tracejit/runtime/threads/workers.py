"""The threads of the pool: when they start, how many there are, how they end.

Workers are Python threads that spend their lives in machine code, without the GIL: the system's ways of making threads
need not be known. They start when the first job is large enough, and are gone around a fork and when the process ends,
so that a child has none and nothing runs while the interpreter is taken down.
"""

from __future__ import annotations

import _thread
import atexit
import ctypes
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from tracejit.core import seams
from tracejit.core.settings import current
from tracejit.runtime import abi, objects
from tracejit.runtime.threads.forks import fork_safe
from tracejit.runtime.threads.processors import processors
from tracejit.runtime.threads.state import MOST_SHARES, SCRATCH, PoolState, Symbol

_START_TYPE = ctypes.CFUNCTYPE(None)
_WORKER_TYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)


def wanted() -> int:
    """How many threads a job may use: the setting, else one for each processor."""
    return min(current().num_threads or processors(), MOST_SHARES)


class Workers:
    """The pool of this process: its machine code, its state and its threads.

    Attributes
    ----------
    threads : list of Thread
        The workers; where an interrupt came in between, with one that has not begun, or never will.
    """

    state: PoolState

    def __init__(self, code: bytes):
        loaded = objects.load(code)
        self.parallel: int = loaded.function(Symbol.PARALLEL)
        self.state = state = PoolState.from_address(loaded.address(Symbol.STATE))
        self.threads: list[threading.Thread] = []
        self._changing: Any = fork_safe()
        self._forking = False
        self._worker = _WORKER_TYPE(loaded.function(Symbol.WORKER))
        self._stop = _START_TYPE(loaded.function(Symbol.STOP))
        self._hook = _START_TYPE(self._start)
        library = ctypes.CDLL(None)
        state.start = ctypes.cast(self._hook, ctypes.c_void_p).value
        state.system_call = ctypes.cast(library.syscall, ctypes.c_void_p).value
        state.clock = ctypes.cast(library.clock_gettime, ctypes.c_void_p).value
        if hasattr(library, "sched_getcpu"):
            state.get_processor = ctypes.cast(library.sched_getcpu, ctypes.c_void_p).value
        self.decide()
        seams.settings_changed.on(self.decide)
        os.register_at_fork(
            before=self._before_fork,
            after_in_parent=self._after_fork_in_parent,
            after_in_child=self._after_fork_in_child,
        )
        atexit.register(self.stop)

    def decide(self) -> None:
        """Do as the settings say from the next job on."""
        with self._changing:
            count, state = wanted(), self.state
            ready = len(self.threads) >= count - 1 and not state.stop
            state.bounded = not current().num_threads
            state.threads = 1 if count == 1 else count if ready else 0

    def stop(self) -> None:
        """End all workers, as soon as they have finished what they took; jobs run on one thread until `decide`."""
        with self._changing:
            state = self.state
            state.threads = 1
            if self.threads:
                self._stop()
                for thread in self.threads:
                    _join(thread)
                self.threads = []
            state.stop = state.workers = 0

    def _start(self) -> None:
        """Have as many workers as are wanted: called by the first job that is large enough, which has the pool."""
        try:
            with self._changing:
                if self.state.stop:  # somebody has interrupted that
                    self.stop()
                self._grow(wanted())
        except KeyboardInterrupt:  # no exception gets through machine code
            _thread.start_new_thread(_thread.interrupt_main, ())

    def _grow(self, count: int) -> None:
        """Have so many threads, the caller's included, or as many as there can be."""
        state = self.state
        self.threads = list(filter(_has_begun, self.threads))
        try:
            for number in range(len(self.threads) + 1, count):
                name = f"tracejit-worker-{number}"
                thread = threading.Thread(target=self._run, args=(number,), name=name, daemon=True)
                self.threads.append(thread)
                thread.start()
        except (RuntimeError, MemoryError):  # no more threads, or the interpreter ends
            self.threads = list(filter(_has_begun, self.threads))
            count = len(self.threads) + 1
        state.workers, state.threads = len(self.threads), count

    def _run(self, number: int) -> None:
        scratch = abi.allocate(abi.WORKSPACE_ALIGN, SCRATCH)
        try:
            self._worker(scratch, number)
        finally:
            abi.release(scratch)

    def _before_fork(self) -> None:
        """Have no workers, and let nobody start any before the fork is over."""
        self._changing.acquire()
        self._forking = True
        self.stop()

    def _after_fork_in_parent(self) -> None:
        if self._forking:  # it was there before the fork began
            self._forking = False
            self.decide()
            self._changing.release()

    def _after_fork_in_child(self) -> None:
        """Other threads are not here, whatever they were doing."""
        state = self.state
        self.threads, self._forking = [], False
        for name in ("gate", "caller_sleeps", "sleeping", "workers", "stop", "lock", "asked"):
            setattr(state, name, 0)
        self.decide()


def _has_begun(thread: threading.Thread) -> bool:
    """Does a thread run, or is it about to?"""
    return thread.ident is not None or thread in threading.enumerate()


def _join(thread: threading.Thread) -> None:
    """Wait until a thread has ended, if it has begun."""
    while thread.ident is None and _has_begun(thread):
        time.sleep(1e-4)
    if thread.ident is not None:
        thread.join()


_pool: Workers | None = None
_lock = fork_safe()


def pool(code: Callable[[], bytes]) -> Workers:
    """The pool; `code` makes its object when it is asked for the first time."""
    global _pool
    with _lock:
        if _pool is None:
            _pool = Workers(code())
        return _pool


def running() -> Workers | None:
    """The pool, if a program has asked for it."""
    return _pool
