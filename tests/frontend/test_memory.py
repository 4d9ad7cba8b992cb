"""What is kept alive: by records only what their rules use, by tapes, functions and errors nothing else."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import numpy as np
import pytest

import tracejit as tf
from checks.memory import collect, grown_by
from checks.operators import needs_lane
from tracejit.frontend.tape import operator_lane

N = 10_000


@pytest.fixture(autouse=True)
def without_collector() -> Iterator[None]:
    """Everything here is freed by reference count."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Alive:
    """Which of the values made inside a program still have their memory."""

    def __init__(self):
        self.refs = {}

    def note(self, **tensors):
        for name, t in tensors.items():
            self.refs[name] = weakref.ref(t.array)

    def names(self):
        return {name for name, ref in self.refs.items() if ref() is not None}


def recorded(program, persistent=False):
    x = tf.Variable(np.random.default_rng(0).normal(size=N))
    alive = Alive()
    with tf.GradientTape(persistent) as tape:
        y = program(x, alive)
    return tape, x, y, alive


def test_row_15_linear_ops_keep_nothing():
    def program(x, alive):
        a = x + 1.0
        b = a - x
        c = -b
        d = tf.reshape(c, (100, 100))
        e = tf.transpose(d)
        f = tf.reduce_sum(e, axis=0)
        alive.note(a=a, b=b, c=c, d=d, e=e)
        return tf.reduce_sum(f)

    tape, x, y, alive = recorded(program)
    assert alive.names() == set()
    np.testing.assert_allclose(tape.gradient(y, x), np.zeros(N), atol=1e-12)


def test_row_15_what_a_rule_uses_is_kept_and_no_more():
    def program(x, alive):
        a = x * 2.0  # needs no value: the factor 2.0 is small
        b = tf.sin(a)  # needs its input a
        c = tf.exp(b)  # needs its output c, not b
        d = tf.relu(c)  # needs one of both
        e = d * c  # needs both
        f = tf.sqrt(e + 1.0)  # needs its output
        alive.note(a=a, b=b, c=c, d=d, e=e, f=f)
        return tf.reduce_sum(f)

    tape, x, y, alive = recorded(program)
    assert alive.names() == {"a", "c", "d", "f"}
    xs = x.numpy()
    c = np.exp(np.sin(2 * xs))
    expected = (1 / np.sqrt(c * c + 1)) * c * c * np.cos(2 * xs) * 2
    np.testing.assert_allclose(tape.gradient(y, x), expected, rtol=1e-12)
    assert alive.names() == set()


def test_row_15_only_the_tracked_side_counts():
    weights = tf.constant(np.ones(N))

    def program(x, alive):
        a = x + 1.0
        b = a * weights  # the gradient of a needs the weights, not a
        alive.note(a=a, b=b)
        return tf.reduce_sum(b)

    _, _, _, alive = recorded(program)
    assert alive.names() == set()


def test_second_order_through_lean_records():
    x = tf.constant(np.linspace(0.1, 1.0, N))
    f = lambda x: tf.reduce_sum(tf.sqrt(tf.exp(x) + x) * 2.0)
    second = tf.grad(lambda x: tf.reduce_sum(tf.grad(f)(x)))(x)
    v = np.asarray(x)
    u, du = np.exp(v) + v, np.exp(v) + 1
    np.testing.assert_allclose(second, np.exp(v) / np.sqrt(u) - du**2 / (2 * u**1.5), rtol=1e-10)


def test_a_persistent_tape_is_freed_with_its_last_name():
    tape, x, y, alive = recorded(
        lambda x, alive: (alive.note(a=(a := tf.exp(x))), tf.sin(a))[1], persistent=True
    )
    tape.gradient(y, x)
    assert alive.names() == {"a"}
    del tape
    assert alive.names() == set()


def test_tensors_do_not_point_to_tapes():
    tape, _, y, _ = recorded(lambda x, alive: tf.exp(x))
    ref = weakref.ref(tape)
    del tape
    assert ref() is None and y is not None


def test_compiled_functions_keep_no_variables_and_no_arguments():
    state = [tf.Variable(np.ones(N))]
    f = tf.function(lambda x: tf.reduce_sum(x * state[0]))
    x = tf.constant(np.ones(N))
    alive = weakref.ref(x.array)
    f(x)
    del x
    assert alive() is None
    alive = weakref.ref(state.pop())
    assert alive() is None


@pytest.mark.parametrize("operators", ["in Python", pytest.param("machine code", marks=needs_lane)])
def test_memory_is_flat_over_many_calls(operators):
    operator_lane.leave() if operators == "in Python" else operator_lane.use(tf.GradientTape)
    f = tf.function(lambda x: tf.sin(x) * 2.0)
    x = tf.constant(np.ones(8))
    v = tf.Variable(np.ones(8))

    def step():
        f(x)
        with tf.GradientTape() as tape:
            y = f(v * x)
        v.assign_sub(0.0 * tape.gradient(y, v))

    def steps():
        for _ in range(500):
            step()

    steps()
    collect()
    steps()
    cycles = gc.collect()
    grown = grown_by(steps)
    operator_lane.leave()
    assert cycles < 500, "a call must not leave a cycle behind"
    assert grown < 5_000
