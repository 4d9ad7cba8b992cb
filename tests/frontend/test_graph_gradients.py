"""tf.gradients: of what a function has computed so far, with respect to arguments, Variables and results on the way."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

X = tf.constant([1.0, 2.0])


def arrays(found):
    return [None if g is None else g.numpy().tolist() for g in found]


def test_arguments_results_on_the_way_and_variables():
    v = tf.Variable(3.0)

    @tf.function
    def f(x, z):
        y = x**2 * v
        w = tf.reduce_sum(y * x)
        return [g for g in tf.gradients(w, [x, y, v, z]) if g is not None], tf.gradients([w, y], x)

    first, (second,) = f(X, X)
    assert arrays(first) == [[9.0, 36.0], [1.0, 2.0], 9.0]
    np.testing.assert_allclose(second.numpy(), [15.0, 48.0])


def test_weights_constants_and_what_is_not_connected():
    @tf.function
    def f(x):
        y = x**2
        z = y * x
        (weighted,) = tf.gradients(z, x, grad_ys=[tf.constant([1.0, 10.0])])
        (stopped,) = tf.gradients(z, x, stop_gradients=[y])
        missing = tf.gradients(y, z) + tf.gradients(tf.constant(1.0), x) + tf.gradients(z, tf.range(2))
        (zero,) = tf.gradients(y, z, unconnected_gradients="zero")
        return weighted, stopped, zero, missing == [None] * 3

    weighted, stopped, zero, missing = f(X)
    assert arrays([weighted, stopped, zero]) == [[3.0, 120.0], [1.0, 4.0], [0.0, 0.0]] and bool(missing)


def test_again_and_under_a_tape():
    @tf.function
    def f(x):
        (first,) = tf.gradients(tf.sin(x) * x, x)
        (second,) = tf.gradients(first, x)
        return first, second

    def plain(x):
        return tf.reduce_sum(tf.sin(x) * x)

    np.testing.assert_allclose(f(X)[1].numpy(), np.diag(tf.hessian(plain)(X).numpy()), rtol=1e-5)
    with tf.GradientTape() as tape:
        tape.watch(X)
        y = f(X)[0]
    np.testing.assert_allclose(tape.gradient(y, X).numpy(), f(X)[1].numpy(), rtol=1e-5)


def test_loops_branches_and_prints(capsys):
    @tf.function
    def f(x):
        y = x
        for _ in tf.range(3):
            y = y * x
        if tf.reduce_sum(x) > 100.0:
            y = y * 2.0
        tf.print("once", output_stream="stdout")
        return tf.gradients(y, x)[0]

    np.testing.assert_allclose(f(X).numpy(), [4.0, 32.0])
    assert capsys.readouterr().out == "once\n"

    @tf.function
    def inside(x):
        total = tf.zeros_like(x)
        for i in tf.range(2):
            z = x * tf.cast(i + 1, tf.float32)
            total += tf.gradients(z**2, z)[0]
        return total

    np.testing.assert_allclose(inside(X).numpy(), [6.0, 12.0])


def test_sizes_that_a_call_tells():
    f = tf.function(
        lambda x: tf.gradients(tf.reduce_mean(x**2), x)[0], input_signature=[tf.TensorSpec([None])]
    )
    np.testing.assert_allclose(f(tf.constant([2.0, 4.0])).numpy(), [2.0, 4.0])
    np.testing.assert_allclose(f(tf.constant([3.0])).numpy(), [6.0])


def test_what_cannot_be_is_refused():
    v = tf.Variable(1.0)
    with pytest.raises(RuntimeError, match="record on a GradientTape"):
        tf.gradients(X, X)

    @tf.function
    def assigned():
        y = v * 2.0
        v.assign(3.0)
        return tf.gradients(y, v)

    with pytest.raises(ValueError, match="has another value by now"):
        assigned()

    @tf.function
    def around(x):
        y = x * 2.0
        z = x
        for _ in tf.range(2):
            z = tf.gradients(y * z, y)[0]
        return z

    with pytest.raises(ValueError, match="in a loop or branch is of what is computed there"):
        around(X)
