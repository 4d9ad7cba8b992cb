"""Logs for TensorBoard: calls are accepted and write nothing. ``CSVLogger`` and ``History`` keep numbers."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any


def _say() -> None:
    warnings.warn(
        "tracejit.summary writes nothing: keep numbers by keras.callbacks.CSVLogger, or in a list",
        stacklevel=3,
    )


class SummaryWriter:
    """What :func:`create_file_writer` gives: nothing is written."""

    @contextlib.contextmanager
    def as_default(self, step: Any = None) -> Iterator[SummaryWriter]:
        """A ``with`` block; `step` is not looked at."""
        yield self

    def flush(self) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


def create_file_writer(logdir: Any, *args: Any, **kwargs: Any) -> SummaryWriter:
    """A writer that writes nothing, and a warning that says so; `logdir` and further arguments are ignored.

    Examples
    --------
    >>> import warnings
    >>> import tracejit as tf
    >>> with warnings.catch_warnings(record=True) as told:
    ...     writer = tf.summary.create_file_writer("logs")
    >>> print(told[0].message)
    tracejit.summary writes nothing: keep numbers by keras.callbacks.CSVLogger, or in a list
    """
    _say()
    return SummaryWriter()


def create_noop_writer() -> SummaryWriter:
    """A writer that writes nothing.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.summary.create_noop_writer().flush()
    """
    return SummaryWriter()


def _ignored(what: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> bool:
        return False

    function.__name__ = function.__qualname__ = what
    function.__doc__ = f"""False, as nothing is written; arguments are ignored.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.summary.{what}("loss", 0.5, step=1)
    False
    """
    return function


scalar: Callable[..., bool] = _ignored("scalar")
histogram: Callable[..., bool] = _ignored("histogram")
image: Callable[..., bool] = _ignored("image")
text: Callable[..., bool] = _ignored("text")
audio: Callable[..., bool] = _ignored("audio")
write: Callable[..., bool] = _ignored("write")
flush: Callable[..., bool] = _ignored("flush")
trace_on: Callable[..., bool] = _ignored("trace_on")
trace_off: Callable[..., bool] = _ignored("trace_off")
trace_export: Callable[..., bool] = _ignored("trace_export")
