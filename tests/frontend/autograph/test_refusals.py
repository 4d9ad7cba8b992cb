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


class Holder:
    def __init__(self, a, b):
        self.a, self.b = a, b


@pytest.mark.parametrize("asked", [False, True])
def test_an_object_that_a_loop_replaces_in_branches_is_not_the_one_before(asked):
    def f(x, n):
        p = Holder(x, x)
        for _ in range(n):
            if (p.b if asked else x) > 2.0:
                p = Holder(x, x * 2.0)
            else:
                p = Holder(x, x * 3.0)
        return p.b

    compiled = tf.function(f)
    for n in (0, 2):
        with pytest.raises(NameError, match=r"'p' is .* in one branch and"):
            compiled(tf.constant(3.0), tf.constant(n))


def test_an_object_that_a_loop_replaces_in_branches_may_be_forgotten():
    def f(x, n):
        p, y = Holder(x, x), x
        for _ in range(n):
            if y > 2.0:
                p = Holder(x, y * 2.0)
                y = y - p.b
            else:
                p = Holder(x, y * 3.0)
                y = y + p.b
        p = Holder(y, y)
        return p.b

    for n in (0, 1, 2):
        assert float(tf.function(f)(tf.constant(3.0), tf.constant(n))) == float(f(tf.constant(3.0), n))
