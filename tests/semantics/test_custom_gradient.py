"""Rows 51 to 55: custom gradients."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
from checks.nests import values


@tf.custom_gradient
def log1pexp(x):
    e = tf.exp(x)

    def grad(upstream):
        return upstream * (1 - 1 / (1 + e))

    return tf.log(1 + e), grad


def gradient_of(f):
    def program(*xs):
        with tf.GradientTape() as tape:
            tape.watch(xs)
            y = f(*xs)
        return tape.gradient(y, list(xs))

    return program


def test_row_51_a_stable_gradient(run):
    assert values(run(gradient_of(log1pexp), tf.constant(100.0))) == [1.0]
    assert values(gradient_of(tf.function(log1pexp))(tf.constant(100.0))) == [1.0]
    assert values(run(gradient_of(log1pexp), tf.constant(1e8))) == [1.0]


def test_row_51_a_tuple_of_gradients(run):
    @tf.custom_gradient
    def my_gradient(x, y):
        return x * y, lambda upstream: (upstream * y, upstream * x)

    assert values(run(gradient_of(my_gradient), tf.constant(1.0), tf.constant(2.0))) == [2.0, 1.0]


def test_row_51_higher_order(run):
    @tf.custom_gradient
    def cube(x):
        return x * x * x, lambda g: g * 3.0 * x * x

    x = tf.constant(2.0)
    assert values(run(tf.grad(tf.grad(cube)), x)) == 12.0
    assert values(run(tf.grad(tf.grad(tf.grad(cube))), x)) == 6.0
    assert values(tf.grad(tf.grad(tf.function(cube)))(x)) == 12.0


def test_row_51_the_rule_may_keep_intermediates_at_higher_order(run):
    e = np.exp(0.5)
    second = run(tf.grad(tf.grad(log1pexp)), tf.constant(0.5)).item()
    assert abs(second - e / (1 + e) ** 2) < 1e-6


def test_row_51_variables(run):
    w = tf.Variable(3.0)

    @tf.custom_gradient
    def scaled(x):
        def grad(upstream, variables=None):
            return upstream * w * 10.0, [upstream * x * 100.0 for _ in variables]

        return x * w, grad

    def program(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = scaled(x)
        return tape.gradient(y, [x, w])

    assert values(run(program, tf.constant(2.0))) == [30.0, 200.0]

    @tf.custom_gradient
    def forgetful(x):
        return x * w, lambda upstream: upstream

    with pytest.raises(TypeError, match="must accept the keyword argument 'variables'"):
        run(gradient_of(forgetful), tf.constant(2.0))


def test_row_51_value_changed_but_not_the_gradient(run):
    @tf.custom_gradient
    def rounded(x):
        return tf.round(x), lambda g: g

    assert values(run(gradient_of(rounded), tf.constant([1.2, 2.7]))) == [[1.0, 1.0]]


def test_row_51_clipping_the_gradient(run):
    @tf.custom_gradient
    def clip_gradient(x):
        return tf.identity(x), lambda g: tf.clip_by_value(g, 0.0, 0.5)

    assert values(run(gradient_of(lambda v: clip_gradient(v * v)), tf.constant(2.0))) == [2.0]


def test_row_53_wrong_number_of_gradients(run):
    @tf.custom_gradient
    def f(x, y):
        return x * y, lambda g: g

    message = "custom_gradient function expected to return 2 gradients, but returned 1 instead."
    with pytest.raises(ValueError, match=message):
        run(gradient_of(f), tf.constant(1.0), tf.constant(2.0))


def test_a_gradient_of_the_wrong_shape_names_the_line_of_the_rule(run):
    @tf.custom_gradient
    def f(x):
        def grad(g):
            return tf.reshape(g, (1,))  # the line to be named

        return x * 2.0, grad

    with pytest.raises(tf.GradientError, match=r"float32\[1\].*float32\[\](.|\n)*the line to be named"):
        run(gradient_of(f), tf.constant(1.0))


def test_forward_mode_is_refused():
    with pytest.raises(LookupError, match="custom gradient"):
        tf.jvp(log1pexp, [1.0], [1.0])


# ---- rows 52, 54, 55 ------------------------------------------------------------------------------------


def test_row_52_the_unstable_original_stays_honest(run):
    found = run(gradient_of(lambda x: tf.log(1 + tf.exp(x))), tf.constant(100.0))
    assert np.isnan(found[0].numpy()) and found[0].dtype == np.float32


def test_row_54_names_are_registered_once():
    name = "RowFiftyFour"
    tf.RegisterGradient(name)(lambda op, g: g)
    with pytest.raises(KeyError, match=name):
        tf.RegisterGradient(name)(lambda op, g: g)


def test_row_55_a_new_operation(run):
    """First reason: the operation is not made of known ones, here a table looked up."""
    table = tf.constant(np.sin(np.linspace(0.0, 1.0, 1001)))
    slope = tf.constant(np.cos(np.linspace(0.0, 1.0, 1001)))

    @tf.custom_gradient
    def looked_up(x):
        place = tf.cast(tf.round(x * 1000.0), tf.int32)
        return tf.gather(table, place), lambda upstream: upstream * tf.gather(slope, place)

    (found,) = run(gradient_of(looked_up), tf.constant(np.float64(0.5)))
    assert found.numpy() == pytest.approx(np.cos(0.5), abs=1e-12)


def test_row_55_numerical_stability(run):
    """Second reason: the formula overflows where its derivative does not."""
    assert values(run(gradient_of(log1pexp), tf.constant(100.0))) == [1.0]


def test_row_55_an_expensive_forward_is_kept():
    """Third reason: the backward uses what the forward has computed."""
    calls = []

    @tf.custom_gradient
    def expensive(x):
        calls.append("forward")
        e = tf.exp(x)
        return e, lambda upstream: upstream * e

    assert gradient_of(expensive)(tf.constant(0.0))[0].numpy() == 1.0
    assert calls == ["forward"]


def test_row_55_the_value_changes_and_the_gradient_does_not(run):
    """Fourth reason: rounding, clipping and the like in the middle of what is trained."""
    found = run(gradient_of(tf.grad_pass_through(tf.round)), tf.constant(2.6))
    assert values(found) == [1.0]


def test_a_rule_that_raises_is_in_nobodys_way_who_does_not_differentiate():
    factor = tf.Variable(3.0)

    @tf.custom_gradient
    def doubled(x):
        def rule(upstream, variables=None):
            raise NotImplementedError("nobody has worked it out")

        return 2.0 * x * factor, rule

    x, compiled = tf.constant(1.0), tf.function(doubled)
    assert float(doubled(x)) == float(compiled(x)) == 6.0
    for f in (doubled, compiled):
        for source in (x, factor):
            with pytest.raises(RuntimeError, match="nobody has worked it out"), tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
                tape.gradient(y, source)
