"""Functions that call themselves under a traced condition: tracing both branches would never end.

Says so at the user's line, instead of running out of Python's stack somewhere inside.
"""

from __future__ import annotations

import functools
import threading
from collections import Counter
from collections.abc import Callable
from types import CodeType, TracebackType
from typing import Any, TypeVar, cast

from ....core.errors import Location, Untraceable, at, is_internal
from ..values.kinds import GENERATED, TraceError

_DEEPEST = 200  # branches and loops inside of each other; Python's own stack is full after about 70
_REPEATED = 4

F = TypeVar("F", bound=Callable[..., Any])


class EndlessRecursion(Untraceable, RecursionError):
    """A function calls itself under a condition that is known only when the compiled function runs."""


class _Depth(threading.local):
    now = 0


_depth = _Depth()


def ending(trace_part: F) -> F:
    """Let a function that traces branches or bodies say where they call themselves without end."""

    @functools.wraps(trace_part)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        _depth.now += 1
        try:
            if _depth.now > _DEEPEST:
                raise RecursionError("branches inside of branches without end")
            return trace_part(*args, **kwargs)
        except (RecursionError, TraceError) as error:
            if _depth.now == 1:
                _explain(error)
            raise
        finally:
            _depth.now -= 1

    return cast(F, wrapper)


def _explain(error: RecursionError | TraceError) -> None:
    cause = error.error if isinstance(error, TraceError) else error
    if not isinstance(cause, RecursionError) or isinstance(cause, EndlessRecursion):
        return
    repeated = _repeated(error.__traceback__)
    if repeated is not None:
        name, location = repeated
        raise TraceError(
            EndlessRecursion(
                f"{name!r} calls itself under a condition that is known only when the compiled function runs, so "
                "tracing, which follows both sides, has no end or one too deep for Python's stack: write a loop, or "
                f"let Python values decide{at(location)}"
            )
        ) from None


def _repeated(traceback: TracebackType | None) -> tuple[str, Location] | None:
    """The user's function that is most often on the stack, and where it is called again."""
    stack: list[tuple[CodeType, int]] = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not is_internal(code):
            stack.append((code, traceback.tb_lasti))
        traceback = traceback.tb_next
    counts = Counter(code for code, _ in stack if not code.co_name.startswith((GENERATED, "<lambda>")))
    counts = counts or Counter(code for code, _ in stack)
    for code, count in counts.most_common(1):
        if count >= _REPEATED:
            last = max(k for k, (c, _) in enumerate(stack) if c is code)
            return code.co_name, Location(stack[last - 1])
    return None
