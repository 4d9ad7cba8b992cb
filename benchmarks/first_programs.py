"""Four programs whose first calls `first_calls` measures: each returns a call without arguments that does all of it.

They import little, so that a process which calls one shows what tracejit costs and nothing else. Run as a module, this
calls one and prints the milliseconds.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from examples import digits_network

import tracejit as tj


def spread(low: float, high: float, *shape: int) -> np.ndarray:
    """Return numbers of the open interval that follow no simple pattern."""
    return low + (high - low) * (math.sqrt(2.0) * np.arange(1.0, math.prod(shape) + 1.0) % 1.0).reshape(shape)


def greeks() -> Callable[[], Any]:
    """Return Black-Scholes: the price of a thousand options and five derivatives."""

    def price(spot: Any, strike: Any, years: Any, rate: Any, volatility: Any) -> Any:
        deviation = volatility * tj.sqrt(years)
        d1 = (tj.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / deviation
        phi1 = 0.5 + 0.5 * tj.math.erf(d1 * math.sqrt(0.5))
        phi2 = 0.5 + 0.5 * tj.math.erf((d1 - deviation) * math.sqrt(0.5))
        return spot * phi1 - strike * tj.exp(-rate * years) * phi2

    @tj.function
    def priced(*inputs: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(inputs)
            found = price(*inputs)
        return found, tape.gradient(found, inputs)

    bounds = ((80.0, 120.0), (82.0, 118.0), (0.1, 2.0), (0.01, 0.05), (0.1, 0.5))
    inputs = [spread(low, high, 1000) for low, high in bounds]
    return lambda: priced(*inputs)


def network() -> Callable[[], Any]:
    """Return a step of Adam on a network of two layers, 64-256-10, batches of 128."""
    shapes = ((64, 256), (256,), (256, 10), (10,))
    trained = digits_network.Network([spread(-0.1, 0.1, *shape).astype(np.float32) for shape in shapes], 2e-3)
    images = spread(0.0, 1.0, 128, 64).astype(np.float32)
    labels = np.arange(128) % 10
    return lambda: trained.step(images, labels)


def transformer() -> Callable[[], Any]:
    """Return a transformer block of width 64, four heads, on 8 sequences of 32: the loss and all derivatives."""
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
    weights = [spread(-0.2, 0.2, *shape).astype(np.float32) for shape in shapes]
    x = spread(-2.0, 2.0, 8, length, width).astype(np.float32)
    return lambda: step(x, weights)


def loops() -> Callable[[], Any]:
    """Return the Hessian's product with a vector of a scan in a counted loop in one that ends by a condition."""

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


def measure(name: str, kind: str) -> None:
    """Print the milliseconds of the first call of a program, by the clock and of work, less those of the second.

    ``cold``: without the cache of objects, and the compiler has compiled another function before.
    """
    tj.configure(cache=kind == "warm")
    if kind == "cold":
        x = np.linspace(1.0, 2.0, 8)
        tj.function(lambda x, y: x / y - 2.0)(x, x)
    call = PROGRAMS[name]()
    tj.configure(debug=int(os.environ.get("BENCHMARK_DEBUG", "0")))
    start, started = time.perf_counter(), time.process_time()
    call()
    middle, worked = time.perf_counter(), time.process_time()
    call()
    end, ended = time.perf_counter(), time.process_time()
    print(1e3 * (2 * middle - start - end), 1e3 * (2 * worked - started - ended))


if __name__ == "__main__":
    measure(*sys.argv[1:])
