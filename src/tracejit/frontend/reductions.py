"""Reductions as users call them: any axis, dropped or kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.dispatch import as_tensor
from ..core.op import ops
from ..core.tensor import Tensor
from ..ops import reduce
from ..ops.reduce import axes_of, kept


def _reduced(function: Callable[..., Any], x: Any, axis: Any, keepdims: bool) -> Tensor:
    x = as_tensor(x)
    y = function(x, axis=axis)
    return ops.reshape(y, shape=kept(x.shape, axes_of(axis, len(x.shape)))) if keepdims else y


def reduce_sum(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Sum over the axes in `axis` (None: all); `keepdims` keeps them with size 1.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.reduce_sum([[1.0, 2.0], [3.0, 4.0]], axis=1))
    tf.Tensor([3. 7.], shape=(2,), dtype=float32)
    """
    return _reduced(reduce.reduce_sum, input_tensor, axis, keepdims)


def reduce_mean(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Mean over the axes in `axis` (None: all); `keepdims` keeps them with size 1."""
    return _reduced(reduce.reduce_mean, input_tensor, axis, keepdims)


def reduce_max(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Largest element over the axes in `axis` (None: all); NaN wins; ties share the gradient evenly."""
    return _reduced(reduce.reduce_max, input_tensor, axis, keepdims)


def reduce_min(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Smallest element over the axes in `axis` (None: all); NaN wins; ties share the gradient evenly."""
    return _reduced(reduce.reduce_min, input_tensor, axis, keepdims)
