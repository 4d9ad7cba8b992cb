"""Progress bars of compiled loops and of long work in Python.

Knows what a running loop tells, not how it is asked.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextvars import Token
from pathlib import Path
from types import TracebackType
from typing import Any

from ..runtime import watch
from ..runtime.watch import Loop, Loops


class progress:
    """For a ``with`` block, show how far the loops of compiled functions are.

    Compiled loops look up from their work every few milliseconds; shown is the outermost loop that runs, at most
    every `every` seconds. Loops that are over before are not seen, nor are loops of other threads.

    Parameters
    ----------
    show : callable, optional
        Called with the loop: its ``file``, ``line``, iterations ``done`` and ``total`` (None when not known before
        it ends). What it raises ends the compiled call. By default a bar, drawn by tqdm where it is installed.
    every : float
        Seconds between two calls.

    Examples
    --------
    >>> import tracejit as tf
    >>> @tf.function
    ... def halve(x, n):
    ...     return tf.fori_loop(0, n, lambda i, x: x / 2, x)
    >>> seen = []
    >>> with tf.progress(lambda loop: seen.append(loop.total), every=0.0):
    ...     y = halve(tf.constant(1.0), tf.constant(30_000_000))
    >>> float(y), set(seen)
    (0.0, {30000000})
    """

    def __init__(self, show: Callable[[Loop], Any] | None = None, every: float = 0.1):
        self.bar: Bar | None = Bar() if show is None else None
        self.show: Callable[[Loop], Any] = self.bar.show if self.bar is not None else show  # type: ignore[assignment]
        self.every = every
        self.next: float = 0.0
        self.last: Loop | None = None
        self.token: Token[Any] | None = None

    def __enter__(self) -> progress:
        self.token = watch.progress.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self.token is not None
        watch.progress.reset(self.token)
        if self.bar is not None:
            self.bar.close()

    def at(self, loops: Loops) -> None:
        """Be told how far each of `loops` is, the outermost first."""
        loop, before = loops[0], self.last
        if before is not None and (loop[:2] != before[:2] or loop.done < before.done):
            self.over()  # another loop, or the same one again
        now = time.monotonic()
        if now >= self.next or self.last is None:
            self.show(loop)
            self.next = now + self.every
        self.last = loop

    def over(self) -> None:
        """The loop seen last is behind us."""
        if self.last is not None and self.last.total is not None:
            self.show(self.last._replace(done=self.last.total))
        self.last = None
        if self.bar is not None:
            self.bar.close()


class Bar:
    """One loop at a time, by tqdm or as a line of text that is written over."""

    def __init__(self) -> None:
        self.drawn: Any = None

    def show(self, loop: Loop) -> None:
        if self.drawn is None:
            name = f"{Path(loop.file).name}:{loop.line}" if loop.file else "loop"
            self.drawn = drawer()(total=loop.total, desc=name)
        self.drawn.update(loop.done - self.drawn.n)

    def close(self) -> None:
        if self.drawn is not None:
            self.drawn.close()
        self.drawn = None


def counted(items: Iterable[Any], total: int | None, every: float = 0.1) -> Iterator[Any]:
    """The items, with a bar of how many were taken, which is gone at the end."""
    bar, taken, shown_next = drawer()(total=total, leave=False), 0, 0.0
    try:
        for item in items:
            yield item
            taken += 1
            if time.monotonic() >= shown_next:
                bar.update(taken - bar.n)
                shown_next = time.monotonic() + every
    finally:
        bar.close()


def watched() -> bool:
    """Does somebody look: at a terminal, or in a notebook?"""
    kernel = sys.modules.get("ipykernel.kernelapp")
    return sys.stderr.isatty() or (kernel is not None and kernel.IPKernelApp.initialized())


def level_of(verbose: Any) -> int:
    """How much is shown for `verbose`: 0 nothing, 1 a bar, 2 lines alone; ``"auto"`` is a bar where somebody looks."""
    return (1 if watched() else 2) if verbose == "auto" else int(verbose)


def drawer() -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return Line
    return tqdm


class Line:
    """The part of tqdm's interface that is used here, as plain text on stderr."""

    n: int

    def __init__(self, total: int | None, desc: str = "", leave: bool = True):
        self.total = total
        self.desc: str = f"{desc}: " if desc else ""
        self.leave = leave
        self.n = 0
        self.width: int = 0

    def update(self, more: int) -> None:
        self.n += more
        part = f" of {self.total:,} ({self.n / max(self.total, 1):.0%})" if self.total is not None else ""
        text = f"{self.desc}{self.n:,}{part}"
        self.width = len(text)
        sys.stderr.write(f"\r{text}")
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\n" if self.leave else f"\r{' ' * self.width}\r")
