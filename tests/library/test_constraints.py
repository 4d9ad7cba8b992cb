"""What weights are made after each step of an optimizer."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import tracejit as tf

C, L = tf.keras.constraints, tf.keras.layers
W = np.float32([[3.0, -0.3, 0.0], [4.0, 0.4, 0.0]])


@pytest.mark.parametrize(
    "constraint, expected",
    [
        (C.NonNeg(), [[3.0, 0.0, 0.0], [4.0, 0.4, 0.0]]),
        (C.MaxNorm(2.0), [[1.2, -0.3, 0.0], [1.6, 0.4, 0.0]]),
        (C.UnitNorm(), [[0.6, -0.6, 0.0], [0.8, 0.8, 0.0]]),
        (C.UnitNorm(axis=(0, 1)), W / np.linalg.norm(W)),
        (C.MinMaxNorm(1.0, 2.0), [[1.2, -0.6, 0.0], [1.6, 0.8, 0.0]]),
        (C.MinMaxNorm(1.0, 2.0, rate=0.5), [[2.1, -0.45, 0.0], [2.8, 0.6, 0.0]]),
    ],
)
def test_values(constraint, expected):
    np.testing.assert_allclose(constraint(tf.constant(W)), expected, atol=1e-6)
    again = C.deserialize(C.serialize(constraint))
    np.testing.assert_array_equal(tf.function(again)(W), constraint(tf.constant(W)))


@pytest.mark.parametrize("run_eagerly", [False, True])
def test_optimizers_leave_weights_as_their_constraints_want_them(run_eagerly):
    net = tf.Sequential(
        [L.Dense(2, input_dim=3, kernel_constraint="non_neg", bias_constraint=_small), L.Dense(1)]
    )
    net.compile(tf.optimizers.SGD(1.0, momentum=0.5), "mse", run_eagerly=run_eagerly)
    x = np.random.default_rng(1).normal(size=(16, 3)).astype("float32")
    net.fit(x, x @ [[1.0], [-2.0], [3.0]], epochs=2, verbose=0)
    kernel, bias = net.layers[0].weights
    assert (kernel.numpy() >= 0).all() and (np.abs(bias) <= 0.01).all() and np.any(np.abs(bias) > 0)
    assert isinstance(kernel.constraint, C.NonNeg) and net.layers[1].kernel.constraint is None

    table = L.Embedding(4, 2, embeddings_constraint=C.UnitNorm(axis=1))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(table([1, 2]))
    tf.optimizers.SGD(0.1).apply_gradients([(tape.gradient(loss, table.embeddings), table.embeddings)])
    np.testing.assert_allclose(np.linalg.norm(table.embeddings, axis=1), 1.0, rtol=1e-5)
    assert isinstance(L.LSTM(2, recurrent_constraint=C.unit_norm), L.LSTM)


def test_constraints_come_along_and_are_those_of_a_weight(tmp_path):
    net = tf.Sequential([L.Dense(2, kernel_constraint="max_norm", input_shape=(3,))])
    net.save(tmp_path / "net.keras")
    loaded = tf.keras.models.load_model(tmp_path / "net.keras")
    for other in (loaded, pickle.loads(pickle.dumps(net)), copy.deepcopy(net)):
        assert isinstance(other.weights[0].constraint, C.MaxNorm)
        np.testing.assert_array_equal(other.weights[0], net.weights[0])
    with pytest.raises(TypeError, match="Dense has no weight for krenel_constraint"):
        L.Dense(2, krenel_constraint="non_neg")(tf.ones((1, 2)))
    with pytest.raises(TypeError, match=r"Dense.* takes no argument 'unit'"):
        L.Dense(2, unit=3)
    with pytest.raises(ValueError, match="a constraint is a function, or one of non_neg"):
        L.Dense(2, kernel_constraint="positive")(tf.ones((1, 2)))
    with pytest.raises(NotImplementedError):
        C.Constraint()(1.0)


def _small(w):
    return tf.clip_by_value(w, -0.01, 0.01)
