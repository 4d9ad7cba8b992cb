"""Networks between an Input and what layers make of it."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

K, L = tf.keras, tf.keras.layers


def test_several_outputs_are_those_of_the_calls_written_out():
    x = K.Input(shape=(3,))
    hidden, out = L.Dense(4, activation="tanh"), L.Dense(2)
    h = hidden(x)
    y = 2.0 * out(h) - h[:, :2]
    model = K.Model(inputs=x, outputs={"y": y, "h": h})
    assert y.shape == (None, 2) and h.shape == (None, 4) and len(model.trainable_variables) == 4
    given = tf.constant(np.arange(15.0).reshape(5, 3) / 7, "float32")
    result = model(given)
    np.testing.assert_array_equal(result["h"], hidden(given))
    np.testing.assert_allclose(result["y"], 2.0 * out(hidden(given)) - hidden(given)[:, :2], rtol=1e-6)
    compiled = tf.function(model)(given)
    np.testing.assert_allclose(compiled["y"], result["y"], rtol=1e-5)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(given)["y"] ** 2)
    assert all(g is not None for g in tape.gradient(loss, model.trainable_variables))


def test_several_inputs_are_fitted_and_layers_shared():
    a, b = K.Input((2,)), K.Input((2,))
    shared = L.Dense(3)
    model = K.Model([a, b], L.Dense(1)(L.add([shared(a), shared(b)])))
    assert [type(layer).__name__ for layer in model.layers] == [
        "InputLayer",
        "InputLayer",
        "Dense",
        "Add",
        "Dense",
    ]
    assert len(model.weights) == 4
    model.compile("sgd", "mse")
    x = np.ones((8, 2), "float32")
    losses = model.fit([x, x], np.zeros((8, 1), "float32"), epochs=3, verbose=0).history["loss"]
    assert losses[0] > losses[-1]
    assert K.Model(a, shared(a))(x).shape == (8, 3)  # a part of it
    with pytest.raises(ValueError, match="the network has 2 inputs, got 1"):
        model(x)


def test_sizes_that_are_not_known_and_training():
    x = K.Input((None, 4))
    assert L.LSTM(3, return_sequences=True)(x).shape == (None, None, 3)
    assert L.Flatten()(K.Input((2, 3))).shape == (None, 6)
    x = K.Input((50,))
    model = K.Model(x, L.Dropout(0.5)(x))
    ones = tf.ones((2, 50))
    assert bool(tf.reduce_all(model(ones) == ones)) and bool(tf.reduce_any(model(ones, training=True) == 0.0))


def test_subclasses_and_networks_in_networks():
    class Doubled(K.Model):
        def predict_step(self, data):
            return 2.0 * super().predict_step(data)

    x = K.Input((2,))
    inner = K.Sequential([L.Dense(2, kernel_initializer="ones")])
    model = Doubled(x, inner(inner(x)))
    assert model.predict(np.ones((1, 2), "float32"), verbose=0).tolist() == [[8.0, 8.0]]


def test_what_is_refused():
    x = K.Input((2,))
    with pytest.raises(TypeError, match="has no value yet: use layers and operators"):
        tf.reduce_sum(L.Dense(2)(x))
    with pytest.raises(ValueError, match="which is not among the inputs"):
        K.Model(K.Input((2,)), L.Dense(2)(x))
    with pytest.raises(TypeError, match="inputs and outputs of a network are"):
        K.Model(x, tf.ones((2, 2)))
    with pytest.raises(NotImplementedError):
        K.Model()(tf.ones((2, 2)))
