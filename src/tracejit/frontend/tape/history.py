"""History: a log of what happened under a tape, without values, to explain a missing gradient afterwards.

It holds every step, those that no tape follows too, and what took values out of a tape's sight: conversions to
NumPy, assignments, pauses and resets. The latest ones are kept, up to a limit. Knows nothing of what is asked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from ...core.errors import Location, own_location
from ...core.op import Op
from ...core.tensor import Tensor, next_serial
from ...core.tracing.dispatch import Record

#: Steps and events kept by one tape.
LIMIT = 20_000


class Step(NamedTuple):
    """An op call: tensors by serial number."""

    op: Op
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    dtype: np.dtype
    attrs: Any
    location: Location | None


class Event(NamedTuple):
    """Something else that happened.

    Attributes
    ----------
    kind : str
        ``value`` (somebody took the value), ``choice`` (a truth value or a whole number of it), ``inside`` (a
        compiled function that made it takes values out), ``assign`` (to `owner`), ``pause``, ``resume`` or ``reset``.
    serial : int
        Of the tensor concerned; else the number that the next tensor gets.
    owner : object
        The Variable assigned to.
    when : int
        Tensors made later have larger serial numbers.
    """

    kind: str
    serial: int
    location: Location | None
    owner: Any
    when: int


class History:
    """Steps and events, in order."""

    __slots__ = ("steps", "events")

    def __init__(self) -> None:
        self.steps: deque[Step] = deque(maxlen=LIMIT)
        self.events: deque[Event] = deque(maxlen=LIMIT)

    def follow(self, record: Record) -> None:
        """Keep a step of this call."""
        self.steps.append(step_of(record))

    def on_event(self, kind: str, tensor: Tensor | None = None, owner: Any = None) -> None:
        """Keep an event that happens now."""
        now = next_serial()
        serial = now if tensor is None else tensor.serial
        self.events.append(Event(kind, serial, own_location(), owner, now))

    def snapshot(self) -> Callable[[], None]:
        """How to forget what comes after this point."""
        steps, events = len(self.steps), len(self.events)

        def undo() -> None:
            for kept, length in ((self.steps, steps), (self.events, events)):
                while len(kept) > length:
                    kept.pop()

        return undo

    def all_steps(self, records: Iterable[Record | Step]) -> list[Step]:
        """The steps of the history and of a tape's records, in the order in which they were done."""
        more = (r if isinstance(r, Step) else step_of(r) for r in records)
        return sorted([*self.steps, *more], key=lambda s: s.outputs[0] if s.outputs else 0)


def step_of(record: Record) -> Step:
    """A call without its values."""
    outputs = record.outputs
    return Step(
        record.op,
        tuple([t.serial for t in record.inputs]),
        tuple([t.serial for t in outputs]),
        outputs[0].dtype if outputs else np.dtype(bool),
        record.attrs,
        record.location,
    )
