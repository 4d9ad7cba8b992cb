"""A training step that goes wrong, and how to find out where.

Run: python examples/06_debug_eagerly.py

The loss below has two mistakes: a gradient that is lost in NumPy, and a logarithm of 0. Three tools find them: the
tape explains a gradient that is None, the NaN mode names the first op that made a NaN or an infinity, and the same
compiled function runs line by line in eager mode, where `print` and a debugger see every value.
"""

from __future__ import annotations

import numpy as np

import tracejit as tj

X = tj.constant([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
LABELS = tj.constant([0.0, 1.0, 1.0])


def scores(w: tj.Variable, scale: tj.Variable) -> tj.Tensor:
    """Probabilities, with a scale that the author normalized in NumPy."""
    z = tj.linalg.matvec(X, w) * np.exp(scale.numpy())
    return tj.clip_by_value(tj.sigmoid(z), 0.0, 1.0)


def loss(p: tj.Tensor) -> tj.Tensor:
    """The cross entropy, which is not finite where a probability is exactly 0 or 1."""
    return -tj.reduce_mean(LABELS * tj.math.log(p) + (1.0 - LABELS) * tj.math.log(1.0 - p))


def why_none() -> None:
    """The gradient of the scale is None: the tape knows where it was lost."""
    w, scale = tj.Variable([0.5, -0.5], name="w"), tj.Variable(0.0, name="scale")
    with tj.GradientTape() as tape:
        y = loss(scores(w, scale))
    print("gradients:", *("None" if g is None else g.numpy() for g in tape.gradient(y, [w, scale])))
    print(tape.explain(y, scale))


@tj.function
def step(w):
    """A step of gradient descent, compiled."""
    value, slope = tj.value_and_grad(lambda w: loss(tj.sigmoid(tj.linalg.matvec(X, w))))(w)
    return value, w - 50.0 * slope


def which_op() -> None:
    """The loss becomes NaN after some steps: the NaN mode names the op and the line, in compiled code too."""
    w = tj.constant([1.0, -1.0])
    with tj.settings(nans=True):
        for k in range(10):
            try:
                value, w = step(w)
            except tj.errors.NonFinite as error:
                print(f"step {k}: {error}")
                return
            print(f"step {k}: loss {float(value):.4f}")


def line_by_line() -> None:
    """The same function, one NumPy call at a time: values can be printed, and a debugger stops inside."""
    tj.config.run_functions_eagerly(True)
    try:
        value, w = step(tj.constant([1.0, -1.0]))
        print(f"eagerly: loss {float(value):.4f}, next w {w.numpy()}")
    finally:
        tj.config.run_functions_eagerly(False)


if __name__ == "__main__":
    why_none()
    which_op()
    line_by_line()
