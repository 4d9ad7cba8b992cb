"""``x[...]`` agrees with NumPy, eager, compiled and with sizes unknown; gradients land where the reads were."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

A = np.arange(24.0).reshape(2, 3, 4)
s = slice
INDICES = [
    0,
    -1,
    (1, 2),
    (0, s(None, None, -1)),
    (..., 1),
    (s(None), [0, 2]),
    ([0, 1], [1, 2]),
    ([0, 1], s(None), [1, 2]),
    (None, 1, ..., None),
    (s(None), s(2, None, -2), 3),
    s(0, 0),
    np.array([[0, 1], [1, 0]]),
    (0, s(None), [1, 2]),
    (s(None), [0, 1], [2, 3]),
    s(5, 1),
    (0, [True, False, True]),
    (s(None), s(-2, None), s(1, -1, 2)),
    (s(None), -1),
    (s(None), [-1, 0]),
    (),
    ...,
    (1, 2, 3),
    (1, None, 2),
    np.int64(1),
    (s(None, None, 5),),
    (s(-100, 100),),
    (s(None), None, [0, 1], [2, 3]),
    ([[0], [1]], [0, 2]),
    True,
    False,
    (..., True),
    (0, s(None, 2), True),
    (s(None, 2), 0, False),
    (s(None, 2), [0, 2], True),
    (True, s(None), True, s(None), np.array(True)),
    (s(None), s(None, None, -1), s(-1, -4, -1)),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_agrees_with_numpy(index):
    expected = A[index]
    x = tf.constant(A)
    weights = np.random.default_rng(0).normal(size=expected.shape)

    def weighted(x):
        return tf.reduce_sum(x[index] * weights)

    expected_gradient = np.zeros_like(A)
    np.add.at(expected_gradient, index, weights)
    for f in (lambda x: x[index], tf.function(lambda x: x[index])):
        np.testing.assert_array_equal(f(x), expected)
    for g in (tf.grad(weighted), tf.function(tf.grad(weighted))):
        np.testing.assert_allclose(g(x), expected_gradient, atol=1e-14)


@pytest.mark.parametrize("index", [i for i in INDICES if i is not Ellipsis], ids=str)
def test_agrees_with_numpy_at_sizes_unknown_while_tracing(index):
    f = tf.function(lambda x: x[index], input_signature=[tf.TensorSpec([None, None, None], tf.float64)])
    np.testing.assert_array_equal(f(A), A[index])


def test_masks():
    x = tf.constant(A)
    np.testing.assert_array_equal(x[A > 5], A[A > 5])
    np.testing.assert_array_equal(x[x > 5.0], A[A > 5])
    np.testing.assert_array_equal(x[:, np.array([True, False, True])], A[:, [True, False, True]])
    for index in (
        lambda x: x > 5.0,
        lambda x: (x[:, 0, 0] > 5.0, s(1, None)),
        lambda x: (..., x[0, 0] > 1.0),
    ):
        f = tf.function(lambda x, index=index: x[index(x)])
        np.testing.assert_array_equal(f(x), A[index(A)])
        np.testing.assert_array_equal(f(-x), -A[index(-A)])


@pytest.mark.parametrize("compiled", [False, True])
def test_positions_of_run_time(compiled):
    def f(x, i, j):
        return x[i], x[:, i, 1:], x[i, j], x[0, j], x[i, :, j], x[..., i, None], x[tf.reshape(i, (1,))]

    f = tf.function(f) if compiled else f
    for i, j in ((0, 2), (1, 0), (-1, -1)):
        expected = (A[i], A[:, i, 1:], A[i, j], A[0, j], A[i, :, j], A[..., i, None], A[[i]])
        for got, want in zip(f(tf.constant(A), np.int64(i), np.int32(j)), expected, strict=True):
            np.testing.assert_array_equal(got, want)


def test_errors_name_the_line():
    x = tf.constant(A)
    cases = [
        (2, "index 2 is out of range"),
        ((0, 0, 0, 0), "4 indices"),
        ((..., ...), "one Ellipsis"),
        (1.5, "float"),
        ((0, [5]), "index 5 is out of range"),
        ("a", "string"),
        (s(None, None, 0), "slice step cannot be zero"),
        (([0, 1], [0, 1, 2]), r"shapes \(2,\) and \(3,\) do not broadcast"),
        (np.array([True, False, True]), r"mask of the shape \(3,\) for axes of the sizes \(2,\)"),
        ((s(None), np.ones((3, 1), bool)), r"mask of the shape \(3, 1\) for axes of the sizes \(3, 4\)"),
    ]
    for index, message in cases:
        with pytest.raises((IndexError, TypeError, ValueError), match=f"{message}(.|\n)*test_indexing.py"):
            x[index]
    with pytest.raises(TypeError, match="rank 0"):
        iter(tf.constant(1.0))


def test_masks_of_tensors_from_outside_of_a_trace():
    c = tf.constant([1.0, -2.0, 3.0])
    found = tf.vectorized_map(lambda t: t * tf.reduce_sum(c[c > 0.0]), c)
    np.testing.assert_array_equal(found, [4.0, -8.0, 12.0])


def test_masks_that_a_compiled_function_computes_do_not_go_with_positions():
    with pytest.raises(ValueError, match=r"mask of bool\[2\].*index twice(.|\n)*test_indexing\.py"):
        tf.function(lambda x: x[x[:, 0, 0] > 0, :, [1, 2]])(A)


def test_writing_where_masks_hold_and_to_slices_that_a_compiled_function_computes():
    def f(x, n):
        y = np.zeros(6)
        y[x > 0] = x[x > 0] * 2
        y[:n] += x[:n] * y[:n]
        head = y[n - 1 : n + 1]
        head *= 10
        return y, head, x.at[n:].multiply(2.0)

    x = np.array([1.0, -2.0, 3.0, 4.0, -5.0, 6.0])
    for n in (0, 3, 9):
        for got, want in zip(tf.function(f)(x, tf.constant(n)), f(tf.constant(x), n), strict=True):
            np.testing.assert_array_equal(got, want)


PLACES = [0, (1, 2), s(0, 1), (..., 1), (s(None), s(None, None, -1), 3), (None, 1), s(0, 0), (1, 2, 3)]


@pytest.mark.parametrize("index", PLACES, ids=str)
def test_changed_copies(index):
    value = np.random.default_rng(1).normal(size=A[index].shape)
    for v in (value, 2.5):
        expected_set, expected_add = A.copy(), A.copy()
        expected_set[index] = v
        expected_add[index] += v
        for wrap in (lambda f: f, tf.function):
            np.testing.assert_array_equal(
                wrap(lambda x, v: x.at[index].set(v))(tf.constant(A), v), expected_set
            )
            np.testing.assert_array_equal(
                wrap(lambda x, v: x.at[index].add(v))(tf.constant(A), v), expected_add
            )
    assert np.asarray(tf.constant(A))[0, 0, 0] == 0.0


#: What ``ufunc.at`` of NumPy does, by the method that does it.
CHANGES = {
    "multiply": np.multiply,
    "divide": np.divide,
    "power": np.power,
    "min": np.minimum,
    "max": np.maximum,
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "index", [[2, 0, 2, 2], ([1, 0, 1], s(None), [3, 0, 3]), (s(1), [[0, 1], [0, -3]])], ids=str
)
@pytest.mark.parametrize("method", CHANGES)
def test_positions_that_repeat_are_changed_once_for_each(method, index):
    x = A[..., 0] + 1.0 if isinstance(index, list) else A + 1.0
    x = x.T.copy() if isinstance(index, list) else x
    value = np.random.default_rng(2).uniform(0.5, 1.5, size=x[index].shape)
    expected = x.copy()
    CHANGES[method].at(expected, index, value)
    change = lambda x, v: getattr(x.at[index], method)(v)
    weighted = lambda y: tf.reduce_sum(y * np.arange(1.0, x.size + 1).reshape(x.shape))
    for wrap in (lambda f: f, tf.function):
        np.testing.assert_allclose(wrap(change)(tf.constant(x), value), expected, rtol=1e-14)
        for loss, given in (
            (lambda y: weighted(change(y, value)), x),
            (lambda v: weighted(change(tf.constant(x), v)), value),
        ):
            along = np.random.default_rng(3).normal(size=given.shape)
            ends = [float(loss(tf.constant(given + step * along))) for step in (1e-6, -1e-6)]
            slope = np.sum(np.asarray(wrap(tf.grad(loss))(tf.constant(given))) * along)
            np.testing.assert_allclose(slope, (ends[0] - ends[1]) / 2e-6, rtol=1e-6)


@pytest.mark.parametrize("method", CHANGES)
def test_positions_of_run_time_that_repeat_are_changed_once_for_each(method):
    """Values, gradients and those of gradients are what they are where the positions are known."""
    x = A[..., 0].T + 1.0
    positions, value = np.array([[2, 0], [-2, 2]]), np.random.default_rng(2).uniform(0.5, 1.5, size=(2, 2, 2))
    expected = x.copy()
    CHANGES[method].at(expected, positions, value)

    def change(x, v, i):
        return getattr(x.at[i], method)(v)

    def loss(x, v, i):
        return tf.reduce_sum(tf.sin(change(x, v, i)))

    def slope(x, v, i):
        return sum(tf.reduce_sum(tf.cos(g)) for g in tf.grad(loss, (0, 1))(x, v, i))

    np.testing.assert_allclose(tf.function(change)(x, value, positions), expected, rtol=1e-15)
    for of in (loss, slope):
        for got, want in zip(
            tf.function(tf.grad(of, (0, 1)))(x, value, positions),
            tf.grad(of, (0, 1))(tf.constant(x), tf.constant(value), positions),
            strict=True,
        ):
            np.testing.assert_allclose(got, want, rtol=1e-10)


def test_a_function_is_applied_to_distinct_positions_of_run_time_alone():
    f = tf.function(lambda x, i: x.at[i].apply(tf.exp))
    np.testing.assert_allclose(f(np.arange(4.0), np.array([0, -1])), [1.0, 1.0, 2.0, np.exp(3.0)])
    with pytest.raises(ValueError, match=r"positions that repeat(.|\n)*test_indexing.py"):
        f(np.arange(4.0), np.array([3, -1]))


def test_a_function_is_applied_once_for_each_position_that_repeats():
    x, twice = np.array([1.0, 2.0, 3.0]), [0, 2, 0]
    expected = x.copy()
    np.sin.at(expected, twice)
    for wrap in (lambda f: f, tf.function):
        np.testing.assert_allclose(wrap(lambda x: x.at[twice].apply(tf.sin))(tf.constant(x)), expected)


def test_changed_copies_at_run_time_positions():
    x, i = tf.constant(A), np.int64(1)
    expected = A.copy()
    expected[1, :, 2] = 7.0
    f = tf.function(lambda x, i: x.at[i, :, 2].set(7.0))
    np.testing.assert_array_equal(f(x, i), expected)
    np.testing.assert_array_equal(tf.constant(A).at[[0, 0]].add(1.0), A + np.array([2.0, 0.0])[:, None, None])
    np.testing.assert_array_equal(tf.constant(A).at[[0, 1]].set(np.zeros((2, 3, 4))), 0 * A)


def test_reading_many_elements_costs_no_more_than_the_array():
    def f(x):
        total = 0.0
        for i in range(8):
            total = total + x[i] * x[i]
        return total

    x = tf.constant(np.arange(8.0))
    assert tf.grad(f)(x).numpy().tolist() == [2.0 * i for i in range(8)]
    names = [node.op.name for node in tf.function(tf.grad(f)).graph(x).nodes]
    assert names.count("place") + names.count("slice_add") == 1


@pytest.mark.parametrize(
    "part",
    [
        lambda x, i: x.at[i].set(1.0),
        lambda x, i: x.at[i].add(1.0),
        lambda x, i: x[i] + x,
        lambda x, i: tf.reshape(tf.linalg.solve(tf.linalg.diag(x) * 0.0, x[:, None]), (2,)) + x[i],
    ],
    ids=["set", "add", "get", "solve"],
)
def test_what_may_fail_stays_in_a_loop_that_runs_no_iteration(part):
    """It does not change in the loop, and would fail in front of it."""

    @tf.function
    def f(x, i, n):
        y, k = x, tf.constant(0)
        while k < n:
            y, k = y + part(x, i), k + 1
        return y

    x, outside = tf.constant([1.0, 2.0]), tf.constant([7])
    np.testing.assert_array_equal(f(x, outside, tf.constant(0)), [1.0, 2.0])
    with pytest.raises((IndexError, RuntimeError)):
        f(x, outside, tf.constant(1))


@pytest.mark.parametrize("width", [3, 200])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_what_is_added_at_repeated_positions_is_added_in_order(axis: int, width: int):
    values = np.random.default_rng(axis).standard_normal((7, 7, 7, width)).astype(np.float32) * 1e3
    positions, where = np.array([[3, -1, 0, 3], [0, 2, 3, 3]]), [s(None)] * axis
    x = np.ones((7, 7, 7, width), np.float32)
    added = np.take(values, [0, 3, 1, 6, 2, 5, 3, 4], axis=axis)
    added = added.reshape(*values.shape[:axis], 2, 4, *values.shape[axis + 1 :])
    wanted = x.copy()
    np.add.at(wanted, (*where, positions), added)
    np.testing.assert_array_equal(tf.scatter_add(x, positions, added, axis=axis).numpy(), wanted)
    np.testing.assert_array_equal(x, 1.0)
    with pytest.raises(IndexError, match=f"10 is out of bounds for axis {axis} with size 7"):
        tf.scatter_add(x, positions + 7, added, axis=axis)
