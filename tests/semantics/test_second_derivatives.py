"""Second derivatives of what is linear piece by piece: zeros, as the first derivative is a function of the argument."""

import numpy as np
import pytest

import tracejit as tf

ROWS = np.array([[-1.0, 2.0, 0.5], [3.0, -4.0, 0.25]], np.float32)
IMAGE = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
LAYER = tf.layers.Dense(2, activation="relu")

PIECEWISE_LINEAR = {
    "relu": (tf.nn.relu, ROWS),
    "relu6": (tf.nn.relu6, ROWS),
    "leaky_relu": (tf.nn.leaky_relu, ROWS),
    "dense": (LAYER, ROWS),
    "max_pool": (lambda x: tf.nn.max_pool2d(x, 2, 2, "VALID"), IMAGE),
}


def second(f, x, **keywords):
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        first = tape.gradient(y, x)
    return outer.gradient(first, x, **keywords)


@pytest.mark.parametrize("name", PIECEWISE_LINEAR)
def test_it_is_zero_eagerly_compiled_and_through_a_compiled_call(name):
    f, array = PIECEWISE_LINEAR[name]
    x = tf.constant(array)
    compiled = tf.function(f)
    for gradient in (second(f, x), tf.function(lambda x: second(f, x))(x), second(compiled, x)):
        np.testing.assert_array_equal(gradient, np.zeros_like(array))


def test_it_is_zero_by_forward_mode_over_reverse_mode():
    x = tf.constant(ROWS)
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.relu(x)
        first = tape.gradient(y, x)
    np.testing.assert_array_equal(accumulator.jvp(first), np.zeros_like(ROWS))


def test_zeros_reach_what_lies_before():
    w = tf.Variable([[2.0]])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as tape:
            y = tf.nn.relu(tf.constant([[3.0]]) @ w)
        first = tape.gradient(y, w)
    np.testing.assert_array_equal(outer.gradient(first, w), [[0.0]])


def test_other_paths_add_to_it():
    np.testing.assert_allclose(second(lambda x: tf.nn.relu(x) ** 3, tf.constant([-1.0, 2.0])), [0.0, 12.0])


@pytest.mark.parametrize("f", [lambda x: tf.maximum(x, 0.0), lambda x: tf.where(x > 0.0, x, 0.0)])
def test_a_choice_that_programs_write_themselves_is_not_followed(f):
    x = tf.constant(ROWS)
    assert second(f, x) is None and tf.function(lambda x: second(f, x))(x) is None
    zeros = second(f, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    np.testing.assert_array_equal(zeros, np.zeros_like(ROWS))


def test_the_curvature_of_huber_is_that_of_the_square_at_zero():
    x = tf.constant([[0.0, 0.5, 3.0]])
    np.testing.assert_allclose(
        second(lambda x: tf.losses.huber(tf.zeros_like(x), x), x), [[1 / 3, 1 / 3, 0.0]]
    )
