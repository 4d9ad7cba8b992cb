"""Division that rounds towards 0, and its remainder, written with the ops that round down."""

from __future__ import annotations

from typing import Any

from ...core.op import ops
from .arithmetic import matched


def truncatediv(x: Any, y: Any, name: str | None = None) -> Any:
    """``x / y`` rounded towards 0, as C divides integers; integers divided by zero give 0.

    Examples
    --------
    >>> import tracejit as tf
    >>> int(tf.truncatediv(-7, 2)), int(tf.math.floordiv(-7, 2))
    (-3, -4)
    """
    a, b = matched((x, y), {})[0]
    if a.dtype.kind not in "iu":
        return ops.trunc(ops.divide(a, b))
    down = ops.floordiv(a, b)
    if a.dtype.kind == "u":
        return down
    below = ops.logical_and(ops.not_equal(ops.mod(a, b), 0), ops.not_equal(ops.less(a, 0), ops.less(b, 0)))
    return ops.add(down, ops.cast(below, dtype=down.dtype))


def truncatemod(x: Any, y: Any, name: str | None = None) -> Any:
    """The remainder of :func:`truncatediv` of `x` by `y`, signed as `x`, as C has it; integers modulo zero give 0.

    Examples
    --------
    >>> import tracejit as tf
    >>> int(tf.truncatemod(-7, 2)), int(tf.math.floormod(-7, 2))
    (-1, 1)
    """
    a, b = matched((x, y), {})[0]
    if a.dtype.kind in "iu":
        rest = ops.mod(a, b)  # signed as b, so that a difference to b is one of numbers of equal signs
        if a.dtype.kind == "u":
            return rest
        other = ops.logical_and(ops.not_equal(rest, 0), ops.not_equal(ops.less(a, 0), ops.less(b, 0)))
        return ops.where(other, ops.subtract(rest, b), rest)
    below = signbit(a)
    rest = ops.mod(ops.where(below, ops.negative(a), a), ops.abs(b))
    return ops.where(below, ops.negative(rest), rest)


def signbit(x: Any) -> Any:
    """Is the sign that of a negative number? It is for -0.0; of NaN the sign is not told."""
    if x.dtype.kind != "f":
        return ops.less(x, 0)
    return ops.logical_or(ops.less(x, 0), ops.less(ops.divide(1.0, x), 0))
