"""Devices and placement: what programs query about the machine, and contexts that have no effect here.

There is one device, the CPU, and things are done in the order in which they are written.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from ..core.tracing.dispatch import interpreting, is_tracing


def is_gpu_available(
    cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None
) -> bool:
    """False: everything runs on the CPU, `cuda_only` and of whatever `min_cuda_compute_capability`.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.test.is_gpu_available()
    False
    """
    return False


def is_built_with_cuda() -> bool:
    """False: everything runs on the CPU.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.test.is_built_with_cuda())
    False
    """
    return False


@contextmanager
def device(device_name: str | None = None) -> Iterator[None]:
    """A ``with`` block for programs that choose a device, `device_name`; they all run on the CPU.

    Examples
    --------
    >>> import tracejit as tf
    >>> with tf.device("/cpu:0"):
    ...     print(tf.constant(1.0))
    ...
    tf.Tensor(1.0, shape=(), dtype=float32)
    """
    yield


@contextmanager
def name_scope(name: str) -> Iterator[str]:
    """A ``with`` block for programs that name what they do; names are not kept.

    Examples
    --------
    >>> import tracejit as tf
    >>> with tf.name_scope("layer"):
    ...     print(tf.constant(1.0))
    ...
    tf.Tensor(1.0, shape=(), dtype=float32)
    """
    yield name


@contextmanager
def control_dependencies(control_inputs: Any) -> Iterator[None]:
    """A ``with`` block after `control_inputs`, for programs that say so: what is written first always happens first.

    Examples
    --------
    >>> import tracejit as tf
    >>> with tf.control_dependencies([]):
    ...     print(tf.constant(1.0))
    ...
    tf.Tensor(1.0, shape=(), dtype=float32)
    """
    yield


def init_scope() -> AbstractContextManager[None]:
    """A ``with`` block that runs at once, as it would outside of the function being traced.

    Examples
    --------
    >>> import tracejit as tf
    >>> @tf.function
    ... def f(x):
    ...     with tf.init_scope():
    ...         print(tf.constant(1) + 1)
    ...     return x
    >>> y = f(3.0)
    tf.Tensor(2, shape=(), dtype=int32)
    """
    return interpreting(None)


def group(*inputs: Any, name: str | None = None) -> None:
    """Nothing: what `inputs` stand for has its place in the program already.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.group()
    """


def inside_function() -> bool:
    """Is a function being traced?

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.inside_function(), tf.function(tf.inside_function)())
    False tf.Tensor(True, shape=(), dtype=bool)
    """
    return is_tracing()


def executing_eagerly() -> bool:
    """Do ops run at once? False while a function is traced.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.executing_eagerly(), tf.function(tf.executing_eagerly)())
    True tf.Tensor(False, shape=(), dtype=bool)
    """
    return not is_tracing()
