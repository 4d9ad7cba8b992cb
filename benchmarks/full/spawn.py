"""Start-up: the first call of a program, and how long a new process takes to its first result."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence

from benchmarks.full import rows
from benchmarks.full.processes import PATIENCE, ROOT, environment
from benchmarks.full.table import FIRST_CALLS

MODULE = "programs"
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
    done = _run([sys.executable, "-m", "benchmarks.full.spawn", "passes", rows.OURS, case], "")
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def _spawn(python: str, peer: str, case: str, folder: str) -> float | None:
    start = time.perf_counter()
    ended = _answer(python, "result", peer, case, folder)
    return None if ended is None else ended - 1e3 * start


def _answer(python: str, what: str, peer: str, case: str, folder: str = "") -> float | None:
    try:
        done = _run([python, "-m", "benchmarks.full.spawn", what, peer, case], folder)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 and done.stdout else None


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


def _milliseconds(what: str, peer: str, case: str) -> float:
    """Do it here: the first call's time, for ``passes`` with a report, or the time at which there is a result."""
    from benchmarks import programs

    name = getattr(programs, case)
    if what != "result":
        _load_compiler(peer)
    call = rows.candidates(MODULE, peer)[name]
    if what == "passes":
        import tracejit as tj

        tj.configure(debug=2)
    start = time.perf_counter()
    call()
    middle = time.perf_counter()
    if what == "result":
        return 1e3 * middle
    call()
    return 1e3 * (2 * middle - start - time.perf_counter())


def _load_compiler(peer: str) -> None:
    """Compile a small function of another kind, so that loading the compiler is not counted."""
    x = [1.0, 2.0]
    if peer == rows.OURS:
        import tracejit as tj

        tj.function(lambda x: x / 3.0 - 2.0)(tj.constant(x))
    elif peer == "JAX":
        import jax

        jax.block_until_ready(jax.jit(lambda x: x / 3.0 - 2.0)(jax.numpy.asarray(x)))
    elif peer == "TF XLA":
        import tensorflow as tf

        tf.function(lambda x: x / 3.0 - 2.0, jit_compile=True)(tf.constant(x)).numpy()
    elif peer == "torch":
        import torch

        (torch.tensor(x) / 3.0 - 2.0).sum()


if __name__ == "__main__":
    print(json.dumps(_milliseconds(*sys.argv[1:])), flush=True)
    os._exit(0)  # what a process takes to end is not counted
