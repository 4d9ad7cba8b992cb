"""Programs as users of Numba write them: arrays read at traced positions, and what is refused, with a remedy."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tracejit as tf
import tracejit.numpy as tnp

TABLE = np.arange(6.0) ** 2
GRID = np.arange(12.0).reshape(3, 4)
PAIRS = [(0, 1), (2, 3)]


def summed(n, x):
    total = 0.0
    for i in range(n):
        total += TABLE[i] * x
    return total


def taken(i, x):
    return TABLE[i] * x


def corner(i, x):
    return GRID[i, 1:][-1] * x + GRID[-1, i] + GRID[i][i]


def gathered(i, x):
    where = np.arange(3) + i
    return tf.reduce_sum(TABLE[where]) * x


def literal(i, x):
    return TABLE[2] * x + GRID[0, -1] + PAIRS[1][0] + i


MODES = pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])


@MODES
@pytest.mark.parametrize("f", [summed, taken, corner, gathered, literal], ids=lambda f: f.__name__)
def test_arrays_are_read_at_positions_of_run_time(f, mode):
    for i in (0, 1, 2):
        found = mode(f)(tf.constant(i), tf.constant(1.5, tf.float64))
        assert float(found) == float(f(i, 1.5))
        slope = mode(tf.grad(f, argnums=1))(tf.constant(i), np.float64(1.5))
        assert float(slope) == pytest.approx(f(i, 2.5) - f(i, 1.5))


def test_one_trace_serves_all_positions():
    f = tf.function(taken)
    assert [float(f(tf.constant(i), tf.constant(1.0))) for i in range(4)] == [0.0, 1.0, 4.0, 9.0]
    assert f.experimental_get_tracing_count() == 1
    with pytest.raises(IndexError, match="6"):
        f(tf.constant(6), tf.constant(1.0))


def filled(x):
    out = np.zeros(3)
    for i in range(3):
        out[i] = 2.0 * x[i]
    return out


def masked(x):
    out = np.zeros(3)
    out[x > 0] = 1.0
    return out


def filled_beside(x):
    out = kept = np.zeros(3)
    for i in range(3):
        out[i] = 2.0 * x[i]
    return kept


def masked_beside(x):
    out = np.zeros(3)
    kept = out[1:]
    out[x > 0] = 1.0
    return kept


BUFFER = np.zeros(3)


def filled_outside(x):
    for i in range(3):
        BUFFER[i] = 2.0 * x[i]
    return BUFFER


def masked_outside(x):
    kept = BUFFER[1:]
    BUFFER[x > 0] = 1.0
    return kept


def sine(x):
    return math.sin(x[0])


def logarithm(x):
    return math.log2(x[0])


def of_list(i):
    return [1.0, 2.0][i]


@pytest.mark.parametrize(
    ("f", "argument", "message"),
    [
        (filled_outside, np.ones(3), r"an array of NumPy's cannot hold .*tracejit\.numpy"),
        (masked_outside, np.ones(3), r"an array of NumPy's cannot hold .*tracejit\.constant"),
        (sine, np.ones(3), r"math\.sin takes numbers, .*write tracejit\.math\.sin"),
        (logarithm, np.ones(3), r"math\.log2 takes numbers, .*write tracejit\.math\.log2"),
        (of_list, np.int64(1), r"a Python list has no element .*tracejit\.stack"),
    ],
    ids=["filled", "masked", "sine", "logarithm", "list"],
)
def test_what_compiled_functions_cannot_do_says_what_to_write(f, argument, message):
    f(argument)
    with pytest.raises(tf.SymbolicValue, match=message) as error:
        tf.function(f)(tf.constant(argument))
    assert "test_numba_programs.py" in str(error.value)


@pytest.mark.parametrize("f", [filled_beside, masked_beside])
def test_an_array_that_another_name_knows_is_filled_in_compiled_code(f):
    x = np.array([1.0, -1.0, 2.0])
    np.testing.assert_array_equal(tf.function(f)(x), f(x))


@MODES
@pytest.mark.parametrize("f", [filled, masked])
def test_an_array_that_no_other_name_knows_is_filled(f, mode):
    np.testing.assert_array_equal(mode(f)(tf.constant([1.0, -1.0, 2.0])), f(np.array([1.0, -1.0, 2.0])))


def test_what_they_say_works():
    def filled_by_ours(x):
        out = tnp.zeros(3)
        for i in range(3):
            out[i] = 2.0 * x[i]
        return out

    assert tf.function(filled_by_ours)(np.ones(3)).numpy().tolist() == [2.0, 2.0, 2.0]
