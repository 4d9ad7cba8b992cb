"""Attempts at tracing as transactions: effects on the trace, tapes and Python objects are kept or undone together.

A loop, a branch or a functional form may have to be traced again: a type was another one than thought, a Variable
turned out to be assigned, a list to grow. Each try is an :class:`Attempt`; the one that stands is kept, the others
are rolled back. Whoever changes something that tracing again would change twice tells the innermost attempt first
(:func:`remember`), or lets it wait until the attempt stands (:func:`when_kept`). Knows nothing of what is traced.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Hashable
from functools import partial
from types import FrameType, TracebackType
from typing import Any, Self

from ..dim import GuardMark
from ..errors import REFUSALS, Untraceable, is_internal
from ..ir.graph import Graph, Node, has_effect
from ..seams import traced_again
from ..tensor import Tensor
from .dispatch import state
from .trace import Trace, VariableState


class Unwinding(BaseException):
    """Leaves what is being traced, past the handlers of the traced program.

    A handler that catches it all the same, as a bare ``except:`` does, only delays it: the attempt it was raised in
    raises it again at its end.
    """

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.again()

    def again(self) -> Unwinding:
        """The same, to be raised by who has caught it."""
        if state.mode.attempt is not None:
            state.mode.attempt.unwinding = self
        return self


class Whole:
    """What is traced once, and nobody tries again; a context.

    Does nothing but raise what was meant to leave it and was caught by a handler of the traced program.
    """

    __slots__ = ("unwinding", "around", "refused")

    def __init__(self) -> None:
        self.unwinding: Unwinding | None = None
        self.around: Attempt | Whole | None = None
        self.refused: list[Untraceable] | None = None

    def __enter__(self) -> Whole:
        _enter(self)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        state.mode.attempt = self.around
        _leave(self, error)


def _enter(inside: Whole | Attempt) -> None:
    inside.around, state.mode.attempt = state.mode.attempt, inside
    inside.refused, REFUSALS.pending = REFUSALS.pending, []


def _leave(inside: Whole | Attempt, error: BaseException | None) -> None:
    """Hand on, or raise again, what was raised inside to leave it, and what was refused inside."""
    refused = REFUSALS.pending or []
    REFUSALS.pending = inside.refused
    if inside.refused is not None:
        inside.refused += refused
    if error is None and inside.unwinding is None and refused:
        raise refused[0] from None
    left = error if isinstance(error, Unwinding) else inside.unwinding
    if left is None:
        return
    if inside.around is not None:
        inside.around.unwinding = left
    if left is not error and (error is None or isinstance(error, Exception)):
        raise left from None  # somebody caught it who does not know what it is


class Attempt:
    """One try at tracing something; a context.

    It is kept when the block ends, and rolled back when the block raises or calls :meth:`rollback`.

    Attributes
    ----------
    unwinding : Unwinding or None
        What was raised inside and nobody who knows it has handled.
    """

    __slots__ = ("trace", "tapes", "undo", "waiting", "unwinding", "around", "refused")

    def __init__(self) -> None:
        now = state.interpreter
        self.trace: TraceSnapshot | None = TraceSnapshot(now) if isinstance(now, Trace) else None
        self.tapes: list[Any] = [r.snapshot() for r in state.recorders if hasattr(r, "snapshot")]
        self.undo: dict[Hashable, Callable[[], None]] = {}
        self.waiting: list[Callable[[], None]] = []
        self.unwinding: Unwinding | None = None
        self.around: Attempt | Whole | None = None
        self.refused: list[Untraceable] | None = None

    def __enter__(self) -> Self:
        _enter(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        state.mode.attempt = self.around
        if error is not None or self.unwinding is not None or REFUSALS.pending:
            self._restore()
        around = _attempt()
        if around is not None:
            around.waiting += self.waiting
            for key, undo in self.undo.items():
                around.undo.setdefault(key, undo)
        else:
            _do(self.waiting)
        _leave(self, error)

    def rollback(self, keeping_nodes: bool = False) -> None:
        """Make everything as it was at the start: nothing that waited will happen.

        With `keeping_nodes` what was computed stays in the graph, and nothing else.
        """
        self._restore(keeping_nodes)
        self.waiting, self.unwinding, REFUSALS.pending = [], None, []

    def tell(self) -> None:
        """Do what waits, as printing does: the program has come so far before it failed."""
        waiting, self.waiting = self.waiting, []
        _do(waiting)

    def _restore(self, keeping_nodes: bool = False) -> None:
        for undo in reversed(self.undo.values()):
            undo()
        for undo in self.tapes:
            undo()
        if self.trace is not None:
            self.trace.rollback(keeping_nodes)
        self.undo = {}


class TraceSnapshot:
    """A point of a trace: its nodes, inputs and Variables, and what it has assumed."""

    __slots__ = ("trace", "nodes", "inputs", "constants", "captures", "held", "bodies", "guards")

    def __init__(self, trace: Trace):
        self.trace: Trace = trace
        self.nodes: int = len(trace.graph.nodes)
        self.inputs: int = len(trace.graph.inputs)
        self.constants: int = len(trace.constants)
        self.captures: int = len(trace.captures)
        self.held: list[tuple[VariableState, Tensor, bool]] = [
            (h, h.now, h.assigned) for h in trace.held.values()
        ]
        self.bodies: int = len(trace.bodies)
        self.guards: GuardMark = GuardMark()

    def rollback(self, keeping_nodes: bool = False) -> None:
        """Forget what was added since; it belongs to a finished graph now, so that using it is an error.

        With `keeping_nodes` only Variables have the values again that they had.
        """
        for h, now, assigned in self.held:
            h.now, h.assigned = now, assigned
        for h in list(self.trace.held.values())[len(self.held) :]:
            h.now, h.assigned = h.entry, False
        _truncate(self.trace.bodies, self.bodies)
        if keeping_nodes:
            return
        trace, graph = self.trace, self.trace.graph
        forgotten = Graph("an attempt that was taken back", finished=True)
        kept = self._for_sizes(graph.nodes[self.nodes :])
        for node in graph.nodes[self.nodes :]:
            for value in node.outputs:
                value.graph = value.graph if node in kept else forgotten
        graph.nodes[self.nodes :] = [n for n in graph.nodes[self.nodes :] if n in kept]
        _truncate(trace.constants, self.constants)
        if not kept:  # else they may take what was captured since
            for value in graph.inputs[self.inputs :]:
                value.graph = forgotten
            del graph.inputs[self.inputs :]
            _truncate(trace.captures, self.captures)
            _truncate(trace.held, len(self.held))
        self.guards.rollback()

    def _for_sizes(self, added: list[Node]) -> set[Node]:
        """Those of the nodes that sizes come from: who has learned something from the attempt may mention them."""
        needed = {n for n in added if n in self.trace.counting}
        for node in reversed(added if needed else []):
            if node in needed:
                needed.update(v.node for v in node.inputs if v.node is not None and not has_effect(v.node))
        return needed


def _truncate(table: dict[Any, Any], length: int) -> None:
    """Drop what was added last."""
    while len(table) > length:
        table.popitem()


def _attempt() -> Attempt | None:
    """The innermost attempt."""
    attempt = state.mode.attempt
    while isinstance(attempt, Whole):
        attempt = attempt.around
    return attempt


def remember(key: Hashable, save: Callable[[], Callable[[], None]]) -> None:
    """Something is about to change: ``save()`` returns how to undo that, and is asked once per attempt and key."""
    attempt = _attempt()
    if attempt is not None and key not in attempt.undo:
        attempt.undo[key] = save()


def tracing_body(body: object, name: str) -> None:
    """`body` is about to be traced into a region of the trace in charge, as the part of that name."""
    now = state.interpreter
    if not isinstance(now, Trace):
        return
    key = (id(body), name)
    if key in now.bodies:
        traced_again(f"{name} of {body!r} was traced twice, and the first time was not taken back")
    now.bodies[key] = body


def when_kept(action: Callable[[], None]) -> None:
    """Do something that cannot be undone: now, or once the attempts around it stand."""
    attempt = _attempt()
    if attempt is None:
        action()
    else:
        attempt.waiting.append(action)


def is_attempting() -> bool:
    """May what is being traced be traced again?"""
    return _attempt() is not None


def may_be_taken_back(trace: Trace) -> bool:
    """May what is added to this trace be taken back, while the trace goes on?"""
    attempt = state.mode.attempt
    while attempt is not None:
        if isinstance(attempt, Attempt) and attempt.trace is not None and attempt.trace.trace is trace:
            return True
        attempt = attempt.around
    return False


def warn(message: str | Warning, category: type[Warning] | None = None, stacklevel: int = 1) -> None:
    """Warn of `message`, of `category`, at the user's line, or `stacklevel` - 1 calls further out, once.

    An attempt that is taken back does not.

    Examples
    --------
    >>> import warnings
    >>> import tracejit as tf
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     tf.errors.warn("the step is large", RuntimeWarning)
    >>> print(said[0].category.__name__, said[0].message)
    RuntimeWarning the step is large
    """
    category = type(message) if isinstance(message, Warning) else category or UserWarning
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (is_internal(frame.f_code) or stacklevel > 1):
        stacklevel -= not is_internal(frame.f_code)
        frame = frame.f_back
    if frame is None:
        when_kept(partial(warnings.warn, message, category))
        return
    place: dict[str, Any] = {
        "filename": frame.f_code.co_filename,
        "lineno": frame.f_lineno,
        "module": frame.f_globals.get("__name__"),
        "registry": frame.f_globals.setdefault("__warningregistry__", {}),
    }
    when_kept(partial(warnings.warn_explicit, message, category, **place))


def handled(left: Unwinding) -> None:
    """Somebody who knows it has caught `left`: no attempt raises it again."""
    attempt = state.mode.attempt
    while attempt is not None:
        if attempt.unwinding is left:
            attempt.unwinding = None
        attempt = attempt.around


def _do(actions: list[Callable[[], None]]) -> None:
    for action in actions:
        action()
