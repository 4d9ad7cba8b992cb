"""What tapes keep of operators as machine code is what they keep of those in Python: records, what they follow."""

from __future__ import annotations

import gc
import random
import sys
import threading
import tracemalloc
from typing import Any

import numpy as np
import pytest

import tracejit as tf
from checks.memory import collect
from checks.operators import in_python, lane, needs_lane  # noqa: F401  lane is a fixture
from tracejit.core.tracing.dispatch import NO_ATTRS, in_place_of, located, state
from tracejit.frontend.tape.watching import Tape

pytestmark = needs_lane


class Quiet(tf.GradientTape):
    """A tape of a class of its own, which keeps nothing."""

    def record(self, record):
        pass


def described(tape: tf.GradientTape, known: list[tf.Tensor]) -> list[Any]:
    """What a tape has kept, tensors by where they came from, and how many it follows."""
    names: dict[int, Any] = {x.serial: f"x{i}" for i, x in enumerate(known)}
    found: list[Any] = []
    for k, r in enumerate(tape.records):
        names.setdefault(r.outputs[0].serial, f"y{k}")
        given = [names.get(t.serial, (t.dtype, t.shape, t.numpy().tobytes())) for t in r.inputs]
        assert type(r.inputs) is type(r.outputs) is tuple and len(r.outputs) == 1 and dict(r.attrs) == {}
        assert r.location is None or hash(r.location) == hash(tuple(r.location))
        found.append((r.op, given, names[r.outputs[0].serial], str(r.location)))
    return [*found, len(tape.tracked), tape.large, {names.get(s) for s in tape.tracked}]


def ways(seed: int, watched: int, tapes: int) -> Any:
    """A random chain of operators under tapes: what they keep, and the gradients of the last one."""
    rng = random.Random(seed)
    dtype = rng.choice(["float64", "float32"])
    xs = [tf.constant(np.array(v, dtype)) for v in ([1.0, -2.0, 3.0], 0.5, [4.0, 5.0, -6.0], [[2.0]])]
    stack = [tf.GradientTape(persistent=rng.random() < 0.5) for _ in range(tapes)]
    for tape in stack:
        tape.__enter__()
        for x in xs[:watched]:
            tape.watch(x)
    ys = list(xs[:3])
    for _ in range(rng.randrange(1, 12)):
        a, b = rng.choice(ys), rng.choice([*ys, xs[3], 2.0, 3, 0.25, 0.0])
        kind = rng.randrange(6)
        if kind == 0:
            y = a + b
        elif kind == 1:
            y = b - a
        elif kind == 2:
            y = a * b
        elif kind == 3:
            y = b / a
        elif kind == 4:
            y = a**2
        else:
            y = a**3
        ys.append(y if y.shape == (3,) else a)
    for tape in reversed(stack):
        tape.__exit__(None, None, None)
    kept = [described(tape, xs) for tape in stack]
    gradients = [tape.gradient(ys[-1], xs[:3]) for tape in stack]
    return kept, [[None if g is None else g.numpy().tobytes() for g in gs] for gs in gradients]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("watched", [0, 1, 2])
@pytest.mark.parametrize("tapes", [1, 2])
def test_tapes_keep_the_same(watched: int, tapes: int) -> None:
    for seed in range(60):
        assert ways(seed, watched, tapes) == in_python(lambda s=seed: ways(s, watched, tapes))


def test_the_line_of_each_call_is_the_users() -> None:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        y = (
            y
            + x
        )  # fmt: skip
    one, two = tape.records[:2]
    assert (one.location.file, two.location.line - one.location.line) == (__file__, 2)
    assert one.location.code.co_name == "test_the_line_of_each_call_is_the_users"


def test_operators_called_from_within_name_the_line_that_called() -> None:
    x, w = tf.constant([1.0, 2.0]), tf.Variable([3.0, 4.0])

    def kept() -> list[str]:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = w * x
            y = sum([y, y], start=x)
            sorted([y, y], key=lambda z: float(np.asarray(z * 2.0)[0]))
            with located(tape.records[0].location):
                y = y * 3.0
            with in_place_of(tape.records[0].location):
                y = y * 3.0
        return [str(r.location) for r in tape.records]

    assert kept() == in_python(kept) and len(set(kept())) > 3


@pytest.mark.parametrize("other", [[1.0, 2.0], np.array([1.0, 2.0], "f4"), 2**70, True, None, {}, "a", 1j])
def test_what_is_neither_tensor_nor_number(other: Any) -> None:
    x = tf.constant([1.0, 2.0])

    def tried() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            try:
                y = x * other
            except TypeError as error:
                return str(error)
        return tape.gradient(y, x).numpy().tolist(), described(tape, [x])

    assert tried() == in_python(tried)


def test_other_recorders_hear_it_all() -> None:
    x = tf.constant([1.0, 2.0])
    with Quiet() as quiet:
        quiet.watch(x)
        x * x
    assert quiet.records == []
    with tf.autodiff.ForwardAccumulator(x, tf.ones(2)) as forward:
        y = x * x
    np.testing.assert_array_equal(forward.jvp(y), [2.0, 4.0])
    with Tape() as tape:
        tape.watch(x)
        x * x
    assert len(tape.records) == 1


def test_what_is_not_followed_is_history() -> None:
    x, c = tf.constant(3.0), tf.constant(2.0)
    with tf.GradientTape() as tape:
        y = x * c
    assert tape.gradient(y, x) is None
    explanation = tape.explain(y, x)
    assert explanation.cause == "not watched"


def test_derivatives_of_derivatives() -> None:
    x = tf.constant(2.0)

    def third() -> list[float]:
        with tf.GradientTape() as a:
            a.watch(x)
            with tf.GradientTape() as b:
                b.watch(x)
                with tf.GradientTape(persistent=True) as c:
                    c.watch(x)
                    y = x * x**2 / 2.0
                one = c.gradient(y, x)
            two = b.gradient(one, x)
        return [float(one), float(two), float(a.gradient(two, x)), float(c.gradient(y, x))]

    assert third() == in_python(third) == [6.0, 6.0, 3.0, 6.0]


def test_a_tape_that_ends_while_garbage_is_collected() -> None:
    """Code that runs while records are made may end the tape: nothing is kept by it then, and nothing breaks."""
    x = tf.constant([1.0, 2.0])

    class Ending:
        def __init__(self, tape: tf.GradientTape):
            self.me, self.tape = self, tape

        def __del__(self) -> None:
            if self.tape._recording:
                self.tape._stop()

    before = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        for _ in range(50):
            with tf.GradientTape() as tape:
                tape.watch(x)
                Ending(tape)
                y = x
                for _ in range(20):
                    y = y * x + 1.0
            assert len(tape.records) <= 40
    finally:
        gc.set_threshold(*before)
    assert state.recorders == ()


def test_threads_have_tapes_of_their_own() -> None:
    found = {}

    def work(i: int) -> None:
        x = tf.constant([float(i), 1.0])
        for _ in range(30):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x
                for _ in range(20):
                    y = y * x + float(i)
            found[i] = len(tape.records), tape.gradient(y, x).numpy().tolist()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    expected = dict(found)
    in_python(lambda: [work(i) for i in range(6)])
    assert found == expected and all(n == 40 for n, _ in found.values())


def test_nothing_is_kept() -> None:
    x, y = tf.constant([1.0, 2.0]), tf.constant(3.0)
    things = [x, y, x._payload, None, NO_ATTRS, tf.GradientTape, type(x), test_nothing_is_kept.__code__]

    def work(n: int) -> None:
        for _ in range(n):
            with tf.GradientTape() as tape:
                tape.watch(x)
                z = (x * y + 1.5) / x - 2.5 * x**2
                y * y  # not followed
                with tf.GradientTape() as inner:
                    inner.watch(y)
                    y * z
            tape.gradient(z, x)

    work(50)
    collect()
    before = [sys.getrefcount(t) for t in things]
    tracemalloc.start()
    work(20)
    collect()
    start = tracemalloc.get_traced_memory()[0]
    work(400)
    collect()
    grown = tracemalloc.get_traced_memory()[0] - start
    tracemalloc.stop()
    assert max(abs(sys.getrefcount(t) - b) for t, b in zip(things, before, strict=True)) < 20
    assert grown < 10_000
