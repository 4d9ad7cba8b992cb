"""Which arrays are written to while a branch or loop is traced, and how that is undone. Knows nothing of arrays."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ....core.ir.graph import Graph
from ....core.tracing.dispatch import state
from ....core.tracing.trace import Trace
from ....core.tracing.transaction import remember


class Log:
    """Which storages were written to while this was open; a context."""

    def __init__(self) -> None:
        self.saved: dict[int, tuple[Any, Callable[[], None]]] = {}

    def __enter__(self) -> Log:
        opened.logs.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        opened.logs.remove(self)

    def restore(self) -> None:
        """Undo what was written; it may be written again."""
        for _, restore in self.saved.values():
            restore()

    def storages(self) -> list[Any]:
        """Those that were written to."""
        return [storage for storage, _ in self.saved.values() if storage is not None]


def saved_in_logs(key: int, save: Callable[[], Callable[[], None]], storage: Any = None) -> None:
    """What is known of writes is about to change: ``save()`` returns how to undo that, for a `storage` if given."""
    remember(("written", key), save)
    for log in opened.logs:
        if key not in log.saved:
            log.saved[key] = (storage, save())


class _Open(threading.local):
    """What is open in this thread: logs, branches that hand on what they write to, and views that are being made."""

    def __init__(self) -> None:
        self.logs: list[Log] = []
        self.branches: list[Graph] = []
        self.inside = 0


opened = _Open()


class inside_branch:
    """What is written in this ``with`` block to an array from outside is handed on by the branch that it is in."""

    def __enter__(self) -> None:
        now = state.interpreter
        assert isinstance(now, Trace)
        opened.branches.append(now.graph)

    def __exit__(self, *exc: object) -> None:
        opened.branches.pop()
