"""Tensors that branches and loops give may be others of the program: a tape that would tell is right, or refuses."""

import numpy as np
import pytest

import tracejit as tf


class Box:
    def __init__(self, a):
        self.a = a


def clamp(z):
    if z > 1.0:
        return z * 0.25
    return z


def grad(f, *watched):
    with tf.GradientTape() as tape:
        tape.watch(watched)
        y = f()
    return tape.gradient(y, watched[0])


def first_iteration(x, n):
    a, box, g = x, Box(x), x
    for _ in tf.range(n):
        g = grad(lambda: a * box.a * 0.5, a)  # noqa: B023
        a = tf.sin(x) * 0.25
    return a, g


def proximal(x, n):
    start = x
    for _ in tf.range(n):
        x = x - 0.1 * grad(lambda: tf.sin(x) * x + (x - start) ** 2, x)  # noqa: B023
    return x


def the_best_so_far(x, n):
    best, least = x, 1e9
    for _ in tf.range(n):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.sin(x) * x
        if loss < least:
            least, best = loss, x
        x = x - 0.1 * tape.gradient(loss, x)
    return best, least


def merged_while_it_records(x, n):
    with tf.GradientTape() as tape:
        tape.watch(x)
        h = x
        if x > 0.0:
            h = tf.sin(x)
        y = h * x
    return tape.gradient(y, x)


def copied(x, n):
    h = tf.identity(clamp(x))
    return grad(lambda: h * x, h)


def alone(x, n):
    h = clamp(x)
    return grad(lambda: h * h, h)


def a_branch(x, n):
    h = clamp(x)
    return grad(lambda: h * x, h)


def a_branch_the_other_way_round(x, n):
    box = Box(x)
    if n > 2:
        box.a = box.a + 1.0
    return grad(lambda: x * box.a, x)


def both_sides(x, n):
    if n > 2:
        g = h = tf.sin(x)
    else:
        g, h = x, x * 1.0
    return grad(lambda: g * h, g)


def no_iteration(x, n):
    a = x
    for _ in tf.range(n):
        a = a * 2.0
    return grad(lambda: a * x, a)


def always_two_names(x, n):
    a, b, g = x, x * 2.0, x
    for _ in tf.range(n):
        g = grad(lambda: a * b, a)  # noqa: B023
        a = tf.sin(a + b)
        b = a
    return g


def a_branch_as_a_function(x, n):
    h = tf.cond(x > 1.0, lambda: x * 0.25, lambda: x)
    return grad(lambda: h * x, h)


def an_operand(x, n):
    h = tf.cond(x > 1.0, lambda z: z * 0.25, lambda z: z, x)
    return grad(lambda: h * x, h)


def a_loop_as_a_function(x, n):
    return tf.while_loop(lambda k, z: k < n, lambda k, z: (k + 1, z - grad(lambda: z * x, z)), (0, x))[1]


def the_result_of_a_loop_as_a_function(x, n):
    h = tf.fori_loop(0, n, lambda k, z: z * 0.5, x)
    return grad(lambda: h * x, h)


def a_loop_as_a_function_alone(x, n):
    return tf.while_loop(lambda k, z: k < n, lambda k, z: (k + 1, z - grad(lambda: z * z, z)), (0, x))[1]


def recorded(x, n, use, how="gradient"):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        h = x
        if x > 1.0:
            h = tf.sin(x)
        y = use(h, x)
    return getattr(tape, how)(y, h)


def a_source_alone(x, n):
    return recorded(x, n, lambda h, x: h * h)


def a_source(x, n):
    return recorded(x, n, lambda h, x: h * x)


def a_source_of_a_jacobian(x, n):
    return recorded(x, n, lambda h, x: h * x, "jacobian")


def a_source_that_a_loop_gives(x, n):
    with tf.GradientTape() as tape:
        tape.watch(x)
        h = x
        for _ in tf.range(n):
            h = tf.sin(h) * x
        y = h * x
    return tape.gradient(y, h)


def a_source_that_a_loop_gives_alone(x, n):
    with tf.GradientTape() as tape:
        tape.watch(x)
        h = x
        for _ in tf.range(n):
            h = tf.sin(h) * x
        y = h * 2.0
    return tape.gradient(y, h)


def a_target(x, n):
    h = x
    if x > 1.0:
        h = x * 2.0
    with tf.GradientTape() as tape:
        tape.watch(x)
    return tape.gradient(h, x, unconnected_gradients="zero")


def a_target_that_is_recorded(x, n):
    with tf.GradientTape() as tape:
        tape.watch(x)
        h = x
        if x > 1.0:
            h = x * 2.0
    return tape.gradient(h, x)


RIGHT = [
    a_source_alone,
    a_source_that_a_loop_gives_alone,
    a_target_that_is_recorded,
    a_loop_as_a_function_alone,
    first_iteration,
    proximal,
    the_best_so_far,
    merged_while_it_records,
    copied,
    alone,
]
REFUSED = [
    a_source,
    a_source_of_a_jacobian,
    a_source_that_a_loop_gives,
    a_target,
    a_branch_as_a_function,
    an_operand,
    a_loop_as_a_function,
    the_result_of_a_loop_as_a_function,
    a_branch,
    a_branch_the_other_way_round,
    both_sides,
    no_iteration,
    always_two_names,
]


def outcome(f, eager, *args):
    with tf.settings(eager=eager):
        return [np.asarray(y) for y in tf.nest.flatten(tf.function(f)(*map(tf.constant, args)))]


@pytest.mark.parametrize("n", [1, 4])
@pytest.mark.parametrize("x", [0.7, 1.5])
@pytest.mark.parametrize("f", RIGHT)
def test_is_as_eagerly(f, x, n):
    for a, b in zip(outcome(f, True, x, n), outcome(f, False, x, n), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize("f", REFUSED)
def test_is_refused_with_the_way_out(f):
    with pytest.raises(tf.TracejitError, match=r"a copy, as x = tracejit\.identity\(x\)"):
        outcome(f, False, 0.7, 3)
