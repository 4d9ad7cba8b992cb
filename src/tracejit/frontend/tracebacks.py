"""Tracebacks without internal frames: the frames of the user, and one of this package.

Compiled functions shorten theirs when an error leaves them; what shows errors at the end of a program, in a thread and
in a notebook does so with any. ``settings(internal_frames=True)`` shows all. Nothing is done before there is an error.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from ..core.errors import is_explained, is_internal
from ..core.settings import current

E = TypeVar("E", bound=BaseException)
_NUMPY = os.path.join(os.path.dirname(np.__file__), "")


def shortened(error: E) -> E:
    """The error itself, with fewer frames in its traceback, and without causes that no user knows."""
    if current().internal_frames:
        return error
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        kept = [tb for tb, is_users in _told_apart(link.__traceback__) if is_users]
        own = [tb for tb, is_users in _told_apart(link.__traceback__) if not is_users and _is_ours(tb)]
        if link is error or kept:
            after = [tb for tb in own if not kept or _is_behind(kept[-1], tb)]
            link.__traceback__ = _joined([*kept, *after[:1]])
        if isinstance(link, Exception) and is_explained(link) and not _is_users(link.__cause__):
            link.__cause__, link.__suppress_context__ = None, True  # it says all that its cause did
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return error


def _frames(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _is_ours(traceback: TracebackType) -> bool:
    return is_internal(traceback.tb_frame.f_code)


def _told_apart(traceback: TracebackType | None) -> Iterator[tuple[TracebackType, bool]]:
    """Each frame, and whether it is the user's: libraries that we call are ours."""
    inside = False
    for tb in _frames(traceback):
        library = tb.tb_frame.f_code.co_filename.startswith(_NUMPY)
        inside = _is_ours(tb) or (inside and library)
        yield tb, not inside


def _is_users(error: BaseException | None) -> bool:
    return error is not None and any(users for _, users in _told_apart(error.__traceback__))


def _is_behind(first: TracebackType, second: TracebackType) -> bool:
    return second is not first and any(tb is second for tb in _frames(first))


def _joined(frames: list[TracebackType]) -> TracebackType | None:
    """New links, as those of a traceback belong to whoever holds it."""
    chain: TracebackType | None = None
    for tb in reversed(frames):
        chain = TracebackType(chain, tb.tb_frame, tb.tb_lasti, tb.tb_lineno)
    return chain


# ---- what shows errors ----------------------------------------------------------------------------------


def install() -> None:
    """Let the hooks for errors that nobody caught, of threads too, and a notebook's, shorten tracebacks first."""
    before, before_of_threads = sys.excepthook, threading.excepthook

    def show(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        if error is not None and _passed_through(error):
            traceback = shortened(error.with_traceback(traceback)).__traceback__
        before(kind, error, traceback)

    def show_of_thread(told: Any) -> None:
        error = told.exc_value
        if error is not None and _passed_through(error):
            traceback = shortened(error.with_traceback(told.exc_traceback)).__traceback__
            told = threading.ExceptHookArgs((told.exc_type, error, traceback, told.thread))
        before_of_threads(told)

    sys.excepthook, threading.excepthook = show, show_of_thread
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None:
        shell.set_custom_exc((Exception,), _show_in_notebook)


def _passed_through(error: BaseException) -> bool:
    """Was the package on the way of the error?"""
    return any(map(_is_ours, _frames(error.__traceback__)))


def _show_in_notebook(shell: Any, kind: Any, error: Any, traceback: Any, tb_offset: int | None = None) -> Any:
    """What IPython calls for errors in place of its own: shows them as it would, shortened."""
    if _passed_through(error):
        traceback = shortened(error.with_traceback(traceback)).__traceback__
    text = shell.InteractiveTB.structured_traceback(kind, error, traceback, tb_offset=tb_offset)
    shell._showtraceback(kind, error, text)
    return text
