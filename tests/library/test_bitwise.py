"""``tracejit.bitwise``: TensorFlow's names and argument names for the bits of integers."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

X, Y = np.array([5, 3, -14], np.int32), np.array([5, 0, 7], np.int32)


@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
@pytest.mark.parametrize(
    ("name", "wanted"),
    [("bitwise_and", X & Y), ("bitwise_or", X | Y), ("bitwise_xor", X ^ Y), ("left_shift", X << Y)]
    + [("right_shift", X >> Y)],
)
def test_values(name, wanted, mode):
    found = mode(lambda x, y: getattr(tf.bitwise, name)(x, y, name="bits"))(X, Y)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found.numpy(), wanted)


def test_inverted():
    assert tf.bitwise.invert(tf.constant([0, -1, 5])).numpy().tolist() == [-1, 0, -6]
    assert tf.bitwise.invert(tf.constant([7], tf.uint8)).numpy().tolist() == [248]
    with pytest.raises(TypeError, match=r"takes bools or integers, got float32(.|\n)*test_bitwise\.py"):
        tf.bitwise.invert(tf.constant([1.0]))


def test_the_bits_of_numbers_are_those_of_other_numbers():
    x = np.array([[1.0, -2.0], [np.nan, 0.0]])
    for name, expected in (("int64", x.view(np.int64)), ("int32", x.view(np.int32).reshape(2, 2, 2))):
        for run in (lambda f: f, tf.function):
            found = run(lambda v, name=name: tf.bitcast(v, name))(tf.constant(x))
            np.testing.assert_array_equal(found.numpy(), expected)
            np.testing.assert_array_equal(run(lambda v: tf.bitcast(v, tf.float64))(found).numpy(), x)
    with pytest.raises(tf.ShapeError, match="make one number"):
        tf.bitcast(tf.constant([1, 2, 3], tf.int16), type=tf.int64)
    with pytest.raises(tf.DtypeError, match="not of bool"):
        tf.bitcast([1, 2], tf.bool)
