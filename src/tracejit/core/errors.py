"""Errors with three fixed parts: the op and what it was given, what is wrong, and the user's own line."""

from __future__ import annotations

import contextlib
import linecache
import os
import sys
import threading
from collections.abc import Callable
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any, TypeVar

_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_INSTALLED = f"{os.sep}site-packages{os.sep}"
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


E = TypeVar("E", bound=Exception)
F = TypeVar("F", bound=Callable[..., Any])


class TracejitError(Exception):
    """Base of the errors this package raises about programs.

    Examples
    --------
    >>> import tracejit as tf
    >>> try:
    ...     tf.ones([2]) + tf.ones([3])
    ... except tf.TracejitError as error:
    ...     print(type(error).__name__)
    ...
    ShapeError
    """

    @property
    def message(self) -> str:
        """What is wrong, and where."""
        return str(self)


class ShapeError(TracejitError, ValueError):
    """Shapes that do not fit the op.

    Examples
    --------
    >>> import tracejit as tf
    >>> try:
    ...     tf.ones([2]) + tf.ones([3])
    ... except tf.ShapeError as error:
    ...     print(str(error).splitlines()[0])
    ...
    add(float32[2], float32[3]): shapes (2,) and (3,) do not broadcast: 2 against 3
    """


class AxisError(ShapeError, IndexError):
    """An axis that is not there.

    Examples
    --------
    >>> import tracejit as tf
    >>> try:
    ...     tf.reduce_sum([1.0, 2.0], axis=1)
    ... except tf.errors.AxisError as error:
    ...     print(type(error).__name__)
    AxisError
    """


class DtypeError(TracejitError, TypeError):
    """dtypes that do not fit the op.

    Examples
    --------
    >>> import tracejit as tf
    >>> try:
    ...     tf.sqrt([1, 4])
    ... except tf.DtypeError as error:
    ...     print(str(error).splitlines()[0])
    ...
    sqrt(int32[2]): takes float or complex, got int32; cast it first
    """


class OutOfRange(TracejitError, IndexError):
    """An index outside of the axis it is for.

    Examples
    --------
    >>> import tracejit as tf
    >>> try:
    ...     tf.gather([1.0, 2.0], 5)
    ... except tf.errors.OutOfRangeError as error:
    ...     print(type(error).__name__, isinstance(error, IndexError))
    OutOfRange True
    """


class LeakedTensor(TracejitError, TypeError, AttributeError):
    """A tensor of a finished trace was used outside of it: it has no value any more.

    Examples
    --------
    >>> import tracejit as tf
    >>> kept = []
    >>> leak = tf.function(lambda x: kept.append(x * 2))
    >>> leak(tf.constant(1.0))
    >>> try:
    ...     kept[0].numpy()
    ... except tf.LeakedTensor as error:
    ...     print(type(error).__name__)
    LeakedTensor
    """


class GradientError(TracejitError, ValueError):
    """A gradient rule returned something that cannot be the gradient.

    Examples
    --------
    >>> import tracejit as tf
    >>> @tf.custom_gradient
    ... def doubled(x):
    ...     return 2.0 * x, lambda g: tf.ones(3)
    >>> x = tf.Variable([1.0, 2.0])
    >>> try:
    ...     with tf.GradientTape() as tape:
    ...         y = doubled(x)
    ...     tape.gradient(y, x)
    ... except tf.GradientError as error:
    ...     print(type(error).__name__)
    GradientError
    """


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


class UnknownSize(Untraceable, ValueError):
    """A size was needed that is known only when the function runs.

    Examples
    --------
    >>> import tracejit as tf
    >>> f = tf.function(lambda x, n: tf.reshape(x, [n, 2]))
    >>> try:
    ...     f(tf.ones([4]), tf.constant(2))
    ... except tf.errors.UnknownSize as error:
    ...     print(type(error).__name__)
    UnknownSize
    """


def take(error: BaseException) -> None:
    """Say that `error` was caught by who knows what it is, and goes on without what was refused."""
    if REFUSALS.pending:
        REFUSALS.pending[:] = [e for e in REFUSALS.pending if e is not error]


class SymbolicValue(Untraceable, TypeError):
    """A concrete value was asked of a tensor that has none while tracing.

    Examples
    --------
    >>> import tracejit as tf
    >>> compiled = tf.function(lambda x: x.numpy())
    >>> try:
    ...     compiled.get_concrete_function(tf.TensorSpec([], tf.float32))
    ... except tf.SymbolicValue as error:
    ...     print(type(error).__name__)
    SymbolicValue
    """


class Location(tuple[Any, ...]):
    """A place in the user's program, a code object and an offset; file and line are worked out when somebody asks.

    What debug information needs follows: the place that it was called from (None for the traced function's own, False
    for one that is not in it at all), and the code of its function where that is a part which conversion cut out.
    """

    __slots__ = ()
    #: Is it the gradient of what stands there?
    is_backward = False

    @property
    def code(self) -> CodeType:
        return self[0]

    @property
    def lasti(self) -> int:
        return self[1]

    @property
    def caller(self) -> Location | None:
        """Where this was called from, None where that is not known, or where the traced function begins."""
        return self[2] or None if len(self) > 2 else None

    @property
    def is_outside(self) -> bool:
        """Is it the caller of what was traced, and known for want of any other place?"""
        return len(self) > 2 and self[2] is False

    @property
    def stack(self) -> list[Location]:
        """The place, where it was called from, and so on."""
        found: list[Location] = []
        place: Location | None = self
        while place is not None:
            found.append(place)
            place = place.caller
        return found

    @property
    def function(self) -> CodeType:
        """The code of the user's function that it is in."""
        return self[3] if len(self) > 3 else self.code

    @property
    def file(self) -> str:
        return self.code.co_filename

    @property
    def line(self) -> int:
        return _line_at(self.code, self.lasti)

    def __str__(self) -> str:
        file, line = self.file, self.line
        shared = file == "<string>"  # the name of many texts, of which Python keeps one
        source = "" if shared else linecache.getline(file, line).strip()
        return f"{cell_of(file) or file}:{line}" + (f"\n      {source}" if source else "")


@lru_cache(maxsize=512)
def _line_at(code: CodeType, lasti: int) -> int:
    """The line of an instruction: code that was written out in a loop asks for the same one thousands of times."""
    number = code.co_firstlineno
    for start, end, line in code.co_lines():
        if start <= lasti < end and line is not None:
            number = line
    return number


class BackwardLocation(Location):
    """The place of an op whose gradient something belongs to."""

    __slots__ = ()
    is_backward = True


def cell_of(file: str) -> str:
    """The cell of a notebook that a file's name stands for, ``In[3]``; empty for files."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    number = getattr(getattr(shell, "compile", None), "_filename_map", {}).get(file)
    return "" if number is None else f"In[{number}]"


_getframe = sys._getframe
#: Is it a file of the package? By file: hashing a code object costs more than the whole walk.
known_files: dict[str, bool] = {}


def is_internal(code: CodeType) -> bool:
    """Does this code belong to the package (and not to its user)?"""
    file = code.co_filename
    known = known_files.get(file)
    if known is None:
        known = known_files[file] = file.startswith((PACKAGE, contextlib.__file__, "<frozen"))
    return known


def user_location(depth: int = 2) -> Location | None:
    """Where the user's program is right now, at least `depth` calls from here.

    Our caller is internal. On a tape this walk is a good part of the cost: who knows of more internal callers says so.
    """
    frame: FrameType | None = _getframe(depth)
    known = known_files
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        if file in known:
            if not known[file]:
                return Location((code, frame.f_lasti))
        elif not is_internal(code):
            return Location((code, frame.f_lasti))
        frame = frame.f_back
    return None


#: What the names of functions begin with that conversion makes of a loop or a branch.
GENERATED = "_ag_"
_entries: list[CodeType] = []


def enters_trace(f: F) -> F:
    """Mark the function that calls what is traced: the outermost one on the stack is where a traced program begins."""
    _entries.append(f.__code__)
    return f


def user_stack(depth: int = 2) -> Location | None:
    """As `user_location`, with the places that this was called from, up to the beginning of the traced function."""
    found: list[tuple[CodeType, int, CodeType]] = []
    known: int | None = None
    part = False  # is the frame before this one a part of this one's function?
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None:
        code = frame.f_code
        if code in _entries:
            known = len(found)
        elif not is_internal(code):
            if part:
                found[-1] = (*found[-1][:2], code)
            else:
                found.append((code, frame.f_lasti, code))
            part = code.co_name.startswith(GENERATED)
        frame = frame.f_back
    place: Location | None = None
    for code, lasti, function in reversed(found[:known]):
        place = Location((code, lasti, place, function))
    return place or (Location((*found[0][:2], False, found[0][2])) if found else None)


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
      at ...
    """
    return at(user_location(3))


# ---- what a program may run into while it runs: the same exception whether eagerly or from machine code ----
# Machine code knows an exception by the name of a builtin one; `FAILURES` has the class that is raised for it.


class FailedAssertion(TracejitError, AssertionError):
    """An assertion that does not hold.

    Examples
    --------
    >>> import tracejit as tf
    >>> try:
    ...     tf.debugging.assert_positive([1.0, -1.0])
    ... except tf.errors.FailedAssertion as error:
    ...     print(str(error).splitlines()[0])
    Condition x > 0 did not hold at (1,), x = [1.0 -1.0]
    """


class FailedComputation(TracejitError, RuntimeError):
    """A computation that did not get where it should.

    Examples
    --------
    >>> import tracejit as tf
    >>> try:
    ...     tf.linalg.inv([[1.0, 1.0], [1.0, 1.0]])
    ... except tf.errors.FailedComputation as error:
    ...     print(isinstance(error, RuntimeError))
    True
    """


class WrongNumber(TracejitError, ValueError):
    """A number for which what is computed means nothing."""


class UnsetVariable(TracejitError, UnboundLocalError):
    """A variable is read that nothing has set.

    Examples
    --------
    >>> import tracejit as tf
    >>> @tf.function
    ... def f(x):
    ...     while x > 1.0:
    ...         y = x = x - 1.0
    ...     return y
    >>> try:
    ...     f(tf.constant(0.0))
    ... except tf.errors.UnsetVariable as error:
    ...     print(type(error).__name__)
    UnsetVariable
    """


#: By the name of the builtin exception.
FAILURES: dict[str, type[Exception]] = {
    **{e.__name__: e for e in (ArithmeticError, KeyError, NotImplementedError, TypeError, ZeroDivisionError)},
    "AssertionError": FailedAssertion,
    "IndexError": OutOfRange,
    "RuntimeError": FailedComputation,
    "UnboundLocalError": UnsetVariable,
    "ValueError": WrongNumber,
}


_NAMED = (
    TracejitError,
    ShapeError,
    AxisError,
    DtypeError,
    OutOfRange,
    LeakedTensor,
    GradientError,
    UnknownSize,
    SymbolicValue,
    FailedAssertion,
    FailedComputation,
    UnsetVariable,
)
for _kind in _NAMED:
    _kind.__module__ = "tracejit.errors"  # where users find it, and what tracebacks show
