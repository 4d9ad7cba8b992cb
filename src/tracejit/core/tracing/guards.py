"""The registry of guards: recorders that answer for whole derivatives and know which tensors carry one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..protocols import Guard, Recorder
from .dispatch import state


class guarding:
    """Let a guard listen, and hear of values that leave, for a ``with`` block."""

    __slots__ = ("guard", "before")

    def __init__(self, guard: Guard):
        self.guard: Guard = guard

    def __enter__(self) -> None:
        mode = state.mode
        self.before: tuple[tuple[Recorder, ...], tuple[Guard, ...]] = mode.recorders, mode.guards
        mode.recorders, mode.guards, mode.busy = (
            (*mode.recorders, self.guard),
            (*mode.guards, self.guard),
            True,
        )

    def __exit__(self, *exc: object) -> None:
        mode = state.mode
        mode.recorders, mode.guards = self.before
        mode.update()


@contextmanager
def unguarded() -> Iterator[None]:
    """Let no guard hear of values that leave, nor of calls, for a ``with`` block."""
    mode = state.mode
    before = mode.recorders, mode.guards
    mode.recorders, mode.guards = tuple([r for r in mode.recorders if r not in mode.guards]), ()
    mode.update()
    try:
        yield
    finally:
        mode.recorders, mode.guards = before
        mode.update()


def carried(tensor: Any) -> bool:
    """Does a derivative that is being taken of a whole function flow through this tensor?"""
    return any(g.carries(tensor) for g in state.mode.guards)
