"""How long a fresh process takes to import tracejit and its peers, beyond what importing NumPy takes.

Each sample is a process of its own, the modules in turns. The first round, which may have to compile
bytecode, is left out; a setting that forbids keeping bytecode is lifted, since an installed package has
it.
"""

from __future__ import annotations

import importlib.util
import os
import statistics
import subprocess
import sys

MODULES = ("tracejit", "numba", "jax")
ROUNDS = 11

CODE = """
import sys, time
import numpy
start = time.perf_counter()
import {module}
print(time.perf_counter() - start, *({{"llvmlite", "networkx"}} & set(sys.modules)))
"""


def sample(module: str) -> tuple[float, list[str]]:
    """Import a module in a new process; return the seconds it took and the heavy libraries it loaded."""
    command = [sys.executable, "-c", CODE.format(module=module)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    seconds, *heavy = done.stdout.split()
    return float(seconds), heavy


def main() -> None:
    """Measure and print."""
    installed = [name for name in MODULES if (spec := importlib.util.find_spec(name)) and spec.origin]
    rounds = [{name: sample(name) for name in installed} for _ in range(ROUNDS + 1)][1:]
    print(f"\nimport, beyond NumPy\n  {'ms per process':<22}{'median':>11}{'fastest':>11}   also loads")
    for name in installed:
        milliseconds = [1e3 * samples[name][0] for samples in rounds]
        heavy = ", ".join(sorted(rounds[0][name][1])) or "-"
        print(f"  {name:<22}{statistics.median(milliseconds):>11.1f}{min(milliseconds):>11.1f}   {heavy}")


if __name__ == "__main__":
    main()
