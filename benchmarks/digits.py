"""One training step of the digits example, batch 128, hidden 256, float32: NumPy by hand, JAX and tracejit.

Every candidate takes real steps, so its parameters move from call to call; what is compared for agreement
is the loss of the very first step from the same parameters on the same batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from examples import digits_network, digits_numpy

from benchmarks import timing
from benchmarks.peers import jax
from benchmarks.timing import Candidate, Case

INPUTS, HIDDEN, CLASSES, BATCH = 64, 256, 10, 128
RATE = 2e-3

STEP = "digits, one training step"


def batch() -> tuple[np.ndarray, np.ndarray]:
    """Return images and labels of the right shapes; what they show is of no matter to the time."""
    generator = np.random.default_rng(0)
    images = generator.uniform(0.0, 1.0, (BATCH, INPUTS)).astype(np.float32)
    return images, generator.integers(0, CLASSES, BATCH)


def parameters() -> list[np.ndarray]:
    """Return the parameters that every candidate starts from."""
    return digits_numpy.initial_parameters(INPUTS, HIDDEN, CLASSES)


def numpy_candidates() -> dict[str, Candidate]:
    """Return the step of the example."""
    network = digits_numpy.Network(parameters(), BATCH, RATE)
    images, labels = batch()
    return {STEP: lambda: network.step(images, labels)}


def jax_candidates() -> dict[str, Candidate]:
    """Return the same step compiled by JAX, its state given back to be overwritten."""
    if jax is None:
        return {}
    jnp = jax.numpy

    def loss(weights: Any, images: Any, labels: Any) -> Any:
        w1, b1, w2, b2 = weights
        logits = jnp.maximum(images @ w1 + b1, 0.0) @ w2 + b2
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1).mean()

    def step(state: Any, images: Any, labels: Any) -> Any:
        weights, means, squares, count = state
        value, gradients = jax.value_and_grad(loss)(weights, images, labels)
        new = [adam(*leaf, count) for leaf in zip(weights, gradients, means, squares, strict=True)]
        return value, (*(list(part) for part in zip(*new, strict=True)), count + 1.0)

    def adam(weight: Any, gradient: Any, mean: Any, square: Any, count: Any) -> Any:
        beta1, beta2 = np.float32(digits_numpy.BETA1), np.float32(digits_numpy.BETA2)
        mean = beta1 * mean + (1 - beta1) * gradient
        square = beta2 * square + (1 - beta2) * gradient * gradient
        unbiased = mean / (1 - beta1**count), square / (1 - beta2**count)
        change = RATE * unbiased[0] / (jnp.sqrt(unbiased[1]) + digits_numpy.EPSILON)
        return weight - change, mean, square

    return {STEP: stepping(jax.jit(step, donate_argnums=0), jnp)}


def stepping(step: Any, jnp: Any) -> Candidate:
    """Return a call that takes a step of JAX and waits for it; NumPy's batch goes in, as in training."""
    images, labels = batch()

    def calls() -> Iterator[Any]:
        weights = [jnp.asarray(a) for a in parameters()]
        zeros = [[jnp.zeros_like(a) for a in weights] for _ in range(2)]
        state = (weights, *zeros, jnp.float32(1.0))
        while True:
            value, state = step(state, images, labels)
            yield jax.block_until_ready((value, state))[0]

    return calls().__next__


def tracejit_candidates() -> dict[str, dict[str, Candidate]]:
    """Return the step of the example, compiled and eager: the one place where tracejit enters this file."""
    images, labels = batch()
    compiled = digits_network.Network(parameters(), RATE)
    eager = digits_network.EagerNetwork(parameters(), RATE)
    return {
        "tracejit": {STEP: lambda: compiled.step(images, labels)},
        "tracejit, eager": {STEP: lambda: eager.step(images, labels)},
    }


def cases() -> list[Case]:
    """Return what is measured."""
    peers = {"NumPy": numpy_candidates(), "JAX": jax_candidates(), **tracejit_candidates()}
    return timing.cases((STEP,), peers, unit="µs", piece="step", tolerance=1e-6)


if __name__ == "__main__":
    timing.run(cases())
