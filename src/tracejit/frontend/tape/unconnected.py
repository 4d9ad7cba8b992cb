"""Unconnected gradients: the result where nothing connects a target and a source."""

from __future__ import annotations

import enum
from typing import Any

from ...core.errors import at, user_location
from ...core.op import ops
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor
from ..state.variable import Variable


class UnconnectedGradients(enum.Enum):
    """What the gradient is where nothing connects target and source: None or zeros.

    Examples
    --------
    >>> import tracejit as tf
    >>> x, y = tf.constant(1.0), tf.constant(2.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch([x, y])
    ...     z = x * 2
    >>> print(tape.gradient(z, y, unconnected_gradients=tf.UnconnectedGradients.ZERO))
    tf.Tensor(0.0, shape=(), dtype=float32)
    """

    NONE = "none"
    ZERO = "zero"

    @classmethod
    def _missing_(cls, value: object) -> None:
        raise ValueError(f"Unknown value for unconnected_gradients: {value!r}; it is 'none' or 'zero'")


NONE = UnconnectedGradients.NONE


def wants_zeros(unconnected_gradients: Any) -> bool:
    """Is it zeros that are asked for? ValueError for what is no such choice."""
    if unconnected_gradients is NONE:
        return False
    try:
        return UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO
    except ValueError as error:
        raise ValueError(f"{error}{at(user_location())}") from None


def zeros_for_none(
    derivatives: list[Any], shape: tuple[Any, ...], leaves: list[Any], unconnected_gradients: Any
) -> list[Any]:
    """Zeros of ``shape + leaf.shape`` in place of None, where they are asked for."""
    if not wants_zeros(unconnected_gradients):
        return derivatives
    sources = [x if isinstance(x, (Tensor, Variable)) else as_tensor(x) for x in leaves]
    return [
        ops.fill(shape=(*shape, *x.shape), value=0.0, dtype=x.np_dtype) if g is None else g
        for g, x in zip(derivatives, sources, strict=True)
    ]


def zeros(source: Any) -> Tensor:
    """Zeros like a source."""
    x = source if isinstance(source, (Tensor, Variable)) else as_tensor(source)
    return ops.fill(shape=x.shape, value=0.0, dtype=x.np_dtype)
