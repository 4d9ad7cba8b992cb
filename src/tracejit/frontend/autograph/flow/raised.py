"""``raise`` in a branch whose condition only the compiled function knows: a check that it does not come to that."""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ....core.errors import FAILURES
from ....core.op import ops
from ....core.tensor import Tensor
from ....core.tracing.dispatch import is_tracing
from ....core.tracing.transaction import Attempt
from ..values.kinds import TraceError, escaping

_MARK = "raised_by_program"


class RaisedInBranch(TraceError):
    """What a statement of the program raised while a branch was traced.

    Parameters
    ----------
    error : Exception
    side : str
        Which branch, "then" or "orelse".
    of : object
        What tells this ``if`` from those around it.
    """

    def __init__(self, error: Exception, side: str, of: object):
        super().__init__(escaping(error, "a branch").error)
        self.side = side
        self.of = of


class _Handlers(threading.local):
    around = 0


_handlers = _Handlers()


@contextmanager
def trying() -> Iterator[None]:
    """What runs inside is in a ``try`` with handlers, which may be about what is raised."""
    _handlers.around += 1
    try:
        yield
    finally:
        _handlers.around -= 1


def tried(trace: Callable[[], None], of: object) -> RaisedInBranch | None:
    """Trace an ``if``, known by `of`; what a branch raised that is to be left out, since no handler may be about it."""
    with Attempt() as attempt:
        try:
            trace()
        except RaisedInBranch as raised:
            if raised.of is not of or _handlers.around:
                raise
            attempt.rollback()
            return raised
    return None


def raising(error: Any) -> Any:
    """What ``raise error`` raises; known from then on as the program's own."""
    made = error() if isinstance(error, type) and issubclass(error, Exception) else error
    if isinstance(made, Exception) and is_tracing():
        vars(made)[_MARK] = True
    return made


def is_raised_by_program(error: Exception) -> bool:
    """Was it raised by a statement of the program that is being traced?"""
    return _MARK in vars(error)


def check(holds: Tensor, error: Exception) -> None:
    """Raise what `error` says when the function runs, unless the scalar bool `holds` is true then."""
    kind = type(error)
    name = next(
        (c.__name__ for c in kind.__mro__ if vars(builtins).get(c.__name__) is c and c.__name__ in FAILURES),
        "RuntimeError",
    )
    text = str(error.args[0] if len(error.args) == 1 else error)  # a KeyError shows its text in quotes
    message = text if kind.__name__ == name else f"{kind.__name__}: {text}"
    ops.check(ops.cast(holds, dtype=np.dtype(np.float32)), message=message, error=name)
