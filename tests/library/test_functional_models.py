"""Networks between an Input and what layers make of it."""

from __future__ import annotations

import pickle

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


def two_outputs(**trained):
    a, b = tf.keras.Input(shape=(2,), name="z"), tf.keras.Input(shape=(1,), name="a")
    joined = L.Concatenate()([a, b])
    make = {"kernel_initializer": "ones", "use_bias": False}
    heads = tf.layers.Dense(1, name="score", **make)(joined), tf.layers.Dense(1, name="size", **make)(a)
    model = tf.keras.Model([a, b], list(heads))
    model.compile(tf.optimizers.SGD(0.01), **trained)
    return model


Z, A = np.float32([[1, 2], [3, 4], [5, 6]]), np.float32([[1], [1], [2]])
SCORE, SIZE = np.float32([[3], [9], [10]]), np.float32([[1], [7], [11]])


def test_each_output_has_its_loss_weight_and_metrics():
    model = two_outputs(
        loss={"score": "mse", "size": "mae"},
        loss_weights={"score": 0.5, "size": 2.0},
        metrics={"size": ["mse"], "score": [tf.metrics.MeanAbsoluteError()]},
    )
    expected = {  # predictions are 4, 8, 13 and 3, 7, 11
        "loss": 0.5 * 11.0 / 3.0 + 2.0 * 2.0 / 3.0,
        "score_loss": 11.0 / 3.0,
        "size_loss": 2.0 / 3.0,
        "score_mean_absolute_error": 5.0 / 3.0,
        "size_mse": 4.0 / 3.0,
    }
    x, y = {"a": A, "z": Z}, {"size": SIZE, "score": SCORE}
    found = model.evaluate(x, y, batch_size=2, verbose=0, return_dict=True)
    assert sorted(found) == sorted(expected) and all(abs(found[k] - expected[k]) < 1e-5 for k in expected)
    in_order = model.evaluate([Z, A], [SCORE, SIZE], verbose=0)
    assert np.allclose(in_order, list(expected.values()))
    batches = tf.data.Dataset.from_tensor_slices((x, y)).batch(3)
    history = model.fit(batches, validation_data=(x, y), verbose=0).history
    assert list(history) == [*sorted(expected), *(f"val_{name}" for name in sorted(expected))]
    assert abs(history["loss"][0] - expected["loss"]) < 1e-5 and history["val_loss"][0] < expected["loss"]


def test_the_losses_of_outputs_as_lists_weighted_or_left_out():
    weights = [np.float32([1, 0, 0]), np.float32([0, 0, 1])]
    model = two_outputs(loss=["mse", "mse"], metrics=[None, ["mae"]])
    assert np.allclose(
        model.evaluate([Z, A], [SCORE, SIZE], sample_weight=weights, verbose=0)[:3], [1 / 3, 1 / 3, 0]
    )
    assert abs(two_outputs(loss="mse").evaluate([Z, A], [SCORE, SIZE], verbose=0)[0] - 5.0) < 1e-5
    one = two_outputs(loss=[None, "mse"])
    with pytest.warns(UserWarning, match="no gradient for"):
        assert list(one.fit([Z, A], [SCORE, SIZE], verbose=0).history) == ["loss"]
    for trained, words in (
        ({"loss": {"size": "mse"}}, r"loss is for the outputs \['score', 'size'\], got one for \['size'\]"),
        ({"loss": "mse", "metrics": ["mae"]}, "metrics is a list or dict with one for each of the outputs"),
    ):
        with pytest.raises(ValueError, match=words):
            two_outputs(**trained).fit([Z, A], [SCORE, SIZE], verbose=0)
    with pytest.raises(ValueError, match=r"inputs of the network are \['z', 'a'\], got \['a'\]"):
        two_outputs()({"a": A})


def test_saved_networks_keep_the_losses_of_their_outputs(tmp_path):
    model = two_outputs(
        loss={"score": "mse", "size": "mae"}, loss_weights=[1.0, 3.0], metrics={"size": ["mse"]}
    )
    before = model.evaluate([Z, A], [SCORE, SIZE], verbose=0)
    model.save(tmp_path / "two.keras")
    loaded = tf.keras.models.load_model(tmp_path / "two.keras")
    assert loaded.evaluate([Z, A], [SCORE, SIZE], verbose=0) == before


def test_layers_stand_in_the_order_of_keras():
    """So lists of weights fit those of a network made by Keras; orders are those of keras 3.15."""
    layers, keras = tf.keras.layers, tf.keras
    x = keras.Input((4,), name="x")
    inner = keras.Model(x, layers.Dense(4, name="within")(x), name="inner")
    a, b, unused = (keras.Input((4,), name=name) for name in ("a", "b", "unused"))
    sequence = keras.Sequential([keras.Input((4,)), layers.Dense(4)], name="sequence")
    joined = layers.Add(name="joined")([inner(a), inner(sequence(b))])
    net = keras.Model(
        [unused, a, b], [layers.Dense(1, name="one")(joined), layers.Dense(2, name="two")(joined)]
    )
    assert [layer.name for layer in net.layers] == [
        "b",
        "a",
        "sequence",
        "inner",
        "joined",
        "unused",
        "one",
        "two",
    ]
    x = keras.Input((3,))
    parts = [layers.Dense(2, name=f"part{i}")(x) for i in range(3)]
    net = keras.Model(x, layers.Concatenate()([parts[0], layers.ReLU()(parts[1]), parts[2]]))
    named = [layer.name for layer in net.layers if layer.name.startswith("part")]
    assert named == ["part1", "part0", "part2"]
    made = [v.name.split("/")[0] for v in net.weights]
    assert made == [name for name in named for _ in range(2)]


def test_open_sizes_stay_open_through_layers_that_halve_them():
    image = x = K.Input((None, None, 3))
    for filters in (4, 8):
        x = L.MaxPooling2D()(L.Conv2D(filters, 3, padding="same")(x))
    assert x.shape == (None, None, None, 8)
    up = L.UpSampling2D(4)(x)  # as a U-Net joins what it halved
    net = K.Model(image, L.concatenate([image, up]))
    assert net(tf.zeros((2, 20, 12, 3))).shape == (2, 20, 12, 11)
    assert L.GlobalAveragePooling2D()(x).shape == (None, 8)


def test_a_sequential_knows_its_ends_and_which_sizes_are_open():
    said = list[str]()
    net = tf.Sequential([L.Conv1D(8, 3, input_shape=(None, 3)), L.LSTM(4, return_sequences=True)])
    net.summary(print_fn=said.append)
    assert [line.split("│")[2].strip() for line in said if "│ conv1d" in line or "│ lstm" in line] == [
        "(None, None, 8)",
        "(None, None, 4)",
    ]
    assert net(tf.zeros((2, 9, 3))).shape == (2, 7, 4)

    again = pickle.loads(pickle.dumps(net))
    for known in (net, again):
        parts = K.Model(known.inputs, [layer.output for layer in known.layers])
        assert [y.shape for y in parts(tf.ones((1, 5, 3)))] == [(1, 3, 8), (1, 3, 4)]
        assert known.output.shape == (None, None, 4) and known.layers[1].input is known.layers[0].output
    net.add(L.Dense(2))
    assert net.outputs[0].shape == (None, None, 2) and tf.Sequential([net]).layers[0] is net

    layer = L.Dense(2)
    with pytest.raises(AttributeError, match=r"no output: it was called with an Input.* never"):
        _ = layer.output
    for _ in range(2):
        layer(K.Input((3,)))
    with pytest.raises(AttributeError, match="2 times"):
        _ = layer.output
    layer.output = "an attribute of its own"
    assert layer.output == "an attribute of its own"
    with pytest.raises(AttributeError, match="the shape of an example is not known"):
        _ = tf.Sequential([L.Dense(2)]).inputs


def test_batches_of_a_known_size_and_objects_of_a_config():
    x = K.Input(batch_shape=(4, 3), name="x")
    net = K.Model(x, L.Activation(_doubled)(x))
    assert x.shape == net.output.shape == (4, 3) and net(tf.ones((5, 3))).shape == (5, 3)
    assert K.Input(3).shape == (None, 3)
    with pytest.raises(ValueError, match="a shape, or a batch_shape"):
        K.Input()
    with K.utils.custom_object_scope({"_doubled": _doubled}):
        config = net.get_config()
    made = K.Model.from_config(config, custom_objects={"_doubled": _doubled})
    assert made.input.shape == (4, 3) and float(made(tf.ones((1, 3)))[0, 0]) == 2.0


def _doubled(x):
    return 2.0 * x


def test_an_input_of_older_programs():
    first = tf.keras.Input(input_shape=(4,))
    assert first.shape == tf.keras.Input(shape=(4,)).shape == (None, 4)
    assert tf.layers.InputLayer(batch_input_shape=(2, 4)).shape == (2, 4)
    model = tf.Sequential([tf.layers.InputLayer(input_shape=(4,)), tf.layers.Dense(2)])
    assert model.layers[0].kernel.shape == (4, 2)
    with pytest.raises(ValueError, match="has a shape, or a batch_shape"):
        tf.layers.InputLayer()


@pytest.mark.parametrize("compiled", [False, True])
def test_training_may_be_given_by_position(compiled):
    inputs = tf.keras.Input((4,))
    of_layers = tf.keras.Model(inputs, tf.layers.Dropout(1 - 2**-20)(inputs))
    chain = tf.Sequential([tf.layers.Dropout(1 - 2**-20)])

    class Own(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.drop = tf.layers.Dropout(1 - 2**-20)

        def call(self, x, training):
            return self.drop(x)  # which is told by the call around it

    x = tf.ones((2, 4))
    for model in (of_layers, chain, Own()):
        run = tf.function(model) if compiled else model
        assert np.array_equal(run(x, True), np.zeros((2, 4)))
        assert np.array_equal(run(x, False), np.ones((2, 4)))
    with pytest.raises(TypeError):
        chain(x, True, None, None)
