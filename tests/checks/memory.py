"""Counting what is kept, in a process that other tests have run in."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable

from tracejit.compiler.codegen import workers

_ROUNDS = 20


def collect() -> None:
    """Free everything that nobody holds: what one collection frees may be what held more. No LLVM is at work then."""
    workers.wait_for_all()
    for _ in range(_ROUNDS):
        if not gc.collect():
            return


def grown_by(work: Callable[[], object]) -> int:
    """How many bytes of Python's memory `work` keeps: the least of two times.

    What keeps something does so each time; a table of the process, or code of what has been called often enough,
    comes once.
    """
    found = []
    tracemalloc.start()
    try:
        for _ in range(2):
            collect()
            before = tracemalloc.get_traced_memory()[0]
            work()
            collect()
            found.append(tracemalloc.get_traced_memory()[0] - before)
    finally:
        tracemalloc.stop()
    return min(found)
