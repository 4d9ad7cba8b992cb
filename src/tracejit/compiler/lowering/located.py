"""Lowering that records the source location of every statement, for debug information."""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType

from ...core.errors import BackwardLocation, Location
from ...core.ir.graph import Node
from ...core.tracing.forms import CallForm, CustomForm
from ..loopir.ir import walk
from .liveness import Liveness
from .nodes import Lowering
from .views import View


class LocatedLowering(Lowering):
    """As `Lowering`; `caller` is the place of the call whose graph is being written in its place, `around` that of the
    op whose region is."""

    caller: Location | None = None
    around: Location | None = None

    def node(self, node: Node, views: list[View], life: Liveness, position: int) -> Sequence[View]:
        b, caller, around = self.b, self.caller, self.around
        if b.location is None or b.location.is_outside:
            b.location = around
        place = b.location = self.around = called_from(b.location, caller)
        block, start = b.block, len(b.block)
        opened = self.open.nest.body if self.open is not None else []
        before = len(opened)
        if CallForm.of(node) is not None or CustomForm.of(node) is not None:
            self.caller = place
        try:
            found = super().node(node, views, life, position)
        finally:
            self.caller, self.around = caller, around
        for part in (opened[before:], block[start:]):
            for s in walk(part):
                if s.source is None:
                    s.source = place
        return found


def called_from(place: Location | None, caller: Location | None) -> Location | None:
    """A place whose outermost caller was called from another one, unless it begins where that does."""
    if place is None or caller is None or _beginning(place) == _beginning(caller):
        return place or caller
    outer = caller
    for part in reversed(place.stack):
        outer = Location((part.code, part.lasti, outer, part.function))
    return BackwardLocation(outer) if place.is_backward else outer


def _beginning(place: Location) -> CodeType:
    """The outermost function."""
    return place.stack[-1].function
