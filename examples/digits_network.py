"""The digits network in tracejit: forward pass, gradient and Adam as ordinary code inside one compiled step.

The same code runs eagerly, op by op, when ``eager`` is set: see `EagerNetwork`. Knows nothing of the data.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

import tracejit as tj

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
NAMES = ("w1", "b1", "w2", "b2")

#: What callers pass, and what a function sees while it is compiled.
Array: TypeAlias = np.ndarray | tj.Tensor


class Network:
    """A two-layer network with relu, softmax cross-entropy and Adam, all its state in Variables.

    Parameters
    ----------
    parameters : list of ndarray
        ``[w1, b1, w2, b2]`` in float32, shapes ``[i, h] [h] [h, o] [o]``; copied.
    rate : float
        Adam's learning rate.
    """

    def __init__(self, parameters: list[np.ndarray], rate: float) -> None:
        pairs = list(zip(NAMES, parameters, strict=True))
        self.parameters = [tj.Variable(p, name=name) for name, p in pairs]
        self.means = [tj.Variable(np.zeros_like(p), name=f"mean of {name}") for name, p in pairs]
        self.squares = [tj.Variable(np.zeros_like(p), name=f"square of {name}") for name, p in pairs]
        self.count = tj.Variable(0.0, name="count")
        self.rate = rate
        self.classes = np.arange(parameters[-1].size)

    def logits(self, images: Array) -> tj.Tensor:
        """Return the unnormalised log-probability of each class, ``[n, o]`` for images ``[n, i]``."""
        w1, b1, w2, b2 = self.parameters
        return tj.relu(images @ w1 + b1) @ w2 + b2

    def cross_entropy(self, images: Array, labels: Array) -> tj.Tensor:
        """Return the mean of -log p(label), the largest logit of each row subtracted first."""
        logits = self.logits(images)
        shifted = logits - tj.stop_gradient(tj.reduce_max(logits, axis=1, keepdims=True))
        right = tj.where(labels[:, None] == self.classes, shifted, 0.0)
        per_image = tj.log(tj.reduce_sum(tj.exp(shifted), axis=1)) - tj.reduce_sum(right, axis=1)
        return tj.reduce_mean(per_image)

    @tj.function
    def step(self, images: Array, labels: Array) -> tj.Tensor:
        """Take one step of Adam on a batch; return the mean cross-entropy before it."""
        with tj.GradientTape() as tape:
            loss = self.cross_entropy(images, labels)
        self.adam(tape.gradient(loss, self.parameters))
        return loss

    def adam(self, gradients: list[tj.Tensor]) -> None:
        """Move the parameters along their gradients (Kingma and Ba, 2015, in the efficient order)."""
        self.count.assign_add(1.0)
        correction = tj.sqrt(1.0 - BETA2**self.count)
        rate = self.rate * correction / (1.0 - BETA1**self.count)
        for parameter, gradient, mean, square in zip(
            self.parameters, gradients, self.means, self.squares, strict=True
        ):
            mean.assign(BETA1 * mean + (1.0 - BETA1) * gradient)
            square.assign(BETA2 * square + (1.0 - BETA2) * gradient * gradient)
            parameter.assign_sub(rate * mean / (tj.sqrt(square) + EPSILON * correction))

    @tj.function(input_signature=[tj.TensorSpec([None, None], "float32")])
    def predict(self, images: Array) -> tj.Tensor:
        """Return the most likely class of each image; compiled once for any number of them."""
        return tj.argmax(self.logits(images), axis=1)

    @tj.function(input_signature=[tj.TensorSpec([None, None], "float32"), tj.TensorSpec([None], "int64")])
    def loss(self, images: Array, labels: Array) -> tj.Tensor:
        """Return the mean cross-entropy of images and labels, without training on them."""
        return self.cross_entropy(images, labels)


class EagerNetwork:
    """The same network run by plain Python, one op at a time, each with NumPy."""

    def __init__(self, parameters: list[np.ndarray], rate: float) -> None:
        self.compiled = Network(parameters, rate)
        self.parameters = self.compiled.parameters

    def step(self, images: Array, labels: Array) -> tj.Tensor:
        """Take one step as `Network.step` does, without compiling it."""
        with tj.settings(eager=True):
            return self.compiled.step(images, labels)

    def predict(self, images: Array) -> tj.Tensor:
        """Return the most likely class of each image."""
        return self.compiled.predict(images)
