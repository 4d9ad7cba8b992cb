"""Eager dense layers are one op, compiled ones its parts: the same values, and derivatives to the second order."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
from tracejit.core.tracing.dispatch import recording
from tracejit.nn.dense import dense

RNG = np.random.default_rng(5)
ACTIVATIONS = [None, "relu", "tanh", "sigmoid", "softmax", "elu", lambda y: y * y]


class Names(list):
    """A recorder that keeps the names of the ops it hears of."""

    def record(self, record):
        self.append(record.op.name)


def layer_of(activation, shape, dtype="float64"):
    layer = tf.layers.Dense(3, activation=activation, bias_initializer="ones", dtype=dtype)
    layer.build(shape)
    return layer


def derivatives(layer, x):
    """The result, the gradients by input, kernel and bias, and theirs of a function of these gradients."""
    sources = [x, *layer.trainable_variables]
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = layer(x)
            loss = tf.reduce_sum(tf.sin(y))
        first = tape.gradient(loss, sources)
        total = tf.add_n([tf.reduce_sum(g * g) for g in first])
    second = outer.gradient(total, sources)
    return [y, *first, *second]


@pytest.mark.parametrize("shape", [(4, 5), (2, 4, 5), (0, 5), (1, 5), (5,)])
@pytest.mark.parametrize("activation", ACTIVATIONS, ids=[*map(str, ACTIVATIONS[:-1]), "own"])
def test_equals_the_compiled_parts(activation, shape):
    if shape == (5,) and activation == "softmax":
        shape = (1, 5)
    layer, x = layer_of(activation, shape), tf.constant(RNG.normal(size=shape))
    compiled = tf.function(lambda x: derivatives(layer, x))(x)
    for a, b in zip(derivatives(layer, x), compiled, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def test_is_one_op_where_it_can_be():
    names = Names()
    layer, x = layer_of("relu", (4, 5)), tf.constant(RNG.normal(size=(4, 5)))
    with recording(names):
        layer(x)
    assert [n for n in names if n != "read"] == ["dense"]
    names.clear()
    with recording(names):
        layer_of("softmax", (4, 5))(x)
    assert "dense" in names and "exp" in names


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_bits_are_those_of_the_parts(activation):
    x = RNG.normal(size=(6, 5)).astype("f4")
    x[0], x[1, 0], x[2, 0] = np.nan, np.inf, -0.0
    kernel, bias = RNG.normal(size=(5, 3)).astype("f4"), np.array([0.0, -0.0, 2.0], "f4")
    f = getattr(tf.nn, activation)
    np.testing.assert_array_equal(dense(x, kernel, bias, f), f(tf.matmul(x, kernel) + bias))


def test_other_dtypes_and_shapes_go_the_way_of_the_parts():
    x, kernel = RNG.normal(size=(4, 5)), RNG.normal(size=(5, 3))
    bias = RNG.normal(size=(4, 3))
    np.testing.assert_allclose(dense(x, kernel, bias, tf.identity), x @ kernel + bias)
    np.testing.assert_allclose(
        dense(x.astype("f4"), kernel, bias[0], tf.identity), x.astype("f4") @ kernel + bias[0]
    )
    np.testing.assert_allclose(
        dense(x * 1j, kernel * 1j, bias[0] * 1j, tf.identity), -(x @ kernel) + bias[0] * 1j
    )
    np.testing.assert_allclose(dense(x[0], kernel, bias[0], tf.identity), x[0] @ kernel + bias[0])
    for f in (dense, tf.function(dense)):
        with pytest.raises(tf.ShapeError, match="matmul"):
            f(x, kernel.T, bias, tf.identity)


def test_lanes_with_and_without_their_own_weights():
    x, kernel, bias = RNG.normal(size=(6, 4, 5)), RNG.normal(size=(6, 5, 3)), RNG.normal(size=(6, 3))

    def f(x, k, b):
        return dense(x, k, b, tf.nn.relu)

    def gradient(x, k, b):
        return tf.grad(lambda k: tf.reduce_sum(f(x, k, b) ** 2))(k)

    for g in (f, gradient):
        for axes in ((0, 0, 0), (0, None, None), (None, 0, None), (None, None, 0)):
            whole = list(zip((x, kernel, bias), axes, strict=True))
            given = [a if axis == 0 else a[0] for a, axis in whole]
            lanes = [g(*(a[i if axis == 0 else 0] for a, axis in whole)) for i in range(6)]
            np.testing.assert_allclose(
                tf.vmap(g, in_axes=axes)(*given), np.stack(lanes), rtol=1e-10, atol=1e-12
            )


def test_a_dead_layer_is_explained():
    layer = tf.layers.Dense(2, activation="relu", kernel_initializer="ones")
    x = tf.constant([[-1.0, -2.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(layer(x))
    assert not np.asarray(tape.gradient(y, x)).any()
    explanation = tape.explain(y, x)
    assert explanation.cause == "zero" and "relu" in str(explanation)
