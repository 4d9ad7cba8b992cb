"""The thread pool as LLVM text: one module, whose state is the `PoolState` that Python sees, too.

A job is a range of iterations, of which every thread has a share, the same one in every job of its length: so it finds
in its caches what it wrote there. The caller opens a gate, and takes parts of its share, then of the others', as the
workers do that come in; when nothing is left it closes the gate, and waits for those inside. Nobody has to come: on a
busy machine the caller does everything alone. Waiting is watching for a while, then sleeping in the system. Whoever
finds the pool taken, or too little to do, runs its job alone. Results do not depend on who did what.
"""

from __future__ import annotations

import sys

from ....runtime.threads import state
from ....runtime.threads.state import OPEN, Symbol
from . import job, system, worker

LEAST = 10_000_000
"""Picoseconds of work below which a job is not shared."""
WAKING = 200_000_000
"""Picoseconds of work, in one job or several, for which sleeping workers are woken."""
SHORTEST, LONGEST = 2_000_000, 100_000_000
"""Picoseconds of work that are taken from a job at once, at least and at the most."""
REST = 20_000_000
"""Picoseconds of work that are left to the thread that has begun a share: others would have to fetch its memory."""
PARTS = 8
"""About how many parts of a job each thread takes."""
WATCH, WATCH_LEAST = 3000, 50
"""How often a worker looks for a job before it sleeps, adapted between these."""
DENSE_NANOSECONDS = 60_000
"""Jobs that come so soon after the last one are worth watching for."""
CALLER_WATCH = 1000
"""How often a caller looks for the end of its job before it sleeps."""
ASK_NANOSECONDS = 1_000_000
"""How long what is known of the caller's processors is believed."""
SPREADING = -7046029254386353131
"""What spreads addresses of bodies over the places where their accounts are: 2⁶⁴ by the golden ratio."""
MEASURED = 128
"""One in so many calls of a body runs on one thread, to see what it takes; the first time it is the second call."""
FRESH = 16
"""Calls after a measurement within which a loss is believed; a later one has the next call measured again."""
ALLOWANCE = 20
"""What sharing may lose: one part in so many of all work."""
RECKONED_ALWAYS = 100_000_000
"""Picoseconds of work from which every job is reckoned, and of shorter ones one in eight: asking takes half of a
microsecond."""
AT_FIRST, MOST_GAINED, MOST_LOST = 200_000, 500_000, -20_000_000
"""Nanoseconds that may be lost at first; and of gains and of losses that are remembered."""

#: Architecture: how a thread says that it watches, and Linux's numbers of ``futex``, ``sched_getaffinity`` and
#: ``sched_setaffinity``.
_SYSTEMS = {
    "x86_64": ("call void @llvm.x86.sse2.pause()", "declare void @llvm.x86.sse2.pause()", 202, 204, 203),
    "aarch64": ("call void @llvm.aarch64.hint(i32 1)", "declare void @llvm.aarch64.hint(i32)", 98, 123, 122),
    "riscv64": ("fence seq_cst", "", 98, 123, 122),
}


def module_text(arch: str) -> str:
    """The pool's module for an architecture of Linux; KeyError for others."""
    pause, declare, futex, affinity, set_affinity = _SYSTEMS[arch]
    fields = {
        name: f"getelementptr (i8, ptr @{Symbol.STATE}, i64 {state.offset(name)})"
        for name, *_ in state.PoolState._fields_
    }
    numbers = {
        "size": state.LINE * -(-state.SIZE // state.LINE), "line": state.LINE, "most_shares": state.MOST_SHARES,
        "open": OPEN, "inside": OPEN - 1, "futex": futex, "affinity": affinity, "set_affinity": set_affinity,
        "wall": 1, "own_time": 3, "reckoned_always": RECKONED_ALWAYS,
        "least": LEAST, "waking": WAKING, "parts": PARTS, "rest_work": REST,
        "shortest": SHORTEST, "longest": LONGEST, "watch": WATCH, "watch_least": WATCH_LEAST,
        "dense_nanoseconds": DENSE_NANOSECONDS, "caller_watch": CALLER_WATCH,
        "at_first": AT_FIRST, "site_shift": 65 - state.SITES.bit_length(),
        "spreading": SPREADING, "last_call": MEASURED - 1,
        "fresh_calls": FRESH, "ask_nanoseconds": ASK_NANOSECONDS, "most_gained": MOST_GAINED, "most_lost": MOST_LOST,
        "picoseconds_allowed": 1000 * ALLOWANCE,
    }  # fmt: skip
    names = {
        "state": Symbol.STATE, "parallel": Symbol.PARALLEL, "worker": Symbol.WORKER, "stop_workers": Symbol.STOP,
    }  # fmt: skip
    text = "".join((system.TEXT, worker.TEXT, job.TEXT))
    return text.format(**fields, **numbers, **names, pause_thread=pause, declare=declare)


def serves(arch: str) -> bool:
    """Is there a pool for this architecture, on this system?"""
    return arch in _SYSTEMS and sys.platform == "linux"
