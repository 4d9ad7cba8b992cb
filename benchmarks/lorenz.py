"""The Lorenz system by Runge-Kutta of order 4: 10,000 steps of 3 numbers, derivatives by all 6 inputs.

All of it is scalars in registers, so this measures loops and their adjoints, not arrays. The hand-written
reverse pass keeps the state of every step and recomputes the slopes. The result is ``x + y + z`` at the
end; the time span is short enough that rounding is not blown up beyond comparison (the system is chaotic).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

import tracejit as tj
from benchmarks import timing
from benchmarks.peers import jax, jitted, njit, numba
from benchmarks.timing import Candidate, Case
from tracejit.core.tracing.dispatch import interpreting
from tracejit.core.tracing.interpreters import Count

STEPS = 10_000
H = 1e-3
INPUTS = np.array([1.0, 2.0, 3.0, 10.0, 28.0, 8.0 / 3.0])  # x, y, z, sigma, rho, beta

VALUE = "Lorenz RK4, value"
GRADIENT = "Lorenz RK4, value and six derivatives"
SECOND = "Lorenz RK4, second derivative in one direction"

DIRECTION = np.array([0.5, -1.0, 2.0, 0.25, -0.125, 1.5])
COUNTED = (16, 32, 64, 128)

Compiler = Callable[[Callable[..., Any]], Callable[..., Any]]


def python(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile nothing: the same text run by Python."""
    return function


def slope(x, y, z, sigma, rho, beta):
    """Return the time derivative of the state."""
    return sigma * (y - x), x * (rho - z) - y, x * y - beta * z


def slope_transposed(x, y, z, sigma, rho, beta, a, b, c):
    """Return the cotangents of the six inputs of `slope` for the cotangents a, b, c of its results."""
    return (
        (rho - z) * b - sigma * a + y * c,
        sigma * a - b + x * c,
        -x * b - beta * c,
        (y - x) * a,
        x * b,
        -z * c,
    )


def make_step(compile: Compiler) -> Callable[..., Any]:
    """Return one step of RK4: a function of the state and the parameters."""
    f = compile(slope)

    @compile
    def step(x, y, z, s, r, b):
        k1, l1, m1 = f(x, y, z, s, r, b)
        k2, l2, m2 = f(x + H / 2 * k1, y + H / 2 * l1, z + H / 2 * m1, s, r, b)
        k3, l3, m3 = f(x + H / 2 * k2, y + H / 2 * l2, z + H / 2 * m2, s, r, b)
        k4, l4, m4 = f(x + H * k3, y + H * l3, z + H * m3, s, r, b)
        x = x + H / 6 * (k1 + 2 * (k2 + k3) + k4)
        y = y + H / 6 * (l1 + 2 * (l2 + l3) + l4)
        z = z + H / 6 * (m1 + 2 * (m2 + m3) + m4)
        return x, y, z

    return step


def make_step_transposed(compile: Compiler) -> Callable[..., Any]:
    """Return the transpose of a step: cotangents of the state after it to cotangents of all six inputs."""
    f, ft = compile(slope), compile(slope_transposed)

    @compile
    def step_transposed(x, y, z, s, r, b, u, v, w):
        k1, l1, m1 = f(x, y, z, s, r, b)
        x2, y2, z2 = x + H / 2 * k1, y + H / 2 * l1, z + H / 2 * m1
        k2, l2, m2 = f(x2, y2, z2, s, r, b)
        x3, y3, z3 = x + H / 2 * k2, y + H / 2 * l2, z + H / 2 * m2
        k3, l3, m3 = f(x3, y3, z3, s, r, b)
        x4, y4, z4 = x + H * k3, y + H * l3, z + H * m3
        o, t = H / 6, H / 3
        p4 = ft(x4, y4, z4, s, r, b, o * u, o * v, o * w)
        p3 = ft(x3, y3, z3, s, r, b, t * u + H * p4[0], t * v + H * p4[1], t * w + H * p4[2])
        h = H / 2
        p2 = ft(x2, y2, z2, s, r, b, t * u + h * p3[0], t * v + h * p3[1], t * w + h * p3[2])
        p1 = ft(x, y, z, s, r, b, o * u + h * p2[0], o * v + h * p2[1], o * w + h * p2[2])
        return (
            u + p1[0] + p2[0] + p3[0] + p4[0],
            v + p1[1] + p2[1] + p3[1] + p4[1],
            w + p1[2] + p2[2] + p3[2] + p4[2],
            p1[3] + p2[3] + p3[3] + p4[3],
            p1[4] + p2[4] + p3[4] + p4[4],
            p1[5] + p2[5] + p3[5] + p4[5],
        )

    return step_transposed


def make_value(compile: Compiler) -> Callable[..., Any]:
    """Return the value as a function of the inputs ``[6]`` and the number of steps."""
    step = make_step(compile)

    @compile
    def value(inputs, steps):
        x, y, z, s, r, b = inputs[0], inputs[1], inputs[2], inputs[3], inputs[4], inputs[5]
        for _ in range(steps):
            x, y, z = step(x, y, z, s, r, b)
        return x + y + z

    return value


def make_gradient(compile: Compiler) -> Callable[..., Any]:
    """Return the value and its derivatives, ``[7]``, as a function of the inputs and the number of steps."""
    step, step_transposed = make_step(compile), make_step_transposed(compile)

    @compile
    def gradient(inputs, steps):
        x, y, z, s, r, b = inputs[0], inputs[1], inputs[2], inputs[3], inputs[4], inputs[5]
        kept = np.empty((steps, 3), inputs.dtype)
        for i in range(steps):
            kept[i, 0], kept[i, 1], kept[i, 2] = x, y, z
            x, y, z = step(x, y, z, s, r, b)
        total = x + y + z
        u = v = w = total * 0 + 1
        sb = rb = bb = total * 0
        for i in range(steps - 1, -1, -1):
            x, y, z = kept[i, 0], kept[i, 1], kept[i, 2]
            u, v, w, ds, dr, db = step_transposed(x, y, z, s, r, b, u, v, w)
            sb, rb, bb = sb + ds, rb + dr, bb + db
        return np.array([total, u, v, w, sb, rb, bb])

    return gradient


def second_derivative(gradient: Callable[..., Any], steps: int = STEPS) -> np.ndarray:
    """Return the second derivatives in one direction: the gradient after a complex step of 1e-30."""
    return gradient(INPUTS + 1e-30j * DIRECTION, steps)[1:].imag / 1e-30


def plain_candidates() -> dict[str, Candidate]:
    """Return the calls of the text as Python runs it, on NumPy scalars turned into Python's."""
    value, gradient = make_value(python), make_gradient(python)

    class Inputs(list):
        dtype = INPUTS.dtype

    inputs = Inputs(INPUTS.tolist())
    return {
        VALUE: lambda: value(inputs, STEPS),
        GRADIENT: lambda: gradient(inputs, STEPS),
        SECOND: lambda: second_derivative(gradient),
    }


def numba_candidates() -> dict[str, Candidate]:
    """Return the calls of the text compiled by numba."""
    if numba is None:
        return {}
    value, gradient = make_value(njit), make_gradient(njit)
    return {
        VALUE: lambda: value(INPUTS, STEPS),
        GRADIENT: lambda: gradient(INPUTS, STEPS),
        SECOND: lambda: second_derivative(gradient),
    }


def jax_candidates() -> dict[str, Candidate]:
    """Return the calls compiled by JAX: a loop for the value, a scan for the derivatives."""
    if jax is None:
        return {}
    step = make_step(python)

    def value(inputs):
        state, parameters = tuple(inputs[:3]), tuple(inputs[3:])
        return sum(jax.lax.fori_loop(0, STEPS, lambda _, state: step(*state, *parameters), state))

    def gradient(inputs):
        result, derivatives = jax.value_and_grad(value)(inputs)
        return jax.numpy.concatenate([result[None], derivatives])

    def second(inputs, direction):
        return jax.grad(lambda a: (jax.grad(value)(a) * direction).sum())(inputs)

    return {
        VALUE: jitted(value, INPUTS),
        GRADIENT: jitted(gradient, INPUTS),
        SECOND: jitted(second, INPUTS, DIRECTION),
    }


def tracejit_value(inputs: Any, steps: int = STEPS) -> Any:
    """Return the value as plain functional calls of tracejit, the loop a `fori_loop`."""
    parameters = [inputs[k] for k in (3, 4, 5)]
    step = make_step(python)
    start = (inputs[0], inputs[1], inputs[2])
    x, y, z = tj.fori_loop(0, steps, lambda i, state: step(*state, *parameters), start)
    return x + y + z


def tracejit_gradient(inputs: Any, steps: int = STEPS) -> Any:
    """Return the value and its derivatives, ``[7]``."""
    value, derivatives = tj.value_and_grad(lambda a: tracejit_value(a, steps))(inputs)
    return tj.concat([tj.reshape(value, (1,)), derivatives], 0)


def tracejit_second(inputs: Any, direction: Any, steps: int = STEPS) -> Any:
    """Return the matrix of second derivatives times a direction: the gradient of a gradient."""
    inner = tj.grad(lambda a: tracejit_value(a, steps))
    return tj.grad(lambda a: tj.reduce_sum(inner(a) * direction))(inputs)


def tracejit_candidates() -> dict[str, Candidate]:
    """Return tracejit's calls by the name of the case: the one place where it enters this file."""
    value, gradient, second = map(tj.function, (tracejit_value, tracejit_gradient, tracejit_second))
    return {
        VALUE: lambda: value(INPUTS, STEPS),
        GRADIENT: lambda: gradient(INPUTS, STEPS),
        SECOND: lambda: second(INPUTS, DIRECTION, STEPS),
    }


def counted(function: Callable[..., Any], *arguments: Any) -> int:
    """Return the element operations of a compiled function's graph, counted one by one."""
    specialization = tj.function(function).get_concrete_function(*arguments)
    counter = Count()
    with interpreting(counter):
        specialization(*(a for a in arguments if isinstance(a, np.ndarray)))
    return counter.elements


def print_costs() -> None:
    """Count operations at several numbers of steps: the cost per step must not grow with their number."""
    orders = {
        "value": lambda n: counted(tracejit_value, INPUTS, n),
        "value and gradient": lambda n: counted(tracejit_gradient, INPUTS, n),
        "second derivative": lambda n: counted(tracejit_second, INPUTS, DIRECTION, n),
    }
    print(f"\nLorenz RK4, element operations counted per step, at {COUNTED} steps")
    for name, count in orders.items():
        costs = [count(n) for n in COUNTED]
        slopes = [(b - a) / (n - m) for (m, a), (n, b) in pairwise(zip(COUNTED, costs, strict=True))]
        linear = max(slopes) <= 1.001 * min(slopes)
        figures = " ".join(f"{s:10.1f}" for s in slopes)
        print(f"  {name:<22}{figures}   {'linear' if linear else 'NOT LINEAR'}")


def cases() -> list[Case]:
    """Return what is measured."""
    return timing.cases(
        (VALUE, GRADIENT, SECOND),
        {
            "Python": plain_candidates(),
            "numba": numba_candidates(),
            "JAX": jax_candidates(),
            "tracejit": tracejit_candidates(),
        },
        per=STEPS,
        piece="step",
        unit="ns",
        tolerance=1e-8,
    )


if __name__ == "__main__":
    timing.run(cases())
    print_costs()
