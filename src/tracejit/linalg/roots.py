"""Square roots and logarithms of square matrices in the last two axes, by products and inverses alone.

So they need no eigenvectors, and their derivatives exist where eigenvalues are equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.errors import DtypeError, ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from ..frontend.control.loop_functions import fori_loop
from ..frontend.creation import eye
from ..ops.arrays.reduce import reduce_sum
from ..ops.linalg.products import matmul, squared_sizes
from .matrices import inv

_NO_ROOT = "no iteration leads to a square root: these matrices are singular, or have negative eigenvalues"
#: How far the square of a root may be from the matrix, in units of its size: of what is no root it is about 1.
_REST = 1e-2
#: Steps that bring the eigenvalues near 1, and those that then double the digits.
_SCALED, _PLAIN = 8, 7
#: Roots that are taken before the logarithm, and the points of its integral.
_ROOTS, _POINTS = 5, 8


def sqrtm(input: Any, name: str | None = None) -> Tensor:
    """The principal square root ``(..., n, n)`` of matrices `input`, floats or complex numbers, of their dtype.

    By the iteration of Denman and Beavers, which derivatives of any order follow.

    Raises
    ------
    RuntimeError
        For singular matrices, and those with negative eigenvalues, complex ones too: no iteration leads there.
    ShapeError, DtypeError
        For matrices that are not square, and for integers.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.round(tf.linalg.sqrtm([[5.0, 4.0], [4.0, 5.0]])))
    tf.Tensor(
    [[2. 1.]
     [1. 2.]], shape=(2, 2), dtype=float32)
    """
    return _checked_root(_square("sqrtm", input))


def logm(input: Any, name: str | None = None) -> Tensor:
    """The principal logarithm ``(..., n, n)`` of matrices `input`, floats or complex numbers, of their dtype.

    By square roots until they are near 1, and Gauss's quadrature there. RuntimeError where those have none, ShapeError
    for matrices that are not square, DtypeError for integers.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.round(tf.linalg.logm(tf.linalg.expm([[0.0, 1.0], [1.0, 0.0]])) * 1e4) / 1e4)
    tf.Tensor(
    [[0. 1.]
     [1. 0.]], shape=(2, 2), dtype=float32)
    """
    x = fori_loop(1, _ROOTS, lambda _, x: _root(x), _checked_root(_square("logm", input)))
    one = eye(x.shape[-1], dtype=x.dtype)
    rest: Any = x - one
    total: Any = 0.0
    points, weights = np.polynomial.legendre.leggauss(_POINTS)
    for point, weight in zip(0.5 * (points + 1.0), 0.5 * weights, strict=True):
        total = total + float(weight) * matmul(rest, inv(one + float(point) * rest))
    return total * float(2**_ROOTS)


def _square(name: str, given: Any) -> Any:
    x = as_tensor(given)
    if x.dtype.kind not in "fc":
        raise DtypeError(f"{name} takes floats or complex numbers, got {x.spec}{at(user_location())}")
    if len(x.shape) < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"{name} takes square matrices, got {x.spec}{at(user_location())}")
    return x


def _checked_root(x: Any) -> Any:
    """The root, if its square is `x`: the program fails otherwise."""
    root = _root(x)
    rest = _size(ops.subtract(matmul(root, root), x))
    lost = ops.logical_not(rest <= _size(x) * _REST)  # of NaN, too
    found = ops.equal(reduce_sum(ops.cast(lost, dtype=x.dtype)), 0)
    ops.check(ops.cast(found, dtype=np.dtype(np.float32)), message=_NO_ROOT, error="RuntimeError")
    return root


def _root(x: Any) -> Any:
    y, z = x, ops.broadcast_to(eye(x.shape[-1], dtype=x.dtype), shape=tuple(x.shape))
    y, z = fori_loop(0, _SCALED, lambda _, yz: _scaled_step(yz[0], yz[1]), (y, z))
    return fori_loop(0, _PLAIN, lambda _, yz: _step(yz[0], yz[1], inv(yz[1]), inv(yz[0])), (y, z))[0]


def _step(y: Any, z: Any, back: Any, forth: Any) -> tuple[Any, Any]:
    return 0.5 * (y + back), 0.5 * (z + forth)


def _scaled_step(y: Any, z: Any) -> tuple[Any, Any]:
    back, forth = inv(z), inv(y)
    scale = ops.stop_gradient(_scale(y, z, back, forth))
    return _step(y * scale, z * scale, back / scale, forth / scale)


def _scale(y: Any, z: Any, back: Any, forth: Any) -> Any:
    """What brings the matrices nearer to their inverses."""
    ratio = (_size(back) * _size(forth)) / (_size(y) * _size(z))
    return ops.cast(ops.sqrt(ops.sqrt(ratio)), dtype=y.dtype)


def _size(x: Any) -> Any:
    """The Frobenius norm of each matrix, in the shape of a factor of it."""
    squares = squared_sizes(x)
    return ops.reshape(ops.sqrt(ops.reduce_sum(squares, axis=(-2, -1))), shape=(*x.shape[:-2], 1, 1))
