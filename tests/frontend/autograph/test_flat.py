"""``a.flat``: what is written to the elements in a row is written to the array, and derivatives follow it."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

X = np.array([0.3, -0.5, 0.7])


def element(x):
    y = np.outer(x, x)
    y.flat[4] = x[0] * 2.0
    return np.sum(y * y)


def from_the_end(x):
    y = np.outer(x, x)
    y.flat[-1] *= x[0]
    return np.sum(y * y) + y.flat[8]


def steps(x):
    y = np.outer(x, x)
    y.flat[::4] = x * 3.0
    return np.sum(y * y)


def several(x):
    y = np.outer(x, x)
    y.flat[[0, 5]] = x[:2]
    return np.sum(y * y)


def in_a_branch(x):
    y = x * 2.0
    if x[0] > 0:
        y.flat[1] = x[0]
    return np.sum(y * y)


def in_a_loop(x):
    y = np.outer(x, x)
    for k in range(len(x)):
        y.flat[k] += x[k] * y.flat[k + 3]
    return np.sum(y * y)


def in_a_loop_that_is_compiled(x):
    y = np.outer(x, x)
    for k in tf.range(3):
        y.flat[k + 3] = x[k] * y.flat[k]
    return tf.reduce_sum(y * y)


def of_another_name(x):
    y = np.outer(x, x)
    z = y
    z.flat[3:6] = x
    return np.sum(y * y)


@pytest.mark.parametrize(
    "f",
    [
        *(element, from_the_end, steps, several, in_a_branch, in_a_loop, in_a_loop_that_is_compiled),
        of_another_name,
    ],
)
def test_elements_in_a_row_are_written_to(f):
    for x in (X, -X):
        np.testing.assert_allclose(tf.function(f)(x), f(x), rtol=1e-12)
        slope = [(f(x + d) - f(x - d)) / 2e-6 for d in np.eye(3) * 1e-6]
        np.testing.assert_allclose(tf.function(tf.grad(f))(x), slope, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(tf.grad(f)(x), slope, rtol=1e-6, atol=1e-8)


def test_elements_of_a_new_array_are_written_to():
    def f(x):
        y = np.zeros((2, 3))
        y.flat[3:] = x
        y.flat[0] = x[1]
        return np.sum(y * y)

    np.testing.assert_allclose(tf.function(f)(X), f(X))
    np.testing.assert_allclose(tf.function(tf.grad(f))(X), X * [2.0, 4.0, 2.0])


def test_an_object_may_have_an_attribute_of_that_name():
    class Floor:
        def __init__(self):
            self.flat = [0.0, 1.0]

    def f(x):
        floor = Floor()
        if x[0] > 0:
            floor.flat[1] = x[1]
        floor.flat[0] += 2.0
        return floor.flat[0] * floor.flat[1]

    assert [float(tf.function(f)(x)) for x in (X, -X)] == [-1.0, 2.0]


def test_a_name_for_the_elements_shows_no_old_ones():
    def f(x):
        y = x * 2.0
        elements = y.flat
        y[0] = x[1]
        return elements[0]

    with pytest.raises(tf.TracejitError, match=r"shows in NumPy(.|\n)*test_flat.py"):
        tf.function(f)(X)


def test_the_elements_of_a_tensor():
    assert list(map(float, tf.constant([[1.0, 2.0], [3.0, 4.0]]).flat)) == [1.0, 2.0, 3.0, 4.0]


def test_put_of_an_array():
    def f(x):
        y = np.zeros(3)
        y.put([0, 2], x[:2])
        return np.sum(y * y)

    np.testing.assert_allclose(tf.function(tf.grad(f))(X), [0.6, -1.0, 0.0])


def test_a_function_into_an_array_that_a_gradient_is_taken_through_names_the_line():
    def f(x):
        y = np.zeros(3)
        np.clip(x, -0.2, 0.2, out=y)
        return np.sum(y)

    with pytest.raises(tf.TracejitError, match=r"numpy.clip(.|\n)*write tracejit.numpy.clip(.|\n)*test_flat.py"):
        tf.grad(f)(X)
