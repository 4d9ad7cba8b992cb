"""Locks that are open in the child of a fork, where whoever held them does not exist."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

#: References without callbacks, as a WeakSet has: an interrupt that arrives in a callback is lost.
_locks: list[weakref.ref[Any]] = []
_changing: Any = threading.Lock()
_few = 64


def fork_safe() -> Any:
    """A new lock, reentrant, which nobody holds in a child process."""
    global _few
    lock = threading.RLock()
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
