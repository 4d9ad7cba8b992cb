"""Shapes given by numbers that are known only when a compiled function runs."""

import numpy as np
import pytest

import tracejit as tf

ROWS = [tf.TensorSpec([None, 3], tf.float32)]


def test_sizes_of_arguments_are_sizes_again():
    @tf.function(input_signature=ROWS)
    def f(x):
        s, n = tf.shape(x), tf.shape(x)[0]
        return (
            tf.zeros([n, 4]) + tf.ones([tf.shape(x)[0], 1]),
            tf.reshape(x, [n * 3]),
            tf.reshape(x, tf.stack([s[1], s[0]])),
            tf.reshape(x, tf.concat([s[:1], [-1]], axis=0)),
            tf.broadcast_to(x[0], [n + 1, s[1]]),
            tf.reshape(x, [tf.reduce_prod(s)]),
        )

    for n in (2, 1, 5):
        x = np.arange(3.0 * n, dtype=np.float32).reshape(n, 3)
        a, b, c, d, e, g = f(x)
        np.testing.assert_array_equal(a, np.ones((n, 4)))
        for flat in (b, g):
            np.testing.assert_array_equal(flat, x.ravel())
        np.testing.assert_array_equal(c, x.reshape(3, n))
        np.testing.assert_array_equal(d, x)
        np.testing.assert_array_equal(e, np.broadcast_to(x[0], (n + 1, 3)))
    assert f.experimental_get_tracing_count() == 1


def test_numbers_that_nobody_knows():
    @tf.function
    def f(n):
        return tf.zeros([n, 2]) + 1.0, tf.ones([n]) + tf.fill([n], 2.0), tf.ones(n)

    for n in (3, 0, 1):
        a, b, c = f(tf.constant(n))
        np.testing.assert_array_equal(a, np.ones((n, 2)))
        np.testing.assert_array_equal(b, np.full(n, 3.0))
        assert c.shape == (n,)
    assert f.experimental_get_tracing_count() == 1


def test_a_negative_size_is_refused():
    f = tf.function(lambda x: tf.zeros([tf.shape(x)[0] - 5]), input_signature=ROWS)
    assert f(tf.zeros([6, 3])).shape == (1,)
    with pytest.raises(ValueError, match="negative"):
        f(tf.zeros([3, 3]))


def triangle(n, x):
    total = 0.0
    for i in tf.range(n):
        total += tf.reduce_sum((tf.ones([i]) * x) ** 2) * tf.sin(x)
    return total


def test_sizes_of_iterations_with_derivatives_of_two_orders():
    x, pairs = 0.7, 10.0
    wanted = (
        pairs * x**2 * np.sin(x),
        pairs * (2 * x * np.sin(x) + x**2 * np.cos(x)),
        pairs * (2 * np.sin(x) + 4 * x * np.cos(x) - x**2 * np.sin(x)),
    )
    for f in (triangle, tf.function(triangle)):
        v = tf.constant(np.float64(x))
        with tf.GradientTape() as outer:
            outer.watch(v)
            with tf.GradientTape() as inner:
                inner.watch(v)
                y = f(tf.constant(5), v)
            first = inner.gradient(y, v)
        np.testing.assert_allclose([y, first, outer.gradient(first, v)], wanted, rtol=1e-12)


def test_a_size_of_the_function_in_its_loop():
    @tf.function
    def f(n):
        total = 0.0
        for _ in tf.range(n):
            total += tf.reduce_sum(2.0 * tf.ones([n]))
        return total

    assert float(f(tf.constant(3))) == 18.0
