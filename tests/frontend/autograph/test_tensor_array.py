"""TensorArray: eager and compiled, in loops, branches and functions called, with derivatives of two orders."""

import numpy as np
import pytest

import tracejit as tf


@pytest.fixture(params=["eager", "compiled"])
def run(request):
    return (lambda f: f) if request.param == "eager" else tf.function


def test_elements_one_by_one_and_all_at_once():
    found = tf.TensorArray(tf.float32, size=0, dynamic_size=True, clear_after_read=False)
    for k, value in enumerate((10.0, 20.0, 30.0)):
        found = found.write(k, value)
    assert [float(found.read(k)) for k in (0, 1, 1)] == [10.0, 20.0, 20.0]
    assert int(found.size()) == 3
    np.testing.assert_array_equal(found.stack(), [10.0, 20.0, 30.0])
    np.testing.assert_array_equal(found.gather([2, 0]), [30.0, 10.0])
    rows = tf.TensorArray(tf.float32, size=3).unstack(tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    np.testing.assert_array_equal(rows.read(1), [3.0, 4.0])
    np.testing.assert_array_equal(rows.concat(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    parts = tf.TensorArray(tf.float32, size=2, infer_shape=False).split(tf.constant([1.0, 2.0, 3.0]), [2, 1])
    assert [p.shape for p in (parts.read(0), parts.read(1), parts.concat())] == [(2,), (1,), (3,)]
    placed = tf.TensorArray(tf.int32, size=3, element_shape=[2]).scatter([2, 0], [[1, 2], [3, 4]])
    np.testing.assert_array_equal(placed.stack(), [[3, 4], [0, 0], [1, 2]])
    assert (placed.dtype, placed.element_shape, placed.dynamic_size) == (np.int32, (2,), False)


def squares(n):
    found = tf.TensorArray(tf.int32, size=n)
    for i in tf.range(n):
        found = found.write(i, i * i)
    return found.stack()


def nested(n, m):
    rows = tf.TensorArray(tf.int32, size=n)
    for i in tf.range(n):
        row = tf.TensorArray(tf.int32, size=m)
        for j in tf.range(m):
            row = row.write(j, i * j)
        rows = rows.write(i, row.stack())
    return rows.stack()


def flat(n):
    found = tf.TensorArray(tf.int32, size=n * n)
    for i in tf.range(n):
        for j in tf.range(n):
            found = found.write(i * n + j, i + j)
    return tf.reshape(found.stack(), [n, n])


def fibonacci(n):
    found = tf.TensorArray(tf.int32, size=n, clear_after_read=False)
    found = found.write(0, 1)
    found = found.write(1, 1)
    for i in tf.range(2, n):
        found = found.write(i, found.read(i - 1) + found.read(i - 2))
    return found.stack()


def signs(n):
    found = tf.TensorArray(tf.int32, size=n)
    for i in tf.range(n):
        if i % 2 == 0:
            found = found.write(i, 1)
        else:
            found = found.write(i, -1)
    return found.stack()


def some(n):
    found = tf.TensorArray(tf.int32, size=n)
    for i in tf.range(n):
        if i % 2 == 0:
            found.write(i, i + 1)  # what it returns is the array itself
    return found.stack()


def two(n):
    a, b = tf.TensorArray(tf.int32, size=n), tf.TensorArray(tf.int32, size=n)
    for i in tf.range(n):
        a = a.write(i, i)
    for i in tf.range(n):
        b = b.write(i, 2 * i)
    return a.stack() + b.stack()


def kept(n):
    found = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
    k = 0
    for i in tf.range(n):
        if i % 3 != 0:
            found = found.write(k, i)
            k += 1
    return found.stack(), found.size()


def collatz(n):
    found = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
    found = found.write(0, n)
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        found = found.write(found.size(), n)
    return found.stack()


def put(array, i, value):
    return array.write(i, value * 2)


def through_a_function(n):
    found = tf.TensorArray(tf.int32, n)
    for i in tf.range(n):
        found = put(found, i, i)
    return found.stack(), found.read(n - 1), found.gather([0, 2])


def in_while_loop(n):
    def body(i, array):
        return i + 1, array.write(i, i * 3)

    i, array = tf.while_loop(lambda i, array: i < n, body, [tf.constant(0), tf.TensorArray(tf.int32, size=n)])
    return i, array.stack()


@pytest.mark.parametrize(
    "program, arguments, wanted",
    [
        (squares, (5,), [0, 1, 4, 9, 16]),
        (squares, (0,), None),
        (nested, (2, 4), [[0, 0, 0, 0], [0, 1, 2, 3]]),
        (flat, (3,), [[0, 1, 2], [1, 2, 3], [2, 3, 4]]),
        (fibonacci, (8,), [1, 1, 2, 3, 5, 8, 13, 21]),
        (signs, (5,), [1, -1, 1, -1, 1]),
        (some, (5,), [1, 0, 3, 0, 5]),
        (two, (4,), [0, 3, 6, 9]),
        (kept, (6,), ([1, 2, 4, 5], 4)),
        (collatz, (6,), [6, 3, 10, 5, 16, 8, 4, 2, 1]),
        (through_a_function, (3,), ([0, 2, 4], 4, [0, 4])),
        (in_while_loop, (4,), (4, [0, 3, 6, 9])),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_programs(run, program, arguments, wanted):
    if wanted is None and run is not tf.function:
        with pytest.raises(ValueError, match="element_shape"):
            run(program)(*map(tf.constant, arguments))
        return
    found = run(program)(*map(tf.constant, arguments))
    if not isinstance(found, tuple):
        found, wanted = (found,), ([] if wanted is None else wanted,)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


def recurrent(x, w):
    steps = tf.shape(x)[0]
    states, inputs = tf.TensorArray(tf.float64, size=steps), tf.TensorArray(tf.float64, size=steps).unstack(x)
    h = tf.zeros_like(x[0])
    for t in tf.range(steps):
        h = tf.tanh(inputs.read(t) + w * h)
        states = states.write(t, h)
    return tf.reduce_sum(states.stack() ** 2)


def unrolled(x, w):
    h, total = tf.zeros_like(x[0]), 0.0
    for k in range(4):
        h = tf.tanh(x[k] + w * h)
        total = total + tf.reduce_sum(h**2)
    return total


def derivatives(f, x, w):
    with tf.GradientTape() as outer:
        outer.watch((x, w))
        with tf.GradientTape() as inner:
            inner.watch((x, w))
            y = f(x, w)
        first = inner.gradient(y, [x, w])
        total = tf.reduce_sum(first[0] ** 2) + first[1]
    return [y, *first, *outer.gradient(total, [x, w])]


@pytest.mark.parametrize(
    "signature", [None, [tf.TensorSpec([None, 2], tf.float64), tf.TensorSpec([], tf.float64)]]
)
def test_derivatives_of_two_orders(signature):
    x, w = tf.constant(np.random.default_rng(0).standard_normal((4, 2))), tf.constant(np.float64(0.7))
    wanted = derivatives(unrolled, x, w)
    for f in (recurrent, tf.function(recurrent, input_signature=signature)):
        for a, b in zip(derivatives(f, x, w), wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10)
    tangents = tf.jvp(tf.function(recurrent), (x, w), (tf.ones_like(x), tf.constant(np.float64(1.0))))[1]
    np.testing.assert_allclose(tangents, tf.reduce_sum(wanted[1]) + wanted[2], rtol=1e-10)


def test_derivative_of_an_array_that_grows(run):
    def f(x):
        found = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        while x < 50.0:
            x = x * x
            found = found.write(found.size(), x)
        return tf.reduce_sum(found.stack())

    x = tf.constant(2.0)
    np.testing.assert_allclose(run(tf.grad(f))(x), 2 * 2.0 + 4 * 2.0**3 + 8 * 2.0**7)


def test_dtype_and_shape_of_elements_are_checked():
    found = tf.TensorArray(tf.float32, size=2)
    with pytest.raises(tf.DtypeError, match="float32 is given int32"):
        found.write(0, tf.constant(1))
    found.write(0, [1.0, 2.0])
    with pytest.raises(tf.ShapeError, match=r"shape \(2,\) is given float32\[3\]"):
        found.write(1, [1.0, 2.0, 3.0])
    with pytest.raises(IndexError, match=r"element 2 of a TensorArray of 2[^$]*test_tensor_array"):
        found.write(2, [1.0, 2.0])
    with pytest.raises(tf.ShapeError, match="of 2 elements is given"):
        found.unstack(tf.zeros([3]))
    np.testing.assert_array_equal(found.stack(), [[1.0, 2.0], [0.0, 0.0]])


def test_positions_are_checked_when_the_function_runs():
    @tf.function
    def f(k):
        found = tf.TensorArray(tf.int32, size=2)
        for i in tf.range(k):
            found = found.write(i, i)
        return found.stack()

    np.testing.assert_array_equal(f(tf.constant(1)), [0, 0])
    with pytest.raises(IndexError, match="test_tensor_array"):
        f(tf.constant(3))


def test_what_cannot_be_compiled_says_what_to_write():
    def reads(n):
        found = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
        found = found.write(0, 1)
        for i in tf.range(1, n):
            found = found.write(i, found.read(i - 1) + 1)
        return found.stack()

    outside = tf.TensorArray(tf.int32, size=2)

    def elsewhere(n):
        return outside.write(0, n).stack()

    np.testing.assert_array_equal(reads(tf.constant(3)), [1, 2, 3])
    with pytest.raises(tf.TracejitError, match="give its size"):
        tf.function(reads)(tf.constant(3))
    with pytest.raises(tf.TracejitError, match="pass it through the variables"):
        tf.function(elsewhere)(tf.constant(3))


def _written(array, index):
    return array.write(index, 1.0).stack()


def _written_in_a_loop(array, index):
    for i in tf.range(index, 2):
        array = array.write(i, 1.0)
    return array.stack()


def _read(array, index):
    return array.write(0, 1.0).write(1, 1.0).read(index)


def _read_of_rows(array, index):
    return array.unstack([1.0, 2.0]).read(index)


@pytest.mark.parametrize("grows", (False, True))
@pytest.mark.parametrize("use", (_written, _written_in_a_loop, _read, _read_of_rows))
def test_numbers_start_at_zero(use, grows):
    def f(index):
        return use(tf.TensorArray(tf.float32, size=2, dynamic_size=grows), index)

    compiled = tf.function(f)
    for run in (f, compiled, lambda i: tf.function(lambda: f(int(i)))()):
        with pytest.raises(IndexError):
            run(tf.constant(-1))
        assert np.ravel(run(tf.constant(1)))[-1] in (1.0, 2.0)


def test_derivative_of_a_part_at_a_size_that_a_loop_tells():
    """The part is read behind the loop that tells where it begins, whatever is fused with whatever."""
    v, w = tf.Variable(0.5), tf.Variable(-0.25)

    @tf.function
    def f(x, n):
        ta = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for i in range(n):
            ta = ta.write(tf.minimum(i, n), tf.sin(tf.cast(i, tf.float32)))
        v.assign_add(0.25)
        c = x * v
        ta = ta.write(ta.size(), w * 0.25 - v * 0.5)
        return c, ta.stack()

    x = tf.constant(0.5)
    with tf.GradientTape() as tape:
        tape.watch(x)
        c, rows = f(x, tf.constant(3))
        loss = c + tf.reduce_sum(rows)
    found = tape.gradient(loss, [x, v, w])
    assert [float(g) for g in found] == [0.75, 0.0, 0.25]


def test_a_scalar_has_no_rows():
    with pytest.raises(tf.TracejitError, match=r"a TensorArray of 2 elements is given float32\[\]"):
        tf.TensorArray(tf.float32, size=2).unstack(tf.constant(1.0))


def test_rows_that_nobody_wrote_are_made_at_once():
    """However many elements there are, what a loop takes round is a few ops."""

    def f(x, n):
        rows = tf.TensorArray(tf.float32, size=n)
        rows = rows.write(n // 2, x)
        for k in tf.range(2):
            rows = rows.write(k, x * tf.cast(k + 1, tf.float32))
        return rows.stack()

    def ops_of(n):
        return len(tf.function(lambda x: f(x, n)).get_concrete_function(tf.constant(3.0)).graph.nodes)

    assert ops_of(900) == ops_of(9)
    for run in (f, tf.function(f)):
        np.testing.assert_array_equal(run(tf.constant(3.0), 5), [3, 6, 3, 0, 0])
        np.testing.assert_array_equal(run(tf.constant(3.0), 2), [3, 6])
