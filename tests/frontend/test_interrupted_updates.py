"""Variables that a compiled function changes together: wherever an interrupt comes, all of them change, or none."""

from __future__ import annotations

import linecache
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import tracejit as tf
from tracejit.frontend.state.variable import changing

X = np.linspace(0.1, 1.0, 7)
PACKAGE = Path(tf.__file__).parent
CALLS = {PACKAGE / "frontend" / room for room in ("function", "state")}


class Moved:
    """Two Variables whose sum stays what it is."""

    def __init__(self) -> None:
        self.v, self.w = tf.Variable(1.0, dtype=tf.float64), tf.Variable(10.0, dtype=tf.float64)

    @tf.function
    def step(self, x):
        self.v.assign_add(1.0)
        self.w.assign_sub(1.0)
        return tf.reduce_sum(x * self.v)

    def on_a_tape(self, x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            return self.step(x)


def stopped_at(line: int, call, places=CALLS) -> bool:
    """Was `call` interrupted, at the line of this number that it comes to in these `places`?

    No signal comes between a block and what leaves it, which is the line of its ``with`` again.
    """
    left = line

    def trace(frame, event, _):
        nonlocal left
        if Path(frame.f_code.co_filename).parent not in places:
            return None
        text = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
        if event == "line" and not text.lstrip().startswith("with "):
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.fixture(autouse=True)
def nobody_waits():
    yield
    with ThreadPoolExecutor(1) as another:
        assert another.submit(changing.acquire, False).result(), "Variables are locked for good"
        another.submit(changing.release).result()


@pytest.mark.parametrize("way", ["step", "on_a_tape"])
def test_all_change_or_none(way):
    with tf.settings(fast=False):  # what the native lane runs has no lines to be interrupted at
        moved, x = Moved(), tf.constant(X)
        call = getattr(moved, way)
        for _ in range(3):
            call(x)
        line, changed = 0, set()
        while stopped_at(line := line + 1, lambda: call(x)):
            v, w = float(moved.v), float(moved.w)
            assert v + w == 11.0, f"interrupted at line {line}"
            changed.add(v)
    assert float(moved.v) + float(moved.w) == 11.0
    assert line > 20, "there was hardly anything to interrupt"
    assert len(changed) > 1, "it was never interrupted after the change"
    v = float(moved.v)
    np.testing.assert_allclose(call(x), X.sum() * (v + 1.0))


def test_an_optimizer_has_all_the_state_of_a_variable_or_none():
    line, lengths, stopped = 0, set(), True
    while stopped:
        line += 1
        optimizer, v = tf.optimizers.Adam(0.5), tf.Variable(1.0)
        stopped = stopped_at(line, partial(optimizer.build, [v]), {PACKAGE / "optimizers"})
        lengths.add(len(optimizer.slots))
        assert len(optimizer.owners()) == len(optimizer.slots)
        optimizer.apply_gradients([(tf.constant(1.0), v)])
        assert [sorted(s) for s in optimizer.slots] == [["momentum", "velocity"]]
    assert line > 5 and lengths == {0, 1}
