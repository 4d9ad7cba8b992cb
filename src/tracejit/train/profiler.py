"""Profiles for TensorBoard: calls are accepted and write nothing. ``tracejit.profile`` tells where time goes."""

from __future__ import annotations

import warnings
from typing import Any

from ..core.lazy import Namespace


def start(logdir: Any, options: Any = None) -> None:
    """Nothing but a warning that nothing is written; arguments are ignored.

    Examples
    --------
    >>> import warnings
    >>> import tracejit as tf
    >>> with warnings.catch_warnings(record=True) as told:
    ...     tf.profiler.experimental.start("logs")
    >>> print(told[0].message)
    tracejit.profiler writes nothing: tracejit.profile(f, *args) tells where the time of a function goes
    """
    _say(3)


def stop(save: bool = True) -> None:
    """Nothing.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.profiler.experimental.stop()
    """


class Profile:
    """A ``with`` block of which nothing is written, and a warning that says so; arguments are ignored.

    Examples
    --------
    >>> import warnings
    >>> import tracejit as tf
    >>> with warnings.catch_warnings(record=True) as told, tf.profiler.experimental.Profile("logs"):
    ...     y = tf.sin(0.0)
    >>> len(told)
    1
    """

    def __init__(self, logdir: Any, options: Any = None):
        _say(3)

    def __enter__(self) -> None:
        """Nothing."""

    def __exit__(self, *exc: object) -> None:
        """Nothing."""


class Trace:
    """A ``with`` block with a name, which nobody looks at; arguments are ignored.

    Examples
    --------
    >>> import tracejit as tf
    >>> with tf.profiler.experimental.Trace("train", step_num=1) as step:
    ...     step.set_metadata(rows=3)
    """

    def __init__(self, name: str, **kwargs: Any):
        pass

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *exc: object) -> None:
        """Nothing."""

    def set_metadata(self, **kwargs: Any) -> None:
        """Nothing."""


def _say(level: int) -> None:
    warnings.warn(
        "tracejit.profiler writes nothing: tracejit.profile(f, *args) tells where the time of a function goes",
        stacklevel=level,
    )


experimental: Namespace = Namespace(
    "tracejit.profiler.experimental", Profile=Profile, Trace=Trace, start=start, stop=stop
)
