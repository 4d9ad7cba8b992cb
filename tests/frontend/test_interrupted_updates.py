"""Variables that a compiled function changes together: wherever an interrupt comes, all of them change, or none."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import tracejit as tf

X = np.linspace(0.1, 1.0, 7)
PLACES = {Path(tf.__file__).parent / "frontend" / room for room in ("function", "state")}


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


def stopped_at(line: int, call) -> bool:
    """Was `call` interrupted, at the line of this number that it comes to in `PLACES`?"""
    left = line

    def trace(frame, event, _):
        nonlocal left
        if Path(frame.f_code.co_filename).parent not in PLACES:
            return None
        if event == "line":
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


@pytest.mark.parametrize("way", ["step", "on_a_tape"])
def test_all_change_or_none(way):
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
    assert way == "step" or (line > 50 and len(changed) > 1)
    v = float(moved.v)
    np.testing.assert_allclose(call(x), X.sum() * (v + 1.0))
