"""SciPy's functions of matrices: those that NumPy does not have, and those it spells otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays.cutting import pad
from ..core.dim import known
from ..core.errors import ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from ..linalg import matrices, roots
from ..numpy.conversion import array, floats, two_floats
from ..numpy.linalg import cholesky as lower_factor
from ..numpy.linalg import det, expm, inv
from ..numpy.products import kron
from ..numpy.shapes import tril, triu
from ..numpy.spectra import svdvals
from ..ops.elementwise.arithmetic import matched
from ..ops.linalg.factors import identity_of
from ..ops.linalg.products import swapped, turned
from ._factors import eigh, eigvalsh, expm_frechet, lu, lu_factor, lu_solve, polar, qr, svd
from ._patterns import (
    circulant,
    companion,
    convolution_matrix,
    dft,
    hadamard,
    hankel,
    hilbert,
    leslie,
    toeplitz,
)

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "circulant",
    "companion",
    "convolution_matrix",
    "det",
    "dft",
    "eigh",
    "eigvalsh",
    "expm",
    "expm_frechet",
    "hadamard",
    "hankel",
    "hilbert",
    "inv",
    "leslie",
    "logm",
    "lu",
    "lu_factor",
    "lu_solve",
    "polar",
    "qr",
    "solve",
    "solve_banded",
    "solve_sylvester",
    "solve_triangular",
    "sqrtm",
    "svd",
    "svdvals",
    "toeplitz",
]


def _square(x: Any) -> Tensor:
    x = floats(x)
    if len(x.shape) < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"takes square matrices, got {x.spec}{at(user_location())}")
    return x


def solve(a: Any, b: Any, lower: bool = False, *, assume_a: str | None = None) -> Tensor:
    """The `x` with ``a @ x = b``: `a` ``(n, n)``, `b` ``(n,)`` or ``(n, k)``, promoted; integers as float64.

    With `assume_a` "sym", "her" or "pos" only the upper triangle of `a` is read, or the `lower` one: of a symmetric, a
    Hermitian or a positive definite matrix. Others are general matrices; ValueError for what is neither "gen" nor None.
    RuntimeError where `a` is singular or not as assumed, ShapeError where sizes do not fit.

    Examples
    --------
    >>> from tracejit.scipy import linalg
    >>> print(linalg.solve([[2.0, 0.0], [1.0, 1.0]], [2.0, 3.0]))
    tf.Tensor([1. 2.], shape=(2,), dtype=float64)
    """
    if assume_a not in (None, "gen", "sym", "her", "pos"):
        raise ValueError(f"assume_a is gen, sym, her or pos, got {assume_a!r}{at(user_location())}")
    x, y = two_floats(a, b)
    x = _square(x)
    if assume_a not in (None, "gen"):
        half: Any = tril(x, -1) if lower else triu(x, 1)
        diagonal: Any = (
            x if assume_a == "sym" or x.dtype.kind != "c" else ops.cast(ops.real(x), dtype=x.np_dtype)
        )
        diagonal = ops.where(ops.equal(identity_of(x), 1), diagonal, half)
        x = diagonal + (turned if assume_a == "sym" else swapped)(half)
    if assume_a == "pos":
        return cho_solve((cholesky(x, True), True), y)
    return _of_columns(matrices.solve, x, y)


def _of_columns(f: Any, a: Any, b: Any) -> Any:
    """``f(a, b)`` for a vector or a matrix `b`."""
    if len(b.shape) != 1:
        return f(a, b)
    return ops.reshape(f(a, ops.reshape(b, shape=(*b.shape, 1))), shape=b.shape)


def solve_triangular(
    a: Any, b: Any, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False
) -> Tensor:
    """The `x` with ``a @ x = b``, of the upper triangle of `a` ``(n, n)``, or with `lower` of the lower one.

    Parameters
    ----------
    a, b : tensor-like
        `b` is ``(n,)`` or ``(n, k)``.
    trans : 0, 1, 2, "N", "T" or "C"
        1 solves for the transpose of `a`, 2 for its conjugate transpose.
    lower : bool
        Elements of `a` on the other side of the diagonal do not count.
    unit_diagonal : bool
        Take the diagonal as ones, whatever it holds.

    Returns
    -------
    Tensor
        Of the shape of `b`, floats.

    Raises
    ------
    RuntimeError
        A zero on the diagonal.
    ShapeError, ValueError
        Sizes that do not fit, another `trans`.

    Examples
    --------
    >>> from tracejit.scipy import linalg
    >>> print(linalg.solve_triangular([[2.0, 0.0], [1.0, 1.0]], [2.0, 3.0], lower=True))
    tf.Tensor([1. 2.], shape=(2,), dtype=float64)
    """
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise ValueError(f"trans is 0, 1, 2, N, T or C, got {trans!r}{at(user_location())}")
    x, y = two_floats(a, b)
    x = _square(x)
    if unit_diagonal:
        unit: Any = identity_of(x)
        x = ops.where(ops.equal(unit, 1), unit, x)
    if trans not in (0, "N"):
        x, lower = (turned if trans in (1, "T") else swapped)(x), not lower
    return _of_columns(lambda m, v: matrices.triangular_solve(m, v, lower=lower), x, y)


def cholesky(a: Any, lower: bool = False) -> Tensor:
    """The triangular factor of positive definite `a` ``(..., n, n)``: upper `u` with ``u.T @ u = a``, or the `lower`.

    Floats or complex numbers. RuntimeError where `a` is not positive definite, ShapeError where it is not square.

    Examples
    --------
    >>> from tracejit.scipy import linalg
    >>> print(linalg.cholesky([[4.0, 2.0], [2.0, 5.0]]))
    tf.Tensor(
    [[2. 1.]
     [0. 2.]], shape=(2, 2), dtype=float64)
    """
    factor = lower_factor(_square(a))
    return factor if lower else swapped(factor)


def cho_factor(a: Any, lower: bool = False) -> tuple[Tensor, bool]:
    """The factor of a matrix `a` ``(n, n)`` that :func:`cholesky` finds, and `lower`: what :func:`cho_solve` takes.

    Floats or complex numbers of the shape of `a`; the other triangle is zero. RuntimeError where `a` is not
    positive definite.

    Examples
    --------
    >>> from tracejit.scipy import linalg
    >>> factor, lower = linalg.cho_factor([[4.0, 0.0], [0.0, 9.0]])
    >>> print(factor.numpy().tolist(), lower)
    [[2.0, 0.0], [0.0, 3.0]] False
    """
    return cholesky(a, lower), lower


def cho_solve(c_and_lower: tuple[Any, bool], b: Any) -> Tensor:
    """The `x` with ``a @ x = b`` for the `a` that :func:`cho_factor` made `c_and_lower` of; `b` ``(n,)`` or ``(n, k)``.

    Floats; ShapeError where sizes do not fit.

    Examples
    --------
    >>> from tracejit.scipy import linalg
    >>> print(linalg.cho_solve(linalg.cho_factor([[4.0, 0.0], [0.0, 2.0]]), [2.0, 1.0]))
    tf.Tensor([0.5 0.5], shape=(2,), dtype=float64)
    """
    factor, lower = c_and_lower
    first, second = (0, 2) if lower else (2, 0)
    return solve_triangular(factor, solve_triangular(factor, b, first, lower), second, lower)


def block_diag(*arrs: Any) -> Tensor:
    """The matrices `arrs` along the diagonal of one, zeros elsewhere; vectors are rows, the dtype is the promoted one.

    ShapeError for what has more than two axes.

    Examples
    --------
    >>> from tracejit.scipy import linalg
    >>> print(linalg.block_diag([[1, 2]], [3]))
    tf.Tensor(
    [[1 2 0]
     [0 0 3]], shape=(2, 3), dtype=int64)
    """
    blocks = [ops.reshape(x, shape=(*(1,) * (2 - len(x.shape)), *x.shape)) for x in map(array, arrs or ([],))]
    if any(len(x.shape) != 2 for x in blocks):
        raise ShapeError(f"blocks have at most two axes{at(user_location())}")
    blocks = list(matched(tuple(blocks), {})[0])
    width = sum(known(x.shape[1]) for x in blocks)
    rows, start = [], 0
    for x in blocks:
        end = start + known(x.shape[1])
        rows.append(pad(x, [(0, 0), (start, width - end)]))
        start = end
    return ops.concat(*rows, axis=0)


def solve_banded(l_and_u: Sequence[int], ab: Any, b: Any) -> Tensor:
    """The `x` with ``a @ x = b`` for a matrix `a` of diagonals, worked out in full: the cost is that of all elements.

    Parameters
    ----------
    l_and_u : pair of int
        How many diagonals there are below the main one, and above.
    ab : tensor-like
        The diagonals as rows ``(l + u + 1, n)``, the uppermost first: ``a[i, j]`` is ``ab[u + i - j, j]``.
    b : tensor-like
        ``(n,)`` or ``(n, k)``.

    Returns
    -------
    Tensor
        Of the shape of `b`, floats.

    Raises
    ------
    RuntimeError
        Where `a` is singular.
    ShapeError
        Where the number of rows or sizes do not fit.

    Examples
    --------
    >>> from tracejit.scipy import linalg
    >>> print(linalg.solve_banded((0, 1), [[0.0, 1.0], [2.0, 1.0]], [4.0, 2.0]))
    tf.Tensor([1. 2.], shape=(2,), dtype=float64)
    """
    below, above = (int(k) for k in l_and_u)
    rows, y = two_floats(ab, b)
    if len(rows.shape) != 2 or known(rows.shape[0]) != below + above + 1:
        raise ShapeError(
            f"{below} diagonals below and {above} above need {below + above + 1} rows, got {rows.spec}"
            f"{at(user_location())}"
        )
    n = known(rows.shape[1])
    place = np.arange(n)
    row = above + place[:, None] - place
    inside = (row >= 0) & (row < below + above + 1)
    flat = np.where(inside, row, 0) * n + place
    whole = ops.gather(ops.reshape(rows, shape=(known(rows.shape[0]) * n,)), flat, axis=0)
    return solve(ops.where(as_tensor(inside), whole, 0.0), y)


def solve_sylvester(a: Any, b: Any, q: Any) -> Tensor:
    """The `x` with ``a @ x + x @ b = q``: `a` ``(m, m)``, `b` ``(n, n)``, `q` and `x` ``(m, n)``, floats or complex.

    One system of ``m n`` equations, whose cost grows with its third power: for matrices of up to some tens of rows.
    RuntimeError where an eigenvalue of `a` is one of ``-b``, ShapeError where sizes do not fit.

    Examples
    --------
    >>> from tracejit.scipy import linalg
    >>> print(linalg.solve_sylvester([[1.0]], [[3.0]], [[8.0]]))
    tf.Tensor([[2.]], shape=(1, 1), dtype=float64)
    """
    x, y = (_square(m) for m in two_floats(a, b))
    (x, y, z), _ = matched((x, y, floats(q)), {})
    if z.shape != (x.shape[-1], y.shape[-1]):
        raise ShapeError(f"{x.spec} and {y.spec} do not go with {z.spec}{at(user_location())}")
    equations: Any = kron(x, identity_of(y)) + kron(identity_of(x), turned(y))
    return ops.reshape(solve(equations, ops.reshape(z, shape=(z.spec.size,))), shape=z.shape)


def logm(A: Any) -> Tensor:
    """The principal logarithm of matrices `A` ``(..., n, n)``, see :func:`tracejit.linalg.logm`; integers as float64.

    Raises
    ------
    RuntimeError
        For singular matrices, and those with negative eigenvalues, complex ones too.
    ShapeError
        Where `A` is not square.

    Examples
    --------
    >>> from tracejit.scipy import linalg
    >>> print(linalg.logm([[1.0, 0.0], [0.0, 1.0]]).numpy().round(6).tolist())
    [[0.0, 0.0], [0.0, 0.0]]
    """
    return roots.logm(_square(A))


# ---- square roots ---------------------------------------------------------------------------------------


def sqrtm(A: Any) -> Tensor:
    """The principal square root of matrices `A` ``(..., n, n)``, as :func:`tracejit.linalg.sqrtm`; integers as float64.

    Of real matrices it is real. Derivatives are those of any order.

    Raises
    ------
    RuntimeError
        For singular matrices, and those with negative eigenvalues, complex ones too.
    ShapeError
        Where `A` is not square.

    Examples
    --------
    >>> from tracejit.scipy import linalg
    >>> print(linalg.sqrtm([[4.0, 0.0], [0.0, 9.0]]))
    tf.Tensor(
    [[2. 0.]
     [0. 3.]], shape=(2, 2), dtype=float64)
    """
    return roots.sqrtm(_square(A))
