"""Gradients of tapes that come back are machine code from end to end: the same bits, errors, explanations as ever."""

from __future__ import annotations

import inspect
import math
import random
import sys
from typing import Any

import numpy as np
import pytest

import tracejit as tf
from checks.memory import collect
from checks.operators import in_python, lane, needs_lane  # noqa: F401  lane is a fixture
from tracejit.core.autodiff import backplan
from tracejit.frontend.tape.watching import GradientWarning

pytestmark = needs_lane
TIMES = backplan.PATIENCE + 3
OPS = [
    tf.sin,
    tf.exp,
    tf.tanh,
    tf.square,
    tf.negative,
    tf.sqrt,
    lambda x: x * x,
    lambda x: x + 0.5,
    lambda x: 2.0 / x,
]


def bits(g: Any) -> Any:
    return None if g is None else (g.dtype, g.shape, g.numpy().tobytes())


def program(seed: int) -> Any:
    """Gradients of a random program, asked for again and again with other numbers."""
    rng = random.Random(seed)
    chosen = [rng.choice(OPS) for _ in range(rng.randrange(1, 8))]
    shape, dtype = rng.choice([(), (3,), (2, 2), (0,), (300,)]), rng.choice(["float32", "float64"])
    numbers = np.random.default_rng(seed)
    ends = rng.random() < 0.3
    found = []
    for _ in range(TIMES):
        value = numbers.normal(size=shape).astype(dtype)
        x = tf.Variable(value) if rng.random() < 0.5 else tf.constant(value)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for f in chosen:
                y = f(y)
            y = tf.reduce_sum(y) if ends else y
        found.append(bits(tape.gradient(y, x)))
        with pytest.raises(RuntimeError, match="can only be used"):
            tape.gradient(y, x)
    return found


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_random_programs() -> None:
    for seed in range(60):
        assert program(seed) == in_python(lambda s=seed: program(s)), seed


def test_it_is_the_plan_that_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tf.constant([1.0, 2.0])

    def gradient() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sin(x) * x
        return tape.gradient(y, x)

    wanted = {bits(gradient()) for _ in range(TIMES)}
    monkeypatch.setattr(backplan, "backprop", None)
    monkeypatch.setattr(tf.GradientTape, "_pulled", None)
    assert {bits(gradient())} == wanted


def test_a_source_or_target_that_is_not_watched_this_time() -> None:
    a, b = tf.constant([2.0]), tf.constant([3.0])
    for again in range(3 * TIMES):
        with tf.GradientTape() as tape:
            tape.watch(a)
            if again % 3:
                tape.watch(b)
            y = a * b
        g = tape.gradient(*((y, b) if again % 2 else (b, b)))
        assert (g is None) == (again % 3 == 0)
        assert g is None or g.numpy().tolist() == ([2.0] if again % 2 else [1.0])


def test_gradients_that_are_zero_or_nan_are_explained() -> None:
    def tried(value: float) -> list[Any]:
        found = []
        for _ in range(TIMES):
            x = tf.constant([value, value])
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.sqrt(x * x)
            g = tape.gradient(y, x)
            found.append((bits(g), tape.explain(y, x).cause))
        return found

    for value in (0.0, 1.0, float("nan")):
        assert tried(value) == in_python(lambda v=value: tried(v))


@pytest.mark.filterwarnings("ignore:Calling GradientTape.gradient")
def test_what_else_tapes_do() -> None:
    def tried() -> list[Any]:
        found: list[Any] = []
        x = tf.constant([1.0, -2.0])
        v = tf.Variable([3.0, 4.0])
        for _ in range(TIMES):
            with tf.GradientTape(persistent=True) as outer:
                outer.watch(x)
                with tf.GradientTape() as inner:
                    inner.watch(x)
                    y = x * x * x
                g = inner.gradient(y, x)
                found.append(bits(outer.gradient(y, x)))
            found += [bits(g), bits(outer.gradient(g, x)), bits(outer.gradient(g, x))]
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                y = v * v
            found.append(bits(tape.gradient(y, v)))
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x * x
                with tape.stop_recording():
                    z = y * x
                z = z * y
            found.append(bits(tape.gradient(z, x)))
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x * x
                found.append(bits(tape.gradient(y, x)))
            with tf.GradientTape() as tape:
                tape.watch([x, v])
                y = x * v
                tape.reset()
                tape.watch(v)
                y = x * v
            found.append((bits(tape.gradient(y, v)), [w.name for w in tape.watched_variables()]))
            found.append(bits(tape_again(tape, x)))
        return found

    def tape_again(tape: tf.GradientTape, x: Any) -> Any:
        with tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y, x)

    assert tried() == in_python(tried)


def test_what_is_wrong_is_said_as_ever() -> None:
    x = tf.constant([1.0])
    for _ in range(TIMES):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
            with pytest.raises(ValueError, match="still recording"):
                tape.__enter__()
        with pytest.raises(ValueError, match="unconnected_gradients"):
            tape.gradient(y, x, unconnected_gradients="nothing")
        with pytest.raises(ValueError, match="Passed in object"):
            tape.watch("x")
        with pytest.raises(TypeError):
            tape.watch()
        with pytest.warns(GradientWarning, match="floating"):
            tape.watch(tf.constant([1]))
    assert list(inspect.signature(tf.GradientTape.watch).parameters) == ["self", "tensor", "propagate"]


def test_errors_leave_no_tape_behind() -> None:
    x = tf.constant([1.0])
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), tf.GradientTape() as tape:
            tape.watch(x)
            math.sqrt(0) / 0
        assert tf.core.tracing.dispatch.state.recorders == () and not tape._recording
    tape.__exit__(None, None, None)


def test_nothing_is_kept() -> None:
    x = tf.constant([1.0, 2.0])
    v = tf.Variable([1.0, 2.0])

    def work(n: int) -> None:
        for _ in range(n):
            for source in (x, v):
                with tf.GradientTape() as tape:
                    tape.watch(source)
                    y = tf.sin(source) ** 2
                tape.gradient(y, source)

    work(100)
    plans = [p for p in backplan._latest.values() if p is not None]
    things = [x, x._payload, v.handle, v._value, None, True, False, (), tf.GradientTape, tf.Tensor, *plans]
    things += [backplan._ones[(2,), x.dtype.num], backplan._ones[(2,), x.dtype.num]._payload, x.dtype]
    collect()
    before, blocks = [sys.getrefcount(t) for t in things], sys.getallocatedblocks()
    work(5000)
    collect()
    assert max(abs(sys.getrefcount(t) - b) for t, b in zip(things, before, strict=True)) < 40
    assert sys.getallocatedblocks() - blocks < 500
