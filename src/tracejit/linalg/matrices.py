"""Inverses, determinants and factors of matrices in the last two axes; leading axes are a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..arrays.cutting import common_shape
from ..core.dim import product
from ..core.errors import ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from ..frontend.transforms.vectorize import vmap
from ..ops.linalg.factors import identity_of
from ..ops.linalg.products import swapped


def of_matrices(f: Callable[..., Any], *inputs: Any) -> Any:
    """`f` of one matrix each, or of each in the leading axes, which broadcast."""
    tensors = [as_tensor(x) for x in inputs]
    if any(len(x.shape) < 2 for x in tensors):
        shown = " and ".join(str(x.spec) for x in tensors)
        raise ShapeError(f"takes matrices, got {shown}{at(user_location())}")
    lead = common_shape(*(x.shape[:-2] for x in tensors))
    if not lead:
        return f(*tensors)
    spread = [ops.broadcast_to(x, shape=(*lead, *x.shape[-2:])) for x in tensors]
    flat = [ops.reshape(x, shape=(product(lead), *x.shape[-2:])) for x in spread]
    results = vmap(f)(*flat)
    many = results if isinstance(results, tuple) else (results,)
    shaped = tuple([ops.reshape(y, shape=(*lead, *y.shape[1:])) for y in many])
    return shaped if isinstance(results, tuple) else shaped[0]


def inv(input: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """The inverse of the square matrices in `input`, ``(..., n, n)``, floats; of their adjoints with `adjoint`.

    Raises
    ------
    RuntimeError
        Where a matrix is singular.
    ShapeError
        Where one is not square.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.linalg.inv([[2.0, 0.0], [0.0, 4.0]]))
    tf.Tensor(
    [[0.5  0.  ]
     [0.   0.25]], shape=(2, 2), dtype=float32)
    """
    x = as_tensor(input)
    return of_matrices(ops.inverse, swapped(x) if adjoint else x)


def solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """The `x` with ``matrix @ x = rhs``, for square matrices; with `adjoint` of their conjugate transposes.

    Raises
    ------
    RuntimeError
        Where a matrix is singular.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.linalg.solve([[2.0, 0.0], [0.0, 4.0]], [[2.0], [2.0]]))
    tf.Tensor(
    [[1. ]
     [0.5]], shape=(2, 1), dtype=float32)
    """
    return of_matrices(lambda a, b: ops.solve(a, b, adjoint=adjoint), matrix, rhs)


def triangular_solve(
    matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """The `x` with ``matrix @ x = rhs``, reading the `lower` (or upper) triangle of the matrices alone.

    With `adjoint` that of the conjugate transposes; `matrix` is ``(..., n, n)``, `rhs` ``(..., n, k)``, of floats.
    ShapeError where sizes do not fit, RuntimeError for a singular matrix.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.linalg.triangular_solve([[2.0, 0.0], [1.0, 1.0]], [[4.0], [3.0]]))
    tf.Tensor(
    [[2.]
     [1.]], shape=(2, 1), dtype=float32)
    """
    return of_matrices(lambda a, b: ops.triangular_solve(a, b, lower=lower, adjoint=adjoint), matrix, rhs)


def det(input: Any, name: str | None = None) -> Tensor:
    """The determinant of the square matrices `input`, ``(..., n, n)``, of floats.

    ShapeError for matrices that are not square.

    Examples
    --------
    >>> import tracejit as tf
    >>> float(tf.linalg.det([[2.0, 0.0], [0.0, 4.0]]))
    8.0
    """
    return of_matrices(ops.det, input)


class LogMatrixDeterminant(NamedTuple):
    """The sign of determinants, and the logarithms of their sizes."""

    sign: Tensor
    log_abs_determinant: Tensor


def slogdet(input: Any, name: str | None = None) -> LogMatrixDeterminant:
    """The sign of the determinant of the real square matrices `input`, and the logarithm of its size: no overflow.

    ShapeError for matrices that are not square.

    Examples
    --------
    >>> import tracejit as tf
    >>> print([x.numpy() for x in tf.linalg.slogdet([[2.0, 0.0], [0.0, 3.0]])])
    [np.float32(1.0), np.float32(1.7917595)]
    """
    return LogMatrixDeterminant(*of_matrices(ops.slogdet, input))


def logdet(matrix: Any, name: str | None = None) -> Tensor:
    """The logarithm of the determinant of the positive definite matrices `matrix`, ``(..., n, n)``, of floats.

    ShapeError for matrices that are not square, DtypeError for integers and complex numbers.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.linalg.logdet([[2.0, 0.0], [0.0, 3.0]]))
    tf.Tensor(1.7917595, shape=(), dtype=float32)
    """
    return slogdet(matrix)[1]


def cholesky_solve(chol: Any, rhs: Any, name: str | None = None) -> Tensor:
    """The `x` with ``A @ x = rhs``, for ``A = chol @ chol.T`` given by its factor, see :func:`cholesky`.

    `chol` is ``(..., n, n)``, `rhs` ``(..., n, k)``, of floats. ShapeError where sizes do not fit.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.linalg.cholesky_solve([[2.0, 0.0], [0.0, 1.0]], [[4.0], [3.0]]))
    tf.Tensor(
    [[1.]
     [3.]], shape=(2, 1), dtype=float32)
    """
    return of_matrices(_by_factor, chol, rhs)


def lstsq(
    matrix: Any, rhs: Any, l2_regularizer: float = 0.0, fast: bool = True, name: str | None = None
) -> Tensor:
    """The `x` for which ``matrix @ x`` is nearest to `rhs`, by the normal equations.

    Parameters
    ----------
    matrix, rhs : tensor-like of real floats
        Matrices of full rank in the last two axes. With fewer rows than columns the smallest `x` is found.
    l2_regularizer : float
        What the squares of `x` count beside those of the rest.
    fast : bool
        Accepted; the normal equations are used in any case.

    Raises
    ------
    RuntimeError
        Where a matrix has not full rank.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.linalg.lstsq([[1.0], [1.0]], [[1.0], [3.0]]))
    tf.Tensor([[2.]], shape=(1, 1), dtype=float32)
    """
    return of_matrices(lambda a, b: _least_squares(a, b, l2_regularizer), matrix, rhs)


def _least_squares(a: Any, b: Any, regularizer: Any) -> Any:
    turned = swapped(a)
    rows, columns = a.shape
    few = rows < columns
    whole = ops.matmul(a, turned) if few else ops.matmul(turned, a)
    whole = whole + ops.cast(regularizer, dtype=a.dtype) * identity_of(whole)
    factor = ops.cholesky(whole)
    if few:
        return ops.matmul(turned, _by_factor(factor, b))
    return _by_factor(factor, ops.matmul(turned, b))


def _by_factor(factor: Any, b: Any) -> Any:
    return ops.triangular_solve(factor, ops.triangular_solve(factor, b), adjoint=True)


def cholesky(input: Any, name: str | None = None) -> Tensor:
    """The lower triangular L with ``L @ L.T`` the symmetric positive definite `input`, ``(..., n, n)``, of floats.

    The upper triangle is not read; the gradient is symmetric: right for symmetric changes.

    Raises
    ------
    RuntimeError
        Where a matrix is not positive definite.
    ShapeError
        Where one is not square.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.linalg.cholesky([[4.0, 2.0], [2.0, 2.0]]))
    tf.Tensor(
    [[2. 0.]
     [1. 1.]], shape=(2, 2), dtype=float32)
    """
    return of_matrices(ops.cholesky, input)
