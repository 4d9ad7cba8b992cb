"""Long programs are no deep ones; recursion that is too deep says who calls whom; and leaves nothing behind."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tracejit as tf
from tracejit.core.tracing.depth import TooDeep
from tracejit.core.tracing.dispatch import state

X = tf.constant(0.5, tf.float64)
LONG = 3000


def long(x):
    """Three times as many operations as Python's stack has calls."""
    for _ in range(LONG // 2):
        x = x * 0.9999 + 0.0001
    return x


SLOPE = 0.9999 ** (LONG // 2)


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    assert state.interpreter is None and state.recorders == ()


def taped(f: Callable) -> Callable:
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    return gradient


@pytest.mark.parametrize(
    "derivative",
    [
        tf.grad(long),
        tf.function(tf.grad(long)),
        taped(long),
        taped(tf.function(long)),
        tf.grad(tf.checkpoint(long)),
        lambda x: tf.jvp(long, [x], [tf.ones_like(x)])[1],
        lambda x: tf.vmap(tf.grad(long))(x[None])[0],
        tf.grad(lambda x: tf.cond(x > 0.0, lambda: long(x), lambda: x)),
        tf.function(tf.grad(lambda x: tf.fori_loop(0, 1, lambda i, y: long(y), x))),
    ],
    ids="grad compiled tape tape_of_compiled checkpoint jvp vmap cond loop".split(),
)
def test_a_long_program_is_differentiated(derivative: Callable):
    assert float(derivative(X)) == pytest.approx(SLOPE, rel=1e-12)


def test_a_long_program_is_printed():
    assert len(str(tf.function(long).graph(X)).splitlines()) > LONG


def descending(x, n):
    return x if n == 0 else descending(x * 1.0001, n - 1) + 0.0001


def test_recursion_as_deep_as_programs_have_it_works():
    for f in (tf.function(lambda x: descending(x, 250)), tf.function(tf.grad(lambda x: descending(x, 250)))):
        assert np.isfinite(float(f(X)))


@tf.custom_gradient
def layer(a):
    """An implicit layer: it solves in its own backward, with itself."""
    z = tf.fixed_point(lambda z, a: 0.3 * tf.cos(z) + a, a, a)

    def rule(u):
        return u * layer(0.5 * z) / (1.0 + 0.3 * tf.sin(z))

    return z, rule


@pytest.mark.parametrize("mode", [lambda f: f, tf.function, lambda f: lambda x: tf.vmap(f)(x[None])[0]])
def test_a_layer_that_solves_in_its_own_backward(mode: Callable):
    def solved(a: float) -> float:
        z = a
        for _ in range(60):
            z = 0.3 * np.cos(z) + a
        return z

    z = solved(0.5)
    assert float(mode(tf.grad(layer))(X)) == pytest.approx(
        solved(0.5 * z) / (1.0 + 0.3 * np.sin(z)), rel=1e-9
    )
    assert np.isfinite(float(mode(tf.grad(tf.grad(layer)))(X)))


def made_anew(a):
    """A layer that is defined each time it is used, in its own backward too."""

    @tf.custom_gradient
    def inner(a):
        return tf.sin(a), lambda u: u * tf.cos(a) + 0.0 * made_anew(a)

    return inner(a)


def test_a_layer_that_is_defined_again_in_its_backward():
    assert float(tf.function(tf.grad(made_anew))(X)) == pytest.approx(np.cos(0.5), rel=1e-14)


def endless(x):
    return endless(x * 1.0001) + 0.0001


def by_grad(x):
    return tf.grad(by_grad)(x) + x


def by_vmap(x):
    return tf.vmap(by_vmap)(x[None])[0]


def by_loop(x):
    return tf.fori_loop(0, 3, lambda i, y: by_loop(y), x)


def by_branch(x):
    return tf.cond(x > 0.0, lambda: by_branch(x), lambda: x)


@tf.function
def by_function(x):
    return by_function(x) + 1.0


@tf.checkpoint
def by_checkpoint(x):
    return by_checkpoint(x) + 1.0


def by_tape(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = by_tape(x) * 2.0
    return tape.gradient(y, x)


@pytest.mark.parametrize(
    "f",
    [endless, by_grad, by_vmap, by_loop, by_branch, by_function, by_checkpoint, by_tape],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("mode", [tf.function, lambda f: tf.function(tf.grad(f)), lambda f: tf.grad(f)])
def test_endless_recursion_names_the_user(f: Callable, mode: Callable):
    with pytest.raises(TooDeep, match=rf"'{f.__name__}' calls itself.*\n  at .*test_depth\.py:\d+"):
        mode(f)(X)


def test_many_transforms_inside_of_each_other():
    f = tf.sin
    for _ in range(300):
        f = tf.checkpoint(f)
    with pytest.raises(TooDeep, match=r"functions call each other.*\n  at .*test_depth\.py:\d+"):
        tf.grad(f)(X)


def test_values_inside_of_each_other():
    deep: list = [X]
    for _ in range(3000):
        deep = [deep]
    itself: list = []
    itself.append(itself)
    for value in (deep, itself):
        for f in (tf.constant, tf.function(lambda v: X), tf.grad(lambda v: X), tf.nest.flatten):
            with pytest.raises(TooDeep, match=r"contain themselves\n  at .*test_depth\.py:\d+"):
                f(value)
