"""What a tape watches and keeps: blocks that are entered again."""

from __future__ import annotations

import pytest

import tracejit as tf


@pytest.mark.parametrize("compiled", [False, True])
def test_a_persistent_tape_that_is_entered_again_goes_on(compiled):
    def slopes(x):
        tape = tf.GradientTape(persistent=True)
        with tape:
            tape.watch(x)
            y = 2.0 * x
        z = y * y  # nobody records this
        with tape:
            w = y * y * y
        return tape.gradient([w, z], x)

    f = tf.function(slopes) if compiled else slopes
    assert float(f(tf.constant(3.0))) == 3 * 6.0**2 * 2


def test_a_tape_that_has_given_a_gradient_starts_afresh():
    v, tape = tf.Variable(3.0), tf.GradientTape()
    with tape:
        y = v * v
    assert float(tape.gradient(y, v)) == 6.0
    with tape:
        z = v * y
    assert float(tape.gradient(z, v)) == 9.0
