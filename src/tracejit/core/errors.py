"""Errors with three fixed parts: the op and what it was given, what is wrong, and the user's own line."""

from __future__ import annotations

import contextlib
import linecache
import os
import sys
import threading
from types import CodeType, FrameType
from typing import TypeVar

_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_INSTALLED = f"{os.sep}site-packages{os.sep}"
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


E = TypeVar("E", bound=Exception)


class TracejitError(Exception):
    """Base of the errors this package raises about programs."""


class ShapeError(TracejitError, ValueError):
    """Shapes that do not fit the op."""


class DtypeError(TracejitError, TypeError):
    """dtypes that do not fit the op."""


class OutOfRange(TracejitError, IndexError):
    """An index outside of the axis it is for."""


class LeakedTensor(TracejitError, TypeError):
    """A tensor of a finished trace was used outside of it."""


class GradientError(TracejitError, ValueError):
    """A gradient rule returned something that cannot be the gradient."""


class Refusals(threading.local):
    """What was refused in the innermost attempt at tracing, and nobody has taken; None outside of all."""

    pending: list[Untraceable] | None = None


REFUSALS = Refusals()


class Untraceable(TracejitError):
    """What cannot be compiled, though it runs eagerly; handlers of the traced program are not about it.

    Whatever catches it all the same (a library, ``return`` in a ``finally``, a context manager) only delays it: the
    attempt at tracing that it was raised in raises it again at its end, unless it was taken by :func:`take`.
    """

    def __init__(self, *args: object):
        super().__init__(*args)
        if REFUSALS.pending is not None:
            REFUSALS.pending.append(self)


def take(error: BaseException) -> None:
    """Say that `error` was caught by who knows what it is, and goes on without what was refused."""
    if REFUSALS.pending:
        REFUSALS.pending[:] = [e for e in REFUSALS.pending if e is not error]


class SymbolicValue(Untraceable, TypeError):
    """A concrete value was asked of a tensor that has none while tracing."""


class Location(tuple[CodeType, int]):
    """A place in the user's program, a code object and an offset; file and line are worked out when somebody asks."""

    __slots__ = ()

    @property
    def code(self) -> CodeType:
        return self[0]

    @property
    def lasti(self) -> int:
        return self[1]

    @property
    def file(self) -> str:
        return self.code.co_filename

    @property
    def line(self) -> int:
        number = self.code.co_firstlineno
        for start, end, line in self.code.co_lines():
            if start <= self.lasti < end and line is not None:
                number = line
        return number

    def __str__(self) -> str:
        source = linecache.getline(self.file, self.line).strip()
        return f"{self.file}:{self.line}" + (f"\n      {source}" if source else "")


_internal: dict[str, bool] = {}  # by file: hashing a code object costs more than the whole walk


def is_internal(code: CodeType) -> bool:
    """Does this code belong to the package (and not to its user)?"""
    file = code.co_filename
    known = _internal.get(file)
    if known is None:
        known = _internal[file] = file.startswith((PACKAGE, contextlib.__file__, "<frozen"))
    return known


def user_location(depth: int = 2) -> Location | None:
    """Where the user's program is right now, at least `depth` calls from here.

    Our caller is internal. On a tape this walk is a good part of the cost: who knows of more internal callers says so.
    """
    frame: FrameType | None = sys._getframe(depth)
    known = _internal
    while frame is not None:
        code = frame.f_code
        internal = known.get(code.co_filename)
        if internal is None:
            internal = is_internal(code)
        if not internal:
            return Location((code, frame.f_lasti))
        frame = frame.f_back
    return None


def own_location() -> Location | None:
    """Where the user's own program is: installed packages and Python's library, through which values leave, are not."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if not (
            is_internal(frame.f_code)
            or file.startswith((_LIBRARY, "<__array_function__"))
            or _INSTALLED in file
        ):
            return Location((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return user_location(3)


def stack_level() -> int:
    """The ``stacklevel`` that makes `warnings.warn`, called by our caller, point at the user's line."""
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and is_internal(frame.f_code):
        frame = frame.f_back
        level += 1
    return level


def as_explained(error: E) -> E:
    """The error, marked as one that says everything: the op, what is wrong, where. Any exception type may carry it."""
    vars(error)["explained"] = True
    return error


def is_explained(error: Exception) -> bool:
    """Does it say everything already?"""
    return getattr(error, "explained", False)


def require(ok: bool, message: str) -> None:
    """Raise ShapeError(message) unless `ok`; the door adds the op and the user's line."""
    if not ok:
        raise ShapeError(message)


#: What stands in a message before the user's line.
AT = "\n  at "


def at(location: Location | None) -> str:
    """The last part of a message: where."""
    return f"{AT}{location}" if location is not None else ""


def at_user_line() -> str:
    """The last part of a message: the line of the user's program that is being run, of any caller the innermost.

    Returns
    -------
    str
        ``"\\n  at file:line"`` and the line's text; empty where no caller is outside of the package.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(f"units is positive, got -1{tf.errors.at_user_line()}")  # doctest: +ELLIPSIS
    units is positive, got -1
      at <doctest ...
    """
    return at(user_location(3))
