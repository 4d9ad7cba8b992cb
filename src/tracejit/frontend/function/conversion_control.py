"""Controls of the conversion of control flow: showing the result, excluding a function, hints."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...core.errors import at, user_location
from ..autograph.calls import convert, converted_source
from .function import Function


def to_code(
    entity: Callable[..., Any], recursive: bool = True, experimental_optional_features: Any = None
) -> str:
    """What a function becomes when it is traced, as Python text.

    Parameters
    ----------
    entity : function
        As it was written; of a compiled function, its ``python_function``.
    recursive, experimental_optional_features
        Accepted for programs written for other libraries, and ignored.

    Raises
    ------
    TypeError
        For what is no Python function.

    Examples
    --------
    >>> import tracejit as tf
    >>> def f(x):
    ...     return x + 1
    >>> print(tf.autograph.to_code(f))
    def f(x):
        return x + 1
    """
    f = entity.python_function if isinstance(entity, Function) else entity
    source = converted_source(f)
    if not source:
        raise TypeError(f"to_code shows Python functions, not {type(entity).__name__}{at(user_location())}")
    return source


def to_graph(
    entity: Callable[..., Any], recursive: bool = True, experimental_optional_features: Any = None
) -> Callable[..., Any]:
    """A function whose ``if``, ``while`` and ``for`` also take tensors, whose values only a run tells.

    Parameters
    ----------
    entity : function
        As it was written; of a compiled function, its ``python_function``. Called while another function is traced it
        adds to its program, with one size of every tensor or any; otherwise it runs as it is written.
    recursive, experimental_optional_features
        Accepted for programs written for other libraries, and ignored: functions that it calls are converted too.

    Raises
    ------
    TypeError
        For what is not callable.

    Examples
    --------
    >>> import tracejit as tf
    >>> def size(x):
    ...     return x if x > 0.0 else -x
    >>> print(tf.autograph.to_graph(size)(tf.constant(-3.0)))
    tf.Tensor(3.0, shape=(), dtype=float32)
    """
    if not callable(entity):
        raise TypeError(f"to_graph takes functions, not {type(entity).__name__}{at(user_location())}")
    return convert(entity.python_function if isinstance(entity, Function) else entity)


class Unconverted:
    """A function that runs as it is written while it is traced: its ``if``, ``while`` and ``for`` stay Python's."""

    def __init__(self, f: Callable[..., Any]):
        functools.update_wrapper(self, f)
        self.f = f

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.f(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else Unconverted(self.f.__get__(instance, owner))


def do_not_convert(func: Callable[..., Any] | None = None) -> Any:
    """Leave the function `func` as it is written where it is called while tracing.

    Examples
    --------
    >>> import tracejit as tf
    >>> @tf.autograph.experimental.do_not_convert
    ... def half(x):
    ...     return x / 2.0
    >>> print(tf.function(lambda x: half(x))(tf.constant(3.0)))
    tf.Tensor(1.5, shape=(), dtype=float32)
    """
    return do_not_convert if func is None else Unconverted(func)


def set_loop_options(
    parallel_iterations: Any = None,
    swap_memory: Any = None,
    maximum_iterations: Any = None,
    shape_invariants: Any = None,
) -> None:
    """Hints about the loop around, `parallel_iterations`, `swap_memory` and `shape_invariants`: not needed.

    Raises
    ------
    NotImplementedError
        For `maximum_iterations`, which would change what the loop does: write it into the loop's condition.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.autograph.set_loop_options(parallel_iterations=8)
    """
    if maximum_iterations is not None:
        raise NotImplementedError(
            f"maximum_iterations: write it into the condition of the loop{at(user_location())}"
        )
