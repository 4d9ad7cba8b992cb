"""The derivative of a compiled function is a compiled function too: the same numbers, wherever it is called."""

from __future__ import annotations

import inspect
import pickle
import sys
from typing import Any

import numpy as np
import pytest

import tracejit as tf
from checks.memory import collect
from tracejit.frontend.function.function import Function

X = tf.constant(np.array([0.5, 1.5]))
Y = tf.constant(np.array([2.0, -3.0]))


def plain(x, y=2.0):
    """Of two arguments."""
    return tf.reduce_sum(tf.sin(x) * y**2.0)


compiled = tf.function(plain)


def numbers(x: Any) -> Any:
    return tf.nest.map_structure(lambda t: t.numpy().tolist(), x)


@pytest.mark.parametrize("argnums", [0, 1, (0, 1)])
@pytest.mark.parametrize("transform", [tf.grad, tf.value_and_grad])
def test_the_same_numbers_in_every_place(transform: Any, argnums: Any) -> None:
    wanted = numbers(transform(plain, argnums)(X, Y))
    derivative = transform(compiled, argnums)
    assert isinstance(derivative, Function) and inspect.signature(derivative) == inspect.signature(plain)
    assert (derivative.__name__, derivative.__doc__) == ("plain", "Of two arguments.")

    def close(found: Any) -> None:
        for a, b in zip(tf.nest.flatten(numbers(found)), tf.nest.flatten(wanted), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)

    for _ in range(40):  # by Python, then by machine code
        close(derivative(X, Y))
    assert derivative.experimental_get_tracing_count() == 1
    close(derivative(X.numpy(), Y.numpy()))
    close(tf.function(lambda x, y: derivative(x, y))(X, Y))
    with tf.settings(eager=True):
        close(derivative(X, Y))
    with tf.GradientTape() as tape:
        tape.watch(X)
        close(derivative(X, Y))
    close(pickle.loads(pickle.dumps(derivative))(X, Y))


def test_second_derivatives_and_tapes_over_it() -> None:
    gradient = tf.grad(compiled)
    for _ in range(20):
        gradient(X, Y)
    wanted = -np.sin(X.numpy()) * Y.numpy() ** 2
    with tf.GradientTape() as tape:
        tape.watch(X)
        g = gradient(X, Y)
    np.testing.assert_allclose(tape.gradient(g, X), wanted, rtol=1e-12)
    for outer in (lambda f: f, tf.function):
        twice = outer(tf.grad(lambda x: tf.reduce_sum(gradient(x, Y))))
        np.testing.assert_allclose(twice(X), wanted, rtol=1e-12)
    np.testing.assert_allclose(tf.vmap(lambda x: gradient(x, 2.0))(X[:, None])[:, 0], gradient(X, 2.0))


def test_what_is_passed_on_and_variables() -> None:
    v = tf.Variable(3.0, dtype="float64")

    @tf.function
    def f(x):
        v.assign_add(1.0)
        return tf.reduce_sum(x * v), {"scaled": x * 2.0}

    both = tf.value_and_grad(f, has_aux=True)
    for k in range(20):
        (value, aux), g = both(X)
        assert float(value) == 2.0 * (4.0 + k) and g.numpy().tolist() == [4.0 + k] * 2
        assert aux["scaled"].numpy().tolist() == [1.0, 3.0]


def test_methods_and_signatures_keep_their_tape() -> None:
    class Model:
        @tf.function
        def loss(self, x):
            return tf.reduce_sum(x**2.0)

    assert numbers(tf.grad(Model().loss)(X)) == [1.0, 3.0]
    given = tf.function(lambda x: tf.reduce_sum(x**2.0), input_signature=[tf.TensorSpec([None], "float64")])
    assert numbers(tf.grad(given)(X)) == [1.0, 3.0]


def test_nothing_is_kept() -> None:
    both = tf.value_and_grad(compiled)
    for _ in range(3000):  # until it is machine code
        both(X, Y)
    things = [X, Y, X._payload, Y._payload, None, both]
    collect()
    before, blocks = [sys.getrefcount(t) for t in things], sys.getallocatedblocks()
    for _ in range(20_000):
        both(X, Y)
    collect()
    assert max(abs(sys.getrefcount(t) - b) for t, b in zip(things, before, strict=True)) < 10
    assert sys.getallocatedblocks() - blocks < 200
