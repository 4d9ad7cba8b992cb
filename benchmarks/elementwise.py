"""Work without loops: elementary functions, Black-Scholes with five greeks, softmax of rows, a small call.

A million float64 numbers each, far beyond the caches' reach; softmax on 1024 by 1024 in both widths; and
``x * 2 + 1`` on four numbers, which measures the way in and out of compiled code and nothing else.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tracejit as tj
from benchmarks import timing
from benchmarks.peers import jax, jitted, njit, njit_sums, numba, special
from benchmarks.programs import black_scholes
from benchmarks.timing import Candidate, Case

COUNT = 1_000_000
ROWS = 1024

EXP, SIN, TANH = "exp of 10⁶ float64", "sin of 10⁶ float64", "tanh of 10⁶ float64"
BLACK_SCHOLES = "Black-Scholes, price and five greeks of 10⁶ options, float64"
SOFTMAX32, SOFTMAX64 = "softmax of the rows of 1024², float32", "softmax of the rows of 1024², float64"
CALL = "x * 2 + 1 on 4 float64: the cost of a call"


def numbers() -> np.ndarray:
    """Return the arguments of the elementary functions, in -3..3."""
    return np.random.default_rng(0).uniform(-3.0, 3.0, COUNT)


def options() -> list[np.ndarray]:
    """Return spot, strike, years, rate and volatility, ``[COUNT]`` each."""
    generator = np.random.default_rng(1)
    bounds = ((80.0, 120.0), (80.0, 120.0), (0.1, 2.0), (0.01, 0.05), (0.1, 0.5))
    return [generator.uniform(low, high, COUNT) for low, high in bounds]


def table(dtype: type) -> np.ndarray:
    """Return the rows whose softmax is taken."""
    return np.random.default_rng(2).standard_normal((ROWS, ROWS)).astype(dtype)


def numpy_black_scholes(inputs: list[np.ndarray]) -> list[np.ndarray]:
    """Return price and derivatives by the five inputs in closed form, common parts computed once."""
    spot, strike, years, rate, volatility = inputs
    root = np.sqrt(years)
    spread = volatility * root
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    phi1 = 0.5 + 0.5 * special.erf(d1 * math.sqrt(0.5))
    phi2 = 0.5 + 0.5 * special.erf((d1 - spread) * math.sqrt(0.5))
    density = np.exp(-0.5 * d1 * d1) * (1.0 / math.sqrt(2.0 * math.pi))
    discount = np.exp(-rate * years)
    paid = strike * discount * phi2
    by_volatility = spot * density * root
    by_years = by_volatility * volatility / (2.0 * years) + rate * paid
    return [spot * phi1 - paid, phi1, -discount * phi2, by_years, years * paid, by_volatility]


@njit
def numba_black_scholes(spot, strike, years, rate, volatility, out):
    """Write price and derivatives by the five inputs, in closed form, to the rows of ``out [6, n]``."""
    for i in range(spot.shape[0]):
        s, k, t, r, v = spot[i], strike[i], years[i], rate[i], volatility[i]
        root = math.sqrt(t)
        spread = v * root
        d1 = (math.log(s / k) + (r + 0.5 * v * v) * t) / spread
        phi1 = 0.5 + 0.5 * math.erf(d1 * math.sqrt(0.5))
        phi2 = 0.5 + 0.5 * math.erf((d1 - spread) * math.sqrt(0.5))
        density = math.exp(-0.5 * d1 * d1) * (1.0 / math.sqrt(2.0 * math.pi))
        discount = math.exp(-r * t)
        paid = k * discount * phi2
        vega = s * density * root
        out[0, i] = s * phi1 - paid
        out[1, i] = phi1
        out[2, i] = -discount * phi2
        out[3, i] = vega * v / (2.0 * t) + r * paid
        out[4, i] = t * paid
        out[5, i] = vega


def numpy_softmax(x: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Write the softmax of every row to ``out``, which is returned."""
    np.subtract(x, x.max(axis=1, keepdims=True), out=out)
    np.exp(out, out=out)
    out /= out.sum(axis=1, keepdims=True)
    return out


@njit_sums
def numba_softmax(x, out):
    """Write the softmax of every row to ``out``."""
    for i in range(x.shape[0]):
        largest = x[i, 0]
        for j in range(1, x.shape[1]):
            largest = max(largest, x[i, j])
        total = x[i, 0] * 0
        for j in range(x.shape[1]):
            out[i, j] = np.exp(x[i, j] - largest)
            total += out[i, j]
        scale = 1 / total
        for j in range(x.shape[1]):
            out[i, j] *= x.dtype.type(scale)


@njit
def numba_exp(x, out):
    """Write exp of every element."""
    for i in range(x.shape[0]):
        out[i] = math.exp(x[i])


@njit
def numba_sin(x, out):
    """Write sin of every element."""
    for i in range(x.shape[0]):
        out[i] = math.sin(x[i])


@njit
def numba_tanh(x, out):
    """Write tanh of every element."""
    for i in range(x.shape[0]):
        out[i] = math.tanh(x[i])


@njit
def numba_call(x):
    """Return the small expression."""
    return x * 2 + 1


def numpy_candidates() -> dict[str, Candidate]:
    """Return the calls of hand-written NumPy, writing to arrays made once; erf is SciPy's."""
    x, out, inputs = numbers(), np.empty(COUNT), options()
    narrow, wide, four = table(np.float32), table(np.float64), np.arange(4.0)
    narrow_out, wide_out = np.empty_like(narrow), np.empty_like(wide)
    calls = {
        EXP: lambda: np.exp(x, out=out),
        SIN: lambda: np.sin(x, out=out),
        TANH: lambda: np.tanh(x, out=out),
        SOFTMAX32: lambda: numpy_softmax(narrow, narrow_out),
        SOFTMAX64: lambda: numpy_softmax(wide, wide_out),
        CALL: lambda: four * 2 + 1,
    }
    return calls | ({BLACK_SCHOLES: lambda: numpy_black_scholes(inputs)} if special else {})


def numba_candidates() -> dict[str, Candidate]:
    """Return the calls of hand-written numba, writing to arrays made once."""
    if numba is None:
        return {}
    four = np.arange(4.0)

    def writing(function: Any, arguments: list[np.ndarray], out: np.ndarray) -> Candidate:
        def call() -> Any:
            function(*arguments, out)
            return list(out) if function is numba_black_scholes else out

        return call

    x, narrow, wide = numbers(), table(np.float32), table(np.float64)
    return {
        EXP: writing(numba_exp, [x], np.empty(COUNT)),
        SIN: writing(numba_sin, [x], np.empty(COUNT)),
        TANH: writing(numba_tanh, [x], np.empty(COUNT)),
        BLACK_SCHOLES: writing(numba_black_scholes, options(), np.empty((6, COUNT))),
        SOFTMAX32: writing(numba_softmax, [narrow], np.empty_like(narrow)),
        SOFTMAX64: writing(numba_softmax, [wide], np.empty_like(wide)),
        CALL: lambda: numba_call(four),
    }


def jax_candidates() -> dict[str, Candidate]:
    """Return the calls compiled by JAX; its arrays cannot be written to, so each call makes new ones."""
    if jax is None:
        return {}
    jnp = jax.numpy

    def greeks(*inputs: Any) -> Any:
        price, pull = jax.vjp(lambda *a: black_scholes(*a, jnp, jax.scipy.special.erf), *inputs)
        return [price, *pull(jnp.ones_like(price))]

    x = numbers()
    return {
        EXP: jitted(jnp.exp, x),
        SIN: jitted(jnp.sin, x),
        TANH: jitted(jnp.tanh, x),
        BLACK_SCHOLES: jitted(greeks, *options()),
        SOFTMAX32: jitted(jax.nn.softmax, table(np.float32)),
        SOFTMAX64: jitted(jax.nn.softmax, table(np.float64)),
        CALL: jitted(lambda x: x * 2 + 1, np.arange(4.0)),
    }


def tracejit_greeks(*inputs: Any) -> Any:
    """Return price and derivatives by the five inputs, by reverse mode."""
    price, pull = tj.vjp(lambda *a: black_scholes(*a, tj, tj.erf), *inputs)
    return [price, *pull(tj.ones_like(price))]


def tracejit_softmax(x: Any) -> Any:
    """Return the softmax of every row."""
    exponentials = tj.exp(x - tj.reduce_max(x, axis=1, keepdims=True))
    return exponentials / tj.reduce_sum(exponentials, axis=1, keepdims=True)


def tracejit_candidates() -> dict[str, Candidate]:
    """Return tracejit's calls by the name of the case: the one place where it enters this file."""

    def bound(function: Any, *arguments: np.ndarray) -> Candidate:
        compiled = tj.function(function)
        return lambda: compiled(*arguments)

    x = numbers()
    return {
        EXP: bound(lambda x: tj.exp(x), x),
        SIN: bound(lambda x: tj.sin(x), x),
        TANH: bound(lambda x: tj.tanh(x), x),
        BLACK_SCHOLES: bound(tracejit_greeks, *options()),
        SOFTMAX32: bound(tracejit_softmax, table(np.float32)),
        SOFTMAX64: bound(tracejit_softmax, table(np.float64)),
        CALL: bound(lambda x: x * 2 + 1, np.arange(4.0)),
    }


def cases() -> list[Case]:
    """Return what is measured."""
    peers = {
        "NumPy": numpy_candidates(),
        "numba": numba_candidates(),
        "JAX": jax_candidates(),
        "tracejit": tracejit_candidates(),
    }
    return [
        *timing.cases((EXP, SIN, TANH, BLACK_SCHOLES), peers, tolerance=1e-13),
        *timing.cases((SOFTMAX32,), peers, tolerance=1e-6),
        *timing.cases((SOFTMAX64,), peers, tolerance=1e-14),
        *timing.cases((CALL,), peers, unit="µs"),
    ]


if __name__ == "__main__":
    timing.run(cases())
