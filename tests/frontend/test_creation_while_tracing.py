"""Variables created on a function's first call, from numbers drawn and Variables read in it: as eagerly."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
from tracejit.frontend.state.variable_init import CreationError


class Layer:
    """Makes its weights when it sees its first input."""

    w = None

    def build(self, x):
        if self.w is None:
            self.w = tf.Variable(tf.random.normal([x.shape[-1], 2]))
            self.b = tf.Variable(0.1 * tf.random.normal([2]) + 1.0)

    def __call__(self, x):
        self.build(x)
        return x @ self.w + self.b


def test_random_weights_are_those_of_eager_mode_and_count_as_drawn():
    x = tf.ones((4, 3))
    tf.random.set_seed(7)
    eager = Layer()
    wanted, after = eager(x), tf.random.normal([2])
    tf.random.set_seed(7)
    layer = Layer()
    run = tf.function(layer.__call__)
    found = run(x)
    np.testing.assert_array_equal(layer.w, eager.w)
    np.testing.assert_array_equal(layer.b, eager.b)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    np.testing.assert_array_equal(tf.random.normal([2]), after)
    np.testing.assert_array_equal(run(x), found)


def test_what_else_is_drawn_is_drawn_in_every_call():
    class Noisy(Layer):
        def __call__(self, x):
            self.build(x)
            return tf.random.normal([2])

    layer = Noisy()
    run = tf.function(layer.__call__)
    first, second = run(tf.ones((1, 3))), run(tf.ones((1, 3)))
    assert not np.array_equal(first, second)
    assert not np.array_equal(first, layer.w[0])


def test_initial_values_from_other_variables_and_outer_tensors():
    scale, offset = tf.Variable(3.0), tf.constant(2.0)
    made = []

    @tf.function
    def f(x):
        if not made:
            made.append(tf.Variable(scale * offset + 1.0))
        scale.assign_add(1.0)
        return made[0] * x

    assert float(f(2.0)) == 14.0
    assert float(scale) == 4.0
    assert float(f(2.0)) == 14.0
    assert float(scale) == 5.0


def test_initial_values_from_arguments_are_refused_with_the_line():
    @tf.function
    def f(x):
        return tf.Variable(x * 2.0) + 1.0

    with pytest.raises(CreationError, match="depends on the function's arguments") as caught:
        f(tf.constant(1.0))
    assert __file__ in str(caught.value)
