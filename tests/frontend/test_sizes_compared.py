"""What a program asks about sizes that are unknown while it is traced is answered for the call, and kept as a guard."""

import numpy as np
import pytest

import tracejit as tf

UNKNOWN = tf.TensorSpec([None], tf.float32)


def alike(x, y):
    return tf.reduce_sum(x) + (100.0 if x.shape == y.shape else 0.0)


def three(x, y):
    return tf.reduce_sum(x) + (100.0 if x.shape[0] == 3 else 0.0)


def not_three(x, y):
    return tf.reduce_sum(x) + (100.0 if 3 != x.shape[0] else 0.0)


def shape_of_three(x, y):
    return tf.reduce_sum(x) + (100.0 if x.shape == (3,) else 0.0)


def among(x, y):
    return tf.reduce_sum(x) + (100.0 if y.shape[0] in x.shape else 0.0)


def one_of(x, y):
    return tf.reduce_sum(x) + (100.0 if x.shape[0] in (1, 3) else 0.0)


def as_arrays(x, y):
    return tf.reduce_sum(x) + (100.0 if np.all(np.equal(x.shape, y.shape)) else 0.0)


def by_half(x, y):
    return tf.reduce_sum(x) + (100.0 if x.shape[0] // 2 == y.shape[0] - 2 else 0.0)


@pytest.mark.parametrize(
    "f",
    [alike, three, not_three, shape_of_three, among, one_of, as_arrays, by_half],
    ids=lambda f: f.__name__,
)
def test_is_as_eagerly(f):
    compiled = tf.function(f, input_signature=[UNKNOWN, UNKNOWN])
    for a, b in ((3, 3), (3, 4), (4, 4), (4, 3), (1, 2), (0, 0), (5, 4), (3, 3)):
        x, y = tf.ones([a]), tf.ones([b])
        assert float(compiled(x, y)) == float(f(x, y)), (a, b)


def test_losses_see_a_last_axis_of_one():
    specs = [tf.TensorSpec([None], tf.float32), tf.TensorSpec([None, None], tf.float32)]
    loss = tf.function(tf.keras.losses.mean_squared_error, input_signature=specs)
    for k in (1, 3):
        y, z = tf.constant([1.0, 2.0, 4.0]), tf.reshape(tf.range(3.0 * k), [3, k])
        expected = tf.keras.losses.mean_squared_error(y, z)
        np.testing.assert_allclose(np.asarray(loss(y, z)), np.asarray(expected), rtol=1e-6)


def test_a_size_that_only_the_run_knows_is_refused():
    @tf.function
    def f(n):
        return 1.0 if tf.range(n).shape[0] == 3 else 2.0

    with pytest.raises(tf.TracejitError, match="known only when the function runs"):
        f(tf.constant(3))


def test_exported_functions_say_for_which_sizes_the_answer_holds():
    art = tf.export(three, ["f64[n]", "f64[m]"], name="three", outputs="value", targets=["host"])
    assert float(art(np.ones(4), np.ones(3))) == 4.0
    with pytest.raises(
        tf.errors.ShapeError if hasattr(tf.errors, "ShapeError") else ValueError, match="n != 3"
    ):
        art(np.ones(3), np.ones(3))
