"""Custom rules that call their own function: such a call is replaced by the value of the function.

What that means for derivatives is ``ops.control.own_value``'s. Knows nothing of what kinds of rules there are.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from ...core.errors import TracejitError, at, user_location

#: Rules inside of rules: more than any family of functions that call each other has.
_DEEPEST = 40


class OpenCall(Protocol):
    """A call whose rule is being traced: what tells it from others, whether its rule called it, and its name."""

    identity: Any
    key: Any
    level: int
    used: bool
    name: str


class _Open(threading.local):
    """The calls of a thread whose rule is being traced."""

    def __init__(self) -> None:
        self.calls: list[Any] = []


_open = _Open()


@contextmanager
def opening(call: OpenCall) -> Iterator[None]:
    """Trace the rule of `call` in a ``with`` block."""
    call.level, call.used = len(_open.calls), False
    if call.level >= _DEEPEST:
        raise TracejitError(
            f"the rule for the derivative of {call.name} calls {call.name} with other Python values or shapes than it "
            f"was called with, and so on without end: pass tensors for what changes{at(user_location())}"
        )
    _open.calls.append(call)
    try:
        yield
    finally:
        _open.calls.pop()


def around(identity: Any, key: Any) -> Any:
    """The call whose rule is being traced and that is repeated here, or None."""
    for call in reversed(_open.calls):
        if call.identity == identity and call.key == key:
            call.used = True
            return call
    return None
