"""The dense layer: one op in eager programs, its parts in traces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.op import Op, ops
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor, state
from ..ops.dense_layer import ACTIVATIONS
from ..ops.linalg import products
from .activations import linear


def dense(inputs: Any, kernel: Any, bias: Any, activation: Callable[[Any], Any]) -> Tensor:
    """``activation(inputs @ kernel + bias)`` over the last axis; without a bias where it is None.

    Shapes and dtypes go together as those of ``@`` and ``+`` do, and fail as theirs: ShapeError, DtypeError.
    """
    if bias is None:
        return activation(products.dot(inputs, kernel))
    if state.mode.interpreter is not None:
        return activation(products.dot(inputs, kernel) + bias)
    x, kernel, bias = as_tensor(inputs), as_tensor(kernel), as_tensor(bias)
    if not _fits(x, kernel, bias):
        return activation(products.dot(x, kernel) + bias)
    if isinstance(activation, Op) and activation.name in ACTIVATIONS:
        return ops.dense(x, kernel, bias, activation=activation.name)
    y = ops.dense(x, kernel, bias, activation="identity")
    return y if activation is linear else activation(y)


def _fits(x: Tensor, kernel: Tensor, bias: Tensor) -> bool:
    """Is it what the op takes, without conversions and broadcasting?"""
    if x.np_dtype.kind != "f" or x.np_dtype is not kernel.np_dtype or x.np_dtype is not bias.np_dtype:
        return False
    if x.is_symbolic or kernel.is_symbolic or bias.is_symbolic:
        return False
    a, b, c = x.array.shape, kernel.array.shape, bias.array.shape  # tuples, which are quicker than shapes
    return len(a) > 1 and len(b) == 2 and a[-1] == b[0] and c == b[1:]
