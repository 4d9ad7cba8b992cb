"""Rows 31 to 42: control flow, state, and every way to get None."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tracejit as tf
from checks.nests import values


def test_row_31_a_branch_on_a_tensor():
    x, v0, v1 = tf.constant(1.0), tf.Variable(2.0), tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        result = v0 if x > 0.0 else v1**2
    assert values(tape.gradient(result, [v0, v1, x])) == [1.0, None, None]


def test_row_31_a_branch_compiled_with_a_condition_of_run_time():
    x, v0, v1 = tf.constant(1.0), tf.Variable(2.0), tf.Variable(2.0)

    @tf.function
    def program(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            result = tf.cond(x > 0.0, lambda: v0 * 1.0, lambda: v1**2)
        return tape.gradient(result, [v0, v1, x])

    assert values(program(x)) == [1.0, 0.0, None]
    assert values(program(-x)) == [0.0, 4.0, None]


def flagship(a):
    b = a * 2
    b = tf.while_loop(lambda b: tf.norm(b) < 1000.0, lambda b: (b * 2,), [b])[0]
    return tf.cond(tf.reduce_sum(b) > 0.0, lambda: b, lambda: 100.0 * b)


@pytest.mark.parametrize("compiled", [False, True])
def test_row_32_doubling_until_it_is_large(compiled):
    gradient = tf.grad(flagship)
    if compiled:
        gradient = tf.function(gradient)
    random = np.random.default_rng(0)
    for exponent in random.uniform(-20, 3, 12):
        for sign in (1.0, -1.0):
            a = np.float32(sign * 10**exponent)
            g = gradient(tf.constant(a)).item()
            factor = 1.0 if sign > 0 else 100.0
            assert np.isfinite(g) and g > 0 and np.log2(g / factor) == np.round(np.log2(g / factor))
            assert 1000 <= abs(np.float32(a) * g / factor) < 2000
    if compiled:
        assert gradient.experimental_get_tracing_count() == 1


def test_row_33_a_python_loop_over_a_number(run):
    def f(x, y):
        output = 1
        for _ in range(int(y)):
            output = tf.multiply(output, x)
        return output

    def program(x, y):
        with tf.GradientTape() as tape:
            tape.watch(x)
            out = f(x, y)
        return out, tape.gradient(out, x)

    assert values(run(program, tf.constant(3.0), 2)) == [9.0, 6.0]
    assert values(run(program, tf.constant(4.0), 3)) == [64.0, 48.0]
    assert tf.multiply(1, 3.0).item() == 3.0 and tf.multiply(1, 3.0).dtype == tf.float32


def test_row_34_disconnected(run):
    x, y = tf.Variable(2.0), tf.Variable(3.0)

    def program():
        with tf.GradientTape() as tape:
            z = y * y
        return tape.gradient(z, x)

    assert run(program) is None


def test_row_35_a_variable_replaced_by_a_tensor():
    x = tf.Variable(2.0)
    found = []
    for _ in range(2):
        with tf.GradientTape() as tape:
            y = x + 1
        found.append((type(x).__name__, values(tape.gradient(y, x))))
        x = x + 1
    assert found == [("Variable", 1.0), ("Tensor", None)]


def test_row_36_computed_outside():
    x = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        x2 = x**2
        y = np.mean(x2, axis=0)
        y = tf.reduce_mean(y, axis=0)
    assert y.item() == 7.5
    assert tape.gradient(y, x) is None


def test_row_37_integers():
    x = tf.constant(10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
    assert tape.gradient(y, x) is None


def test_row_38_mixed_dtypes(run):
    i, f = tf.constant([1, 2]), tf.constant([0.5, 0.5])
    y = run(lambda: i * f)
    assert y.dtype == np.result_type(np.int32, np.float32)
    with tf.settings(dtype_promotion="strict"), pytest.raises(TypeError, match=r"tracejit\.cast"):
        run(lambda: i * f)


def test_row_39_state_stops_gradients(run):
    x0, x1 = tf.Variable(3.0), tf.Variable(0.0)

    def program():
        with tf.GradientTape() as tape:
            x1.assign_add(x0)
            y = x1**2
        return tape.gradient(y, [x0, x1])

    assert values(run(program)) == [None, 6.0]
    assert x1.numpy() == 3.0


def test_row_41_not_differentiable(run):
    x = tf.constant([1.5, -2.5])

    def program():
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            targets = [
                tf.round(x),
                tf.floor(x),
                tf.cast(x > 0.0, tf.float32),
                tf.cast(tf.cast(x, tf.int32), tf.float32),
                tf.argmax(x),
            ]
        return [tape.gradient(t, x) for t in targets]

    assert run(program) == [None] * 5


def test_row_42_unconnected_gradients(run):
    x, y = tf.Variable([2.0, 2.0]), tf.Variable(3.0)

    def program():
        with tf.GradientTape(persistent=True) as tape:
            z = y**2
        zero = tape.gradient(z, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        return zero, tape.gradient(z, x, unconnected_gradients="zero"), tape.gradient(z, x)

    zero, also, none = run(program)
    assert str(zero) == "tf.Tensor([0. 0.], shape=(2,), dtype=float32)"
    assert values(also) == [0.0, 0.0] and none is None


def test_row_42_unknown_word():
    with tf.GradientTape() as tape:
        pass
    with pytest.raises(ValueError, match="Unknown value for unconnected_gradients: 'bogus'"):
        tape.gradient(tf.constant(1.0), tf.constant(1.0), unconnected_gradients="bogus")


EDGES = [
    ("sqrt", lambda x: tf.sqrt(x), 0.0, np.inf),
    ("abs", lambda x: tf.abs(x), 0.0, 0.0),
    ("relu", lambda x: tf.relu(x), 0.0, 0.0),
    ("maximum", lambda x: tf.maximum(x, 0.0), 0.0, 1.0),
    ("norm", lambda x: tf.norm(tf.reshape(x, (1,))), 0.0, np.nan),
    ("unstable log1pexp", lambda x: tf.log(1.0 + tf.exp(x)), 100.0, np.nan),
]


@pytest.mark.parametrize(("f", "x", "expected"), [e[1:] for e in EDGES], ids=[e[0] for e in EDGES])
def test_edge_values(run, f, x, expected):
    g = run(tf.grad(f), tf.constant(x)).item()
    assert g == expected or (np.isnan(g) and np.isnan(expected))


def test_ties_of_reduce_max_share_the_gradient(run):
    assert values(run(tf.grad(tf.reduce_max), tf.constant([1.0, 2.0, 2.0]))) == [0.0, 0.5, 0.5]
