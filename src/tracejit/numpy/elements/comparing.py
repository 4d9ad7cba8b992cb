"""NumPy's questions about elements and whole arrays: equal, close, real, infinite."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.errors import ShapeError
from ...core.op import ops
from ...core.tensor import Tensor
from ..conversion import array, real_numbers, two_floats


def isposinf(x: Any) -> Tensor:
    """True where `x` is positively infinite, a bool for each element; DtypeError for complex numbers and strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.isposinf([tnp.inf, 1.0]))
    tf.Tensor([ True False], shape=(2,), dtype=bool)
    """
    return ops.equal(real_numbers(x), np.inf)


def isneginf(x: Any) -> Tensor:
    """True where `x` is negatively infinite, a bool for each element; DtypeError for complex numbers and strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.isneginf([-tnp.inf, 1.0]))
    tf.Tensor([ True False], shape=(2,), dtype=bool)
    """
    return ops.equal(real_numbers(x), -np.inf)


def isreal(x: Any) -> Tensor:
    """True where the imaginary part of `x` is 0, a bool for each element; DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.isreal([1.0, 1.0j]))
    tf.Tensor([ True False], shape=(2,), dtype=bool)
    """
    return ops.equal(ops.imag(array(x)), 0)


def iscomplex(x: Any) -> Tensor:
    """True where the imaginary part of `x` is not 0, a bool for each element; DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.iscomplex([1.0, 1.0j]))
    tf.Tensor([False  True], shape=(2,), dtype=bool)
    """
    return ops.not_equal(ops.imag(array(x)), 0)


def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """True where `a` and `b` differ by at most ``atol + rtol * abs(b)``, and with `equal_nan` where both are NaN.

    Bools, of the shape to which they broadcast: ShapeError where they do not, DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.isclose([1.0, 2.0], [1.0, 2.1]))
    tf.Tensor([ True False], shape=(2,), dtype=bool)
    """
    a, b = two_floats(a, b)
    near = ops.less_equal(ops.abs(ops.subtract(a, b)), ops.add(atol, ops.multiply(rtol, ops.abs(b))))
    close = ops.logical_or(ops.logical_and(near, ops.less(ops.abs(b), np.inf)), ops.equal(a, b))
    return ops.logical_or(close, ops.logical_and(ops.is_nan(a), ops.is_nan(b))) if equal_nan else close


def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Does :func:`isclose`, with `rtol`, `atol` and `equal_nan`, hold of all elements of `a` and `b`? A bool scalar.

    ShapeError where they do not broadcast, DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.allclose([1.0, 2.0], [1.0, 2.0 + 1e-9]))
    tf.Tensor(True, shape=(), dtype=bool)
    """
    return ops.reduce_min(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Tensor:
    """Are shapes and elements of `a1` and `a2` equal, NaN too with `equal_nan`? A bool; DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.array_equal([1.0, 2.0], [1.0, 2.0]))
    tf.Tensor(True, shape=(), dtype=bool)
    """
    a, b = array(a1), array(a2)
    if a.shape != b.shape:
        return array(False)
    same = ops.equal(a, b)
    if equal_nan:
        same = ops.logical_or(same, ops.logical_and(ops.is_nan(a), ops.is_nan(b)))
    return ops.reduce_min(same)


def array_equiv(a1: Any, a2: Any) -> Tensor:
    """Do `a1` and `a2` broadcast, and are they equal then? A bool scalar; DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.array_equiv([1.0, 1.0], 1.0))
    tf.Tensor(True, shape=(), dtype=bool)
    """
    a, b = array(a1), array(a2)
    try:
        return ops.reduce_min(ops.equal(a, b))
    except ShapeError:
        return array(False)
