"""Networks that train themselves: fit, evaluate, predict as in Keras, steps of one's own, what weights cost."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest

import tracejit as tf

K = tf.keras
X = np.sin(np.arange(60)).reshape(20, 3).astype("float32")
Y = (X[:, 0] > 0).astype("int64") + (X[:, 1] > 0.5)


def classifier():
    return K.models.Sequential(
        [
            K.layers.Dense(6, activation="relu", kernel_initializer="ones"),
            K.layers.Dense(3, activation="softmax", kernel_initializer="identity"),
        ]
    )


# The numbers in these tests were computed by keras 3.15 with the TensorFlow backend.


@pytest.mark.parametrize("run_eagerly", [False, True])
def test_fit_evaluate_predict(run_eagerly):
    x = np.linspace(-1, 1, 64).reshape(16, 4).astype("float32")
    y = (x.sum(1, keepdims=True) * 2 + 1).astype("float32")
    model = K.Sequential(
        [
            K.layers.Dense(5, activation="tanh", kernel_initializer="ones", input_shape=(4,)),
            K.layers.Dense(1, kernel_initializer="ones"),
        ]
    )
    model.compile(optimizer="sgd", loss="mse", metrics=["mae"], run_eagerly=run_eagerly)
    history = model.fit(x, y, epochs=2, batch_size=5, shuffle=False, verbose=0)
    assert list(history.history) == ["loss", "mae"] and history.epoch == [0, 1]
    again = model.evaluate(x, y, batch_size=5, verbose=0, return_dict=True)
    both = model.evaluate(x, y, verbose=0)
    assert both == pytest.approx([again["loss"], again["mae"]], rel=1e-5)
    predicted = model.predict(x, batch_size=7, verbose=0)
    assert type(predicted) is np.ndarray and predicted.shape == (16, 1)
    assert np.mean((predicted - y) ** 2) == pytest.approx(both[0], rel=1e-5)
    assert int(model.optimizer.iterations) == 8


def test_classes_validation_and_the_accuracy_that_fits():
    model = classifier()
    model.compile(K.optimizers.Adam(0.05), "sparse_categorical_crossentropy", metrics=["accuracy"])
    fitted = model.fit(X, Y, 8, epochs=3, shuffle=False, verbose=0, validation_data=(X[:7], Y[:7])).history
    np.testing.assert_allclose(fitted["loss"], [1.2131269, 0.8917412, 0.8750569], rtol=2e-5)
    np.testing.assert_allclose(fitted["accuracy"], [0.15, 0.8, 0.6], rtol=1e-6)
    np.testing.assert_allclose(fitted["val_accuracy"], [0.71428573, 0.14285715, 0.14285715], rtol=1e-6)
    batches = tf.data.Dataset.from_tensor_slices((X, Y)).batch(10)
    fitted = model.fit(batches, epochs=2, verbose=0).history
    np.testing.assert_allclose(fitted["loss"], [0.8707520, 0.8343299], rtol=2e-5)
    fitted = model.fit(X, Y, shuffle=False, verbose=0, validation_split=0.25).history
    np.testing.assert_allclose(fitted["loss"], [0.92658025], rtol=2e-5)
    np.testing.assert_allclose(fitted["val_loss"], [0.35243016], rtol=2e-5)


def test_binary_and_one_hot_accuracy():
    model = K.Sequential([K.layers.Dense(1, activation="sigmoid", kernel_initializer="ones")])
    model.compile("adam", "binary_crossentropy", ["accuracy"])
    guesses = 1 / (1 + np.exp(-X.sum(1))) > 0.5
    found = model.evaluate(X, (Y > 0).astype("float32"), verbose=0)
    assert found[1] == pytest.approx(np.mean(guesses == (Y > 0)))
    model = K.Sequential([K.layers.Dense(3, kernel_initializer="identity")])
    model.compile(loss=K.losses.CategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    found = model.evaluate(X, np.eye(3, dtype="float32")[Y], verbose=0)
    assert found[1] == pytest.approx(np.mean(X.argmax(1) == Y))


def test_weights_of_examples_count_in_the_loss_and_in_weighted_metrics():
    model = classifier()
    model.compile(
        "sgd",
        "sparse_categorical_crossentropy",
        metrics=["accuracy", "sparse_categorical_crossentropy"],
        weighted_metrics=["acc"],
    )
    weights = np.linspace(0.5, 1.5, 20).astype("float32")
    fitted = model.fit(
        X, Y, 8, epochs=2, shuffle=False, verbose=0, sample_weight=weights, validation_split=0.3
    ).history
    wanted = {
        "acc": [0.21205, 0.08259],
        "accuracy": [0.21429, 0.07143],
        "loss": [0.92664, 0.92360],
        "sparse_categorical_crossentropy": [1.09986, 1.09726],
        "val_acc": [1.0, 1.0],
        "val_accuracy": [1.0, 1.0],
        "val_loss": [1.48531, 1.46798],
        "val_sparse_categorical_crossentropy": [1.08565, 1.07321],
    }
    assert list(fitted) == list(wanted)
    for name, numbers in wanted.items():
        np.testing.assert_allclose(fitted[name], numbers, atol=1e-5)
    # In the order in which they were asked for, the loss first.
    found = model.evaluate(X, Y, verbose=0, sample_weight=weights)
    np.testing.assert_allclose(found, [1.0838, 0.55, 1.08742, 0.67763], atol=1e-5)


def test_a_batch_is_all_the_examples_given():
    model = classifier()
    model.compile("sgd", "sparse_categorical_crossentropy", "accuracy")
    many = np.tile(X, (3, 1)), np.tile(Y, 3)
    before = model.test_on_batch(*many)
    assert before == pytest.approx(model.evaluate(*many, verbose=0), rel=1e-5)
    assert model.train_on_batch(*many) == pytest.approx(before, rel=1e-5)
    assert model.train_on_batch(*many)[0] < before[0]  # of this batch alone
    assert int(model.optimizer.iterations) == 2


def test_the_order_of_examples_is_drawn_anew_and_repeats_with_a_seed():
    class Noting(K.Model):
        def call(self, x):
            return x + 0.0 * self.w

        def build(self, shape):
            self.w = self.add_weight("w", ())

        def train_step(self, data):
            seen.append(data[0].numpy().ravel().tolist())
            return {}

    def orders(seed):
        tf.random.set_seed(seed)
        seen.clear()
        model = Noting()
        model.compile("sgd", "mse", run_eagerly=True)
        rows = np.arange(10.0, dtype="float32")[:, None]
        model.fit(rows, rows, batch_size=4, epochs=2, verbose=0)
        assert [len(batch) for batch in seen] == [4, 4, 2] * 2
        return tuple(list(itertools.chain.from_iterable(seen[k : k + 3])) for k in (0, 3))

    seen = []
    first, second = orders(1)
    assert sorted(first) == sorted(second) == list(range(10)) and first != second
    assert orders(1) == (first, second) != orders(2)


def test_a_step_of_ones_own():
    class Doubling(K.Model):
        def __init__(self):
            super().__init__()
            self.dense = K.layers.Dense(1, kernel_initializer="ones")

        def call(self, x):
            return self.dense(x)

        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = 2.0 * self.compute_loss(y=y, y_pred=self(x, training=True))
            variables = self.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
            for metric in self.metrics:
                metric.update_state(loss)
            return {m.name: m.result() for m in self.metrics}

    model = Doubling()
    model.compile(K.optimizers.SGD(0.25), "mse")
    x = np.array([[1.0]], "float32")
    history = model.fit(x, 3.0 * x, epochs=1, verbose=0)
    assert history.history == {"loss": [8.0]}  # 2 (1 - 3)**2
    assert [float(v) for v in map(tf.squeeze, model.variables)] == [3.0, 2.0]  # both move by 0.25 * 8


def test_what_is_printed(capsys):
    model = classifier()
    model.compile("sgd", "sparse_categorical_crossentropy")
    model.fit(X, Y, epochs=2)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Epoch 1/2" and lines[1].startswith("1/1 - ") and "loss: 1." in lines[1]
    assert len(lines) == 4
    model.evaluate(X, Y)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("1/1 - ") and "loss: 1." in line
    model.fit(X, Y, verbose=0)
    model.predict(X)
    printed = capsys.readouterr()
    assert printed.out == printed.err == ""


@pytest.mark.parametrize("tqdm", [False, True])
def test_a_bar_that_is_gone_in_the_end(tqdm, capsys, monkeypatch):
    if tqdm:
        pytest.importorskip("tqdm")
    else:
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    model = classifier()
    model.compile("sgd", "sparse_categorical_crossentropy")
    model.fit(X, Y, batch_size=5, verbose=1)
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 1 and printed.out.startswith("4/4 - ")
    assert "4" in printed.err and "\n" not in printed.err and printed.err.endswith(" \r")


def test_callbacks_and_steps_without_end():
    class Stop:
        def set_model(self, model):
            self.model = model

        def on_train_begin(self, logs=None):
            assert not self.model.stop_training

        def on_epoch_end(self, epoch, logs):
            seen.append((epoch, sorted(logs)))
            self.model.stop_training = epoch == 1

    seen, model = [], classifier()
    model.compile("sgd", "sparse_categorical_crossentropy")
    endless = tf.data.Dataset.from_tensor_slices((X, Y)).repeat().batch(4)
    model.fit(endless, epochs=5, steps_per_epoch=3, verbose=0, callbacks=[Stop()])
    assert seen == [(0, ["loss"]), (1, ["loss"])] and int(model.optimizer.iterations) == 6
    seen.clear()
    history = model.fit(X, Y, 8, epochs=6, initial_epoch=3, steps_per_epoch=2, verbose=0, callbacks=[Stop()])
    assert history.epoch == [3, 4, 5] and [epoch for epoch, _ in seen] == [
        3,
        4,
        5,
    ]  # three batches, read twice
    assert int(model.optimizer.iterations) == 12 and model.history is history


def test_errors_of_training():
    model = classifier()
    with pytest.raises(RuntimeError, match="say how to train first"):
        model.fit(X, Y, verbose=0)
    model.compile("sgd", "sparse_categorical_crossentropy")
    with pytest.raises(ValueError, match="there is no batch"):
        model.fit(X[:0], Y[:0], verbose=0)
    with pytest.raises(ValueError, match="there is no batch"):
        model.predict(X[:0])
    with pytest.raises(ValueError, match="there are no labels"):
        model.fit(X, verbose=0)
    with pytest.raises(ValueError, match="leave y and sample_weight out"):
        model.fit(tf.data.Dataset.from_tensors((X, Y)), Y, verbose=0)
    with pytest.raises(ValueError, match=r"validation_split=0.99 of 20 examples leaves none"):
        model.fit(X, Y, validation_split=0.99, verbose=0)
    with pytest.raises(ValueError, match="no metric is called 'distance'"):
        model.compile("sgd", "mse", ["distance"])
        model.fit(X, Y, verbose=0)
    model.compile("sgd")
    with pytest.raises(ValueError, match="there is no loss"):
        model.fit(X, Y, verbose=0)
    with pytest.raises(TypeError, match="loss_scale"):
        model.compile("sgd", "mse", loss_scale=[2.0])


def test_several_inputs_and_lists_of_numbers():
    class Sum(K.Model):
        def __init__(self):
            super().__init__()
            self.a, self.b = (K.layers.Dense(1, kernel_initializer="ones") for _ in range(2))

        def call(self, inputs):
            return self.a(inputs[0]) + self.b(inputs[1])

    model = Sum()
    model.compile("sgd", "mse")
    total = X.sum(1, keepdims=True) + X[:, :1]
    assert model.evaluate([X, X[:, :1]], total, verbose=0) == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(model.predict([X, X[:, :1]], batch_size=7), total, rtol=1e-6)
    model = K.Sequential([K.layers.Dense(1, kernel_initializer="ones")])
    model.compile("sgd", "mse")
    history = model.fit([[1.0], [2.0], [3.0], [4.0]], [1.0, 2.0, 3.0, 5.0], validation_split=0.25, verbose=0)
    assert history.history == {"loss": [0.0], "val_loss": [1.0]}
    assert model.predict([[1.0]]).dtype == np.float32


def test_optimizers_and_metrics_are_no_weights():
    model = classifier()
    model.compile("adam", "sparse_categorical_crossentropy", ["accuracy"])
    model.fit(X, Y, verbose=0)
    assert len(model.variables) == len(model.get_weights()) == 4 and type(model.variables) is list
    assert model.trainable_variables + [model.optimizer.iterations]


# ---- what weights cost ----------------------------------------------------------------------------------


def test_regularizers_are_part_of_the_loss():
    model = K.Sequential(
        [K.layers.Dense(1, kernel_regularizer=K.regularizers.l2(0.5), kernel_initializer="ones")]
    )
    model.build((1, 4))
    assert [float(loss) for loss in model.losses] == [2.0]
    with tf.GradientTape() as tape:
        loss = tf.add_n(model.losses)
    assert tape.gradient(loss, model.trainable_variables[0]).numpy().ravel().tolist() == [1.0] * 4
    model.compile("sgd", "mse")
    x = np.zeros((2, 4), "float32")
    assert model.evaluate(x, np.zeros((2, 1), "float32"), verbose=0) == 2.0
    assert float(K.regularizers.get("l1")([3.0, -1.0])) == pytest.approx(0.04)
    assert K.regularizers.get(K.regularizers.L2).l2 == 0.01 and K.regularizers.get(None) is None
    with pytest.raises(ValueError, match="a regularizer is a function, or one of l1, l2, l1_l2"):
        K.regularizers.get("l3")


@pytest.mark.parametrize("compiled", [False, True])
def test_layers_add_losses_of_the_last_call(compiled):
    class Noted(K.layers.Layer):
        def call(self, x):
            self.add_loss(tf.reduce_sum(x))
            return x

    inner = Noted()
    model = K.Sequential([inner, inner])

    def losses(x):
        model(x, training=True)
        return model.losses

    losses = tf.function(losses) if compiled else losses
    assert [float(x) for x in losses(tf.ones((3,)))] == [3.0, 3.0]
    assert [float(x) for x in losses(tf.ones((2,)))] == [2.0, 2.0]


def test_a_loss_added_where_the_mode_is_another():
    class Noted(K.layers.Layer):
        def call(self, x, training=None):
            self.add_loss(1.0 if training else 2.0)
            return x

    class Outer(K.Model):
        def __init__(self):
            super().__init__()
            self.noted = Noted()

        def call(self, x):
            return self.noted(x, training=True)

    model = Outer()
    model(tf.ones((1, 1)), training=False)
    assert model.losses == [1.0]


# ---- describing and keeping -----------------------------------------------------------------------------


def test_weights_in_a_file(tmp_path):
    first, second = classifier(), classifier()
    first.build((None, 3))
    first.set_weights([w + 1.0 for w in first.get_weights()])
    first.save_weights(tmp_path / "net.weights.h5")
    second.build((None, 3))
    second.load_weights(tmp_path / "net.weights.h5")
    for a, b in zip(first.get_weights(), second.get_weights(), strict=True):
        assert (a == b).all()
    with pytest.raises(FileExistsError, match="is there already"):
        second.save_weights(tmp_path / "net.weights.h5", overwrite=False)
    with pytest.raises(ValueError, match="has 2 weights, got 4"):
        model = K.Sequential([K.layers.Dense(2)])
        model.build((None, 3))
        model.load_weights(tmp_path / "net.weights.h5")


def test_weights_wait_for_the_first_call(tmp_path):
    class Net(K.Model):
        def __init__(self):
            super().__init__()
            self.first, self.rest = K.layers.Dense(4), [K.layers.Dense(2), K.Sequential([K.layers.Dense(1)])]

        def call(self, inputs):
            x = self.first(inputs)
            for layer in self.rest:
                x = layer(x)
            return x

    x = tf.constant([[1.0, 2.0, 3.0]])
    first, second, third = Net(), Net(), Net()
    first(x)
    first.save_weights(tmp_path / "w")
    second.load_weights(tmp_path / "w")
    third.load_weights(tmp_path / "w")
    assert float(second(x)) == float(first(x))
    assert float(tf.function(third)(x)) == float(tf.function(first)(x))


def test_a_summary():
    model = K.Sequential(
        [
            K.layers.Dense(8, input_shape=(3,), name="first"),
            K.layers.BatchNormalization(name="batch_normalization"),
        ],
        name="net",
    )
    lines = []
    model.summary(print_fn=lines.append)
    assert lines[0] == 'Model: "net"'
    assert lines[4] == "│ first (Dense)                   │ (None, 8)              │            32 │"
    assert lines[6] == "│ batch_normalization             │ (None, 8)              │            32 │"
    assert lines[7] == "│ (BatchNormalization)            │                        │               │"
    assert lines[-3:] == [
        " Total params: 64 (256.00 B)",
        " Trainable params: 48 (192.00 B)",
        " Non-trainable params: 16 (64.00 B)",
    ]


def test_layers_of_a_model():
    class Net(K.Model):
        def __init__(self):
            super().__init__()
            self.a, self.others = K.layers.Dense(1, name="a"), [K.layers.Flatten(name="b")]

    net = Net()
    assert [layer.name for layer in net.layers] == ["a", "b"] and net.get_layer("b") is net.others[0]
    assert net.get_layer(index=0) is net.a

    class Wrong(Net):
        @property
        def depth(self):
            return self.missing

    with pytest.raises(AttributeError, match="missing"):  # and not: depth
        Wrong().depth  # noqa: B018
    with pytest.raises(ValueError, match="no layer is called 'c'; there are a, b"):
        net.get_layer("c")
    net.layers = [net.a]
    assert net.layers == [net.a] and len(net.variables) == 0


def test_a_metric_that_is_asked_for_with_and_without_weights_is_told_twice():
    model = tf.Sequential([tf.layers.Dense(1, kernel_initializer="ones")])
    model.compile(loss="mse", metrics=["mae"], weighted_metrics=["mae"])
    x, y, w = tf.constant([[1.0], [2.0]]), tf.constant([[2.0], [5.0]]), tf.constant([1.0, 0.0])
    assert model.evaluate(x, y, sample_weight=w, verbose=0) == [0.5, 2.0, 1.0]
    history = model.fit(x, y, sample_weight=w, verbose=0).history
    assert list(history) == ["loss", "mae", "weighted_mae"]


def test_steps_of_older_programs_find_the_loss_and_the_metrics_they_were_compiled_with():
    class Net(tf.keras.Sequential):
        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                predictions = self(x, training=True)
                loss = self.compiled_loss(y, predictions, regularization_losses=self.losses)
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
            self.compiled_metrics.update_state(y, predictions)
            return {m.name: m.result() for m in self.metrics}

    x, y = np.float32([[1], [2], [3]]), np.float32([[3], [5], [8]])
    histories = []
    for kind in (Net, tf.keras.Sequential):
        dense = tf.layers.Dense(
            1,
            kernel_initializer="ones",
            input_dim=1,
            kernel_regularizer=tf.keras.regularizers.l2(0.1),
            activity_regularizer=tf.keras.regularizers.l1(0.5),
        )
        net = kind([dense])
        assert net.output_shape == dense.output_shape == (None, 1)
        net.compile(tf.optimizers.SGD(0.01), "mse", ["mae"])
        net.fit(x, y, epochs=2, batch_size=2, shuffle=False, verbose=0)
        histories.append(net.history.history)
        assert net.metrics_names == ["loss", "mae"]
        assert net.predict_on_batch(x).shape == (3, 1)
    assert histories[0] == histories[1]
    # 2 of 3 examples: (4 + 9) / 2 + 0.1 * 1 + 0.5 * (1 + 2) / 2, of Keras
    first = tf.keras.Sequential([dense])
    first.compile("sgd", "mse")
    dense.kernel.assign([[1.0]]), dense.bias.assign([0.0])
    np.testing.assert_allclose(first.evaluate(x[:2], y[:2], verbose=0), 6.5 + 0.1 + 0.75, rtol=1e-6)


def test_batches_of_validation_may_be_counted_and_one_epoch_is_not_announced(capsys):
    net = tf.Sequential([tf.layers.Dense(1, kernel_initializer="ones", use_bias=False)])
    net.compile(tf.optimizers.SGD(0.0), "mse")
    x, y = np.ones((8, 1), "float32"), np.float32([[1], [1], [2], [2], [3], [3], [4], [4]])
    logs = net.fit(
        x, y, validation_data=(x, y), validation_steps=2, validation_batch_size=2, verbose=2
    ).history
    assert logs["val_loss"] == [0.5] and net.evaluate(x, y, 2, 0, steps=1) == 0.0
    assert capsys.readouterr().out.startswith("1/1 - ")


def test_a_network_without_weights_and_tensorboard_only_warn():
    net = tf.Sequential([tf.layers.Rescaling(2.0)])
    net.compile("sgd", "mse")
    with pytest.warns(UserWarning, match="no trainable weights"):
        assert net.fit([[1.0]], [[2.0]], verbose=0).history == {"loss": [0.0]}
    with pytest.warns(UserWarning, match="TensorBoard writes nothing"):
        net.fit([[1.0]], [[2.0]], verbose=0, callbacks=[tf.keras.callbacks.TensorBoard(log_dir="logs")])


def test_a_network_whose_step_calls_others_needs_no_call_of_its_own():
    class Pair(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.one, self.other = tf.layers.Dense(1, input_dim=1), tf.layers.Dense(1)

        def train_step(self, x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(self.other(self.one(x)) - x))
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
            return {"loss": loss}

    net = Pair()
    net.compile(tf.optimizers.SGD(0.05))
    losses = net.fit(np.float32([[1], [2], [3], [4]]), epochs=30, verbose=0).history["loss"]
    assert losses[-1] < losses[0]


def test_labels_of_numpy_are_no_wider_than_predictions():
    class Sum(tf.keras.metrics.Metric):
        def __init__(self):
            super().__init__(name="sum")
            self.total = self.add_weight(name="total", initializer="zeros")

        def update_state(self, y_true, y_pred, sample_weight=None):
            self.total.assign_add(tf.reduce_sum(tf.abs(y_true - y_pred)))

        def result(self):
            return self.total

    x, y = np.array([[1.0], [2.0]]), np.array([[2.0], [5.0]])
    net = tf.Sequential([tf.layers.Dense(1, kernel_initializer="ones")])
    net.compile(tf.optimizers.SGD(0.0), "mse", [Sum()])
    assert net.fit(x, y, verbose=0).history["sum"] == [4.0] and net.predict(x, verbose=0).dtype == np.float32
    wide = tf.Sequential([tf.layers.Dense(1, dtype="float64")])
    wide.compile("sgd", "mse")
    wide.fit(x, y, verbose=0)
    assert wide.predict(x, verbose=0).dtype == np.float64
