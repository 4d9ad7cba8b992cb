"""A name that a branch or loop binds to a Variable goes on standing for it."""

import numpy as np
import pytest

import tracejit as tf


def programs():
    """Functions of (x, n), with Variables of their own."""
    v, w = tf.Variable(0.5), tf.Variable(2.0)

    def bound_in_a_loop(x, n):
        a = x
        for _ in tf.range(n):
            a = w
        w.assign_add(1.0)
        return a + 0.0

    def bound_in_a_loop_that_runs(x, n):
        a = x
        for _ in tf.range(3):
            a = w
        w.assign_add(x)
        a.assign_add(1.0)
        return a * w

    def one_or_the_other(x, n):
        a = v
        for i in tf.range(n):
            if i % 2 == 0:
                a = w
            else:
                a = v
            a.assign_add(x)
        v.assign_add(1.0)
        w.assign_add(10.0)
        return a + 0.0

    def first_a_variable_then_a_number(x, n):
        a = v
        for _ in tf.range(n):
            a = a * 2.0
        v.assign_add(1.0)
        return a + 0.0

    def exchanged(x, n):
        a, b = v, w
        for _ in tf.range(n):
            a, b = b, a
        v.assign_add(1.0)
        w.assign_add(10.0)
        a.assign_add(100.0)
        return a * 2.0 - b

    def in_a_dict(x, n):
        d = {"a": x, "b": (v, x)}
        for _ in tf.range(n):
            d["a"] = w
            d["b"] = (w, x * 2.0)
        v.assign_add(1.0)
        w.assign_add(10.0)
        return d["a"] + d["b"][0] * 3.0 + d["b"][1]

    def a_python_number_before(x, n):
        a = 0.0
        for _ in tf.range(n):
            a = w
        w.assign_add(1.0)
        return a + x

    def branches_in_loops(x, n):
        a = v
        for i in tf.range(n):
            for j in tf.range(2):
                if x > 0.0:
                    a = w
                elif i > j:
                    a = v
                if j > 0:
                    a.assign_add(x)
        w.assign_add(1.0)
        return a + v * 3.0

    def returned_early(x, n):
        a = v
        if x > 0.0:
            for i in range(n):
                a = x * tf.cast(i, tf.float32)
            if w > 0.1:
                return a + w
        return a * 3.0

    return locals()


NAMES = [name for name in programs() if name not in ("v", "w")]


@pytest.mark.parametrize("n", [0, 3])
@pytest.mark.parametrize("name", NAMES)
def test_the_name_stands_for_the_variable(name, n):
    found = []
    for eager in (True, False):
        with tf.settings(eager=eager):
            own = programs()
            f, x = tf.function(own[name]), tf.constant(0.7)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x, tf.constant(n))
            slope = tape.gradient(y, [x, own["v"], own["w"]], unconnected_gradients="zero")
            found.append([np.asarray(t) for t in (y, own["v"], own["w"], *slope)])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


def test_many_branches_cost_what_few_do():
    v, w = tf.Variable(1.0), tf.Variable(2.0)

    @tf.function
    def f(x):
        a = x
        for k in range(40):  # a tree of the choices would have a thousand million leaves
            if x > 0.1 * k:
                a = v
            elif x < -0.1 * k:
                a = w
        v.assign_add(1.0)
        return a + 0.0

    assert float(f(tf.constant(0.5))) == 2.0
    assert float(f(tf.constant(-0.5))) == 2.0
    assert len(f.graph(tf.constant(0.5)).nodes) < 500
