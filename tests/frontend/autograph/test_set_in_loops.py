"""Variables that only a loop sets and that are read after it: as in Python, also where the loop never runs."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

X = tf.constant(2.0)


def after_for(x, n, m):
    for i in range(n):
        y = x * i
    return y


def the_counter(x, n, m):
    for i in range(n):  # noqa: B007
        x = x * 2.0
    return x * i, i


def after_while(x, n, m):
    while n > 0:
        y, x, n = x, x * 2.0, n - 1
    return y + x


def nested(x, n, m):
    for i in range(n):
        for j in range(m - i):
            y = x * (10 * i + j)
    return y


def read_by_the_next_loop(x, n, m):
    for i in range(n):
        y = x * i
    for j in range(m):
        x = x + y
        y = x * j
    return x


def set_by_either_loop(x, n, m):
    for i in range(n):
        y = x * i
    for j in range(m):
        y = x + j
    return y


def guarded(x, n, m):
    for _ in range(n):
        y = x * 3.0
    if n > 0:
        x = y
    return x


def changed_afterwards(x, n, m):
    for _ in range(n):
        y = x * 3.0
    y += 1.0
    y *= x
    return y


def left_early(x, n, m):
    for i in range(n):
        y = x * i
        if i >= m:
            break
    return y


def in_a_loop(x, n, m):
    for _ in range(2):
        for j in range(n):
            y = x * j
        x = x + y
    return x


def in_a_branch(x, n, m):
    if m > 1:
        for i in range(n):
            y = x * i
        x = y + 1.0
    return x


def several(x, n, m):
    for i in range(n):
        a, (b, c) = x * i, (i, x > 1.0)
    return a, b, c


PROGRAMS = [
    after_for,
    the_counter,
    after_while,
    nested,
    read_by_the_next_loop,
    set_by_either_loop,
    guarded,
    changed_afterwards,
    left_early,
    in_a_loop,
    in_a_branch,
    several,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", (0, 1, 3))
def test_as_in_python(program, n):
    compiled = tf.function(program)
    for m in (0, 1, 2):
        given = X, tf.constant(n), tf.constant(m)
        try:
            expected = program(X, n, m)
        except UnboundLocalError as error:
            with pytest.raises(UnboundLocalError, match=str(error).split("'")[1]):
                compiled(*given)
            continue
        for y, e in zip(*map(tf.nest.flatten, (compiled(*given), expected)), strict=True):
            assert (y.numpy() == np.asarray(e)).all()
            assert y.dtype == tf.convert_to_tensor(e).dtype
    assert compiled.experimental_get_tracing_count() == 1


def test_the_failure_names_the_read():
    @tf.function
    def f(x, n):
        for _ in range(n):
            y = x
        return tf.sin(y)  # HERE

    with pytest.raises(UnboundLocalError, match="'y' is set only inside of the `for`") as found:
        f(X, tf.constant(0))
    with open(__file__, encoding="utf-8") as source:
        line = next(k for k, text in enumerate(source, 1) if text.rstrip().endswith("# HERE"))
    assert f"{__file__}:{line}" in str(found.value)


@pytest.mark.parametrize("order", (1, 2))
def test_derivatives_are_those_of_the_last_iteration(order):
    @tf.function
    def f(x, n):
        for i in range(n):
            y = x * x * x * i
        return y

    def of_order(g):
        return tf.grad(g) if order == 1 else tf.grad(tf.grad(g))

    found = of_order(lambda x: f(x, tf.constant(4)))(X)
    assert float(found) == float(of_order(lambda x: x * x * x * 3)(X))
    inside = tf.function(lambda x, n: of_order(lambda x: f(x, n))(x))
    assert float(inside(X, tf.constant(4))) == float(found)


def test_lanes_that_run_different_numbers_of_iterations():
    def f(x, n):
        for i in range(n):
            y = x * i
        return y

    found = tf.function(lambda x, n: tf.vmap(tf.function(f))(x, n))(
        tf.constant([1.0, 2.0]), tf.constant([1, 3])
    )
    assert found.numpy().tolist() == [0.0, 4.0]


def test_k_means():
    def fit(points, centres, steps):
        for _ in tf.range(steps):
            apart = tf.reduce_sum((points[:, None] - centres[None]) ** 2, 2)
            labels = tf.argmin(apart, 1)
            chosen = tf.one_hot(labels, 2)
            centres = tf.linalg.matmul(tf.transpose(chosen), points) / tf.reduce_sum(chosen, 0)[:, None]
        return centres, labels

    points = np.array([[0.0, 1.0], [0.0, 0.0], [9.0, 9.0], [9.0, 8.0], [1.0, 0.0]], np.float32)
    given = tf.constant(points), tf.constant(points[1:3]), tf.constant(3)
    any_number = [tf.TensorSpec([None, 2]), tf.TensorSpec([2, 2]), tf.TensorSpec([], tf.int32)]
    for compiled in (tf.function(fit), tf.function(fit, input_signature=any_number)):
        for y, e in zip(compiled(*given), fit(*given), strict=True):
            np.testing.assert_allclose(y.numpy(), e.numpy(), rtol=1e-6)


@pytest.mark.parametrize("made", (lambda x, i: [x], lambda x, i: "text", lambda x, i: tf.fill([i + 1], x)))
def test_what_cannot_go_round_is_refused(made):
    @tf.function
    def f(x, n):
        for i in tf.range(n):
            y = made(x, i)
        return y

    with pytest.raises(NameError, match="'y' is set only inside of the `for`"):
        f(X, tf.constant(3))


def test_what_only_some_iterations_set_is_refused():
    @tf.function
    def f(x, n):
        for i in range(n):
            if x > i:
                y = x
        return y

    with pytest.raises(NameError, match="'y' is set"):
        f(X, tf.constant(3))


def test_what_nobody_reads_may_be_of_any_size():
    @tf.function
    def f(x, n):
        for i in tf.range(n):
            y = tf.fill([i + 1], x)
            sizes = lambda: y.shape  # noqa: B023, F841
            x = x + tf.reduce_sum(y)
        return x

    assert float(f(X, tf.constant(2))) == 12.0


def test_a_size_that_only_the_loop_knows_stays_there_though_a_branch_captures_it():
    @tf.function
    def f(x, n):
        for i in tf.range(n):
            rows = tf.range(i)
            if x > 0.0:
                x = x + tf.cast(tf.reduce_sum(rows), x.dtype)
        return x, rows

    with pytest.raises(tf.TracejitError, match="may run zero times"):
        f(tf.constant(1.0), tf.constant(3))
