"""Large matrices that have a Cholesky factor: what is worked out with half the work, and which ones are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tf
from tracejit.core.settings import settings
from tracejit.ops.linalg import kernels

LEAST = kernels.LEAST_SYMMETRIC


def positive(n: int, dtype: str = "float64") -> np.ndarray:
    x = np.random.default_rng(n).normal(size=(n, n))
    return (x @ x.T / n + np.eye(n)).astype(dtype)


@tf.function
def everything(a: Any) -> tuple[Any, ...]:
    return tf.linalg.inv(a), tf.linalg.solve(a, a[:, :2]), tf.linalg.slogdet(a)[1]


def assert_right(a: np.ndarray) -> None:
    """Within what the condition of the matrix allows, as LAPACK's results are."""
    inverse, solution, size = (np.asarray(x) for x in everything(a))
    exact = np.linalg.inv(a.astype(np.float64))
    room = np.finfo(a.dtype).eps * np.linalg.cond(a.astype(np.float64)) * 4
    np.testing.assert_allclose(inverse, exact, rtol=0, atol=room * np.abs(exact).max())
    np.testing.assert_allclose(solution, np.eye(len(a))[:, :2], rtol=0, atol=room)
    found = np.linalg.slogdet(a.astype(np.float64))[1]
    np.testing.assert_allclose(size, found, rtol=room, atol=len(a) * room)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [LEAST - 1, LEAST, LEAST + 1, LEAST + 95, 2 * LEAST + 3])
def test_positive_definite(n: int, dtype: str) -> None:
    a = positive(n, dtype)
    assert_right(a)
    inverse = np.asarray(tf.function(tf.linalg.inv)(a))
    assert n < LEAST or (inverse == inverse.T).all()


def test_others() -> None:
    """Symmetric ones that are not positive, ones that are symmetric but for one element, and views."""
    n = LEAST + 70
    a = positive(n)
    assert_right(a - 1.5 * np.eye(n))
    hidden = a.copy()
    hidden[-1, -1] = -1.0
    assert_right(hidden)
    for place in ((0, 1), (n - 1, 0), (n - 1, n - 2), (n // 2, 3)):
        other = a.copy()
        other[place] += 1e-3
        assert_right(other)
    assert_right(np.diag(np.arange(1.0, n + 1)) + np.triu(np.full((n, n), 0.01), 1))
    assert_right(a.T)
    wide = np.repeat(a, 2, axis=1)
    assert_right(wide[:, ::2])
    assert_right(a[::-1, ::-1])


@pytest.mark.parametrize("special", [np.nan, np.inf])
@pytest.mark.parametrize("place", [(0, 0), (LEAST - 1, LEAST - 1), (3, 200)])
def test_what_is_not_finite(special: float, place: tuple[int, int]) -> None:
    """As factors with exchanges have it: NaN stays, and nothing comes out of an infinite element as if it were one."""
    a = positive(LEAST)
    a[place] = a[place[::-1]] = special
    inverse = np.asarray(tf.function(tf.linalg.inv)(a))
    other = a.copy()
    other[1, 0] += 1e-9  # no longer symmetric
    expected = np.asarray(tf.function(tf.linalg.inv)(other))
    np.testing.assert_array_equal(np.isnan(inverse), np.isnan(expected))
    finite = np.isfinite(expected)
    np.testing.assert_allclose(inverse[finite], expected[finite], atol=1e-6)


def test_a_singular_matrix_is_refused() -> None:
    a = positive(LEAST)
    a[5] = a[:, 5] = 0
    with pytest.raises(Exception, match="singular"):
        everything(a)


def test_factors_are_those_of_lu() -> None:
    """No row is exchanged, and the two triangles belong together to the last bit."""
    a = positive(LEAST + 10)
    whole, pivots, state = kernels.lu(a)
    assert state == 0 and (pivots == np.arange(len(a))).all()
    lower, upper = np.tril(whole, -1) + np.eye(len(a)), np.triu(whole)
    np.testing.assert_allclose(lower @ upper, a, atol=1e-12)
    assert (upper == np.diagonal(upper)[:, None] * lower.T).all()


def test_gradient_and_threads() -> None:
    a = positive(LEAST + 20)
    weights = np.random.default_rng(1).normal(size=a.shape)
    f = tf.function(
        tf.value_and_grad(lambda a: tf.reduce_sum(weights * tf.linalg.inv(a)) + tf.linalg.slogdet(a)[1])
    )
    found = []
    for threads in (1, 2, 3):
        with settings(num_threads=threads):
            found.append([np.asarray(x).tobytes() for x in f(a)])
    assert found[1:] == found[:1] * 2
    y = np.linalg.inv(a)
    np.testing.assert_allclose(np.asarray(f(a)[1]), y.T - y.T @ weights @ y.T, atol=1e-10)


def test_sizes_that_are_not_known() -> None:
    inverse = tf.function(tf.linalg.inv, input_signature=[tf.TensorSpec((None, None), tf.float64)])
    for n in (3, LEAST, LEAST + 1):
        np.testing.assert_allclose(np.asarray(inverse(positive(n))), np.linalg.inv(positive(n)), atol=1e-10)
