"""Calls by machine code that fail raise what they raise in Python, and leave nothing behind; from threads, too."""

from __future__ import annotations

import gc
import random
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tf
from checks.operators import needs_lane
from tracejit.frontend.function import function
from tracejit.frontend.function.function import Function
from tracejit.frontend.recording.direct_calls import lane_code

pytestmark = needs_lane

GOOD = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
BAD = -GOOD
SINGULAR = np.ones((3, 3))
RIGHT = np.array([[1.0], [2.0], [3.0]])


@pytest.fixture(autouse=True, scope="module")
def made() -> Iterator[None]:
    """The lane's code, and lanes, which otherwise are made when they are worth it."""
    lane_code(make=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(function, "_SOON", 2)
        yield


def ready(f: Any, *args: Any) -> Any:
    """The function, once calls like this are made by machine code."""
    f._calls_to_wait = 2
    for _ in range(3):
        f(*args)
    f._calls_to_wait = 1000
    f(*args)
    assert f._calls_to_wait == 1000
    return f


def outcome(call: Callable[[], Any]) -> Any:
    """What a call gives, as bytes, or the class and the message of what it raises."""
    try:
        result = call()
    except Exception as error:
        return type(error), str(error)
    return [np.asarray(x).tobytes() for x in (result if isinstance(result, (tuple, list)) else [result])]


def factored() -> tuple[Any, list[tuple]]:
    f = tf.function(lambda a: (tf.linalg.cholesky(a), tf.reduce_sum(a)))
    return f, [(GOOD,), (BAD,), (GOOD + 1.0,), (tf.constant(BAD),), (SINGULAR - 2.0,)]


def solved() -> tuple[Any, list[tuple]]:
    f = tf.function(lambda a, b: tf.linalg.solve(a, b))
    return f, [(GOOD, RIGHT), (np.zeros((3, 3)), RIGHT), (GOOD.T, -RIGHT), (np.diag([1.0, 0.0, 1.0]), RIGHT)]


def picked() -> tuple[Any, list[tuple]]:
    f = tf.function(lambda x, k: [tf.gather(x, k), x * 2.0])
    return f, [(RIGHT, np.array([k, 1])) for k in (0, 2, 3, -4, -1, 7)]


def checked() -> tuple[Any, list[tuple]]:
    @tf.function
    def f(x):
        tf.debugging.assert_non_negative(x, message="below zero")
        return tf.sqrt(x)

    return f, [(RIGHT,), (-RIGHT,), (RIGHT * 0.0,), (RIGHT - 2.0,)]


def differentiated() -> tuple[Any, list[tuple]]:
    @tf.function
    def f(a):
        with tf.GradientTape() as tape:
            tape.watch(a)
            y = tf.reduce_sum(tf.linalg.cholesky(a))
        return y, tape.gradient(y, a)

    return f, [(GOOD,), (BAD,), (2.0 * GOOD,)]


def looped() -> tuple[Any, list[tuple]]:
    @tf.function
    def f(x, n):
        y = x
        for i in tf.range(n):
            tf.debugging.assert_less(tf.reduce_sum(y), 100.0, message="too much")
            y = y + tf.cast(i, tf.float64)
        return y

    return f, [(RIGHT, np.array(n, np.int32)) for n in (0, 3, 5, 20, 4)]


KINDS = [factored, solved, picked, checked, differentiated, looped]


@pytest.mark.parametrize("make", KINDS)
def test_failing_calls_are_as_in_python(make: Callable[[], tuple[Any, list[tuple]]]) -> None:
    f, calls = make()
    ready(f, *calls[0])
    rng, kept = random.Random(1), []
    expected = [outcome(lambda c=c: Function.__call__(f, *c)) for c in calls]
    assert any(type(e) is tuple for e in expected) and any(type(e) is list for e in expected)
    for _ in range(150):
        k = rng.randrange(len(calls))
        try:
            result = f(*calls[k])
        except Exception as error:
            assert (type(error), str(error)) == expected[k]
            assert "test_lanes_that_fail.py" in str(error)
        else:
            kept.append((k, result))
        kept = kept[-rng.randrange(1, 6) :]
        for made_of, result in kept:  # what others failed has not written into what somebody has
            assert outcome(lambda r=result: r) == expected[made_of]


def test_nothing_is_assigned_by_calls_that_fail() -> None:
    v, w = tf.Variable(RIGHT), tf.Variable(0.0)

    @tf.function
    def step(a):
        w.assign_add(1.0)
        v.assign(tf.linalg.solve(a, v))
        return w + 0.0

    ready(step, GOOD)
    rng = random.Random(2)
    for _ in range(60):
        before, count, held = v.numpy().copy(), float(w), (v.value(), w.value())
        if rng.random() < 0.5:
            assert float(step(GOOD)) == count + 1
        else:
            with pytest.raises(RuntimeError, match="singular"):
                step(SINGULAR)
            assert float(w) == count
            np.testing.assert_array_equal(v, before)
        np.testing.assert_array_equal(held[0], before)
        assert float(held[1]) == count
        v.assign(RIGHT)


def test_prints_happen_once(capfd: pytest.CaptureFixture[str]) -> None:
    @tf.function
    def f(a):
        tf.print("tried")
        return tf.linalg.cholesky(a)

    for _ in range(6):
        f(GOOD)
    capfd.readouterr()
    with pytest.raises(RuntimeError):
        f(BAD)
    out = capfd.readouterr()
    assert (out.out + out.err).count("tried") == 1


def test_threads_fail_on_their_own() -> None:
    f, calls = factored()
    ready(f, *calls[0])
    expected = [outcome(lambda c=c: Function.__call__(f, *c)) for c in calls]
    wrong: list[Any] = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(300):
            k = rng.randrange(len(calls))
            got = outcome(lambda c=calls[k]: f(*c))
            if got != expected[k]:
                wrong.append((k, got))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)  # threads take turns more often
    try:
        for t in threads:
            t.start()
        for _ in range(20):
            gc.collect()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(before)
    assert wrong == []


def test_an_exception_in_progress_stays() -> None:
    f, _ = factored()
    ready(f, GOOD)
    try:
        raise KeyError("outer")
    except KeyError:
        f(GOOD)
        with pytest.raises(RuntimeError) as caught:
            f(BAD)
        assert isinstance(caught.value.__context__, KeyError)
        assert isinstance(sys.exc_info()[1], KeyError)


def test_nothing_is_kept_of_calls_that_fail() -> None:
    v = tf.Variable(1.0)

    @tf.function
    def step(d):
        v.assign_add(1.0)
        return {"l": tf.linalg.cholesky(d["a"]), "n": [d["x"] * 2.0, None]}

    x, good, bad = RIGHT.copy(), {"a": GOOD, "x": RIGHT}, {"a": BAD, "x": RIGHT}
    good["x"] = bad["x"] = x
    ready(step, good)
    watched = [x, good, bad, v, BAD, GOOD, None, x.dtype, tf.Tensor, dict, step]

    def failing(count: int) -> None:
        for _ in range(count):
            try:
                step(bad)
            except RuntimeError:
                pass
            step(good)

    failing(30)
    gc.collect()
    before, objects = [sys.getrefcount(o) for o in watched], len(gc.get_objects())
    tracemalloc.start()
    failing(10)
    gc.collect()
    start = tracemalloc.get_traced_memory()[0]
    failing(1000)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - start
    tracemalloc.stop()
    assert grown < 8000 and abs(len(gc.get_objects()) - objects) < 100
    grown_by = [sys.getrefcount(o) - b for o, b in zip(watched, before, strict=True)]
    assert max(map(abs, grown_by)) < 30, grown_by
