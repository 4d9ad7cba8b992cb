"""Compiled functions on tapes: calls and gradients that the lane makes are those that Python makes."""

import functools
import gc
import inspect
import sys
import weakref

import numpy as np
import pytest

import tracejit as tf
from tracejit.frontend.recording import direct_calls
from tracejit.frontend.recording.direct_calls import lane_code

TIMES = 30  # more than a call goes the Python way before the lane makes it


@pytest.fixture(autouse=True, scope="module")
def made():
    lane_code(make=True)


@pytest.fixture
def taken(monkeypatch):
    """Shapes that were handed to the lane."""
    offer, offered = direct_calls.Direct.offer, []
    monkeypatch.setattr(
        direct_calls.Direct, "offer", lambda self, shapes: (offered.append(shapes), offer(self, shapes))[1]
    )
    return offered


def _tape(f, args, sources, **how):
    with tf.GradientTape(**how) as tape:
        for x in sources:
            tape.watch(x)
        y = f(*args)
    return y, tape.gradient(y, sources)


x3, w3, b3 = (tf.constant(np.array(v)) for v in ([0.5, -1.0, 2.0], [1.0, 3.0, -2.0], [0.1, 0.2, 0.3]))
CASES = {
    "one": (lambda x: tf.reduce_sum(tf.sin(x) ** 2), (x3,), (x3,)),
    "an array": (lambda x: tf.exp(x) * x, (x3,), (x3,)),
    "several": (lambda x, w, b: tf.reduce_sum(tf.tanh(x * w + b)), (x3, w3, b3), (w3, b3)),
    "one of several": (lambda x, w: tf.reduce_sum(x * w * w), (x3, w3), (w3,)),
    "twice the same": (lambda x, w: tf.reduce_sum(x * w), (x3, x3), (x3,)),
    "a number": (lambda x, k: tf.reduce_sum(x**k), (x3, 3), (x3,)),
    "a float": (lambda x, k: tf.reduce_sum(x * k), (x3, 3.5), (x3,)),
    "an array of NumPy's": (lambda x, k: tf.reduce_sum(x * k), (x3, np.arange(3.0)), (x3,)),
    "a name": (lambda x, k=2.0: tf.reduce_sum(x * k), (x3,), (x3,)),
    "not connected": (lambda x, w: tf.reduce_sum(x), (x3, w3), (x3, w3)),
    "empty": (lambda x: tf.reduce_sum(x * x), (tf.zeros((0, 3)),), ()),
    "one element": (lambda x: x * x, (tf.ones((1, 1)),), ()),
    "nests": (lambda p: tf.reduce_sum(p["w"] * p["b"][0]), ({"w": w3, "b": [b3]},), (w3, b3)),
    "not finite": (lambda x: tf.reduce_sum(tf.sqrt(x) / x), (tf.constant([0.0, -1.0, np.inf]),), ()),
}


@pytest.mark.parametrize("case", CASES)
def test_gradients_are_those_of_the_eager_lines(case):
    f, args, sources = CASES[case]
    compiled = tf.function(f)
    sources = list(sources or args)
    expected = _tape(f, args, sources)
    for _ in range(TIMES):
        y, grads = _tape(compiled, args, sources)
        np.testing.assert_allclose(y.numpy(), expected[0].numpy(), rtol=1e-12)
        for g, e in zip(grads, expected[1], strict=True):
            assert (g is None) == (e is None)
            if g is not None:
                assert g.dtype == e.dtype and g.shape == e.shape
                np.testing.assert_allclose(g.numpy(), e.numpy(), rtol=1e-12)


def test_the_lane_makes_the_calls(taken):
    f = tf.function(lambda x: tf.reduce_sum(tf.sin(x)))
    for _ in range(TIMES):
        _, (g,) = _tape(f, (x3,), [x3])
    assert [(3,)] in taken and len(taken) == 2, "the forward and the backward"
    np.testing.assert_allclose(g.numpy(), np.cos(x3.numpy()))


def test_results_of_several_tapes_stay_apart():
    f = tf.function(lambda x: x * x)
    kept = []
    for k in range(TIMES):
        x = tf.constant([float(k)])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        kept.append((tape, x, y, k))
    for tape, x, y, k in reversed(kept):
        assert y.numpy() == [k * k] and tape.gradient(y, x).numpy() == [2.0 * k]


def test_variables_are_read_and_watched():
    w, b = tf.Variable([1.0, 2.0]), tf.Variable(3.0)
    f = tf.function(lambda x: tf.reduce_sum(x * w * w) + b)
    x = tf.constant([5.0, 7.0])
    for k in range(TIMES):
        w.assign([1.0 + k, 2.0])
        with tf.GradientTape() as tape:
            y = f(x)
        gw, gb, gx = tape.gradient(y, [w, b, x])
        np.testing.assert_allclose(gw.numpy(), [10.0 * (1 + k), 28.0])
        assert gb.numpy() == 1.0 and gx is None
        assert {v.ref() for v in tape.watched_variables()} == {w.ref(), b.ref()}


def test_a_variable_that_is_read_beside_the_call_counts_twice():
    w = tf.Variable([1.0, 2.0])
    f = tf.function(lambda x: tf.reduce_sum(x * w))
    for _ in range(TIMES):
        with tf.GradientTape() as tape:
            y = f(w * 1.0)
        np.testing.assert_allclose(tape.gradient(y, w).numpy(), [2.0, 4.0])
        with tf.GradientTape() as tape:
            y = f(tf.convert_to_tensor(w))
        np.testing.assert_allclose(tape.gradient(y, w).numpy(), [2.0, 4.0])


def test_assigned_variables():
    w = tf.Variable(0.0)
    f = tf.function(lambda x: w.assign_add(x) * x)
    x = tf.constant(2.0)
    for k in range(TIMES):
        y, (g,) = _tape(f, (x,), [x])
        assert w.numpy() == 2.0 * (k + 1) and y.numpy() == 4.0 * (k + 1)
        assert g.numpy() == 2.0 * (k + 1), "what was assigned is where derivatives end"


def test_several_results_and_weights():
    f = tf.function(lambda x: (x * x, tf.exp(x), tf.cast(x, tf.int32)))
    for _ in range(TIMES):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x3)
            a, b, _ = f(x3)
        np.testing.assert_allclose(tape.gradient(a, x3).numpy(), 2 * x3.numpy())
        np.testing.assert_allclose(tape.gradient(b, x3).numpy(), np.exp(x3.numpy()))
        np.testing.assert_allclose(tape.gradient([a, b], x3).numpy(), 2 * x3.numpy() + np.exp(x3.numpy()))
        weights = tf.constant(np.array([1.0, 2.0, 3.0]))
        g = tape.gradient([a, b], x3, output_gradients=[weights, weights])
        np.testing.assert_allclose(g.numpy(), [1, 2, 3] * (2 * x3.numpy() + np.exp(x3.numpy())))


def test_second_derivatives_by_tapes_around_tapes():
    f = tf.function(lambda x: tf.reduce_sum(x**3))
    for _ in range(TIMES):
        with tf.GradientTape() as outer:
            outer.watch(x3)
            _, (g,) = _tape(f, (x3,), [x3])
            total = tf.reduce_sum(g * g)
        np.testing.assert_allclose(outer.gradient(total, x3).numpy(), 36 * x3.numpy() ** 3)
        np.testing.assert_allclose(
            tf.grad(lambda x: tf.reduce_sum(tf.grad(lambda z: f(z))(x)))(x3).numpy(), 6 * x3.numpy()
        )


def test_the_target_is_a_source():
    f = tf.function(lambda x: x * x)
    for _ in range(TIMES):
        with tf.GradientTape() as tape:
            tape.watch(x3)
            y = f(x3)
        g, own = tape.gradient(y, [x3, y])
        np.testing.assert_allclose(g.numpy(), 2 * x3.numpy())
        np.testing.assert_allclose(own.numpy(), 1.0)


def test_other_shapes_and_settings_are_looked_at_again():
    f = tf.function(lambda x: tf.reduce_sum(tf.math.log(x)), reduce_retracing=True)
    for n in (*range(1, 6), 2, 3) * 5:
        x = tf.constant(np.arange(1.0, n + 1))
        _, (g,) = _tape(f, (x,), [x])
        np.testing.assert_allclose(g.numpy(), 1 / x.numpy())
    with tf.settings(nans=True), pytest.raises(Exception, match="log"):
        _tape(f, (tf.constant([-1.0]),), [x3])
    _, (g,) = _tape(f, (x3,), [x3])
    np.testing.assert_allclose(g.numpy(), 1 / x3.numpy())


def test_what_fails_is_told_once_and_leaves_no_record():
    def looked_up(x, i):
        return tf.reduce_sum(x[i])

    f = tf.function(looked_up)
    for k in range(TIMES):
        i = tf.constant(k % 3)
        _, (g,) = _tape(f, (x3, i), [x3])
        np.testing.assert_allclose(g.numpy(), np.arange(3) == k % 3)
    with tf.GradientTape() as tape:
        tape.watch(x3)
        with pytest.raises(tf.errors.OutOfRange) as told:
            f(x3, tf.constant(7))
        y = f(x3, tf.constant(1))
    assert str(told.value).count("size 3") == 1 and __file__ in str(told.value)
    np.testing.assert_allclose(tape.gradient(y, x3).numpy(), [0.0, 1.0, 0.0])


def test_functions_of_python_are_called_once():
    calls = []

    def note(x):
        calls.append(float(x))
        return x

    @tf.function
    def f(x):
        return tf.reduce_sum(x) * tf.stop_gradient(tf.py_function(note, [x[0]], tf.float64))

    for k in range(TIMES):
        _tape(f, (x3,), [x3])
        assert len(calls) == k + 1


def test_the_line_of_the_call_is_known():
    f = tf.function(lambda x: tf.cast(tf.cast(x, tf.int32), tf.float64))
    for _ in range(TIMES):
        with tf.GradientTape() as tape:
            tape.watch(x3)
            y = f(x3)
        assert tape.gradient(y, x3) is None
    line = inspect.currentframe().f_lineno - 2
    told = tape.explain(y, x3)
    assert told.line in (line - 1, line, f.__wrapped__.__code__.co_firstlineno)


def test_memory_stays_flat_and_references_are_given_back():
    w = tf.Variable(np.ones(3))
    f = tf.function(lambda x: tf.reduce_sum(tf.sin(x * w)))
    x = tf.constant(np.ones(3))

    def once():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        tape.gradient(y, [x, w])

    for _ in range(200):
        once()
    gc.collect()
    blocks, held = sys.getallocatedblocks(), sys.getrefcount(x)
    for _ in range(2000):
        once()
    gc.collect()
    assert sys.getallocatedblocks() - blocks < 100 and sys.getrefcount(x) == held


def test_code_goes_with_its_function():
    f = tf.function(lambda x: tf.reduce_sum(x * x))
    for _ in range(TIMES):
        _tape(f, (x3,), [x3])
    (trace,) = f.traces()
    graph = weakref.ref(trace._parts[3])
    del f, trace
    gc.collect()
    assert graph() is None


class Scaled:
    def __init__(self):
        self.w = tf.Variable(2.0)

    @tf.function
    def times(self, x, k=1.0):
        """Scaled."""
        return x * self.w * k


def test_methods_are_bound_to_objects_that_they_keep():
    scaled = Scaled()
    for _ in range(TIMES):
        assert scaled.times(3.0).numpy() == 6.0 and scaled.times(3.0, k=2.0).numpy() == 12.0
    bound, ref = scaled.times, weakref.ref(scaled)
    assert bound.instance is scaled and bound.__name__ == "times" and "Scaled.times" in repr(bound)
    assert list(inspect.signature(bound).parameters) == ["x", "k"]
    del scaled
    gc.collect()
    assert bound(1.0).numpy() == 2.0
    gc.disable()
    try:
        del bound
        assert ref() is None, "without the help of the garbage collector"
    finally:
        gc.enable()


def test_a_bound_method_adds_nothing_and_is_bound_once():
    scaled = Scaled()

    class Other:
        method = scaled.times

    assert Other().method(3.0).numpy() == 6.0
    assert functools.partial(scaled.times, 3.0)(k=3.0).numpy() == 18.0
    with tf.GradientTape() as tape:
        y = scaled.times(3.0)
    assert tape.gradient(y, scaled.w).numpy() == 3.0
