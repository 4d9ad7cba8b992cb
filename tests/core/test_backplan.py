"""Backward plans: the same bits as the rules give, for tapes that come back and for those that only look alike."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import tracejit as tf
from tracejit.core.autodiff import backplan
from tracejit.core.autodiff.backprop import backprop
from tracejit.core.errors import ShapeError
from tracejit.core.op import ops
from tracejit.core.tensor import elided
from tracejit.frontend.tape import operator_lane

TIMES = backplan.PATIENCE + 3


@pytest.fixture(autouse=True, params=["python", "machine code"])
def fresh(monkeypatch, request):
    """No plans yet; tapes are verified in Python, or by machine code."""
    monkeypatch.setattr(backplan, "_met", {})
    monkeypatch.setattr(backplan, "_plans", {})
    monkeypatch.setattr(backplan, "_latest", {})
    if request.param == "machine code" and not operator_lane.use(tf.GradientTape):
        pytest.skip("an interpreter or a NumPy that the code does not know")
    yield
    if request.param == "machine code":
        operator_lane.leave()


def gradient(f, *values, persistent=False):
    variables = [tf.Variable(v) for v in values]
    with tf.GradientTape(persistent=persistent) as tape:
        y = f(*variables)
    return [None if g is None else g.numpy() for g in tape.gradient(y, variables)]


def unplanned(monkeypatch, f, *values):
    with monkeypatch.context() as m:
        m.setattr(backplan, "LONGEST", 0)
        return gradient(f, *values)


def plans() -> int:
    return sum(p is not None for p in backplan._plans.values())


PROGRAMS = {
    "square": (lambda x: x**2, 3.0),
    "chain": (lambda x: tf.exp(tf.sin(x) * 0.5) / (x + 2.0), 0.7),
    "used twice": (lambda x: x * x + tf.tanh(x) * x, 1.5),
    "vector": (lambda x: tf.reduce_sum(x * tf.cos(x)), [0.1, 0.2, 0.3]),
    "broadcast": (lambda x: x * tf.constant([1.0, 2.0]), 3.0),
    "matmul": (lambda x: tf.reduce_mean((x @ tf.transpose(x)) ** 2), [[1.0, 2.0], [3.0, 4.0]]),
    "slices": (lambda x: x[0] * x[1:] + x[-1], [1.0, 2.0, 3.0]),
    "where": (lambda x: tf.where(x > 0.0, tf.sqrt(x), -x), [-1.0, 0.0, 4.0]),
    "max": (lambda x: tf.reduce_max(x), [2.0, 5.0, 5.0]),
    "rows": (lambda x: list(x)[1] * 3.0, [1.0, 2.0]),
    "nan": (lambda x: tf.log(1.0 + tf.exp(x)), 100.0),
    "complex": (lambda z: z * z, 1 + 2j),
    "complex infinity": (lambda z: z * tf.constant(complex("inf")), 1 + 2j),
    "float64": (lambda x: tf.exp(x) * x, np.float64(0.3)),
    "empty": (lambda x: tf.reduce_sum(x * 2.0), np.zeros((0, 3))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_bits_as_without_a_plan(name, monkeypatch):
    f, value = PROGRAMS[name]
    wanted = unplanned(monkeypatch, f, value)
    for _ in range(TIMES):
        (found,) = gradient(f, value)
        assert found.dtype == wanted[0].dtype
        np.testing.assert_array_equal(found, wanted[0])
    assert plans() == 1


def test_new_values_go_through_the_same_plan():
    for k in range(1, TIMES + 1):
        x = tf.Variable(float(k))
        with tf.GradientTape() as tape:
            y = x**3 + tf.constant(float(k)) * x
        assert float(tape.gradient(y, x)) == 3.0 * k * k + k
    assert plans() == 1


def test_what_is_none_stays_none():
    for _ in range(TIMES):
        a, b = gradient(lambda a, b: a * 2.0 + tf.stop_gradient(b), 1.0, 2.0)
        assert a == 2.0 and b is None
    assert plans() == 1


def test_attributes_that_compare_equal_and_are_not():
    for _ in range(TIMES):
        for zero in (0.0, -0.0):
            (found,) = gradient(lambda x, v=zero: x * ops.fill(shape=(), value=v, dtype=x.dtype), 1.0)
            assert np.copysign(1.0, found) == np.copysign(1.0, zero)


def test_shapes_and_dtypes_tell_tapes_apart():
    for _ in range(TIMES):
        for value in (2.0, np.float64(2.0), [2.0], [[2.0, 2.0]]):
            (found,) = gradient(lambda x: tf.reduce_sum(x * x), value)
            np.testing.assert_array_equal(found, 2 * np.asarray(tf.constant(value)))


def test_weights_of_the_target_are_no_ones():
    x = tf.Variable(3.0)
    for weight in [None, 1.0, 2.0, -1.0] * TIMES:
        with tf.GradientTape() as tape:
            y = x * x
        found = tape.gradient(y, x, output_gradients=None if weight is None else tf.constant(weight))
        assert float(found) == 6.0 * (1.0 if weight is None else weight)


def test_persistent_tapes_keep_their_records():
    x = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
        z = y * y
    for _ in range(TIMES):
        assert float(tape.gradient(z, x)) == 108.0
        assert float(tape.gradient(y, x)) == 6.0
        assert float(tape.gradient(z, y)) == 18.0


def test_higher_derivatives_are_recorded_as_ever():
    x = tf.Variable(2.0)
    for _ in range(TIMES):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = x**3
            first = inner.gradient(y, x)
        assert float(outer.gradient(first, x)) == 12.0


def test_large_tensors_get_no_plan():
    for _ in range(TIMES):
        gradient(lambda x: tf.reduce_sum(x + x), np.ones(backplan.LARGEST_BYTES))
    assert plans() == 0


def test_values_that_no_rule_uses_are_dropped_and_the_rest_is_planned(monkeypatch):
    """Larger tensors, of which records keep what their own rule uses: each value is found where it was kept."""
    rng = np.random.default_rng(0)
    x, w, v, b = (rng.normal(size=shape) for shape in ((64, 32), (32, 24), (24, 16), (16,)))

    def network(w, v, b):
        h = tf.nn.relu(tf.constant(x) @ w)
        return tf.reduce_sum(tf.nn.softmax(tf.exp(h @ v * 0.1) + b) * tf.stop_gradient(h @ v))

    wanted = unplanned(monkeypatch, network, w, v, b)
    for _ in range(TIMES):
        for g, w_ in zip(gradient(network, w, v, b), wanted, strict=True):
            np.testing.assert_array_equal(g, w_)
    assert plans() == 1
    monkeypatch.setattr("tracejit.frontend.tape.gradient_tape.backprop", None)
    gradient(network, w, v, b)


def test_a_dropped_value_is_refused_by_numpy():
    shell = elided(tf.constant([1.0, 2.0]))
    assert shell.shape == (2,) and shell.dtype == np.float32 and shell._payload.nbytes == 0
    for use in (np.negative, np.asarray, lambda a: np.equal(a, np.ones(2)), lambda a: np.take(a, [0])):
        with pytest.raises(TypeError):
            use(shell._payload)


def test_python_rules_run_every_time():
    seen = []

    @tf.custom_gradient
    def doubled(x):
        def rule(g):
            seen.append(1)
            return 2.0 * g

        return x * 1.0, rule

    for _ in range(TIMES):
        assert gradient(doubled, 1.0) == [2.0]
    assert len(seen) == TIMES


def test_errors_of_rules_keep_their_wording():
    x = tf.Variable([1.0, 2.0])
    for _ in range(TIMES):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(x)
        with pytest.raises(ShapeError, match="output_gradients"):
            tape.gradient(y, x, output_gradients=tf.constant([1.0, 2.0, 3.0]))


def test_grad_uses_plans_too():
    square = tf.grad(lambda x: x * x)
    for k in range(TIMES):
        assert float(square(float(k))) == 2.0 * k
    assert plans() == 1


def test_the_source_may_be_the_target():
    for _ in range(TIMES):
        x = tf.constant(3.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * 2.0
        assert [float(g) for g in tape.gradient([x, y], [x, y])] == [3.0, 1.0]


def test_a_plan_that_fails_leaves_it_to_the_rules(monkeypatch):
    for _ in range(TIMES):
        gradient(lambda x: x * x, 3.0)
    ((key, _),) = backplan._plans.items()

    def broken(*args):
        raise ValueError("broken")

    monkeypatch.setitem(backplan._plans, key, broken)
    monkeypatch.setattr(backplan, "_latest", {})
    calls = []
    monkeypatch.setattr(
        "tracejit.frontend.tape.gradient_tape.backprop", lambda *a, **k: calls.append(a) or backprop(*a, **k)
    )
    assert gradient(lambda x: x * x, 3.0) == [6.0]
    assert calls


def test_nothing_is_kept_of_calls_with_rules_of_their_own():
    """What a rule closes over is that call's: a table of tapes that were met kept thousands of them alive."""
    alive = weakref.WeakSet()

    @tf.custom_gradient
    def doubled(x):
        held = Held()
        alive.add(held)
        return x * 2.0, lambda g: g * held.factor

    for _ in range(TIMES):
        assert gradient(doubled, 3.0) == [2.0]
    gc.collect()
    assert not alive


class Held:
    """What a rule closes over."""

    factor = 2.0


def test_a_plan_is_what_runs(monkeypatch):
    """Were the rules asked instead, the rest of this file would test nothing."""
    for _ in range(TIMES):
        gradient(lambda x: x * x, 3.0)
    monkeypatch.setattr("tracejit.frontend.tape.gradient_tape.backprop", None)
    assert gradient(lambda x: x * x, 5.0) == [10.0]


def test_tapes_that_look_alike_at_first(monkeypatch):
    """As long, ended by the same op at the same place: who feeds whom, attributes and sources differ."""

    def program(a, b, k):
        x, y = [(a, a), (a, b), (b, a), (b, b)][k % 4]
        return tf.reduce_sum(x * y, axis=k // 4)

    for _ in range(TIMES):
        for k in range(8):
            value = [[1.0, 2.0], [3.0, 4.0]]
            wanted = unplanned(monkeypatch, lambda a, b, k=k: program(a, b, k), value, value)
            found = gradient(lambda a, b, k=k: program(a, b, k), value, value)
            assert [g is None for g in found] == [g is None for g in wanted]
            for g, w in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(g, w)


def test_the_plan_used_last_does_not_answer_for_other_sources_and_targets():
    a, b = tf.Variable(2.0), tf.Variable(3.0)
    for _ in range(TIMES):
        with tf.GradientTape(persistent=True) as tape:
            y = a * b
            z = y * a
        assert float(tape.gradient(z, a)) == 12.0
        assert float(tape.gradient(z, b)) == 4.0
        assert float(tape.gradient(z, y)) == 2.0
        assert float(tape.gradient(y, a)) == 3.0
        assert [float(g) for g in tape.gradient(z, [b, a])] == [4.0, 12.0]
        assert [float(g) for g in tape.gradient([y, z], [a, a])] == [15.0, 15.0]
        assert tape.gradient(z, tf.constant(1.0)) is None


def test_one_tensor_in_two_places_of_a_tape():
    """Tensors that were different when a plan was made, and are one now."""
    for k in range(3 * TIMES):
        x = tf.constant(2.0)
        y = x if k % 3 == 2 else tf.constant(5.0)
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            z = tf.sin(x) * y
        dx, dy = tape.gradient(z, [x, y])
        s, c = np.sin(np.float32(2.0)), np.cos(np.float32(2.0))
        wanted = (c * np.float32(2.0) + s,) * 2 if y is x else (c * np.float32(5.0), s)
        np.testing.assert_allclose([float(dx), float(dy)], wanted, rtol=1e-6)
