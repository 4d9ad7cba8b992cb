"""What programs of 2018 call that newer ones do not: transforms that return lists, casts, the count of steps.

The transforms are written with the tape; everything else is another name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tracejit as tf

from ...errors import at_user_line


def enable_eager_execution(config: Any = None, device_policy: Any = None, execution_mode: Any = None) -> None:
    """Nothing: ops always run at once outside of a :func:`tracejit.function`.

    `config`, `device_policy` and `execution_mode` are accepted.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.compat.v1.enable_v2_behavior()
    """


def lin_space(start: Any, stop: Any, num: int, name: str | None = None) -> tf.Tensor:
    """`num` floats evenly spaced from `start` to `stop`, both included, as a vector; ValueError for none.

    Examples
    --------
    >>> from tracejit.compat import v1 as tf
    >>> print(tf.lin_space(0.0, 1.0, 3))
    tf.Tensor([0.  0.5 1. ], shape=(3,), dtype=float32)
    """
    return tf.linspace(start, stop, num)


def gradients_function(
    f: Callable[..., Any], params: Sequence[int | str] | None = None
) -> Callable[..., list[Any]]:
    """As :func:`tracejit.gradients_function`; `params` may be names of arguments.

    Examples
    --------
    >>> from tracejit.compat import v1 as tf
    >>> [float(g) for g in tf.contrib.eager.gradients_function(lambda x, y: x * y, params=["y"])(2.0, 3.0)]
    [2.0]
    """
    return tf.gradients_function(f, positions_of(f, params))


def positions_of(f: Callable[..., Any], params: Sequence[int | str] | None) -> list[int] | None:
    """The positions of arguments given by position or name."""
    if params is None:
        return None
    names = list(inspect.signature(f).parameters) if any(isinstance(p, str) for p in params) else []
    for p in params:
        if isinstance(p, str) and p not in names:
            raise ValueError(f"the function has no argument {p!r}; its arguments are {names}{at_user_line()}")
    return [names.index(p) if isinstance(p, str) else int(p) for p in params]


def value_and_gradients_function(
    f: Callable[..., Any], params: Sequence[int | str] | None = None
) -> Callable[..., Any]:
    """A function that returns the value of `f` and a list with its gradient for each argument.

    Examples
    --------
    >>> from tracejit.compat import v1 as tf
    >>> value, (dx, dy) = tf.contrib.eager.value_and_gradients_function(lambda x, y: x * y)(2.0, 3.0)
    >>> float(value), float(dx), float(dy)
    (6.0, 3.0, 2.0)
    """

    positions = positions_of(f, params)

    def both(*args: Any) -> tuple[Any, list[Any]]:
        chosen = range(len(args)) if positions is None else positions
        value, gradients = tf.value_and_grad(f, argnums=tuple(chosen))(*args)
        return value, list(gradients)

    return both


def implicit_value_and_gradients(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that returns the value of `f` and pairs (gradient, Variable) for each Variable it reads.

    Examples
    --------
    >>> from tracejit.compat import v1 as tf
    >>> w = tf.Variable(3.0)
    >>> value, ((gradient, variable),) = tf.contrib.eager.implicit_value_and_gradients(lambda: w * w)()
    >>> float(gradient), variable is w
    (6.0, True)
    """

    def both(*args: Any, **kwargs: Any) -> tuple[Any, list[tuple[Any, tf.Variable]]]:
        tape = tf.GradientTape()
        with tape:
            value = f(*args, **kwargs)
        variables = tape.watched_variables()
        if not variables:
            raise ValueError(f"the function reads no trainable Variables{at_user_line()}")
        return value, list(zip(tape.gradient(value, list(variables)), variables, strict=True))

    return both


def implicit_gradients(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that returns pairs (gradient, Variable) for each Variable that `f` reads."""
    both = implicit_value_and_gradients(f)
    return lambda *args, **kwargs: both(*args, **kwargs)[1]


def num_gpus() -> int:
    """0: everything runs on the CPU."""
    return 0


def to_float(x: Any, name: str | None = None) -> tf.Tensor:
    """`x` cast to float32, in its shape; DtypeError for strings.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.compat.v1.to_float([1, 2]))
    tf.Tensor([1. 2.], shape=(2,), dtype=float32)
    """
    return tf.cast(tf.convert_to_tensor(x), dtype=np.dtype("float32"))


def to_double(x: Any, name: str | None = None) -> tf.Tensor:
    """`x` cast to float64, in its shape; DtypeError for strings.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.compat.v1.to_double([1, 2]))
    tf.Tensor([1. 2.], shape=(2,), dtype=float64)
    """
    return tf.cast(tf.convert_to_tensor(x), dtype=np.dtype("float64"))


def to_int32(x: Any, name: str | None = None) -> tf.Tensor:
    """`x` cast to int32, in its shape; DtypeError for strings.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.compat.v1.to_int32([1.7]))
    tf.Tensor([1], shape=(1,), dtype=int32)
    """
    return tf.cast(tf.convert_to_tensor(x), dtype=np.dtype("int32"))


def to_int64(x: Any, name: str | None = None) -> tf.Tensor:
    """`x` cast to int64, in its shape; DtypeError for strings.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.compat.v1.to_int64([1.7]))
    tf.Tensor([1], shape=(1,), dtype=int64)
    """
    return tf.cast(tf.convert_to_tensor(x), dtype=np.dtype("int64"))


_global_steps: list[tf.Variable] = []


def get_or_create_global_step() -> tf.Variable:
    """The one Variable that counts steps for those who pass it on, an int64."""
    if not _global_steps:
        with tf.init_scope():
            _global_steps.append(tf.Variable(np.int64(0), trainable=False, name="global_step"))
    return _global_steps[0]
