"""Datasets and queues: order, shapes, lengths, randomness that repeats, no gradients through."""

from __future__ import annotations

import itertools
from collections import namedtuple

import numpy as np
import pytest

import tracejit as tf
from tracejit.data import Dataset
from tracejit.queue import FIFOQueue, QueueError

Pair = namedtuple("Pair", "a b")


def values(dataset):
    """The elements as nests of lists."""
    return [tf.nest.map_structure(lambda x: x.tolist(), e) for e in dataset.as_numpy_iterator()]


@pytest.fixture(params=["eager", "compiled"])
def run(request):
    return (lambda f: f) if request.param == "eager" else tf.function


# ---- sources --------------------------------------------------------------------------------------------


def test_slices():
    assert values(Dataset.from_tensor_slices([[1, 2], [3, 4]])) == [[1, 2], [3, 4]]
    pairs = Dataset.from_tensor_slices((np.arange(3.0), tf.constant([5, 6, 7])))
    assert values(pairs) == [(0.0, 5), (1.0, 6), (2.0, 7)]
    assert values(Dataset.from_tensor_slices({"x": [1, 2], "y": ([3, 4],)})) == [
        {"x": 1, "y": (3,)},
        {"x": 2, "y": (4,)},
    ]
    named = list(Dataset.from_tensor_slices(Pair([1, 2], [3, 4])))
    assert type(named[0]) is Pair and int(named[1].b) == 4
    assert values(Dataset.from_tensor_slices([tf.constant(1.0), tf.constant(2.0)])) == [1.0, 2.0]
    assert values(Dataset.from_tensor_slices(np.zeros((0, 3)))) == []


def test_elements_are_tensors_with_the_dtype_of_the_data():
    x = next(iter(Dataset.from_tensor_slices([1.5, 2.5])))
    assert isinstance(x, tf.Tensor) and x.dtype == tf.float32 and x.shape == ()
    assert next(iter(Dataset.from_tensor_slices(np.zeros((2, 3))))).dtype == tf.float64
    assert next(iter(Dataset.range(3))).dtype == tf.int64


def test_data_that_changes_afterwards_does_not_matter():
    data = np.arange(3.0)
    dataset = Dataset.from_tensor_slices(data)
    data[:] = -1
    assert values(dataset) == [0, 1, 2]


def test_other_sources():
    assert values(Dataset.from_tensors(([1, 2], 3))) == [([1, 2], 3)]
    made = []

    def generator():
        made.append(1)
        yield from ((i, [i, i]) for i in range(2))

    dataset = Dataset.from_generator(generator, output_types=(tf.int32, tf.int32))
    assert values(dataset) == values(dataset) == [(0, [0, 0]), (1, [1, 1])] and len(made) == 2
    assert values(Dataset.range(1, 7, 2)) == [1, 3, 5] and values(Dataset.range(0)) == []
    both = Dataset.zip({"a": Dataset.range(3), "b": (Dataset.range(9),)})
    assert values(both) == [{"a": i, "b": (i,)} for i in range(3)]
    assert values(Dataset.zip(Dataset.range(2), Dataset.range(2))) == [(0, 0), (1, 1)]


# ---- from one to another --------------------------------------------------------------------------------


def test_batches():
    assert values(Dataset.range(5).batch(2)) == [[0, 1], [2, 3], [4]]
    assert values(Dataset.range(5).batch(2, drop_remainder=True)) == [[0, 1], [2, 3]]
    assert values(Dataset.range(4).batch(2).batch(2)) == [[[0, 1], [2, 3]]]
    assert values(Dataset.range(3).batch(2).unbatch()) == [0, 1, 2]
    pairs = Dataset.from_tensor_slices((np.arange(4.0), np.eye(4))).batch(3)
    assert [(a.shape, b.shape) for a, b in pairs] == [((3,), (3, 4)), ((1,), (1, 4))]


def test_map_and_filter():
    assert values(Dataset.range(3).map(lambda i: i * i)) == [0, 1, 4]
    pairs = Dataset.from_tensor_slices(([1, 2], [3, 4]))
    assert values(pairs.map(lambda a, b: a + b)) == [4, 6]
    assert values(pairs.map(lambda a, b: {"sum": a + b, "a": (a,)}, num_parallel_calls=tf.data.AUTOTUNE)) == [
        {"sum": 4, "a": (1,)},
        {"sum": 6, "a": (2,)},
    ]
    assert values(Dataset.from_tensor_slices({"x": [1, 2]}).map(lambda d: d["x"] * 2)) == [2, 4]
    assert values(Dataset.range(6).filter(lambda i: i % 2 == 0)) == [0, 2, 4]
    assert values(Dataset.range(2).map(tf.function(lambda i: i + 1))) == [1, 2]


def test_parts_and_repetitions():
    three = Dataset.range(3)
    assert values(three.take(2)) == [0, 1] and values(three.take(9)) == values(three.take(-1)) == [0, 1, 2]
    assert values(three.skip(2)) == [2] and values(three.skip(9)) == values(three.skip(-1)) == []
    assert values(three.repeat(2)) == [0, 1, 2, 0, 1, 2] and values(three.repeat(0)) == []
    assert values(three.repeat().take(7)) == [0, 1, 2, 0, 1, 2, 0]
    assert values(Dataset.range(0).repeat()) == [], "no endless loop over nothing"
    assert values(three.concatenate(Dataset.range(1))) == [0, 1, 2, 0]
    assert values(three.enumerate(5)) == [(5, 0), (6, 1), (7, 2)]
    assert values(three.prefetch(tf.data.AUTOTUNE)) == [0, 1, 2]


def test_cache_reads_once():
    read = []
    dataset = Dataset.range(3).map(lambda i: (read.append(1), i)[1]).cache()
    assert next(iter(dataset)).item() == 0, "a reading that is not complete is not kept"
    assert values(dataset) == values(dataset) == [0, 1, 2] and len(read) == 4


def test_reduce():
    total = Dataset.range(5).reduce(tf.constant(0, tf.int64), lambda state, i: state + i)
    assert total.item() == 10


# ---- random order ---------------------------------------------------------------------------------------


def test_shuffling_keeps_every_element():
    dataset = Dataset.range(50).shuffle(50, seed=1)
    first, second = values(dataset), values(dataset)
    assert sorted(first) == sorted(second) == list(range(50))
    assert first != second and first != list(range(50))
    fixed = Dataset.range(50).shuffle(50, seed=1, reshuffle_each_iteration=False)
    assert values(fixed) == values(fixed) == first
    assert values(Dataset.range(50).shuffle(50, seed=2)) != first


def test_a_small_buffer_looks_no_further():
    for i, value in enumerate(values(Dataset.range(100).shuffle(5, seed=3))):
        assert value <= i + 4
    assert values(Dataset.range(9).shuffle(1)) == list(range(9))


def test_every_order_comes_up():
    dataset = Dataset.range(3).shuffle(3, seed=4)
    orders = [tuple(values(dataset)) for _ in range(600)]
    counts = [orders.count(order) for order in itertools.permutations(range(3))]
    assert min(counts) > 60 and sum(counts) == 600


def test_without_a_seed_the_global_one_repeats_the_order():
    def order():
        tf.random.set_seed(11)
        dataset = Dataset.range(20).shuffle(20)
        return values(dataset), values(dataset)

    first, again = order(), order()
    assert first == again and first[0] != first[1]
    fixed = Dataset.range(20).shuffle(20, reshuffle_each_iteration=False)
    assert values(fixed) == values(fixed)


def test_training_in_shuffled_batches():
    x = np.random.default_rng(0).normal(size=(64, 2)).astype("float32")
    y = x @ np.array([[2.0], [-1.0]], "float32")
    w = tf.Variable(tf.zeros((2, 1)))
    optimizer = tf.optimizers.SGD(0.1)

    @tf.function
    def step(x, y):
        optimizer.minimize(lambda: tf.reduce_mean((x @ w - y) ** 2), [w])

    for x_batch, y_batch in Dataset.from_tensor_slices((x, y)).shuffle(64, seed=5).batch(16).repeat(20):
        step(x_batch, y_batch)
    np.testing.assert_allclose(w.numpy(), [[2.0], [-1.0]], atol=1e-3)
    assert step.experimental_get_tracing_count() <= 2


# ---- lengths --------------------------------------------------------------------------------------------


def test_lengths():
    five = Dataset.range(5)
    for dataset in (
        *(
            five,
            five.batch(2),
            five.batch(2, drop_remainder=True),
            five.batch(9),
            five.shuffle(2),
            five.repeat(3),
        ),
        *(five.take(3), five.take(9), five.skip(2), five.skip(9), five.map(lambda i: i), five.enumerate()),
        *(five.repeat().take(7), Dataset.zip((five, five.take(2))), five.concatenate(five), five.cache()),
    ):
        assert len(dataset) == len(values(dataset)) == dataset.cardinality().item()
        assert dataset, "true, however long"
    with pytest.raises(TypeError, match="has no end"):
        len(five.repeat())
    with pytest.raises(TypeError, match="known after reading"):
        len(five.filter(lambda i: True))
    assert five.repeat().cardinality().item() == tf.data.INFINITE_CARDINALITY
    assert five.unbatch().cardinality().item() == tf.data.UNKNOWN_CARDINALITY


# ---- errors ---------------------------------------------------------------------------------------------


def test_errors():
    with pytest.raises(ValueError, match="tensors of 2 and 3 rows do not go together"):
        Dataset.from_tensor_slices(([1, 2], [1, 2, 3]))
    with pytest.raises(ValueError, match="at least one axis"):
        Dataset.from_tensor_slices(3.0)
    with pytest.raises(ValueError, match="batch_size is positive, got 0"):
        Dataset.range(3).batch(0)
    ragged = Dataset.from_generator(lambda: iter([[1], [1, 2]]))
    with pytest.raises(ValueError, match=r"cannot batch elements of shapes \(1,\) and \(2,\)"):
        values(ragged.batch(2))
    mixed = Dataset.from_generator(lambda: iter([(1,), (1, 2)]))
    with pytest.raises(ValueError, match=r"cannot batch \(\*,\) with \(\*, \*\)"):
        values(mixed.batch(2))


# ---- gradients and traces -------------------------------------------------------------------------------


def test_row_40_datasets_stop_gradients(run):
    x = tf.Variable([1.0, 2.0])

    def program():
        with tf.GradientTape(persistent=True) as tape:
            total = 0.0
            for y in Dataset.from_tensor_slices(x * 3.0).map(lambda v: v * x[0]):
                total = total + y
            direct = total * x[1]
        return total, tape.gradient(total, x), tape.gradient(direct, x)

    total, nothing, gradient = run(program)()
    assert total.item() == 9.0 and nothing is None
    assert gradient.numpy().tolist() == [0.0, 9.0]


def test_row_40_queues_stop_gradients(run):
    x = tf.Variable([1.0, 2.0])

    def program():
        queue = FIFOQueue(2, tf.float32)
        with tf.GradientTape() as tape:
            queue.enqueue(x * 3.0)
            y = queue.dequeue()
        return y, tape.gradient(y, x)

    y, gradient = run(program)()
    assert y.numpy().tolist() == [3.0, 6.0] and gradient is None


def test_a_dataset_in_a_compiled_function(run):
    dataset = Dataset.from_tensor_slices([1.0, 2.0, 3.0]).batch(2)

    def total(x):
        for batch in dataset:
            x = x + tf.reduce_sum(batch)
        return x

    assert run(total)(tf.constant(1.0)).item() == 7.0


def test_each_call_reads_a_generator_anew(run):
    readings = []

    def rows():
        readings.append(len(readings))
        for i in range(3):
            yield 10 * readings[-1] + i

    dataset = Dataset.from_generator(rows, tf.int32).batch(2)

    def digits(x):
        for batch in dataset:
            x = 100 * x + tf.reduce_sum(batch)
        return x

    f = run(digits)
    assert [int(f(tf.constant(0))) for _ in range(3)] == [102, 2112, 4122]
    assert readings == [0, 1, 2]


def test_each_call_shuffles_anew():
    dataset = Dataset.range(6).shuffle(6, seed=3)

    @tf.function
    def order():
        return tf.stack(list(dataset)), tf.stack(list(dataset))

    orders = [x.numpy().tolist() for _ in range(2) for x in order()]
    again = Dataset.range(6).shuffle(6, seed=3)
    assert orders == [[int(x) for x in again] for _ in range(4)]
    assert len({tuple(x) for x in orders}) > 1 and all(sorted(x) == list(range(6)) for x in orders)


def test_a_reading_unlike_that_of_the_trace_is_refused():
    lengths = iter([2, 3])
    dataset = Dataset.from_generator(lambda: range(next(lengths)), tf.int32)

    @tf.function
    def total():
        return tf.add_n(list(dataset))

    assert int(total()) == 1
    with pytest.raises(tf.ShapeError, match=r"was traced for elements like int32\[\], int32\[\], and takes"):
        total()


def test_what_would_be_fixed_by_a_trace_is_refused():
    shuffled = Dataset.range(3).shuffle(3)

    @tf.function
    def in_a_loop():
        total = tf.constant(0, tf.int64)
        for _ in tf.range(2):
            for x in shuffled:
                total += x
        return total

    with pytest.raises(tf.TracejitError, match=r"taken by each call in a branch or loop(.|\n)*test_data.py"):
        in_a_loop()
    endless = Dataset.from_generator(itertools.count, tf.int64)
    with pytest.raises(tf.TracejitError, match=r"more than 16384 elements(.|\n)*test_data.py"):
        tf.function(lambda: list(endless))()
    iterator = iter(Dataset.range(3))
    with pytest.raises(tf.TracejitError, match="loops over an iterator that was made outside of it"):
        tf.function(lambda: list(iterator))()
    assert next(iterator).item() == 0
    queue = FIFOQueue(2, tf.float32)
    queue.enqueue(1.0)
    with pytest.raises(tf.TracejitError, match="by a trace that did not put it in"):
        tf.function(lambda: queue.dequeue())()
    assert queue.dequeue().item() == 1.0


# ---- queues ---------------------------------------------------------------------------------------------


def test_first_in_first_out():
    queue = FIFOQueue(3, tf.int32)
    for i in range(3):
        queue.enqueue(i)
    assert queue.size().item() == 3
    assert [queue.dequeue().item() for _ in range(2)] == [0, 1]
    queue.enqueue(tf.constant(7))
    assert [queue.dequeue().item() for _ in range(2)] == [2, 7] and queue.size().item() == 0


def test_several_parts():
    queue = FIFOQueue(4, [tf.float32, tf.int32], shapes=[(2,), ()])
    queue.enqueue(([1.0, 2.0], 3))
    queue.enqueue_many(([[3.0, 4.0], [5.0, 6.0]], [4, 5]))
    a, b = queue.dequeue()
    assert (a.numpy().tolist(), b.item()) == ([1.0, 2.0], 3)
    a, b = queue.dequeue_many(2)
    assert (a.numpy().tolist(), b.numpy().tolist()) == ([[3.0, 4.0], [5.0, 6.0]], [4, 5])
    named = FIFOQueue(1, [tf.float32, tf.int32], names=["x", "y"])
    named.enqueue({"x": 1.0, "y": 2})
    assert {k: v.item() for k, v in named.dequeue().items()} == {"x": 1.0, "y": 2}


def test_what_a_queue_refuses():
    queue = FIFOQueue(1, tf.float32, shapes=(2,))
    with pytest.raises(
        QueueError, match="nothing can be taken from the queue 'fifo_queue', which holds 0 of 1"
    ):
        queue.dequeue()
    with pytest.raises(ValueError, match=r"holds shape \(2,\), got \(3,\)"):
        queue.enqueue([1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match="holds float32, got int32"):
        queue.enqueue(tf.constant([1, 2]))
    queue.enqueue([1.0, 2.0])
    with pytest.raises(QueueError, match="nothing can be put into the queue"):
        queue.enqueue([1.0, 2.0])
    queue.close()
    assert queue.is_closed() and queue.dequeue().numpy().tolist() == [1.0, 2.0]
    with pytest.raises(QueueError, match="is closed and holds 0 of 1"):
        queue.enqueue([1.0, 2.0])
    with pytest.raises(QueueError, match="2 elements are asked of"):
        queue.dequeue_many(2)
    with pytest.raises(ValueError, match="holds 2 tensors per element, got 1"):
        FIFOQueue(1, [tf.float32, tf.float32]).enqueue((1.0,))
    with pytest.raises(ValueError, match="capacity is positive"):
        FIFOQueue(0, tf.float32)


def test_what_was_enqueued_does_not_change_afterwards():
    queue, data, v = FIFOQueue(2, tf.float64), np.zeros(2), tf.Variable(np.ones(2))
    queue.enqueue(data)
    queue.enqueue(v)
    data[:] = 5
    v.assign(data)
    assert queue.dequeue().numpy().tolist() == [0, 0] and queue.dequeue().numpy().tolist() == [1, 1]


# ---- regrouping and reading -----------------------------------------------------------------------------

RANGE = tf.data.Dataset.range


def numbers(dataset):
    return [x.tolist() for x in dataset.as_numpy_iterator()]


def test_windows():
    assert [numbers(w) for w in RANGE(7).window(3)] == [[0, 1, 2], [3, 4, 5], [6]]
    strided = RANGE(7).window(3, shift=1, stride=2, drop_remainder=True)
    assert [numbers(w) for w in strided] == [[0, 2, 4], [1, 3, 5], [2, 4, 6]]
    assert [numbers(w) for w in RANGE(9).window(2, shift=4)] == [[0, 1], [4, 5], [8]]
    rows = RANGE(6).window(3, shift=1, drop_remainder=True).flat_map(lambda w: w.batch(3))
    assert numbers(rows) == [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5]]
    pairs = tf.data.Dataset.zip((RANGE(4), RANGE(10, 14))).window(2)
    assert [(numbers(a), numbers(b)) for a, b in pairs] == [([0, 1], [10, 11]), ([2, 3], [12, 13])]


def test_datasets_of_datasets():
    single = tf.data.Dataset.from_tensors
    assert numbers(RANGE(3).flat_map(lambda x: single(x).repeat(2))) == [0, 0, 1, 1, 2, 2]
    mixed = RANGE(1, 4).interleave(lambda x: single(x).repeat(3), cycle_length=2, block_length=2)
    assert numbers(mixed) == [1, 1, 2, 2, 1, 2, 3, 3, 3]
    with pytest.raises(TypeError, match="makes a dataset of each element, got Tensor"):
        list(RANGE(2).flat_map(lambda x: x))


def test_padded_batches():
    rows = RANGE(1, 5).map(lambda n: tf.fill([int(n)], n))
    assert numbers(rows.padded_batch(2)) == [[[1, 0], [2, 2]], [[3, 3, 3, 0], [4, 4, 4, 4]]]
    assert numbers(rows.padded_batch(3, [5], -1, drop_remainder=True)) == [
        [[1, -1, -1, -1, -1], [2, 2, -1, -1, -1], [3, 3, 3, -1, -1]]
    ]
    with pytest.raises(ValueError, match="larger than padded_shapes"):
        list(rows.padded_batch(4, [2]))


def test_parts_of_a_dataset():
    assert numbers(RANGE(10).shard(3, 1)) == [1, 4, 7] and len(RANGE(10).shard(3, 1)) == 3
    assert numbers(RANGE(10).take_while(lambda x: x < 4)) == [0, 1, 2, 3]
    assert numbers(tf.data.Dataset.from_tensor_slices([1, 37, 2, 37, 2, 1]).unique()) == [1, 37, 2]
    assert numbers(RANGE(8).batch(4).rebatch(3)) == [[0, 1, 2], [3, 4, 5], [6, 7]]
    assert numbers(RANGE(4).apply(lambda d: d.filter(lambda x: x < 2))) == [0, 1]
    assert int(RANGE(1).get_single_element()) == 0
    with pytest.raises(ValueError, match="a single element is asked for, there are more"):
        RANGE(2).get_single_element()
    with pytest.raises(ValueError, match=r"index is in \[0, 3\), got 3"):
        RANGE(4).shard(3, 3)


def test_what_elements_are_like():
    spec = tf.data.Dataset.from_tensor_slices({"a": [1, 2], "b": np.zeros((2, 3))}).element_spec
    assert spec["a"] == tf.TensorSpec([], "int32") and spec["b"] == tf.TensorSpec([3], "float64")
    rows = tf.data.Dataset.from_tensor_slices(np.zeros((4, 3), "float32"))
    assert rows.batch(2).element_spec == tf.TensorSpec([None, 3])
    assert rows.shuffle(4).repeat().batch(2, drop_remainder=True).element_spec == tf.TensorSpec([2, 3])
    assert RANGE(3).map(lambda i: (i, i * 0.5)).element_spec[1] == tf.TensorSpec([], "float64")
    with pytest.raises(ValueError, match="without elements"):
        RANGE(0).map(lambda i: i).element_spec  # noqa: B018


def test_a_generator_keeps_its_promise():
    made = tf.data.Dataset.from_generator
    pairs = made(
        lambda: ((i, [1.0] * i) for i in range(3)),
        output_signature=(tf.TensorSpec([], tf.int32), tf.TensorSpec([None])),
    )
    assert [(i.dtype, x.tolist()) for i, x in pairs.as_numpy_iterator()] == [
        (np.int32, []),
        (np.int32, [1.0]),
        (np.int32, [1.0, 1.0]),
    ]
    assert numbers(made(lambda n: range(n), args=[4], output_types=tf.float32)) == [0.0, 1.0, 2.0, 3.0]
    with pytest.raises(tf.ShapeError, match=r"promised float32\[2\] and gave float32\[1\]"):
        list(made(lambda: [[1.0]], output_signature=tf.TensorSpec([2])))


def test_scalars_are_numpys_own():
    reading = RANGE(2).as_numpy_iterator()
    assert isinstance(next(reading), np.int64) and reading.next() == 1


def test_a_filtered_dataset_in_a_trace():
    dataset = RANGE(7).filter(lambda x: x > 2)

    @tf.function
    def total():
        s = tf.constant(0, tf.int64)
        for x in dataset:
            s += x
        return s

    assert int(total()) == 18
    with pytest.raises(tf.SymbolicValue, match="has no value while"):
        tf.function(lambda y: list(RANGE(3).filter(lambda x: x < y)))(tf.constant(2, tf.int64))


def test_a_reading_goes_on_where_a_checkpoint_was_made(tmp_path):
    dataset = RANGE(10).shuffle(10, seed=3, reshuffle_each_iteration=False).batch(2)
    expected = numbers(dataset)
    reading = iter(dataset)
    checkpoint = tf.train.Checkpoint(reading=reading)
    first = [next(reading).numpy().tolist() for _ in range(2)]
    path = checkpoint.save(tmp_path / "c")
    rest = [x.numpy().tolist() for x in reading]
    assert first + rest == expected
    checkpoint.restore(path)
    assert [x.numpy().tolist() for x in reading] == rest
    another = iter(dataset)
    tf.train.Checkpoint(reading=another).restore(path).assert_consumed()
    assert [x.numpy().tolist() for x in another] == rest


def test_a_list_with_the_one_component_of_a_queue():
    queue = tf.queue.FIFOQueue(5, tf.float32)
    queue.enqueue_many([[2.0, 3.0]])
    assert [float(queue.dequeue()) for _ in range(2)] == [2.0, 3.0]
    queue.enqueue([4.0, 5.0])
    assert queue.dequeue().numpy().tolist() == [4.0, 5.0]


def test_elements_of_several_ranks_are_not_padded():
    rows = Dataset.from_generator(lambda: iter([[1, 2], [[1]]])).padded_batch(2)
    with pytest.raises(ValueError, match="cannot batch elements of ranks 1 and 2"):
        list(rows)


def test_texts_that_are_equal_are_one():
    rows = tf.data.Dataset.from_tensor_slices(["a", "b", "".join(["a"]), "b"]).unique()
    assert [row.numpy() for row in rows] == [b"a", b"b"]


def test_what_elements_side_by_side_are_like():
    pairs = tf.data.Dataset.zip((tf.data.Dataset.range(5).batch(2), tf.data.Dataset.range(3)))
    assert [spec.shape for spec in pairs.element_spec] == [(None,), ()]


def test_an_order_that_stays_the_same_may_be_read_while_tracing():
    tf.random.set_seed(7)

    @tf.function
    def order():
        rows = tf.data.Dataset.range(20).shuffle(20, reshuffle_each_iteration=False)
        return tf.stack(list(rows))

    first = order().numpy()
    assert sorted(first) == list(range(20))
    tf.random.set_seed(8)

    @tf.function
    def another():
        return tf.stack(list(tf.data.Dataset.range(20).shuffle(20, reshuffle_each_iteration=False)))

    assert (another().numpy() != first).any()


# ---- iterators in compiled functions --------------------------------------------------------------------


def test_each_call_of_a_compiled_function_takes_the_next_element(run):
    w, iterator = (
        tf.Variable(2.0),
        iter(Dataset.from_tensor_slices(([1.0, 2.0, 3.0, 4.0, 5.0], list("abcde")))),
    )

    def step(iterator):
        x, name = next(iterator)
        with tf.GradientTape() as tape:
            loss = w * w * x
        return x, name + "!", tape.gradient(loss, w)

    step = run(step)
    assert [float(y) for y in step(iterator)[::2]] == [1.0, 4.0]
    with tf.GradientTape() as tape:
        x, name, gradient = step(iterator)
        result = x * gradient * w
    assert name.numpy() == b"b!" and float(tape.gradient(result, w)) == 32.0
    assert float(next(iterator)[0]) == 3.0
    assert [float(t) for t in run(lambda: (next(iterator)[0], iterator.get_next()[0]))()] == [4.0, 5.0]
    with pytest.raises(StopIteration):
        step(iterator)


def test_what_iterators_in_compiled_functions_cannot_do_is_refused():
    def looped(iterator):
        return sum(x for x in iterator)

    def chosen(iterator, c):
        return next(iterator) if c > 0 else c

    iterator = iter(Dataset.range(4))
    for f, args, words in (
        (looped, (iterator,), "how many elements it has left differs"),
        (chosen, (iterator, tf.constant(1)), "in a branch or loop"),
    ):
        with pytest.raises(tf.TracejitError, match=words):
            tf.function(f)(*args)
    assert int(next(iterator)) == 0, "none was taken"
    batches, f = iter(Dataset.range(3).batch(2)), tf.function(next)
    assert f(batches).numpy().tolist() == [0, 1]
    with pytest.raises(
        tf.ShapeError, match=r"like int64\[2\], and takes int64\[1\]: batch with drop_remainder"
    ):
        f(batches)
    batches = iter(Dataset.range(3))
    with pytest.raises(tf.TracejitError, match="elements of an iterator of this process"):
        tf.export(tf.function(lambda x: next(batches) + x), [tf.TensorSpec([], tf.int64)], name="f")


def test_files_by_a_pattern(tmp_path):
    for name in ("b.txt", "a.txt", "c.csv"):
        (tmp_path / name).write_text(name)
    files = tf.data.Dataset.list_files(str(tmp_path / "*.txt"), shuffle=False)
    assert [str(f.numpy().decode()) for f in files] == [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]
    both = tf.data.Dataset.list_files([str(tmp_path / "*.csv"), tmp_path / "a*"], seed=1)
    assert sorted(f.numpy() for f in both) == [str(tmp_path / n).encode() for n in ("a.txt", "c.csv")]
    assert [line.numpy() for line in tf.data.TextLineDataset(files)] == [b"a.txt", b"b.txt"]
    with pytest.raises(ValueError, match="no file matches"):
        tf.data.Dataset.list_files(str(tmp_path / "*.png"))
