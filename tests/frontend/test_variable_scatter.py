"""Parts of Variables that are written by position, eagerly and compiled."""

import numpy as np
import pytest

import tracejit as tf

NOW = np.arange(8.0, dtype="f").reshape(4, 2)
CALLS = {
    "scatter_nd_add": (([[0], [0]], [[1.0, 1.0], [2.0, 2.0]]), lambda x: _changed(x, 0, x[0] + 3)),
    "scatter_nd_sub": (([[1, 1]], [5.0]), lambda x: _changed(x, (1, 1), x[1, 1] - 5)),
    "scatter_nd_update": (([[2], [3]], [[1.0, 2.0], [3.0, 4.0]]), lambda x: _changed(x, [2, 3], [[1, 2], [3, 4]])),
    "scatter_nd_max": (([[0], [0]], [[9.0, 0.0], [3.0, 0.0]]), lambda x: _changed(x, 0, [9, 1])),
    "scatter_nd_min": (([[3]], [[0.0, 9.0]]), lambda x: _changed(x, 3, [0, 7])),
}  # fmt: skip
ROWS = {
    "scatter_add": lambda now, given: now + given,
    "scatter_sub": lambda now, given: now - given,
    "scatter_update": lambda now, given: given,
    "scatter_max": np.maximum,
    "scatter_min": np.minimum,
    "scatter_mul": lambda now, given: now * given,
    "scatter_div": lambda now, given: now / given,
}


def _changed(x, index, value):
    x = x.copy()
    x[index] = value
    return x


def _in_both_modes(change):
    """What `change` leaves in a Variable."""
    for run in (lambda f: f, tf.function):
        v = tf.Variable(NOW)
        assert change(v) is v
        yield v.numpy()
        w = tf.Variable(NOW)
        run(lambda w=w: change(w).read_value())()
        yield w.numpy()


@pytest.mark.parametrize("name", CALLS)
def test_positions(name):
    (indices, updates), expected = CALLS[name]
    for value in _in_both_modes(lambda v: getattr(v, name)(indices, updates)):
        np.testing.assert_array_equal(value, expected(NOW))


@pytest.mark.parametrize("name", ROWS)
def test_rows(name):
    rows = np.array([[4.0, 4.0], [2.0, 16.0]], "f")
    delta = tf.IndexedSlices(tf.constant(rows), tf.constant([2, 1]), (4, 2))
    expected = _changed(NOW, [2, 1], ROWS[name](NOW[[2, 1]], rows))
    for value in _in_both_modes(lambda v: getattr(v, name)(delta)):
        np.testing.assert_allclose(value, expected, rtol=1e-6)


def test_rows_are_indexed_slices():
    with pytest.raises(TypeError, match="IndexedSlices"):
        tf.Variable(NOW).scatter_add([[1.0, 1.0]])


def test_reading_by_position():
    v = tf.Variable(NOW)
    np.testing.assert_array_equal(v.sparse_read([2, 0]), NOW[[2, 0]])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(v.gather_nd([[1, 1], [1, 1]]) ** 2)
    np.testing.assert_allclose(tf.convert_to_tensor(tape.gradient(y, v)), _changed(0 * NOW, (1, 1), 12.0))


@pytest.mark.parametrize("compiled", [False, True])
def test_no_gradient_flows_to_what_was_written(compiled):
    v = tf.Variable(NOW)

    def f(x):
        v.scatter_nd_update([[0]], [x])
        return tf.reduce_sum(v * v)

    x = tf.constant([3.0, 4.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = (tf.function(f) if compiled else f)(x)
    assert tape.gradient(y, x) is None and float(y) == float((_changed(NOW, 0, [3, 4]) ** 2).sum())


def test_a_position_that_is_not_there():
    with pytest.raises(IndexError):
        tf.Variable(NOW).scatter_nd_add([[7]], [[1.0, 1.0]])


def test_rows_need_not_say_of_how_many():
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    v.scatter_update(tf.IndexedSlices(values=[[7.0, 8.0], [9.0, 0.0]], indices=[1, 0]))
    assert v.numpy().tolist() == [[9.0, 0.0], [7.0, 8.0], [5.0, 6.0]]
    assert tf.IndexedSlices([[1.0]], [3]).shape == (4, 1)
    for unknown in ([-1], tf.constant([], "int32")):
        with pytest.raises(tf.ShapeError, match="give dense_shape"):
            tf.IndexedSlices(tf.ones((len(unknown), 2)), unknown)
