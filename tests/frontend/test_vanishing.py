"""A gradient that is all zero: `explain` names the op, the line and the condition."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import tracejit as tf
import tracejit.numpy as tnp

X = [0.5, -1.5]
CASES = []


def zero(op, condition):
    """A program whose gradient is zero, for the line with the mark, the op there and words of the condition."""

    def mark(f):
        CASES.append(pytest.param(f, op, condition, id=f.__name__))
        return f

    return mark


@zero("relu", "positive")
def below_zero(x):
    return tf.reduce_sum(tf.nn.relu(x - 5.0) * 3.0)  # here


@zero("minimum", "smaller")
def clipped_above(x):
    y = tf.clip_by_value(x + 9.0, 0.0, 1.0)  # here
    return tf.reduce_sum(y)


@zero("maximum", "larger")
def clipped_below(x):
    y = tf.clip_by_value(x - 9.0, 0.0, 1.0)  # here
    return tf.reduce_sum(y)


@zero("maximum", "larger")
def the_larger_one(x):
    return tf.reduce_sum(tf.maximum(x, 7.0))  # here


@zero("minimum", "smaller")
def the_smaller_one(x):
    return tf.reduce_sum(tf.minimum(x * 2.0, [-7.0, -8.0]))  # here


@zero("where", "condition is true everywhere")
def the_other_choice(x):
    y = tf.where(x < 9.0, 0.0, x * x)  # here
    return tf.reduce_sum(y)


@zero("where", "condition is false everywhere")
def the_first_choice(x):
    return tf.reduce_sum(tf.where(x > 9.0, x * x, 1.0))  # here


@zero("multiply", "other factor is 0")
def times_zero(x):
    return tf.reduce_sum(x * 0.0)  # here


@zero("multiply", "other factor is 0")
def times_zeros(x):
    return tf.reduce_sum(tf.sin(x) * np.zeros(2, np.float32))  # here


@zero("multiply", "other factor is 0")
def elements_and_the_whole(x):
    y = tf.sin(x[0]) * tf.reduce_sum(x) + x[1]
    return y * 0.0  # here


@zero("matmul", "other factor is 0")
def by_a_matrix_of_zeros(x):
    return tf.reduce_sum(tf.matmul(x[None], tf.zeros((2, 3))))  # here


@zero("abs", "argument is 0")
def abs_at_zero(x):
    return tf.reduce_sum(tf.abs(x * 1.0 - x.numpy()))  # here


@zero("square", "argument is 0")
def square_at_zero(x):
    return tf.reduce_sum((x - x.numpy()) ** 2)  # here


@zero("sign", "flat")
def signs(x):
    return tf.reduce_sum(tf.sign(x) * 2.0)  # here


@zero("reduce_max", "maximum is at elements that do not depend")
def not_the_maximum(x):
    y = tf.concat([x, [9.0]], axis=0)
    return tf.reduce_max(y)  # here


@zero("reduce_min", "minimum is at elements that do not depend")
def not_the_minimum(x):
    y = tf.concat([x, [-9.0]], axis=0)
    return tf.reduce_min(y)  # here


@zero("sigmoid", "no longer changes")
def saturated_sigmoid(x):
    return tf.reduce_sum(tf.sigmoid(x * 10.0 + 500.0))  # here


@zero("tanh", "no longer changes")
def saturated_tanh(x):
    return tf.reduce_sum(tf.tanh(x + 100.0))  # here


@zero("exp", "so small")
def underflow(x):
    return tf.reduce_sum(tf.exp(x - 500.0))  # here


@zero("gather", "indices name no element")
def other_rows(x):
    y = tf.concat([x, [9.0, 8.0]], axis=0)
    return tf.reduce_sum(tf.gather(y, [2, 3, 2]))  # here


@zero("slice", "elements taken do not depend")
def other_elements(x):
    y = tf.concat([x, [9.0, 8.0]], axis=0)
    return tf.reduce_sum(y[2:])  # here


@zero("multiply", "other factor is 0")
def masked(x):
    mask = tf.cast(x > 5.0, tf.float32)
    return tf.reduce_sum(x * mask)  # here


@zero("multiply", "is 0 where this argument matters")
def masked_twice(x):
    y = x * [1.0, 0.0]
    return tf.reduce_sum(y * [0.0, 1.0])  # here


@zero("multiply", "is 0 where this argument matters")
def one_hot(x):
    y = tf.concat([x, [9.0]], axis=0)
    return tf.reduce_sum(y * tf.one_hot(2, 3))  # here


@zero("pow", "exponent is 0")
def to_the_power_of_zero(x):
    return tf.reduce_sum(tf.pow(x, 0.0))  # here


@zero("subtract", "cancel")
def a_difference_with_itself(x):
    y = x * 2.0
    return tf.reduce_sum(y - y)  # here


@zero("reduce_sum", "cancels")
def the_mean_of_what_is_centred(x):
    y = x - tf.reduce_mean(x)
    return tf.reduce_mean(y)  # here


@zero("set", "overwritten")
def overwritten(x):
    y = x.at[:].set([1.0, 2.0])  # here
    return tf.reduce_sum(y)


@zero("multiply", "other factor is 0")
def all_dropped(x):
    keep = tf.cast(tf.random.uniform((2,), seed=1) > 2.0, tf.float32)
    return tf.reduce_sum(x * keep / 0.5)  # here


@zero("divide", "infinite")
def divided_by_infinity(x):
    return tf.reduce_sum(x / np.inf)  # here


@tf.function
def compiled_relu(x):
    y = x * 2.0
    return tf.reduce_sum(tf.nn.relu(y - 9.0))  # compiled


@zero("relu", "positive")
def inside_of_a_compiled_function(x):
    return compiled_relu(x) + 1.0


@zero("loop", "no iteration")
def a_loop_of_no_iteration(x):
    return powers(x, tf.constant(0))


@tf.function
def powers(x, n):
    return tf.reduce_sum(tf.fori_loop(0, n, lambda i, y: y * x, tf.ones(2)))  # compiled


@zero("cond", "branch taken, for False")
def the_other_branch(x):
    return branches(x, tf.constant(False)) * 2.0


@tf.function
def branches(x, p):
    return tf.cond(p, lambda: tf.reduce_sum(x), lambda: tf.reduce_sum(x) * 0.0 if False else 3.0)  # compiled


@zero("minimum", "smaller")
def numpy_names(x):
    return tnp.sum(tnp.clip(x, -9.0, -8.0))  # here


def line_of(f):
    """The line of the program with the mark, or of the compiled function that it calls."""
    for g in (
        f,
        *(g.python_function for g in (compiled_relu, branches, powers) if g.__name__ in inspect.getsource(f)),
    ):
        lines, first = inspect.getsourcelines(g)
        found = [
            first + i for i, text in enumerate(lines) if text.rstrip().endswith(("# here", "# compiled"))
        ]
        if found:
            return found[0]
    raise AssertionError(f)


@pytest.mark.parametrize("asked", ["before", "after", "persistent"])
@pytest.mark.parametrize(("f", "op", "condition"), CASES)
def test_zero(f, op, condition, asked):
    x = tf.Variable(X)
    with tf.GradientTape(persistent=asked == "persistent") as tape:
        y = f(x)
    if asked != "before":
        assert not tape.gradient(y, x).numpy().any()
    found = tape.explain(y, x)
    assert found.cause == "zero" and op in found.text and condition in found.text, found
    assert (found.file, found.line) == (__file__, line_of(f))


def test_weights_of_zero():
    x = tf.Variable(X)
    with tf.GradientTape() as tape:
        y = x * 2.0  # here
    assert not tape.gradient(y, x, output_gradients=tf.zeros(2)).numpy().any()
    found = tape.explain(y, x)
    assert found.cause == "zero" and "multiply" in found.text and "output_gradients" in found.text
    assert (found.file, found.line) == (__file__, line_of(test_weights_of_zero))


def test_nan_times_what_the_tape_has_dropped():
    x, spoiled = (
        tf.constant(np.ones((130, 130), np.float32)),
        tf.constant(np.full((130, 130), np.nan, np.float32)),
    )
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * spoiled
    assert np.isnan(tape.gradient(y, x)).all()
    assert tape.explain(y, x).cause == "nan"
