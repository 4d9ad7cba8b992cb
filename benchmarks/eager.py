"""What eager mode costs: a square with its gradient, a chain of 30 scalar ops forward and backward, and a network.

Everything runs line by line in Python, nothing is compiled; JAX is told so. The chain takes a sine, a product and
a sum in turns, on float32 scalars, where an op's own work is nothing and its overhead everything. The network has one
hidden layer and the usual loss of a classifier; what is timed is the gradient of its four parameters.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit as tf

from . import timing

OPS = 30
BATCH, WIDTHS = 64, (64, 32, 10)
START, FACTOR = 3.0, 0.75
Calls = dict[str, Callable[[], object]]

SQUARE = "eager x**2 with its gradient"
CHAIN = f"eager chain of {OPS} scalar ops, forward and backward"
NETWORK = f"eager gradient of a network {'-'.join(map(str, WIDTHS))}, batch {BATCH}"


def chain(sin: Callable[[Any], Any], x: Any, factor: Any) -> Any:
    """sine, product, sum, again and again."""
    for _ in range(OPS // 3):
        x = sin(x)
        x = x * factor
        x = x + factor
    return x


def examples() -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Inputs, class numbers and parameters of the network."""
    rng = np.random.default_rng(0)
    shapes = [(WIDTHS[0], WIDTHS[1]), (WIDTHS[1],), (WIDTHS[1], WIDTHS[2]), (WIDTHS[2],)]
    parameters = [rng.normal(size=shape).astype(np.float32) * np.float32(0.1) for shape in shapes]
    x = rng.normal(size=(BATCH, WIDTHS[0])).astype(np.float32)
    return x, rng.integers(0, WIDTHS[2], BATCH), parameters


def ours() -> Calls:
    """With a GradientTape."""
    x, factor = tf.Variable(START), tf.constant(FACTOR)
    inputs, labels = map(tf.constant, examples()[:2])
    parameters = [tf.Variable(p) for p in examples()[2]]
    w1, b1, w2, b2 = parameters

    def network() -> object:
        with tf.GradientTape() as tape:
            logits = tf.nn.relu(inputs @ w1 + b1) @ w2 + b2
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            loss = tf.reduce_mean(losses)
        return tape.gradient(loss, parameters)[0]

    def taped(f: Callable[[Any], Any]) -> Callable[[], object]:
        def run() -> object:
            with tf.GradientTape() as tape:
                y = f(x)
            return tape.gradient(y, x)

        return run

    return {
        SQUARE: taped(lambda x: x**2),
        CHAIN: taped(lambda x: chain(tf.sin, x, factor)),
        NETWORK: network,
    }


def with_torch(torch: Any) -> Calls:
    """With ``backward()``."""
    x, factor = torch.tensor(START, requires_grad=True), torch.tensor(FACTOR)

    def backward(f: Callable[[Any], Any]) -> Callable[[], object]:
        def run() -> object:
            return torch.autograd.grad(f(x), x)[0].numpy()

        return run

    inputs, labels = map(torch.tensor, examples()[:2])
    parameters = [torch.tensor(p, requires_grad=True) for p in examples()[2]]
    w1, b1, w2, b2 = parameters

    def network() -> object:
        loss = torch.nn.functional.cross_entropy(torch.relu(inputs @ w1 + b1) @ w2 + b2, labels)
        return torch.autograd.grad(loss, parameters)[0].numpy()

    return {
        SQUARE: backward(lambda x: x**2),
        CHAIN: backward(lambda x: chain(torch.sin, x, factor)),
        NETWORK: network,
    }


def loss_of(np_: Any, parameters: Any, x: Any, labels: Any) -> Any:
    """The network's loss in NumPy's words."""
    w1, b1, w2, b2 = parameters
    logits = np_.maximum(x @ w1 + b1, 0.0) @ w2 + b2
    shifted = logits - np_.max(logits, axis=1, keepdims=True)
    picked = shifted[np.arange(BATCH), labels]
    return np_.mean(np_.log(np_.sum(np_.exp(shifted), axis=1)) - picked)


def with_autograd(autograd: Any) -> Calls:
    """With ``grad``, on NumPy scalars."""
    words, factor = importlib.import_module("autograd.numpy"), np.float32(FACTOR)
    square, chained = autograd.grad(lambda x: x**2), autograd.grad(lambda x: chain(words.sin, x, factor))
    network = autograd.grad(lambda parameters, *data: loss_of(words, parameters, *data))
    x, (inputs, labels, parameters) = np.float32(START), examples()
    return {
        SQUARE: lambda: square(x),
        CHAIN: lambda: chained(x),
        NETWORK: lambda: network(parameters, inputs, labels)[0],
    }


def with_jax(jax: Any) -> Calls:
    """With ``grad``, op by op."""
    x, factor = jax.numpy.float32(START), jax.numpy.float32(FACTOR)

    inputs, labels, parameters = jax.tree.map(jax.numpy.asarray, examples())

    def op_by_op(f: Callable[[Any], Any], at: Any = x) -> Callable[[], Any]:
        gradient = jax.grad(f)

        def run() -> Any:
            with jax.disable_jit():
                return jax.block_until_ready(gradient(at))

        return run

    network = op_by_op(lambda p: loss_of(jax.numpy, p, inputs, labels), parameters)
    return {
        SQUARE: op_by_op(lambda x: x**2),
        CHAIN: op_by_op(lambda x: chain(jax.numpy.sin, x, factor)),
        NETWORK: lambda: network()[0],
    }


def main() -> None:
    """Compare whatever is installed."""
    found: dict[str, Calls] = {"tracejit": ours()}
    for name, calls in (("torch", with_torch), ("autograd", with_autograd), ("jax", with_jax)):
        try:
            module = importlib.import_module(name)
        except ImportError:
            print(f"{name} is not installed")
            continue
        found[name] = calls(module)
    timing.run(timing.cases([SQUARE], found, unit="µs", tolerance=1e-6))
    timing.run(timing.cases([CHAIN], found, per=OPS, piece="op", unit="µs", tolerance=1e-5))
    timing.run(timing.cases([NETWORK], found, unit="µs", tolerance=1e-5))


if __name__ == "__main__":
    main()
