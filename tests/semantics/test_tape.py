"""Rows 1 to 18: the tape."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections import namedtuple

import numpy as np
import pytest

import tracejit as tf
from checks.nests import values
from tracejit.frontend.tape.gradient_tape import GradientWarning


def test_row_01_records_and_walks_backwards(run):
    x = tf.Variable(3.0)

    def program():
        with tf.GradientTape() as tape:
            y = x**2
        return tape.gradient(y, x)

    assert values(run(program)) == 6.0


def test_row_02_arguments():
    tape = tf.GradientTape(persistent=True, watch_accessed_variables=False)
    assert tape.persistent
    assert tf.GradientTape(True).persistent


def test_row_03_gradients_look_like_the_sources(run):
    x = tf.Variable(np.ones((2, 3), "float32"))
    y = tf.Variable(np.float64(2.0))

    def program():
        with tf.GradientTape() as tape:
            z = tf.reduce_sum(tf.cast(x, tf.float64)) * y
        return tape.gradient(z, [x, y])

    gx, gy = run(program)
    assert (gx.shape, gx.dtype.name) == ((2, 3), "float32")
    assert (gy.shape, gy.dtype.name) == ((), "float64")


def test_row_04_lists_and_arrays_are_operands(run):
    w = tf.Variable(np.arange(6.0, dtype="float32").reshape(3, 2))
    b = tf.Variable(np.zeros(2, "float32"))
    x = [[1.0, 2.0, 3.0]]

    def program():
        with tf.GradientTape() as tape:
            y = x @ w + b
            loss = tf.reduce_mean(y**2)
        return tape.gradient(loss, [w, b])

    dw, db = run(program)
    y = np.array(x) @ w.numpy()
    np.testing.assert_allclose(dw, np.array(x).T @ y, rtol=1e-6)
    np.testing.assert_allclose(db, y[0], rtol=1e-6)


def test_row_05_structures_of_sources(run):
    Pair = namedtuple("Pair", "w b")
    w, b = tf.Variable(2.0), tf.Variable(3.0)

    def program():
        with tf.GradientTape(persistent=True) as tape:
            y = w * b
        one = tape.gradient(y, {"w": w, "b": b})
        two = tape.gradient(y, Pair(w, b))
        three = tape.gradient(y, (w, [b, {"again": w}]))
        return one, [two.w, two.b], three, tape.gradient(y, [w, b])

    one, two, three, four = run(program)
    assert values(one) == {"w": 3.0, "b": 2.0}
    assert values(two) == [3.0, 2.0]
    assert isinstance(three, tuple) and values(three) == [3.0, [2.0, {"again": 3.0}]]
    assert isinstance(four, list) and values(four) == [3.0, 2.0]


def test_row_06_several_targets_add_up(run):
    x = tf.Variable(2.0)

    def program():
        with tf.GradientTape(persistent=True) as tape:
            y0, y1 = x**2, 1 / x
        return tape.gradient({"y0": y0, "y1": y1}, x), tape.gradient([y0, y1], x)

    assert values(run(program)) == [3.75, 3.75]


def test_row_07_a_target_that_is_not_scalar_is_summed(run):
    x = tf.Variable(2.0)

    def program():
        with tf.GradientTape() as tape:
            y = x * [3.0, 4.0]
        return tape.gradient(y, x)

    assert values(run(program)) == 7.0


def test_row_08_a_persistent_tape_gives_several_gradients(run):
    x = tf.Variable(2.0)
    c = tf.constant([1.0, 3.0])

    def program():
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(c)
            y0, y1 = x**2, 1 / x
            y = c * c
            z = y * y
        return tape.gradient(y0, x), tape.gradient(y1, x), tape.gradient(z, c), tape.gradient(y, c)

    assert values(run(program)) == [4.0, -0.25, [4.0, 108.0], [2.0, 6.0]]


def test_row_09_element_wise(run):
    x = tf.linspace(-10.0, 10.0, 201)

    def program():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sigmoid(x)
        return tape.gradient(y, x)

    g = run(program)
    s = 1 / (1 + np.exp(-np.linspace(-10, 10, 201)))
    np.testing.assert_allclose(np.asarray(g), s * (1 - s), rtol=2e-5, atol=1e-7)
    assert np.asarray(g).shape == (201,)


def test_row_10_gradients_with_respect_to_intermediates(run):
    x = tf.constant(3.0)
    m = tf.ones((2, 2))

    def program():
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([x, m])
            y = x * x
            z = y * y
            s = tf.reduce_sum(m)
            q = s * s
        return tape.gradient(z, y), tape.gradient(q, s), tape.gradient(q, m)

    assert values(run(program)) == [18.0, 8.0, [[8.0, 8.0], [8.0, 8.0]]]


def test_row_11_released_after_one_use(run):
    x = tf.Variable(3.0)

    def program():
        with tf.GradientTape() as tape:
            y = x * x
        tape.gradient(y, x)
        with pytest.raises(
            RuntimeError, match="A non-persistent GradientTape can only be used to compute one set"
        ):
            tape.gradient(y, x)
        return y

    run(program)


def test_row_11_memory_is_freed_by_reference_count():
    gc.disable()
    try:
        x = tf.Variable(np.zeros(1000))
        with tf.GradientTape(persistent=True) as tape:
            y = tf.sin(tf.exp(x))
        inner = next(r.outputs[0].array for r in tape.records if r.op.name == "exp")
        alive = weakref.ref(inner)
        del inner, y
        assert alive() is not None
        del tape
        assert alive() is None
    finally:
        gc.enable()


def test_row_12_gradient_inside_its_own_context_is_recorded_and_warns():
    x = tf.constant([[0.0], [1.0], [2.0], [3.0]])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x
            z = y * y
            dz_dx = tape.gradient(z, x)
            dy_dx = tape.gradient(y, x)
        second = tape.gradient(dz_dx, x)
    assert values(dz_dx) == [[0.0], [4.0], [32.0], [108.0]]
    assert values(dy_dx) == [[0.0], [2.0], [4.0], [6.0]]
    assert values(second) == [[0.0], [12.0], [48.0], [108.0]]
    assert len(caught) == 2
    assert all(w.category is GradientWarning and w.filename == __file__ for w in caught)
    assert caught[1].lineno == caught[0].lineno + 1


def test_row_13_several_tapes_in_one_with(run):
    x0, x1 = tf.constant(0.0), tf.constant(0.0)

    def program():
        with tf.GradientTape() as tape0, tf.GradientTape() as tape1:
            tape0.watch(x0)
            tape1.watch(x1)
            y0, y1 = tf.sin(x0), tf.sigmoid(x1)
            y = y0 + y1
            total = tf.reduce_sum(y)
        return tape0.gradient(total, x0), tape1.gradient(total, x1)

    assert values(run(program)) == [1.0, 0.25]


def test_row_14_watching_propagates_to_enclosing_tapes(run):
    x = tf.constant(1.0)

    def program(propagate=True):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                inner.watch(x, propagate=propagate)
                y = x * x * x
            first = inner.gradient(y, x)
        return first, outer.gradient(first, x)

    assert values(run(program)) == [3.0, 6.0]
    assert values(program(False)) == [3.0, None]


def test_row_16_matrix_times_its_transpose(run):
    x = tf.reshape(tf.Variable(range(4), dtype=tf.float32), (4, 1))

    def program():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = 2 * tf.matmul(tf.transpose(x), x)
        return tape.gradient(y, x)

    assert values(run(program)) == [[0.0], [4.0], [8.0], [12.0]]


def test_row_18_entering_again():
    x = tf.Variable(3.0)
    tape = tf.GradientTape()
    with tape:
        with pytest.raises(ValueError, match=r"Tape is still recording"):
            tape.__enter__()
    for misuse in (tape.reset, lambda: tape.stop_recording().__enter__()):
        with pytest.raises(ValueError, match=r"Tape is not recording\."):
            misuse()
    with tape:
        y = x * x
    with tape:
        z = x * x * x
    assert tape.gradient([y, z], x).item() == 27.0, "a non-persistent tape starts again"

    tape = tf.GradientTape(persistent=True)
    with tape:
        y = x * x
    with tape:
        z = x * x * x
    assert tape.gradient([y, z], x).item() == 33.0, "a persistent tape goes on"


def test_a_tape_that_raised_stops_recording():
    x = tf.Variable(3.0)
    with pytest.raises(KeyError), tf.GradientTape() as tape:
        raise KeyError
    count = len(tape.records)
    _ = x * x
    assert len(tape.records) == count == 0


def test_weights_and_repeated_sources(run):
    x = tf.Variable(3.0)
    v = tf.Variable([1.0, 2.0])

    def program():
        with tf.GradientTape(persistent=True) as tape:
            y = x * x
            z = v * v
        weighted = tape.gradient([z, y], [v, x], output_gradients=[tf.constant([1.0, 10.0]), None])
        return tape.gradient(y, [x, x]), weighted

    assert values(run(program)) == [[6.0, 6.0], [[2.0, 40.0], 6.0]]


def test_complex_gradients_point_uphill(run):
    z = tf.constant(1 + 2j, dtype=tf.complex64)

    def program():
        with tf.GradientTape() as tape:
            tape.watch(z)
            y = z * z
        return tape.gradient(y, z)

    assert values(run(program)) == 2 - 4j
