"""Callbacks: when they are called, with what, and what those that come with the package do."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tracejit as tf

C = tf.keras.callbacks
X = np.linspace(-1, 1, 24).reshape(8, 3).astype("float32")
Y = X.sum(1, keepdims=True)


def network(rate=0.1, **options):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="zeros")])
    model.compile(tf.keras.optimizers.SGD(rate), "mse", **options)
    return model


class Playing(C.Callback):
    """Gives the numbers in a list as the epochs' losses."""

    def __init__(self, losses, name="val_loss"):
        self.losses, self.name = losses, name

    def on_epoch_end(self, epoch, logs=None):
        logs[self.name] = self.losses[epoch]


def epochs_until_stop(losses, name="val_loss", **options):
    stop = C.EarlyStopping(name, **options)
    history = network(0.0).fit(X, Y, epochs=len(losses), verbose=0, callbacks=[Playing(losses, name), stop])
    return len(history.epoch), stop


def test_order_and_numbers_of_the_calls():
    events = []

    class Noting(C.Callback):
        def __getattribute__(self, name):
            if name.startswith("on_") and name not in ("on_batch_begin", "on_batch_end"):
                return lambda *args: events.append((name.removeprefix("on_"), *args[:-1], sorted(args[-1])))
            return super().__getattribute__(name)

    # what a class does not define is told nothing per batch, so that nobody waits for numbers
    Noting.on_train_batch_end = Noting.on_test_batch_end = lambda self, batch, logs: None
    noting = Noting()
    model = network()
    model.fit(X, Y, 4, verbose=0, callbacks=[noting], validation_data=(X, Y), validation_batch_size=8)
    assert noting.model is model and noting.params == {"epochs": 1, "steps": 2, "verbose": 0}
    assert events == [
        ("train_begin", []),
        ("epoch_begin", 0, []),
        ("train_batch_begin", 0, []),
        ("train_batch_end", 0, ["loss"]),
        ("train_batch_begin", 1, []),
        ("train_batch_end", 1, ["loss"]),
        ("test_begin", []),
        ("test_batch_begin", 0, []),
        ("test_batch_end", 0, ["loss"]),
        ("test_end", ["loss"]),
        ("epoch_end", 0, ["loss", "val_loss"]),
        ("train_end", ["loss", "val_loss"]),
    ]
    events.clear()
    model.evaluate(X, Y, verbose=0, callbacks=[noting])
    assert [e[0] for e in events] == ["test_begin", "test_batch_begin", "test_batch_end", "test_end"]
    events.clear()
    model.predict(X, 4, verbose=0, steps=1, callbacks=[noting])
    assert [e[0] for e in events] == [
        "predict_begin",
        "predict_batch_begin",
        "predict_batch_end",
        "predict_end",
    ]


def test_old_names_of_batches_and_functions():
    class Old(C.Callback):
        def on_batch_end(self, batch, logs=None):
            seen.append((batch, type(logs["loss"])))

    seen, lines = [], []
    by_function = C.LambdaCallback(
        on_epoch_end=lambda epoch, logs: lines.append(epoch),
        on_train_batch_end=lambda batch, logs: lines.append(logs),
    )
    network().fit(X, Y, 4, verbose=0, callbacks=[Old(), by_function])
    assert seen == [(0, float), (1, float)]
    assert list(lines[0]) == ["loss"] and lines[-1] == 0 and len(lines) == 3
    with pytest.raises(TypeError, match="no method 'on_lunch'"):
        C.LambdaCallback(on_lunch=print)


# Expectations were computed by keras 3.15.


@pytest.mark.parametrize(
    ("losses", "options", "expected"),
    [
        ([3, 2, 1, 1, 1], {}, (4, 3, 2)),
        ([3, 2, 2.5, 2.6, 1], {"patience": 2}, (4, 3, 1)),
        ([3, 2, 2.5, 1.9, 2, 2], {"patience": 2}, (6, 5, 3)),
        ([3, 2.95, 2.94, 2.9, 1], {"min_delta": 0.2, "patience": 2}, (3, 2, 0)),
        ([1, 2, 3, 3, 2], {"mode": "max", "patience": 1}, (4, 3, 2)),
        ([3, 2, 1, 0.5], {"baseline": 0.8, "patience": 2}, (4, 0, 3)),
        ([1, 2, 3, 3, 3, 3], {"start_from_epoch": 3, "patience": 2}, (6, 5, 3)),
        ([1, math.nan, 1, 1], {"patience": 2}, (3, 2, 0)),
    ],
)
def test_early_stopping(losses, options, expected):
    count, stop = epochs_until_stop(losses, **options)
    assert (count, stop.stopped_epoch, stop.best_epoch) == expected


def test_early_stopping_knows_what_grows_and_gives_the_best_weights_back(capsys):
    assert epochs_until_stop([0.1, 0.2, 0.3, 0.2], "val_accuracy")[0] == 4
    model, weights = network(0.5), []
    noting = C.LambdaCallback(on_epoch_end=lambda epoch, logs: weights.append(model.get_weights()[0]))
    stop = C.EarlyStopping(patience=1, restore_best_weights=True, verbose=1)
    model.fit(X, Y, epochs=9, verbose=0, callbacks=[Playing([3, 2, 4, 1]), noting, stop])
    np.testing.assert_array_equal(model.get_weights()[0], weights[1])
    assert not np.array_equal(weights[1], weights[2])
    said = "Epoch 3: early stopping\nRestoring model weights from the end of the best epoch: 2.\n"
    assert capsys.readouterr().out == said
    with pytest.warns(UserWarning, match="watches 'val_los', which is not among the numbers: loss"):
        network().fit(X, Y, verbose=0, callbacks=[C.EarlyStopping("val_los")])
    with pytest.raises(ValueError, match="mode is 'auto', 'min' or 'max'"):
        C.EarlyStopping(mode="up")


def test_weights_are_saved_when_they_are_best(tmp_path, capsys):
    model, weights = network(0.5), []
    noting = C.LambdaCallback(on_epoch_end=lambda epoch, logs: weights.append(model.get_weights()[0]))
    saving = C.ModelCheckpoint(
        tmp_path / "deep" / "best.weights", save_best_only=True, save_weights_only=True, verbose=1
    )
    each = C.ModelCheckpoint(str(tmp_path / "{epoch:02d}-{val_loss:.1f}.weights"), save_weights_only=True)
    twice = C.ModelCheckpoint(tmp_path / "{epoch}.steps", save_weights_only=True, save_freq=4)
    model.fit(X, Y, 4, epochs=3, verbose=0, callbacks=[Playing([3, 1, 2]), noting, saving, each, twice])
    other = network()
    other.build((None, 3))
    other.load_weights(tmp_path / "deep" / "best.weights")
    np.testing.assert_array_equal(other.get_weights()[0], weights[1])
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["01-3.0.weights", "02-1.0.weights", "03-2.0.weights", "2.steps", "deep"]
    assert "Epoch 2: val_loss improved from 3.00000 to 1.00000, saving model to" in capsys.readouterr().out
    with pytest.raises(KeyError, match="asks for 'val_los', the numbers are loss"):
        model.fit(
            X, Y, verbose=0, callbacks=[C.ModelCheckpoint(tmp_path / "{val_los}", save_weights_only=True)]
        )


def test_learning_rates():
    model = network(1.0)
    rates = model.fit(
        X, Y, epochs=3, verbose=0, callbacks=[C.LearningRateScheduler(lambda epoch, rate: rate / 2)]
    ).history["learning_rate"]
    assert rates == [0.5, 0.25, 0.125]
    before = model.get_weights()[0]
    model.fit(X, Y, verbose=0, callbacks=[C.LearningRateScheduler(lambda epoch: 0.0)])
    np.testing.assert_array_equal(model.get_weights()[0], before)
    with pytest.raises(TypeError, match="a schedule gives a number, got None"):
        model.fit(X, Y, verbose=0, callbacks=[C.LearningRateScheduler(lambda epoch: None)])
    lower = C.ReduceLROnPlateau(factor=0.5, patience=2, cooldown=1, min_lr=0.3)
    losses = [3, 2, 2, 2, 2, 2, 2, 2, 2]
    history = network(1.0).fit(X, Y, epochs=9, verbose=0, callbacks=[Playing(losses), lower]).history
    np.testing.assert_allclose(history["learning_rate"], [1, 1, 1, 1, 0.5, 0.5, 0.3, 0.3, 0.3])


def test_a_file_of_numbers_and_an_end_at_nan(tmp_path, capsys):
    path = tmp_path / "log.csv"
    model = network()
    model.fit(X, Y, epochs=2, verbose=0, callbacks=[C.CSVLogger(path)])
    model.fit(X, Y, epochs=1, verbose=0, callbacks=[C.CSVLogger(path, append=True)])
    lines = path.read_text().split()
    assert lines[0] == "epoch,loss" and [line.split(",")[0] for line in lines[1:]] == ["0", "1", "0"]
    broken = model.fit(X * np.inf, Y, 4, epochs=5, verbose=0, callbacks=[C.TerminateOnNaN()])
    assert len(broken.epoch) == 1 and "Batch 0: Invalid loss" in capsys.readouterr().out


def test_the_logger_takes_the_place_of_what_fit_prints(capsys):
    network().fit(X, Y, 4, epochs=2, verbose=2, callbacks=[C.ProgbarLogger()])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Epoch 1/2" and lines[2] == "Epoch 2/2" and len(lines) == 4
    assert lines[1].startswith("2/2 - ") and "loss: " in lines[1]


def test_classes_count_by_their_weights():
    labels = np.array([0, 1, 2, 1, 0, 2, 1, 0])
    model = tf.keras.Sequential([tf.keras.layers.Dense(3, kernel_initializer="ones", activation="softmax")])
    model.compile(tf.keras.optimizers.SGD(0.0), "sparse_categorical_crossentropy")
    weights = np.array([2.0, 1.0, 0.5])
    by_class = model.fit(X, labels, verbose=0, class_weight={0: 2.0, 2: 0.5}).history["loss"]
    by_example = model.fit(X, labels, verbose=0, sample_weight=weights[labels]).history["loss"]
    np.testing.assert_allclose(by_class, by_example, rtol=1e-6)
    with pytest.raises(ValueError, match="class_weight is of labels"):
        model.fit(X, verbose=0, class_weight={0: 2.0})
