"""Singular values, eigenvalues, QR factors, pseudoinverses and exponentials of matrices in the last two axes.

Where a derivative does not exist it is infinite or NaN: of vectors that belong to equal values. Complex vectors have
phases that LAPACK chooses: a gradient through what depends on them is a RuntimeError.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.op import ops
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from ..ops.arrays.shape import expand_dims
from ..ops.linalg.products import swapped
from .matrices import of_matrices


def svd(tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None) -> Any:
    """The singular values of matrices in descending order, and the vectors U and V with ``U @ diag(s) @ V^H = tensor``.

    Parameters
    ----------
    tensor : tensor-like, ``(..., m, n)``, floats or complex numbers
    full_matrices : bool
        Make U and V square; vectors beyond the first ``min(m, n)`` have no derivative.
    compute_uv : bool
        Otherwise the values alone are returned.

    Returns
    -------
    tuple of Tensor
        The values, ``(..., min(m, n))``, real; U; V.

    Raises
    ------
    ShapeError
        For vectors.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.linalg.svd([[3.0, 0.0], [0.0, 4.0]], compute_uv=False))
    tf.Tensor([4. 3.], shape=(2,), dtype=float32)
    """
    u, s, vh = ops.svd(as_tensor(tensor), full_matrices=full_matrices)
    return (s, u, swapped(vh)) if compute_uv else s


def eigh(tensor: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Eigenvalues, ascending and real, and eigenvectors as columns, of symmetric or Hermitian matrices ``(..., n, n)``.

    The lower triangle of `tensor`, of floats or complex numbers, is read and has the gradient. ShapeError for matrices
    that are not square.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.linalg.eigh([[2.0, 1.0], [1.0, 2.0]])[0])
    tf.Tensor([1. 3.], shape=(2,), dtype=float32)
    """
    w, v = ops.eigh(as_tensor(tensor), lower=True)
    return w, v


def eigvalsh(tensor: Any, name: str | None = None) -> Tensor:
    """The values of :func:`eigh` of `tensor`, ``(..., n)``, real floats; ShapeError if matrices are not square.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.linalg.eigvalsh([[2.0, 0.0], [0.0, 3.0]]))
    tf.Tensor([2. 3.], shape=(2,), dtype=float32)
    """
    return eigh(tensor)[0]


def eig(tensor: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Eigenvalues ``(..., n)`` and, as columns of length 1, eigenvectors of square matrices `tensor`; both complex.

    They stand in LAPACK's order. ShapeError for matrices that are not square.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.linalg.eig([[0.0, -1.0], [1.0, 0.0]])[0])
    tf.Tensor([0.+1.j 0.-1.j], shape=(2,), dtype=complex64)
    """
    w, v = ops.eig(as_tensor(tensor))
    return w, v


def eigvals(tensor: Any, name: str | None = None) -> Tensor:
    """The values of :func:`eig` of `tensor`, ``(..., n)``, complex; ShapeError for matrices that are not square.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.linalg.eigvals([[2.0, 0.0], [0.0, 3.0]]))
    tf.Tensor([2.+0.j 3.+0.j], shape=(2,), dtype=complex64)
    """
    return eig(tensor)[0]


def qr(input: Any, full_matrices: bool = False, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Q with orthonormal columns and the upper triangular R with ``Q @ R = input``, of matrices ``(..., m, n)``.

    Parameters
    ----------
    input : tensor-like, floats or complex numbers
        The first ``min(m, n)`` columns must be independent for a derivative.
    full_matrices : bool
        Make Q square; columns beyond the first n have no derivative.

    Raises
    ------
    ShapeError
        For vectors.

    Examples
    --------
    >>> import tracejit as tf
    >>> q, r = tf.linalg.qr([[3.0, 1.0], [4.0, 2.0]])
    >>> print(tf.round(tf.abs(r[0, 0])))
    tf.Tensor(5.0, shape=(), dtype=float32)
    """
    q, r = of_matrices(lambda a: ops.qr(a, complete=full_matrices), input)
    return q, r


def pinv(a: Any, rcond: float | None = None, name: str | None = None) -> Tensor:
    """The pseudoinverse ``(..., n, m)`` of matrices `a`, floats or complex numbers.

    Singular values below `rcond` times the largest one count as 0, by default what rounding leaves. The derivative is
    that along changes which keep the rank. ShapeError for vectors.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.linalg.pinv([[2.0], [0.0]]))
    tf.Tensor([[0.5 0. ]], shape=(1, 2), dtype=float32)
    """
    return ops.pinv(as_tensor(a), rcond=rcond)


def expm(input: Any, name: str | None = None) -> Tensor:
    """The exponential of square matrices `input`, ``(..., n, n)``, floats or complex numbers: the sum of ``a**k / k!``.

    ShapeError for matrices that are not square.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.linalg.expm([[0.0, 1.0], [0.0, 0.0]]))
    tf.Tensor(
    [[1. 1.]
     [0. 1.]], shape=(2, 2), dtype=float32)
    """
    return ops.expm(as_tensor(input))


def matrix_rank(a: Any, tol: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """How many singular values of the matrices `a`, floats or complex, are more than `tol`; ``(...)`` of int32.

    `tol` broadcasts to the singular values, ``(..., k)``: one for each matrix of a stack is of shape ``(..., 1)``. Its
    default is what rounding leaves of the largest one; `validate_args` is accepted and ignored. ShapeError for vectors.

    Examples
    --------
    >>> import tracejit as tf
    >>> int(tf.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]]))
    1
    """
    x: Any = as_tensor(a)
    values: Any = ops.stop_gradient(svd(x, compute_uv=False))
    if tol is None:
        longest = expand_dims(ops.reduce_max(values, axis=(-1,)), -1)
        tol = longest * (float(np.finfo(values.dtype).eps) * max(x.shape[-2:]))
    above = ops.greater(values, ops.cast(as_tensor(tol), dtype=values.dtype))
    return ops.reduce_sum(ops.cast(above, dtype=np.dtype(np.int32)), axis=(-1,))
