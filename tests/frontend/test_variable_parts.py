"""Parts of Variables that are assigned by a call, eagerly and compiled."""

import numpy as np
import pytest

import tracejit as tf


@pytest.fixture(params=["eager", "compiled"])
def run(request):
    return (lambda f: f) if request.param == "eager" else tf.function


def test_elements_rows_and_columns(run):
    v = tf.Variable(np.arange(12.0).reshape(3, 4))

    def change(x):
        v[1, 2].assign(9.0)
        v[0:2, :1].assign(tf.fill([2, 1], x))
        v[2].assign_add(tf.ones([4], tf.float64))
        v[:, 3].assign_sub([1.0, 2.0, 3.0])
        return v[1:].assign(v[1:] * 2.0)

    run(change)(tf.constant(np.float64(7.0)))
    np.testing.assert_array_equal(v, [[7, 1, 2, 2], [14, 10, 18, 10], [18, 20, 22, 18]])


def test_in_loops(run):
    def correlated(x, k):
        h, w = k.shape
        y = made[0]
        for i in range(y.shape[0]):
            for j in tf.range(y.shape[1]):
                y[i, j].assign(
                    tf.reduce_sum(x[i : i + h, j : j + w] * k) if isinstance(j, int) else part(x, k, i, j)
                )
        return y.read_value()

    def part(x, k, i, j):
        return tf.reduce_sum(tf.stack([x[i + a, j + b] * k[a, b] for a in range(2) for b in range(2)]))

    made = [tf.Variable(tf.zeros((2, 2)))]
    x = tf.reshape(tf.range(9.0), (3, 3))
    found = run(correlated)(x, tf.constant([[0.0, 1.0], [2.0, 3.0]]))
    np.testing.assert_array_equal(found, [[19.0, 25.0], [37.0, 43.0]])


def test_gradients_flow_to_what_was_read_and_not_to_what_was_assigned(run):
    v, w = tf.Variable([1.0, 2.0]), tf.Variable(3.0)

    def f():
        v[0].assign(w * 2.0)
        return v[0] * v[1]

    with tf.GradientTape() as tape:
        y = run(f)()
    g, h = tape.gradient(y, [v, w], unconnected_gradients="zero")
    np.testing.assert_array_equal(g, [2.0, 6.0])
    assert float(h) == 0.0


def test_other_tensors_have_no_such_method():
    x = tf.constant([1.0, 2.0])
    assert not hasattr(x, "assign") and not hasattr(x[0], "assign_add")
    with pytest.raises(AttributeError, match="only Variables"):
        x.assign([3.0, 4.0])
