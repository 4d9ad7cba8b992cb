"""Start-up: the first call of a program, and how long a new process takes to its first result."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence

from benchmarks.full import rows, starting
from benchmarks.full.processes import PATIENCE, ROOT, environment
from benchmarks.full.table import FIRST_CALLS

PEERS = (rows.OURS, "JAX", "torch", "TF XLA")
Times = Mapping[str, Mapping[str, float]]
"""Milliseconds, by case and peer."""


def first_calls(pythons: Mapping[str, str], peers: Sequence[str], rounds: int) -> Times:
    """Return what tracing and compiling takes: a first call less a later one, nothing on disk, the compiler loaded.

    The least of some processes, since whatever else runs can only add to it.
    """
    found: dict[str, dict[str, float]] = {case: {} for case in FIRST_CALLS}
    for case in FIRST_CALLS:
        for peer in peers:
            times = [
                t for _ in range(rounds) if (t := _answer(pythons[peer], "first", peer, case)) is not None
            ]
            if times:
                found[case][peer] = min(times)
    return found


def warm_processes(pythons: Mapping[str, str], peers: Sequence[str], rounds: int) -> Times:
    """Return the time from starting a process to its first result, the first process left out.

    JAX keeps compiled programs in a folder when it is told to, and here it is.
    """
    found: dict[str, dict[str, float]] = {case: {} for case in FIRST_CALLS}
    with tempfile.TemporaryDirectory() as folder:
        for case in FIRST_CALLS:
            for peer in peers:
                times = [_spawn(pythons[peer], peer, case, folder) for _ in range(rounds + 1)]
                known = [t for t in times if t is not None]
                if len(known) == len(times):
                    found[case][peer] = min(known[1:])
    return found


def passes(case: str) -> tuple[float, str]:
    """Return the first call's time, and what each pass took as tracejit reports it."""
    done = _run([sys.executable, *_worker("passes", rows.OURS, case)], "")
    return float(done.stdout.splitlines()[-1]), done.stderr


def _spawn(python: str, peer: str, case: str, folder: str) -> float | None:
    start = time.perf_counter()
    ended = _answer(python, "result", peer, case, folder)
    return None if ended is None else ended - 1e3 * start


def _answer(python: str, what: str, peer: str, case: str, folder: str = "") -> float | None:
    try:
        done = _run([python, *_worker(what, peer, case)], folder)
    except subprocess.TimeoutExpired:
        return None
    return float(done.stdout.splitlines()[-1]) if done.returncode == 0 and done.stdout else None


def _worker(what: str, peer: str, case: str) -> list[str]:
    return ["-m", starting.__name__, what, peer, case, rows.FUNCTIONS[peer]]


def _run(command: Sequence[str], folder: str) -> subprocess.CompletedProcess[str]:
    """Run a process whose peers keep what they compile in a folder, if there is one."""
    caches = {
        "TRACEJIT_CACHE_DIR": folder,
        "JAX_COMPILATION_CACHE_DIR": folder,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    variables = environment("1") | (caches if folder else {"TRACEJIT_CACHE": "0"})
    return subprocess.run(command, capture_output=True, text=True, env=variables, timeout=PATIENCE, cwd=ROOT)
