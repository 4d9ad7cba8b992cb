"""Variables under machine code: reads, operators, gradients and updates are those of Python, and nothing is kept."""

from __future__ import annotations

import gc
import random
import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest

import tracejit as tf
from checks.memory import collect
from checks.operators import in_python, lane, needs_lane  # noqa: F401  lane is a fixture
from tracejit.core.autodiff import backplan
from tracejit.core.tracing.dispatch import NO_ATTRS, state
from tracejit.frontend.state.variable import COMPUTED
from tracejit.frontend.tape.watching import Tape
from tracejit.ops.state import read

pytestmark = needs_lane


def bits(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x), [bits(e) for e in x]
    if isinstance(x, dict):
        return [(k, bits(v)) for k, v in x.items()]
    return None if x is None else (x.np_dtype, x.shape, np.asarray(x).tobytes())


def kept(tape: tf.GradientTape, variables: list[tf.Variable]) -> Any:
    """What a tape has kept, tensors by where they came from."""
    names: dict[int, Any] = {v.handle.serial: v.name for v in variables}
    found = []
    for k, r in enumerate(tape.records):
        values = [bits(t) if isinstance(t._payload, np.ndarray) else None for t in (*r.inputs, *r.outputs)]
        given = [names.get(t.serial) for t in r.inputs]
        names.update({t.serial: (k, i) for i, t in enumerate(r.outputs)})
        found.append((r.op, given, values, str(r.location)))
    tracked = sorted(str(names.get(s)) for s in tape.tracked)
    return found, tracked, tape.held, tape.large, [v.name for v in tape.watched_variables()]


def made(rng: random.Random) -> list[tf.Variable]:
    """Some Variables, hardly ever alike."""
    draw = np.random.default_rng(rng.randrange(1 << 16))
    dtype, shape = rng.choice(["f4", "f8"]), rng.choice([(), (3,), (2, 3), (0,), (40, 30), (130, 130)])
    found = []
    for i in range(rng.randint(1, 4)):
        mine = shape if rng.random() < 0.7 else rng.choice([(), (3,), (1,)])
        kind = dtype if rng.random() < 0.85 else rng.choice(["f4", "f8", "i4", "c8", "f2"])
        value = draw.normal(size=mine).astype(kind)
        found.append(tf.Variable(value, trainable=rng.random() < 0.85, name=f"v{i}"))
    return found


CALLS = [
    lambda a, b: a + b, lambda a, b: b - a, lambda a, b: a * b, lambda a, b: b / a, lambda a, b: a**2,
    lambda a, b: tf.tanh(a), lambda a, b: tf.multiply(b, a), lambda a, b: tf.maximum(a, b), lambda a, b: -a,
    lambda a, b: tf.reduce_sum(a * b), lambda a, b: a**3, lambda a, b: a * a,
]  # fmt: skip


def program(seed: int) -> list[Any]:
    """A random program with tapes and Variables, told by all that can be seen of it."""
    rng, told = random.Random(seed), []
    variables = made(rng)
    tapes = [
        tf.GradientTape(rng.random() < 0.4, watch_accessed_variables=rng.random() < 0.85)
        for _ in range(rng.choice([0, 1, 1, 1, 2]))
    ]
    for tape in tapes:
        tape.__enter__()
        if rng.random() < 0.3:
            tape.watch(rng.choice(variables))
    values: list[Any] = list(variables)
    for _ in range(rng.randint(1, 8)):
        a, b = rng.choice(values), rng.choice([*values, *variables, 2.0, 3, 0.0])
        call, update, by = rng.choice(CALLS), rng.random() < 0.15, rng.choice(variables)
        try:
            if update:
                by.assign_sub(rng.choice([values[-1], tf.ones_like(by) * 2, 0.5]))
                told.append(bits(by))
                continue
            values.append(call(a, b))
        except (TypeError, ValueError) as error:
            told.append((type(error), str(error)))
            continue
        told.append((bits(values[-1]), COMPUTED.get(values[-1].serial, ("",))[0]))
    for tape in reversed(tapes):
        tape.__exit__(None, None, None)
    told += [kept(tape, variables) for tape in tapes]
    sources = rng.choice(
        [variables[0], variables, tuple(variables), {v.name[:2]: v for v in variables[::-1]}, [variables]]
    )
    for tape in tapes:
        told += [bits(tape.gradient(values[-1], sources)) for _ in range(1 + tape.persistent)]
    return told


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", [{}, {"nans": True}, {"debug_info": True}, {"fast": False}])
def test_programs_are_those_of_python(options: dict[str, bool]) -> None:
    for seed in range(12 if options else 120):
        with tf.settings(**{k: v for k, v in options.items() if k != "fast"}):
            for _ in range(backplan.PATIENCE + 2):
                found = program(seed)
            if options.get("fast", True):
                expected = in_python(lambda s=seed: program(s))
            else:
                with tf.settings(fast=False):
                    expected = program(seed)
        assert found == expected, seed


def test_what_was_read_is_what_counts() -> None:
    v = tf.Variable(3.0)
    for _ in range(backplan.PATIENCE + 3):
        v.assign(3.0)
        with tf.GradientTape() as tape:
            y = v * v
            v.assign(tf.constant(5.0))
            y = y * v
        assert [float(r.inputs[0]) for r in tape.records if r.op is read] == [3.0, 3.0, 5.0]
        assert float(tape.gradient(y, v)) == 3.0 * 5.0 * 2 + 9.0


def test_traces_do_not_take_it() -> None:
    v = tf.Variable(2.0)

    @tf.function
    def f(x: Any) -> Any:
        v.assign_add(x)
        return v**2 * x

    assert [float(f(tf.constant(1.0))), float(v), float(f(tf.constant(2.0)))] == [9.0, 3.0, 50.0]


def test_a_shape_that_does_not_fit_is_one_read_and_an_error_at_the_line() -> None:
    v, w = tf.Variable([1.0, 2.0]), tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape, pytest.raises(tf.ShapeError, match=r"test_variable_lane\.py"):
        v * w
    assert [r.op for r in tape.records] == [read, read]


def test_more_sources_and_fewer() -> None:
    v, w, x = (tf.Variable([float(k), 2.0]) for k in range(3))
    for sources in ([v, w], [w], [w, v], [v, v], [v, x], [v, 2.0], []):
        for _ in range(backplan.PATIENCE + 2):
            with tf.GradientTape() as tape:
                y = v * w
            found = tape.gradient(y, sources)
        values = {id(v): w, id(w): v}
        expected = [values.get(id(s)) for s in sources]
        assert bits(found) == bits([None if e is None else e.read_value() for e in expected])
        with pytest.raises(RuntimeError, match="persistent"):
            tape.gradient(y, sources)


def test_a_read_while_garbage_is_collected() -> None:
    """Whatever runs in between: another value, a tape that ends."""
    v, tapes = tf.Variable([1.0, 2.0]), []

    class Hook:
        def __del__(self) -> None:
            v.assign([3.0, 4.0])
            if tapes and isinstance(tapes[-1], Tape):
                tapes[-1].__exit__(None, None, None)

    before = gc.get_threshold()
    try:
        gc.set_threshold(1)
        for _ in range(200):
            v.assign([1.0, 2.0])
            hook: list[Any] = [Hook()]
            hook.append(hook)
            with tf.GradientTape() as tape:
                tapes.append(tape)
                del hook
                y = v * 2.0
            tapes.pop()
            assert np.asarray(y).tolist() in ([2.0, 4.0], [6.0, 8.0])
            for record in tape.records:
                if record.op is read:
                    assert record.inputs[0]._payload is record.outputs[0]._payload
    finally:
        gc.set_threshold(*before)
    assert state.recorders == ()


def test_nothing_is_kept() -> None:
    v, w, x = tf.Variable([1.0, 2.0]), tf.Variable(0.5), tf.constant([3.0, 4.0])
    code = test_nothing_is_kept.__code__
    things = [v, w, v.handle, w.handle, v.name, v._value.spec, None, NO_ATTRS, read, tf.Variable, code]

    def work(n: int) -> None:
        for _ in range(n):
            with tf.GradientTape() as tape:
                y = tf.exp(v * x - w) / v + w**2
            gradients = tape.gradient(y, {"v": v, "w": w})
            v.assign_sub(1e-6 * gradients["v"])
            w.assign_sub(1e-6 * gradients["w"])
            x * v, v * 2.0, tf.tanh(v)
            with tf.GradientTape() as tape:
                try:
                    v * "a"
                except TypeError:
                    pass

    work(50)
    COMPUTED.clear()
    collect()
    before = [sys.getrefcount(t) for t in things]
    tracemalloc.start()
    work(20)
    COMPUTED.clear()
    collect()
    start = tracemalloc.get_traced_memory()[0]
    work(300)
    COMPUTED.clear()
    collect()
    grown = tracemalloc.get_traced_memory()[0] - start
    tracemalloc.stop()
    after = [sys.getrefcount(t) for t in things]
    assert max(abs(a - b) for a, b in zip(after, before, strict=True)) < 20, list(
        zip(before, after, strict=True)
    )
    assert grown < 20_000
