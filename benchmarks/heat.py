"""The heat equation on 256 by 256 numbers, 200 steps, with derivatives by the initial state and alpha.

A step is ``u[1:-1, 1:-1] += alpha * DT * laplacian(u)``; the result is the sum of squares of the last
state. By hand one saves every state on the way out (alpha's derivative needs them) and walks back with the
transposed stencil, all in arrays made once. Measured: memory traffic, and what a compiler adds to it by
copies of its own. In tracejit the step is that very line, in a ``for`` loop. With ``--torch-compile`` one step
compiled by PyTorch takes part too, which takes minutes.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import Any

import numpy as np

import tracejit as tj
from benchmarks import heat_peers, timing
from benchmarks.peers import jax, jitted, njit, njit_sums, numba
from benchmarks.timing import Candidate, Case
from tracejit.compiler.cache import compile_graph

SIZE = 256
STEPS = 200
DT = 0.25
ALPHA = 0.8

VALUE = "heat equation, value"
GRADIENT = "heat equation, value, derivatives by the initial state and alpha"


def initial_state(size: int = SIZE) -> np.ndarray:
    """Return a hot square in a cold, slightly uneven plate, ``[size, size]``."""
    state = 0.1 * np.random.default_rng(0).standard_normal((size, size))
    state[size // 4 : size // 2, size // 4 : size // 2] += 1.0
    return state


def laplacian(u):
    """Return the five-point Laplacian inside of ``u [m, n]``, shape ``[m - 2, n - 2]``."""
    return u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]


def numpy_value(initial: np.ndarray, alpha: float) -> float:
    """Return the result, written as one writes it in NumPy."""
    u = initial.copy()
    for _ in range(STEPS):
        u[1:-1, 1:-1] += alpha * DT * laplacian(u)
    return float(np.sum(u * u))


def numpy_gradient(initial: np.ndarray, alpha: float, states: np.ndarray) -> tuple[float, np.ndarray, float]:
    """Return the result and its derivatives; ``states [STEPS + 1, m, n]`` is overwritten."""
    states[0] = initial
    for before, after in pairwise(states):
        after[...] = before
        after[1:-1, 1:-1] += alpha * DT * laplacian(before)
    value = float(np.sum(states[-1] ** 2))
    cotangent = 2.0 * states[-1]
    alpha_bar = 0.0
    for before in states[-2::-1]:
        inner = cotangent[1:-1, 1:-1].copy()
        alpha_bar += DT * float(np.sum(inner * laplacian(before)))
        inner *= alpha * DT
        cotangent[2:, 1:-1] += inner
        cotangent[:-2, 1:-1] += inner
        cotangent[1:-1, 2:] += inner
        cotangent[1:-1, :-2] += inner
        cotangent[1:-1, 1:-1] -= 4.0 * inner
    return value, cotangent, alpha_bar


@njit
def step(before, after, c):
    """Write the inside of the state after one step; its edge stays."""
    m, n = before.shape
    for i in range(1, m - 1):
        for j in range(1, n - 1):
            around = before[i + 1, j] + before[i - 1, j] + before[i, j + 1] + before[i, j - 1]
            after[i, j] = before[i, j] + c * (around - 4.0 * before[i, j])


@njit_sums
def sum_of_squares(u):
    """Return the sum of squares of a matrix."""
    total = 0.0
    for i in range(u.shape[0]):
        for j in range(u.shape[1]):
            total += u[i, j] * u[i, j]
    return total


@njit_sums
def step_transposed(w, after, u, c):
    """Write the cotangent before a step; return the sum of ``w`` times the Laplacian of ``u``."""
    m, n = u.shape
    total = 0.0
    for i in range(1, m - 1):
        for j in range(1, n - 1):
            around_u = u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1]
            around_w = w[i + 1, j] + w[i - 1, j] + w[i, j + 1] + w[i, j - 1]
            total += w[i, j] * (around_u - 4.0 * u[i, j])
            after[i, j] = w[i, j] + c * (around_w - 4.0 * w[i, j])
    return total


@njit
def receive_at_edges(inside, edge, c):
    """Add to the cotangent of the edge, which no step changes, what each step reads there."""
    m, n = inside.shape
    for j in range(1, n - 1):
        edge[0, j] += c * inside[1, j]
        edge[m - 1, j] += c * inside[m - 2, j]
    for i in range(1, m - 1):
        edge[i, 0] += c * inside[i, 1]
        edge[i, n - 1] += c * inside[i, n - 2]


@njit
def numba_value(initial, alpha, before, after):
    """Return the result, in two arrays that change places."""
    before[:] = initial
    after[:] = initial
    for _ in range(STEPS):
        step(before, after, alpha * DT)
        before, after = after, before
    return sum_of_squares(before)


@njit
def numba_gradient(initial, alpha, states, inside, other, edge):
    """Return the result and alpha's derivative; add the initial state's derivative into ``edge``.

    The cotangent is kept as two parts: ``inside``, zero on the edge, to which the stencil is its own
    transpose, and ``edge``, which only receives.
    """
    m, n = initial.shape
    for k in range(STEPS + 1):
        for i in range(m):
            states[k, i, 0] = initial[i, 0]
            states[k, i, n - 1] = initial[i, n - 1]
        states[k, 0] = initial[0]
        states[k, m - 1] = initial[m - 1]
    states[0] = initial
    for k in range(STEPS):
        step(states[k], states[k + 1], alpha * DT)
    last = states[STEPS]
    edge[:] = 2.0 * last
    inside[:] = 0.0
    other[:] = 0.0
    inside[1:-1, 1:-1] = edge[1:-1, 1:-1]
    alpha_bar = 0.0
    for k in range(STEPS - 1, -1, -1):
        receive_at_edges(inside, edge, alpha * DT)
        alpha_bar += DT * step_transposed(inside, other, states[k], alpha * DT)
        inside, other = other, inside
    edge[1:-1, 1:-1] = inside[1:-1, 1:-1]
    return sum_of_squares(last), alpha_bar


def numpy_candidates() -> dict[str, Candidate]:
    """Return the calls of hand-written NumPy."""
    initial, states = initial_state(), np.empty((STEPS + 1, SIZE, SIZE))
    return {
        VALUE: lambda: numpy_value(initial, ALPHA),
        GRADIENT: lambda: numpy_gradient(initial, ALPHA, states),
    }


def numba_candidates() -> dict[str, Candidate]:
    """Return the calls of hand-written numba, its arrays made once."""
    if numba is None:
        return {}
    initial, states = initial_state(), np.empty((STEPS + 1, SIZE, SIZE))
    one, two, three = (np.empty((SIZE, SIZE)) for _ in range(3))

    def gradient():
        value, alpha_bar = numba_gradient(initial, ALPHA, states, one, two, three)
        return value, three, alpha_bar

    return {VALUE: lambda: numba_value(initial, ALPHA, one, two), GRADIENT: gradient}


def jax_candidates() -> dict[str, Candidate]:
    """Return the calls compiled by JAX."""
    if jax is None:
        return {}

    def value(initial: Any, alpha: Any) -> Any:
        def body(_: Any, u: Any) -> Any:
            return u.at[1:-1, 1:-1].add(alpha * DT * laplacian(u))

        u = jax.lax.fori_loop(0, STEPS, body, initial)
        return (u * u).sum()

    def gradient(initial: Any, alpha: Any) -> Any:
        result, (initial_bar, alpha_bar) = jax.value_and_grad(value, (0, 1))(initial, alpha)
        return result, initial_bar, alpha_bar

    return {
        VALUE: jitted(value, initial_state(), ALPHA),
        GRADIENT: jitted(gradient, initial_state(), ALPHA),
    }


def tracejit_value(u: Any, alpha: Any, steps: Any) -> Any:
    """Return the result; `steps` is a tensor, so the loop is one in the compiled code too."""
    for _ in range(steps):
        u[1:-1, 1:-1] += alpha * DT * laplacian(u)
    return tj.reduce_sum(u * u)


def tracejit_gradient(initial: Any, alpha: Any, steps: Any) -> Any:
    """Return the result and its derivatives."""
    value, (initial_bar, alpha_bar) = tj.value_and_grad(tracejit_value, (0, 1))(initial, alpha, steps)
    return value, initial_bar, alpha_bar


def tracejit_candidates() -> dict[str, Candidate]:
    """Return tracejit's calls by the name of the case: the one place where it enters this file."""
    value, gradient = tj.function(tracejit_value), tj.function(tracejit_gradient)
    initial, alpha, steps = initial_state(), np.array(ALPHA), np.int64(STEPS)
    return {VALUE: lambda: value(initial, alpha, steps), GRADIENT: lambda: gradient(initial, alpha, steps)}


def unrolled_candidates() -> dict[str, Candidate]:
    """Return the value where the number of steps is a Python number: 200 steps written out."""
    value, initial, alpha = tj.function(tracejit_value), initial_state(), np.array(ALPHA)
    return {VALUE: lambda: value(initial, alpha, STEPS)}


def peer_candidates(pair: Any) -> dict[str, Candidate]:
    """Return the calls that `heat_peers` makes, if there are any."""
    found = pair(initial_state(), ALPHA, DT, STEPS)
    return {} if found is None else dict(zip((VALUE, GRADIENT), found, strict=True))


def allocations(function: Any, steps: int) -> int:
    """Return how often the compiled code of a function allocates memory in one call."""
    arguments = initial_state(), np.array(ALPHA), np.array(steps)
    executable = compile_graph(tj.function(function).graph(*arguments))
    executable(arguments)
    return executable.allocations


def print_allocations() -> None:
    """Print the allocations of one call at two numbers of steps: inside of the loop there is none."""
    print("\nheat equation, allocations made by the compiled code in one call")
    for name, function in ((VALUE, tracejit_value), (GRADIENT, tracejit_gradient)):
        few, many = (allocations(function, steps) for steps in (STEPS // 10, STEPS))
        verdict = "none in the loop" if few == many else "SOME IN THE LOOP"
        print(f"  {few} at {STEPS // 10} steps, {many} at {STEPS} steps: {verdict}   ({name})")


def cases(torch_compile: bool = False) -> list[Case]:
    """Return what is measured."""
    compiled_step = peer_candidates(heat_peers.torch_compile_pair) if torch_compile else {}
    return timing.cases(
        (VALUE, GRADIENT),
        {
            "NumPy": numpy_candidates(),
            "numba": numba_candidates(),
            "JAX": jax_candidates(),
            "TensorFlow XLA": peer_candidates(heat_peers.tensorflow_pair),
            "PyTorch eager": peer_candidates(heat_peers.torch_pair),
            "torch.compile": compiled_step,
            "unrolled": unrolled_candidates(),
            "tracejit": tracejit_candidates(),
        },
        tolerance=1e-10,
    )


if __name__ == "__main__":
    from benchmarks import heat_memory

    timing.run(cases("--torch-compile" in sys.argv))
    print_allocations()
    heat_memory.print_memory()
