"""The digits network trained by hand-written NumPy: the yardstick for the same step in tracejit.

Written as one would who knows NumPy well: the parameters, their gradients and the moments of Adam are each
one flat array with the layers as views, so the update is a dozen calls for the whole network; results go
into arrays that are made once; the derivative is worked out on paper. Knows nothing of tracejit.
"""

from __future__ import annotations

import numpy as np

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


def initial_parameters(inputs: int, hidden: int, outputs: int, seed: int = 0) -> list[np.ndarray]:
    """Return ``[w1, b1, w2, b2]`` in float32: He initialisation for the weights, zeros for the biases."""
    generator = np.random.default_rng(seed)
    w1 = generator.standard_normal((inputs, hidden)) * np.sqrt(2.0 / inputs)
    w2 = generator.standard_normal((hidden, outputs)) * np.sqrt(2.0 / hidden)
    return [a.astype(np.float32) for a in (w1, np.zeros(hidden), w2, np.zeros(outputs))]


def views(flat: np.ndarray, like: list[np.ndarray]) -> list[np.ndarray]:
    """Return consecutive parts of a flat array, shaped like the given arrays."""
    ends = np.cumsum([a.size for a in like])
    return [part.reshape(a.shape) for part, a in zip(np.split(flat, ends[:-1]), like, strict=True)]


class Network:
    """A two-layer network with relu, softmax cross-entropy and Adam.

    Parameters
    ----------
    parameters : list of ndarray
        ``[w1, b1, w2, b2]`` in float32, shapes ``[i, h] [h] [h, o] [o]``; copied.
    batch : int
        The number of rows of every batch given to `step`.
    rate : float
        Adam's learning rate.
    """

    def __init__(self, parameters: list[np.ndarray], batch: int, rate: float) -> None:
        self.rate = rate
        self.flat = np.concatenate([a.ravel() for a in parameters])
        self.parameters = views(self.flat, parameters)
        self.flat_gradient = np.empty_like(self.flat)
        self.gradients = views(self.flat_gradient, parameters)
        self.mean, self.square = np.zeros_like(self.flat), np.zeros_like(self.flat)
        self.scratch, self.update = np.empty_like(self.flat), np.empty_like(self.flat)
        self.count = 0
        hidden, outputs = parameters[2].shape
        self.hidden = np.empty((batch, hidden), np.float32)
        self.hidden_cotangent = np.empty_like(self.hidden)
        self.active = np.empty((batch, hidden), bool)
        self.logits = np.empty((batch, outputs), np.float32)
        self.rows = np.arange(batch)

    def step(self, images: np.ndarray, labels: np.ndarray) -> float:
        """Take one step of Adam on a batch; return the mean cross-entropy before it."""
        loss = self.loss_and_gradients(images, labels)
        self.adam()
        return loss

    def loss_and_gradients(self, images: np.ndarray, labels: np.ndarray) -> float:
        """Return the mean cross-entropy of a batch and leave its derivatives in ``gradients``."""
        w1, b1, w2, b2 = self.parameters
        w1_bar, b1_bar, w2_bar, b2_bar = self.gradients
        hidden, logits, rows = self.hidden, self.logits, self.rows

        np.matmul(images, w1, out=hidden)
        hidden += b1
        np.maximum(hidden, 0.0, out=hidden)
        np.matmul(hidden, w2, out=logits)
        logits += b2
        logits -= logits.max(axis=1, keepdims=True)
        right = logits[rows, labels]
        np.exp(logits, out=logits)
        total = logits.sum(axis=1, keepdims=True)
        loss = float((np.log(total[:, 0]) - right).mean())

        logits /= total  # the probabilities, and from here on the cotangent of the logits
        logits[rows, labels] -= 1.0
        logits *= 1.0 / len(rows)
        np.matmul(hidden.T, logits, out=w2_bar)
        logits.sum(axis=0, out=b2_bar)
        np.matmul(logits, w2.T, out=self.hidden_cotangent)
        np.greater(hidden, 0.0, out=self.active)
        self.hidden_cotangent *= self.active
        np.matmul(images.T, self.hidden_cotangent, out=w1_bar)
        self.hidden_cotangent.sum(axis=0, out=b1_bar)
        return loss

    def adam(self) -> None:
        """Move the parameters along their gradients (Kingma and Ba, 2015, in the efficient order)."""
        self.count += 1
        gradient, mean, square = self.flat_gradient, self.mean, self.square
        scratch, update = self.scratch, self.update
        mean *= BETA1
        np.multiply(gradient, 1.0 - BETA1, out=scratch)
        mean += scratch
        square *= BETA2
        np.multiply(gradient, gradient, out=scratch)
        scratch *= 1.0 - BETA2
        square += scratch
        np.sqrt(square, out=scratch)
        correction = np.sqrt(1.0 - BETA2**self.count)
        scratch += float(EPSILON * correction)
        np.divide(mean, scratch, out=update)
        update *= float(self.rate * correction / (1.0 - BETA1**self.count))
        self.flat -= update

    def predict(self, images: np.ndarray) -> np.ndarray:
        """Return the most likely digit of each image, as int64 ``[n]``."""
        w1, b1, w2, b2 = self.parameters
        hidden = np.maximum(images @ w1 + b1, 0.0)
        return (hidden @ w2 + b2).argmax(axis=1)
