"""What is read of a Variable is a tensor of its own, compiled as eagerly: a value from before is no part of a tape."""

import numpy as np
import pytest

import tracejit as tf

READS = {
    "read_value": lambda v: v.read_value(),
    "value": lambda v: v.value(),
    "convert_to_tensor": tf.convert_to_tensor,
    "identity": tf.identity,
    "plus": lambda v: v + 0.0,
}


def before(v, read, x, n):
    a = read(v)
    with tf.GradientTape(persistent=True) as tape:
        y = a * v * x
    return tape.gradient(y, v), tape.gradient(y, a, unconnected_gradients="zero")


def inside(v, read, x, n):
    with tf.GradientTape(persistent=True) as tape:
        a = read(v)
        y = a * v * x
    return tape.gradient(y, v), tape.gradient(y, a)


def watched(v, read, x, n):
    a = read(v)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(a)
        y = a * a * v * x
    return tape.gradient(y, v), tape.gradient(y, a)


def before_an_assignment(v, read, x, n):
    a = read(v)
    v.assign_add(x)
    with tf.GradientTape() as tape:
        y = a * v * v
    return tape.gradient(y, v)


def around_an_assignment(v, read, x, n):
    with tf.GradientTape(persistent=True) as tape:
        a = read(v)
        v.assign_add(x)
        y = a * v * v
    return tape.gradient(y, v), tape.gradient(y, a)


def in_a_loop(v, read, x, n):
    a, g = read(v), x
    for _ in tf.range(n):
        with tf.GradientTape() as tape:
            y = a * v * x
        g = tape.gradient(y, v)
        v.assign_sub(0.1 * g)
    return g


def around_a_loop(v, read, x, n):
    a, y = read(v), x
    with tf.GradientTape() as tape:
        for _ in tf.range(n):
            y = y * a * v
    return tape.gradient(y, v)


def in_a_branch(v, read, x, n):
    a, y = read(v), x
    with tf.GradientTape() as tape:
        if x > 0.0:
            y = a * v * x
    return tape.gradient(y, v)


def second(v, read, x, n):
    a = read(v)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = a * v**3 * x
        g = inner.gradient(y, v)
    return g, outer.gradient(g, v)


def proximal(v, read, x, n):
    old = read(v)
    for _ in tf.range(n):
        with tf.GradientTape() as tape:
            y = v**4 + 3.0 * (v - old) ** 2
        v.assign_sub(0.01 * tape.gradient(y, v))
    return v.read_value()


@pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
@pytest.mark.parametrize(
    "f",
    [
        before,
        inside,
        watched,
        before_an_assignment,
        around_an_assignment,
        in_a_loop,
        around_a_loop,
        in_a_branch,
        second,
        proximal,
    ],
)
def test_is_as_eagerly(f, read):
    found = []
    for eager in (True, False):
        v = tf.Variable(0.75)
        with tf.settings(eager=eager):
            call = tf.function(lambda x, n, v=v: f(v, read, x, n))
            ys = [*tf.nest.flatten(call(tf.constant(2.0), tf.constant(3))), v.read_value()]
            found.append([np.asarray(y) for y in ys])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize("f", [before, inside, proximal, around_a_loop])
def test_under_an_eager_tape(f):
    found = []
    for eager in (True, False):
        v, x = tf.Variable(0.75), tf.constant(2.0)
        with tf.settings(eager=eager):
            call = tf.function(lambda x, n, v=v: tf.nest.flatten(f(v, READS["read_value"], x, n))[0])
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = call(x, tf.constant(3))
            found.append([np.asarray(g) for g in tape.gradient(y, [x, v], unconnected_gradients="zero")])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
