"""Early returns carry values of sizes that only the running function knows."""

import numpy as np
import pytest

import tracejit as tf


def rows(x, s, n):
    y = tf.ones([n + 1])
    if x < 0.6:
        for r in s:
            return y * r
    return y


def an_array(x, s, n):
    array = tf.TensorArray(tf.float32, size=n + 1).write(0, x)
    if x < 0.6:
        for _ in s:
            return array.stack()
    return array.stack() * 2.0


def a_list(x, s, n):
    items = [x]
    for _ in tf.range(n):
        items.append(x)
    if x < 0.6:
        for r in s:
            return tf.stack(items) * r
    return tf.stack(items)


@pytest.mark.parametrize("s", [[2.0, 3.0], []])
@pytest.mark.parametrize("x", [0.3, 0.9])
@pytest.mark.parametrize("f", [rows, an_array, a_list])
def test_is_as_eagerly(f, x, s):
    args = tf.constant(x), tf.constant(np.array(s, np.float32)), tf.constant(2)
    with tf.settings(eager=True):
        expected = np.asarray(tf.function(f)(*args))
    np.testing.assert_array_equal(np.asarray(tf.function(f)(*args)), expected)


def test_a_size_that_only_the_branch_knows_is_refused():
    @tf.function
    def f(x, s, n):
        if x < 0.6:
            for _ in s:
                return tf.range(n) * 1
        return tf.range(n) * 2

    with pytest.raises(tf.TracejitError, match=r"only that branch knows|agree in shape"):
        f(tf.constant(0.3), tf.constant([1.0]), tf.constant(2))


def returns_below(x, n, v):
    for i in tf.range(n):
        try:
            if i % 2 == 0:
                return x
        finally:
            for k in tf.range(n):

                def assigned():
                    v.assign(x * 2.0)
                    return x

                tf.cond(k % 2 == 0, lambda: x, assigned)
    return x


def returns_at_once_below(x, n, v):
    for i in tf.range(n):
        try:
            if i % 2 == 0:
                return x
        finally:

            def assigned():
                v.assign(x * 2.0)
                return x

            assigned()
    return x


@pytest.mark.parametrize("f", [returns_below, returns_at_once_below])
def test_a_return_of_a_function_within_finally_is_no_jump_out_of_it(f):
    seen = []
    for g in (f, tf.function(f)):
        v = tf.Variable(0.5)
        seen.append((float(g(tf.constant(0.75), tf.constant(4), v)), float(v)))
    assert seen[0] == seen[1] == (0.75, 1.5)


@pytest.mark.parametrize("trips", range(3))
def test_a_list_or_dict_may_be_returned_from_a_loop_in_a_loop(trips: int):
    """What a branch or loop inside makes of it is of that inner trace: it is not what was there before."""

    def f(x, n):
        d = {"a": x * 2.0, "b": [x, x + 1.0]}
        i = 0
        while i < n:
            i += 1
            for _ in range(2):
                if x > 1.0:
                    return d
        return d

    @tf.function
    def slopes(x, n):
        with tf.GradientTape() as tape:
            tape.watch(x)
            out = f(x, n)
            y = out["a"] * out["b"][1]
        return out, tape.gradient(y, x)

    for x in (0.5, 3.0):
        out, slope = slopes(tf.constant(x), tf.constant(trips))
        assert (float(out["a"]), [*map(float, out["b"])]) == (2 * x, [x, x + 1.0])
        assert float(slope) == pytest.approx(2 * (x + 1.0) + 2 * x)
