"""Results whose sizes show when a compiled function runs: masks, positions, counts, segments."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

X = np.array([[1.0, -2.0, 3.0], [-4.0, 5.0, 0.0]])
NUMBERS = np.array([1, 1, 3, 0])

CASES = {
    "mask": (lambda x: tf.boolean_mask(x, x > 0.0), X),
    "mask of rows": (lambda x: tf.boolean_mask(x, x[:, 0] > 0.0), X),
    "mask of columns": (lambda x: tf.boolean_mask(x, x[0] > 0.0, axis=1), X),
    "mask of nothing": (lambda x: tf.boolean_mask(x, x > 9.0), X),
    "mask of what is empty": (lambda x: tf.boolean_mask(x, x > 0.0), np.zeros((0, 2))),
    "positions": (lambda x: tf.where(x > 0.0), X),
    "positions of numbers": (lambda x: tf.where(x), X),
    "no positions": (lambda x: tf.where(x > 9.0), X),
    "partition": (lambda x: tf.dynamic_partition(x, tf.cast(x > 0.0, tf.int32), 2), X),
    "counts": (tf.math.bincount, NUMBERS),
    "counts within bounds": (lambda n: tf.math.bincount(n, minlength=2, maxlength=3), NUMBERS),
    "weighted counts": (lambda n: tf.math.bincount(n, weights=tf.cast(n, tf.float32) / 2), NUMBERS),
    "counts of nothing": (tf.math.bincount, np.zeros(0, np.int64)),
    "sequence mask": (tf.sequence_mask, NUMBERS),
    "repeat": (lambda n: tf.repeat(tf.range(4), n), NUMBERS),
    "repeat columns": (lambda n: tf.repeat(tf.constant(X), n[:3], axis=1), NUMBERS),
    "segments": (lambda n: tf.math.segment_sum(tf.cast(n, tf.float32), tf.sort(n)), NUMBERS),
    "largest of segments": (lambda n: tf.math.segment_max(tf.cast(n, tf.float32), tf.sort(n)), NUMBERS),
    "next op": (lambda x: tf.reduce_mean(tf.exp(tf.boolean_mask(x, x > 0.0))), X),
}


@pytest.mark.parametrize("name", CASES)
def test_compiled_functions_give_what_eager_ones_give(name):
    f, array = CASES[name]
    eager, compiled = f(tf.constant(array)), tf.function(f)(tf.constant(array))
    for a, b in zip(tf.nest.flatten(eager), tf.nest.flatten(compiled), strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-14)


def masked(x):
    return tf.reduce_sum(tf.boolean_mask(x, x > 0.0) ** 3)


def ranked(x):
    return tf.reduce_sum(tf.gather_nd(x, tf.where(x > 0.0)) ** 3)


@pytest.mark.parametrize("f", [masked, ranked])
def test_gradients_go_back_to_what_was_selected(f):
    x = tf.constant(X)
    first, second = 3.0 * np.where(X > 0, X, 0) ** 2, np.diag(6.0 * np.where(X > 0, X, 0).ravel())
    compiled = tf.function(f)
    for gradient in (tf.grad(f), tf.function(tf.grad(f)), tf.grad(compiled)):
        np.testing.assert_allclose(gradient(x).numpy(), first, rtol=1e-14)
    for hessian in (tf.hessian(f), tf.function(tf.hessian(f)), tf.hessian(compiled)):
        np.testing.assert_allclose(hessian(x).numpy().reshape(6, 6), second, rtol=1e-14)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = compiled(x)
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), first, rtol=1e-14)


def test_one_compiled_function_serves_masks_of_any_number():
    f = tf.function(lambda x: tf.boolean_mask(x, x > 0.0))
    for array in (X, -X, 0 * X):
        np.testing.assert_array_equal(f(tf.constant(array)).numpy(), array[array > 0])
    assert f.experimental_get_tracing_count() == 1


def test_a_mask_in_a_loop():
    @tf.function
    def f(x):
        total = 0.0
        for k in tf.range(3):
            total += tf.reduce_sum(tf.boolean_mask(x, x > tf.cast(k, tf.float64)))
        return total

    assert float(f(tf.constant(X))) == 9.0 + 8.0 + 8.0


# ---- ends of slices that a compiled function computes ----------------------------------------------------

SLICES = {
    "x[:n]": lambda x, m, n: x[:n],
    "x[m:]": lambda x, m, n: x[m:],
    "x[m:n]": lambda x, m, n: x[m:n],
    "x[m:n:2]": lambda x, m, n: x[m:n:2],
    "x[n:m:-1]": lambda x, m, n: x[n:m:-1],
    "x[:n:-2]": lambda x, m, n: x[:n:-2],
    "x[..., None, m:n]": lambda x, m, n: tf.stack([x, x])[..., None, m:n],
    "x[[0, 1], m:]": lambda x, m, n: tf.stack([x, x])[[0, 1], m:],
    "x[:2, 1]": lambda x, m, n: tf.stack([x, x], axis=1)[m:n, 1],
}


@pytest.mark.parametrize("taken", SLICES.values(), ids=SLICES)
def test_ends_of_slices_that_a_function_computes(taken):
    x = tf.constant([0.5, 1.5, 2.0, 3.0, 4.5])
    compiled = tf.function(taken)
    weighed = tf.function(lambda x, m, n: tf.reduce_sum(taken(x, m, n) ** 3))
    for m, n in ((0, 0), (0, 3), (1, 9), (-2, 5), (3, 1), (-9, -1)):
        ends = tf.constant(m), tf.constant(n, tf.int64)
        np.testing.assert_array_equal(compiled(x, *ends), taken(x, m, n))
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = weighed(x, *ends)
            first = tape.gradient(y, x)
        mask = tape_of(taken, m, n)
        np.testing.assert_allclose(first, 3.0 * x**2 * mask, rtol=1e-6)
        np.testing.assert_allclose(outer.gradient(first, x), 6.0 * x * mask, rtol=1e-6)
    assert compiled.experimental_get_tracing_count() == 1


def tape_of(taken, m, n):
    """How often each element of five is in a part."""
    part = np.asarray(taken(tf.range(5), m, n)).ravel()
    return np.bincount(part, minlength=5).astype(np.float32)


def test_such_slices_in_loops_and_of_sizes_that_differ():
    @tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec([], tf.int32)])
    def f(x, n):
        total = tf.constant(0.0)
        for i in tf.range(n):
            total += tf.reduce_sum(x[i:n])
        return total, x[: n - 1], x[tf.argmax(x) :]

    x = np.float32([1, 5, 3, 2])
    for y in (x, x[:2]):
        total, first, last = f(y, 2)
        assert float(total) == 2 * y[:2].sum() - y[0]
        assert first.numpy().tolist() == [1.0] and last.numpy().tolist() == y[1:].tolist()
    with pytest.raises(tf.DtypeError, match="the ends of a slice are integers or None, got float32"):
        tf.function(lambda x, n: x[:n])(x, tf.constant(1.0))


def test_sizes_that_are_said_are_checked_when_the_function_runs():
    @tf.function
    def f(x, n):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.ensure_shape(x[x > 0], [2]) * tf.ensure_shape(
                tf.ensure_shape(x[n:], x[:n].shape) + x[:n], [2]
            )
        return y, tape.gradient(y, x)

    y, gradient = f(tf.constant([1.0, -2.0, 3.0, -4.0]), tf.constant(2))
    np.testing.assert_array_equal(y, [4.0, -18.0])
    np.testing.assert_array_equal(gradient, [5.0, 3.0, -5.0, 3.0])
    with pytest.raises(ValueError, match=r"is of another size along axis 0 than 2, which is asked for"):
        f(tf.constant([1.0, 2.0, 3.0, -4.0]), tf.constant(2))
    with pytest.raises(ValueError, match=r"is of another size along axis 0 than t\d"):
        f(tf.constant([1.0, -2.0, 3.0, -4.0]), tf.constant(1))
    rows = tf.function(lambda x: tf.reshape(tf.ensure_shape(x[x[:, 0] > 0], [2, None]), [6]))
    np.testing.assert_array_equal(rows(tf.constant([[1.0, 2, 3], [0, 0, 0], [4, 5, 6]])), np.arange(6) + 1)


def test_a_size_that_comes_too_late_says_what_to_write():
    with pytest.raises(
        ValueError, match=r"is known only when the function runs.*ensure_shape\(x, shape\)"
    ) as error:
        tf.function(lambda x, n: x[n:] + x[:n])(tf.ones(4), tf.constant(2))
    assert str(error.value).count("\n  at ") == 1
