"""``fastmath``: products with shared reciprocals in place of quotients, how far off they are, and for whom it holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tf

COUNT = 1 << 16
FLOATS = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def fast(f: Callable[..., Any]) -> Any:
    return tf.function(f, fastmath=True)


def between(dtype: type, low: float, high: float, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, COUNT).astype(dtype)


def ulps(found: Any, exact: np.ndarray, dtype: type) -> float:
    """How far the numbers found are from those of extended precision, in units in the last place."""
    unit = np.spacing(np.abs(exact).astype(dtype)).astype(np.longdouble)
    return float(np.max(np.abs(np.asarray(found).astype(np.longdouble) - exact) / unit))


def divisions(f: Any, *args: Any) -> int:
    return f.loops(*args).count("= div(")


# ---- how far off ----------------------------------------------------------------------------------------


@FLOATS
def test_quotients_by_one_number_are_within_the_bound_of_the_documentation(dtype):
    a, b, d = (between(dtype, 1, 4, seed) for seed in range(3))
    wide = d.astype(np.longdouble)
    f = fast(lambda a, b, d: (a / d, b / -d))
    first, second = f(a, b, d)
    assert ulps(first, a / wide, dtype) <= 1.5
    assert ulps(second, -b / wide, dtype) <= 1.5
    assert divisions(f, a, b, d) == 1


@FLOATS
@pytest.mark.parametrize("low, high", [(1, 4), (1e-30, 1e30)])
def test_quotients_by_a_root_are_within_the_bound_of_the_documentation(dtype, low, high):
    a, d = between(dtype, 1, 4, 0), between(dtype, low, high, 1)
    root = np.sqrt(d.astype(np.longdouble))
    f = fast(lambda a, d: (a / tf.sqrt(d), 1.0 / tf.sqrt(d)))
    first, second = f(a, d)
    assert ulps(first, a / root, dtype) <= 3
    assert ulps(second, 1 / root, dtype) <= 1.5
    assert divisions(f, a, d) == 0


@FLOATS
def test_quotients_by_a_literal_or_by_what_a_row_shares_are_within_the_bound(dtype):
    a, d = between(dtype, 1, 4, 0).reshape(256, 256), between(dtype, 1, 4, 1)[:256, None]
    assert ulps(fast(lambda a: a / 3.0)(a), a / np.longdouble(3), dtype) <= 1.5
    assert ulps(fast(lambda a, d: a / d)(a, d), a / d.astype(np.longdouble), dtype) <= 1.5


@FLOATS
def test_derivatives_agree_with_exact_ones(dtype):
    def f(x, y):
        return tf.reduce_sum(x / tf.sqrt(y) + y / x + x / (x * y))

    x, y = between(dtype, 1, 4, 0)[:1000], between(dtype, 1, 4, 1)[:1000]
    wide = [a.astype(np.float64) for a in (x, y)]
    for order in (
        lambda f: tf.grad(f, (0, 1)),
        lambda f: tf.grad(lambda x, y: tf.reduce_sum(tf.grad(f)(x, y))),
    ):
        found, exact = tf.nest.flatten(fast(order(f))(x, y)), tf.nest.flatten(order(f)(*wide))
        for g, e in zip(found, exact, strict=True):
            np.testing.assert_allclose(g, e, rtol=40 * np.finfo(dtype).eps, atol=40 * np.finfo(dtype).eps)


# ---- special values -------------------------------------------------------------------------------------


@FLOATS
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value", "ignore:overflow")
def test_zeros_infinities_and_nan_are_divided_as_ever(dtype):
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -2.0, 1e-30, 1e30], dtype)
    a, d = (v.ravel() for v in np.meshgrid(special, special))
    for found, exact in zip(fast(lambda a, d: (a / d, d / d))(a, d), (a / d, d / d), strict=True):
        np.testing.assert_allclose(found, exact, rtol=4 * np.finfo(dtype).eps)
        known = ~np.isnan(exact)
        np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(exact)[known])
    d = np.abs(d)
    np.testing.assert_allclose(
        fast(lambda a, d: a / tf.sqrt(d))(a, d), a / np.sqrt(d), rtol=4 * np.finfo(dtype).eps
    )


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_reciprocal_that_overflows_is_what_the_documentation_warns_of():
    x = np.full(32, 1e-310)
    exact, other = tf.function(lambda x: (x / x, 1e-5 / x)), fast(lambda x: (x / x, 1e-5 / x))
    assert np.all(exact(x)[0] == 1.0) and np.all(np.isinf(other(x)[0]))


# ---- for whom -------------------------------------------------------------------------------------------


def quotients(a, b, d):
    return a / d, b / d


def test_the_default_is_exact():
    a, b, d = (between(np.float64, 1, 4, seed) for seed in range(3))
    for f in (tf.function(quotients), tf.function(quotients, fastmath=False)):
        for found, exact in zip(f(a, b, d), (a / d, b / d), strict=True):
            np.testing.assert_array_equal(found, exact)


def test_one_function_has_it_whatever_is_in_force():
    a, b, d = (between(np.float64, 1, 4, seed) for seed in range(3))
    exact, other, either = tf.function(quotients, fastmath=False), fast(quotients), tf.function(quotients)
    in_default = [f(a, b, d)[0].numpy() for f in (exact, other, either)]
    with tf.settings(fastmath=True):
        in_fast = [f(a, b, d)[0].numpy() for f in (exact, other, either)]
    again = [f(a, b, d)[0].numpy() for f in (exact, other, either)]
    np.testing.assert_array_equal(in_default[0], in_fast[0])
    np.testing.assert_array_equal(in_default[1], in_fast[1])
    np.testing.assert_array_equal(in_fast[2], in_fast[1])
    np.testing.assert_array_equal(again, in_default)
    assert not np.array_equal(in_default[0], in_default[1])
    assert np.array_equal(in_default[2], in_default[0])


def test_methods_and_copies_have_it_too():
    class Model:
        @tf.function(fastmath=True)
        def quotients(self, a, b, d):
            return a / d, b / d

    a, b, d = (between(np.float64, 1, 4, seed) for seed in range(3))
    for found, wanted in zip(Model().quotients(a, b, d), fast(quotients)(a, b, d), strict=True):
        np.testing.assert_array_equal(found, wanted)
