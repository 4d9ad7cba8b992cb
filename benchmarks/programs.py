"""Programs whose first call matters: Black-Scholes with greeks, two networks' steps, a second order of nested loops.

Light to import, for what is measured is how long a new process takes to its first result.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import networks
from benchmarks.networks import BLOCK, MLP

if TYPE_CHECKING:
    from benchmarks.timing import Candidate

GREEKS = "Black-Scholes with five greeks, 1000 options"
NESTED = "second order of three nested loops"
NAMES = (GREEKS, MLP, BLOCK, NESTED)
TRIPS = (3, 4, 5)


def options() -> list[np.ndarray]:
    """Return spot, strike, years, rate and volatility, ``[1000]`` each."""
    generator = np.random.default_rng(1)
    bounds = ((80.0, 120.0), (80.0, 120.0), (0.1, 2.0), (0.01, 0.05), (0.1, 0.5))
    return [generator.uniform(low, high, 1000) for low, high in bounds]


def black_scholes(spot: Any, strike: Any, years: Any, rate: Any, volatility: Any, np: Any, erf: Any) -> Any:
    """Return the price of a European call; np and erf say whose arrays these are."""
    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    phi1 = 0.5 + 0.5 * erf(d1 * math.sqrt(0.5))
    phi2 = 0.5 + 0.5 * erf((d1 - spread) * math.sqrt(0.5))
    return spot * phi1 - strike * np.exp(-rate * years) * phi2


def tracejit_candidates(only: Collection[str] = NAMES) -> dict[str, Candidate]:
    import tracejit as tj

    @tj.function
    def greeks(*inputs: Any) -> Any:
        price, pull = tj.vjp(lambda *a: black_scholes(*a, tj, tj.erf), *inputs)
        return [price, *pull(tj.ones_like(price))]

    def nested(x: Any, l: Any, m: Any, n: Any) -> Any:
        for i in range(l):
            for j in range(m):
                for k in range(n):
                    x = x + 0.01 * tj.sin(x) * (i + j + k)
        return x

    second = tj.function(lambda *a: tj.grad(tj.grad(nested))(*a))
    trips = [np.int64(t) for t in TRIPS]
    mine = {GREEKS: lambda: partial(greeks, *options()), NESTED: lambda: partial(second, np.float64(0.5), *trips)}
    return networks.tracejit_candidates(only) | networks.made(mine, only)


def jax_candidates(only: Collection[str] = NAMES) -> dict[str, Candidate]:
    from benchmarks.peers import jax, jitted

    jnp = jax.numpy

    def greeks(*inputs: Any) -> Any:
        price, pull = jax.vjp(lambda *a: black_scholes(*a, jnp, jax.scipy.special.erf), *inputs)
        return [price, *pull(jnp.ones_like(price))]

    def nested(x: Any) -> Any:
        l, m, n = TRIPS

        def inner(i: Any, j: Any, x: Any) -> Any:
            return jax.lax.fori_loop(0, n, lambda k, x: x + 0.01 * jnp.sin(x) * (i + j + k), x)

        def middle(i: Any, x: Any) -> Any:
            return jax.lax.fori_loop(0, m, lambda j, x: inner(i, j, x), x)

        return jax.lax.fori_loop(0, l, middle, x)

    mine = {
        GREEKS: lambda: jitted(greeks, *options()),
        NESTED: lambda: jitted(jax.grad(jax.grad(nested)), np.float64(0.5)),
    }
    return networks.jax_candidates(only) | networks.made(mine, only)


def torch_candidates(only: Collection[str] = NAMES) -> dict[str, Candidate]:
    return networks.torch_candidates(only)


def tensorflow_candidates(only: Collection[str] = NAMES) -> dict[str, Candidate]:
    return networks.tensorflow_candidates(only)
