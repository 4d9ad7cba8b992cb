"""Segments: sums, means and extremes as loops over their parts have them; counting."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

X = np.random.default_rng(0).normal(size=(6, 2))
IDS = np.array([2, 0, 2, -1, 0, 2])


@pytest.fixture(params=["eager", "compiled"])
def run(request):
    return (lambda f: f) if request.param == "eager" else tf.function


def by_segment(reduce, empty, ids=IDS, count=4):
    parts = [X[ids == k] for k in range(count)]
    return np.array([reduce(p) if len(p) else np.full(2, empty) for p in parts])


LOW, HIGH = np.finfo(float).min, np.finfo(float).max
UNSORTED = {
    "unsorted_segment_sum": by_segment(lambda p: p.sum(0), 0.0),
    "unsorted_segment_mean": by_segment(lambda p: p.mean(0), 0.0),
    "unsorted_segment_sqrt_n": by_segment(lambda p: p.sum(0) / np.sqrt(len(p)), 0.0),
    "unsorted_segment_max": by_segment(lambda p: p.max(0), LOW),
    "unsorted_segment_min": by_segment(lambda p: p.min(0), HIGH),
}


@pytest.mark.parametrize("name", UNSORTED)
def test_segments_anywhere(name, run):
    f = getattr(tf.math, name)
    found = run(lambda x, ids: f(x, ids, 4))(tf.constant(X), tf.constant(IDS))
    np.testing.assert_allclose(found.numpy(), UNSORTED[name], rtol=1e-14)


@pytest.mark.parametrize("name", UNSORTED)
def test_gradients_go_to_the_parts_that_count(name, run):
    f = getattr(tf.math, name)

    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x, tf.constant(IDS), 3)[0]
        return tape.gradient(y, x)

    found = run(gradient)(tf.constant(X)).numpy()
    wanted = np.zeros_like(X)
    for column in range(2):
        rows = [1, 4]
        if name.endswith("sum"):
            wanted[rows, column] = 1.0
        elif name.endswith("mean"):
            wanted[rows, column] = 0.5
        elif name.endswith("sqrt_n"):
            wanted[rows, column] = np.sqrt(0.5)
        else:
            pick = np.argmax if name.endswith("max") else np.argmin
            wanted[rows[pick(X[rows, column])], column] = 1.0
    np.testing.assert_allclose(found, wanted, rtol=1e-14)


def test_numbers_over_several_axes(run):
    f = run(lambda x: tf.math.unsorted_segment_sum(x, [[0, 1], [1, 1]], 2))
    assert f(tf.constant([[1, 2], [3, 4]])).numpy().tolist() == [1, 9]


def test_sorted_segments(run):
    ids = [0, 0, 1, 1, 1, 3]
    for name, reduce in (("sum", np.sum), ("mean", np.mean), ("max", np.max), ("min", np.min)):
        f = getattr(tf.math, f"segment_{name}")
        found = run(lambda x, f=f: f(x, ids))(tf.constant(X)).numpy()
        for k in (0, 1, 3):
            np.testing.assert_allclose(found[k], reduce(X[np.array(ids) == k], axis=0), rtol=1e-14)
        assert not found[2].any()  # 0 where no row is, as in TensorFlow
    with pytest.raises(ValueError, match="sorted"):
        tf.math.segment_sum([1, 2], [1, 0])


def test_segments_of_unknown_size():
    signature = [tf.TensorSpec([None, 2], tf.float64), tf.TensorSpec([None], tf.int64)]
    f = tf.function(lambda x, ids: tf.math.unsorted_segment_mean(x, ids, 2), input_signature=signature)
    assert f(np.array([[1.0, 2.0], [3.0, 6.0]]), np.array([1, 1])).numpy().tolist() == [
        [0.0, 0.0],
        [2.0, 4.0],
    ]


@pytest.mark.parametrize("name", ["sum", "mean", "max", "prod"])
def test_numbers_that_are_not_sorted_are_refused(name, run):
    f = run(getattr(tf.math, f"segment_{name}"))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"are sorted here(.|\n)*test_segments"):
        f(tf.constant([1.0, 2.0, 3.0]), tf.constant([0, 2, 1]))


def test_what_does_not_fit_is_refused(run):
    with pytest.raises(tf.DtypeError, match="extremes are of real numbers, got bool"):
        tf.math.unsorted_segment_max([True], [0], 1)
    with pytest.raises(ValueError, match="of the shape of its first axes"):
        run(lambda x: tf.math.unsorted_segment_sum(x, [0, 1], 2))(tf.constant(X))
    with pytest.raises(IndexError):
        run(lambda x, ids: tf.math.unsorted_segment_sum(x, ids, 2))(tf.constant(X), tf.constant(IDS))


def test_counts():
    assert tf.math.bincount([1, 1, 3]).numpy().tolist() == [0, 2, 0, 1]
    assert tf.math.bincount([1, 1], minlength=4).numpy().tolist() == [0, 2, 0, 0]
    assert tf.math.bincount([1, 5, 1], maxlength=3).numpy().tolist() == [0, 2, 0]
    weighted = tf.math.bincount([0, 2, 2], weights=[0.5, 1.0, 2.0])
    assert weighted.numpy().tolist() == [0.5, 0.0, 3.0] and weighted.dtype == np.float32
    assert tf.math.bincount(tf.constant([], tf.int32)).shape == (0,)
    fixed = tf.function(lambda x: tf.math.bincount(x, minlength=3, maxlength=3))
    assert fixed(tf.constant([2, 0, 2, 7])).numpy().tolist() == [1, 0, 2]
    for counted in (fixed, tf.math.bincount):
        with pytest.raises(IndexError):
            counted(tf.constant([2, -1]))


def test_confusion_matrix(run):
    f = run(lambda a, b: tf.math.confusion_matrix(a, b, num_classes=3))
    found = f(tf.constant([1, 2, 2, 0]), tf.constant([1, 2, 0, 0]))
    assert found.numpy().tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 1]] and found.dtype == np.int32
    for labels in ([1, -1], [1, 3]):
        with pytest.raises(IndexError):
            f(tf.constant(labels), tf.constant([1, 2]))
    weighted = tf.math.confusion_matrix([0, 1], [1, 1], weights=[0.5, 2.0], dtype=tf.float32)
    assert weighted.numpy().tolist() == [[0.0, 0.5], [0.0, 2.0]]


def second_order(f, x):
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x * x)
        first = tape.gradient(y, x)
    return y, first, outer.gradient(first, x)


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["max", "min"])
def test_equal_extremes_share_the_gradient(sign, run):
    x = tf.constant([[1.0, 5.0], [3.0, 5.0], [3.0, 2.0], [4.0, 4.0]])
    f = tf.math.segment_max if sign > 0 else tf.math.segment_min
    found = run(lambda x: second_order(lambda v: sign * f(sign * v, [0, 0, 0, 1]), x))(x)
    y, first, second = (v.numpy() for v in found)
    np.testing.assert_array_equal(y, [[9.0, 25.0], [16.0, 16.0]])
    np.testing.assert_array_equal(first, [[0.0, 5.0], [3.0, 5.0], [3.0, 0.0], [8.0, 8.0]])
    np.testing.assert_array_equal(second, [[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [2.0, 2.0]])


def test_what_was_there_shares_it_too(run):
    def gradients(x, v):
        with tf.GradientTape() as tape:
            tape.watch([x, v])
            y = tf.tensor_scatter_nd_max(x, [[0], [0], [1]], v)
        return tape.gradient(y, [x, v])

    x, v = tf.constant([2.0, 5.0, 1.0]), tf.constant([2.0, 2.0, 3.0])
    of_x, of_v = run(gradients)(x, v)
    np.testing.assert_allclose(of_x, [1 / 3, 1.0, 1.0], rtol=1e-6)
    np.testing.assert_allclose(of_v, [1 / 3, 1 / 3, 0.0], rtol=1e-6)


def test_products_of_sorted_segments(run):
    x = tf.constant([2.0, 3.0, 0.0, 4.0])
    y, first, _ = run(lambda x: second_order(lambda v: tf.math.segment_prod(v, [0, 0, 2, 2]), x))(x)
    np.testing.assert_allclose(y, [36.0, 1.0, 0.0])
    np.testing.assert_allclose(first, [36.0, 24.0, 0.0, 0.0])


def test_counts_name_the_number_that_is_negative():
    for f in (tf.math.bincount, tf.numpy.bincount):
        with pytest.raises(IndexError, match="from 0 on, got -3"):
            f([1, -1, 2, -3])
    with pytest.raises(IndexError, match="out of range"):
        tf.function(lambda x: tf.math.bincount(x, minlength=4, maxlength=4))(tf.constant([1, -3]))
