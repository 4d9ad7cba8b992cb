"""Folds, and scan in both orders of its arguments: eager and compiled, with gradients."""

import numpy as np
import pytest

import tracejit as tf


@pytest.fixture(params=["eager", "compiled"])
def run(request):
    return (lambda f: f) if request.param == "eager" else tf.function


def test_scan_without_initializer_starts_with_the_first_row(run):
    x = tf.constant([1, 2, 3, 4])
    np.testing.assert_array_equal(run(lambda x: tf.scan(lambda a, v: a + v, x))(x), [1, 3, 6, 10])
    np.testing.assert_array_equal(
        run(lambda x: tf.scan(lambda a, v: a + v, x, reverse=True))(x), [10, 9, 7, 4]
    )


def test_scan_of_nests_in_tensorflows_order(run):
    zeros = tf.zeros([6])
    first, second = run(lambda z: tf.scan(lambda a, _: (a[1], a[0] + a[1]), z, (0, 1)))(zeros)
    np.testing.assert_array_equal(first, [1, 1, 2, 3, 5, 8])
    np.testing.assert_array_equal(second, [1, 2, 3, 5, 8, 13])
    found = run(lambda x, y: tf.scan(lambda a, p: a + p[0] - p[1], (x, y), tf.constant(0.0)))
    np.testing.assert_array_equal(found(tf.constant([1.0, 2.0]), tf.constant([3.0, 5.0])), [-2.0, -5.0])


def test_scan_takes_the_order_that_fits_its_function(run):
    x, h = tf.ones([5, 2, 3]), tf.zeros([2, 3])
    states = run(lambda x, h: tf.scan(lambda h, v: 0.5 * h + v, x, h))(x, h)
    assert states.shape == (5, 2, 3)
    np.testing.assert_allclose(states[:, 0, 0], 2.0 - 0.5 ** np.arange(5))
    last, ys = run(lambda h, x: tf.scan(lambda h, v: (h + v, 2.0 * h), h, x))(tf.zeros([2]), tf.ones([5, 2]))
    np.testing.assert_array_equal(last, [5.0, 5.0])
    np.testing.assert_array_equal(ys[:, 0], [0.0, 2.0, 4.0, 6.0, 8.0])
    long, short = run(lambda x, s: tf.scan(lambda s, v: (s[0] + v, s[1] * 2.0), x, s))(
        tf.ones([3, 2]), (tf.zeros([2]), tf.ones([2]))
    )
    np.testing.assert_array_equal(long[:, 0], [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(short[:, 0], [2.0, 4.0, 8.0])


def test_arguments_by_name():
    f = lambda a, x: a * x
    x = tf.constant([1.0, 2.0, 3.0])
    for found in (
        tf.scan(fn=f, elems=x, initializer=2.0),
        tf.scan(f, elems=x, initializer=2.0),
        tf.scan(f, x, 2.0),
    ):
        np.testing.assert_array_equal(found, [2.0, 4.0, 12.0])


def test_what_fits_no_order_is_told_in_the_documented_one():
    with pytest.raises(tf.ShapeError, match="returns a pair"):
        tf.scan(lambda c, x: tf.reduce_sum(c), tf.zeros([2]), tf.ones([3, 2]))


@pytest.mark.parametrize(
    "fold, wanted", [(tf.foldl, ((1 - 2) - 3) - 4), (tf.foldr, ((4 - 3) - 2) - 1)], ids=["foldl", "foldr"]
)
def test_folds_go_in_their_direction(run, fold, wanted):
    x = tf.constant([1, 2, 3, 4])
    assert int(run(lambda x: fold(lambda a, v: a - v, x))(x)) == wanted
    assert int(run(lambda x: fold(lambda a, v: a - v, x, initializer=10))(x)) == 0


def test_no_rows_and_one(run):
    empty, one = tf.zeros([0, 2]), tf.constant([[3.0, 4.0]])
    add = lambda a, v: a + v
    assert run(lambda x: tf.scan(add, x, tf.ones([2])))(empty).shape == (0, 2)
    np.testing.assert_array_equal(run(lambda x: tf.foldl(add, x, tf.ones([2])))(empty), [1.0, 1.0])
    np.testing.assert_array_equal(run(lambda x: tf.scan(add, x))(one), [[3.0, 4.0]])
    np.testing.assert_array_equal(run(lambda x: tf.foldr(add, x))(one), [3.0, 4.0])
    with pytest.raises(tf.ShapeError, match="along the first axis"):
        tf.foldl(add, tf.constant(1.0))


def test_unknown_number_of_rows_and_derivatives(run):
    def product(x):
        return tf.foldl(lambda a, v: a * v, x)

    f = tf.function(
        lambda x: tf.scan(lambda a, v: a * v, x), input_signature=[tf.TensorSpec([None], tf.float64)]
    )
    x = np.array([2.0, 3.0, 5.0])
    np.testing.assert_array_equal(f(x), [2.0, 6.0, 30.0])
    np.testing.assert_allclose(run(tf.grad(product))(tf.constant(x)), 30.0 / x)
    expected = np.outer(1 / x, 1 / x) * 30.0
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_allclose(run(tf.hessian(product))(tf.constant(x)), expected, atol=1e-12)


def test_a_length_beside_rows_tells_the_order():
    rows = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(tf.TracejitError, match="a pair"):
        tf.scan(lambda c, x: c + x, rows, rows, length=2)
    carry, ys = tf.scan(lambda c, x: (c + x, c), rows, rows, length=2)
    assert carry.shape == (2, 2) and ys.shape == (2, 2, 2)
