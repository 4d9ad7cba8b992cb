"""Recursion that exceeds Python's stack: errors for calls and for values that are nested too deeply.

Walks over graphs and records do not call themselves per node, so that no program is too long; what is left are the
user's own calls, of which each takes several of ours while it is traced.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from types import CodeType, FrameType, TracebackType

from ..errors import PACKAGE, Location, Untraceable, at, is_internal

#: Calls that must be left for finding the words.
_ROOM = 100
#: So many calls of one function are no accident.
_REPEATED = 4


class TooDeep(Untraceable, RecursionError):
    """Calls, or values inside of values, deeper than Python's stack.

    Examples
    --------
    >>> import tracejit as tf
    >>> @tf.function
    ... def f(x):
    ...     return f(x)
    >>> try:
    ...     f(1.0)
    ... except tf.errors.TooDeep as error:
    ...     print(type(error).__name__)
    TooDeep
    """

    __module__ = "tracejit.errors"


def too_deep(error: RecursionError) -> RecursionError:
    """The error that says who calls whom, where; `error` itself while the stack is too full to find out."""
    if error.__class__ is not RecursionError:
        return error
    outer = list(_callers(sys._getframe(1)))[::-1]
    limit = sys.getrecursionlimit()
    if limit - len(outer) < _ROOM:
        return error
    inner = list(_called(error.__traceback__))
    stack = [(Location(place), is_internal(place[0])) for place in (*outer, *inner)]
    entry = next((k for k, (place, _) in enumerate(stack) if place.file.startswith(PACKAGE)), 0)
    own = [place for place, ours in stack[entry:] if not ours]
    here = at(own[-1] if own else stack[entry - 1][0])
    if _calls_itself([code for code, _ in inner]):
        return TooDeep(
            f"values are nested in each other deeper than Python's stack, or contain themselves{here}"
        )
    counts = Counter(place.code for place in own if not place.code.co_name.startswith(("<", "_ag_")))
    counts = counts or Counter(place.code for place in own)
    code, times = counts.most_common(1)[0] if counts else (None, 0)
    if code is None or times < _REPEATED:
        return TooDeep(
            f"functions call each other deeper than Python's stack, whose limit is {limit} calls, of which tracing and "
            f"each transform take several: put fewer inside of each other, or set sys.setrecursionlimit{here}"
        )
    calls = [place for place in own if place.code is code]
    return TooDeep(
        f"{code.co_name!r} calls itself, {times} times when Python's stack was full, whose limit is {limit} calls, of "
        "which tracing takes several for each of yours: if it ends at all, write a loop, or set "
        f"sys.setrecursionlimit{at(calls[-2])}"
    )


def _callers(frame: FrameType | None) -> Iterator[tuple[CodeType, int]]:
    while frame is not None:
        yield frame.f_code, frame.f_lasti
        frame = frame.f_back


def _called(traceback: TracebackType | None) -> Iterator[tuple[CodeType, int]]:
    while traceback is not None:
        yield traceback.tb_frame.f_code, traceback.tb_lasti
        traceback = traceback.tb_next


def _calls_itself(codes: list[CodeType]) -> bool:
    """Is the end of the stack one function of ours, which walks a value?"""
    last = [(c.co_filename, c.co_qualname.split(".")[0]) for c in codes[-100:-2]]
    return len(last) > 50 and len(set(last)) == 1 and is_internal(codes[-3])
