"""Listeners of running loops: progress bars, and a warning about endless loops.

Code that polls has noted in its context which loops it is in. Knows the calling convention and the settings, not
how code is called or interrupted.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol

from tracejit.core import settings
from tracejit.core.errors import Location
from tracejit.runtime.abi import LOOP_WORDS, Context

LONG = 10.0
"""Seconds after which, under the setting ``check``, a loop whose number of iterations is unknown is warned of."""


class Loop(NamedTuple):
    """A loop that is running.

    Attributes
    ----------
    file, line
        Where it stands in the user's program; an empty name and 0 when that is not known.
    done : int
        Iterations behind it.
    total : int or None
        Of how many; None when nothing tells.
    """

    file: str
    line: int
    done: int
    total: int | None

    def __str__(self) -> str:
        where = f" at {self.file}:{self.line}" if self.file else ""
        total = f" of {self.total:,}" if self.total is not None else ""
        return f"iteration {self.done + 1:,}{total} of the loop{where}"


Messages = Sequence[str | tuple[str, str]]
Loops = tuple[Loop, Loop]
"""The outermost and the innermost loop; twice the same when there is one."""


class Listener(Protocol):
    """Who hears where loops are; an error that it raises ends the call."""

    def at(self, loops: Loops) -> None:
        """A call is here."""

    def over(self) -> None:
        """The call has come to its end."""


#: Who hears of the polls of calls made in this context.
progress: ContextVar[Listener | None] = ContextVar("tracejit_progress", default=None)


class LongLoopWarning(RuntimeWarning):
    """A loop has run for long and nothing tells when it ends.

    Examples
    --------
    >>> import warnings
    >>> import tracejit as tf
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", tf.LongLoopWarning)
    ...     print(tf.while_loop(lambda i: i < 3, lambda i: [i + 1], [tf.constant(0)])[0])
    tf.Tensor(3, shape=(), dtype=int32)
    """


def listener() -> Listener | None:
    """Who is to hear of the polls of a call that begins now."""
    shown = progress.get()
    return Patience(shown) if settings.current().check else shown


def eager(location: Location | None) -> Callable[[int], None] | None:
    """What a loop that Python runs is to call with the iterations behind it; None when nobody wants to know."""
    if not settings.current().check:
        return None
    patience = Patience()
    file, line = (location.file, location.line) if location is not None else ("", 0)

    def at(done: int) -> None:
        loop = Loop(file, line, done, None)
        patience.at((loop, loop))

    return at


def loops(context: Context, messages: Messages) -> Loops:
    """The outermost and the innermost loop of code that polls."""
    words = context.loops[:]
    return _loop(words[:LOOP_WORDS], messages), _loop(words[LOOP_WORDS:], messages)


def _loop(words: list[int], messages: Messages) -> Loop:
    message, done, total = words
    file, line = "", ""
    if 0 <= message < len(messages):
        file, _, line = messages[message][1].rpartition(":")
    return Loop(file, int(line or 0), done, None if total < 0 else total)


def text(loops: Loops) -> str:
    """Where a call was, for a person."""
    outer, inner = loops
    if outer == inner:
        return f"in {inner}"
    return f"in {inner}, in {outer}"


class Patience:
    """Warns, once, of a loop that may have no end: for long in one run of a loop whose total is unknown."""

    since: float

    def __init__(self, other: Listener | None = None) -> None:
        self.other = other
        self.run: tuple[Any, ...] = ()
        self.last: int = 0
        self.since = 0.0
        self.warned: bool = False

    def at(self, loops: Loops) -> None:
        if self.other is not None:
            self.other.at(loops)
        if not self.warned:
            self.look(*loops)

    def over(self) -> None:
        if self.other is not None:
            self.other.over()

    def look(self, outer: Loop, inner: Loop) -> None:
        suspect = outer if outer.total is None else inner
        if suspect.total is not None:
            return
        run = (suspect[:2], -1 if suspect is outer else outer.done)
        now = time.monotonic()
        if run != self.run or suspect.done < self.last:
            self.run, self.since = run, now
        self.last = suspect.done
        if now - self.since >= LONG:
            self.warned = True
            warn(suspect, now - self.since)


def warn(loop: Loop, seconds: float) -> None:
    """Say, at the loop's own line, that it has run for long."""
    message = (
        f"this loop has run for {seconds:.0f} s and {loop.done:,} iterations, and nothing tells when it ends; "
        "Ctrl-C ends it"
    )
    warnings.warn_explicit(message, LongLoopWarning, loop.file or "?", loop.line)
