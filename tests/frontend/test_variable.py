"""Variables: making, reading, assigning, what they refuse; created and used inside compiled functions."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf


def test_making():
    v = tf.Variable(3.0)
    assert (v.dtype, v.shape, v.name, v.trainable) == (tf.float32, (), "Variable:0", True)
    assert tf.Variable(range(4), dtype=tf.float32).dtype == tf.float32
    assert tf.Variable(lambda: tf.ones(2), name="w").numpy().tolist() == [1.0, 1.0]
    assert tf.Variable(v).numpy() == 3.0 and tf.Variable(1, trainable=False).trainable is False
    source = np.ones(2)
    v = tf.Variable(source)
    source[0] = 5.0
    assert v.numpy().tolist() == [1.0, 1.0]


def test_assigning():
    v = tf.Variable([1.0, 2.0])
    before = v.read_value()
    assert v.assign([3.0, 4.0]) is v
    v.assign_add([1, 1]).assign_sub(2.0)
    assert v.numpy().tolist() == [2.0, 3.0]
    assert before.numpy().tolist() == [1.0, 2.0]
    v.assign(np.array([5.0, 6.0]))
    v.assign(v * 2.0)
    assert v.numpy().tolist() == [10.0, 12.0] and v.dtype == tf.float32
    w = tf.Variable(0.0)
    w.assign(v[0])
    assert w.numpy() == 10.0


def test_python_integers_are_assigned_to_variables_of_unsigned_ones():
    v = tf.Variable([1, 2], dtype=tf.uint8)
    v.assign([10, 20]).assign_add(5).assign_sub([1, 2])
    assert v.dtype == tf.uint8 and v.numpy().tolist() == [14, 23]
    tf.function(lambda: v.assign_add(2))()
    assert v.numpy().tolist() == [16, 25]
    for wrong in (-1, [0, 256], tf.constant(1), np.int64(1)):
        with pytest.raises(TypeError):
            v.assign_add(wrong)


@pytest.mark.parametrize("compiled", [False, True])
def test_what_cannot_be_assigned_names_the_line(compiled):
    v, i = tf.Variable([1.0, 2.0]), tf.Variable([1, 2])
    cases = [
        (lambda: v.assign([1.0, 2.0, 3.0]), ValueError, r"float32\[3\].*\(2,\)"),
        (lambda: v.assign_add(np.ones((2, 2), "float32")), ValueError, r"float32\[2,2\].*\(2,\)"),
        (lambda: v.assign_sub([1.0, 2.0, 3.0]), ValueError, r"float32\[3\]"),
        (lambda: v.assign(tf.constant(np.ones(2))), TypeError, r"float64\[2\].*cast"),
        (lambda: i.assign([1.5, 2.5]), TypeError, "cast"),
        (lambda: v.assign("text"), TypeError, "str"),
    ]
    for wrong, error, message in cases:
        run = tf.function(lambda wrong=wrong: (wrong(), 0)[1]) if compiled else wrong
        with pytest.raises(error, match=f"{message}(.|\n)*test_variable.py"):
            run()
    assert v.numpy().tolist() == [1.0, 2.0]


def test_reading_through_operators_and_numpy():
    v = tf.Variable([1.0, 2.0])
    assert (v + 1.0).numpy().tolist() == [2.0, 3.0] and (1.0 - v).numpy().tolist() == [0.0, -1.0]
    assert v[1].item() == 2.0 and len(v) == 2 and [float(x) for x in v] == [1.0, 2.0]
    assert np.asarray(v).tolist() == [1.0, 2.0] and isinstance(np.sin(v), tf.Tensor)
    assert (v == [1.0, 0.0]).numpy().tolist() == [True, False]
    assert v.reshape(2, 1).shape == (2, 1) and v.T.shape == (2,)
    assert float(tf.Variable(2.5)) == 2.5 and bool(tf.Variable(True))
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(v)[0] = 3.0


def test_creation_in_a_function():
    made = []

    @tf.function
    def f(x):
        if not made:
            made.append(tf.Variable(tf.zeros(2) + 1.0, name="a"))
            made.append(tf.Variable(2.0, trainable=False))
        made[0].assign_add(x)
        return made[0] * made[1]

    assert f(tf.constant([1.0, 2.0])).numpy().tolist() == [4.0, 6.0]
    assert f(tf.constant([1.0, 2.0])).numpy().tolist() == [6.0, 10.0]
    assert [v.name for v in made] == ["a:0", "Variable:0"]


def test_creation_that_is_refused():
    with pytest.raises(ValueError, match=r"depends on the function's arguments(.|\n)*test_variable\.py"):
        tf.function(lambda x: tf.Variable(x) + 0.0)(tf.constant(1.0))

    @tf.function
    def in_a_loop(x):
        return tf.fori_loop(0, 2, lambda i, y: y * tf.Variable(1.0), x)

    with pytest.raises(ValueError, match="outside of loops"):
        in_a_loop(tf.constant(1.0))


def test_reads_in_a_function_see_writes_in_order():
    v = tf.Variable(1.0)

    @tf.function
    def f():
        a = v + 0.0
        v.assign(a * 10.0)
        b = v + 0.0
        v.assign_add(1.0)
        return a, b, v.read_value()

    assert [x.item() for x in f()] == [1.0, 10.0, 11.0]
    assert [x.item() for x in f()] == [11.0, 110.0, 111.0]
    assert v.numpy() == 111.0


def test_a_write_under_a_tape_reads_nothing():
    v, w = tf.Variable(1.0), tf.Variable(2.0)
    for wrap in (lambda f: f, tf.function):

        def program():
            with tf.GradientTape() as tape:
                v.assign_add(1.0)
                y = w * 1.0
            return tape.gradient(y, [v, w]), len(tape.watched_variables())

        (gv, gw), watched = wrap(lambda: program()[0])(), program()[1]
        assert gv is None and gw.item() == 1.0 and watched == 1
