"""Counting what is kept, in a process that other tests have run in."""

from __future__ import annotations

import gc

from tracejit.compiler.codegen import workers

_ROUNDS = 20


def collect() -> None:
    """Free everything that nobody holds: what one collection frees may be what held more. No LLVM is at work then."""
    workers.wait_for_all()
    for _ in range(_ROUNDS):
        if not gc.collect():
            return
