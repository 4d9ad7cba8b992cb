"""Variables under the names that branches and loops change: their values go on, their gradients reach them."""

import collections
from collections import Counter, OrderedDict, defaultdict

import numpy as np
import pytest

import tracejit as tf


@pytest.fixture(params=["eager", "compiled"])
def run(request):
    return (lambda f: f) if request.param == "eager" else tf.function


def gradients(f, variables, *args):
    with tf.GradientTape() as tape:
        y = f(*args)
    found = tape.gradient(y, variables, unconnected_gradients="zero")
    return float(y), [float(g) for g in found]


def test_a_variable_in_one_branch_and_a_number_in_the_other(run):
    w = tf.Variable(-3.0)
    magnitude = run(lambda w: w if w > 0 else -w)
    assert gradients(magnitude, [w], w) == (3.0, [-1.0])
    w.assign(2.0)
    assert gradients(magnitude, [w], w) == (2.0, [1.0])


def test_one_of_two_variables(run):
    w, u = tf.Variable(3.0), tf.Variable(5.0)

    def chosen(c):
        if c > 0:
            z = w
        else:
            z = u
        return z * z

    def returned(c):
        if c > 0:
            return w
        return u

    square, same = run(chosen), run(returned)
    assert gradients(square, [w, u], tf.constant(1.0)) == (9.0, [6.0, 0.0])
    assert gradients(square, [w, u], tf.constant(-1.0)) == (25.0, [0.0, 10.0])
    assert gradients(same, [w, u], tf.constant(-1.0)) == (5.0, [0.0, 1.0])


def test_a_variable_that_a_branch_assigns_and_the_other_replaces(run):
    w = tf.Variable(3.0)

    def f(c):
        x = w
        if c > 0:
            w.assign(7.0)
        else:
            x = w * 2.0
        return x + 0.0

    compiled = run(f)
    assert float(compiled(tf.constant(-1.0))) == 6.0
    assert float(compiled(tf.constant(1.0))) == 7.0
    assert float(w) == 7.0


def test_loops_that_start_with_a_variable(run):
    x, step = tf.Variable(2.0), tf.Variable(0.5)

    def power(x, n):
        out = x
        for _ in tf.range(n - 1):
            out = out * x
        return out

    def climb(limit):
        a = x
        while a < limit:
            a = a + step
        return a

    assert gradients(run(power), [x], x, tf.constant(3)) == (8.0, [12.0])
    assert gradients(run(power), [x], x, tf.constant(1)) == (2.0, [1.0])
    assert gradients(run(climb), [x, step], tf.constant(3.9)) == (4.0, [1.0, 4.0])


def test_and_or_of_variables(run):
    flag, x = tf.Variable(True), tf.Variable(2.0)

    def f():
        if flag and x > 1.0:
            return x * 10.0
        return x

    g = run(f)
    assert float(g()) == 20.0
    flag.assign(False)
    assert float(g()) == 2.0


def test_second_derivative_through_the_choice(run):
    w = tf.Variable(-2.0)
    f = run(lambda: (w if w > 0 else -w) ** 3)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = f()
        first = inner.gradient(y, w)
    np.testing.assert_allclose([float(first), float(outer.gradient(first, w))], [-12.0, 12.0], rtol=1e-6)


def test_names_with_annotations_in_branches_and_loops(run):
    def f(x):
        kept: float = 1.0
        if x > 0.0:
            kept: float = x * 2.0
            other: float
            other = x
        else:
            other: float = x * 3.0
        for _ in tf.range(2):
            kept: float = kept + 1.0
        return kept + other

    assert [float(run(f)(tf.constant(v))) for v in (2.0, -2.0)] == [8.0, -3.0]


def test_objects_of_the_standard_library_that_hold_numbers(run):
    def f(x):
        values = collections.UserDict(k=x)
        for _ in tf.range(3):
            if x > 0.0:
                values["k"] = values["k"] * x
        return x * values["k"]

    assert [float(run(f)(tf.constant(v))) for v in (2.0, -2.0)] == [32.0, 4.0]


class Named(dict):
    pass


def test_objects_built_on_lists_and_dicts_stay_themselves_in_loops_and_what_is_in_them_is_handed_on():
    def program(x):
        counted, named, ordered = Counter(a=0), Named(k=[0.0]), OrderedDict(b=0.0, a=1.0)
        sums, held, other = defaultdict(float), [named], ordered
        for i in tf.range(3):
            counted["a"] += 1
            sums["s"] += x[i]
            ordered["a"] += x[i]
            if x[i] > 0:
                held[0]["k"][0] += x[i]
        if x[0] > 0:
            named["k"][0] *= 2.0
        assert type(counted) is Counter and type(named) is Named and held[0] is named and other is ordered
        return counted["a"] + counted["never"], sums["s"] + sums["new"], other["a"], named["k"][0]

    for x in (np.array([1.0, -2.0, 3.0]), np.array([-1.0, -2.0, -3.0])):
        for got, want in zip(tf.function(program)(x), program(x), strict=True):
            np.testing.assert_allclose(got, want)
