"""Of ``numpy.linalg`` what follows from singular values, eigenvalues and orthonormal columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core.errors import at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..linalg import spectral
from ..ops.arrays.shape import expand_dims, stack
from ..ops.elementwise.arithmetic import matched
from ..ops.linalg.products import squared_sizes
from . import products, reductions
from .conversion import array, arrays, wide_floats


class SVDResult(NamedTuple):
    """The factors ``U @ diag(S) @ Vh``."""

    U: Tensor
    S: Tensor
    Vh: Tensor


class EigResult(NamedTuple):
    """Eigenvalues, and eigenvectors as columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """The factors ``Q @ R``."""

    Q: Tensor
    R: Tensor


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """U, the singular values in descending order, and V^H, of the matrices ``(..., m, n)`` in `a`; floats or complex.

    U and V^H are square unless `full_matrices` is false; vectors beyond the first ``min(m, n)`` have no derivative. The
    values alone, real, unless `compute_uv`. ShapeError for vectors, DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> u, s, vh = tnp.linalg.svd([[3.0, 0.0, 0.0], [0.0, 2.0, 0.0]], full_matrices=False)
    >>> print(u.shape, s.numpy(), vh.shape)
    (2, 2) [3. 2.] (2, 3)
    """
    found = ops.svd(wide_floats(a), full_matrices=full_matrices and compute_uv)
    return SVDResult(*found) if compute_uv else found[1]


def svdvals(x: Any, /) -> Tensor:
    """The singular values of matrices in `x`, descending, real, ``(..., min(m, n))``; ShapeError for vectors.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.linalg.svdvals([[0.0, 3.0], [2.0, 0.0]]))
    tf.Tensor([3. 2.], shape=(2,), dtype=float64)
    """
    return svd(x, compute_uv=False)


def eigh(a: Any, UPLO: str = "L") -> EigResult:
    """Eigenvalues, ascending and real, and eigenvectors of the symmetric or Hermitian matrices ``(..., n, n)`` in `a`.

    The lower triangle is read and has the gradient, or the upper one if `UPLO` is "U". ValueError for another,
    ShapeError for matrices that are not square.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.linalg.eigh([[2.0, 0.0], [0.0, 3.0]]).eigenvalues)
    tf.Tensor([2. 3.], shape=(2,), dtype=float64)
    """
    if UPLO not in ("L", "U", "l", "u"):
        raise ValueError(f"UPLO is 'L' or 'U', got {UPLO!r}{at(user_location())}")
    return EigResult(*ops.eigh(wide_floats(a), lower=UPLO in "Ll"))


def eigvalsh(a: Any, UPLO: str = "L") -> Tensor:
    """The values of :func:`eigh` of `a`, with its `UPLO`: real floats ``(..., n)``; ValueError, ShapeError as there.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.linalg.eigvalsh([[2.0, 0.0], [0.0, 1.0]]))
    tf.Tensor([1. 2.], shape=(2,), dtype=float64)
    """
    return eigh(a, UPLO).eigenvalues


def eig(a: Any) -> EigResult:
    """Eigenvalues and eigenvectors of length 1 of the square matrices in `a`, complex whatever their values.

    ShapeError for matrices that are not square.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.linalg.eig([[2.0, 0.0], [0.0, 3.0]]).eigenvalues)
    tf.Tensor([2.+0.j 3.+0.j], shape=(2,), dtype=complex128)
    """
    return EigResult(*spectral.eig(wide_floats(a)))


def eigvals(a: Any) -> Tensor:
    """The values of :func:`eig` of `a`, complex, ``(..., n)``; ShapeError for matrices that are not square.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.linalg.eigvals([[2.0, 0.0], [0.0, 3.0]]))
    tf.Tensor([2.+0.j 3.+0.j], shape=(2,), dtype=complex128)
    """
    return eig(a).eigenvalues


def qr(a: Any, mode: str = "reduced") -> Any:
    """Q with orthonormal columns and the upper triangular R with ``Q @ R = a``, of matrices ``(..., m, n)``, as floats.

    `mode` is "reduced", "complete" for a square Q, or "r" for R alone. ValueError for others, ShapeError for vectors.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> q, r = tnp.linalg.qr([[3.0, 1.0], [4.0, 2.0], [0.0, 1.0]])
    >>> print(q.shape, r.shape, bool(tnp.allclose(q.T @ q, tnp.eye(2))))
    (3, 2) (2, 2) True
    """
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"mode is 'reduced', 'complete' or 'r', got {mode!r}{at(user_location())}")
    factors = QRResult(*spectral.qr(wide_floats(a), mode == "complete"))
    return factors.R if mode == "r" else factors


def pinv(a: Any, rcond: Any = None, *, rtol: Any = None) -> Tensor:
    """The pseudoinverse ``(..., n, m)`` of the matrices in `a`, as floats; the derivative is that which keeps the rank.

    Singular values below `rcond`, or `rtol`, times the largest one count as 0. ShapeError for vectors.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.linalg.pinv([[2.0, 0.0], [0.0, 0.0]]))
    tf.Tensor(
    [[0.5 0. ]
     [0.  0. ]], shape=(2, 2), dtype=float64)
    """
    least = rcond if rtol is None else rtol
    x = wide_floats(a)
    if least is None or np.ndim(least) == 0:
        return ops.pinv(x, rcond=None if least is None else float(least))
    limits = np.broadcast_to(np.asarray(least), x.shape[:-2])
    flat = ops.reshape(x, shape=(limits.size, *x.shape[-2:]))
    if limits.size == 0:
        return ops.fill(shape=(*x.shape[:-2], x.shape[-1], x.shape[-2]), value=0, dtype=x.np_dtype)
    found = [ops.pinv(m, rcond=float(r)) for m, r in zip(flat, limits.ravel(), strict=True)]
    return ops.reshape(stack(found), shape=(*x.shape[:-2], x.shape[-1], x.shape[-2]))


def matrix_rank(A: Any, tol: Any = None, *, rtol: Any = None) -> Tensor:
    """How many singular values of the matrices in `A` are more than `tol`, or than `rtol` times the largest; int64.

    Of a vector 1 if an element is not 0. The default is what rounding leaves. DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]]))
    tf.Tensor(1, shape=(), dtype=int64)
    """
    x = wide_floats(A)
    if len(x.shape) < 2:
        return ops.cast(reductions.any(ops.not_equal(x, 0)), dtype=np.dtype(np.int64))
    values = ops.stop_gradient(svdvals(x))
    if tol is None:
        part = np.finfo(values.dtype).eps * max(x.shape[-2:]) if rtol is None else rtol
        largest = reductions.max(values, -1, keepdims=True, initial=0.0)
        limit = ops.multiply(largest, ops.cast(expand_dims(array(part), -1), dtype=values.dtype))
    else:
        limit = expand_dims(array(tol), -1)
    return reductions.count_nonzero(ops.greater(*arrays(values, limit)), -1)


class LstsqResult(NamedTuple):
    """What solves best, the sums of squares that remain, the rank and the singular values."""

    x: Tensor
    residuals: Tensor
    rank: Tensor
    s: Tensor


def lstsq(a: Any, b: Any, rcond: float | None = None) -> LstsqResult:
    """The `x` for which ``a @ x`` is nearest to `b`, the smallest of them, by the pseudoinverse; floats.

    Parameters
    ----------
    a : tensor-like, ``(m, n)``
    b : tensor-like, ``(m,)`` or ``(m, k)``
    rcond : float, optional
        Singular values below that part of the largest one count as 0; by default what rounding leaves.

    Returns
    -------
    LstsqResult
        ``x``, the sums of squares of ``b - a @ x`` where the rank is full and there are more rows than columns (else
        empty), the rank and the singular values.

    Raises
    ------
    ShapeError
        Where sizes do not fit.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> found = tnp.linalg.lstsq([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [1.0, 3.0, 5.0])
    >>> print(tnp.round(found.x, 6), int(found.rank))
    tf.Tensor([1. 2.], shape=(2,), dtype=float64) 2
    """
    a, b = map(wide_floats, arrays(a, b))
    a, b = matched((a, b), {})[0]
    least = None if rcond is None or rcond < 0 else float(rcond)
    x = products.matmul(ops.pinv(a, rcond=least), b)
    rank = matrix_rank(a, rtol=least)
    m, n = a.shape
    if m > n and (rank.is_symbolic or int(rank.array) == n):
        residuals = reductions.sum(squared_sizes(b - products.matmul(a, x)), 0)
    else:
        residuals = array(np.zeros(0, ops.abs(a).dtype))
    return LstsqResult(x, residuals if len(residuals.shape) else expand_dims(residuals, 0), rank, svdvals(a))
