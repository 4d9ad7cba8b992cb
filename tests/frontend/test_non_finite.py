"""``settings(nans=True)``: the first op that makes a NaN or an infinity is named with the user's line.

What each program says is asked of it eagerly and compiled.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import tracejit as tf
from tracejit.compiler.graph.watch_numerics import watched
from tracejit.compiler.pipeline import optimized
from tracejit.core.tracing.loop_form import LoopForm

MODES = {"eager": lambda f: f, "compiled": tf.function}


@pytest.fixture(params=MODES)
def mode(request):
    return MODES[request.param]


def told(f, *args) -> str:
    with tf.settings(nans=True), pytest.raises(FloatingPointError) as caught:
        f(*args)
    return str(caught.value)


def root(x):
    y = x - 1.0
    y = tf.sqrt(y)  # here: forwards
    return tf.reduce_sum(y)


def kink(x):
    y = tf.sqrt(x)  # here: backwards
    return tf.reduce_sum(y)


def steps(x):
    for _ in tf.range(5):
        x = tf.log(x)  # here: in a loop
    return tf.reduce_sum(x)


def until(x):
    while tf.reduce_sum(x) < 1e30:
        x = x * 1e10
        x = x * x  # here: until it overflows
    return tf.reduce_sum(x * 0.0 + 1.0)


def chosen(x):
    if tf.reduce_sum(x) > 0.0:
        y = 1.0 / x  # here: in a branch
    else:
        y = x
    return tf.reduce_sum(y)


def hidden(x):
    return tf.reduce_sum(tf.where(x > 0.0, tf.log(x), x))  # here: not in the result


def saturated(x):
    y = tf.exp(x * 100.0)  # here: vanishes in what follows
    return tf.reduce_sum(tf.tanh(y))


PROGRAMS = {
    "forwards": (root, "sqrt made a NaN at (0,) (1 of 3 elements), of finite inputs: float32[3] = [-1.0,"),
    "in a loop": (steps, "log made an infinity at (0,)"),
    "until it overflows": (until, "multiply made an infinity at (1,)"),
    "in a branch": (chosen, "divide made an infinity at (0,)"),
    "not in the result": (hidden, "log made an infinity at (0,)"),
    "vanishes in what follows": (saturated, "exp made an infinity at (1,)"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_first_op_is_named_with_its_line(mode, name):
    f, message = PROGRAMS[name]
    found = told(mode(f), tf.constant([0.0, 1.0, 4.0]))
    assert found.startswith(message)
    assert found.endswith(f"# here: {name}")


def test_a_nan_is_told_before_an_infinity(mode):
    found = told(mode(lambda x: tf.math.log(x)), tf.constant([0.0, -1.0, 1.0]))  # -inf, NaN, 0
    assert found.startswith("log made a NaN at (1,) (1 of 3 elements), of finite inputs")
    with pytest.raises(tf.errors.NonFinite), tf.settings(nans=True):
        mode(lambda x: tf.math.log(x))(tf.constant(-1.0))


def test_of_a_gradient_it_is_the_line_that_is_differentiated(mode):
    found = told(mode(tf.grad(kink)), tf.constant([0.0, 1.0]))
    assert found.startswith("the gradient of this line: divide made an infinity at (0,)")
    assert found.endswith("# here: backwards")


def test_second_derivatives(mode):
    def f(x):
        return tf.reduce_sum(x**1.5)  # here: twice

    second = tf.grad(lambda x: tf.reduce_sum(tf.grad(f)(x)))
    found = told(mode(second), tf.constant([0.0, 1.0]))
    assert found.startswith("the gradient of this line: pow made an infinity")
    assert found.endswith("# here: twice")


def test_a_tape_over_a_compiled_function():
    f, x = tf.function(kink), tf.constant([0.0, 1.0])

    def gradient():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    assert told(gradient).endswith("# here: backwards")


def test_gradients_of_loops(mode):
    def f(x):
        for _ in tf.range(3):
            x = tf.sqrt(x) * x  # here: backwards in a loop
        return tf.reduce_sum(x)

    assert told(mode(tf.grad(f)), tf.constant([0.0, 1.0])).endswith("# here: backwards in a loop")


def test_what_was_not_finite_before_is_let_through(mode):
    @mode
    def masked_softmax(x):
        x = tf.where(x > 0.0, x, -np.inf)
        e = tf.exp(x - tf.reduce_max(x))
        return e / tf.reduce_sum(e)

    x = tf.constant([0.0, 1.0, 1.0])
    with tf.settings(nans=True):
        assert masked_softmax(x).numpy().tolist() == [0.0, 0.5, 0.5]
        assert np.isnan(mode(tf.sqrt)(tf.constant(np.nan)))


def test_integers_complex_numbers_and_casts(mode):
    assert "divide made an infinity" in told(mode(lambda n: 1 / n), tf.constant(0))
    assert "divide made" in told(mode(lambda z: 1.0 / z), tf.constant(0j))
    half = mode(lambda x: tf.cast(x, tf.float16))
    assert "cast made an infinity" in told(half, tf.constant(1e5))


def several(x):
    y, total = tf.sin(x) * tf.exp(-x * x), 0.0
    for i in tf.range(10):
        y = tf.tanh(y * 1.5) + tf.where(x > 0.0, y, 0.1 * y)
        total = total + tf.reduce_max(y) / (1.0 + tf.cast(i, tf.float32))
    return y, -tf.abs(y) * 0.0, total


def test_results_are_what_they_are_otherwise():
    x = tf.linspace(-2.0, 2.0, 300)
    plain, watching = tf.function(several), tf.function(several)
    with tf.settings(nans=True):
        got = watching(x)
    for a, b in zip(plain(x), got, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-6)
        assert (np.signbit(a) == np.signbit(b)).all()  # of zeros too


def test_sizes_that_are_not_known_while_tracing():
    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def f(x):
        return tf.reduce_mean(tf.log(x), axis=0)  # here: any size

    with tf.settings(nans=True):
        np.testing.assert_array_equal(f(np.ones((3, 2), np.float32)), [0.0, 0.0])
        assert f(np.ones((3, 0), np.float32)).shape == (0,)
    assert told(f, np.zeros((4, 5), np.float32)).endswith("# here: any size")


def test_an_infinity_that_many_are_divided_by(mode):
    @mode
    def f(x):
        total = tf.reduce_sum(x, axis=1, keepdims=True)  # here: rows
        return tf.reduce_sum((x / total) ** 2)

    @mode
    def steps(x):
        for _ in tf.range(3):
            total = tf.reduce_sum(x, axis=1, keepdims=True)  # here: rows in a loop
            x = x / total * 0.0 + x
        return tf.reduce_sum(x * 1e-9)

    assert told(f, np.full((60, 100), 1e307)).endswith("# here: rows")
    assert told(steps, np.full((60, 100), 1e307)).endswith("# here: rows in a loop")


def test_a_loop_carries_a_flag_only_where_it_must():
    def integrate(y):
        for _ in tf.range(1000):
            y = y + 0.01 * tf.sin(y) * (1.0 - y)
        return y

    assert len(_loops(tf.function(integrate))[0].init) == len(
        _loops(tf.function(integrate), watch=False)[0].init
    )
    assert len(_loops(tf.function(steps))[0].init) == len(_loops(tf.function(steps), watch=False)[0].init)

    def picked(y):
        for _ in tf.range(3):
            y = tf.stack([tf.reduce_max(tf.log(y)), 1.0])
        return y

    (loop,) = _loops(tf.function(picked), x=tf.ones([2]))
    assert len(loop.init) == len(_loops(tf.function(picked), watch=False, x=tf.ones([2]))[0].init) + 1


def _loops(f, watch=True, x=None):
    graph = optimized(f.graph(tf.ones([4]) if x is None else x))
    graph = watched(graph) if watch else graph
    return [loop for node in graph.nodes if (loop := LoopForm.of(node)) is not None]


def test_switching_on_and_off():
    f = tf.function(root)
    x = tf.constant([0.0, 1.0, 4.0])
    assert np.isnan(f(x))
    tf.debugging.check_numerics_everywhere()
    try:
        with pytest.raises(FloatingPointError):
            f(x)
    finally:
        tf.debugging.check_numerics_everywhere(False)
    for _ in range(100):  # machine code that calls it is not for the other setting
        assert np.isnan(f(x))
    assert told(f, x)


def test_what_the_compiler_computes_ahead():
    assert told(tf.function(lambda: tf.log(0.0))).startswith(
        "log made an infinity, of finite inputs: float32[] = 0.0"
    )


def test_exported_code_is_not_concerned(tmp_path):
    with tf.settings(nans=True):
        made = tf.export(tf.function(root), [tf.TensorSpec([3])], name="root", outputs=["value"])
    made.save(tmp_path / "root.so")
    assert np.isnan(tf.load(tmp_path / "root.so")(np.float32([0.0, 1.0, 4.0])))


def test_by_the_environment():
    program = """
        import tracejit as tf
        try:
            tf.log(0.0)
        except FloatingPointError as error:
            print(error)
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "TRACEJIT_NANS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.stdout.startswith("log made an infinity, of finite inputs: float32[] = 0.0"), run.stderr


def test_machine_code_makes_calls_that_watch_too():
    f, bad = tf.function(lambda x: tf.log(x) * 2.0), tf.constant([1.0, -1.0])
    with tf.settings(nans=True):
        for _ in range(100):
            np.testing.assert_array_equal(f(tf.constant([1.0, 1.0])), [0.0, 0.0])
        made = f.traces()[0].ready()
        assert made is None or len(made.signature.outputs) == 1
        with pytest.raises(FloatingPointError, match="log"):
            f(bad)
        assert np.isnan(f(tf.constant([1.0, np.nan]))[1])
        np.testing.assert_array_equal(f(tf.constant([1.0, 1.0])), [0.0, 0.0])


def test_nothing_is_assigned_by_a_call_that_made_what_is_not_finite():
    v = tf.Variable([4.0, 1.0])

    @tf.function
    def step(x):
        v.assign(tf.sqrt(v - x))
        return tf.reduce_sum(v)

    with tf.settings(nans=True):
        for _ in range(30):
            step(tf.constant([0.0, 0.0]))
        before = v.numpy()
        with pytest.raises(FloatingPointError, match="sqrt"):
            step(tf.constant([3.0, 0.0]))
        np.testing.assert_array_equal(v, before)


def test_fastmath_hides_nothing():
    with tf.settings(nans=True), pytest.raises(FloatingPointError, match="log"):
        tf.function(lambda x: tf.log(x), fastmath=True)(tf.constant([-1.0]))
