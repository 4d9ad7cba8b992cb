"""NumPy's products of matrices and over any axes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import numpy as np

from ..arrays.cutting import pad
from ..core.dim import known
from ..core.errors import ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..core.tracing.recipes import by_recipe
from ..linalg import diagonals
from ..linalg import tensor_products as linear
from ..ops.arrays.reduce import one_axis
from ..ops.arrays.shape import expand_dims, squeeze
from ..ops.elementwise.arithmetic import matched
from ..ops.linalg.products import dot as matrix_product
from ..ops.tensor.indexing import get
from .conversion import any_is_zero, array, arrays, summable
from .shapes import moveaxis


def _also_of_bools(product: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Of bools a product is "and" and a sum "or"."""

    @functools.wraps(product)
    def of_all(x1: Any, x2: Any, *args: Any, **kwargs: Any) -> Tensor:
        a, b = arrays(x1, x2)
        if getattr(a, "dtype", None) != np.bool_ or getattr(b, "dtype", None) != np.bool_:
            return product(x1, x2, *args, **kwargs)
        return ops.not_equal(product(array(a, np.int64), array(b, np.int64), *args, **kwargs), 0)

    return of_all


@_also_of_bools
def matmul(x1: Any, x2: Any) -> Tensor:
    """``x1 @ x2``: vectors count as rows on the left and columns on the right, leading axes broadcast.

    The dtype is the promoted one; of bools a product is "and", a sum "or". ShapeError where sizes do not fit,
    DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> float(tnp.matmul([1.0, 2.0], [3.0, 4.0]))
    11.0
    """
    return matrix_product(*arrays(x1, x2))


@_also_of_bools
def dot(a: Any, b: Any) -> Tensor:
    """Products summed over the last axis of `a` and the last but one of `b`; numbers just multiply.

    The dtype is the promoted one; ShapeError where sizes differ, DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.dot([[1.0, 2.0]], [3.0, 4.0]))
    tf.Tensor([11.], shape=(1,), dtype=float64)
    """
    x, y = array(a), array(b)
    if not x.shape or not y.shape:
        return ops.multiply(x, y)
    if len(x.shape) > 2 or len(y.shape) > 2:
        return linear.tensordot(x, y, (-1, -2 if len(y.shape) > 1 else -1))
    return matrix_product(x, y)


@_also_of_bools
def tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    """Sum of products over some axes of `a` and as many of `b`: lists of both, or how many last and first ones.

    `axes` fall away, those of `a` that are left stand before those of `b`; the dtype is the promoted one. ShapeError
    where sizes differ.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.tensordot([[1.0, 2.0]], [3.0, 4.0], 1))
    tf.Tensor([11.], shape=(1,), dtype=float64)
    """
    a, b = arrays(a, b)
    return linear.tensordot(a, b, axes)


def einsum(subscripts: Any, *operands: Any, optimize: Any = False) -> Tensor:
    """Sums of products of `operands`, with axes named by letters, or by lists of numbers behind each and at the end.

    `subscripts` is the equation, as ``"ij,jk->ik"``; axes of size 1 fit any size. `optimize` is accepted: products are
    taken from left to right. The dtype is the promoted one; ShapeError where sizes or axes differ, ValueError for what
    is no equation.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.einsum("ij,j->i", [[1, 2], [3, 4]], [1, 1]), tnp.einsum([[1, 2], [3, 4]], [0, 1], [1]))
    tf.Tensor([3 7], shape=(2,), dtype=int64) tf.Tensor([4 6], shape=(2,), dtype=int64)
    """
    if not isinstance(subscripts, str):
        subscripts, operands = _with_letters((subscripts, *operands))
    tensors = [array(x) for x in operands]
    if all(x.dtype.kind == "b" for x in tensors):
        return ops.not_equal(einsum(subscripts, *(array(x, np.int64) for x in tensors)), 0)
    alike = matched(tuple(tensors), {})[0] if len(tensors) > 1 else tensors
    return by_recipe(linear.sums_of_products, alike, subscripts, True)


def einsum_path(subscripts: Any, *operands: Any, optimize: Any = "greedy") -> tuple[list[Any], str]:
    """The order in which :func:`einsum` of these arguments multiplies with the fewest steps, and a report: NumPy's own.

    The values of `operands`, to which `subscripts` belong, do not matter; sizes are known when this is called.
    `optimize` names NumPy's ways to look for the order; ValueError for subscripts that do not fit.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> a = tnp.ones((2, 3))
    >>> tnp.einsum_path("ij,jk,kl->il", a, a.T, a)[0]
    ['einsum_path', (0, 1), (0, 1)]
    """
    shapes: list[Any] = [x if isinstance(x, (list, tuple, str)) else _of_size(x) for x in operands]
    first = subscripts if isinstance(subscripts, str) else _of_size(subscripts)
    return np.einsum_path(first, *shapes, optimize=optimize)


def _of_size(x: Any) -> np.ndarray:
    """An array of the same shape that takes no memory."""
    return np.broadcast_to(np.float64(0), tuple([known(d) for d in array(x).shape]))


def _with_letters(given: Sequence[Any]) -> tuple[str, tuple[Any, ...]]:
    """Operands, each followed by the numbers of its axes, and maybe those of the result, as an equation."""
    operands, lists = given[: len(given) // 2 * 2 : 2], given[1::2]

    def letters(axes: Sequence[Any]) -> str:
        return "".join("..." if k is Ellipsis else (ascii_uppercase + ascii_lowercase)[k] for k in axes)

    result = f"->{letters(given[-1])}" if len(given) % 2 else ""
    return ",".join(map(letters, lists)) + result, tuple(operands)


def outer(a: Any, b: Any) -> Tensor:
    """Every product of an element of `a` and one of `b`, a matrix of the promoted dtype; DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.outer([1.0, 2.0], [3.0, 4.0]))
    tf.Tensor(
    [[3. 4.]
     [6. 8.]], shape=(2, 2), dtype=float64)
    """
    x, y = array(a), array(b)
    column, row = ops.reshape(x, shape=(x.spec.size, 1)), ops.reshape(y, shape=(1, y.spec.size))
    return ops.multiply(column, row)


@_also_of_bools
def inner(a: Any, b: Any) -> Tensor:
    """Products summed over the last axes of `a` and `b`; numbers just multiply. The dtype is the promoted one.

    ShapeError where sizes differ, DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.inner([1.0, 2.0], [3.0, 4.0]))
    tf.Tensor(11.0, shape=(), dtype=float64)
    """
    x, y = array(a), array(b)
    return linear.tensordot(x, y, (-1, -1)) if x.shape and y.shape else ops.multiply(x, y)


@_also_of_bools
def vdot(a: Any, b: Any) -> Tensor:
    """The inner product of all elements of `a` and `b` in a row, those of `a` conjugated, of the promoted dtype.

    ShapeError where sizes differ, DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.vdot([1.0, 2.0], [3.0, 4.0]))
    tf.Tensor(11.0, shape=(), dtype=float64)
    """
    x, y = (ops.reshape(v, shape=(v.spec.size,)) for v in (array(a), array(b)))
    return matrix_product(ops.conj(x) if x.dtype.kind == "c" else x, y)


@_also_of_bools
def vecdot(x1: Any, x2: Any, axis: int = -1) -> Tensor:
    """Inner products along `axis`, the elements of `x1` conjugated; the others of `x1` and `x2` broadcast.

    The dtype is the promoted one; ShapeError where sizes differ, DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.vecdot([1.0, 2.0], [3.0, 4.0]))
    tf.Tensor(11.0, shape=(), dtype=float64)
    """
    a, b = matched(arrays(x1, x2), {})[0]
    a, b = (moveaxis(v, axis, -1) for v in (a, b))  # it is counted in each
    if a.shape[-1] != b.shape[-1]:  # one element is no axis of many, as elsewhere in broadcasting
        raise ShapeError(
            f"inner products are of vectors of one size, got {a.shape[-1]} and {b.shape[-1]} along axis {axis}"
            f"{at(user_location())}"
        )
    product = ops.multiply(ops.conj(a) if a.dtype.kind == "c" else a, b)
    return ops.reduce_sum(product, axis=(len(product.shape) - 1,))


@_also_of_bools
def matvec(x1: Any, x2: Any) -> Tensor:
    """Matrices `x1`, ``(..., m, n)``, times vectors `x2`, ``(..., n)``; leading axes broadcast, dtypes are promoted.

    ShapeError where sizes do not fit, DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.matvec([[1.0, 2.0]], [3.0, 4.0]))
    tf.Tensor([11.], shape=(1,), dtype=float64)
    """
    a, b = arrays(x1, x2)
    return squeeze(ops.matmul(a, expand_dims(b, -1)), -1)


@_also_of_bools
def vecmat(x1: Any, x2: Any) -> Tensor:
    """Vectors `x1`, ``(..., m)``, conjugated, times matrices `x2`, ``(..., m, n)``; broadcast, and promoted.

    ShapeError where sizes do not fit, DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.vecmat([1.0, 2.0], [[3.0], [4.0]]))
    tf.Tensor([11.], shape=(1,), dtype=float64)
    """
    a, b = arrays(x1, x2)
    return squeeze(ops.matmul(expand_dims(ops.conj(a) if a.dtype.kind == "c" else a, -2), b), -2)


def kron(a: Any, b: Any) -> Tensor:
    """`b` times every element of `a`, in its place; sizes are products of theirs. Promoted; DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.kron([1, 10], [1, 2]))
    tf.Tensor([ 1  2 10 20], shape=(4,), dtype=int64)
    """
    x, y = matched((array(a), array(b)), {})[0]
    rank = max(len(x.shape), len(y.shape))
    outer_sizes, inner_sizes = ((*(1,) * (rank - len(v.shape)), *v.shape) for v in (x, y))
    spread = [d for n in outer_sizes for d in (n, 1)], [d for n in inner_sizes for d in (1, n)]
    product = ops.multiply(ops.reshape(x, shape=tuple(spread[0])), ops.reshape(y, shape=tuple(spread[1])))
    return ops.reshape(product, shape=tuple([m * n for m, n in zip(outer_sizes, inner_sizes, strict=True)]))


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Tensor:
    """The vector product of `a` along `axisa` and `b` along `axisb`, or of both along `axis`, of size 3 or 2.

    It lies along `axisc`; a size of 2 is that of vectors in the plane, whose product is their third component, and of
    two such that component alone. Other axes broadcast, dtypes are promoted. ShapeError for other sizes.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]))
    tf.Tensor([0. 0. 1.], shape=(3,), dtype=float64)
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    pair = matched(arrays(a, b), {})[0]
    x, y = (moveaxis(v, k, -1) for v, k in zip(pair, (axisa, axisb), strict=True))
    plane = [v.shape[-1] == 2 for v in (x, y)]
    left, right = (_in_space(v) if flat else v for v, flat in zip((x, y), plane, strict=True))
    product = diagonals.cross(left, right)
    return get(product, (Ellipsis, 2)) if plane == [True, True] else moveaxis(product, -1, axisc)


def _in_space(x: Any) -> Tensor:
    return pad(x, [[0, 0]] * (len(x.shape) - 1) + [[0, 1]])


# ---- diagonals ------------------------------------------------------------------------------------------


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The diagonal `offset` of the axes `axis1` and `axis2` of `a`, as the last axis of the result; the dtype stays.

    ShapeError for axes that are not there, or the same.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.diagonal([[1.0, 2.0], [3.0, 4.0]]))
    tf.Tensor([1. 4.], shape=(2,), dtype=float64)
    """
    given = array(a)
    first, second = (one_axis(k, len(given.shape)) for k in (axis1, axis2))
    if first == second:
        raise ShapeError(
            f"axis1 and axis2 can not be same: {axis1} and {axis2} are one of {given.spec}{at(user_location())}"
        )
    x = moveaxis(given, (first, second), (-2, -1))
    rows, columns = x.shape[-2:]
    beyond = isinstance(rows, int) and isinstance(columns, int) and not -rows < offset < columns
    if beyond or any_is_zero((rows, columns)):
        return ops.fill(shape=(*x.shape[:-2], 0), value=0, dtype=x.np_dtype)
    return diagonals.diag_part(x, k=offset)


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Tensor:
    """The sum of the diagonal `offset` of the axes `axis1` and `axis2` of `a`, in `dtype`, small integers as int64.

    ShapeError for axes that are not there, or the same.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.trace([[1.0, 2.0], [3.0, 4.0]]))
    tf.Tensor(5.0, shape=(), dtype=float64)
    """
    return ops.reduce_sum(summable(diagonal(a, offset, axis1, axis2), dtype), axis=-1)


def diag(v: Any, k: int = 0) -> Tensor:
    """The matrix with a vector `v` as its `k`-th diagonal, or that of a matrix; same dtype. ShapeError for others.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.diag([1.0, 2.0]))
    tf.Tensor(
    [[1. 0.]
     [0. 2.]], shape=(2, 2), dtype=float64)
    """
    x = array(v)
    if len(x.shape) not in (1, 2):
        raise ShapeError(f"diag takes a vector or a matrix, got {x.spec}{at(user_location())}")
    return diagonals.diag(x, k=k) if len(x.shape) == 1 else diagonal(x, k)


def diagflat(v: Any, k: int = 0) -> Tensor:
    """The matrix, of the same dtype, with all elements of `v` in a row as its `k`-th diagonal.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.diagflat([1.0, 2.0]))
    tf.Tensor(
    [[1. 0.]
     [0. 2.]], shape=(2, 2), dtype=float64)
    """
    x = array(v)
    return diagonals.diag(ops.reshape(x, shape=(x.spec.size,)), k=k)
