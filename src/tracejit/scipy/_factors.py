"""Of ``scipy.linalg`` what factors matrices, and what follows from factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.cutting import pad
from ..core.errors import ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..linalg import matrices, roots
from ..numpy import linalg, spectra
from ..numpy.conversion import two_floats, wide_floats
from ..ops.arrays.shape import expand_dims
from ..ops.elementwise.arithmetic import matched
from ..ops.linalg.products import swapped, turned
from ..ops.linalg.row_exchanges import triangles


def lu(a: Any, permute_l: bool = False, *, p_indices: bool = False) -> tuple[Tensor, ...]:
    """P, L and U with ``P @ L @ U = a``, of matrices `a` ``(..., m, n)``, floats or complex numbers.

    Parameters
    ----------
    a : tensor-like
        Its first ``min(m, n)`` columns must be independent for a derivative, along which the rows keep their order.
    permute_l : bool
        Return ``P @ L`` and U.
    p_indices : bool
        Return instead of P the int64 positions with ``L[P] @ U = a``.

    Returns
    -------
    tuple of Tensor
        P, a permutation, ``(..., m, m)``; L ``(..., m, k)`` with ones on the diagonal; U ``(..., k, n)``.

    Raises
    ------
    ShapeError
        For vectors.
    RuntimeError
        A derivative where a pivot is zero.

    Examples
    --------
    >>> from tracejit.scipy import linalg
    >>> p, l, u = linalg.lu([[1.0, 2.0], [4.0, 4.0]])
    >>> print(p.numpy().tolist(), l.numpy().tolist(), u.numpy().tolist())
    [[0.0, 1.0], [1.0, 0.0]] [[1.0, 0.0], [0.25, 1.0]] [[4.0, 4.0], [0.0, 1.0]]
    """
    x = wide_floats(a)
    packed, _, order = matrices.of_matrices(ops.lu, x)
    low, up = triangles(packed)
    inverse = ops.row_order(order, count=x.shape[-2], inverse=True)
    if permute_l:
        axis = len(x.shape) - 2
        return ops.gather(low, inverse, axis=axis, batch_dims=axis), up
    if p_indices:
        return inverse, low, up
    number = ops.iota(size=x.shape[-2], dtype=np.dtype(np.int64))
    matrix = ops.equal(expand_dims(inverse, -1), number)
    return ops.cast(matrix, dtype=ops.real(x).dtype if x.dtype.kind == "c" else x.dtype), low, up


def lu_factor(a: Any) -> tuple[Tensor, Tensor]:
    """L and U of matrices `a` ``(..., m, n)`` in one, and which row each row changes places with: for :func:`lu_solve`.

    Floats or complex numbers of the shape of `a`, and int32 ``(..., min(m, n))``. ShapeError for vectors, RuntimeError
    for a derivative where a pivot is zero.

    Examples
    --------
    >>> from tracejit.scipy import linalg
    >>> factors, rows = linalg.lu_factor([[1.0, 2.0], [4.0, 4.0]])
    >>> print(factors.numpy().tolist(), rows)
    [[4.0, 4.0], [0.25, 1.0]] tf.Tensor([1 1], shape=(2,), dtype=int32)
    """
    packed, rows, _ = matrices.of_matrices(ops.lu, wide_floats(a))
    return packed, rows


def lu_solve(lu_and_piv: tuple[Any, Any], b: Any, trans: int = 0) -> Tensor:
    """The `x` with ``a @ x = b`` for the `a` of which :func:`lu_factor` made `lu_and_piv`; `b` ``(n,)`` or ``(n, k)``.

    Floats or complex numbers. `trans` 1 solves for the transpose of `a`, 2 for its conjugate transpose; ValueError for
    another. ShapeError where sizes do not fit, RuntimeError where `a` is singular.

    Examples
    --------
    >>> from tracejit.scipy import linalg
    >>> print(linalg.lu_solve(linalg.lu_factor([[1.0, 2.0], [4.0, 4.0]]), [3.0, 8.0]))
    tf.Tensor([1. 1.], shape=(2,), dtype=float64)
    """
    if trans not in (0, 1, 2):
        raise ValueError(f"trans is 0, 1 or 2, got {trans!r}{at(user_location())}")
    (packed, y), _ = matched(two_floats(lu_and_piv[0], b), {})
    if len(packed.shape) != 2 or packed.shape[0] != packed.shape[1] or y.shape[:1] != packed.shape[:1]:
        raise ShapeError(f"{packed.spec} does not go with {y.spec}{at(user_location())}")
    columns: Any = ops.reshape(y, shape=(y.shape[0], -1 if 0 not in y.shape else y.spec.size))
    low, up = triangles(packed)
    order = ops.row_order(lu_and_piv[1], count=packed.shape[0])
    if trans == 0:
        columns = ops.gather(columns, order, axis=0)
        found: Any = matrices.triangular_solve(up, matrices.triangular_solve(low, columns), lower=False)
    else:
        flip = turned if trans == 1 else swapped
        found = matrices.triangular_solve(
            flip(low), matrices.triangular_solve(flip(up), columns), lower=False
        )
        found = ops.gather(found, ops.row_order(order, count=packed.shape[0], inverse=True), axis=0)
    return ops.reshape(found, shape=y.shape)


def qr(a: Any, *, mode: str = "full", pivoting: bool = False) -> tuple[Tensor, ...]:
    """Q with orthonormal columns and the upper triangular R with ``Q @ R = a``, of matrices `a` ``(..., m, n)``.

    Floats or complex numbers. `mode` is "full" for a square Q, whose columns beyond the first n have no derivative,
    "economic", or "r" for ``(R,)``, of the size of `a`. With `pivoting` the int32 numbers P of columns come last, for
    which ``Q @ R = a[..., P]`` and the diagonal of R falls; derivatives keep the order. ValueError for other modes,
    ShapeError for vectors.

    Examples
    --------
    >>> from tracejit.scipy import linalg
    >>> q, r = linalg.qr([[3.0], [4.0]], mode="economic")
    >>> print(q.shape, abs(round(float(r[0, 0]), 12)))
    (2, 1) 5.0
    """
    if mode not in ("full", "economic", "r"):
        raise ValueError(f"mode is 'full', 'economic' or 'r', got {mode!r}{at(user_location())}")
    order: tuple[Tensor, ...] = ()
    if pivoting:
        a = wide_floats(a)
        order = (matrices.of_matrices(ops.column_order, a),)
        axis = len(a.shape) - 2
        a = turned(ops.gather(turned(a), order[0], axis=axis, batch_dims=axis))
    factors = spectra.qr(a, "complete" if mode == "full" else "reduced")
    if mode != "r":
        return factors.Q, factors.R, *order
    rows, k = factors.Q.shape[-2], factors.R.shape[-2]
    return pad(factors.R, [*[(0, 0)] * (len(factors.R.shape) - 2), (0, rows - k), (0, 0)]), *order


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """U, the singular values and V^H of matrices in `a`, see :func:`tracejit.numpy.linalg.svd`; or the values alone.

    U and V^H are square unless `full_matrices` is false; the values alone unless `compute_uv`. ShapeError for vectors.

    Examples
    --------
    >>> from tracejit.scipy import linalg
    >>> print(linalg.svd([[3.0, 0.0], [0.0, 4.0]], compute_uv=False))
    tf.Tensor([4. 3.], shape=(2,), dtype=float64)
    """
    found = spectra.svd(a, full_matrices, compute_uv)
    return tuple(found) if compute_uv else found


def eigh(a: Any, *, lower: bool = True, eigvals_only: bool = False) -> Any:
    """Eigenvalues, ascending, real, and eigenvectors as columns, of symmetric or Hermitian `a` ``(..., n, n)``.

    The `lower` triangle is read and has the gradient, or the upper one. With `eigvals_only` the values alone.
    ShapeError for matrices that are not square.

    Examples
    --------
    >>> from tracejit.scipy import linalg
    >>> print(linalg.eigh([[2.0, 0.0], [0.0, 1.0]], eigvals_only=True))
    tf.Tensor([1. 2.], shape=(2,), dtype=float64)
    """
    found = spectra.eigh(a, "L" if lower else "U")
    return found.eigenvalues if eigvals_only else tuple(found)


def eigvalsh(a: Any, *, lower: bool = True) -> Tensor:
    """The values of :func:`eigh` of `a`, of its `lower` or its upper triangle; ShapeError as there.

    Examples
    --------
    >>> from tracejit.scipy import linalg
    >>> print(linalg.eigvalsh([[2.0, 0.0], [0.0, 1.0]]))
    tf.Tensor([1. 2.], shape=(2,), dtype=float64)
    """
    return eigh(a, lower=lower, eigvals_only=True)


def polar(a: Any, side: str = "right") -> tuple[Tensor, Tensor]:
    """The factors U, with orthonormal columns or rows, and P, positive definite, with ``U @ P = a``: `a` ``(m, n)``.

    With `side` "left" it is ``P @ U = a``. Floats or complex numbers of full rank; U and its derivatives are those of
    ``a`` times the inverse of the square root of ``a^H a``. ValueError for another `side`, RuntimeError where the rank
    is smaller, ShapeError for what is no matrix.

    Examples
    --------
    >>> from tracejit.scipy import linalg
    >>> u, p = linalg.polar([[0.0, -2.0], [3.0, 0.0]])
    >>> print(u.numpy().round(6).tolist(), p.numpy().round(6).tolist())
    [[0.0, -1.0], [1.0, 0.0]] [[3.0, 0.0], [0.0, 2.0]]
    """
    if side not in ("left", "right"):
        raise ValueError(f"side is 'left' or 'right', got {side!r}{at(user_location())}")
    x: Any = wide_floats(a)
    if len(x.shape) != 2:
        raise ShapeError(f"takes a matrix, got {x.spec}{at(user_location())}")
    m, n = x.shape
    tall = m >= n
    other: Any = swapped(x)
    root = roots.sqrtm(ops.matmul(other, x) if tall else ops.matmul(x, other))
    unit: Any = swapped(matrices.solve(root, other)) if tall else matrices.solve(root, x)
    if tall == (side == "right"):
        return unit, root
    whole: Any = ops.matmul(swapped(unit), x) if side == "right" else ops.matmul(x, swapped(unit))
    return unit, whole


def expm_frechet(A: Any, E: Any) -> tuple[Tensor, Tensor]:
    """The exponential of a matrix `A` ``(n, n)``, and its derivative along `E` of the same shape, floats or complex.

    ShapeError where they are not square, or of different sizes.

    Examples
    --------
    >>> from tracejit.scipy import linalg
    >>> value, slope = linalg.expm_frechet([[0.0, 0.0], [0.0, 0.0]], [[1.0, 2.0], [3.0, 4.0]])
    >>> print(value.numpy().round(12).tolist(), slope.numpy().round(12).tolist())
    [[1.0, 0.0], [0.0, 1.0]] [[1.0, 2.0], [3.0, 4.0]]
    """
    x, way = (wide_floats(v) for v in (A, E))
    (x, way), _ = matched((x, way), {})
    if len(x.shape) != 2 or x.shape[0] != x.shape[1] or x.shape != way.shape:
        raise ShapeError(
            f"takes two square matrices of one size, got {x.spec} and {way.spec}{at(user_location())}"
        )
    n = x.shape[0]
    upper = ops.concat(x, way, axis=1)
    lower = ops.concat(ops.fill(shape=x.shape, value=0, dtype=x.np_dtype), x, axis=1)
    found: Any = linalg.expm(ops.concat(upper, lower, axis=0))
    return found[:n, :n], found[:n, n:]
