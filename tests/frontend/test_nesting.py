"""Everything inside everything: loops in loops, gradients and tapes in loops, custom rules in loops, in functions."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
from checks.nests import values


@tf.custom_gradient
def square_with_its_own_gradient(x):
    return x * x, lambda g: g * 3.0 * x


def loop_in_a_loop(x):
    def outer(i, c):
        return tf.fori_loop(0, 3, lambda j, d: d * c * 0.5 + tf.cast(i, tf.float64), c)

    return tf.fori_loop(0, 2, outer, x)


def custom_rule_in_a_loop(x):
    return tf.fori_loop(0, 2, lambda i, c: square_with_its_own_gradient(c), x)


def descent(x):
    return tf.fori_loop(0, 3, lambda i, c: c - 0.1 * tf.grad(lambda z: z * z * z)(c), x)


def forward_in_a_branch(x):
    return tf.cond(x > 1.0, lambda: tf.jvp(lambda y: y * y * x, [x], [x])[1], lambda: x)


def function_in_a_loop(x):
    f = tf.function(lambda c: tf.sin(c) * x)
    return tf.while_loop(lambda i, c: i < 3, lambda i, c: (i + 1, f(c)), [0, x])[1]


PROGRAMS = [loop_in_a_loop, custom_rule_in_a_loop, descent, forward_in_a_branch, function_in_a_loop]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_eager_and_compiled_agree_to_second_order(f):
    x = tf.constant(1.5, tf.float64)
    first, second = tf.grad(f), tf.grad(tf.grad(f))
    assert tf.function(f)(x).item() == pytest.approx(f(x).item(), rel=1e-12)
    for g in (tf.function(first), tf.grad(tf.function(f))):
        assert g(x).item() == pytest.approx(first(x).item(), rel=1e-12)
    for g in (tf.function(second), tf.grad(tf.grad(tf.function(f)))):
        assert g(x).item() == pytest.approx(second(x).item(), rel=1e-12)


def test_a_tape_in_a_loop_trains_a_variable():
    v = tf.Variable(2.0)

    def train(x):
        def body(i, c):
            with tf.GradientTape() as tape:
                loss = v * v * c
            v.assign_sub(0.1 * tape.gradient(loss, v))
            return c + v

        return tf.fori_loop(0, 3, body, x)

    found = []
    for f in (train, tf.function(train)):
        v.assign(2.0)
        found.append((f(tf.constant(1.5)).item(), v.numpy().item()))
    assert found[0] == pytest.approx(found[1], rel=1e-6)


def test_a_branch_under_an_outer_tape_gives_zero_for_the_other_side():
    p, q = tf.Variable(1.0), tf.Variable(2.0)
    f = tf.function(lambda x: tf.cond(x > 0.0, lambda: p * x, lambda: q * x * x))
    for x, expected in ((1.0, [1.0, 0.0]), (-1.0, [0.0, 1.0])):
        with tf.GradientTape() as tape:
            y = f(tf.constant(x))
        assert values(tape.gradient(y, [p, q])) == expected


def test_a_scan_of_unknown_length():
    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float64)])
    def f(x):
        carry, ys = tf.scan(lambda c, r: (c + r, c * r), tf.zeros((3,), tf.float64), x)
        return tf.reduce_sum(carry) + tf.reduce_sum(ys)

    for n in (0, 1, 2, 5):
        x = np.random.default_rng(n).normal(size=(n, 3))
        assert f(x).item() == pytest.approx(f.python_function(tf.constant(x)).item(), abs=1e-12)
        np.testing.assert_allclose(tf.grad(f)(x), tf.grad(f.python_function)(x), atol=1e-12)
    assert f.experimental_get_tracing_count() == 1


def test_a_tensor_that_leaves_a_loop_the_wrong_way():
    kept = []

    @tf.function
    def f(x):
        y = tf.fori_loop(0, 3, lambda i, c: (kept.append(c * 2.0), c + 1.0)[1], x)
        return y + kept[0]  # the line to be named

    with pytest.raises(tf.LeakedTensor, match=r"'body'(.|\n)*the line to be named"):
        f(tf.constant(1.0))
