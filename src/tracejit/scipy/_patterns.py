"""Of ``scipy.linalg`` matrices whose elements follow a pattern: what is given stands at places known beforehand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.dim import known
from ..core.errors import ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from ..numpy.conversion import array, floats
from ..ops.elementwise.arithmetic import matched


def _vector(x: Any, least: int = 0) -> Any:
    row: Any = array(x)
    if len(row.shape) > 1:  # which some releases of SciPy take as a stack, and others as a row
        raise ShapeError(f"takes a vector, got {row.spec}{at(user_location())}")
    if not row.shape:
        row = ops.reshape(row, shape=(1,))
    if known(row.shape[0]) < least:
        raise ShapeError(f"takes {least} numbers or more, got {row.spec}{at(user_location())}")
    return row


def _placed(row: Any, places: np.ndarray) -> Tensor:
    """The numbers of a row at these places, 0 where the place is negative."""
    whole: Any = ops.gather(row, np.maximum(places, 0), axis=0)
    return (
        whole
        if (places >= 0).all()
        else ops.where(as_tensor(places >= 0), whole, ops.cast(0, dtype=row.np_dtype))
    )


def _difference(rows: int, columns: int) -> np.ndarray:
    return np.arange(rows)[:, None] - np.arange(columns)


def toeplitz(c: Any, r: Any = None) -> Tensor:
    """The matrix with the first column `c` and the first row `r` that is the same along each diagonal; promoted.

    `r` is by default the conjugate of `c`; its first number is not read. ShapeError for more axes than
    one, DtypeError for strings with numbers.

    Examples
    --------
    >>> from tracejit.scipy import linalg
    >>> print(linalg.toeplitz([1, 2, 3], [1, 5]))
    tf.Tensor(
    [[1 5]
     [2 1]
     [3 2]], shape=(3, 2), dtype=int64)
    """
    column = _vector(c)
    row: Any = _vector(r) if r is not None else ops.conj(column) if column.dtype.kind == "c" else column
    (column, row), _ = matched((column, row), {})
    m, n = known(column.shape[0]), known(row.shape[0])
    place = _difference(m, n)
    return _placed(ops.concat(column, row, axis=0), np.where(place >= 0, place, m - place))


def hankel(c: Any, r: Any = None) -> Tensor:
    """The matrix with the first column `c` and the last row `r` that is the same along each antidiagonal; promoted.

    `r` is by default zeros; its first number is not read. ShapeError for more axes than
    one, DtypeError for strings with numbers.

    Examples
    --------
    >>> from tracejit.scipy import linalg
    >>> print(linalg.hankel([1, 2, 3]))
    tf.Tensor(
    [[1 2 3]
     [2 3 0]
     [3 0 0]], shape=(3, 3), dtype=int64)
    """
    column = _vector(c)
    row = ops.fill(shape=column.shape, value=0, dtype=column.np_dtype) if r is None else _vector(r)
    (column, row), _ = matched((column, row), {})
    m, n = known(column.shape[0]), known(row.shape[0])
    place = np.arange(m)[:, None] + np.arange(n)
    return _placed(ops.concat(column, row, axis=0), np.where(place < m, place, place + 1))


def circulant(c: Any) -> Tensor:
    """The square matrix whose first column is `c` and whose other columns are each the one before, rolled by one.

    Of the dtype of `c`; ShapeError for more axes than one.

    Examples
    --------
    >>> from tracejit.scipy import linalg
    >>> print(linalg.circulant([1, 2, 3]))
    tf.Tensor(
    [[1 3 2]
     [2 1 3]
     [3 2 1]], shape=(3, 3), dtype=int64)
    """
    column = _vector(c)
    n = known(column.shape[0])
    return _placed(column, _difference(n, n) % max(n, 1))


def companion(a: Any) -> Tensor:
    """The matrix ``(n - 1, n - 1)`` whose eigenvalues are the roots of the polynomial of coefficients `a`, as floats.

    The highest comes first and is not 0. ShapeError for less than two.

    Examples
    --------
    >>> from tracejit.scipy import linalg
    >>> print(linalg.companion([2.0, -10.0, 12.0]))
    tf.Tensor(
    [[ 5. -6.]
     [ 1.  0.]], shape=(2, 2), dtype=float64)
    """
    row: Any = floats(_vector(a, 2))
    n = known(row.shape[0]) - 1
    first = -row[1:] / row[0]
    ones = ops.cast(as_tensor(np.eye(n - 1, n)), dtype=row.np_dtype)
    return ops.concat(ops.reshape(first, shape=(1, n)), ones, axis=0)


def leslie(f: Any, s: Any) -> Tensor:
    """The matrix ``(n, n)`` with the `n` numbers `f` as its first row and the ``n - 1`` numbers `s` below the diagonal.

    The dtype is the promoted one; ShapeError for other numbers of them.

    Examples
    --------
    >>> from tracejit.scipy import linalg
    >>> print(linalg.leslie([0.1, 2.0], [0.5]))
    tf.Tensor(
    [[0.1 2. ]
     [0.5 0. ]], shape=(2, 2), dtype=float64)
    """
    (first, below), _ = matched((_vector(f, 2), _vector(s)), {})
    n = known(first.shape[0])
    if known(below.shape[0]) != n - 1:
        raise ShapeError(
            f"s takes one number less than f, got {below.spec} and {first.spec}{at(user_location())}"
        )
    place = np.where(_difference(n, n) == 1, n + np.arange(n), -1)
    place[0] = np.arange(n)
    return _placed(ops.concat(first, below, axis=0), place)


def convolution_matrix(a: Any, n: int, mode: str = "full") -> Tensor:
    """The matrix `c` with ``c @ v = convolve(a, v, mode)`` for vectors `v` of `n` numbers; of the dtype of `a`.

    `mode` is "full", "same" or "valid", as of :func:`numpy.convolve`; ValueError for others and an `n` below 1,
    ShapeError where there is no number in `a`.

    Examples
    --------
    >>> from tracejit.scipy import linalg
    >>> print(linalg.convolution_matrix([1, 2], 2))
    tf.Tensor(
    [[1 0]
     [2 1]
     [0 2]], shape=(3, 2), dtype=int64)
    """
    if n < 1 or mode not in ("full", "same", "valid"):
        raise ValueError(
            f"takes n from 1 on and full, same or valid, got {n} and {mode!r}{at(user_location())}"
        )
    row = _vector(a, 1)
    m = known(row.shape[0])
    place = _difference(m + n - 1, n)
    place = np.where(place < m, place, -1)
    least, most = min(m, n), max(m, n)
    if mode == "same":
        start = (least - 1) // 2
        place = place[start : start + most]
    elif mode == "valid":
        place = place[least - 1 : most]
    return _placed(row, place)


def hilbert(n: int) -> Tensor:
    """The matrix ``(n, n)`` of ``1 / (i + j + 1)``, float64; ValueError for a negative `n`.

    Examples
    --------
    >>> from tracejit.scipy import linalg
    >>> print(linalg.hilbert(2))
    tf.Tensor(
    [[1.         0.5       ]
     [0.5        0.33333333]], shape=(2, 2), dtype=float64)
    """
    if n < 0:
        raise ValueError(f"n is 0 or more, got {n}{at(user_location())}")
    return as_tensor(1.0 / (np.arange(1, n + 1)[:, None] + np.arange(n)))


def hadamard(n: int, dtype: Any = int) -> Tensor:
    """The matrix ``(n, n)`` of 1 and -1 with orthogonal columns, of `dtype`; ValueError unless `n` is a power of 2.

    Examples
    --------
    >>> from tracejit.scipy import linalg
    >>> print(linalg.hadamard(2))
    tf.Tensor(
    [[ 1  1]
     [ 1 -1]], shape=(2, 2), dtype=int64)
    """
    if n < 1 or n & (n - 1):
        raise ValueError(f"n is a power of 2, got {n}{at(user_location())}")
    number = np.arange(n)
    odd = np.bitwise_count(number[:, None] & number) % 2
    return as_tensor((1 - 2 * odd.astype(int)).astype(dtype))


def dft(n: int, scale: str | None = None) -> Tensor:
    """The matrix ``(n, n)`` of the discrete Fourier transform, complex128: ``dft(n) @ x`` is ``fft(x)``.

    `scale` "sqrtn" divides it by the root of `n`, "n" by `n`; ValueError for another.

    Examples
    --------
    >>> from tracejit.scipy import linalg
    >>> print(linalg.dft(2).numpy().real)
    [[ 1.  1.]
     [ 1. -1.]]
    """
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f"scale is None, 'sqrtn' or 'n', got {scale!r}{at(user_location())}")
    turns = np.outer(np.arange(n), np.arange(n)) % max(n, 1)
    divisor = {None: 1.0, "sqrtn": math.sqrt(n), "n": float(n)}[scale]
    return as_tensor(np.exp(-2j * math.pi / max(n, 1) * turns) / divisor)
