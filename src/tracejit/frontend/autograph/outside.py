"""Calls with effects outside of the program, such as opening files, and how attempts at tracing treat them.

What only tells waits until the attempt at tracing stands, so that it is told once. What asks or takes, and what
writes files, is refused by name in branches and loops: it would happen once, however often these run.
"""

from __future__ import annotations

import builtins
import functools
import io
from collections.abc import Callable, Iterator
from typing import Any

from ...core.errors import Untraceable, at, user_location
from ...core.tracing.transaction import is_attempting, warn, when_kept
from .flow.surroundings import uncertain

_TELLING = frozenset(
    "write writelines flush debug info warning error critical exception log".split()
)  # of files and of loggers

_ASKING = frozenset("isinstance id type callable hasattr getattr repr str iter print".split())


def print_(
    *values: Any, sep: str | None = " ", end: str | None = "\n", file: Any = None, flush: bool = False
) -> None:
    """Python's ``print``: once for each trace that stands."""
    text = io.StringIO()
    builtins.print(*values, sep=sep, end=end, file=text)
    when_kept(functools.partial(builtins.print, text.getvalue(), end="", file=file, flush=flush))


def warn_(message: Any, category: Any = None, stacklevel: int = 1, source: Any = None, **others: Any) -> None:
    """Python's ``warnings.warn``: once for each trace that stands."""
    warn(message, category, stacklevel)


def open_(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
    """Python's ``open``, not for writing where that may not happen."""
    if not set("wax+").isdisjoint(mode):
        _refuse(f"open(…, {mode!r})", "write to files before or after the function")
    return open(file, mode, *args, **kwargs)


def input_(prompt: Any = "", /) -> str:
    """Python's ``input``, not where nobody may be asked."""
    _refuse("input()", "ask before, and pass the answer")
    return input(prompt)


def next_(iterator: Any, *default: Any) -> Any:
    """Python's ``next``, not of what is taken from when the program runs."""
    refuse_taking(iterator)
    return next(iterator, *default)


def refuse_taking(iterator: Any) -> None:
    """Raise where a branch or loop takes items of an iterator made outside of it."""
    around = uncertain()
    if around is not None and isinstance(iterator, Iterator) and around.reachable.knows(iterator):
        _refuse(
            f"taking an item of a {type(iterator).__name__}",
            "loop over the items themselves, or stack them and index the tensor",
        )


def taking(f: Any) -> Any:
    """What to call in place of a function of Python's that may take items of its arguments, as ``list`` does."""
    around = uncertain()
    if around is None or not around.reachable.iterators or getattr(f, "__name__", "") in _ASKING:
        return f
    return functools.partial(_taking, f)


def _taking(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    for x in args:
        refuse_taking(x)
    return f(*args, **kwargs)


def telling(f: Any) -> Any:
    """What to call in place of a method that only tells: it waits; None for other methods."""
    if f.__name__ not in _TELLING or not is_attempting() or not _tells(f.__self__):
        return None
    return functools.partial(_later, f)


def _later(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    when_kept(functools.partial(f, *args, **kwargs))


def _tells(x: Any) -> bool:
    return isinstance(x, io.IOBase) or type(x).__module__ == "logging"


def _refuse(what: str, instead: str) -> None:
    if uncertain() is not None:
        raise Untraceable(
            f"{what} in a branch or loop of a compiled function happens when it is traced, not when it runs: "
            f"{instead}{at(user_location())}"
        )
