"""Automatic differentiation by recording: forward and reverse mode."""

from contextlib import AbstractContextManager
from typing import Any

from .core.op import ops
from .core.tracing.dispatch import as_tensor, holds_tensors, notify, pausing
from .frontend.structure import flatten
from .frontend.tape.forward_accumulator import ForwardAccumulator
from .frontend.tape.gradient_tape import GradientTape, GradientWarning

__all__ = ["ForwardAccumulator", "GradientTape", "GradientWarning", "detached", "stop_recording"]


def stop_recording() -> AbstractContextManager[None]:
    """A ``with`` block whose operations are on no tape: what is computed in it passes no gradient on.

    :meth:`GradientTape.stop_recording` is about one tape, this is about everything that records.

    Examples
    --------
    >>> import tracejit as tf
    >>> x = tf.Variable(3.0)
    >>> with tf.GradientTape() as tape:
    ...     with tf.autodiff.stop_recording():
    ...         scale = x * 2.0
    ...     y = scale * x
    >>> float(tape.gradient(y, x))
    6.0
    """
    return pausing()


def detached(x: Any) -> Any:
    """The value of `x`, without its history: what is computed from it passes no gradient on to `x`.

    Parameters
    ----------
    x : tensor-like

    Returns
    -------
    ndarray or Tensor
        An array, not to be changed; while a function is traced, a tensor.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.autodiff.detached(tf.Variable([1.0, 2.0]))
    array([1., 2.], dtype=float32)
    """
    if holds_tensors(x):
        for part in flatten(x)[0]:
            notify("value", as_tensor(part))  # explanations of missing gradients name it
    with pausing():
        whole = as_tensor(x)
        return ops.stop_gradient(whole) if whole.is_symbolic else whole.array
