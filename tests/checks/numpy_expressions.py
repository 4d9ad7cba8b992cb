"""Expressions and functions written in NumPy's names, tried with NumPy and with ``tracejit.numpy``."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tracejit as tf
import tracejit.numpy as tnp

VALUES = {
    "F": np.array([[0.5, -1.5, 2.25], [3.0, 0.75, -0.25]]),
    "G": np.array([[0.5, -1.5, 2.25], [3.0, 0.75, -0.25]], np.float32),
    "I": np.array([[3, 1, 2], [0, 5, 4]]),
    "J": np.array([[3, -1, 2], [0, 5, 4]], np.int8),
    "U": np.array([[3, 1, 2], [0, 5, 4]], np.uint8),
    "B": np.array([[True, False, True], [False, False, True]]),
    "N": np.array([[1.0, np.nan, -np.inf], [np.inf, -0.0, 2.0]]),
    "C": np.array([[1 + 2j, 3 - 1j], [0.5j, -2.5j]]),
    "V": np.array([0.25, 0.5, 0.75]),
    "T": np.array([2.0, 1.0, 2.5, 2.0, 1.0]),
    "M": np.arange(24.0).reshape(2, 3, 4)[:, ::-1],
    "O": np.ones((1, 3, 1)),
    "E": np.zeros((2, 0)),
}
MODES = pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])

X = np.array([[0.31, -0.42, 0.93, 0.55], [0.87, 0.16, -0.74, 1.21], [-0.28, 0.64, 0.47, 1.05]])


def weighted(y):
    return np.cos(np.arange(y.size)).reshape(y.shape)


def expressions(*texts):
    """Lines as they are, those with @ once for each of the names given, in place of X."""
    for line in "".join(texts).split("\n"):
        names, _, rest = line[1:].partition(" ")
        if line.startswith("@"):
            yield from (re.sub(r"\bX\b", name, rest) for name in names.split(","))
        elif line:
            yield line


def listed(found):
    return [y for x in found for y in listed(x)] if isinstance(found, (tuple, list)) else [np.asarray(found)]


def require_numpys_value(expression, mode):
    """The same shapes, dtypes and values of an expression of names in `VALUES`, eager or compiled."""
    names = sorted(set(re.findall(r"\b[A-Z]\b", expression)) & set(VALUES))
    wanted = listed(eval(expression, {"np": np, **VALUES}))
    ours = mode(lambda *xs: eval(expression, {"np": tnp, **dict(zip(names, xs, strict=True))}))
    found = listed(ours(*(tf.constant(VALUES[name]) for name in names)))
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        tolerance = {2: 2e-3, 4: 2e-6}.get(b.real.dtype.itemsize, 1e-12)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def require_slopes(f, mode):
    """Derivatives of first and second order of a function of `X` are those of differences."""

    def loss(x):
        y = f(tnp, x)
        return tnp.sum(y * weighted(np.zeros([int(d) for d in y.shape])))

    def by_hand(x):
        y = np.asarray(f(np, x))
        return np.sum(y * weighted(y))

    def differences(g, step):
        steps = (step * np.eye(X.size)[k].reshape(X.shape) for k in range(X.size))
        return np.reshape([(g(X + h) - g(X - h)) / (2 * step) for h in steps], X.shape)

    slope = mode(tf.grad(loss))(X).numpy()
    np.testing.assert_allclose(slope, differences(by_hand, 1e-6), rtol=2e-7, atol=2e-8)
    along = np.sin(np.arange(12.0)).reshape(3, 4)
    curved = mode(tf.grad(lambda x: tf.reduce_sum(tf.grad(loss)(x) * along)))(X)
    second = differences(lambda x: np.sum(tf.grad(loss)(x).numpy() * along), 1e-6)
    np.testing.assert_allclose(0.0 if curved is None else curved.numpy(), second, rtol=2e-6, atol=2e-7)
