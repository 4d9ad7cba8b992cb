"""The state of the thread pool: what its machine code and Python both know, each field by its place.

Fields that different threads write stand on cache lines of their own, and what a worker must know of a job on the line
that it watches: another processor's line takes up to half of a microsecond to come.
"""

from __future__ import annotations

import ctypes

NAME = "threads"
"""How programs ask for the pool among the functions of ctx."""

LINE = 64
SCRATCH = 1 << 22
"""Bytes of memory that every thread of the pool has to itself."""

MOST_SHARES = 64
SITES = 512
OPEN = 1 << 30
"""The bit of `gate` that lets workers in; the bits below it count those inside."""


class PoolState(ctypes.Structure):
    """The pool, and the job it works on.

    Attributes
    ----------
    gate : int
        ``OPEN`` while workers may join the job, and how many are inside; the caller waits for 0.
    caller_sleeps : int
        The caller is to be woken when `gate` becomes 0.
    joined : int
        Counts workers that came to a job.
    epoch : int
        Counts jobs: what idle workers watch.
    sleeping : int
        Workers that do not watch any more, and are to be woken.
    caller : int
        The processor that the caller of the last job was on.
    body, closure, count, grain, admitted
        The job: a function, its argument, iterations in all and taken at once, and how many workers may join.
    shares, share, rest : int
        In how many stretches the iterations are, one for each thread, how long these are, and how much of one is left
        to whoever has begun it.
    next : array of int
        How many iterations of each share are taken.
    lock : int
        Somebody has the pool.
    credit : int
        Picoseconds of work that was too short to wake a worker for.
    workers : int
        How many were started.
    threads : int
        Threads a job may use, the caller included; 0 while that is not decided: then `start` is called.
    processors, allowed, asked : int
        How many processors the caller may run on, which, and when that was asked, in nanoseconds.
    finished, dense : int
        When the last job ended, in nanoseconds, and whether it came soon after the one before.
    bounded : int
        No more threads than processors: nobody has said how many.
    stop : int
        Workers are to end.
    jobs : int
        Jobs done by several threads.
    sites : array of int
        Of bodies and about how much work they get, four words each: the address and, in its highest bits, the work's
        exponent and first digits; the nanoseconds that sharing has gained, up to a limit, less those it
        has lost; how many calls there were; and how many nanoseconds a picosecond of estimated work takes on one
        thread, as a float64. Below 0 jobs are not shared until their work has paid for it.
    start, system_call, clock, get_processor : address
        ``void start()``, of Python; ``syscall``, ``clock_gettime`` and, where there is one, ``sched_getcpu`` of the C
        library.
    """

    _fields_ = [
        ("gate", ctypes.c_int32),
        ("caller_sleeps", ctypes.c_int32),
        ("joined", ctypes.c_int32),
        ("_0", ctypes.c_int32 * 13),
        ("epoch", ctypes.c_int32),
        ("admitted", ctypes.c_int32),
        ("body", ctypes.c_void_p),
        ("closure", ctypes.c_void_p),
        ("count", ctypes.c_int64),
        ("grain", ctypes.c_int64),
        ("share", ctypes.c_int64),
        ("rest", ctypes.c_int64),
        ("shares", ctypes.c_int32),
        ("caller", ctypes.c_int32),
        ("sleeping", ctypes.c_int32),
        ("stop", ctypes.c_int32),
        ("_1", ctypes.c_int64 * 7),
        ("lock", ctypes.c_int32),
        ("threads", ctypes.c_int32),
        ("workers", ctypes.c_int32),
        ("processors", ctypes.c_int32),
        ("credit", ctypes.c_int64),
        ("asked", ctypes.c_int64),
        ("jobs", ctypes.c_int64),
        ("finished", ctypes.c_int64),
        ("dense", ctypes.c_int32),
        ("bounded", ctypes.c_int32),
        ("_2", ctypes.c_int64),
        ("start", ctypes.c_void_p),
        ("system_call", ctypes.c_void_p),
        ("clock", ctypes.c_void_p),
        ("get_processor", ctypes.c_void_p),
        ("_3", ctypes.c_int64 * 4),
        ("allowed", ctypes.c_int64 * 16),
        ("next", ctypes.c_int64 * (8 * MOST_SHARES)),
        ("sites", ctypes.c_int64 * (4 * SITES)),
    ]


SIZE = ctypes.sizeof(PoolState)


def offset(field: str) -> int:
    """Bytes from the start of the state to a field of it."""
    found: int = getattr(PoolState, field).offset
    return found


class Symbol:
    """The names of what the pool's object defines."""

    STATE = "tj_pool"
    PARALLEL = "tj_parallel"
    WORKER = "tj_pool_worker"
    STOP = "tj_pool_stop"
