"""Guard: the recorder of function transforms, which returns the whole derivative or raises.

A value that leaves (`numpy()`, `float()`, an array of SciPy's) loses its derivative, and nothing tells what becomes of
it. A guard notes where the value of something that carries a derivative left; from then on all that enters from
outside may have been computed from it: tensors made of numbers and arrays, numbers among attributes. A result that
depends on any of those is refused, with the line where the value left. What is only looked at does no harm. What is
assigned to a Variable is stopped there, as by `stop_gradient`: reading one starts a new history.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ...core.errors import GradientError, Location, at, own_location
from ...core.ir.graph import Constant, Graph
from ...core.spec import DIFFERENTIABLE
from ...core.tensor import Tensor, next_serial
from ...core.tracing.dispatch import Record, state
from ...ops.tensor.memory.overlaps import Overlaps, Part, is_view
from ...ops.tensor.memory.storage import are_arrays, noted_view
from .losses import Flow, call_flows, graphs_of, takes_out
from .recorder import Recording, carries


class _Left(NamedTuple):
    """Values that left, and the ages between which new tensors may come from them; an end of 0 is now."""

    start: int
    end: int
    location: Location | None


class Guard(Recording):
    """A recording that knows where values of what it follows left, and what may depend on them since."""

    __slots__ = (
        *("_carrying", "_seen", "_left", "_suspect", "_clean", "_overlaps", "_parts", "_looked_at", "_views"),
        "writes",
    )

    def __init__(self, tracked: Sequence[int], reverse: bool = True):
        self.records: list[Record] = []  # what Recording sets, without the call
        self.tracked: set[int] = set(tracked)
        self.reverse = reverse
        self.held = 0
        self.large = False
        self._carrying = set(tracked)
        self._seen = 0  # records of which `_carrying` knows
        self._left: list[_Left] = []
        self._suspect: dict[int, Location | None] = {}  # what may depend on a value that left here
        self._clean: set[int] = set()
        self._overlaps: Overlaps | None = None
        self._parts: dict[Hashable, Part] = {}
        self._looked_at = 0  # records of which `_parts` knows
        self.writes: bool = False  # may what runs write to arrays?
        self._views: list[Record] | None = []  # views of arrays, up to the first write

    def carries(self, tensor: Tensor) -> bool:
        """Does a derivative flow through this tensor?"""
        serial = tensor.serial
        if serial not in self.tracked:
            return False
        carrying = self._carrying
        for record in self.records[self._seen :]:
            if any(t.serial in carrying and carries(record, i) for i, t in enumerate(record.inputs)):
                carrying.update([t.serial for t in record.outputs])
        self._seen = len(self.records)
        return serial in carrying

    def snapshot(self) -> Callable[[], None]:
        """How to forget what comes after this point, while it goes on listening."""
        forget, left, suspect = super().snapshot(), list(self._left), dict(self._suspect)

        def undo() -> None:
            forget()
            self._seen = min(self._seen, len(self.records))
            self._looked_at = min(self._looked_at, len(self.records))
            self._left, self._suspect = left, suspect

        return undo

    # ---- what leaves ------------------------------------------------------------------------------------

    def on_event(self, kind: str, tensor: Tensor, owner: Any = None) -> None:
        """Hear that a value was taken out, or assigned to a Variable."""
        if self._overlaps is not None and kind in ("value", "choice"):
            self._overlaps.require_current((tensor,))
        if kind == "value" and self.carries(tensor):
            self.leave(own_location())
        elif kind == "assign":
            suspicion = self._suspicion(tensor.serial)
            if suspicion is not None:
                self._suspect[owner] = suspicion.location

    def leave(self, location: Location | None) -> None:
        """A value has left here."""
        if not self.open:
            self._left.append(_Left(next_serial(), 0, location))

    @property
    def open(self) -> bool:
        """May anything that enters now depend on values that left?"""
        return bool(self._left) and not self._left[-1].end

    def close(self) -> None:
        """Values that left are out of reach from here on."""
        self._left[-1] = self._left[-1]._replace(end=next_serial())

    # ---- what comes back --------------------------------------------------------------------------------

    def record(self, record: Record) -> None:
        """Listen to one call."""
        if self._overlaps is not None and state.location is None:
            self._overlaps.require_read(record.inputs, record.op, record.attrs)
        if self.writes and is_view(record.op) and state.location is None and are_arrays():
            if self._views is None:
                noted_view(record.op, record.inputs, record.attrs, record.outputs[0])
            else:
                self._views.append(record)
        super().record(record)
        if record.op.runs_graphs or "takes_out" in record.op.traits:
            self._look_into(record)
        if self._left or self._suspect:
            self._judge(record)

    def _look_into(self, record: Record) -> None:
        """Does a compiled function or a loop take a value out of sight by itself?"""
        if "takes_out" not in record.op.traits and not any(map(takes_out, graphs_of(record.attrs))):
            return
        flows = call_flows(record, [Flow(self.carries(t), None) for t in record.inputs])
        for t, flow in zip(record.outputs, flows, strict=True):
            if flow.lost is not None:
                self._suspect[t.serial] = flow.lost

    def _judge(self, record: Record) -> None:
        suspicion = next((s for t in record.inputs if (s := self._suspicion(t.serial)) is not None), None)
        if suspicion is None and self.open and holds_numbers(record.attrs.values()):
            suspicion = self._left[-1]
        serials = [t.serial for t in record.outputs]
        if suspicion is None:
            self._clean.update(s for s in serials if s not in self._suspect)
        else:
            self._suspect.update(dict.fromkeys(serials, suspicion.location))

    def _suspicion(self, serial: int) -> _Left | None:
        """What left that this tensor may depend on."""
        if serial in self._suspect:
            return _Left(0, 0, self._suspect[serial])
        if serial in self.tracked or serial in self._clean:
            return None
        return next((x for x in self._left if x.start < serial and (not x.end or serial < x.end)), None)

    # ---- what a program for NumPy writes to -----------------------------------------------------------------

    def writing(self) -> None:
        """A program is about to write to an array: who stands for parts of the same one is to see that."""
        views, self._views = self._views, None
        for record in views or ():
            noted_view(record.op, record.inputs, record.attrs, record.outputs[0], surely=True)

    def note_written(self, tensor: Tensor, new: Tensor | None, index: Any) -> None:
        """A program for NumPy has written to a part of this tensor."""
        if self._overlaps is None:
            self._overlaps = Overlaps(self._origins)
        self._overlaps.note(tensor, new, index)

    def passed_over(self, record: Record) -> None:
        """What no derivative follows may be parts of an array, too."""
        if is_view(record.op):
            self._note_part(record)

    def _note_part(self, record: Record) -> None:
        whole = record.inputs[0]
        self._parts[record.outputs[0].serial] = Part(record.op, record.attrs, whole.serial, whole.spec)

    def _origins(self, serial: Hashable) -> Sequence[Part]:
        for record in self.records[self._looked_at :]:
            if is_view(record.op):
                self._note_part(record)
        self._looked_at = len(self.records)
        part = self._parts.get(serial)
        return () if part is None else (part,)

    def refuse_lost(self, *results: Tensor) -> None:
        """GradientError where a result may depend on values that left: a part of its derivative would be lost."""
        if self._overlaps is not None:
            self._overlaps.require_current(results)
        if not (self._left or self._suspect):
            return
        for y in results:
            suspicion = self._suspicion(y.serial) if y.spec.differentiable else None
            if suspicion is not None:
                raise GradientError(
                    "the value of a tensor that carries a derivative is taken out here, and the result may depend on "
                    "it: no derivative follows float(), .numpy(), arrays made of tensors, and SciPy. Use the functions "
                    "of tracejit or tracejit.numpy; where no derivative is wanted, as for logging, take the value of "
                    f"tracejit.stop_gradient(x){at(suspicion.location)}"
                )


def holds_numbers(attrs: Any) -> bool:
    """Are there numbers with a fraction among these attributes, or in graphs among them?"""
    for x in attrs:
        if isinstance(x, (float, complex, np.inexact)) or (
            isinstance(x, np.ndarray) and x.dtype.kind in DIFFERENTIABLE
        ):
            return True
        if isinstance(x, Constant) and x.array.dtype.kind in DIFFERENTIABLE:
            return True
        if isinstance(x, (tuple, list)) and holds_numbers(x):
            return True
        if isinstance(x, Graph) and any(holds_numbers(node.attrs.values()) for node in x.nodes):
            return True
    return False


@contextmanager
def out_of_reach() -> Iterator[list[tuple[Guard, Location | None]]]:
    """What leaves in the block, of a function with a rule of its own, does not come back but through its rule.

    Yields a list, in the end with the guards concerned and the lines.
    """
    before = [g for g in state.guards if isinstance(g, Guard) and not g.open]
    left: list[tuple[Guard, Location | None]] = []
    try:
        yield left
    finally:
        for guard in before:
            if guard.open:
                left.append((guard, guard._left[-1].location))
                guard.close()


@contextmanager
def within_reach(left: Sequence[tuple[Guard, Location | None]]) -> Iterator[None]:
    """The rule of such a function is run: what enters it may depend on the values that left."""
    again = [(g, where) for g, where in left if g in state.guards and not g.open]
    for guard, where in again:
        guard.leave(where)
    try:
        yield
    finally:
        for guard, _ in again:
            guard.close()
