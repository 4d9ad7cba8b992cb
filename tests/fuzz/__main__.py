"""Many random programs in worker processes: ``python -m fuzz --programs 20000 --compositions 5000 --jobs 2``.

A program that ends its worker, or takes too long, counts as wrong, with its seed.
"""

from __future__ import annotations

import argparse
import collections
import importlib
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from .outcome import Outcome
from .workers import Key, outcomes

BATCH = 20  # programs a worker is given at a time


class Summary:
    """Counts, reasons of refusals, wrong programs."""

    def __init__(self) -> None:
        self.counts: collections.Counter[tuple[str, str]] = collections.Counter()
        self.reasons: collections.Counter[tuple[str, str]] = collections.Counter()
        self.wrong: list[tuple[Key, Outcome]] = []

    def add(self, key: Key, found: Outcome) -> None:
        """Count one."""
        self.counts[key[0], found.kind] += 1
        if found.kind == "refused":
            self.reasons[key[0], found.reason] += 1
        elif found.kind == "wrong":
            self.wrong.append((key, found))

    def text(self) -> str:
        """All of it, to be read."""
        lines = []
        for (kind, seed), found in sorted(self.wrong, key=lambda w: w[0]):
            lines += [f"---- wrong: {kind} {seed}: {found.reason}", found.program]
        for (kind, reason), count in self.reasons.most_common():
            lines.append(f"{count:6} {kind} refused: {reason}")
        for (kind, verdict), count in sorted(self.counts.items()):
            lines.append(f"{count:6} {kind} {verdict}")
        return "\n".join(lines)


def _tasks(first: int, counts: dict[str, int]) -> list[tuple[str, list[int]]]:
    found = []
    for kind, count in counts.items():
        for start in range(first, first + count, BATCH):
            found.append((kind, list(range(start, min(start + BATCH, first + count)))))
    return found


def main() -> int:
    """Check, show, and tell whether something was wrong."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--programs", type=int, default=0, help="how many programs with effects")
    parser.add_argument("--compositions", type=int, default=0, help="how many compositions of transforms")
    parser.add_argument("--aliases", type=int, default=0, help="how many programs for NumPy with aliases")
    parser.add_argument("--exports", type=int, default=0, help="how many exported functions")
    parser.add_argument(
        "--foreign", type=int, default=0, help="how many functions exported for other machines"
    )
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes")
    parser.add_argument("--program", type=Path, help="check this file instead, as it was reported")
    given = parser.parse_args()
    if given.program is not None:
        effects = importlib.import_module("fuzz.effects.running")
        found = effects.check_text(given.program.read_text(), str(given.program))
        print(found.kind, found.reason)
        return int(found.kind == "wrong")
    cache = os.environ["TRACEJIT_CACHE_DIR"] = tempfile.mkdtemp(prefix="tracejit-fuzz-")
    counts = {"effects": given.programs, "compositions": given.compositions}
    counts |= {"aliases": given.aliases}
    counts |= {"exports": given.exports, "foreign": given.foreign}
    tasks, total = _tasks(given.seed, counts), sum(counts.values())
    summary, started = Summary(), time.monotonic()
    try:
        for number, (key, found) in enumerate(outcomes(tasks, given.jobs), 1):
            summary.add(key, found)
            if found.kind == "wrong" or number % 100 == 0:
                passed = time.monotonic() - started
                print(f"{number}/{total} after {passed:.0f} s, {len(summary.wrong)} wrong", flush=True)
    finally:
        print(summary.text())
        shutil.rmtree(cache, ignore_errors=True)
    return int(bool(summary.wrong))


if __name__ == "__main__":
    sys.exit(main())
