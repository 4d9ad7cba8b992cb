"""Arrays as long as a loop ran: their size is known only when the program has run so far."""

import numpy as np
import pytest

import tracejit as tf


def rows(x, n):
    """x / 2, x / 4, ... n of them, by a loop whose length is an argument."""
    ys = []
    for _ in range(n):
        x = x * 0.5
        ys.append(x)
    return tf.stack(ys)


USES = {
    "element-wise": lambda y, x: tf.sin(y) * y + 1.0,
    "sum": lambda y, x: tf.reduce_sum(y * y),
    "running sum": lambda y, x: tf.cumsum(y),
    "joined with one more": lambda y, x: tf.concat([tf.reshape(x, (1,)), y], 0),
    "joined with itself": lambda y, x: tf.reduce_sum(tf.concat([y, y], 0)),
    "outer product": lambda y, x: tf.reduce_sum(tf.reshape(y, (-1, 1)) * tf.reshape(y, (1, -1)), axis=0),
    "matrix product": lambda y, x: tf.reshape(y, (1, -1)) @ tf.reshape(y, (-1, 1)),
    "only its length": lambda y, x: tf.reduce_sum(tf.ones_like(y)) * x,
}


@pytest.mark.parametrize("n", [1, 3, 40])
@pytest.mark.parametrize("use", USES)
def test_values_and_gradients(use, n):
    def f(x, n):
        return USES[use](rows(x, n), x)

    x, count = tf.constant(np.float64(1.5)), tf.constant(n)
    np.testing.assert_allclose(tf.function(f)(x, count), f(x, n), rtol=1e-14)

    def total(x, n):
        return tf.reduce_sum(f(x, n))

    compiled = tf.function(tf.grad(total))(x, count)
    np.testing.assert_allclose(compiled, tf.grad(lambda x: total(x, n))(x), rtol=1e-13)


def test_memory_is_given_back():
    f = tf.function(lambda x, n: tf.reduce_sum(tf.sin(rows(x, n))))
    f(tf.constant(1.0), tf.constant(5))
    for n in (1, 1000, 10):
        assert np.isfinite(float(f(tf.constant(1.0), tf.constant(n))))
