"""NumPy's products of matrices and over any axes."""

from __future__ import annotations

from typing import Any

from ...core.op import ops
from ...core.tensor import Tensor
from ...ops.linalg import dot as matrix_product
from .. import diagonals, linear
from .conversion import array, arrays


def matmul(x1: Any, x2: Any) -> Tensor:
    """``x1 @ x2``: vectors count as rows on the left and columns on the right.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> float(tnp.matmul([1.0, 2.0], [3.0, 4.0]))
    11.0
    """
    return matrix_product(*arrays(x1, x2))


def dot(a: Any, b: Any) -> Tensor:
    """Products summed over the last axis of `a` and the last but one of `b`; numbers just multiply."""
    x, y = array(a), array(b)
    if not x.shape or not y.shape:
        return ops.multiply(x, y)
    if len(x.shape) > 2 or len(y.shape) > 2:
        return linear.tensordot(x, y, (-1, -2 if len(y.shape) > 1 else -1))
    return matrix_product(x, y)


def tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    """Sum of products over some axes of `a` and as many of `b`."""
    a, b = arrays(a, b)
    return linear.tensordot(a, b, axes)


def einsum(subscripts: str, *operands: Any) -> Tensor:
    """Sums of products, with axes named by letters."""
    return linear.einsum(subscripts, *map(array, operands))


def outer(a: Any, b: Any) -> Tensor:
    """Every product of an element of `a` and one of `b`."""
    x, y = array(a), array(b)
    column, row = ops.reshape(x, shape=(x.spec.size, 1)), ops.reshape(y, shape=(1, y.spec.size))
    return ops.multiply(column, row)


def trace(a: Any) -> Tensor:
    """The sum of the main diagonal of a matrix."""
    return diagonals.trace(array(a))
