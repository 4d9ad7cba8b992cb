"""Gradients of and by a name that is one of several Variables, or a tensor, known only as the function runs."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf


def of_two(v, w, c, choice):
    with tf.GradientTape(persistent=True) as tape:
        t = v
        if choice > 0:
            t = w
        y = t * t * v * c
    return (
        tape.gradient(y, [t, v, w]),
        tape.gradient(y, t),
        tape.gradient(t, [v, w]),
        tape.gradient([y, t], {"a": t, "b": w}, unconnected_gradients="zero"),
        tape.gradient(t, t),
        tape.gradient(t, v, output_gradients=[3.0, 4.0]),
    )


def of_a_loop(v, w, c, choice):
    with tf.GradientTape(persistent=True) as tape:
        t = v
        for _ in tf.range(choice):
            t = t * 2.0 + c * w
        y = t * t * c
    return tape.gradient(y, [t, v, w]), tape.gradient([t, y], v), tape.gradient(t, t)


def of_second_order(v, w, c, choice):
    with tf.GradientTape() as outer:
        with tf.GradientTape() as tape:
            t = v
            for _ in tf.range(choice):
                t = t * t + w
            y = t * t * c
        g = tape.gradient([y, t], [t, v])
    return outer.gradient(g, [v, w])


@pytest.mark.parametrize("choice", [0, 2])
@pytest.mark.parametrize("f", [of_two, of_a_loop, of_second_order])
def test_compiled_as_eager(f, choice):
    v, w = tf.Variable([1.0, 2.0]), tf.Variable([3.0, -1.0])
    eager = tf.nest.flatten(f(v, w, tf.constant(2.0), tf.constant(choice)))
    compiled = tf.nest.flatten(tf.function(f)(v, w, tf.constant(2.0), tf.constant(choice)))
    assert len(eager) == len(compiled) and any(g is not None for g in eager)
    for g, h in zip(eager, compiled, strict=True):
        np.testing.assert_array_equal(0.0 if g is None else g, 0.0 if g is None and h is None else h)


def test_what_is_one_of_several_and_connected_to_nothing_has_no_gradient():
    v, w = tf.Variable([1.0]), tf.Variable([2.0])

    @tf.function
    def f(choice):
        with tf.GradientTape() as tape:
            t = v
            if choice > 0:
                t = w
            y = tf.constant([3.0]) * 2.0
        return tape.gradient(y, [t, v])

    assert f(tf.constant(1)) == [None, None]
