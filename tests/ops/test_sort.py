"""Sorting: order as NumPy has it, special values, unknown sizes, and derivatives through the permutation."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
from tracejit.math.sorting import take_along

RANDOM = np.random.default_rng(0)
MODES = pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])


def keys(shape, dtype):
    """Few different values, so that many are equal, among them NaN, infinities and both zeros."""
    values = [0, 1, 2, 3] if np.dtype(dtype).kind != "f" else [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan]
    return RANDOM.choice(np.array(values).astype(dtype), shape)


@pytest.mark.sampled(2)
@MODES
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "uint8", "bool"])
def test_order_and_values(mode, dtype):
    argsort, sort = (mode(lambda x, f=f: [f(x, axis=a) for a in (0, 1, -1)]) for f in (tf.argsort, tf.sort))
    for shape in ((3, 0, 2), (1, 1, 1), (2, 3, 1), (4, 33, 2), (1, 1000, 2)):
        x = keys(shape, dtype)
        for axis, order, values in zip((0, 1, -1), argsort(x), sort(x), strict=True):
            wanted = np.argsort(x, axis=axis, kind="stable")
            np.testing.assert_array_equal(order.numpy(), wanted)
            np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, wanted, axis))
            assert order.dtype == np.int32 and values.dtype == x.dtype


@MODES
def test_descending_is_stable_and_does_not_overflow(mode):
    f = mode(lambda x: tf.argsort(x, direction="DESCENDING"))
    assert f(np.array([1.0, np.nan, 3.0, 1.0])).numpy().tolist() == [2, 0, 3, 1]
    assert f(np.array([-128, 127, -128], np.int8)).numpy().tolist() == [1, 0, 2]
    assert f(np.array([0, 255, 3], np.uint8)).numpy().tolist() == [1, 2, 0]
    assert f(np.array([False, True])).numpy().tolist() == [1, 0]


@MODES
def test_top_k(mode):
    x = np.array([[1.0, 5.0, 5.0, np.nan], [4.0, -1.0, 0.0, 9.0]])
    values, indices = mode(lambda x: tf.math.top_k(x, 2))(x)
    assert values.numpy().tolist() == [[5.0, 5.0], [9.0, 4.0]]
    assert indices.numpy().tolist() == [[1, 2], [3, 0]] and indices.dtype == np.int32
    with pytest.raises(ValueError, match="the 5 largest of 4"):
        tf.math.top_k(x, 5)
    f = tf.function(lambda x: tf.math.top_k(x, 2), input_signature=[tf.TensorSpec([None], tf.float64)])
    assert f(x[1])[0].numpy().tolist() == [9.0, 4.0]
    with pytest.raises(ValueError, match="the 2 largest of"):
        f(x[1, :1])


@MODES
def test_derivatives_follow_the_permutation(mode):
    x, w = RANDOM.normal(size=(3, 5)), RANDOM.normal(size=(3, 5))

    def loss(x):
        return tf.reduce_sum(w * tf.sort(x, axis=-1) ** 3)

    order = np.argsort(x, axis=-1)
    first, second = np.empty_like(x), np.empty_like(x)
    np.put_along_axis(first, order, 3 * w * np.sort(x, -1) ** 2, -1)
    np.put_along_axis(second, order, 6 * w * np.sort(x, -1), -1)
    np.testing.assert_allclose(mode(tf.grad(loss))(x).numpy(), first, rtol=1e-12)
    of_sum = tf.grad(lambda x: tf.reduce_sum(tf.grad(loss)(x)))
    np.testing.assert_allclose(mode(of_sum)(x).numpy(), second, rtol=1e-12)
    np.testing.assert_allclose(mode(lambda x, t: tf.jvp(loss, [x], [t])[1])(x, w).item(), np.sum(first * w))


def test_sizes_known_only_at_the_call_and_in_loops():
    f = tf.function(tf.sort, input_signature=[tf.TensorSpec([None, None], tf.float64)])
    for shape in ((0, 3), (2, 0), (1, 1), (3, 17), (2, 64)):
        x = RANDOM.normal(size=shape)
        np.testing.assert_array_equal(f(x).numpy(), np.sort(x))

    @tf.function
    def smallest_removed(x, n):
        for _ in tf.range(n):
            x = tf.sort(x)
            x = tf.concat([x[1:], x[:1] + 10.0], 0)
        return x

    assert smallest_removed(np.array([3.0, 1.0, 2.0]), 2).numpy().tolist() == [3.0, 11.0, 12.0]


def test_of_lanes():
    x = RANDOM.normal(size=(4, 3, 5))
    np.testing.assert_array_equal(tf.vmap(lambda v: tf.sort(v, 0))(x).numpy(), np.sort(x, 1))
    np.testing.assert_array_equal(take_along(x, np.argsort(x, 1), 1).numpy(), np.sort(x, 1))


def test_what_it_takes():
    with pytest.raises(tf.DtypeError, match="order"):
        tf.sort(np.array([1j, 2.0]))
    with pytest.raises(tf.ShapeError, match="axis 1 is out of range"):
        tf.argsort([1.0, 2.0], axis=1)
    with pytest.raises(ValueError, match="ASCENDING"):
        tf.sort([1.0], direction="down")


def test_the_largest_have_names():
    found = tf.math.top_k([1.0, 5.0, 3.0], k=2)
    assert found.values.numpy().tolist() == [5.0, 3.0] and found.indices.numpy().tolist() == [1, 2]
    assert tf.math.top_k([1.0], 1, index_type=tf.int64).indices.dtype == tf.int64
    inside = tf.function(lambda x: tf.math.top_k(x, 2).values)
    assert inside(tf.constant([[1.0, 5.0, 3.0]])).numpy().tolist() == [[5.0, 3.0]]


@MODES
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("size", [0, 1, 2, 5, 8, 100])
def test_places_in_a_sorted_sequence(mode, side, size):
    x = np.sort(RANDOM.integers(0, 20, size=size)).astype(float)
    values = np.concatenate([x, x + 0.5, x - 0.5, [-1.0, 100.0]])
    found = mode(lambda a, v: tf.searchsorted(a, v, side=side))(tf.constant(x), tf.constant(values))
    np.testing.assert_array_equal(found.numpy(), np.searchsorted(x, values, side))
    assert found.dtype == np.int32


def test_places_row_by_row_and_what_is_refused():
    rows = tf.searchsorted([[1, 3, 5], [2, 4, 6]], [[3, 0], [6, 5]], out_type=tf.int64)
    assert rows.numpy().tolist() == [[1, 0], [2, 2]] and rows.dtype == np.int64
    with pytest.raises(ValueError, match="side is 'left' or 'right'"):
        tf.searchsorted([1], [1], side="middle")


def test_different_elements_in_the_order_they_come():
    y, idx, count = tf.unique_with_counts([4, 4, 1, 7, 1, 4])
    assert y.numpy().tolist() == [4, 1, 7] and idx.numpy().tolist() == [0, 0, 1, 2, 1, 0]
    assert count.numpy().tolist() == [3, 2, 1] and idx.dtype == count.dtype == np.int32
    assert tf.unique(["b", "a", "b"]).y.numpy().tolist() == [b"b", b"a"]
    assert tf.unique(tf.constant([2.0, 2.0]), out_idx=tf.int64).idx.dtype == np.int64
    with pytest.raises(ValueError, match="takes a vector"):
        tf.unique([[1]])


@MODES
def test_permutations_and_ranks(mode):
    assert mode(tf.math.invert_permutation)(tf.constant([2, 0, 1])).numpy().tolist() == [1, 2, 0]
    scores = tf.constant([[0.1, 0.9, 0.5], [0.2, np.nan, 0.1], [0.3, 0.3, 0.3]])
    found = mode(lambda s, t: tf.math.in_top_k(t, s, 1))(scores, tf.constant([1, 1, 2]))
    assert found.numpy().tolist() == [True, False, True]
    for target in (-1, 3):
        with pytest.raises(IndexError):
            mode(lambda s, t: tf.math.in_top_k(t, s, 1))(scores, tf.constant([1, 1, target]))


def test_rows_as_long_as_a_loop_ran():
    @tf.function
    def f(n):
        items = []
        for i in tf.range(n):
            items.append(tf.sin(tf.cast(n - i, "float64")))
        y = tf.stack(items)
        return tf.sort(y), tf.argsort(y), tf.sort(tf.range(n) % 3)

    for n in (1, 5, 40):
        y = np.sin(n - np.arange(n, dtype=float))
        for got, wanted in zip(
            f(tf.constant(n)), (np.sort(y), np.argsort(y), np.sort(np.arange(n) % 3)), strict=True
        ):
            np.testing.assert_array_almost_equal_nulp(got, wanted)
