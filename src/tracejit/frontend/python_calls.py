"""Python functions called as ops, for programs that leave compiled functions by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.errors import at, user_location
from ..core.op import ops
from ..core.spec import as_dtype
from ..core.tensor import Tensor
from ..core.tracing.dispatch import is_tracing
from .conversion import convert_to_tensor


def py_function(
    func: Any = None, inp: Sequence[Any] | None = None, Tout: Any = None, name: str | None = None
) -> Any:
    """Call the Python function `func` with the tensors `inp`; gradients flow through what it computes with tensors.

    Parameters
    ----------
    func : callable
        Of as many tensors as `inp` has.
    inp : sequence of tensor-like, optional
        Without it, the function that does so with its arguments: a decorator.
    Tout : dtype-like, or sequence of these
        The dtype of the result, or of each of several; empty where there is none.
    name : str, optional

    Raises
    ------
    NotImplementedError
        In a compiled function, whose code calls no Python: call it outside, or give ``tracejit.function`` its ops.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.py_function(lambda x: x**2, [3.0], tf.float32))
    tf.Tensor(9.0, shape=(), dtype=float32)
    """
    if func is None:
        return lambda f: py_function(f, None, Tout)
    if inp is None:
        return lambda *args: py_function(func, args, Tout)
    _refuse_tracing("py_function")
    return _as_outputs(func(*(convert_to_tensor(x) for x in inp)), Tout)


def numpy_function(
    func: Any = None,
    inp: Sequence[Any] | None = None,
    Tout: Any = None,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Call the Python function `func` with arrays; no gradient flows through it.

    `inp`, `Tout`, the results, their dtypes and errors, NotImplementedError, are those of :func:`py_function`;
    `stateful` changes nothing.

    Examples
    --------
    >>> import numpy as np, tracejit as tf
    >>> print(tf.numpy_function(np.cumsum, [[1.0, 2.0]], tf.float32))
    tf.Tensor([1. 3.], shape=(2,), dtype=float32)
    """
    if func is None:
        return lambda f: numpy_function(f, None, Tout)
    if inp is None:
        return lambda *args: numpy_function(func, args, Tout)
    _refuse_tracing("numpy_function")
    return _as_outputs(func(*(convert_to_tensor(x).array for x in inp)), Tout)


def _refuse_tracing(what: str) -> None:
    if is_tracing():
        raise NotImplementedError(
            f"compiled code calls no Python: {what} has to stand outside of compiled functions, or the function has to "
            f"run as Python, by tracejit.config.run_functions_eagerly(True){at(user_location())}"
        )


def _as_outputs(result: Any, wanted: Any) -> Any:
    if isinstance(wanted, (list, tuple)):
        parts = [] if result is None else list(result) if isinstance(result, (list, tuple)) else [result]
        if len(parts) != len(wanted):
            raise ValueError(
                f"{len(wanted)} results were announced, there are {len(parts)}{at(user_location())}"
            )
        return [_of_dtype(part, dtype) for part, dtype in zip(parts, wanted, strict=True)]
    return _of_dtype(result, wanted)


def _of_dtype(x: Any, dtype: Any) -> Tensor:
    tensor = convert_to_tensor(x)
    return (
        tensor
        if dtype is None or tensor.dtype == as_dtype(dtype)
        else ops.cast(tensor, dtype=as_dtype(dtype))
    )
