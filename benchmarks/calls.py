"""What a call costs: expressions on four numbers, a dict of arrays, a training step of two Variables, eager ops.

Nothing here is worth computing: all of the time is the way in and out. By hand means numba, where no derivatives are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.timing import Candidate

CALL = "x * 2 + 1 on 4 float64"
GRADIENT = "value and gradient of sum(sin(x)**2), 4 float64"
DICT = "five arrays of 4 in a dict, in and out"
SGD = "SGD step on two Variables"
EAGER = "x**2 with its gradient, eager"
CHAIN = "30 ops in a chain on 4 float64, eager"

KEYS = "abcde"
RATE = 0.01
LENGTH = 30


def four() -> np.ndarray:
    return np.linspace(0.5, 2.0, 4)


def five() -> dict[str, np.ndarray]:
    return {key: four() + i for i, key in enumerate(KEYS)}


def samples() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return rows ``[4, 4]``, targets ``[4]``, weights ``[4]`` and a bias."""
    random = np.random.default_rng(0)
    return random.standard_normal((4, 4)), random.standard_normal(4), random.standard_normal(4), np.zeros(())


# ---- the same lines for every peer -------------------------------------------------------------------------


def affine(x: Any) -> Any:
    return x * 2 + 1


def scaled(arrays: dict[str, Any]) -> dict[str, Any]:
    return {key: value * 2.0 for key, value in arrays.items()}


def in_order(f: Callable[..., dict[str, Any]], *arguments: Any) -> Candidate:
    """Return a call of a function that returns a dict, whose values alone are compared."""
    return Ordered(f, *arguments)


class Ordered(partial[dict[str, Any]]):
    """A call of a function of dicts: timed as it is, its result the list of values."""

    def __call__(self) -> Any:
        return [value for _, value in sorted(super().__call__().items())]


def chain(x: Any) -> Any:
    for _ in range(LENGTH // 2):
        x = x * 1.01 + 0.1
    return x


def squares(rows: Any, targets: Any, w: Any, b: Any) -> Any:
    residual = rows @ w + b - targets
    return (residual * residual).sum()


# ---- ours ----------------------------------------------------------------------------------------------


def step_and_eager(tf: Any, compiled: Callable[..., Any], data: Sequence[Any]) -> tuple[Candidate, Candidate]:
    """Return a step of SGD and an eager derivative, as tracejit and TensorFlow both write them."""
    rows, targets, w0, b0 = data
    w, b = tf.Variable(w0), tf.Variable(b0)

    @compiled
    def step(rows: Any, targets: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((tf.linalg.matvec(rows, w) + b - targets) ** 2)
        dw, db = tape.gradient(loss, [w, b])
        w.assign_sub(RATE * dw)
        b.assign_sub(RATE * db)
        return loss

    def eager(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x**2
        return tape.gradient(y, x)

    return partial(step, rows, targets), partial(eager, tf.constant(3.0, tf.float64))


def tracejit_candidates() -> dict[str, Candidate]:
    import tracejit as tj

    step, eager = step_and_eager(tj, tj.function, samples())
    return {
        CALL: partial(tj.function(affine), four()),
        GRADIENT: partial(tj.function(tj.value_and_grad(lambda x: tj.reduce_sum(tj.sin(x) ** 2))), four()),
        DICT: in_order(tj.function(scaled), five()),
        SGD: step,
        EAGER: eager,
        CHAIN: partial(chain, tj.constant(four())),
    }


# ---- peers ---------------------------------------------------------------------------------------------


def numpy_candidates() -> dict[str, Candidate]:
    rows, targets, w, b = samples()

    def step(rows: np.ndarray, targets: np.ndarray) -> Any:
        residual = rows @ w + b - targets
        w[...] -= 2 * RATE * (residual @ rows)
        b[...] -= 2 * RATE * residual.sum()
        return residual @ residual

    def gradient(x: np.ndarray) -> Any:
        sin = np.sin(x)
        return sin @ sin, 2 * sin * np.cos(x)

    return {
        CALL: partial(affine, four()),
        GRADIENT: partial(gradient, four()),
        DICT: in_order(scaled, five()),
        SGD: partial(step, rows, targets),
        CHAIN: partial(chain, four()),
    }


def numba_candidates() -> dict[str, Candidate]:
    import numba

    @numba.njit
    def gradient(x):
        out = np.empty_like(x)
        total = 0.0
        for i in range(x.shape[0]):
            s = np.sin(x[i])
            total += s * s
            out[i] = 2 * s * np.cos(x[i])
        return total, out

    @numba.njit
    def five_scaled(a, b, c, d, e):
        return a * 2.0, b * 2.0, c * 2.0, d * 2.0, e * 2.0

    @numba.njit
    def stepped(rows, targets, w, b):
        dw, db, total = np.zeros_like(w), 0.0, 0.0
        for i in range(rows.shape[0]):
            r = b[0] - targets[i]
            for j in range(w.shape[0]):
                r += rows[i, j] * w[j]
            total += r * r
            db += 2 * r
            for j in range(w.shape[0]):
                dw[j] += 2 * r * rows[i, j]
        for j in range(w.shape[0]):
            w[j] -= RATE * dw[j]
        b[0] -= RATE * db
        return total

    def with_dict(arrays: dict[str, Any]) -> dict[str, Any]:
        return dict(zip(arrays, five_scaled(*arrays.values()), strict=True))

    rows, targets, w, b = samples()
    return {
        CALL: partial(numba.njit(affine), four()),
        GRADIENT: partial(gradient, four()),
        DICT: in_order(with_dict, five()),
        SGD: partial(stepped, rows, targets, w, b.reshape(1)),
    }


def jax_candidates() -> dict[str, Candidate]:
    from benchmarks.peers import jax

    jnp = jax.numpy

    def waiting(f: Callable[..., Any]) -> Callable[..., Any]:
        compiled = jax.jit(f)
        return lambda *a: jax.block_until_ready(compiled(*a))

    rows, targets, w, b = map(jnp.asarray, samples())
    state = [w, b]

    def update(w: Any, b: Any, rows: Any, targets: Any) -> Any:
        loss, (dw, db) = jax.value_and_grad(squares, (2, 3))(rows, targets, w, b)
        return loss, w - RATE * dw, b - RATE * db

    compiled = jax.jit(update)

    def step(rows: Any, targets: Any) -> Any:
        loss, *state[:] = compiled(*state, rows, targets)
        return jax.block_until_ready(loss)

    return {
        CALL: partial(waiting(affine), jnp.asarray(four())),
        GRADIENT: partial(
            waiting(jax.value_and_grad(lambda x: (jnp.sin(x) ** 2).sum())), jnp.asarray(four())
        ),
        DICT: in_order(waiting(scaled), {key: jnp.asarray(value) for key, value in five().items()}),
        SGD: partial(step, rows, targets),
        EAGER: partial(jax.grad(lambda x: x**2), 3.0),
        CHAIN: partial(lambda x: jax.block_until_ready(chain(x)), jnp.asarray(four())),
    }


def torch_candidates() -> dict[str, Candidate]:
    import torch

    rows, targets, w, b = map(torch.from_numpy, samples()[:3] + (np.zeros(()),))
    x = torch.from_numpy(four()).requires_grad_()
    w.requires_grad_(), b.requires_grad_()

    def gradient(x: Any) -> Any:
        value = (torch.sin(x) ** 2).sum()
        return value.detach(), torch.autograd.grad(value, x)[0]

    def step(rows: Any, targets: Any) -> Any:
        loss = squares(rows, targets, w, b)
        dw, db = torch.autograd.grad(loss, (w, b))
        with torch.no_grad():
            w.sub_(dw, alpha=RATE)
            b.sub_(db, alpha=RATE)
        return loss.detach()

    def eager(x: Any) -> Any:
        return torch.autograd.grad(x**2, x)[0]

    return {
        CALL: partial(affine, torch.from_numpy(four())),
        GRADIENT: partial(gradient, x),
        DICT: in_order(scaled, {key: torch.from_numpy(value) for key, value in five().items()}),
        SGD: partial(step, rows, targets),
        EAGER: partial(eager, torch.tensor(3.0, dtype=torch.float64, requires_grad=True)),
        CHAIN: partial(chain, torch.from_numpy(four())),
    }


def tensorflow_candidates(**how: Any) -> dict[str, Candidate]:
    import tensorflow as tf

    how = how or {"jit_compile": True}
    step, eager = step_and_eager(tf, tf.function(**how), [*map(tf.constant, samples())])

    @tf.function(**how)
    def gradient(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = tf.reduce_sum(tf.sin(x) ** 2)
        return value, tape.gradient(value, x)

    return {
        CALL: partial(tf.function(affine, **how), tf.constant(four())),
        GRADIENT: partial(gradient, tf.constant(four())),
        DICT: in_order(tf.function(scaled, **how), {k: tf.constant(v) for k, v in five().items()}),
        SGD: step,
        EAGER: eager,
        CHAIN: partial(chain, tf.constant(four())),
    }


def tensorflow_graph_candidates() -> dict[str, Candidate]:
    return tensorflow_candidates(jit_compile=False)


def autograd_candidates() -> dict[str, Candidate]:
    import autograd
    import autograd.numpy as anp

    return {
        GRADIENT: partial(autograd.value_and_grad(lambda x: anp.sum(anp.sin(x) ** 2)), four()),
        EAGER: partial(autograd.grad(lambda x: x**2), 3.0),
    }
