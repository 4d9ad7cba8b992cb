"""Python state around a branch or loop, and how its body changes it: the Python side of an attempt at tracing.

Each body, and each iteration that is traced, starts from what was there before. What it changes is handed on with
the variables that the syntax shows; what is found changed besides is one more of them, and the body traced again.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, TypeVar

import numpy as np

from ....core.errors import Untraceable, at, user_location
from ....core.spec import TensorSpec
from ....core.tracing.transaction import Attempt, Unwinding, remember
from ....ops.tensor.memory.logs import Log
from ...state.variable import tracer
from ..places.mutations import MutationLog, changing
from ..places.place import Place, Places
from ..places.reachable import Change, Reachable
from ..values.contents import ContainerSnapshot
from ..values.kinds import TraceError

T = TypeVar("T")

_ROUNDS = 6  # attempts that may find more: afterwards, what is found is made anew by each


class CapturedMutation(Unwinding):
    """A body changes what its syntax does not show."""

    def __init__(self, changes: Sequence[Change]):
        super().__init__("changes of more than its variables")
        self.changes = changes


class Begun(TraceError):
    """A branch or loop writes to a TensorArray of which nobody knew the elements' shape: begin it, and try again."""

    def __init__(self, array: Any, spec: TensorSpec):
        super().__init__(
            Untraceable(
                "a TensorArray is written to in a function that was not told of it: pass it through the variables of "
                f"a while_loop, or write to it in a Python `for`, `while` or `if`{at(user_location())}"
            )
        )
        self.array = array
        self.spec = spec

    def is_for_here(self) -> bool:
        """Was the array made in the trace in charge? Only there it can be begun."""
        return self.array.home is tracer()

    def begin(self) -> None:
        """Let the array have its rows."""
        changing(self.array, "state")
        self.array.begin(self.spec)


class _Open(threading.local):
    def __init__(self) -> None:
        self.around: list[Surroundings] = []


_open = _Open()


_alive: weakref.WeakSet[Surroundings] = weakref.WeakSet()


def references_to(x: Any) -> int:
    """How often `x` is referred to by what may take back a branch or loop that is over; one that is not needs it."""
    return sum(s.references_to(x) for s in list(_alive) if not s.is_open)


def uncertain() -> Surroundings | None:
    """What is around the innermost body that may run another number of times than once; None outside of all."""
    return next((s for s in reversed(_open.around) if not s.certain), None)


class Surroundings:
    """The values of variables before a branch or loop, and all else that its body may change; a context.

    Parameters
    ----------
    places : Places
        The variables that are handed on.
    scratch : Places, optional
        Variables that are not handed on; their lists and dicts are given back what they hold.
    last : bool
        Changes of what is not handed on are no reason any more to trace again.
    certain : bool
        The body runs once, here and now.
    """

    def __init__(
        self, places: Places, scratch: Places | None = None, last: bool = False, certain: bool = False
    ):
        self.places = places
        self.last = last
        self.certain = certain
        self.own: list[Place] = list(places.places)  # more may be handed on later
        self.before: list[Any] = places.get()
        self.scratch: Places = Places((), (), ()) if scratch is None else scratch
        self.contents: ContainerSnapshot = ContainerSnapshot([*self.before, *self.scratch.get()])
        self.reachable: Reachable = Reachable(places.functions)
        self.handed_on: set[int] = set()  # objects built on lists and dicts that go on with the variables
        self.log: MutationLog = MutationLog()
        self.arrays: Log = Log()
        self.is_open: bool = False  # while a body is traced that may start from here again
        _alive.add(self)
        remember(self, lambda: self.rollback)

    def references_to(self, x: Any) -> int:
        """How often this refers to a list or dict."""
        reached = self.reachable
        kept = [*self.before, *self.contents.containers, *(c for c, _ in self.contents.saved)]
        kept += [v for _, v in reached.slots] + [c for _, c, _ in reached.containers]
        return sum(c is x for c in kept) + reached.knows(x)

    def __enter__(self) -> Surroundings:
        self.is_open = not self.certain
        self.log.__enter__()
        self.arrays.__enter__()
        _open.around.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        self.is_open = False
        _open.around.pop()
        self.arrays.__exit__()
        self.log.__exit__()

    def attempt(self) -> Attempt:
        """An attempt that starts from here."""
        made = Attempt()
        made.undo[self] = self.rollback
        return made

    def restore(self) -> None:
        """Give variables and what was announced what they were: the next body or iteration starts from there."""
        if self.log.mutations:
            self.log.restore()
            self.reachable.restore()  # what was announced may have been changed before, by what announces nothing
        self.arrays.restore()
        self.contents.restore()
        for place, value in zip(self.own, self.before, strict=True):
            place.set(value)

    def rollback(self) -> None:
        """Make everything as it was: what Python did besides, too, which else stands, and stands once."""
        self.restore()
        self.reachable.restore()

    def unknown(self) -> list[Change]:
        """What was changed that is not handed on."""
        changes = [*self.reachable.changes({p.key for p in self.scratch.places}), *self.log.changes()]
        by_key = {c.place.key: c for c in changes}
        by_key.update((c.place.key, c) for c in changes if c.grows)
        more = self.scratch.unknown(c.place for c in changes)
        return [by_key[p.key] for p in self.places.unknown(more)]

    def check(self, what: str) -> None:
        """Raise where the body of `what` has changed something that must be handed on, or cannot be."""
        other = self.reachable.foreign(self.handed_on)
        if other is not None:
            raise change_of(other, what)
        more = [] if self.last else self.unknown()
        if more:
            raise CapturedMutation(more)


def change_of(x: Any, what: str) -> Untraceable:
    """The error for changing in place what no branch or loop can hand on."""
    name = type(x).__name__
    instead = f"use a {'plain dict' if isinstance(x, dict) else 'list'} of numbers"
    if isinstance(x, np.ndarray):
        instead = "make it a tensor, as with x = tracejit.constant(x)"
    return Untraceable(
        f"{what} changes {'an' if name[0].lower() in 'aeiou' else 'a'} {name} in place, and how often it "
        f"runs is known only when the compiled function does: {instead}{at(user_location())}"
    )


def until_all_is_known(once: Callable[[bool], T], learn: Callable[[Sequence[Change]], None]) -> T:
    """Trace a branch or loop until it knows what it changes; ``once(last)`` does so, each in an attempt of its own."""
    for done in count():
        with Attempt() as attempt:
            try:
                return once(done >= _ROUNDS)
            except CapturedMutation as revealed:
                attempt.rollback()
                more: CapturedMutation | Begun = revealed
            except Begun as begun:
                if not begun.is_for_here():
                    raise
                attempt.rollback()
                more = begun
        if isinstance(more, Begun):
            more.begin()
        else:
            learn(more.changes)
    raise AssertionError("counts for ever")
