"""Layers for sequences: plain and stacked cells, both directions, steps that do not count."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

L = tf.keras.layers


def sines(*shape):
    return np.sin(np.arange(np.prod(shape)) * 0.7).reshape(shape).astype("float32")


def every_other_step(x):
    return (x * (np.arange(x.shape[1]) % 2)[:, None]).astype("float32")


X = sines(2, 5, 4)
NUMBERS = np.array([[0, 1, 2, 0], [3, 4, 0, 0]])
CASES = {
    "plain": (lambda: L.SimpleRNN(3, return_sequences=True), X),
    "stacked": (lambda: L.RNN(L.StackedRNNCells([L.GRUCell(3), L.LSTMCell(2)]), return_sequences=True), X),
    "both ways": (lambda: L.Bidirectional(L.LSTM(3, return_sequences=True)), X),
    "sum of both": (lambda: L.Bidirectional(L.GRU(3), merge_mode="sum"), X),
    "masked": (
        lambda: tf.keras.Sequential([L.Masking(), L.LSTM(3, return_sequences=True), L.Dense(2)]),
        every_other_step(X),
    ),
    "numbers": (
        lambda: tf.keras.Sequential([L.Embedding(7, 3, mask_zero=True), L.Bidirectional(L.SimpleRNN(3))]),
        NUMBERS,
    ),
    "each step": (lambda: L.TimeDistributed(L.Dense(2)), X),
}


def called(name):
    make, x = CASES[name]
    layer = make()
    layer(x)
    layer.set_weights([np.cos(np.arange(w.size) * 0.3).reshape(w.shape) * 0.5 for w in layer.get_weights()])
    return layer, x


# Numbers were computed by keras 3.15.
EXPECTED = {
    "plain": ((2, 5, 3), 13.0497, 16.3661),
    "stacked": ((2, 5, 2), 0.690685, 0.77831),
    "both ways": ((2, 5, 6), -4.5246, 4.6732),
    "sum of both": ((2, 3), -2.90876, 2.90876),
    "masked": ((2, 5, 2), 8.62127, 8.62127),
    "numbers": ((2, 6), 5.60401, 5.60401),
    "each step": ((2, 5, 2), 10.2011, 13.465),
}


@pytest.mark.parametrize("name", CASES)
def test_as_in_keras(name):
    layer, x = called(name)
    y = layer(x)
    shape, total, magnitude = EXPECTED[name]
    assert y.shape == shape
    np.testing.assert_allclose([np.sum(y), np.sum(np.abs(y))], [total, magnitude], rtol=2e-4)


def test_compiled_and_gradients_of_masked_steps():
    layer, x = called("masked")
    np.testing.assert_allclose(tf.function(layer)(tf.constant(x)), layer(x), rtol=1e-5, atol=1e-6)
    plain = tf.keras.Sequential(layer.layers[1:])
    v = tf.Variable(x)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(v) ** 2)
    found = tape.gradient(loss, v).numpy()
    assert not found[:, ::2].any() and found[:, 1::2].all()
    # steps that do not count change nothing, wherever they stand
    np.testing.assert_allclose(plain(x[:, 1::2])[:, -1], layer(x)[:, -1], rtol=1e-5)


def test_the_loss_leaves_masked_steps_out():
    model, x = called("masked")
    model.compile("sgd", "mse")
    y = sines(2, 5, 2)
    wrong = y.copy()
    wrong[:, ::2] += 100.0
    loss = model.evaluate(x, y, verbose=0)
    assert model.evaluate(x, wrong, verbose=0) == pytest.approx(loss)
    assert loss == pytest.approx(float(np.mean((model(x).numpy() - y)[:, 1::2] ** 2)), rel=1e-5)


def test_states_backwards_and_time_first():
    layer = L.GRU(3, return_sequences=True, return_state=True)
    y, state = layer(X)
    np.testing.assert_array_equal(y[:, -1], state)
    again, _ = layer(X[:, 2:], initial_state=y[:, 1])
    np.testing.assert_allclose(again, y[:, 2:], rtol=1e-5, atol=1e-6)
    for options, x in (({"go_backwards": True}, X[:, ::-1]), ({"time_major": True}, X.transpose(1, 0, 2))):
        other = L.GRU(3, return_sequences=True, **options)
        other(x)
        other.set_weights(layer.get_weights())
        found = other(x).numpy()
        np.testing.assert_allclose(
            found.transpose(1, 0, 2) if "time_major" in options else found, y, rtol=1e-5
        )


def test_cells_refuse_and_thin_out():
    x = tf.ones((1, 5, 301))
    layer = L.LSTM(2, dropout=0.5, kernel_initializer=tf.initializers.Constant(0.01))
    assert bool(tf.reduce_any(layer(x, training=True) != layer(x)))
    with pytest.raises(ValueError, match=r"dropout is in \[0, 1\)"):
        L.GRU(3, dropout=1.0)
    with pytest.raises(ValueError, match="goes backwards already"):
        L.Bidirectional(L.GRU(3, go_backwards=True))
    with pytest.raises(ValueError, match="merge_mode is one of"):
        L.Bidirectional(L.GRU(3), merge_mode="mean")


def test_gru_that_forgets_before_the_product():
    layer = tf.layers.GRU(2, reset_after=False, return_sequences=True)
    x = tf.reshape(tf.range(6.0) / 6, (1, 3, 2))
    layer(x)
    thirds = np.arange(12.0).reshape(2, 6)
    layer.set_weights([thirds / 10 - 0.5, thirds / 20 - 0.2, np.arange(6) / 7])
    right = [[[0.28504, 0.30645], [0.50198, 0.5383], [0.65812, 0.70289]]]
    np.testing.assert_allclose(layer(x), right, atol=1e-5)  # TensorFlow's
    again = tf.layers.GRU.from_config(layer.get_config())
    assert again.cell.reset_after is False


@pytest.mark.parametrize("kind", [L.SimpleRNN, L.LSTM, L.GRU])
def test_what_is_set_to_0_stays_so_for_all_steps_of_a_call(kind):
    x = tf.ones((1, 6, 40))
    make = {"kernel_initializer": "ones", "use_bias": False, "return_sequences": True}
    layer = kind(1, dropout=0.5, recurrent_initializer="zeros", activation="linear", **make)
    if kind is L.SimpleRNN:  # whose output is the sum of what is left
        left = layer(x, training=True).numpy().ravel()
        assert len(set(left.tolist())) == 1 and left[0] % 2 == 0
    layer = kind(40, recurrent_dropout=0.5, kernel_regularizer="l2", recurrent_regularizer="l2")
    assert not np.array_equal(layer(x, training=True), layer(x)) and len(layer.losses) == 2
    compiled = tf.function(lambda x: layer(x, training=True))
    assert not np.array_equal(compiled(x), compiled(x))


@pytest.mark.parametrize("kind", [L.SimpleRNN, L.LSTM, L.GRU])
def test_stateful_layers_go_on_where_they_were(kind):
    x = tf.random.stateless_normal((2, 6, 3), seed=[1, 2])
    layer, whole = kind(4, stateful=True), kind(4)
    plain = whole(x)
    layer(x[:, :1])
    layer.set_weights(whole.get_weights())
    layer.reset_states()
    compiled = tf.function(layer)
    for call in (layer, compiled, layer):
        call(x[:, :2])
        np.testing.assert_allclose(call(x[:, 2:]), plain, atol=1e-6)
        layer.reset_states()
    assert len(layer.weights) == len(whole.weights)
    layer(x, initial_state=[v + 1.0 for v in layer.states])
    layer(x[:1])  # another number of examples begins anew
    assert layer.states[0].shape == (1, 4)

    net = tf.keras.Sequential([tf.keras.Input((None, 3)), kind(4, stateful=True)])
    net.set_weights(whole.get_weights())
    for _ in range(2):
        net(x[:1, :3])
        np.testing.assert_allclose(net(x[:1, 3:]), plain[:1], atol=1e-6)
        net.reset_states()


@pytest.mark.parametrize("kind", [L.SimpleRNN, L.LSTM, L.GRU])
def test_wider_inputs_are_cast_to_what_a_layer_computes_in(kind):
    x = np.linspace(-1.0, 1.0, 12).reshape(1, 4, 3)
    layer = kind(2)
    assert (
        layer(x).dtype
        == layer(x, initial_state=layer.cell.get_initial_state(1, "float64")).dtype
        == tf.float32
    )
    assert layer(x, mask=[[True, True, False, False]]).dtype == tf.float32
    wide = kind(2, dtype="float64")
    assert wide(x).dtype == wide(x.astype("float32")).dtype == tf.float64
