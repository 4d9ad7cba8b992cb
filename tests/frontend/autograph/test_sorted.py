"""``sorted`` of traced tensors: values, order of equal ones, and derivatives are those of eager mode."""

import numpy as np
import pytest

import tracejit as tf

X = np.array([3.0, 1.0, 2.0, 1.0])


def by_themselves(x):
    a, b, c, d = sorted(x)
    return a + 2.0 * b * c + 3.0 * d**2


def the_largest_first(x):
    a, b, c, d = sorted([2.0 * v for v in x], reverse=True)
    return a + 2.0 * b * c + 3.0 * d**2


def rows_by_a_key(x):
    rows = sorted([x, x + 1.0, -x, x * x], key=lambda row: tf.reduce_sum(row * row))
    return tf.reduce_sum(rows[0] + 2.0 * rows[1] * rows[2] + 3.0 * rows[3] ** 2)


def equal_ones_keep_their_order(x):
    pairs = sorted([x[1] * 5.0, x[3] * 7.0, x[0]], key=lambda v: tf.minimum(v, 1.0))
    return pairs[0] + 10.0 * pairs[1] + 100.0 * pairs[2]


def equal_ones_backwards(x):
    pairs = sorted([x[1] * 5.0, x[3] * 7.0, x[0]], key=lambda v: tf.minimum(v, 1.0), reverse=True)
    return pairs[0] + 10.0 * pairs[1] + 100.0 * pairs[2]


@pytest.mark.parametrize(
    "f",
    [by_themselves, the_largest_first, rows_by_a_key, equal_ones_keep_their_order, equal_ones_backwards],
    ids=lambda f: f.__name__,
)
def test_sorted_is_that_of_eager_mode(f):
    x = tf.constant(X)
    compiled = tf.function(f)
    np.testing.assert_allclose(compiled(x), f(x), rtol=1e-15)
    np.testing.assert_allclose(tf.grad(compiled)(x), tf.grad(f)(x), rtol=1e-14)
    np.testing.assert_allclose(tf.hessian(compiled)(x), tf.hessian(f)(x), rtol=1e-14)


@pytest.mark.parametrize("items", [lambda x: [x[0], x], lambda x: [x[0], 2.0], lambda x: [x, x + 1.0]])
def test_what_has_no_order_is_refused(items):
    with pytest.raises(tf.errors.TracejitError, match="tensors of one shape and dtype"):
        tf.function(lambda x: tf.stack(sorted(items(x))))(X)
