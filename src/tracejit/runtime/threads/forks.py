"""Locks that are released in the child of a fork, and after interrupts."""

from __future__ import annotations

import os
import sys
import weakref
from _thread import RLock
from typing import Any


class _Entered(RLock):  # type: ignore[misc]  # it may be one, and has to: C code is to leave the block
    """A lock for ``with`` that is released whenever it was taken.

    CPython 3.14 answers signals between a lock that C code has taken and the block that would release it. In between
    the instructions that run here it does not, and what leaves the block is still C code.
    """

    def __enter__(self) -> bool:  # type: ignore[override]
        [got] = map(self.acquire, (True,))
        return got


_Lock: Any = _Entered if sys.version_info >= (3, 14) else RLock

#: References without callbacks, as a WeakSet has: an interrupt that arrives in a callback is lost.
_locks: list[weakref.ref[Any]] = []
_changing: Any = _Lock()
_few = 64


def fork_safe() -> Any:
    """A new lock, reentrant, which nobody holds in a child process."""
    global _few
    lock = _Lock()
    with _changing:
        _locks.append(weakref.ref(lock))
        if len(_locks) > _few:
            _locks[:] = [known for known in _locks if known() is not None]
            _few = max(64, 2 * len(_locks))
    return lock


def _open() -> None:
    _changing._at_fork_reinit()
    for known in _locks:
        lock = known()
        if lock is not None:
            lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open)
