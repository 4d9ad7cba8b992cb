"""Quotients and products in which a zero decides: they are 0 there, and never NaN."""

from __future__ import annotations

from typing import Any

from ..core.op import ops
from ..core.tensor import Tensor
from ..ops.elementwise.arithmetic import matched, quotients
from .elementary import is_finite


def divide_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x / y``, and 0 where `y` is 0, with gradients that are 0 there too; broadcast, integers become float64.

    DtypeError for strings, ShapeError where shapes do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.divide_no_nan([1.0, 1.0], [0.0, 2.0]))
    tf.Tensor([0.  0.5], shape=(2,), dtype=float32)
    """
    x, y = quotients((x, y), {})[0]
    zero = ops.equal(y, 0)
    return ops.where(zero, 0.0, ops.divide(x, ops.where(zero, 1.0, y)))


def multiply_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x * y``, and 0 where `y` is 0, even if `x` is infinite or NaN; broadcast and promoted.

    DtypeError for bools and strings, ShapeError where shapes do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.multiply_no_nan([float("nan"), 3.0], [0.0, 2.0]))
    tf.Tensor([0. 6.], shape=(2,), dtype=float32)
    """
    x, y = matched((x, y), {})[0]
    vanishes = ops.logical_and(ops.equal(y, 0), ops.logical_not(is_finite(x)))
    return ops.multiply(ops.where(vanishes, 0, x), y)


def reciprocal_no_nan(x: Any, name: str | None = None) -> Tensor:
    """``1 / x`` of each element of `x`, and 0 where it is 0; integers become float64. DtypeError for strings.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.reciprocal_no_nan([0.0, 4.0]))
    tf.Tensor([0.   0.25], shape=(2,), dtype=float32)
    """
    return divide_no_nan(1.0, x)


def xlogy(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x * log(y)``, and 0 where `x` is 0; broadcast, integers become float64.

    DtypeError for strings, ShapeError where shapes do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.xlogy([0.0, 2.0], [0.0, 1.0]))
    tf.Tensor([0. 0.], shape=(2,), dtype=float32)
    """
    x, y = matched((x, y), {})[0]
    zero = ops.equal(x, 0)
    return ops.where(zero, 0.0, x * ops.log(ops.where(zero, 1.0, y)))


def xdivy(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x / y``, and 0 where `x` is 0, whatever `y` is there; broadcast, integers become float64.

    DtypeError for strings, ShapeError where shapes do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.xdivy([0.0, 1.0], [0.0, 2.0]))
    tf.Tensor([0.  0.5], shape=(2,), dtype=float32)
    """
    x, y = quotients((x, y), {})[0]
    zero = ops.equal(x, 0)
    return ops.where(zero, 0.0, ops.divide(x, ops.where(zero, 1.0, y)))


def xlog1py(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x * log(1 + y)``, and 0 where `x` is 0; broadcast, integers become float64.

    DtypeError for complex numbers and strings, ShapeError where shapes do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.math.xlog1py([0.0, 2.0], [-1.0, 0.0]))
    tf.Tensor([0. 0.], shape=(2,), dtype=float32)
    """
    x, y = matched((x, y), {})[0]
    zero = ops.equal(x, 0)
    return ops.where(zero, 0.0, x * ops.log1p(ops.where(zero, 0.0, y)))
