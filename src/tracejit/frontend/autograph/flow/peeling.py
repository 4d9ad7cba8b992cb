"""`compile_loop`: compiles a loop, with its first iteration unrolled before it if necessary.

It is where variables have another type in the first iteration than in the others, as `best` has here:
``best = None``, then ``if best is None or row < best: best = row`` for every row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from ....core.errors import TracejitError
from ....core.op import ops
from ....core.tracing.dispatch import as_tensor
from ....core.tracing.transaction import Attempt, handled
from ....ops.tensor.indexing import get
from ..places.place import Carried, Places
from ..values.iteration import Looped, is_size, row_at
from ..values.kinds import TraceError, traced
from .branches import branch
from .loops import LoopTypeChanged, Steps, run_loop
from .surroundings import Surroundings

_WRITTEN_OUT = 2  # iterations at most


class Loop(Protocol):
    """A loop whose iterations can be told apart."""

    def steps(self) -> Steps:
        """All of its iterations."""
        ...

    def runs(self) -> Any:
        """Whether there is a first iteration; may be traced."""
        ...

    def first(self) -> None:
        """Run the first iteration."""
        ...

    def rest(self) -> Loop | None:
        """The other iterations; None where there are none."""
        ...


class ForLoop:
    """``for item in over: body(item)`` while ``going()`` holds."""

    def __init__(self, over: Looped, body: Callable[[Any], Any], going: Callable[[], Any] | None):
        self.over = over
        self.body = body
        self.going = going
        self.surely = is_size(over.length) and over.length > 0

    def steps(self) -> Steps:
        over, body, going = self.over, self.body, self.going
        if going is None:
            return Steps(
                lambda i, rows: body(over.item(i, rows)),
                rows=list(over.rows),
                count=over.count,
                length=over.length,
                surely_runs=self.surely,
                what="`for`",
            )
        return Steps(
            lambda i, rows: body(over.item(i, row_at(over.rows, i))),
            test=going,
            count=over.size(),
            surely_runs=self.surely,
            what="`for`",
        )

    def runs(self) -> Any:
        some = True if self.surely else ops.greater(self.over.size(), as_tensor(0, "int64"))
        return some if self.going is None else _both(some, self.going())

    def first(self) -> None:
        self.body(self.over.item(as_tensor(0, "int64"), [get(r, 0) for r in self.over.rows]))

    def rest(self) -> Loop | None:
        return None if self.over.length == 1 else ForLoop(self.over.rest(), self.body, self.going)


class WhileLoop:
    """``while test(): body()``."""

    def __init__(self, test: Callable[[], Any], body: Callable[[], Any]):
        self.runs = test
        self.body = body

    def steps(self) -> Steps:
        return Steps(lambda i, rows: self.body(), test=self.runs, what="`while`")

    def first(self) -> None:
        self.body()

    def rest(self) -> Loop | None:
        return self


def _both(a: Any, b: Any) -> Any:
    """``a and b``, where either may be traced and both can be asked."""
    if traced(a) and traced(b):
        return ops.logical_and(a, b)
    return (b if a else a) if traced(b) else (a if b else b)


def compile_loop(loop: Loop, carried: Carried) -> None:
    """Trace the loop, and give the variables their values after it."""
    try:
        _settle(loop, carried, _WRITTEN_OUT)
    except LoopTypeChanged as unsettled:
        handled(unsettled)
        raise unsettled.error from None


def _settle(loop: Loop, carried: Carried, left: int) -> None:
    with Attempt() as attempt:
        try:
            run_loop(loop.steps(), carried.places, carried.lists)
            return
        except LoopTypeChanged as unsettled:
            if not left:
                raise
            attempt.rollback()
            whole = unsettled
    with Attempt() as attempt, Surroundings(carried.places, certain=True):
        try:
            _write_out(loop, carried, left - 1)
            return
        except (LoopTypeChanged, TracejitError, TraceError) as error:
            if isinstance(error, TraceError) and type(error) is not TraceError:
                raise
            attempt.rollback()
    raise whole.again()  # what was wrong with the whole loop says more


def _write_out(loop: Loop, carried: Carried, left: int) -> None:
    """The first iteration, then a loop over the others; under a condition where there may be none."""

    def whole() -> None:
        loop.first()
        rest = loop.rest()
        if rest is not None:
            own = replace(carried, places=carried.places.copy())  # what it finds besides is its own
            with Attempt() as attempt:
                _settle(rest, own, left)
                attempt.waiting.clear()  # the first iteration has told it

    runs = loop.runs()
    if traced(runs):
        read_after = set(carried.places.names).difference(carried.inner)
        branch(runs, whole, None, carried.places, Places((), (), ()), read_after, carried.inner)
    elif runs:
        whole()
