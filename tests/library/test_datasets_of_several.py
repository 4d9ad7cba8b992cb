"""Datasets made of several, or of groups: drawn, chosen, padded part by part, in buckets of similar length."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

LOW, HIGH = tf.data.Dataset.range(3), tf.data.Dataset.range(10, 12)


def rows(*lengths):
    return tf.data.Dataset.from_generator(
        lambda: ((i, [1.0] * n) for i, n in enumerate(lengths)), output_types=(tf.int32, tf.float32)
    )


def lists(batches):
    return [[part.numpy().tolist() for part in batch] for batch in batches]


def test_parts_of_elements_are_padded_each_by_itself():
    assert lists(rows(1, 2, 3).padded_batch(2)) == [
        [[0, 1], [[1.0, 0.0], [1.0, 1.0]]],
        [[2], [[1.0, 1.0, 1.0]]],
    ]
    given = rows(1, 2, 3).padded_batch(2, padded_shapes=((), (None,)), padding_values=(0, -1.0), drop_remainder=True)
    assert lists(given) == [[[0, 1], [[1.0, -1.0], [1.0, 1.0]]]]
    named = rows(1, 2).map(lambda i, x: {"i": i, "x": x}).padded_batch(2, {"i": [], "x": [3]}, {"i": 0, "x": 7.0})
    (batch,) = named
    assert batch["x"].numpy().tolist() == [[1.0, 7.0, 7.0], [1.0, 1.0, 7.0]] and batch["i"].numpy().tolist() == [0, 1]
    with pytest.raises(ValueError, match="larger than padded_shapes"):
        list(rows(1, 2).padded_batch(2, ((), (1,))))


def test_text_is_padded_with_empty_text():
    words = tf.data.Dataset.from_tensor_slices(["a", "b c"]).map(tf.strings.split)
    (batch,) = words.padded_batch(2)
    assert batch.numpy().tolist() == [[b"a", b""], [b"b", b"c"]]
    (batch,) = words.padded_batch(2, padding_values="-")
    assert batch.numpy().tolist() == [[b"a", b"-"], [b"b", b"c"]]


def test_drawn_from_several():
    sample = tf.data.Dataset.sample_from_datasets
    both = [int(x) for x in sample([LOW, HIGH], seed=3)]
    assert sorted(both) == [0, 1, 2, 10, 11] and [x for x in both if x < 10] == [0, 1, 2]
    assert both == [int(x) for x in sample([LOW, HIGH], seed=3)]
    many = [int(x) for x in sample([LOW.repeat(), HIGH.repeat()], [0.2, 0.8], seed=5).take(1000)]
    assert 750 < sum(x >= 10 for x in many) < 850
    assert [int(x) for x in sample([LOW, HIGH], [1.0, 0.0], stop_on_empty_dataset=True)] == [0, 1, 2]
    again = sample([LOW.repeat(), HIGH.repeat()], seed=1, rerandomize_each_iteration=True).take(50)
    assert [int(x) for x in again] != [int(x) for x in again]
    for weights in ([1.0], [1.0, -1.0]):
        with pytest.raises(ValueError, match="2 datasets need as many weights"):
            sample([LOW, HIGH], weights)


def test_chosen_by_a_dataset():
    choose = tf.data.Dataset.choose_from_datasets
    order = tf.data.Dataset.from_tensor_slices([1, 1, 1, 0, 0])
    assert [int(x) for x in choose([LOW, HIGH], order)] == [10, 11]
    assert [int(x) for x in choose([LOW, HIGH], order, stop_on_empty_dataset=False)] == [10, 11, 0, 1]
    with pytest.raises(IndexError, match="there are 1 datasets, got 1"):
        list(choose([LOW], order))


def test_a_counter_has_no_end():
    numbers = tf.data.Dataset.counter(3, 2)
    assert [int(x) for x in numbers.take(3)] == [3, 5, 7] and int(numbers.cardinality()) == -1
    assert numbers.element_spec == tf.TensorSpec([], tf.int64)
    assert [x.numpy() for x in tf.data.experimental.Counter(dtype=tf.int32).take(2)] == [0, 1]


def test_groups_by_a_key():
    groups = tf.data.Dataset.range(7).group_by_window(
        lambda x: x % 2, lambda key, group: group.map(lambda x: x * 10 + key).batch(2), window_size_func=lambda k: 2 + k
    )
    assert [g.numpy().tolist() for g in groups] == [[0, 20], [11, 31], [51], [40, 60]]
    with pytest.raises(ValueError, match="window_size is positive"):
        list(LOW.group_by_window(lambda x: x, lambda key, group: group, window_size=0))


def test_buckets_of_similar_length():
    def buckets(*lengths, **options):
        batches = rows(*lengths).bucket_by_sequence_length(lambda i, x: tf.shape(x)[0], [3, 6], [2, 2, 2], **options)
        return [(batch[0].numpy().tolist(), batch[1].shape) for batch in batches]

    assert buckets(1, 3, 2, 5, 7) == [([0, 2], (2, 2)), ([1, 3], (2, 5)), ([4], (1, 7))]
    assert buckets(1, 3, 2, 5, 7, drop_remainder=True) == [([0, 2], (2, 2)), ([1, 3], (2, 5))]
    assert buckets(1, 1, 3, 4, pad_to_bucket_boundary=True) == [([0, 1], (2, 2)), ([2, 3], (2, 5))]
    assert buckets(2, 2, no_padding=True) == [([0, 1], (2, 2))]
    with pytest.raises(ValueError, match="longer than all bucket_boundaries"):
        buckets(7, pad_to_bucket_boundary=True)
    with pytest.raises(ValueError, match="need 2 bucket_batch_sizes, got 1"):
        LOW.bucket_by_sequence_length(lambda x: x, [3], [2])


def test_they_are_read_as_often_as_one_likes():
    for dataset in (
        tf.data.Dataset.choose_from_datasets([LOW, HIGH], tf.data.Dataset.from_tensor_slices([1, 0])),
        LOW.group_by_window(lambda x: x % 2, lambda key, group: group, window_size=1),
        LOW.map(lambda x: tf.fill([x], x)).bucket_by_sequence_length(tf.size, [1], [2, 2]),
    ):
        first, second = ([np.asarray(x).tolist() for x in dataset] for _ in range(2))
        assert first == second and first
