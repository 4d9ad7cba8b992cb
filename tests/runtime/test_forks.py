"""Locks that are open after every interrupt, and in the child of a fork."""

from __future__ import annotations

import inspect
import os
import signal
import threading
import time
from typing import Any

import pytest

import tracejit as tf
from tracejit.core import lazy
from tracejit.runtime.threads.forks import fork_safe
from tracejit.runtime.threads.workers import Workers


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


def in_a_child(test: Any, seconds: float = 60.0) -> int:
    """The exit status of a child that calls a function, 0 where that is true; -9 where it takes too long."""
    child = os.fork()
    if child == 0:
        os._exit(0 if test() else 1)
    end = time.monotonic() + seconds
    while not (done := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            done = os.waitpid(child, 0)
            break
        time.sleep(1e-3)
    return os.waitstatus_to_exitcode(done[1])


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_child_works_out_what_another_thread_was_working_out():
    begun, over = threading.Event(), threading.Event()

    class Slow:
        """Its signature takes as long as a fork."""

        def __call__(self, x):
            return 2.0 * x

        @property
        def __signature__(self):
            begun.set()
            over.wait(300.0)
            return inspect.Signature([inspect.Parameter("x", inspect.Parameter.POSITIONAL_OR_KEYWORD)])

    def call(x, y=1.0):
        return x + y

    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(tf.function(Slow())(x=tf.constant(1.0))))
    thread.start()
    assert begun.wait(300.0)
    status = in_a_child(lambda: tf.function(call)(x=tf.constant(1.0)).item() == 2.0)
    over.set()
    thread.join()
    assert status == 0 and found[0].item() == 2.0


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_fork_is_let_in_by_threads_that_always_have_something_to_wait_for():
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            lazy.let_fork()
            lazy.unforked.append(threading.get_ident())
            try:
                time.sleep(0.02)
            finally:
                lazy.unforked.remove(threading.get_ident())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    begun = time.monotonic()
    statuses = [in_a_child(lambda: not lazy.unforked) for _ in range(5)]
    took = time.monotonic() - begun
    over.set()
    for thread in threads:
        thread.join()
    assert statuses == [0] * 5 and took < lazy.LONGEST


def test_a_pool_that_is_made_while_a_process_forks_is_left_as_it_is():
    """Python calls only what was registered before a fork in front of it, and all of it behind it."""
    pool = object.__new__(Workers)
    pool._changing, pool._forking = fork_safe(), False
    pool._after_fork_in_parent()
    assert is_free(pool._changing)
