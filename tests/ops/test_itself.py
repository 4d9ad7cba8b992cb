"""Rules for derivatives that call their own function, or each other's, at every order, in every mode."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tracejit as tf
from tracejit.core.errors import GradientError

X = tf.constant([0.3, -0.7, 1.1], tf.float64)
MODES = {
    "eager": lambda f: f,
    "compiled": tf.function,
    "vmap": lambda f: lambda x: tf.vmap(lambda e: f(tf.reshape(e, [1]))[0])(x),
    "compiled vmap": lambda f: tf.function(lambda x: tf.vmap(lambda e: f(tf.reshape(e, [1]))[0])(x)),
    "twice vmap": lambda f: lambda x: tf.vmap(tf.vmap(lambda e: f(tf.reshape(e, [1]))[0]))(x[None])[0],
}


def reverse(f: Callable) -> Callable:
    return tf.grad(lambda x: tf.reduce_sum(f(x)))


def forward(f: Callable) -> Callable:
    return lambda x: tf.jvp(f, [x], [tf.ones_like(x)])[1]


def pair_by_jvp(scale: tf.Tensor | float = 1.0) -> Callable:
    """A sine and a cosine whose tangents are written with each other."""

    @tf.custom_jvp
    def sine(x):
        return tf.sin(x) * scale

    @tf.custom_jvp
    def cosine(x):
        return tf.cos(x) * scale

    @sine.defjvp
    def sine_tangent(primals, tangents):
        return sine(primals[0]), cosine(primals[0]) * tangents[0]

    @cosine.defjvp
    def cosine_tangent(primals, tangents):
        return cosine(primals[0]), -sine(primals[0]) * tangents[0]

    return sine


def pair_by_gradient(scale: tf.Tensor | float = 1.0) -> Callable:
    @tf.custom_gradient
    def sine(x):
        return tf.sin(x) * scale, lambda g: g * cosine(x)

    @tf.custom_gradient
    def cosine(x):
        return tf.cos(x) * scale, lambda g: -g * sine(x)

    return sine


ORDERS = [np.sin, np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x), np.sin]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("scale", [1.0, tf.constant(2.0, tf.float64)])
@pytest.mark.parametrize("pair", [pair_by_jvp, pair_by_gradient])
def test_functions_whose_rules_call_each_other(pair: Callable, scale: float | tf.Tensor, mode: str):
    f = pair(scale)
    for expected in ORDERS:
        np.testing.assert_allclose(MODES[mode](f)(X), float(scale) * expected(X.numpy()), rtol=1e-13)
        f = reverse(f)


@pytest.mark.parametrize("mode", MODES)
def test_forward_and_reverse_mix(mode: str):
    f = pair_by_jvp()
    for k, expected in enumerate(ORDERS):
        np.testing.assert_allclose(MODES[mode](f)(X), expected(X.numpy()), rtol=1e-13)
        f = forward(f) if k % 2 else reverse(f)


@tf.custom_gradient
def exponential(x):
    return tf.exp(x), lambda g: g * exponential(x)


@pytest.mark.parametrize("mode", MODES)
def test_a_gradient_rule_that_calls_its_function(mode: str):
    f = exponential
    for _ in range(4):
        np.testing.assert_allclose(MODES[mode](f)(X), np.exp(X), rtol=1e-14)
        f = reverse(f)


@tf.function
def through_a_scan(x):
    return tf.reduce_sum(tf.scan(lambda c, e: (exponential(c * e), c * e), 0.3 * tf.ones_like(x[0]), x)[1])


def test_a_gradient_rule_that_calls_its_function_in_a_loop():
    def plain(x):
        c, total = 0.3 * tf.ones_like(x[0]), 0.0
        for k in range(3):
            total, c = total + c * x[k], tf.exp(c * x[k])
        return total

    np.testing.assert_allclose(tf.grad(through_a_scan)(X), tf.grad(plain)(X), rtol=1e-12)
    np.testing.assert_allclose(
        tf.jacrev(tf.grad(through_a_scan))(X), tf.jacrev(tf.grad(plain))(X), rtol=1e-12
    )


@tf.custom_gradient
def kept(x):
    """The rule calls its function, and uses what the body computed and what both capture."""
    e = tf.exp(OUTSIDE * x)
    return e, lambda g: g * (OUTSIDE * kept(x) + 0.0 * e)


OUTSIDE = tf.constant(1.5, tf.float64)


@pytest.mark.parametrize("mode", MODES)
def test_a_rule_that_keeps_values_and_captures(mode: str):
    f = kept
    for k in range(4):
        np.testing.assert_allclose(MODES[mode](f)(X), 1.5**k * np.exp(1.5 * X.numpy()), rtol=1e-13)
        f = reverse(f)


@tf.custom_jvp
def double(x):
    return 2.0 * x


@double.defjvp
def double_tangent(primals, tangents):
    return double(primals[0]), double(tangents[0])


@pytest.mark.parametrize("mode", MODES)
def test_a_linear_function_is_its_own_tangent(mode: str):
    for derivative in (forward, reverse):
        np.testing.assert_array_equal(MODES[mode](derivative(double))(X), [2.0, 2.0, 2.0])
        np.testing.assert_array_equal(MODES[mode](reverse(derivative(double)))(X), [0.0, 0.0, 0.0])


@tf.custom_jvp
def not_linear(x):
    return tf.sin(x)


@not_linear.defjvp
def not_linear_tangent(primals, tangents):
    return not_linear(primals[0]), not_linear(tangents[0])


def test_a_function_that_is_not_linear_is_not_its_own_tangent():
    with pytest.raises(GradientError, match="not_linear is not linear in the tangents"):
        reverse(not_linear)(X)


@tf.custom_jvp
def branching(x):
    """The rule calls its function in a branch and in a loop."""
    return tf.exp(x)


@branching.defjvp
def branching_tangent(primals, tangents):
    (x,), (t,) = primals, tangents
    if tf.reduce_sum(x) > 0.0:
        slope = branching(x)
    else:
        slope = tf.exp(x)
    for _ in tf.range(2):
        t = t + branching(x) * 0.0
    return branching(x), slope * t


@pytest.mark.parametrize("mode", ["eager", "compiled"])
def test_a_rule_that_calls_its_function_in_a_branch_or_a_loop(mode: str):
    x = X + 1.0
    f = branching
    for _ in range(3):
        np.testing.assert_allclose(MODES[mode](f)(x), np.exp(x), rtol=1e-13)
        f = forward(f)
    np.testing.assert_allclose(MODES[mode](reverse(branching))(x), np.exp(x), rtol=1e-13)


@tf.custom_jvp
def by_value(x, n):
    return x**n


@by_value.defjvp
def by_value_tangent(primals, tangents):
    (x, n), t = primals, tangents[0]
    return by_value(x, n), n * by_value(x, n - 1) * t


@tf.custom_gradient
def gradient_by_value(x, n):
    return x**n, lambda g: (g * n * gradient_by_value(x, n - 1), None)


@pytest.mark.parametrize("f", [by_value, tf.function(gradient_by_value)])
def test_rules_that_never_end_say_so(f: Callable):
    with pytest.raises(tf.errors.TracejitError, match=r"without end.*\n  at .*test_itself\.py:\d+"):
        tf.grad(lambda x: tf.reduce_sum(f(x, 3)))(X)
