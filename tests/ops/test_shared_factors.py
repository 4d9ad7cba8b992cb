"""What threads share of factorizations, large ones and many small ones: the same bits on any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
from tracejit.core.settings import settings


def positive(n: int) -> np.ndarray:
    x = np.random.default_rng(n).normal(size=(n, n))
    return x @ x.T / n + np.eye(n)


def spread(n: int, *leading: int) -> np.ndarray:
    """Matrices that exchange rows."""
    return np.random.default_rng(2).normal(size=(*leading, n, n))


SHARED = {
    "cholesky of many blocks": (tf.linalg.cholesky, lambda: positive(700), np.linalg.cholesky),
    "cholesky by halves": (tf.linalg.cholesky, lambda: positive(1100), np.linalg.cholesky),
    "solve": (
        lambda a: tf.linalg.solve(a, a[:, ::-1] + 1.0),
        lambda: spread(500),
        lambda a: np.linalg.solve(a, a[:, ::-1] + 1),
    ),
    "inverse": (tf.linalg.inv, lambda: spread(500), np.linalg.inv),
    "triangle": (
        lambda a: tf.linalg.triangular_solve(a, a),
        lambda: positive(450),
        lambda a: np.linalg.solve(np.tril(a), a),
    ),
    "inverses in lanes": (tf.linalg.inv, lambda: spread(9, 1003) + 9 * np.eye(9), np.linalg.inv),
    "factors in lanes": (
        tf.linalg.cholesky,
        lambda: positive(16)[None] * np.arange(1.0, 806.0)[:, None, None],
        np.linalg.cholesky,
    ),
    "solutions in lanes": (
        lambda a: tf.linalg.solve(a, a[:, :, :3]),
        lambda: spread(12, 611),
        lambda a: np.linalg.solve(a, a[:, :, :3]),
    ),
    "solutions in lanes, shared": (
        lambda a: tf.linalg.triangular_solve(a[0] + 7 * tf.eye(12, dtype=a.dtype), a),
        lambda: spread(12, 611),
        lambda a: np.linalg.solve(np.tril(a[0] + 7 * np.eye(12))[None], a),
    ),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", SHARED)
def test_threads_change_no_bit(name: str, dtype: str) -> None:
    f, make, meaning = SHARED[name]
    a = make().astype(dtype)
    compiled, found = tf.function(f), []
    for threads in (1, 2, 3, 5):
        with settings(num_threads=threads):
            found += [np.asarray(compiled(a)) for _ in range(3)]
    wanted = meaning(a.astype("float64"))
    scale = np.abs(wanted).max() * (1e-9 if dtype == "float64" else 3e-2)  # conditions of random matrices reach 10⁴
    np.testing.assert_allclose(found[0], wanted, atol=scale)
    assert {each.tobytes() for each in found} == {found[0].tobytes()}


def test_one_failure_among_matrices_that_threads_share() -> None:
    """Which matrix fails is seen whoever works on it; the others' states are theirs."""
    a = np.broadcast_to(positive(16), (900, 16, 16)).copy()
    a[777] = -a[777]
    f = tf.function(tf.linalg.cholesky)
    for threads in (1, 3):
        with settings(num_threads=threads), pytest.raises(tf.errors.InvalidArgumentError):
            f(a)
