"""Python numbers in loops and branches beside wider tensors: they take that dtype, eager and compiled alike."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

X = np.array([1.0, -2.0, 0.3])
TWO = np.float64(0.7)


def decay(c, x):
    return 0.9 * c + 0.1 * x


LOOPS = {
    "scan": lambda: tf.scan(lambda c, x: (c + x, c * x), 0.1, X),
    "scan of an integer": lambda: tf.scan(lambda c, x: (c * x, c), 1, X),
    "scan of two": lambda: tf.scan(lambda c, x: ((c[0] / 3 + x, c[1] + 1), c[0]), (0.1, 0), X),
    "scan in reverse": lambda: tf.scan(lambda c, x: (decay(c, x), c), 0.1, X, reverse=True),
    "scan, the other order": lambda: tf.scan(decay, X, 1.0),
    "foldl": lambda: tf.foldl(decay, X, 0.1),
    "foldr": lambda: tf.foldr(decay, X, 1),
    "fori_loop": lambda: tf.fori_loop(0, 3, lambda i, c: c / 3 + TWO, 0.1),
    "fori_loop over a list": lambda: tf.fori_loop(0, 3, lambda i, c: [c[0] * TWO, c[1] + 1], [1.0, 0]),
    "while_loop": lambda: tf.while_loop(lambda c: c < 10, lambda c: c * 1.3 + TWO, 0.1),
    "while_loop of two": lambda: tf.while_loop(
        lambda i, c: i < 3, lambda i, c: (i + 1, c / 3 * TWO), (0, 0.1)
    ),
    "while_loop with a limit": lambda: tf.while_loop(
        lambda i, c: i < 9, lambda i, c: (i + 1, c * TWO), (0, 0.1), maximum_iterations=4
    ),
    "complex": lambda: tf.fori_loop(0, 3, lambda i, c: c * np.complex128(2j), 1.0),
    "float32 stays": lambda: tf.fori_loop(0, 3, lambda i, c: c / 3 + np.float32(2), 0.1),
    "a counter beside": lambda: tf.while_loop(lambda i, c: i < 3, lambda i, c: (i + 1, c * 2), (0, X)),
}


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_numbers_that_go_round(loop):
    eager, compiled = tf.nest.flatten(loop()), tf.nest.flatten(tf.function(loop)())
    for a, b in zip(eager, compiled, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-13 if a.dtype.itemsize >= 8 else 1e-6)


def test_no_digit_of_a_number_is_lost():
    for mode in (lambda f: f, tf.function):
        found = mode(lambda: tf.fori_loop(0, 1, lambda i, c: c + TWO, 0.1))()
        assert found.numpy() == 0.1 + 0.7
        carry, rows = mode(lambda: tf.scan(lambda c, x: (c + x, c), 0.1, X))()
        assert rows.numpy()[0] == 0.1 and carry.dtype == np.float64


def test_gradients_through_numbers_that_go_round():
    def power(x):
        return tf.fori_loop(0, 3, lambda i, c: c * x, 1)

    def summed(x):
        return tf.scan(lambda c, r: (c + r * r, c), 0.0, x)[0]

    for mode in (lambda f: f, tf.function):
        assert float(mode(tf.grad(power))(np.float64(2.0))) == 12.0
        np.testing.assert_allclose(mode(tf.grad(summed))(X).numpy(), 2 * X)
        assert float(mode(tf.jvp)(power, (np.float64(2.0),), (np.float64(1.0),))[1]) == 12.0


@pytest.mark.parametrize("p", [True, False])
def test_numbers_in_branches(p):
    x = tf.constant(np.float64(0.7))

    @tf.function
    def chosen(p):
        a = tf.cond(p, lambda: x, lambda: 0.1)
        b = tf.cond(p, lambda: 1, lambda: x)
        c, d = tf.cond(p, lambda: (x, 1), lambda: (0.1, 2))
        e = tf.cond(p, lambda: 1, lambda: 2.5)
        return a, b, c, d, e, tf.switch_case(tf.cast(p, tf.int32), [lambda: 0.1, lambda: x])

    a, b, c, d, e, f = chosen(tf.constant(p))
    assert [t.dtype.name for t in (a, b, c, d, e, f)] == [*["float64"] * 3, "int32", "float32", "float64"]
    assert a.numpy() == c.numpy() == (0.7 if p else 0.1) and f.numpy() == (0.7 if p else 0.1)
    assert b.numpy() == (1.0 if p else 0.7) and e.numpy() == (1.0 if p else 2.5) and d.numpy() == 2 - p


def test_a_body_whose_numbers_change_prints_and_assigns_once(capsys):
    v = tf.Variable(0.0)

    @tf.function
    def f(x):
        def body(i, c):
            v.assign_add(1.0)
            tf.print("round", i)
            return c * x

        return tf.fori_loop(0, 3, body, 1)

    assert float(f(np.float64(2.0))) == 8.0 and float(v) == 3.0
    printed = capsys.readouterr()
    assert (printed.err + printed.out).count("round") == 3


def test_tensors_keep_their_dtype():
    for mode in (lambda f: f, tf.function):
        with pytest.raises(TypeError, match="float32"):
            mode(lambda: tf.fori_loop(0, 3, lambda i, c: c * TWO, tf.constant(1.0)))()
        with pytest.raises(TypeError, match="int32"):
            mode(lambda: tf.scan(lambda c, x: (c * x, c), tf.constant(1), X))()
