"""Eager calls take short ways: what they give, and refuse, is what the long ways do, over random arguments."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tracejit as tf

DTYPES = ["float64", "float32", "int64", "int8", "uint16", "bool", "complex64"]


def outcome(f, fast):
    """What a call gives, or the kind and text of its error."""
    with tf.settings(fast=fast):
        try:
            results = f()
        except Exception as error:
            return type(error), re.sub(r"np\.\w+\(([^()]*)\)", r"\1", str(error))
    results = results if isinstance(results, (list, tuple)) else [results]
    return [(r.dtype, r.shape, np.asarray(r).tobytes(), np.asarray(r).flags.writeable) for r in results]


def same(f):
    fast, slow = outcome(f, True), outcome(f, False)
    assert fast == slow


def random_array(rng, shape, dtype):
    values = rng.normal(size=shape) * 3
    special = rng.random(size=shape)
    if np.dtype(dtype).kind in "fc":
        values = np.where(special < 0.1, np.nan, np.where(special < 0.2, -0.0, values))
        values = np.where(special > 0.95, np.inf, values)
    else:
        values = np.abs(values)
    return values.astype(dtype)


def random_bound(rng):
    return None if rng.random() < 0.4 else int(rng.integers(-5, 6))


def random_entry(rng, size, rows):
    """One entry of an index, and how many axes it takes."""
    kind = rng.integers(12)
    high = size + (rng.random() < 0.05)
    if kind < 3:
        return int(rng.integers(-high, high)) if high else 0, 1
    if kind < 6:
        step = [None, 1, 2, -1, -2, 0][rng.choice(6, p=[0.4, 0.2, 0.15, 0.15, 0.08, 0.02])]
        return slice(random_bound(rng), random_bound(rng), step), 1
    if kind == 6:
        return None, 0
    if kind == 7:
        return Ellipsis, 0
    if kind == 8:
        mask = rng.random(size=size + (rng.random() < 0.05)) < 0.5
        return (tf.constant(mask) if rng.random() < 0.3 else mask), 1
    shape = [(rows,), (2, rows), (1,), (), (0,)][rng.choice(5, p=[0.6, 0.1, 0.1, 0.1, 0.1])]
    places = rng.integers(-high, high, size=shape) if high else np.zeros(shape, int)
    if kind == 9:
        return tf.constant(places), 1
    if kind == 10:
        return places.astype(["int8", "uint8", "int32"][rng.integers(3)]) % max(size, 1), 1
    return places.tolist() if rng.random() < 0.5 else places, 1


def random_index(rng, shape):
    if rng.random() < 0.1:
        return [True, np.bool_(False), 1.5, "a", np.int64(0), (), slice(1.0), slice(np.int64(1), None), []][
            rng.integers(9)
        ]
    if rng.random() < 0.1:
        return rng.random(size=shape) < 0.5
    entries, axis, rows = [], 0, int(rng.integers(1, 4))
    wanted = rng.integers(0, len(shape) + 1 + (rng.random() < 0.05))
    while axis < wanted:
        entry, taken = random_entry(rng, shape[min(axis, len(shape) - 1)] if shape else 1, rows)
        entries.append(entry)
        axis += taken
    return entries[0] if len(entries) == 1 and rng.random() < 0.5 else tuple(entries)


@pytest.mark.parametrize("seed", range(8))
def test_reading_parts(seed):
    rng = np.random.default_rng(seed)
    for _ in range(150):
        shape = tuple(int(d) for d in rng.integers(0, 5, size=rng.integers(0, 4)))
        array = random_array(rng, shape, DTYPES[rng.integers(len(DTYPES))])
        x = tf.constant(array)
        if rng.random() < 0.3:
            x = tf.transpose(x)
        index = random_index(rng, x.shape)
        same(lambda x=x, index=index: x[index])


def test_a_read_of_everything_is_the_tensor_itself():
    x = tf.constant([[1.0, 2.0]])
    assert x[...] is x and x[:] is x and x[()] is x and x[:, 0:2] is x
    assert x[::-1] is not x and x[0] is not x


def test_what_is_read_of_text_and_of_leaked_tensors_is_refused_as_before():
    leaked = []
    tf.function(lambda x: leaked.append(x) or x)(tf.constant([1.0, 2.0]))
    for x in (tf.constant(["a", "b"]), leaked[0]):
        for index in (0, slice(1), (0,), np.array([0])):
            same(lambda x=x, index=index: x[index])


def test_a_tape_sees_what_is_read():
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x[1] * x[np.array([0, 1])][1] * tf.reduce_sum(x[1:])
    np.testing.assert_allclose(tape.gradient(y, x), [0.0, 24.0, 4.0])
