"""NumPy references of the dense linear algebra kernels; failures are returned as a status.

A state is 0; the number, from 1, of the pivot at which a matrix cannot be factored; or -1 where it is lost to a NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

INT64 = np.dtype(np.int64)
LEAST_SYMMETRIC = 256
"""Rows from which it is worth looking whether a matrix is symmetric and positive definite."""


def _state(number: int) -> np.ndarray:
    return np.asarray(number, INT64)


def cholesky(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The factor, NaN where the lower triangle is not finite, and the state."""
    if not np.isfinite(np.tril(a)).all():
        return np.tril(np.full(a.shape, np.nan, a.dtype)), _state(0)
    try:
        return np.linalg.cholesky(a), _state(0)
    except np.linalg.LinAlgError:
        return np.zeros_like(a), _state(1)


def triangular(t: np.ndarray, b: np.ndarray, upper: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """``T X = B`` for the triangle of `t`; all NaN where that has one."""
    part = np.triu(t) if upper else np.tril(t)
    if np.isnan(part).any():
        return np.full(b.shape, np.nan, b.dtype), _state(0)
    missing = np.flatnonzero(np.diagonal(part) == 0)
    if missing.size:
        return np.full(b.shape, np.nan, b.dtype), _state(int(missing[0]) + 1)
    return np.linalg.solve(part, b), _state(0)


def _by_cholesky(a: np.ndarray) -> np.ndarray | None:
    """L and U in one matrix from the Cholesky factor of a matrix that has one; None for others."""
    if len(a) < LEAST_SYMMETRIC or not (a == a.T).all() or not (np.diagonal(a) > 0).all():
        return None
    try:
        factor = np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        return None
    roots = np.diagonal(factor)
    if not np.isfinite(roots).all():
        return None
    unit, diagonal = factor / roots, roots * roots
    return np.tril(unit, -1) + np.triu(diagonal[:, None] * unit.T)


def lu(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both factors in one matrix, the row that each row changes places with, and the state.

    Large matrices that have a Cholesky factor exchange no rows.
    """
    n, whole, bad = len(a), np.array(a), 0
    pivots = np.arange(n, dtype=INT64)
    if (symmetric := _by_cholesky(a)) is not None:
        return symmetric, pivots, _state(0)
    with np.errstate(all="ignore"):
        for k in range(n):
            size = np.abs(whole[k:, k])
            pivots[k] = best = k + int(np.argmax(np.where(np.isnan(size), np.inf, size)))
            whole[[k, best]] = whole[[best, k]]
            if whole[k, k] == 0:
                bad = bad or k + 1
                continue
            whole[k + 1 :, k] /= whole[k, k]
            whole[k + 1 :, k + 1 :] -= np.multiply.outer(whole[k + 1 :, k], whole[k, k + 1 :])
    return whole, pivots, _state(-1 if np.isnan(a).any() else bad)


def lu_solve(
    factors: np.ndarray, pivots: np.ndarray, state: np.ndarray, b: np.ndarray, transposed: int = 0
) -> np.ndarray:
    """Solutions for the matrix, or its transpose, that was factored."""
    if state != 0:
        return np.full(b.shape, np.nan, b.dtype)
    lower = np.tril(factors, -1) + np.eye(len(factors), dtype=factors.dtype)
    upper, order = np.triu(factors), _order(pivots)
    if not transposed:
        return np.linalg.solve(upper, np.linalg.solve(lower, b[order]))
    x = np.empty_like(b)
    x[order] = np.linalg.solve(lower.T, np.linalg.solve(upper.T, b))
    return x


def lu_inverse(factors: np.ndarray, pivots: np.ndarray, state: np.ndarray) -> np.ndarray:
    """The inverse of the matrix that was factored."""
    return lu_solve(factors, pivots, state, np.eye(len(factors), dtype=factors.dtype))


def _order(pivots: np.ndarray) -> np.ndarray:
    """Where each row came from."""
    order = np.arange(len(pivots))
    for k, other in enumerate(pivots):
        order[[k, other]] = order[[other, k]]
    return order


def qr(a: np.ndarray, columns: int, width: int) -> tuple[np.ndarray, ...]:
    """Q of so many columns, R, and numbers that only the compiler's kernel uses."""
    q, r = np.linalg.qr(np.where(np.isfinite(a), a, 0), "complete")
    return q[:, :columns], r[:columns], np.zeros((min(a.shape), width), a.dtype)


def cholesky_pullback(l: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Murray, Differentiation of the Cholesky decomposition, 2016: L^-T Phi(L^T G) L^-1, made symmetric."""
    upper: Any = np.triu(l.T)
    inner = np.tril(upper @ np.tril(g))
    inner[np.diag_indices_from(inner)] /= 2
    try:
        left = np.linalg.solve(upper, inner)
        whole = np.linalg.solve(upper, left.T)
    except np.linalg.LinAlgError:
        whole = np.full(l.shape, np.nan, l.dtype)
    return (whole + whole.T) / 2
