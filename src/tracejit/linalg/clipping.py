"""Tensors scaled down to a norm: one by itself, or several by one factor."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ..core.arrays import is_weak
from ..core.errors import at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from ..frontend.control.reductions import reduce_sum


def _factor(squares: Any, norm: Any) -> Any:
    """What brings a sum of squares down to `norm`; exactly 1 where it is below, NaN where it is NaN."""
    norm = as_tensor(norm, squares.np_dtype) if is_weak(norm) else norm
    limit = ops.multiply(norm, norm)
    below = squares <= limit
    return ops.where(below, 1.0, norm / ops.sqrt(ops.where(below, limit, squares)))


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """`t` scaled down so that its Euclidean norm is at most `clip_norm`.

    Parameters
    ----------
    t : tensor-like of floats
    clip_norm : positive number
    axes : int or sequence of int, optional
        The axes one norm is taken over; all by default.

    Returns
    -------
    Tensor
        Of the shape of `t`, in floats.

    Raises
    ------
    ShapeError
        For axes that are not there.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.clip_by_norm([3.0, 4.0], 2.5))
    tf.Tensor([1.5 2. ], shape=(2,), dtype=float32)
    """
    x = as_tensor(t)
    return x * _factor(reduce_sum(ops.square(x), axes, keepdims=True), clip_norm)


def global_norm(t_list: Sequence[Any], name: str | None = None) -> Tensor:
    """The norm, a scalar, of all tensors of `t_list`, of floats, taken together; None among them is left out.

    ValueError where there are none, DtypeError for integers.

    Examples
    --------
    >>> import tracejit as tf
    >>> float(tf.linalg.global_norm([[3.0], None, [[4.0]]]))
    5.0
    """
    return ops.sqrt(_squares(t_list))


def _squares(tensors: Sequence[Any]) -> Any:
    parts = [reduce_sum(ops.square(t)) for t in tensors if t is not None]
    if not parts:
        raise ValueError(f"a norm of no tensors is asked for{at(user_location())}")
    return functools.reduce(ops.add, parts)


def clip_by_global_norm(
    t_list: Sequence[Any], clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Tensor]:
    """Tensors scaled by one factor so that their common norm is at most `clip_norm`.

    Parameters
    ----------
    t_list : sequence of tensor-like of floats
        None in it stays None.
    clip_norm : positive number
    use_norm : scalar, optional
        The norm, where it is already known.

    Returns
    -------
    list, Tensor
        The scaled tensors, and the norm before. All are NaN where the norm is infinite or NaN.

    Raises
    ------
    ValueError
        Where there are no tensors.
    DtypeError
        For integers.

    Examples
    --------
    >>> import tracejit as tf
    >>> (a, b), norm = tf.clip_by_global_norm([[3.0], [4.0]], 2.5)
    >>> float(a), float(b), float(norm)
    (1.5, 2.0, 5.0)
    """
    squares: Any = _squares(t_list) if use_norm is None else ops.square(use_norm)
    norm: Any = ops.sqrt(squares) if use_norm is None else as_tensor(use_norm)
    factor = _factor(squares, clip_norm) + (norm - norm)
    return [None if t is None else ops.multiply(t, factor) for t in t_list], norm
