"""Programs of `schedules` compiled by TensorFlow's XLA, with its face of NumPy as for the others, and by numba.

What is written for numba is what `by_hand.c` says, with ``fastmath``; arrays are made once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import schedules
from benchmarks.timing import Candidate


def tensorflow_candidates() -> dict[str, Candidate]:
    import tensorflow as tf
    from tensorflow.experimental import numpy as tnp

    def with_gradient(f: Callable[..., Any], places: tuple[int, ...], *arguments: np.ndarray) -> Candidate:
        placed = [tf.constant(a) for a in arguments]

        @tf.function(jit_compile=True)
        def both(*inputs: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch([inputs[p] for p in places])
                value = f(*inputs)
            return value, *tape.gradient(value, [inputs[p] for p in places])

        return lambda: [part.numpy() for part in both(*placed)]

    def energy(x: Any, m: Any) -> Any:
        d = x[:, None, :] - x[None, :, :]
        return -0.5 * tf.reduce_sum(m[:, None] * m[None, :] / tf.sqrt(tf.reduce_sum(d * d, -1) + 1e-2))

    def torus(u: Any) -> Any:
        step = lambda i, u: (i + 1, schedules.torus_step(tnp, u))
        going = lambda i, u: i < schedules.STEPS
        u = tf.while_loop(going, step, (0, u), maximum_iterations=schedules.STEPS)[1]
        return tf.reduce_sum(u * u)

    def logistic(rows: Any, signs: Any, w: Any) -> Any:
        return tf.reduce_mean(tf.nn.softplus(-signs * tf.linalg.matvec(rows, w)))

    return {
        schedules.NBODY: with_gradient(energy, (0,), *schedules.bodies()),
        schedules.LOGISTIC: with_gradient(logistic, (2,), *schedules.samples()),
        schedules.TORUS: with_gradient(torus, (0,), *schedules.plate()),
    }


def numba_candidates() -> dict[str, Candidate]:
    import numba

    compiled = numba.njit(fastmath=True)
    return _pairs_of_bodies(compiled) | _sums(compiled) | _torus(compiled)


def _pairs_of_bodies(compiled: Callable[..., Any]) -> dict[str, Candidate]:
    @compiled
    def nbody(x, m, g):
        energy = 0.0
        for i in range(x.shape[0]):
            e = ga = gb = gc = 0.0
            for j in range(x.shape[0]):
                p, q, r = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1], x[i, 2] - x[j, 2]
                inverse = 1.0 / np.sqrt(p * p + q * q + r * r + 1e-2)
                s = m[j] * inverse
                t = s * inverse * inverse
                e, ga, gb, gc = e + s, ga + p * t, gb + q * t, gc + r * t
            energy -= 0.5 * m[i] * e
            g[i, 0], g[i, 1], g[i, 2] = m[i] * ga, m[i] * gb, m[i] * gc
        return energy, g

    x, m = schedules.bodies()
    dx = np.empty_like(x)
    return {schedules.NBODY: lambda: nbody(x, m, dx)}


def _sums(compiled: Callable[..., Any]) -> dict[str, Candidate]:
    @compiled
    def rosenbrock(x, v, h):
        h[0] = 0.0
        for i in range(x.shape[0] - 1):
            h[i] = (1200.0 * x[i] * x[i] - 400.0 * x[i + 1] + 2.0) * v[i] - 400.0 * x[i] * v[i + 1]
        h[-1] = 0.0
        for i in range(1, x.shape[0]):
            h[i] += 200.0 * v[i] - 400.0 * x[i - 1] * v[i - 1]
        return h

    @compiled
    def logistic(rows, signs, w, g):
        total = 0.0
        g[:] = 0.0
        for i in range(rows.shape[0]):
            z = 0.0
            for j in range(rows.shape[1]):
                z += rows[i, j] * w[j]
            z *= signs[i]
            e = np.exp(-abs(z))
            s = -signs[i] * (e if z >= 0 else 1.0) / (1.0 + e) / rows.shape[0]
            total += max(-z, 0.0) + np.log1p(e)
            for j in range(rows.shape[1]):
                g[j] += s * rows[i, j]
        return total / rows.shape[0], g

    (at, v), (rows, signs, w) = schedules.valley(), schedules.samples()
    hv, dw = np.empty_like(at), np.empty_like(w)
    return {
        schedules.ROSENBROCK: lambda: rosenbrock(at, v, hv),
        schedules.LOGISTIC: lambda: logistic(rows, signs, w, dw),
    }


def _torus(compiled: Callable[..., Any]) -> dict[str, Candidate]:
    @compiled
    def step(u, at, to, square):
        n, c = u.shape[0], schedules.DIFFUSION
        for i in range(n):
            up, down = at[i - 1 if i else n - 1], at[i + 1 if i + 1 < n else 0]
            for j in range(1, n - 1):
                around = up[j] + down[j] + at[i, j - 1] + at[i, j + 1]
                to[i, j] = at[i, j] + c * (around - 4.0 * at[i, j]) - square * u[i, j] * u[i, j] * at[i, j]
            for j, left, right in ((0, n - 1, 1), (n - 1, n - 2, 0)):
                around = up[j] + down[j] + at[i, left] + at[i, right]
                to[i, j] = at[i, j] + c * (around - 4.0 * at[i, j]) - square * u[i, j] * u[i, j] * at[i, j]

    @compiled
    def torus(states, g, other):
        steps = states.shape[0] - 1
        for k in range(steps):
            step(states[k], states[k], states[k + 1], schedules.SINK)
        g[:] = 2.0 * states[steps]
        for k in range(steps - 1, -1, -1):
            step(states[k], g, other, 3.0 * schedules.SINK)
            g, other = other, g
        return np.sum(states[steps] * states[steps]), g

    (first,) = schedules.plate()
    du, other = np.empty_like(first), np.empty_like(first)
    states = np.empty((schedules.STEPS + 1, *first.shape))
    states[0] = first
    return {schedules.TORUS: lambda: torus(states, du, other)}
