"""What only tracing cannot know is never taken for an error of the program, whoever catches it."""

import contextlib
import functools

import numpy as np
import pytest

import tracejit as tf


class Swallows:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True


def returned_in_finally(x):
    y = x
    try:
        if x > 0.0:
            y = y * 2.0
    finally:
        return y  # noqa: B012


def continued_in_finally(x):
    y = x
    for _ in range(3):
        try:
            if x > 0.0:
                y = y * 2.0
        finally:
            continue  # noqa: B012
    return y


def suppressed(x):
    y = x
    with contextlib.suppress(Exception):
        y = y * x.numpy()
    return y


def a_context_manager(x):
    y = x
    with Swallows():
        y = y * x.numpy()
    return y


def numbers_of(x):
    try:
        yield x.numpy()
    except TypeError:
        yield 5.0


def a_generator(x):
    y = x
    for k in numbers_of(x):
        y = y * k
    return y


def another_error_in_finally(x):
    y = x
    try:
        try:
            y = y * x.numpy()
        finally:
            {}["missing"]
    except KeyError:
        y = y + 100.0
    return y


def a_library(x):
    return x * functools.reduce(lambda a, z: np.float32(_default(z.numpy)), [x], 0.0)


def _default(f):
    try:
        return f()
    except TypeError:
        return 5.0


FUNCTIONS = [
    returned_in_finally,
    continued_in_finally,
    suppressed,
    a_context_manager,
    a_generator,
    another_error_in_finally,
    a_library,
]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_is_refused_or_as_eagerly(f):
    x = tf.constant(2.0)
    with tf.settings(eager=True):
        expected = float(tf.function(f)(x))
    try:
        found = float(tf.function(f)(x))
    except tf.SymbolicValue:
        return
    assert found == expected


@pytest.mark.parametrize("f", FUNCTIONS)
def test_is_refused_in_a_traced_loop(f):
    @tf.function
    def g(x, n):
        y = x
        for _ in tf.range(n):
            try:
                y = f(y)
            except Exception:
                y = -x
        return y

    with pytest.raises(tf.SymbolicValue):
        g(tf.constant(2.0), tf.constant(3))


def test_one_of_several_variables_has_no_default_attribute():
    v, w = tf.Variable(1.0, name="v"), tf.Variable(2.0, name="longer")

    @tf.function
    def f(x):
        either = v
        if x > 0.0:
            either = w
        return x * float(len(getattr(either, "name", "")))

    with pytest.raises(tf.TracejitError, match="name"):
        f(tf.constant(1.0))


def test_who_names_it_may_go_on_without():
    @tf.function
    def f(x):
        try:
            scale = x.numpy()
        except tf.SymbolicValue:
            scale = 2.0
        try:
            {}["missing"]
        except KeyError:
            scale = scale * 3.0
        return x * scale

    assert float(f(tf.constant(1.0))) == 6.0
