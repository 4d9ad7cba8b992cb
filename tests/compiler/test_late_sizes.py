"""Arrays as long as a loop ran: their size is known only when the program has run so far."""

import numpy as np
import pytest

import tracejit as tf
from tracejit.runtime import pool


def rows(x, n):
    """x / 2, x / 4, ... n of them, by a loop whose length is an argument."""
    ys = []
    for _ in range(n):
        x = x * 0.5
        ys.append(x)
    return tf.stack(ys)


USES = {
    "element-wise": lambda y, x: tf.sin(y) * y + 1.0,
    "sum": lambda y, x: tf.reduce_sum(y * y),
    "running sum": lambda y, x: tf.cumsum(y),
    "joined with one more": lambda y, x: tf.concat([tf.reshape(x, (1,)), y], 0),
    "joined with itself": lambda y, x: tf.reduce_sum(tf.concat([y, y], 0)),
    "outer product": lambda y, x: tf.reduce_sum(tf.reshape(y, (-1, 1)) * tf.reshape(y, (1, -1)), axis=0),
    "matrix product": lambda y, x: tf.reshape(y, (1, -1)) @ tf.reshape(y, (-1, 1)),
    "only its length": lambda y, x: tf.reduce_sum(tf.ones_like(y)) * x,
}


@pytest.mark.parametrize("n", [1, 3, 40])
@pytest.mark.parametrize("use", USES)
def test_values_and_gradients(use, n):
    def f(x, n):
        return USES[use](rows(x, n), x)

    x, count = tf.constant(np.float64(1.5)), tf.constant(n)
    np.testing.assert_allclose(tf.function(f)(x, count), f(x, n), rtol=1e-14)

    def total(x, n):
        return tf.reduce_sum(f(x, n))

    compiled = tf.function(tf.grad(total))(x, count)
    np.testing.assert_allclose(compiled, tf.grad(lambda x: total(x, n))(x), rtol=1e-13)


def ragged(x, n):
    """Rows that an inner loop of another length each time appends."""
    ys = []
    for i in range(n):
        for j in range(i + 1):
            ys.append(tf.sin(x * i) + j * x)
    return tf.stack(ys)


def by_two_loops(x, n):
    ys = []
    for i in range(n):
        ys.extend([x * x * i, x])
    while x > 0.3:
        x = x * 0.5
        ys.append(tf.sin(x))
    return tf.stack(ys)


ORDERS = {
    "jvp": (1, lambda f: lambda x: tf.jvp(f, [x], [tf.ones_like(x)])[1]),
    "gradient": (1, tf.grad),
    "gradient of gradient": (2, lambda f: tf.grad(tf.grad(f))),
    "jvp of gradient": (2, lambda f: lambda x: tf.jvp(tf.grad(f), [x], [tf.ones_like(x)])[1]),
    "gradient of jvp": (2, lambda f: tf.grad(lambda x: tf.jvp(f, [x], [tf.ones_like(x)])[1])),
}


SEVERAL = ("running sum", "joined with itself", "outer product", "only its length")
BUILT = [(rows, "outer product"), *((build, use) for build in (ragged, by_two_loops) for use in SEVERAL)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("build", "use"), BUILT)
def test_derivatives_of_every_order(build, use):
    """Each run of a loop names its trip count anew; derivatives go by the names of the value.

    Those of one plain loop are asked for below too, with each part of its rows.
    """

    def f(x, n):
        return tf.reduce_sum(tf.sin(USES[use](build(x, n), x)))

    x, n = tf.constant(np.float64(1.5)), tf.constant(3)
    once = tf.grad(lambda x: f(x, 3))
    wanted = {1: once(x), 2: tf.grad(once)(x)}
    compiled = tf.function(f)
    for order, (times, derivative) in ORDERS.items():
        inside = tf.function(lambda x, n, derivative=derivative: derivative(lambda x: f(x, n))(x))
        np.testing.assert_allclose(inside(x, n), wanted[times], rtol=1e-11, err_msg=order)
        if order != "gradient of jvp":
            found = derivative(lambda x: compiled(x, n))(x)
            np.testing.assert_allclose(found, wanted[times], rtol=1e-11, err_msg=order)


def test_a_seed_of_rows():
    """The cotangent of a result as long as a loop ran, or twice as long, is given from outside."""
    for build in (rows, ragged, by_two_loops):
        x, n = tf.constant(np.float64(1.5)), tf.constant(3)
        compiled = tf.function(build)
        found = tf.grad(lambda x, f=compiled, n=n: tf.reduce_sum(tf.cumsum(f(x, n))))(x)
        wanted = tf.grad(lambda x, f=build: tf.reduce_sum(tf.cumsum(f(x, 3))))(x)
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


PARTS = {
    "first": lambda y: y[0],
    "last": lambda y: y[-1],
    "last of one column": lambda y: y[-1, 1] * y[0, 0],
    "with a new axis": lambda y: y[-1, None],
    "all but one": lambda y: y[1:] - y[:-1],
    "a few": lambda y: y[:3],
    "the last few": lambda y: y[-2:],
    "from the middle": lambda y: y[1:-1],
    "every other": lambda y: y[::2],
    "backwards": lambda y: tf.cumsum(y[::-1]),
    "some backwards": lambda y: y[4:0:-2],
    "backwards from the second last": lambda y: y[-2::-1],
    "one replaced": lambda y: y.at[-1].set(y[0] * 2.0),
    "some replaced": lambda y: y.at[1:].set(y[:-1] * 2.0),
    "rotated": lambda y: tf.concat([y[1:], y[:1]], 0),
}


def in_columns(x, n):
    y = rows(x, n)
    return tf.stack([y, tf.sin(y)], axis=1)


@pytest.mark.parametrize("part", PARTS)
def test_parts_at_fixed_positions(part):
    build = in_columns if part == "last of one column" else rows

    def f(x, n):
        return PARTS[part](build(x, n))

    def total(x, n):
        return tf.reduce_sum(tf.sin(f(x, n)))

    compiled = tf.function(f)
    gradient, second, forward, mapped = (
        tf.function(g)
        for g in (
            lambda x, n: tf.grad(lambda x: total(x, n))(x),
            lambda x, n: tf.grad(tf.grad(lambda x: total(x, n)))(x),
            lambda x, n: tf.jvp(lambda x: total(x, n), [x], [tf.ones_like(x)])[1],
            lambda xs, n: tf.vmap(total, in_axes=(0, None))(xs, n),
        )
    )
    x = tf.constant(np.float64(1.5))
    for length in (1, 2, 3, 4, 9):
        n = tf.constant(length)
        wanted = f(x, length)
        assert compiled(x, n).shape == wanted.shape
        np.testing.assert_allclose(compiled(x, n), wanted, rtol=1e-14)
        once = tf.grad(lambda x, n=length: total(x, n))
        np.testing.assert_allclose(gradient(x, n), once(x), rtol=1e-12)
        np.testing.assert_allclose(forward(x, n), once(x), rtol=1e-12)
        np.testing.assert_allclose(second(x, n), tf.grad(once)(x), rtol=1e-11)
        both = [total(x, length), total(x * 2.0, length)]
        np.testing.assert_allclose(mapped(tf.stack([x, x * 2.0]), n), both, rtol=1e-13)
    assert compiled.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("index", [3, -4, (3, None), (..., 3)])
def test_a_position_that_the_rows_do_not_have(index):
    f = tf.function(lambda x, n: rows(x, n)[index])
    assert np.isfinite(np.sum(f(tf.constant(1.0), tf.constant(4))))
    for n in (0, 3):
        with pytest.raises(IndexError, match=r"out of range(.|\n)*test_late_sizes\.py"):
            f(tf.constant(1.0), tf.constant(n))


def test_a_bound_of_unknown_sign():
    def f(x, n):
        y = rows(x, n)
        return y[: y.shape[0] - 2]

    with pytest.raises(ValueError, match=r"may turn out negative(.|\n)*test_late_sizes\.py"):
        tf.function(f)(tf.constant(1.0), tf.constant(4))


def test_sizes_that_nothing_says_are_equal():
    def f(x, n):
        return rows(x, n) + rows(x, n + 1)

    with pytest.raises(
        ValueError, match=r"add(.|\n)*known only when the function runs(.|\n)*test_late_sizes\.py"
    ):
        tf.function(f)(tf.constant(1.0), tf.constant(4))


def test_memory_is_given_back():
    f = tf.function(lambda x, n: tf.reduce_sum(tf.sin(rows(x, n))))
    f(tf.constant(1.0), tf.constant(5))
    for n in (1, 1000, 10):
        assert np.isfinite(float(f(tf.constant(1.0), tf.constant(n))))


def test_memory_of_large_results_is_used_again():
    f = tf.function(rows)
    x, n = np.ones(1 << 15), np.int64(8)
    seen = set()
    for _ in range(4):
        y = f(x, n).numpy()
        assert y.shape == (8, 1 << 15) and y[-1, -1] == 2.0**-8
        seen.add(y.__array_interface__["data"][0])
        del y
    assert len(seen) < 4
    held = [f(x, n).numpy() for _ in range(3)]
    assert len({y.__array_interface__["data"][0] for y in held}) == 3 and not pool._lent


def test_a_call_that_fails_gives_large_memory_back():
    @tf.function
    def f(x, n, i):
        y = rows(x, n)
        return y, tf.gather(y[0], i)

    x, n = np.ones(1 << 15), np.int64(8)
    assert f(x, n, np.array([3]))[1].numpy() == [0.5]
    with pytest.raises(IndexError, match="32768"):
        f(x, n, np.array([1 << 15]))
    assert not pool._lent
