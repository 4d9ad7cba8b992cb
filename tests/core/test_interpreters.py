"""Count and Perturb: what a program costs, and how far rounding moves it."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
from checks.regions import call, loop
from tracejit.core.op import ops
from tracejit.core.tensor import Tensor
from tracejit.core.tracing.dispatch import interpreting
from tracejit.core.tracing.interpreters import Count, Perturb


def counted(f, *xs: np.ndarray) -> Count:
    with interpreting(count := Count()):
        f(*map(Tensor, xs))
    return count


def test_calls_elements_and_bytes():
    count = counted(lambda x: ops.reduce_sum(x * 2.0 + 1.0), np.ones((10, 4)))
    assert count.calls == {"multiply": 1, "add": 1, "reduce_sum": 1}
    assert count.elements == 120
    assert count.bytes == 2 * 320 + 8
    assert count.allocations == 3


def test_views_cost_nothing():
    count = counted(
        lambda x: ops.transpose(ops.reshape(ops.slice(x, slices=((0, 4, 1),)), shape=(2, 2))), np.ones(8)
    )
    assert (count.elements, count.bytes, count.allocations) == (0, 0, 0)


def test_regions_are_counted_by_what_runs():
    count = counted(lambda x: loop(lambda i, x: call(lambda x: x * 0.5, x)[0], [x], length=6), np.ones(5))
    assert count.calls["multiply"] == 6 and count.elements == 30


def test_counting_does_not_change_results():
    x = np.linspace(0.0, 1.0, 7)
    with interpreting(Count()):
        y = ops.sin(Tensor(x)) * 2.0
    np.testing.assert_array_equal(y.numpy(), np.sin(x) * 2.0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(200,), ()])
def test_perturb_moves_by_one_unit_in_the_last_place_at_most(dtype: str, shape: tuple):
    x = np.asarray(np.random.default_rng(0).uniform(1.0, 2.0, shape), dtype)
    with interpreting(Perturb(3)):
        moved = (Tensor(x) * Tensor(x)).numpy()
    exact = x * x
    assert moved.dtype == exact.dtype
    steps = np.abs(moved - exact) / np.spacing(np.abs(exact))
    assert np.max(steps) <= 1.5
    if shape:
        assert 0.4 < np.mean(moved != exact) < 0.95


def test_perturb_leaves_special_values_integers_views_and_choices():
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan])
    with interpreting(Perturb(1)):
        kept = (Tensor(special) * 1.0).numpy()
        ints = (Tensor(np.arange(5)) + 1).numpy()
        largest = ops.reduce_max(Tensor(np.array([0.1, 0.7]))).numpy()
        view = ops.reshape(Tensor(np.array([0.1, 0.7])), shape=(2, 1)).numpy()
    np.testing.assert_array_equal(kept, special)
    np.testing.assert_array_equal(np.signbit(kept), np.signbit(special))
    assert ints.tolist() == [1, 2, 3, 4, 5]
    assert largest == 0.7 and view.tolist() == [[0.1], [0.7]]


def test_the_spread_shows_bad_conditioning():
    def spread(f) -> float:
        x = np.array(1.0)
        results = []
        for seed in range(8):
            with interpreting(Perturb(seed)):
                results.append(float(f(Tensor(x))))
        return max(results) - min(results)

    assert spread(lambda x: (x * 1e8 + x) - x * 1e8) > 1e6 * spread(lambda x: x * 3.0)


def test_a_seed_repeats():
    x = np.linspace(1.0, 2.0, 50)
    runs = []
    for seed in (1, 1, 2):
        with interpreting(Perturb(seed)):
            runs.append(tf.sin(Tensor(x)).numpy())
    assert np.array_equal(runs[0], runs[1]) and not np.array_equal(runs[0], runs[2])
