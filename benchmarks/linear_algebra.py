"""Factors of matrices and solutions with them beside NumPy, SciPy and JAX, and what is made of them: the likelihood of
a Gaussian process with its gradient by three parameters.

SciPy's solution is that of its quickest function that gives the same; its gradient of the likelihood is the closed
form, by hand, with the inverse from the factor. JAX and SciPy are left out where they are not installed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tracejit as tf
from benchmarks.peers import installed, jax
from benchmarks.timing import Candidate, Case, run

SIZES = (4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
LIKELIHOODS = (50, 500, 1500)
LOG_TWO_PI = float(np.log(2.0 * np.pi))
NAMES = ("cholesky", "solve", "triangular_solve", "inverse", "determinant")


def matrices(*lead: int, n: int, dtype: str, columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return matrices that are positive definite, others that are not symmetric, and right sides."""
    random = np.random.default_rng(n)
    a = random.standard_normal((*lead, n, n))
    general = a + 3.0 * np.eye(n)
    definite = a @ np.swapaxes(a, -1, -2) + n * np.eye(n)
    return tuple(x.astype(dtype) for x in (definite, general, random.standard_normal((*lead, n, columns))))


def own(definite: np.ndarray, general: np.ndarray, b: np.ndarray) -> dict[str, Candidate]:
    """Return the calls of compiled functions."""
    factor, solve, triangular = map(
        tf.function, (tf.linalg.cholesky, tf.linalg.solve, tf.linalg.triangular_solve)
    )
    inverse, determinant = map(tf.function, (tf.linalg.inv, tf.linalg.slogdet))
    a, c, right = (tf.constant(x) for x in (definite, general, b))
    return {
        "cholesky": lambda: factor(a).numpy(),
        "solve": lambda: solve(c, right).numpy(),
        "triangular_solve": lambda: triangular(a, right).numpy(),
        "inverse": lambda: inverse(c).numpy(),
        "determinant": lambda: determinant(c)[1].numpy(),
    }


def of_numpy(definite: np.ndarray, general: np.ndarray, b: np.ndarray) -> dict[str, Candidate]:
    """Return the calls of ``numpy.linalg``."""
    linear = np.linalg
    return {
        "cholesky": lambda: linear.cholesky(definite),
        "solve": lambda: linear.solve(general, b),
        "inverse": lambda: linear.inv(general),
        "determinant": lambda: linear.slogdet(general)[1],
    }


def of_scipy(definite: np.ndarray, general: np.ndarray, b: np.ndarray) -> dict[str, Candidate]:
    """Return the calls of ``scipy.linalg``, without its look for what is not finite."""
    linear = installed("scipy.linalg")
    if linear is None:
        return {}
    return {
        "cholesky": lambda: linear.cholesky(definite, lower=True, check_finite=False),
        "solve": lambda: linear.solve(general, b, assume_a="gen", check_finite=False),
        "triangular_solve": lambda: linear.solve_triangular(definite, b, lower=True, check_finite=False),
        "inverse": lambda: linear.inv(general, check_finite=False),
        "determinant": lambda: np.log(
            abs(np.diagonal(linear.lu_factor(general, check_finite=False)[0]))
        ).sum(),
    }


def of_jax(definite: np.ndarray, general: np.ndarray, b: np.ndarray) -> dict[str, Candidate]:
    """Return the calls of functions that JAX compiles."""
    if jax is None:
        return {}
    linear, numpy = jax.scipy.linalg, jax.numpy
    calls = {
        "cholesky": (numpy.linalg.cholesky, (definite,)),
        "solve": (numpy.linalg.solve, (general, b)),
        "triangular_solve": (lambda a, b: linear.solve_triangular(a, b, lower=True), (definite, b)),
        "inverse": (numpy.linalg.inv, (general,)),
        "determinant": (lambda a: numpy.linalg.slogdet(a)[1], (general,)),
    }
    return {name: compiled_by_jax(f, *given) for name, (f, given) in calls.items()}


def compiled_by_jax(f: Callable[..., Any], *given: np.ndarray) -> Candidate:
    """Return a call with arrays that are JAX's already."""
    call, placed = jax.jit(f), [jax.device_put(x) for x in given]
    return lambda: [np.asarray(y) for y in jax.tree.leaves(call(*placed))]


# ---- the likelihood of a Gaussian process ---------------------------------------------------------------


def likelihood(parameters: Any, x: Any, y: Any, np: Any, cholesky: Any, solve: Any) -> Any:
    """Return the negative logarithm of the likelihood of `y [n]` at points `x [n, k]`.

    `parameters` are the logarithms of the length, the amplitude and the noise. Written with the names of `np`.
    """
    length, amplitude, noise = np.exp(parameters[0]), np.exp(parameters[1]), np.exp(parameters[2])
    squares = np.sum(x * x, axis=1)
    distances = np.maximum(squares[:, None] + squares[None, :] - 2.0 * (x @ x.T), 0.0)
    covariance = amplitude**2 * np.exp(-0.5 * distances / length**2)
    factor = cholesky(covariance + (noise**2 + 1e-10) * np.eye(x.shape[0]))
    white = solve(factor, y[:, None])
    logarithms = np.sum(np.log(np.diagonal(factor)))
    return 0.5 * np.sum(white**2) + logarithms + 0.5 * x.shape[0] * LOG_TWO_PI


def by_hand(parameters: np.ndarray, x: np.ndarray, y: np.ndarray, linear: Any) -> tuple[Any, np.ndarray]:
    """Return the same with its gradient in closed form."""
    length, amplitude, noise = np.exp(parameters)
    squares = (x * x).sum(1)
    distances = np.maximum(squares[:, None] + squares - 2.0 * (x @ x.T), 0.0)
    smooth = amplitude**2 * np.exp(-0.5 * distances / length**2)
    covariance = smooth.copy()
    covariance[np.diag_indices_from(covariance)] += noise**2 + 1e-10
    factor = linear.cholesky(covariance, lower=True, check_finite=False, overwrite_a=True)
    weights = linear.cho_solve((factor, True), y, check_finite=False)
    value = 0.5 * y @ weights + np.log(np.diagonal(factor)).sum() + 0.5 * len(y) * LOG_TWO_PI
    half = linear.lapack.dpotri(factor, lower=1)[0]
    slopes = np.tril(half) + np.tril(half, -1).T - np.outer(weights, weights)
    trace, slopes = np.trace(slopes), slopes * smooth
    by_length = 0.5 * (slopes * distances).sum() / length**2
    return value, np.array([by_length, slopes.sum(), noise**2 * trace])


def likelihoods(n: int) -> Case:
    """Return the case of `n` points."""
    random = np.random.default_rng(n)
    x = np.sort(random.uniform(-3.0, 3.0, (n, 2)), axis=0)
    y = np.sin(x[:, 0]) + 0.1 * random.standard_normal(n)
    start = np.log(np.array([0.7, 1.2, 0.3]))
    numpy, linear = tf.numpy, tf.linalg

    @tf.function
    def with_gradient(parameters: Any, x: Any, y: Any) -> Any:
        return tf.value_and_grad(
            lambda p: likelihood(p, x, y, numpy, linear.cholesky, linear.triangular_solve)
        )(parameters)

    arguments = [tf.constant(v) for v in (start, x, y)]
    candidates: dict[str, Candidate] = {
        "tracejit": lambda: tuple(v.numpy() for v in with_gradient(*arguments))
    }
    if (by := installed("scipy.linalg")) is not None:
        candidates["NumPy and SciPy, by hand"] = lambda: by_hand(start, x, y, by)
    if jax is not None:

        def loss(p: Any, x: Any, y: Any) -> Any:
            solve = lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True)
            return likelihood(p, x, y, jax.numpy, jax.numpy.linalg.cholesky, solve)

        candidates["JAX"] = compiled_by_jax(jax.value_and_grad(loss), start, x, y)
    name = f"likelihood of a Gaussian process and its gradient, n = {n}"
    return Case(name, candidates, unit="µs", tolerance=1e-6)


# ---- the cases ------------------------------------------------------------------------------------------


def squares(n: int, dtype: str) -> Iterator[Case]:
    """Return the cases of one matrix of a size; the systems have one right side."""
    given = matrices(n=n, dtype=dtype, columns=1)
    peers = {"tracejit": own, "NumPy": of_numpy, "SciPy": of_scipy, "JAX": of_jax}
    calls = {peer: made(*given) for peer, made in peers.items()}
    for name in NAMES:
        found = {peer: those[name] for peer, those in calls.items() if name in those}
        tolerance = 1e-8 if dtype == "float64" else 1e-1
        yield Case(f"{name}, {n} x {n}, {dtype}", found, unit="µs", tolerance=tolerance)


def batches(n: int, count: int = 1000) -> Iterator[Case]:
    """Return the cases of many small matrices."""
    given = matrices(count, n=n, dtype="float64", columns=1)
    calls = {"tracejit": own(*given), "NumPy": of_numpy(*given)}
    for name in ("cholesky", "solve", "inverse", "determinant"):
        found = {peer: those[name] for peer, those in calls.items()}
        yield Case(f"{name}, {count} of {n} x {n}", found, unit="µs", tolerance=1e-8)


def main() -> int:
    """Measure what is asked for, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--likelihoods", type=int, nargs="*", default=LIKELIHOODS, help="numbers of points")
    parser.add_argument("--batches", type=int, nargs="*", default=(4, 8), help="sizes of 1000 matrices")
    parser.add_argument("--dtypes", nargs="*", default=("float64", "float32"))
    parser.add_argument("--seconds", type=float, default=0.5, help="for each case")
    options = parser.parse_args()
    run(map(likelihoods, options.likelihoods), options.seconds)
    for dtype in options.dtypes:
        for n in options.sizes:
            run(squares(n, dtype), options.seconds)
    for n in options.batches:
        run(batches(n), options.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
