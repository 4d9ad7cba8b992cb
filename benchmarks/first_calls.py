"""How long the first call of four programs takes, and which pass takes it.

Black-Scholes with five greeks, a training step of a network, a transformer block forwards and backwards, and the second
order of three nested loops. Each is called in processes of its own, where tracejit is imported and the compiler loaded,
with the cache of objects off; then in processes that find it warm, from their start to the first result. Run with
``--passes`` it prints what each pass takes instead.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

TARGETS = {"greeks": 60, "network": 120, "transformer": 250, "loops": 800}  # milliseconds of a first call
WARM = 160  # milliseconds from the start of a process that finds what it needs on disk
LINE = re.compile(r"tracejit: +(.+): (\d+\.\d) ms$")


def child(name: str, kind: str, **environment: str) -> subprocess.CompletedProcess:
    """Run one program in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.first_programs", name, kind]
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run(command, capture_output=True, text=True, check=True, env={**kept, **environment})


def milliseconds(done: subprocess.CompletedProcess) -> dict[str, float]:
    """Return what a process printed."""
    return dict(zip(("wall", "work"), map(float, done.stdout.split()), strict=True))


def cold(name: str, rounds: int) -> dict[str, float]:
    """Return the least of some first calls without a cache."""
    found = [milliseconds(child(name, "cold")) for _ in range(rounds)]
    return {what: min(one[what] for one in found) for what in found[0]}


def warm(name: str, rounds: int) -> dict[str, float]:
    """Return the least of some processes that find the code on disk: the whole, and the first call in it."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds + 1):
            start = time.perf_counter()
            done = child(name, "warm", TRACEJIT_CACHE_DIR=folder)
            found.append({"all": 1e3 * (time.perf_counter() - start), **milliseconds(done)})
    return {what: min(one[what] for one in found[1:]) for what in found[0]}


def passes(name: str, rounds: int) -> dict[str, float]:
    """Return the milliseconds of each pass, the medians; what no pass took is tracing."""
    found: list[dict[str, float]] = []
    for _ in range(rounds):
        done = child(name, "cold", BENCHMARK_DEBUG="2")
        one: dict[str, float] = {}
        for line in done.stderr.splitlines():
            if match := LINE.match(line):
                one[match[1]] = one.get(match[1], 0.0) + float(match[2])
        found.append({**one, "in all": milliseconds(done)["work"]})
    return {what: statistics.median(one.get(what, 0.0) for one in found) for what in found[0]}


def main() -> None:
    """Measure everything, or one program in this process."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="processes per figure")
    parser.add_argument("--passes", action="store_true", help="print what each pass takes")
    options = parser.parse_args()
    if options.passes:
        for name in TARGETS:
            print(f"\n{name}, ms of work")
            for what, milliseconds in passes(name, options.rounds).items():
                print(f"  {what:<40}{milliseconds:>9.1f}")
    else:
        print(
            "\nfirst calls, ms: by the clock, of work, target; a warm process from its start, its first call, target"
        )
        for name in TARGETS:
            first, second = cold(name, options.rounds), warm(name, options.rounds)
            print(
                f"  {name:<14}{first['wall']:>8.0f}{first['work']:>8.0f}{TARGETS[name]:>8}"
                f"{second['all']:>12.0f}{second['wall']:>8.0f}{WARM:>8}",
                flush=True,
            )


if __name__ == "__main__":
    main()
