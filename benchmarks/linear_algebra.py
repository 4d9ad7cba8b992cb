"""Dense linear algebra of many sizes, float64: factorizations, systems, and the likelihood of a Gaussian process.

The likelihood comes with its gradient by three logarithms of parameters: by hand in closed form, from the inverse that
LAPACK makes of the Cholesky factor. Matrices are symmetric and well conditioned, so that results can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks.timing import Candidate

POINTS = (50, 500, 1500)
SIZES = (4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
STACK = (1000, 8, 8)
PROCESS, BATCHED = "Gaussian process, likelihood and gradient", f"{STACK[0]} × ({STACK[1]}×{STACK[2]})"
KINDS = ("Cholesky", "solve", "triangular solve", "inverse", "determinant", "QR")
PARAMETERS = np.log([1.5, 1.2, 0.1])  # length, amplitude, noise


def name(kind: str, n: int) -> str:
    return f"{kind}, n = {n}"


def points(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return places ``[n, 3]``, values ``[n]`` and the logarithms of the parameters ``[3]``."""
    random = np.random.default_rng(n)
    x = random.uniform(-2.0, 2.0, (n, 3))
    return x, np.sin(x.sum(1)) + 0.1 * random.standard_normal(n), PARAMETERS


def matrix(*shape: int) -> np.ndarray:
    """Return a symmetric matrix, or a stack of them, with eigenvalues about 1; its determinant is about 1 as well."""
    n = shape[-1]
    a = np.random.default_rng(n).standard_normal(shape) / (4 * math.sqrt(n))
    return np.eye(n) + (a + np.swapaxes(a, -1, -2)) / 2


def column(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape[-1]).standard_normal((*shape[:-1], 1))


def candidates(
    likelihood: Callable[..., Any], by_kind: Mapping[str, Callable[..., Any]], bound: Callable[..., Candidate]
) -> dict[str, Candidate]:
    """Return the calls of every size; `bound` gives a call of a function on NumPy's arrays."""
    found = {name(PROCESS, n): bound(likelihood, *points(n)) for n in POINTS}
    for kind, f in by_kind.items():
        columns = "solve" in kind
        for n in SIZES:
            found[name(kind, n)] = bound(f, matrix(n, n), *([column(n, n)] if columns else []))
        if kind != "QR":
            stack = [matrix(*STACK), *([column(*STACK)] if columns else [])]
            found[f"{kind}, {BATCHED}"] = bound(f, *stack)
    return found


def likelihood_of(xp: Any, cholesky: Any, solve_lower: Any, diagonal: Any) -> Callable[..., Any]:
    """Return the logarithm of the likelihood as the frameworks' users write it."""

    def likelihood(x: Any, y: Any, parameters: Any) -> Any:
        length, amplitude, noise = (xp.exp(parameters[k]) for k in range(3))
        n = x.shape[0]
        squares = (x * x).sum(1)
        apart = squares[:, None] + squares[None, :] - 2.0 * (x @ x.T)
        kernel = amplitude * xp.exp(-0.5 * apart / length**2) + noise * xp.eye(n, dtype=x.dtype)
        factor = cholesky(kernel)
        white = solve_lower(factor, y[:, None])
        return -0.5 * (white * white).sum() - xp.log(diagonal(factor)).sum() - 0.5 * n * math.log(2 * math.pi)

    return likelihood


def tracejit_candidates() -> dict[str, Candidate]:
    import tracejit as tj

    likelihood = likelihood_of(tj.numpy, tj.linalg.cholesky, tj.linalg.triangular_solve, tj.linalg.diag_part)

    def bound(f: Callable[..., Any], *arguments: np.ndarray) -> Candidate:
        compiled = tj.function(f)
        return lambda: compiled(*arguments)

    by_kind = {
        "Cholesky": lambda a: tj.linalg.cholesky(a),
        "solve": lambda a, b: tj.linalg.solve(a, b),
        "triangular solve": lambda a, b: tj.linalg.triangular_solve(a, b),
        "inverse": lambda a: tj.linalg.inv(a),
        "determinant": lambda a: tj.linalg.det(a),
        "QR": lambda a: tj.linalg.qr(a),
    }
    return candidates(lambda x, y, p: tj.value_and_grad(likelihood, 2)(x, y, p), by_kind, bound)


def numpy_candidates() -> dict[str, Candidate]:
    """Return calls of SciPy where there is one matrix, without its checks, and of NumPy where there are many."""
    from scipy import linalg

    def likelihood(x: np.ndarray, y: np.ndarray, parameters: np.ndarray) -> Any:
        length, amplitude, noise = np.exp(parameters)
        squares = (x * x).sum(1)
        apart = squares[:, None] + squares[None, :] - 2.0 * (x @ x.T)
        apart *= -0.5 / length**2
        smooth = np.exp(apart)
        smooth *= amplitude
        kernel = smooth.copy()
        kernel.flat[:: len(x) + 1] += noise
        factor, _ = linalg.lapack.dpotrf(kernel.T, lower=1, overwrite_a=1)
        weights, _ = linalg.lapack.dpotrs(factor, y, lower=1)
        value = -0.5 * y @ weights - np.log(np.diag(factor)).sum() - 0.5 * len(x) * math.log(2 * math.pi)
        inverse, _ = linalg.lapack.dpotri(factor, lower=1)  # its lower triangle
        trace = np.trace(inverse)
        doubled = np.tril(inverse, -1) * 2.0
        doubled.flat[:: len(x) + 1] = np.diag(inverse)
        by_amplitude = 0.5 * (weights @ (smooth @ weights) - np.vdot(doubled, smooth))
        apart *= smooth
        by_length = -0.5 * 2.0 * (weights @ (apart @ weights) - np.vdot(doubled, apart))
        return value, np.array([by_length, by_amplitude, 0.5 * noise * (weights @ weights - trace)])

    def single(f: Callable[..., Any], many: Callable[..., Any]) -> Callable[..., Any]:
        return lambda a, *b: many(a, *b) if a.ndim == 3 else f(a, *b)

    by_kind = {
        "Cholesky": single(lambda a: linalg.cholesky(a, lower=True, check_finite=False), np.linalg.cholesky),
        "solve": single(lambda a, b: linalg.solve(a, b, check_finite=False), np.linalg.solve),
        "triangular solve": single(
            lambda a, b: linalg.solve_triangular(a, b, lower=True, check_finite=False),
            lambda a, b: np.linalg.solve(np.tril(a), b),
        ),
        "inverse": single(lambda a: linalg.inv(a, check_finite=False), np.linalg.inv),
        "determinant": single(lambda a: np.asarray(linalg.det(a, check_finite=False)), np.linalg.det),
        "QR": lambda a: linalg.qr(a, mode="economic", check_finite=False),
    }
    return candidates(likelihood, by_kind, lambda f, *arguments: lambda: f(*arguments))


def jax_candidates() -> dict[str, Candidate]:
    from benchmarks.peers import jax, jitted

    jnp, linalg = jax.numpy, jax.scipy.linalg
    lower = lambda a, b: linalg.solve_triangular(a, b, lower=True)
    likelihood = likelihood_of(jnp, jnp.linalg.cholesky, lower, jnp.diagonal)
    by_kind = {
        "Cholesky": jnp.linalg.cholesky,
        "solve": jnp.linalg.solve,
        "triangular solve": lower,
        "inverse": jnp.linalg.inv,
        "determinant": jnp.linalg.det,
        "QR": jnp.linalg.qr,
    }
    return candidates(jax.value_and_grad(likelihood, 2), by_kind, jitted)


def torch_candidates() -> dict[str, Candidate]:
    import torch

    lower = lambda a, b: torch.linalg.solve_triangular(a, b, upper=False)
    likelihood = likelihood_of(torch, torch.linalg.cholesky, lower, torch.diagonal)

    def with_gradient(x: Any, y: Any, parameters: Any) -> Any:
        leaf = parameters.clone().requires_grad_()
        value = likelihood(x, y, leaf)
        return value.detach(), torch.autograd.grad(value, leaf)[0]

    def bound(f: Callable[..., Any], *arguments: np.ndarray) -> Candidate:
        placed = [torch.from_numpy(a) for a in arguments]
        return lambda: f(*placed)

    by_kind = {
        "Cholesky": torch.linalg.cholesky,
        "solve": torch.linalg.solve,
        "triangular solve": lower,
        "inverse": torch.linalg.inv,
        "determinant": torch.linalg.det,
        "QR": torch.linalg.qr,
    }
    return candidates(with_gradient, by_kind, bound)
