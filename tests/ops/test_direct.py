"""Eager calls take short ways: what they give, and refuse, is what the long ways do, over random arguments."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import tracejit as tf
from checks.ways import DTYPES, outcome, random_array, same


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


OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod]
OPERATORS += [
    operator.pow,
    operator.lt,
    operator.ge,
    operator.eq,
    operator.ne,
    operator.and_,
    operator.matmul,
]
NUMBERS = [
    0,
    1,
    2,
    -3,
    300,
    2**40,
    0.0,
    -0.0,
    2.0,
    -1.5,
    1e300,
    float("nan"),
    float("inf"),
    True,
    1j,
    None,
    "a",
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(4))
def test_operators(seed):
    rng = np.random.default_rng(seed)
    for _ in range(120):
        shape = tuple(int(d) for d in rng.integers(0, 3, size=rng.integers(0, 3)))
        dtype = DTYPES[rng.integers(len(DTYPES))]
        x = tf.constant(random_array(rng, shape, dtype))
        kind = rng.integers(5)
        if kind < 2:
            other = NUMBERS[rng.integers(len(NUMBERS))]
        else:
            shape = shape if rng.random() < 0.6 else tuple(int(d) for d in rng.integers(0, 3, size=2))
            dtype = dtype if rng.random() < 0.6 else DTYPES[rng.integers(len(DTYPES))]
            other = random_array(rng, shape, dtype)
            other = (other, tf.constant(other), tf.Variable(other))[kind - 2]
        for op in OPERATORS:
            for a, b in ((x, other), (other, x)):
                for _ in range(2):
                    same(lambda a=a, b=b, op=op: op(a, b))


def test_a_number_that_was_met_while_tracing_is_no_tensor_of_the_trace():
    x = tf.constant([1.0, 2.0])
    assert (x * 1.5 is not None) and (x * 1.5 is not None)
    f = tf.function(lambda y: (x * 1.5) * y * 1.5)
    np.testing.assert_array_equal(f(x), np.array([2.25, 9.0], "f4"))
    with tf.settings(check=True):
        np.testing.assert_array_equal(x * 1.5, np.array([1.5, 3.0], "f4"))


@pytest.mark.parametrize("seed", range(4))
def test_reading_parts_on_a_tape(seed):
    """The second time that an index is met its calls are remembered: records and gradients are the same."""
    rng = np.random.default_rng(seed)
    for _ in range(60):
        shape = tuple(int(d) for d in rng.integers(0, 4, size=rng.integers(0, 4)))
        x = tf.constant(rng.normal(size=shape))
        index = random_index(rng, x.shape)

        def read(x=x, index=index):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x[index]
                z = tf.reduce_sum(y * y)
            calls = [(str(r.op), repr(r.attrs), str(r.location)) for r in tape.records]
            gradient = tape.gradient(z, x)
            return [y, gradient, np.array(calls)] if gradient is not None else [y, np.array(calls)]

        first, second = outcome(read, True), outcome(read, True)
        assert first == second == outcome(read, False)


EINSUMS = [
    "ij,jk->ik",
    "ij,kj->ik",
    "ij,ij->",
    "ii->i",
    "ij->ji",
    "ij->ij",
    "ij",
    "bij,bjk->bik",
    "...i,...i->...",
]
EINSUMS += ["ij,jk,kl->il", "ab,b", "ij,jk->ki", "bij,kj->bik", "ij,jk->ij", "i->", "ij,->ij", "ij,jk"]


@pytest.mark.parametrize("equation", EINSUMS)
def test_einsum(equation):
    rng = np.random.default_rng(len(equation))
    terms = equation.split("->")[0].split(",")
    for _ in range(12):
        sizes = {c: 3 if c in "ij" and rng.random() < 0.7 else int(rng.integers(0, 4)) for c in "abijkl"}
        shapes = [
            tuple(sizes[c] if rng.random() > 0.02 else 2 for c in t.replace("...", "ab")) for t in terms
        ]
        dtype = DTYPES[rng.integers(len(DTYPES))]
        operands = [tf.constant(rng.normal(size=s).astype(dtype)) for s in shapes]
        if rng.random() < 0.2:
            operands = [operands[0]] * len(operands)
        if rng.random() < 0.3:
            operands = [np.asarray(t) for t in operands]
        for _ in range(2):
            same(lambda operands=operands: tf.einsum(equation, *operands))


def test_a_plan_made_for_one_tensor_twice_is_right_for_two():
    a, b = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([[5.0, 6.0], [7.0, 8.0]])
    for x, y in ((a, a), (a, b), (b, a), (b, b)):
        np.testing.assert_array_equal(tf.einsum("ij,jk->ki", x, y), (np.asarray(x) @ np.asarray(y)).T)


def test_einsum_and_roll_on_a_tape():
    x, y = tf.constant(np.arange(6.0).reshape(2, 3)), tf.constant(np.arange(12.0).reshape(3, 4))
    for _ in range(3):
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            z = tf.reduce_sum(tf.roll(tf.einsum("ij,jk->ik", x, y), 1, 1)[0] ** 2)
        gx, gy = tape.gradient(z, [x, y])
        row = 2 * (np.asarray(x) @ np.asarray(y))[0]
        np.testing.assert_allclose(gx, [np.asarray(y) @ row, [0.0] * 3])
        np.testing.assert_allclose(gy, np.outer(np.asarray(x)[0], row))


@pytest.mark.parametrize("seed", range(3))
def test_roll(seed):
    rng = np.random.default_rng(seed)
    for _ in range(40):
        shape = tuple(int(d) for d in rng.integers(0, 4, size=rng.integers(0, 4)))
        x = tf.constant(random_array(rng, shape, DTYPES[rng.integers(len(DTYPES))]))
        shift, axis = int(rng.integers(-5, 6)), int(rng.integers(-3, 3))
        for _ in range(2):
            same(lambda x=x, shift=shift, axis=axis: tf.roll(x, shift, axis))
        same(lambda x=x, shift=shift: tf.roll(x, [shift, 1], [0, 0]))
