"""Layers and networks whose class has a `build`, called by programs or by the first call; shapes known before."""

from __future__ import annotations

import pytest

import tracejit as tf


class Line(tf.keras.Model):
    def build(self, input_shape):
        self.inner = tf.layers.Dense(4, activation="relu", name="inner")
        self.outer = tf.layers.Dense(1, name="outer")
        super().build(input_shape)

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def call(self, inputs):
        return self.outer(self.inner(inputs))


def test_a_build_that_calls_that_of_model_makes_all_weights():
    model = Line()
    model.build(input_shape=(None, 2))
    assert model.built and [w.name for w in model.weights][:2] == ["inner/kernel:0", "inner/bias:0"]
    assert len(model.weights) == 4 and model(tf.zeros((3, 2))).shape == (3, 1)
    model.compile(optimizer="sgd", loss="mse")
    assert len(model.fit(tf.ones((4, 2)), tf.ones((4, 1)), verbose=0).history["loss"]) == 1


def test_the_first_call_calls_such_a_build_once():
    model = Line()
    assert model(tf.zeros((3, 2))).shape == (3, 1) and len(model.weights) == 4
    first = model.inner
    model(tf.zeros((3, 2)))
    assert model.inner is first


def test_a_network_that_cannot_be_traced_may_be_built_by_a_call_afterwards():
    class Eager(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = tf.layers.Dense(1)

        def call(self, inputs):
            return self.dense(inputs) if float(tf.reduce_sum(inputs)) > -1.0 else inputs

    model = Eager()
    with pytest.raises(ValueError, match="so call it to make its weights"):
        model.build((None, 2))
    assert not model.built and model(tf.zeros((3, 2))).shape == (3, 1)


def test_a_build_without_arguments():
    class Parabola(tf.keras.Model):
        def build(self):
            self.x = tf.Variable(0.0)

        def call(self, inputs):
            return tf.ones_like(inputs) * (self.x**2 - 2.0 * self.x + 1.0)

    model = Parabola()
    model.build()
    model.compile(optimizer=tf.optimizers.SGD(0.1), loss=lambda y_true, y_pred: tf.reduce_mean(y_pred))
    model.fit(tf.zeros((100, 2)), tf.ones(100), batch_size=1, verbose=0)
    assert abs(float(model.x) - 1.0) < 1e-3
    assert Parabola()(tf.zeros((2, 2))).numpy().tolist() == [[1.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize(
    ("make", "given", "expected"),
    [
        (lambda: tf.layers.Dense(8), (None, 16), (None, 8)),
        (lambda: tf.layers.Conv2D(3, 3), (None, 8, 8, 3), (None, 6, 6, 3)),
        (lambda: tf.layers.Add(), [(None, 3), (None, 3)], (None, 3)),
        (lambda: tf.layers.Embedding(5, 4), (2, 7), (2, 7, 4)),
        (lambda: tf.layers.Flatten(), (None, 7, 2), (None, 14)),
        (lambda: tf.layers.LSTM(4, return_state=True), (None, 5, 3), ((None, 4), (None, 4), (None, 4))),
    ],
)
def test_the_shape_of_a_result_before_there_is_one(make, given, expected):
    layer = make()
    assert layer.compute_output_shape(given) == expected
    assert layer.built


def test_arguments_of_older_programs(tmp_path):
    lines: list[str] = []
    model = Line()
    model.build((None, 2))
    model.summary(line_length=60, positions=[0.3, 0.6, 1.0], print_fn=lines.append, expand_nested=True)
    assert lines[0].startswith('Model: "line')
    model.save(tmp_path / "line", save_format="tf")
    again = tf.keras.models.load_model(tmp_path / "line", custom_objects={"Line": Line})
    assert again.predict(tf.ones((1, 2)), verbose=0).tolist() == model.predict(tf.ones((1, 2)), verbose=0).tolist()
