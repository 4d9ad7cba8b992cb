"""How long compiling takes: ``x * y + 1``, and ``y = sin(y) * x`` unrolled n times with its gradient.

Every figure is the fastest of some processes of their own, since whatever else runs can only add to it: each
imports NumPy and tracejit, compiles a first function of another kind, then the one measured, by calling it,
with the cache of objects off. So it includes tracing, differentiating, every pass, LLVM, loading, and one run.
JAX does the same beside it where it is installed, can do it, and takes less than `PATIENCE` seconds; numba has
no derivatives, so it only compiles the small function. Also measured: the first function of a process, the
import of tracejit included. The plot of time against n goes to ``out/compile_time.png``.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

OUT = Path(__file__).resolve().parents[1] / "out" / "compile_time.png"
SMALL, SCALAR, ARRAY = "x * y + 1", "scalars", "arrays of 8"
STEPS = (100, 200, 500, 1000, 2000, 5000)
TARGETS = {200: 0.1, 1000: 0.7, 5000: 4.0}  # seconds
PEERS = ("tracejit", "jax", "numba")
PATIENCE = 20.0


def unrolled(sin: Callable[[Any], Any], steps: int) -> Callable[[Any], Any]:
    """Return ``y = sin(y) * x``, as often as steps says, as a function of x."""

    def f(x: Any) -> Any:
        y = x
        for _ in range(steps):
            y = sin(y) * x
        return y

    return f


def seconds(call: Callable[[], Any]) -> float:
    """Return the seconds of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measure_tracejit(kind: str, steps: int) -> dict[str, float]:
    """Return seconds of importing, of the first function, and of the one measured."""
    x, y = argument(kind), np.linspace(1.0, 2.0, 8)
    start = time.perf_counter()
    import tracejit as tj

    imported = time.perf_counter() - start
    tj.configure(cache=False)
    first = seconds(lambda: tj.function(lambda x, y: x / y - 2.0)(y, y))
    if kind == SMALL:
        measured = tj.function(lambda x, y: x * y + 1.0)
        return {"import": imported, "first": first, "measured": seconds(lambda: measured(x, y))}

    def gradient(x: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(x)
            result = unrolled(tj.sin, steps)(x)
        return result, tape.gradient(result, x)

    return {"import": imported, "first": first, "measured": seconds(lambda: tj.function(gradient)(x))}


def measure_jax(kind: str, steps: int) -> dict[str, float]:
    """Return the same of JAX."""
    x, y = argument(kind), np.linspace(1.0, 2.0, 8)
    start = time.perf_counter()
    from benchmarks.peers import jax

    imported = time.perf_counter() - start
    wait = jax.block_until_ready
    first = seconds(lambda: wait(jax.jit(lambda x, y: x / y - 2.0)(y, y)))
    if kind == SMALL:
        measured = jax.jit(lambda x, y: x * y + 1.0)
        return {"import": imported, "first": first, "measured": seconds(lambda: wait(measured(x, y)))}

    def gradient(x: Any) -> Any:
        result, pull = jax.vjp(unrolled(jax.numpy.sin, steps), x)
        return result, pull(jax.numpy.ones_like(result))

    return {"import": imported, "first": first, "measured": seconds(lambda: wait(jax.jit(gradient)(x)))}


def measure_numba(kind: str, steps: int) -> dict[str, float]:
    """Return the same of numba, for the small function."""
    x, y = argument(kind), np.linspace(1.0, 2.0, 8)
    start = time.perf_counter()
    from benchmarks.peers import numba

    imported = time.perf_counter() - start
    first = seconds(lambda: numba.njit(lambda x, y: x / y - 2.0)(y, y))
    return {"import": imported, "first": first, "measured": seconds(lambda: numba.njit(small)(x, y))}


def small(x: Any, y: Any) -> Any:
    """Return the small expression."""
    return x * y + 1.0


def argument(kind: str) -> Any:
    """Return the x of one kind of program, float64."""
    return np.array(0.7) if kind == SCALAR else np.linspace(0.5, 1.5, 8)


MEASURES = {"tracejit": measure_tracejit, "jax": measure_jax, "numba": measure_numba}


def sample(
    peer: str, kind: str, steps: int = 0, limit: float | None = None, python: str = sys.executable
) -> dict[str, float] | None:
    """Measure in a process of its own; None when a peer fails, or takes longer than the limit."""
    command = [python, "-m", "benchmarks.compile_time", "--child", peer, kind, str(steps)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, env=environment, timeout=limit
        )
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        if peer == "tracejit":
            raise
        return None
    return json.loads(done.stdout)


def print_small(peers: list[str], rounds: int) -> None:
    """Print what the small function takes, as the second and as the first of a process."""
    print(f"\ncompiling {SMALL}, ms\n  {'':<12}{'second function':>16}{'import + first':>16}")
    for peer in peers:
        found = [s for _ in range(rounds) if (s := sample(peer, SMALL))]
        first = 1e3 * min(s["import"] + s["first"] for s in found)
        print(f"  {peer:<12}{1e3 * min(s['measured'] for s in found):>16.1f}{first:>16.1f}")


def unrolled_times(
    peer: str, kind: str, rounds: int, steps: Sequence[int] = STEPS, python: str = sys.executable
) -> dict[int, float]:
    """Return the milliseconds of every number of steps that a peer does in time."""
    found: dict[int, float] = {}
    for count in steps:
        for _ in range(rounds):
            one = sample(peer, kind, count, None if peer == "tracejit" else PATIENCE, python)
            if one is None:
                return found
            found[count] = min(found.get(count, math.inf), 1e3 * one["measured"])
    return found


def print_unrolled(times: dict[tuple[str, str], dict[int, float]]) -> None:
    """Print the table, and whether the time grows in proportion."""
    print("\ncompiling y = sin(y) * x unrolled, value and gradient, ms")
    print(f"  {'steps':<24}" + "".join(f"{steps:>9}" for steps in STEPS))
    for (peer, kind), found in times.items():
        row = "".join(f"{found[s]:>9.1f}" if s in found else f"{'-':>9}" for s in STEPS)
        print(f"  {peer + ', ' + kind:<24}{row}")
    print(
        f"  {'target':<24}" + "".join(f"{1e3 * TARGETS[s]:>9.0f}" if s in TARGETS else " " * 9 for s in STEPS)
    )
    for (peer, kind), found in times.items():
        if peer == "tracejit":
            growth = found[5000] / found[1000]
            print(f"  tracejit, {kind}: 5,000 steps take {growth:.1f} times as long as 1,000")


def plot(times: dict[tuple[str, str], dict[int, float]], path: Path) -> None:
    """Write the plot of time against steps."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 5.0), layout="constrained")
    axes = figure.subplots()
    for (peer, kind), found in times.items():
        style = "o-" if peer == "tracejit" else "s--"
        axes.loglog(list(found), [ms / 1e3 for ms in found.values()], style, label=f"{peer}, {kind}")
    axes.loglog(list(TARGETS), list(TARGETS.values()), "kx", markersize=8, label="target")
    axes.set(xlabel="steps", ylabel="seconds to compile and run once")
    axes.set_title("y = sin(y) * x unrolled, value and gradient")
    axes.grid(alpha=0.3, which="both")
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    print(f"\nwritten: {path}")


def main() -> None:
    """Measure everything, or one thing in this process."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="processes per figure")
    parser.add_argument("--alone", action="store_true", help="leave the peers out")
    parser.add_argument("--child", nargs=3, metavar=("PEER", "KIND", "STEPS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        peer, kind, steps = options.child
        print(json.dumps(MEASURES[peer](kind, int(steps))))
        return
    peers = [p for p in PEERS if p == "tracejit" or (not options.alone and importlib.util.find_spec(p))]
    print_small(peers, 2 * options.rounds + 1)
    differentiating = [p for p in peers if p != "numba"]
    kinds = [(peer, kind) for kind in (SCALAR, ARRAY) for peer in differentiating]
    times = {(peer, kind): unrolled_times(peer, kind, options.rounds) for peer, kind in kinds}
    print_unrolled(times)
    if importlib.util.find_spec("matplotlib"):
        plot(times, OUT)


if __name__ == "__main__":
    main()
