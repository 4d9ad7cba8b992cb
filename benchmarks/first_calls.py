"""How long the first call of four programs takes, and which pass takes it: tracejit's part of ``make bench-full``.

Each is called in processes of its own, where the compiler is loaded and nothing is on disk; then in processes that find
its code there, from their start to the first result. ``--passes`` prints what each pass takes instead.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys

from benchmarks.full import rows, spawn
from benchmarks.full.table import FIRST_CALLS, WARM_PROCESS

LINE = re.compile(r"tracejit: +(.+): (\d+\.\d) ms$")


def passes(case: str, rounds: int) -> dict[str, float]:
    """Return the milliseconds of each pass, the medians; what no pass took is tracing."""
    found: list[dict[str, float]] = []
    for _ in range(rounds):
        whole, report = spawn.passes(case)
        one: dict[str, float] = {}
        for line in report.splitlines():
            if match := LINE.match(line):
                one[match[1]] = one.get(match[1], 0.0) + float(match[2])
        found.append({**one, "in all": whole})
    return {what: statistics.median(one.get(what, 0.0) for one in found) for what in found[0]}


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="processes per figure")
    parser.add_argument("--passes", action="store_true", help="print what each pass takes")
    options = parser.parse_args()
    if options.passes:
        for case in FIRST_CALLS:
            print(f"\n{case.lower()}, ms")
            for what, milliseconds in passes(case, options.rounds).items():
                print(f"  {what:<40}{milliseconds:>9.1f}", flush=True)
        return
    pythons = {rows.OURS: sys.executable}
    first = spawn.first_calls(pythons, [rows.OURS], options.rounds)
    warm = spawn.warm_processes(pythons, [rows.OURS], options.rounds)
    print("\nms of a first call, target; of a warm process from its start to the result, target")
    for case, target in FIRST_CALLS.items():
        ours, again = first[case][rows.OURS], warm[case][rows.OURS]
        print(f"  {case.lower():<14}{ours:>8.0f}{target:>8.0f}{again:>10.0f}{WARM_PROCESS:>8.0f}")


if __name__ == "__main__":
    main()
