"""Rows 21 to 28: what is watched."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tracejit as tf
from checks.nests import values


def test_row_21_trainable_variables_on_access(run, capsys):
    x0 = tf.Variable(3.0, name="x0")
    x1 = tf.Variable(3.0, name="x1", trainable=False)
    x2 = tf.Variable(2.0, name="x2") + 1.0
    x3 = tf.constant(3.0, name="x3")

    def program():
        with tf.GradientTape() as tape:
            y = (x0**2) + (x1**2) + (x2**2)
        return tape.gradient(y, [x0, x1, x2, x3])

    for g in run(program):
        print(g)
    assert capsys.readouterr().out == "tf.Tensor(6.0, shape=(), dtype=float32)\nNone\nNone\nNone\n"


def test_row_22_watched_variables():
    x0, x1 = tf.Variable(3.0, name="x0"), tf.Variable(1.0, name="x1", trainable=False)
    with tf.GradientTape() as tape:
        y = x0 * x1
    assert tuple(v.name for v in tape.watched_variables()) == ("x0:0",)
    tape.gradient(y, x0)
    assert tape.watched_variables()[0] is x0


def test_row_23_watching_an_integer_warns():
    x = tf.constant(10)
    expected = r"The dtype of the watched tensor must be floating \(e\.g\. tf\.float32\), got tf\.int32"
    with warnings.catch_warnings(record=True) as caught, tf.GradientTape() as tape:
        warnings.simplefilter("always")
        tape.watch(x)
        y = x * x
    assert len(caught) == 1 and caught[0].filename == __file__
    with pytest.warns(UserWarning, match=expected), tf.GradientTape() as other:
        other.watch(x)
    assert tape.gradient(y, x) is None


def test_row_23_watching_anything_else_is_an_error():
    with tf.GradientTape() as tape:
        tape.watch([tf.constant(1.0), (tf.Variable(2.0),)])
        for wrong, name in (([1.0], "float"), (np.ones(2), "ndarray")):
            with pytest.raises(ValueError, match=name):
                tape.watch(wrong)


def test_row_24_without_watching_variables(run, capsys):
    x0, x1 = tf.Variable(0.0), tf.Variable(10.0)

    def program():
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(x1)
            y0 = tf.sin(x0)
            y1 = tf.softplus(x1)
            ys = tf.reduce_sum(y0 + y1)
        return tape.gradient(ys, {"x0": x0, "x1": x1})

    grad = run(program)
    assert grad["x0"] is None
    assert abs(grad["x1"].item() - 0.9999546) < 1e-6


def test_row_25_stop_recording(run):
    x, y = tf.Variable(2.0), tf.Variable(3.0)

    def program():
        with tf.GradientTape() as tape:
            x_sq = x * x
            with tape.stop_recording():
                y_sq = y * y
            z = x_sq + y_sq
        return tape.gradient(z, {"x": x, "y": y})

    assert values(run(program)) == {"x": 4.0, "y": None}


def test_row_26_reset(run, capsys):
    x, y = tf.Variable(2.0), tf.Variable(3.0)

    def program():
        reset = True
        with tf.GradientTape() as tape:
            y_sq = y * y
            if reset:
                tape.reset()
            z = x * x + y_sq
        return tape.gradient(z, {"x": x, "y": y})

    grad = run(program)
    print(grad["x"])
    print(grad["y"])
    assert capsys.readouterr().out == "tf.Tensor(4.0, shape=(), dtype=float32)\nNone\n"


def test_row_27_stop_gradient(run):
    x, y = tf.Variable(2.0), tf.Variable(3.0)

    def program():
        with tf.GradientTape() as tape:
            y_sq = y**2
            z = x**2 + tf.stop_gradient(y_sq)
        return tape.gradient(z, {"x": x, "y": y})

    assert values(run(program)) == {"x": 4.0, "y": None}


def test_row_28_a_variable_created_inside_is_watched():
    with tf.GradientTape() as tape:
        x = tf.Variable(3.0)
        y = x * x
    assert values(tape.gradient(y, x)) == 6.0
