"""A gradient that leaves its process, beside what JAX, PyTorch and CasADi offer for that: a table in Markdown.

Every figure is of a process of its own, on one thread, the peers in turns, and the median of the rounds: how large the
files are; the time from ``import numpy`` to the first result, all imports included; a call after that.
Peers that are not installed are left out. ``python -m benchmarks.aot [ROUNDS]``.
"""

from __future__ import annotations

import importlib.util
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from typing import Any

from benchmarks.aot_peers import PEERS

ROUNDS = 7
TOLERANCE = 1e-12
PATIENCE = 5.0
"""Seconds up to which an artifact is made twice."""

ALONE = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "JAX_PLATFORMS": "cpu",
}


def asked(what: str, name: str, folder: str) -> dict[str, Any] | str:
    """Make or use a peer's artifact in a new process; return what it found, or the last line of why it could not."""
    environment = {
        key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"
    } | ALONE
    command = [sys.executable, "-m", "benchmarks.aot_peers", what, name, folder]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["no word"])[-1]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def measured(folder: str, rounds: int) -> tuple[dict[str, dict[str, float]], dict[str, str]]:
    """Return the figures of every peer that is there, and why others failed."""
    figures: dict[str, dict[str, float]] = {}
    failed: dict[str, str] = {}
    for name, peer in PEERS.items():
        if (spec := importlib.util.find_spec(peer.package)) is None or spec.origin is None:
            continue
        made = asked("make", name, folder)
        if not isinstance(made, str) and made["seconds"] < PATIENCE:
            made = asked("make", name, folder)  # the first may have had to write bytecode
        if isinstance(made, str):
            failed[name] = made
        else:
            figures[name] = {"bytes": made["bytes"], "seconds": made["seconds"]}
    samples: dict[str, list[dict[str, Any]]] = {name: [] for name in figures}
    order, shuffle = list(samples), random.Random(0).shuffle
    for count in range(rounds + 1):
        shuffle(order)
        for name in order:
            used = asked("use", name, folder)
            if isinstance(used, str) or not used["error"] <= TOLERANCE:
                raise ValueError(f"{name}: {used}")
            if count:  # the first may have to write bytecode
                samples[name].append(used)
    for name, found in samples.items():
        figures[name] |= {key: statistics.median(s[key] for s in found) for key in ("load", "first", "call")}
    return figures, failed


def table(figures: dict[str, dict[str, float]]) -> str:
    """Return the figures in Markdown."""
    lines = [
        "| | made in, s | size | loaded, ms | first result, ms | a call, µs | needs, to be called | gradient |",
        "|---|---:|---:|---:|---:|---:|---|---|",
    ]
    for name, f in figures.items():
        shown = [digits(f[key]) for key in ("seconds", "load", "first", "call")]
        figures_shown = " | ".join([shown[0], f"{digits(f['bytes'] / 1024)} KB", *shown[1:]])
        lines.append(f"| {name} | {figures_shown} | {PEERS[name].needs} | {PEERS[name].gradient} |")
    return "\n".join(lines)


def digits(x: float) -> str:
    """Return a number with two digits, or all that stand before the point."""
    return f"{x:,.0f}" if x >= 10 else f"{x:.2g}"


def main() -> None:
    """Measure and print."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        figures, failed = measured(folder, rounds)
    print(f"\nvalue and gradients of 1,000 rows in another process, medians of {rounds} processes each\n")
    print(table(figures))
    for name, why in failed.items():
        print(f"\n{name} could not be made: {why}")


if __name__ == "__main__":
    main()
