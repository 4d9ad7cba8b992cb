"""Training steps of small networks, float32: two dense layers, a convolutional classifier, a transformer block.

Every candidate starts from the same weights and takes steps of gradient descent on the same batch, its weights where
its users keep them; the block gives the gradients of all its weights instead. Images lie with channels last, also for
PyTorch, which is quickest so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from benchmarks.timing import Candidate

MLP = "MLP step, 784-256-10, batch 128, float32"
CNN = "CNN step, 2 × (conv 3×3, relu, pool 2), dense, batch 32, 28×28, float32"
BLOCK = "transformer block, forward and backward, batch 8, 64 × 128, 4 heads, float32"
NAMES = (MLP, CNN, BLOCK)

RATE = 0.01
CHANNELS = (1, 16, 32)
WIDTH, HEADS, TOKENS, SENTENCES = 128, 4, 64, 8
EPSILON = 1e-5

Arrays = list[np.ndarray]
Loss = Callable[..., Any]


def arrays(*shapes: tuple[int, ...]) -> Arrays:
    """Return normal numbers, scaled by the number of inputs; vectors are zero."""
    random = np.random.default_rng(0)
    scales = [math.sqrt(2 / math.prod(shape[:-1])) if len(shape) > 1 else 0.0 for shape in shapes]
    return [
        (scale * random.standard_normal(shape)).astype(np.float32)
        for shape, scale in zip(shapes, scales, strict=True)
    ]


def mlp() -> tuple[Arrays, Arrays]:
    """Return weights, and a batch of rows with labels."""
    random = np.random.default_rng(1)
    data = [random.standard_normal((128, 784)).astype(np.float32), random.integers(0, 10, 128)]
    return arrays((784, 256), (256,), (256, 10), (10,)), data


def cnn() -> tuple[Arrays, Arrays]:
    """Return filters ``[3, 3, channels, outputs]`` and weights, and a batch of images with labels."""
    random = np.random.default_rng(2)
    data = [random.standard_normal((32, 28, 28, CHANNELS[0])).astype(np.float32), random.integers(0, 10, 32)]
    first, second, third = CHANNELS
    shapes = ((3, 3, first, second), (second,), (3, 3, second, third), (third,), (49 * third, 10), (10,))
    return arrays(*shapes), data


def block() -> tuple[Arrays, Arrays]:
    """Return weights, and sentences ``[batch, tokens, width]``."""
    weights = arrays(
        (WIDTH, 3 * WIDTH), (3 * WIDTH,), (WIDTH, WIDTH), (WIDTH,), (WIDTH, 4 * WIDTH), (4 * WIDTH,),
        (4 * WIDTH, WIDTH), (WIDTH,),
    )  # fmt: skip
    norms = [np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)] * 2
    random = np.random.default_rng(3)
    return weights + norms, [random.standard_normal((SENTENCES, TOKENS, WIDTH)).astype(np.float32)]


# ---- ours, and TensorFlow, in the names that both have -----------------------------------------------------


def losses(tf: Any) -> tuple[Loss, Loss, Loss]:
    """Return the losses of the perceptron, the convolutions and the block; `tf` is tracejit or TensorFlow."""

    def crossed(logits: Any, labels: Any) -> Any:
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))

    def mlp_loss(w: Any, x: Any, labels: Any) -> Any:
        return crossed(tf.nn.relu(x @ w[0] + w[1]) @ w[2] + w[3], labels)

    def cnn_loss(w: Any, x: Any, labels: Any) -> Any:
        for filters, bias in ((w[0], w[1]), (w[2], w[3])):
            x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, filters, 1, "SAME"), bias))
            x = tf.nn.max_pool2d(x, 2, 2, "VALID")
        return crossed(tf.reshape(x, (x.shape[0], -1)) @ w[4] + w[5], labels)

    def norm(x: Any, gain: Any, bias: Any) -> Any:
        x = x - tf.reduce_mean(x, axis=-1, keepdims=True)
        return x * tf.math.rsqrt(tf.reduce_mean(x * x, axis=-1, keepdims=True) + EPSILON) * gain + bias

    def heads(x: Any) -> Any:
        return tf.transpose(tf.reshape(x, (SENTENCES, TOKENS, HEADS, WIDTH // HEADS)), (0, 2, 1, 3))

    def block_loss(w: Any, x: Any) -> Any:
        q, k, v = (heads(part) for part in tf.split(norm(x, w[8], w[9]) @ w[0] + w[1], 3, axis=-1))
        weights = tf.nn.softmax(tf.linalg.matmul(q, k, transpose_b=True) * (WIDTH // HEADS) ** -0.5)
        seen = tf.reshape(tf.transpose(weights @ v, (0, 2, 1, 3)), (SENTENCES, TOKENS, WIDTH))
        x = x + seen @ w[2] + w[3]
        x = x + tf.nn.gelu(norm(x, w[10], w[11]) @ w[4] + w[5], approximate=True) @ w[6] + w[7]
        return tf.reduce_mean(x * x)

    return mlp_loss, cnn_loss, block_loss


def stepping(tf: Any, compiled: Callable[..., Any], loss: Loss, start: Arrays) -> Callable[..., Any]:
    """Return a training step, a function of data; `compiled` is how `tf` compiles a function."""
    weights = [tf.Variable(array) for array in start]

    def step(*data: Any) -> Any:
        with tf.GradientTape() as tape:
            value = loss(weights, *data)
        for weight, gradient in zip(weights, tape.gradient(value, weights), strict=True):
            weight.assign_sub(RATE * gradient)
        return value

    return compiled(step)


def made(makers: Mapping[str, Callable[[], Candidate]], only: Collection[str]) -> dict[str, Candidate]:
    """Make the candidates that are asked for, and no others: in some processes that time counts."""
    return {name: make() for name, make in makers.items() if name in only}


def tracejit_candidates(only: Collection[str] = NAMES) -> dict[str, Candidate]:
    import tracejit as tj

    mlp_loss, cnn_loss, block_loss = losses(tj)

    def training(loss: Loss, start: Arrays, data: Arrays) -> Candidate:
        return partial(stepping(tj, tj.function, loss, start), *data)

    def gradients() -> Candidate:
        weights, data = block()
        return partial(tj.function(tj.value_and_grad(block_loss)), weights, *data)

    return made(
        {MLP: lambda: training(mlp_loss, *mlp()), CNN: lambda: training(cnn_loss, *cnn()), BLOCK: gradients},
        only,
    )


# ---- peers ---------------------------------------------------------------------------------------------


def jax_candidates(only: Collection[str] = NAMES) -> dict[str, Candidate]:
    import jax
    from jax import numpy as jnp

    def crossed(logits: Any, labels: Any) -> Any:
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1).mean()

    def mlp_loss(w: Any, x: Any, labels: Any) -> Any:
        return crossed(jax.nn.relu(x @ w[0] + w[1]) @ w[2] + w[3], labels)

    def cnn_loss(w: Any, x: Any, labels: Any) -> Any:
        for filters, bias in ((w[0], w[1]), (w[2], w[3])):
            x = jax.lax.conv_general_dilated(
                x, filters, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            x = jax.nn.relu(x + bias)
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return crossed(x.reshape(x.shape[0], -1) @ w[4] + w[5], labels)

    def norm(x: Any, gain: Any, bias: Any) -> Any:
        x = x - x.mean(-1, keepdims=True)
        return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + EPSILON) * gain + bias

    def heads(x: Any) -> Any:
        return x.reshape(SENTENCES, TOKENS, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)

    def block_loss(w: Any, x: Any) -> Any:
        q, k, v = (heads(part) for part in jnp.split(norm(x, w[8], w[9]) @ w[0] + w[1], 3, axis=-1))
        weights = jax.nn.softmax(q @ k.transpose(0, 1, 3, 2) * (WIDTH // HEADS) ** -0.5)
        x = x + (weights @ v).transpose(0, 2, 1, 3).reshape(SENTENCES, TOKENS, WIDTH) @ w[2] + w[3]
        x = x + jax.nn.gelu(norm(x, w[10], w[11]) @ w[4] + w[5], approximate=True) @ w[6] + w[7]
        return (x * x).mean()

    def stepping(loss: Loss, start: Arrays, data: Arrays) -> Candidate:
        def update(weights: Any, *data: Any) -> Any:
            value, gradients = jax.value_and_grad(loss)(weights, *data)
            return value, [w - RATE * g for w, g in zip(weights, gradients, strict=True)]

        compiled = jax.jit(update, donate_argnums=0)
        weights, placed = [jnp.asarray(a) for a in start], [jnp.asarray(a) for a in data]

        def step() -> Any:
            value, weights[:] = compiled(weights, *placed)
            return jax.block_until_ready((value, weights))[0]

        return step

    def gradients() -> Candidate:
        weights, data = ([jnp.asarray(a) for a in part] for part in block())
        compiled = jax.jit(jax.value_and_grad(block_loss))
        return lambda: jax.block_until_ready(compiled(weights, *data))

    return made(
        {MLP: lambda: stepping(mlp_loss, *mlp()), CNN: lambda: stepping(cnn_loss, *cnn()), BLOCK: gradients},
        only,
    )


def torch_candidates(
    only: Collection[str] = NAMES, prepare: Callable[[Loss], Loss] = lambda loss: loss
) -> dict[str, Candidate]:
    import torch
    from torch.nn import functional as F

    def mlp_loss(w: Any, x: Any, labels: Any) -> Any:
        return F.cross_entropy(F.relu(x @ w[0] + w[1]) @ w[2] + w[3], labels)

    def cnn_loss(w: Any, x: Any, labels: Any) -> Any:
        x = x.permute(0, 3, 1, 2)
        for filters, bias in ((w[0], w[1]), (w[2], w[3])):
            x = F.conv2d(x, filters.permute(3, 2, 0, 1), bias, padding=1)
            x = F.max_pool2d(F.relu(x), 2)
        return F.cross_entropy(x.permute(0, 2, 3, 1).reshape(x.shape[0], -1) @ w[4] + w[5], labels)

    def heads(x: Any) -> Any:
        return x.view(SENTENCES, TOKENS, HEADS, WIDTH // HEADS).transpose(1, 2)

    def block_loss(w: Any, x: Any) -> Any:
        normal = F.layer_norm(x, (WIDTH,), w[8], w[9], EPSILON)
        q, k, v = (heads(part) for part in (normal @ w[0] + w[1]).chunk(3, dim=-1))
        seen = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(SENTENCES, TOKENS, WIDTH)
        x = x + seen @ w[2] + w[3]
        normal = F.layer_norm(x, (WIDTH,), w[10], w[11], EPSILON)
        x = x + F.gelu(normal @ w[4] + w[5], approximate="tanh") @ w[6] + w[7]
        return (x * x).mean()

    def stepping(loss: Loss, start: Arrays, data: Arrays) -> Candidate:
        weights = [torch.from_numpy(a.copy()).requires_grad_() for a in start]
        placed, loss = [torch.from_numpy(a) for a in data], prepare(loss)

        def step() -> Any:
            value = loss(weights, *placed)
            gradients = torch.autograd.grad(value, weights)
            with torch.no_grad():
                torch._foreach_sub_(weights, gradients, alpha=RATE)
            return value.detach()

        return step

    def gradients() -> Candidate:
        start, data = block()
        weights = [torch.from_numpy(a).requires_grad_() for a in start]
        placed, loss = [torch.from_numpy(a) for a in data], prepare(block_loss)

        def called() -> Any:
            value = loss(weights, *placed)
            return value.detach(), torch.autograd.grad(value, weights)

        return called

    return made(
        {MLP: lambda: stepping(mlp_loss, *mlp()), CNN: lambda: stepping(cnn_loss, *cnn()), BLOCK: gradients},
        only,
    )


def torch_compile_candidates() -> dict[str, Candidate]:
    import torch

    return torch_candidates(prepare=lambda loss: torch.compile(loss, fullgraph=True))


def tensorflow_candidates(only: Collection[str] = NAMES, **how: Any) -> dict[str, Candidate]:
    import tensorflow as tf

    mlp_loss, cnn_loss, block_loss = losses(tf)
    compiled = tf.function(**(how or {"jit_compile": True}))

    def training(loss: Loss, start: Arrays, data: Arrays) -> Candidate:
        step, placed = stepping(tf, compiled, loss, start), [tf.constant(a) for a in data]
        return lambda: step(*placed).numpy()

    def gradients() -> Candidate:
        weights, data = ([tf.constant(a) for a in part] for part in block())

        @compiled
        def differentiated(weights: Sequence[Any], *data: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(weights)
                value = block_loss(weights, *data)
            return value, tape.gradient(value, weights)

        def called() -> Any:
            value, found = differentiated(weights, *data)
            return value.numpy(), [gradient.numpy() for gradient in found]

        return called

    return made(
        {MLP: lambda: training(mlp_loss, *mlp()), CNN: lambda: training(cnn_loss, *cnn()), BLOCK: gradients},
        only,
    )


def tensorflow_graph_candidates() -> dict[str, Candidate]:
    return tensorflow_candidates(jit_compile=False)
