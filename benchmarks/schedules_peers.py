"""Programs of `schedules` compiled by TensorFlow's XLA; they are written with its face of NumPy, as for the others."""

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
