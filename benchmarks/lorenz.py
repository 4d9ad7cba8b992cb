"""The Lorenz system by Runge-Kutta of order 4: 10,000 steps of 3 numbers, derivatives by all 6 inputs.

All of it is scalars in registers, so this measures loops and their adjoints, not arrays. The hand-written
reverse pass keeps the state of every step and recomputes the slopes. The result is ``x + y + z`` at the
end; the time span is short enough that rounding is not blown up beyond comparison (the system is chaotic).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import timing
from benchmarks.peers import jax, jitted, njit, numba
from benchmarks.timing import Candidate, Case

STEPS = 10_000
H = 1e-3
INPUTS = np.array([1.0, 2.0, 3.0, 10.0, 28.0, 8.0 / 3.0])  # x, y, z, sigma, rho, beta

VALUE = "Lorenz RK4, value"
GRADIENT = "Lorenz RK4, value and six derivatives"

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


def second_derivatives(inputs: np.ndarray = INPUTS, steps: int = STEPS) -> np.ndarray:
    """Return the 6 by 6 matrix of second derivatives, to rounding: the gradient at complex steps of 1e-30."""
    gradient = make_gradient(python)
    shifted = inputs + 1e-30j * np.eye(6)
    return np.stack([gradient(row, steps)[1:].imag for row in shifted]) / 1e-30


def plain_candidates() -> dict[str, Candidate]:
    """Return the calls of the text as Python runs it, on NumPy scalars turned into Python's."""
    value, gradient = make_value(python), make_gradient(python)

    class Inputs(list):
        dtype = INPUTS.dtype

    inputs = Inputs(INPUTS.tolist())
    return {VALUE: lambda: value(inputs, STEPS), GRADIENT: lambda: gradient(inputs, STEPS)}


def numba_candidates() -> dict[str, Candidate]:
    """Return the calls of the text compiled by numba."""
    if numba is None:
        return {}
    value, gradient = make_value(njit), make_gradient(njit)
    return {VALUE: lambda: value(INPUTS, STEPS), GRADIENT: lambda: gradient(INPUTS, STEPS)}


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

    return {VALUE: jitted(value, INPUTS), GRADIENT: jitted(gradient, INPUTS)}


def tracejit_candidates() -> dict[str, Candidate]:
    """Return tracejit's calls by the name of the case: the one place where it enters this file."""
    return {}


def cases() -> list[Case]:
    """Return what is measured."""
    return timing.cases(
        (VALUE, GRADIENT),
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
