"""``numpy.linalg``: norms, systems of equations, inverses, determinants and powers."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.dim import known
from ..core.errors import ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..linalg import matrices
from ..linalg import tensor_products as linear
from ..ops.arrays.reduce import axes_of
from ..ops.arrays.shape import expand_dims, squeeze, stack
from ..ops.linalg.factors import identity_of
from ..ops.linalg.products import swapped
from . import products as _products
from . import reductions as _reductions
from .conversion import array, arrays, floats, wide_floats
from .products import cross, matmul, matvec, outer, tensordot, vecdot, vecmat
from .shapes import moveaxis
from .spectra import eig, eigh, eigvals, eigvalsh, lstsq, matrix_rank, pinv, qr, svd, svdvals

LinAlgError = np.linalg.LinAlgError

__all__ = [
    "LinAlgError",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "expm",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "matvec",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vecmat",
    "vector_norm",
]


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The norm of vectors along an axis, of matrices over two, or the Euclidean norm of all elements.

    Parameters
    ----------
    x : tensor-like
    ord : number or str, optional
        Of vectors any number, ``inf`` and ``-inf`` included; of matrices ``"fro"``, ``"nuc"``, 1, -1, 2, -2, ``inf``
        and ``-inf``. None is the Euclidean one.
    axis : int or pair of int, optional
    keepdims : bool

    Returns
    -------
    Tensor
        Without the axes it is over, or with them of size 1; real floats.

    Raises
    ------
    ShapeError
        For more than two axes, or axes that are not there.
    ValueError
        For an `ord` that is not known.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> float(tnp.linalg.norm([3.0, 4.0]))
    5.0
    """
    v: Any = floats(x)
    if axis is None and ord is None:
        return linear.vector_norm(v, 2, None, keepdims)
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else axes_of(axis, len(v.shape))
    if len(axes) == 1:
        return vector_norm(v, axis=axes[0], ord=2 if ord is None else ord, keepdims=keepdims)
    if len(axes) == 2:
        return linear.matrix_norm(v, _named(ord), axes, keepdims)
    raise ShapeError(f"norm is over one axis or two, not {len(axes)} of {v.spec}{at(user_location())}")


def vector_norm(x: Any, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Tensor:
    """The norm of the vectors in `x` over `axis`, all by default, taken as one; `keepdims` keeps the axes as size 1.

    `ord` is any number, ``inf`` or ``-inf``. The result is of real floats. ValueError for others, ShapeError for axes
    that are not there.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.linalg.vector_norm([[3.0, 4.0], [5.0, 12.0]], axis=1))
    tf.Tensor([ 5. 13.], shape=(2,), dtype=float64)
    """
    v: Any = floats(x)
    if isinstance(ord, str):
        raise ValueError(f"of vectors ord is a number, not {ord!r}{at(user_location())}")
    if ord == 0:
        counts = _reductions.count_nonzero(v, axis, keepdims=keepdims)
        return ops.cast(counts, dtype=ops.abs(v).dtype)
    if ord == np.inf:  # 0 where there are no elements
        return _reductions.max(ops.abs(v), axis, keepdims=keepdims, initial=0)
    if ord == -np.inf:
        return _reductions.min(ops.abs(v), axis, keepdims=keepdims)
    return linear.vector_norm(v, ord, axis, keepdims)


def _named(ord: Any) -> Any:
    """What `linear` calls it."""
    return "euclidean" if ord is None or ord == "fro" else ord


def matrix_norm(x: Any, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """The norm of matrices in the last two axes of `x`, which `keepdims` keeps as size 1, as real floats.

    `ord` is ``"fro"``, ``"nuc"``, 1, -1, 2, -2, ``inf`` or ``-inf``; ValueError for others.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.linalg.matrix_norm([[1.0, 2.0], [2.0, 4.0]]))
    tf.Tensor(5.0, shape=(), dtype=float64)
    """
    return linear.matrix_norm(floats(x), _named(ord), (-2, -1), keepdims)


def diagonal(x: Any, *, offset: int = 0) -> Tensor:
    """The diagonal `offset` of the last two axes of `x`, as its last axis, of its dtype; ShapeError for fewer axes.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.linalg.diagonal([[1, 2], [3, 4]]))
    tf.Tensor([1 4], shape=(2,), dtype=int64)
    """
    return _products.diagonal(x, offset, -2, -1)


def trace(x: Any, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sum of the diagonal `offset` of the last two axes of `x`, of its dtype or `dtype`, small integers as int64.

    ShapeError for fewer axes.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.linalg.trace([[1, 2], [3, 4]]))
    tf.Tensor(5, shape=(), dtype=int64)
    """
    return _products.trace(x, offset, -2, -1, dtype)


def solve(a: Any, b: Any) -> Tensor:
    """The `x`, floats, with ``a @ x = b``; `a` is ``(..., n, n)``, `b` ``(..., n, k)`` or a vector, one right side.

    ShapeError where sizes do not fit, RuntimeError for a singular matrix, DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.linalg.solve([[2.0, 0.0], [1.0, 1.0]], [2.0, 3.0]))
    tf.Tensor([1. 2.], shape=(2,), dtype=float64)
    """
    a, b = map(floats, arrays(a, b))
    if len(b.shape) == 1:
        return squeeze(matrices.solve(a, expand_dims(b, -1)), -1)
    return matrices.solve(a, b)


def tensorsolve(a: Any, b: Any, axes: Sequence[int] | None = None) -> Tensor:
    """The `x`, floats, with ``tensordot(a, x, x.ndim) = b``: the axes of `a` behind those of `b` are those of `x`.

    `axes` of `a` are moved behind the others first. ShapeError where the sizes in front and behind do not give equal
    numbers of elements, RuntimeError where the equations are singular.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> a = tnp.eye(6).reshape((2, 3, 6)) * 2.0
    >>> print(tnp.linalg.tensorsolve(a, tnp.ones((2, 3))))
    tf.Tensor([0.5 0.5 0.5 0.5 0.5 0.5], shape=(6,), dtype=float64)
    """
    x, y = map(floats, arrays(a, b))
    if axes is not None:
        x = moveaxis(x, tuple(axes), tuple(range(-len(axes), 0)))
    rest = x.shape[len(y.shape) :]
    count = math.prod([known(size) for size in rest])
    if count != known(y.spec.size) or known(x.spec.size) != count * count:
        raise ShapeError(f"{x.spec} gives other equations than {y.spec} has elements{at(user_location())}")
    whole = ops.reshape(x, shape=(count, count))
    return ops.reshape(matrices.solve(whole, ops.reshape(y, shape=(count, 1))), shape=rest)


def tensorinv(a: Any, ind: int = 2) -> Tensor:
    """The inverse of ``x -> tensordot(a, x, a.ndim - ind)``, floats: the first `ind` axes of `a` become the last.

    ShapeError where the axes in front and behind do not give equal numbers of elements, ValueError for an `ind` that
    is not positive, RuntimeError for what is singular.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.linalg.tensorinv(tnp.eye(6).reshape((2, 3, 6))).shape)
    (6, 2, 3)
    """
    if ind <= 0:
        raise ValueError(f"ind is a positive number of axes, got {ind}{at(user_location())}")
    x = floats(a)
    front, behind = x.shape[:ind], x.shape[ind:]
    count = math.prod([known(size) for size in front])
    if count != math.prod([known(size) for size in behind]):
        raise ShapeError(f"the first {ind} axes of {x.spec} do not match the others{at(user_location())}")
    return ops.reshape(matrices.inv(ops.reshape(x, shape=(count, count))), shape=(*behind, *front))


def inv(a: Any) -> Tensor:
    """The inverse of the square matrices in the last two axes of `a`, of its shape, as floats.

    ShapeError for matrices that are not square, RuntimeError for singular ones.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.linalg.inv([[2.0, 0.0], [0.0, 4.0]]))
    tf.Tensor(
    [[0.5  0.  ]
     [0.   0.25]], shape=(2, 2), dtype=float64)
    """
    return matrices.inv(floats(a))


def det(a: Any) -> Tensor:
    """The determinant of the square matrices in `a`, ``(..., n, n)``, as floats; ShapeError if they are not square.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.linalg.det([[1.0, 2.0], [3.0, 5.0]]))
    tf.Tensor(-1.0000000000000004, shape=(), dtype=float64)
    """
    return matrices.det(floats(a))


class SlogdetResult(NamedTuple):
    """The sign of determinants, and the logarithms of their sizes."""

    sign: Tensor
    logabsdet: Tensor


def slogdet(a: Any) -> SlogdetResult:
    """The sign of the determinant of square matrices, the last two axes of `a`, and the logarithm of its size.

    Both are floats, the sign of complex ones a number of size 1. ShapeError for matrices that are not square.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> sign, logarithm = tnp.linalg.slogdet([[0.0, 1.0], [1.0, 0.0]])
    >>> print(float(sign), float(logarithm))
    -1.0 0.0
    """
    x = floats(a)
    if x.dtype.kind != "c":
        return SlogdetResult(*matrices.slogdet(x))
    size: Any = ops.multiply(
        matrices.slogdet(_as_reals(x))[1], 0.5
    )  # of the reals the determinant is the square
    singular = ops.equal(size, -np.inf)
    n = int(known(x.shape[-1]))
    unit = ops.cast(ops.exp(ops.divide(ops.where(singular, 0.0, size), -max(n, 1))), dtype=x.np_dtype)
    sign = det(ops.multiply(x, expand_dims(expand_dims(unit, -1), -1)))
    return SlogdetResult(ops.where(singular, 0.0, sign), size)


def _as_reals(x: Any) -> Tensor:
    """Square matrices of complex numbers with each element as the matrix [[re, -im], [im, re]]."""
    re, im = ops.real(x), ops.imag(x)
    upper, lower = stack([re, ops.negative(im)], -1), stack([im, re], -1)
    *outer, n, _ = x.shape
    return ops.reshape(stack([upper, lower], len(outer) + 1), shape=(*outer, 2 * n, 2 * n))


def cholesky(a: Any, /, *, upper: bool = False) -> Tensor:
    """The lower triangular factor of the Hermitian positive definite matrices in the last two axes of `a`, as floats.

    With `upper` the conjugate transpose of that of the transposed matrices. ShapeError for matrices that are not
    square, RuntimeError for those that are not positive definite.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]]))
    tf.Tensor(
    [[2. 0.]
     [1. 2.]], shape=(2, 2), dtype=float64)
    """
    x = floats(a)
    if x.dtype.kind == "c":
        factor: Any = matrices.cholesky(_as_reals(ops.conj(swapped(x)) if upper else x))
        factor = ops.complex(factor[..., ::2, ::2], factor[..., 1::2, ::2])
        return ops.conj(swapped(factor)) if upper else factor
    return swapped(matrices.cholesky(swapped(x))) if upper else matrices.cholesky(x)


def expm(a: Any) -> Tensor:
    """The exponential of the square matrices in `a`, of their shape, as floats; ShapeError if they are not square.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.linalg.expm([[0.0, 1.0], [0.0, 0.0]]))
    tf.Tensor(
    [[1. 1.]
     [0. 1.]], shape=(2, 2), dtype=float64)
    """
    return ops.expm(wide_floats(a))


def cond(x: Any, p: Any = None) -> Tensor:
    """The largest singular value of the matrices in `x` over the smallest one, real floats.

    With `p`, see `ord` of :func:`norm`, the norm times that of the inverse: RuntimeError for singular matrices,
    ValueError for another `p`, ShapeError for vectors.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.linalg.cond([[2.0, 0.0], [0.0, 1.0]]))
    tf.Tensor(2.0, shape=(), dtype=float64)
    """
    v = wide_floats(x)
    if p is None:
        values: Any = svdvals(v)
        return values[..., 0] / values[..., -1]
    return ops.multiply(norm(v, p, (-2, -1)), norm(inv(v), p, (-2, -1)))


def matrix_power(a: Any, n: int) -> Tensor:
    """The square matrices in the last two axes of `a` multiplied `n` times; the inverse, of floats, for negative `n`.

    ShapeError for matrices that are not square, RuntimeError for singular ones to a negative power.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.linalg.matrix_power([[1, 1], [0, 1]], 5))
    tf.Tensor(
    [[1 5]
     [0 1]], shape=(2, 2), dtype=int64)
    """
    x: Any = array(a)
    if len(x.shape) < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"matrix_power takes square matrices, got {x.spec}{at(user_location())}")
    if n < 0:
        return matrix_power(inv(x), -n)
    if n == 0:
        one = ops.fill(shape=x.shape[-2:], value=0, dtype=x.dtype)
        return ops.broadcast_to(identity_of(one), shape=x.shape)
    half = matrix_power(x, n // 2) if n > 1 else x
    square = ops.matmul(half, half) if n > 1 else x
    return ops.matmul(square, x) if n > 1 and n % 2 else square


def multi_dot(arrays_: Sequence[Any]) -> Tensor:
    """The product of matrices, of which the first and the last of `arrays_` may be vectors, from left to right.

    The dtype is the promoted one; ShapeError where sizes do not fit.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.linalg.multi_dot([[1.0, 2.0], [[1.0, 0.0], [0.0, 2.0]], [3.0, 4.0]]))
    tf.Tensor(19.0, shape=(), dtype=float64)
    """
    return functools.reduce(_products.dot, [array(x) for x in arrays_])


def matrix_transpose(x: Any) -> Tensor:
    """The last two axes of `x` exchanged, of the same dtype; ShapeError for fewer axes.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.matrix_transpose(tnp.ones((2, 3))).shape)
    (3, 2)
    """
    return linear.matrix_transpose(array(x))
