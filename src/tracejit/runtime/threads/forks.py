"""Locks that are open in the child of a fork, where whoever held them does not exist."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def fork_safe() -> Any:
    """A new lock, reentrant, which nobody holds in a child process."""
    lock = threading.RLock()
    _locks.add(lock)
    return lock


def _open() -> None:
    for lock in _locks:
        lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open)
