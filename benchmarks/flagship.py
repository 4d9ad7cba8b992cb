"""The data-dependent loop of ``examples/02_compiled_loop.py``, judged on 1,000 numbers of both signs.

Their magnitudes go from 1e-30 to 1e5. The gradient must be exactly 2^k, or 100·2^k where the result is
negative, with the k that doubling by NumPy takes; equal to the eager gradient; from one trace. Where there is
a peer that can differentiate such a loop in reverse it would be timed here: JAX refuses, numba has no
derivatives.
"""

from __future__ import annotations

import importlib
import math
import sys
import time
from typing import Any

import numpy as np

import tracejit as tj

COUNT = 1000
LIMIT = 1000.0

example = importlib.import_module("examples.02_compiled_loop")


def numbers(dtype: str) -> np.ndarray:
    """Return the inputs: magnitudes evenly spread in the logarithm, signs in turns."""
    return (10.0 ** np.linspace(-30.0, 5.0, COUNT) * np.resize([1.0, -1.0], COUNT)).astype(dtype)


def doublings(a: Any) -> int:
    """Return how often NumPy doubles a number until its size reaches the limit."""
    k = 0
    while np.sqrt(a * a) < LIMIT:
        a, k = a * a.dtype.type(2.0), k + 1
    return k


def gradient_by_hand(a: Any) -> float:
    """Return the exact derivative."""
    return math.ldexp(1.0 if a > 0 else 100.0, doublings(a))


def judge(dtype: str) -> bool:
    """Compare compiled, eager and exact gradients of all numbers; print the verdict."""
    inputs = [tj.constant(a) for a in numbers(dtype)]
    compiled = tj.function(example.value_and_gradient.python_function)
    compiled(inputs[0])
    start = time.perf_counter()
    found = [compiled(a) for a in inputs]
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    eager = [example.value_and_gradient.python_function(a) for a in inputs]
    eager_seconds = time.perf_counter() - start
    exact = sum(float(g) == gradient_by_hand(a.numpy()) for a, (_, g) in zip(inputs, found, strict=True))
    equal = sum(
        float(g) == float(h) and float(c) == float(d) for (c, g), (d, h) in zip(found, eager, strict=True)
    )
    traces = compiled.experimental_get_tracing_count()
    passes = sum(map(doublings, (a.numpy() for a in inputs)))
    print(
        f"  {dtype}: gradient exact {exact}/{COUNT}, equal to eager {equal}/{COUNT}, traces {traces}, "
        f"up to {max(doublings(a.numpy()) for a in inputs)} doublings\n"
        f"    value and gradient, mean of all: compiled {1e6 * seconds / COUNT:.1f} µs per call, eager "
        f"{1e6 * eager_seconds / COUNT:.0f} µs ({passes / COUNT:.1f} doublings)"
    )
    return exact == equal == COUNT and traces == 1


def main() -> int:
    """Judge both widths; return 1 if a gradient is wrong."""
    print("\ndouble until the size is 1000, times 100 if negative: the gradient, 1e-30 ... 1e5, both signs")
    return int(not all([judge("float32"), judge("float64")]))


if __name__ == "__main__":
    sys.exit(main())
