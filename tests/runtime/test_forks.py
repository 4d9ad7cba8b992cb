"""Locks that are open after every interrupt, and in the child of a fork."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import pytest

from tracejit.runtime.threads.forks import fork_safe


def is_free(lock: Any) -> bool:
    """Can another thread have it?"""
    got: list[bool] = []

    def take() -> None:
        got.append(lock.acquire(blocking=False))
        if got[0]:
            lock.release()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return got[0]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers that press")
def test_a_lock_is_free_after_every_interrupt():
    lock, pressed = fork_safe(), 0
    before = signal.signal(signal.SIGVTALRM, signal.default_int_handler)
    try:
        for _ in range(30):
            try:
                signal.setitimer(signal.ITIMER_VIRTUAL, 1e-4)
                for _ in range(100_000_000):  # far longer than any system's timers take
                    with lock:
                        pass
            except KeyboardInterrupt:
                pressed += 1
            assert is_free(lock)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    assert pressed == 30


def test_a_lock_is_reentrant_and_free_in_a_child():
    lock = fork_safe()
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with lock, lock:
            held.set()
            over.wait(300.0)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(300.0)
    assert not is_free(lock)
    child = os.fork()
    if child == 0:
        os._exit(0 if lock.acquire(blocking=False) else 1)
    _, status = os.waitpid(child, 0)
    over.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0 and is_free(lock)
