"""Shapes given by numbers that are known only when a compiled function runs."""

import numpy as np
import pytest

import tracejit as tf

ROWS = [tf.TensorSpec([None, 3], tf.float32)]


def test_sizes_of_arguments_are_sizes_again():
    @tf.function(input_signature=ROWS)
    def f(x):
        s, n = tf.shape(x), tf.shape(x)[0]
        return (
            tf.zeros([n, 4]) + tf.ones([tf.shape(x)[0], 1]),
            tf.reshape(x, [n * 3]),
            tf.reshape(x, tf.stack([s[1], s[0]])),
            tf.reshape(x, tf.concat([s[:1], [-1]], axis=0)),
            tf.broadcast_to(x[0], [n + 1, s[1]]),
            tf.reshape(x, [tf.reduce_prod(s)]),
        )

    for n in (2, 1, 5):
        x = np.arange(3.0 * n, dtype=np.float32).reshape(n, 3)
        a, b, c, d, e, g = f(x)
        np.testing.assert_array_equal(a, np.ones((n, 4)))
        for flat in (b, g):
            np.testing.assert_array_equal(flat, x.ravel())
        np.testing.assert_array_equal(c, x.reshape(3, n))
        np.testing.assert_array_equal(d, x)
        np.testing.assert_array_equal(e, np.broadcast_to(x[0], (n + 1, 3)))
    assert f.experimental_get_tracing_count() == 1


def spaced(x, n):
    return (
        *(tf.range(n), tf.range(2, n, 3), tf.range(n, -2, -1), tf.range(n, dtype="float32") * x),
        *(tf.linspace(0.1, 1.0, n) * x, tf.linspace([0.0, 1.0], 3.0, tf.shape(x)[0], axis=1)),
        *(tf.numpy.arange(n), tf.numpy.arange(1, n, 2), tf.numpy.tri(n), tf.numpy.tri(n, 3, -1)),
        *(tf.numpy.linspace(0, 2, n), tf.numpy.linspace(0, 2, n + 1, endpoint=False)),
    )


def test_numbers_spaced_by_open_sizes():
    f = tf.function(lambda x: spaced(x, x.shape[0]), input_signature=[tf.TensorSpec([None], tf.float32)])
    for n in (2, 5, 8, 3):
        x = np.arange(1.0, n + 1.0, dtype=np.float32)
        for own, wanted in zip(f(x), spaced(tf.constant(x), n), strict=True):
            assert own.dtype == wanted.dtype
            np.testing.assert_allclose(own, wanted, rtol=3e-7)
    assert f.experimental_get_tracing_count() == 1
    one = tf.constant([2.0])
    for own, wanted in zip(f(one), spaced(one, 1), strict=True):
        np.testing.assert_array_equal(own, wanted)


def test_loops_over_open_sizes():
    def total(x):
        result = 0.0
        for k in tf.range(x.shape[0]):
            result += x[k] ** 2 * tf.cast(k, tf.float32)
        return result

    f = tf.function(tf.value_and_grad(total), input_signature=[tf.TensorSpec([None], tf.float32)])
    for n in (0, 1, 4):
        x = np.arange(1.0, n + 1.0, dtype=np.float32)
        value, gradient = f(x)
        assert float(value) == np.sum(x**2 * np.arange(n))
        np.testing.assert_array_equal(gradient, 2.0 * x * np.arange(n))
    assert f.experimental_get_tracing_count() == 1


def test_numbers_that_nobody_knows():
    @tf.function
    def f(n):
        return tf.zeros([n, 2]) + 1.0, tf.ones([n]) + tf.fill([n], 2.0), tf.ones(n)

    for n in (3, 0, 1):
        a, b, c = f(tf.constant(n))
        np.testing.assert_array_equal(a, np.ones((n, 2)))
        np.testing.assert_array_equal(b, np.full(n, 3.0))
        assert c.shape == (n,)
    assert f.experimental_get_tracing_count() == 1


def test_a_negative_size_is_refused():
    f = tf.function(lambda x: tf.zeros([tf.shape(x)[0] - 5]), input_signature=ROWS)
    assert f(tf.zeros([6, 3])).shape == (1,)
    with pytest.raises(ValueError, match="negative"):
        f(tf.zeros([3, 3]))


def triangle(n, x):
    total = 0.0
    for i in tf.range(n):
        total += tf.reduce_sum((tf.ones([i]) * x) ** 2) * tf.sin(x)
    return total


def test_sizes_of_iterations_with_derivatives_of_two_orders():
    x, pairs = 0.7, 10.0
    wanted = (
        pairs * x**2 * np.sin(x),
        pairs * (2 * x * np.sin(x) + x**2 * np.cos(x)),
        pairs * (2 * np.sin(x) + 4 * x * np.cos(x) - x**2 * np.sin(x)),
    )
    for f in (triangle, tf.function(triangle)):
        v = tf.constant(np.float64(x))
        with tf.GradientTape() as outer:
            outer.watch(v)
            with tf.GradientTape() as inner:
                inner.watch(v)
                y = f(tf.constant(5), v)
            first = inner.gradient(y, v)
        np.testing.assert_allclose([y, first, outer.gradient(first, v)], wanted, rtol=1e-12)


def test_a_size_of_the_function_in_its_loop():
    @tf.function
    def f(n):
        total = 0.0
        for _ in tf.range(n):
            total += tf.reduce_sum(2.0 * tf.ones([n]))
        return total

    assert float(f(tf.constant(3))) == 18.0


@pytest.mark.parametrize("converted", [False, True])
def test_ranges_of_numbers_known_later_are_tensors(converted):
    def f(n):
        if converted and n > 100:  # makes it a function that is rewritten
            n = n + 0
        r = tf.range(n)
        return r + 1, 3 - r, r[1:], tf.range(1, n, 2), tf.cast(r, tf.float32) * 2.0, tf.reduce_sum(r), r < 2

    found = tf.function(f)(tf.constant(5))
    wanted = ([1, 2, 3, 4, 5], [3, 2, 1, 0, -1], [1, 2, 3, 4], [1, 3], [0, 2, 4, 6, 8], 10, [1, 1, 0, 0, 0])
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)
    assert found[0].dtype == np.int32 and found[4].dtype == np.float32
    assert tf.function(lambda n: tf.range(2, n))(tf.constant(0)).shape == (0,)


def distance(a, b):
    n, m = tf.shape(a)[0], tf.shape(b)[0]
    before = tf.range(m + 1)
    for i in tf.range(n):
        now = tf.TensorArray(tf.int32, size=m + 1)
        now = now.write(0, i + 1)
        last = i + 1
        for j in tf.range(m):
            cost = tf.where(a[i] == b[j], 0, 1)
            last = tf.minimum(tf.minimum(last + 1, before[j + 1] + 1), before[j] + cost)
            now = now.write(j + 1, last)
        before = now.stack()
    return before[-1]


@pytest.mark.parametrize("signature", [None, [tf.TensorSpec([None], tf.int32)] * 2])
def test_a_table_made_row_by_row(signature):
    f = tf.function(distance, input_signature=signature)
    for a, b, wanted in (("kitten", "sitting", 3), ("flaw", "lawn", 2), ("", "ab", 2), ("abc", "abc", 0)):
        letters = [tf.constant([ord(c) for c in w], tf.int32) for w in (a, b)]
        assert int(f(*letters)) == int(distance(*letters)) == wanted


def test_sizes_are_read_off_long_and_branching_chains_once():
    """Thousands of steps, and a number of paths that grows threefold with each: neither recursion nor repetition."""

    @tf.function(input_signature=ROWS)
    def f(x):
        n = tf.shape(x)[0]
        for _ in range(3000):
            n = n + 1
        for _ in range(60):
            n = n + n - n
        return tf.ones((n,))

    assert f(np.ones((2, 3), np.float32)).shape == (3002,)


def by_numbers(x):
    """What programs compute of numbers they write down, and need to have."""
    tnp = tf.numpy
    steps, total = int(tnp.ceil(0.5 / 0.1)), 0.0
    for i in range(steps):
        total = total + x[i % 3] * tnp.sqrt(i + 1.0)
    for k in tnp.arange(tnp.round(1.0 / 0.25) - 1):
        total = total + k * x[0]
    rows = int(tnp.sqrt(9.0))
    grid = tnp.reshape(x, (rows, int(tnp.prod((2, 1)))))
    part = x[: tnp.prod((2, 2))].reshape(2, -1)
    blank = tnp.zeros(tnp.prod(np.array([2, 2])))
    if bool(tnp.any(tnp.array([False, True]))) and float(tnp.minimum(1.0, 2.0)) == 1.0:
        total = total + 1.0
    return total, grid, part, blank + total, ["a", "b", "c"][int(tnp.max(tnp.array([0, 1])))] == "b"


def test_what_literals_come_to_is_known_while_tracing():
    x = np.linspace(0.1, 0.6, 6)
    compiled = tf.function(by_numbers)
    for found, expected in zip(compiled(x), by_numbers(tf.constant(x)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-15)
    gradient = tf.function(tf.grad(lambda x: by_numbers(x)[0]))
    np.testing.assert_allclose(gradient(x), tf.grad(lambda x: by_numbers(x)[0])(tf.constant(x)), rtol=1e-15)


def test_it_is_also_known_inside_of_loops():
    @tf.function
    def f(x, n):
        size = tf.numpy.ceil(0.25 * 10.0)
        for _ in range(n):
            x = x * 2.0 + tf.numpy.sum(tf.numpy.zeros(int(size)) + 1.0)
        return x

    np.testing.assert_allclose(f(tf.constant(1.0, tf.float64), tf.constant(3)), 8.0 + 3.0 * 7.0)


@pytest.mark.parametrize(
    "program",
    [
        lambda x: int(tf.numpy.sum(x)) == 3,
        lambda x: [1, 2][tf.cast(x[0] * 0.0, tf.int64)],
        lambda x: np.float64(tf.numpy.ceil(x[0])),
        lambda x: float(tf.random.Generator.from_seed(1).uniform(())),
        lambda x: [1, 2][tf.shape(x)[0] - 1],
    ],
    ids=["input", "index", "array", "drawn", "size"],
)
def test_what_depends_on_more_than_literals_is_not(program):
    f = tf.function(program, input_signature=[tf.TensorSpec([None], tf.float64)], autograph=False)
    with pytest.raises(tf.errors.TracejitError, match=r"while|known only"):
        f(np.array([1.0, 2.0]))


def test_what_is_known_while_tracing_fails_where_it_runs():
    f = tf.function(lambda x: int(tf.numpy.take(tf.numpy.array([1, 2]), 5)) + x)
    with pytest.raises(IndexError):
        f(tf.constant(1.0))
