"""Loops over few rows that a compiled loop refuses are run row by row, as Python does."""

import numpy as np
import pytest

import tracejit as tf

X = np.array([0.25, 0.5, 0.8])


def adds_to_places_of_a_list(x):
    sums = [0.0, 0.0]
    for i, v in enumerate(x):
        sums[i % 2] += v * v
    return sums[0] - 3.0 * sums[1]


def adds_to_places_of_a_dict(x):
    sums = {0: 0.0, 1: 0.0}
    for i, v in enumerate(x):
        sums[i % 2] += v * v
    return sums[0] - 3.0 * sums[1]


def prints_its_rows(x):
    y = 0.0
    for v in x:
        y = y + float(f"{v:.1f}")
    return y


def picks_weights_by_number(x):
    weights = {0: 2.0, 1: -1.0, 2: 0.5}
    y = 1.0
    for i, v in enumerate(x):
        y = y * v + weights[i]
    return y


def leaves_early(x):
    names, y = ["a", "b", "c"], 0.0
    for i, v in enumerate(x):
        if v > 0.6:
            break
        y = y + v * len(names[i])
    return y


def loops_in_loops(x):
    table, y = [[1.0, 2.0, 3.0]] * 3, 0.0
    for i, a in enumerate(x):
        for j, b in enumerate(x):
            y = y + table[i][j] * a * b
    return y


WRITTEN_OUT = [
    adds_to_places_of_a_list,
    adds_to_places_of_a_dict,
    picks_weights_by_number,
    leaves_early,
    loops_in_loops,
]


@pytest.mark.parametrize("f", WRITTEN_OUT, ids=lambda f: f.__name__)
def test_values_and_derivatives_are_those_of_eager_mode(f):
    x = tf.constant(X)
    compiled = tf.function(f)
    np.testing.assert_allclose(compiled(x), f(x), rtol=1e-15)
    np.testing.assert_allclose(tf.grad(compiled)(x), tf.grad(f)(x), rtol=1e-14)
    np.testing.assert_allclose(tf.hessian(compiled)(x), tf.hessian(f)(x), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("f", WRITTEN_OUT[:2], ids=lambda f: f.__name__)
def test_they_hold_for_one_size_at_a_time(f):
    compiled = tf.function(f)
    for n in (3, 4, 5, 1):
        x = np.linspace(0.5, 1.5, n)
        np.testing.assert_allclose(compiled(x), f(tf.constant(x)), rtol=1e-15)


def test_what_a_number_is_needed_for_is_refused_as_before():
    with pytest.raises(tf.errors.SymbolicValue, match=r"format by '.1f' while 'prints_its_rows' is being traced"):
        tf.function(prints_its_rows)(X)


def test_many_rows_are_not_written_out():
    with pytest.raises(tf.errors.SymbolicValue, match=r"while 'adds_to_places_of_a_list' is being traced"):
        tf.function(adds_to_places_of_a_list)(np.ones(1000))


def test_effects_outside_happen_once_per_row():
    told = []

    @tf.function
    def f(x):
        names = ["a", "b", "c"]
        for i, v in enumerate(x):
            told.append(names[i])
            x = x + v
        return x

    np.testing.assert_allclose(f(X), X + X.sum())
    assert told == ["a", "b", "c"]


def test_errors_of_the_program_are_its_own():
    @tf.function
    def f(x):
        names = ["a", "b"]
        for i, v in enumerate(x):
            x = x + v * len(names[i])
        return x

    with pytest.raises(IndexError, match="list index out of range"):
        f(X)
