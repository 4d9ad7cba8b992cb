"""How long the first call of four programs takes, and which pass takes it.

Black-Scholes with five greeks, a training step of a network, a transformer block forwards and backwards, and the second
order of three nested loops. Each is called in processes of its own, where tracejit is imported and the compiler loaded,
with the cache of objects off; then in processes that find it warm, from their start to the first result. Run with
``--passes`` it prints what each pass takes instead.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

TARGETS = {"greeks": 60, "network": 120, "transformer": 250, "loops": 800}  # milliseconds of a first call
WARM = 160  # milliseconds from the start of a process that finds what it needs on disk
LINE = re.compile(r"tracejit: +(.+): (\d+\.\d) ms$")


# ---- the programs ---------------------------------------------------------------------------------------


def greeks() -> Callable[[], Any]:
    """Return Black-Scholes: the price of a thousand options and five derivatives."""
    import tracejit as tj

    def price(spot: Any, strike: Any, years: Any, rate: Any, volatility: Any) -> Any:
        spread = volatility * tj.sqrt(years)
        d1 = (tj.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
        phi1 = 0.5 + 0.5 * tj.math.erf(d1 * math.sqrt(0.5))
        phi2 = 0.5 + 0.5 * tj.math.erf((d1 - spread) * math.sqrt(0.5))
        return spot * phi1 - strike * tj.exp(-rate * years) * phi2

    @tj.function
    def priced(*inputs: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(inputs)
            found = price(*inputs)
        return found, tape.gradient(found, inputs)

    generator = np.random.default_rng(1)
    bounds = ((80.0, 120.0), (80.0, 120.0), (0.1, 2.0), (0.01, 0.05), (0.1, 0.5))
    inputs = [generator.uniform(low, high, 1000) for low, high in bounds]
    return lambda: priced(*inputs)


def network() -> Callable[[], Any]:
    """Return a step of Adam on a network of two layers, 64-256-10, batches of 128."""
    from examples import digits_network, digits_numpy

    generator = np.random.default_rng(0)
    trained = digits_network.Network(digits_numpy.initial_parameters(64, 256, 10), 2e-3)
    images = generator.uniform(0.0, 1.0, (128, 64)).astype(np.float32)
    labels = generator.integers(0, 10, 128)
    return lambda: trained.step(images, labels)


def transformer() -> Callable[[], Any]:
    """Return a transformer block of width 64, four heads, on 8 sequences of 32: the loss and all derivatives."""
    import tracejit as tj

    width, heads, length = 64, 4, 32

    def normed(x: Any, scale: Any, shift: Any) -> Any:
        mean = tj.reduce_mean(x, axis=-1, keepdims=True)
        square = tj.reduce_mean((x - mean) ** 2, axis=-1, keepdims=True)
        return (x - mean) / tj.sqrt(square + 1e-5) * scale + shift

    def split(x: Any) -> Any:
        return tj.transpose(tj.reshape(x, (-1, length, heads, width // heads)), (0, 2, 1, 3))

    def attention(x: Any, w_in: Any, w_out: Any) -> Any:
        q, k, v = (split(part) for part in tj.split(x @ w_in, 3, axis=-1))
        weights = tj.nn.softmax(q @ tj.transpose(k, (0, 1, 3, 2)) / math.sqrt(width / heads))
        together = tj.transpose(weights @ v, (0, 2, 1, 3))
        return tj.reshape(together, (-1, length, width)) @ w_out

    def block(x: Any, weights: list[Any]) -> Any:
        w_in, w_out, up, b_up, down, b_down, scale1, shift1, scale2, shift2 = weights
        x = x + attention(normed(x, scale1, shift1), w_in, w_out)
        y = normed(x, scale2, shift2) @ up + b_up
        y = 0.5 * y * (1.0 + tj.tanh(math.sqrt(2.0 / math.pi) * (y + 0.044715 * y**3)))
        return x + y @ down + b_down

    @tj.function
    def step(x: Any, weights: list[Any]) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(weights)
            loss = tj.reduce_mean(block(x, weights) ** 2)
        return loss, tape.gradient(loss, weights)

    wide = 4 * width
    shapes = ((width, 3 * width), (width, width), (width, wide), (wide,), (wide, width), *[(width,)] * 5)
    generator = np.random.default_rng(2)
    weights = [0.1 * generator.standard_normal(shape).astype(np.float32) for shape in shapes]
    x = generator.standard_normal((8, length, width)).astype(np.float32)
    return lambda: step(x, weights)


def loops() -> Callable[[], Any]:
    """Return the Hessian's product with a vector of a scan in a counted loop in one that ends by a condition."""
    import tracejit as tj

    def innermost(c: Any, row: Any) -> Any:
        c = tj.sin(c * row) + 0.1 * c * c
        return c, c * row

    def middle(x: Any, rows: Any) -> Any:
        x, ys = tj.scan(innermost, x, rows)
        return x + 0.1 * tj.reduce_sum(ys, axis=0)

    def outer(x: Any, w: Any) -> Any:
        rows = tj.stack([w * (0.1 * k + 0.3) for k in range(4)])
        k = tj.constant(0.0, dtype="float64")

        def going(k: Any, x: Any) -> Any:
            return tj.logical_and(k < 5.0, tj.reduce_sum(x * x) < 1e6)

        def body(k: Any, x: Any) -> Any:
            return k + 1.0, tj.fori_loop(0, 3, lambda i, x: middle(x, rows), x) * 0.9

        return tj.reduce_sum(tj.while_loop(going, body, (k, x))[1] ** 2)

    @tj.function
    def product(x: Any, w: Any, v: Any) -> Any:
        with tj.GradientTape() as second:
            second.watch((x, w))
            with tj.GradientTape() as first:
                first.watch((x, w))
                y = outer(x, w)
            along = tj.reduce_sum(first.gradient(y, x) * v)
        return second.gradient(along, (x, w))

    x, w, v = np.array([0.3, -0.4, 0.5]), np.array([0.7, 0.2, -0.1]), np.array([1.0, 0.5, -1.0])
    return lambda: product(x, w, v)


PROGRAMS = {"greeks": greeks, "network": network, "transformer": transformer, "loops": loops}


# ---- measuring ------------------------------------------------------------------------------------------


def measure(name: str, cold: bool) -> dict[str, float]:
    """Call one program in this process: milliseconds of the first call by the clock and of work, less the second."""
    import tracejit as tj

    tj.configure(cache=not cold)
    if cold:
        x = np.linspace(1.0, 2.0, 8)
        tj.function(lambda x, y: x / y - 2.0)(x, x)
    call = PROGRAMS[name]()
    tj.configure(debug=int(os.environ.get("BENCHMARK_DEBUG", "0")))
    start, started = time.perf_counter(), time.process_time()
    call()
    wall, work = time.perf_counter() - start, time.process_time() - started
    start = time.perf_counter()
    call()
    return {"wall": 1e3 * (wall - (time.perf_counter() - start)), "work": 1e3 * work}


def child(name: str, kind: str, **environment: str) -> subprocess.CompletedProcess:
    """Run one program in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.first_calls", "--child", name, kind]
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run(command, capture_output=True, text=True, check=True, env={**kept, **environment})


def cold(name: str, rounds: int) -> dict[str, float]:
    """Return the least of some first calls without a cache."""
    found = [json.loads(child(name, "cold").stdout) for _ in range(rounds)]
    return {what: min(one[what] for one in found) for what in found[0]}


def warm(name: str, rounds: int) -> dict[str, float]:
    """Return the least of some processes that find the code on disk: the whole, and the first call in it."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds + 1):
            start = time.perf_counter()
            done = child(name, "warm", TRACEJIT_CACHE_DIR=folder)
            found.append({"all": 1e3 * (time.perf_counter() - start), **json.loads(done.stdout)})
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
        found.append({**one, "in all": json.loads(done.stdout)["work"]})
    return {what: statistics.median(one.get(what, 0.0) for one in found) for what in found[0]}


def main() -> None:
    """Measure everything, or one program in this process."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="processes per figure")
    parser.add_argument("--passes", action="store_true", help="print what each pass takes")
    parser.add_argument("--child", nargs=2, metavar=("PROGRAM", "KIND"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        name, kind = options.child
        print(json.dumps(measure(name, kind == "cold")))
    elif options.passes:
        for name in PROGRAMS:
            print(f"\n{name}, ms of work")
            for what, milliseconds in passes(name, options.rounds).items():
                print(f"  {what:<40}{milliseconds:>9.1f}")
    else:
        print(
            "\nfirst calls, ms: by the clock, of work, target; a warm process from its start, its first call, target"
        )
        for name in PROGRAMS:
            first, second = cold(name, options.rounds), warm(name, options.rounds)
            print(
                f"  {name:<14}{first['wall']:>8.0f}{first['work']:>8.0f}{TARGETS[name]:>8}"
                f"{second['all']:>12.0f}{second['wall']:>8.0f}{WARM:>8}",
                flush=True,
            )


if __name__ == "__main__":
    main()
