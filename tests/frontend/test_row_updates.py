"""Compiled functions that change rows of large Variables: where they are, and as if they did not."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import tracejit as tf
from tracejit.core.op import OPS
from tracejit.frontend.state.row_updates import LARGE_BYTES, row_updates

COLUMNS = 64
LARGE = LARGE_BYTES // 4 // COLUMNS  # rows of float32
SMALL = 8


def table(rows=LARGE):
    return tf.Variable(np.random.default_rng(1).normal(size=(rows, COLUMNS)).astype("f"))


def train(v, optimizer, ids):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.nn.embedding_lookup(v, ids) ** 3)
    optimizer.apply_gradients([(tape.gradient(loss, v), v)])
    return loss


def taken_out(f, *args):
    return row_updates(f.get_concrete_function(*args).graph)


@pytest.mark.parametrize("rows", [LARGE, SMALL])
def test_steps_are_those_of_eager_mode(rows):
    v, w = table(rows), table(rows)
    first, second = tf.optimizers.SGD(0.125), tf.optimizers.SGD(0.125)
    step = tf.function(lambda ids: train(v, first, ids))
    for ids in ([1, 1, 4], [-1, 5, 5], [0, 0, 0]):
        a, b = step(tf.constant(ids)), train(w, second, tf.constant(ids))
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)
        np.testing.assert_allclose(v.numpy(), w.numpy(), rtol=1e-6)
    assert first.iterations.numpy() == 3
    assert (taken_out(step, tf.constant([1, 1, 4])) is not None) == (rows == LARGE)


def test_a_step_makes_nothing_of_the_tables_size():
    v, ids = table(), tf.constant([3, 700, 3])
    optimizer = tf.optimizers.SGD(0.125)
    step = tf.function(lambda ids: train(v, optimizer, ids))
    step(ids)
    step(ids)
    address = v.array.ctypes.data
    tracemalloc.start()
    try:
        step(ids)
        assert tracemalloc.get_traced_memory()[1] < LARGE_BYTES // 8
    finally:
        tracemalloc.stop()
    assert v.array.ctypes.data == address


def test_a_loop_of_steps_in_one_call():
    v, w = table(), table()
    first, second = tf.optimizers.SGD(0.125), tf.optimizers.SGD(0.125)

    @tf.function
    def steps(batches):
        for ids in batches:
            train(v, first, ids)

    batches = tf.constant([[1, 1, 4], [2, 1, 0]])
    steps(batches)
    for ids in batches:
        train(w, second, ids)
    np.testing.assert_allclose(v.numpy(), w.numpy(), rtol=1e-6)


def test_several_updates_and_other_variables():
    v, w, count = table(), table(), tf.Variable(0.0)

    @tf.function
    def program(ids):
        v.assign_add(tf.IndexedSlices(tf.ones((2, COLUMNS)), ids, v.shape))
        v.assign_sub(tf.IndexedSlices(3.0 * tf.ones((1, COLUMNS)), ids[:1], v.shape))
        w.assign(w * 2.0)
        count.assign_add(1.0)
        return {"ids": ids, "count": count * 1.0}

    ids = tf.constant([2, 2])
    assert len(taken_out(program, ids).rows[0][1]) == 2
    before_v, before_w = np.array(v.array), np.array(w.array)
    assert program(ids)["count"].item() == 1.0
    before_v[2] = (before_v[2] + 1 + 1) - 3
    np.testing.assert_allclose(v.numpy(), before_v, rtol=1e-6)
    np.testing.assert_array_equal(w.numpy(), before_w * 2)
    assert count.item() == 1.0


def test_a_new_value_that_is_read_again_is_made():
    v = table()

    @tf.function
    def read_afterwards(ids):
        v.assign_add(tf.IndexedSlices(tf.ones((1, COLUMNS)), ids, v.shape))
        return v[:3] + 0.0

    ids = tf.constant([2])
    assert taken_out(read_afterwards, ids) is None
    before = np.array(v.array)
    np.testing.assert_array_equal(read_afterwards(ids).numpy()[2], before[2] + 1)


def test_values_held_elsewhere_stay():
    v = table()

    @tf.function
    def step(ids):
        old = v.read_value()
        v.assign_add(tf.IndexedSlices(tf.ones((1, COLUMNS)), ids, v.shape))
        return old

    ids = tf.constant([2])
    assert taken_out(step, ids) is not None
    before = np.array(v.array)
    held = v.read_value(), v.numpy(), tf.transpose(v)
    old = step(ids)
    again = step(ids)
    for found in (held[0].numpy(), held[1], held[2].numpy().T, old.numpy()):
        np.testing.assert_array_equal(found, before)
    assert np.array_equal(again.numpy()[2], before[2] + 1) and np.array_equal(v.numpy()[2], before[2] + 1 + 1)
    w = tf.Variable(v)
    step(ids)
    assert not np.array_equal(w.numpy()[2], v.numpy()[2])


@pytest.mark.parametrize("compiled", [False, True])
def test_rows_out_of_range_change_nothing(compiled):
    v, count = table(), tf.Variable(0.0)

    def step(ids):
        count.assign_add(1.0)
        v.assign_add(tf.IndexedSlices(tf.ones((2, COLUMNS)), ids, v.shape))

    before = np.array(v.array)
    f = tf.function(step) if compiled else step
    for wrong in (LARGE, -LARGE - 1):
        with pytest.raises(IndexError, match="test_row_updates"):
            f(tf.constant([0, wrong]))
    np.testing.assert_array_equal(v.numpy(), before)
    assert not compiled or count.item() == 0.0


def test_under_a_tape():
    v = table()

    @tf.function
    def step(x):
        y = tf.reduce_sum(tf.gather(v, [1, 2]) * x)
        v.assign_add(tf.IndexedSlices(tf.ones((1, COLUMNS)), [2], v.shape))
        return y

    before = np.array(v.array)
    with tf.GradientTape() as tape:
        y = step(tf.constant(2.0))
    g = tape.gradient(y, v)
    assert g.numpy()[[0, 1, 2], 0].tolist() == [0.0, 2.0, 2.0]
    np.testing.assert_array_equal(v.numpy()[2], before[2] + 1)


@pytest.mark.parametrize("op", [op for op in OPS.values() if "adds_rows" in op.traits], ids=str)
def test_ops_that_say_they_add_rows_do(op):
    table, rows = np.arange(8.0).reshape(4, 2), np.array([[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]])
    indices = np.array([2, 0, 2])
    expected = table.copy()
    np.add.at(expected, indices, rows)
    np.testing.assert_array_equal(op(table, indices, rows, axis=0).numpy(), expected)


def test_some_op_says_that_it_adds_rows():
    assert [op.name for op in OPS.values() if "adds_rows" in op.traits] == ["scatter_add"]
