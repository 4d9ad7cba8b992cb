"""What a run of statements touches: buffers, scalars, sizes and the context, found in one walk.

This is what a kernel must be given and what it gives back. It writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...core.dim import Dim, Size, maximum
from ..loops import (
    Allocate,
    Buffer,
    Call,
    Combine,
    Compute,
    Fail,
    Free,
    Grow,
    HostCall,
    If,
    Index,
    Load,
    Name,
    Nest,
    Operand,
    Size_,
    Statement,
    Store,
    View,
    While,
    walk,
)
from ..scalars import ELEMENTARY
from ..schedule import Schedule
from . import control, strips


class Footprint:
    """What a list of statements needs and makes.

    Attributes
    ----------
    buffers, written, moved : dict
        Buffers named; those stored to; those whose memory or room changes. In order of first mention.
    uses, defines : dict
        Scalars read; scalars defined.
    sizes : dict
        Symbolic sizes.
    binds : dict
        Atoms bound.
    elementary : int
        Calls of elementary functions.
    can_fail, calls_out : bool
        May it return a status; does it need ctx?
    scratch : int or Dim
        Bytes of workspace that library calls and strips need.
    """

    def __init__(self, statements: list[Statement]):
        self.buffers: dict[Buffer, None] = {}
        self.written: dict[Buffer, None] = {}
        self.moved: dict[Buffer, None] = {}
        self.uses: dict[Name, None] = {}
        self.defines: dict[Name, None] = {}
        self.sizes: dict[Dim, None] = {}
        self.binds: dict[str, None] = {}
        self.elementary = 0
        self.scratch: Size = 0
        self.can_fail = self.calls_out = False
        for s in walk(statements):
            _NOTES[type(s)](self, s)

    def atoms(self) -> dict[str, None]:
        """Plain atoms the sizes are made of."""
        return {name: None for size in self.sizes for name in atom_names(size)}

    def operand(self, operands: Iterable[Operand | None]) -> None:
        for operand in operands:
            if type(operand) is str:
                self.uses[operand] = None

    def size(self, size: Size | Name | None) -> None:
        if type(size) is Dim:
            self.sizes[size] = None
        elif type(size) is str:
            self.uses[size] = None

    def index(self, index: Index) -> None:
        self.size(index.const)
        for symbol, coefficient in index.terms:
            self.uses[symbol] = None
            if type(coefficient) is Dim:
                self.sizes[coefficient] = None

    def move(self, *buffers: Buffer) -> None:
        self.buffers.update(dict.fromkeys(buffers))
        self.written.update(dict.fromkeys(buffers))
        self.moved.update(dict.fromkeys(buffers))

    # -- statements --

    def load(self, s: Load) -> None:
        self.defines[s.out] = self.buffers[s.buffer] = None
        self.index(s.index)
        if s.guard is not None:
            self.operand((s.guard, s.other))

    def compute(self, s: Compute) -> None:
        self.defines[s.out] = None
        self.elementary += s.op in ELEMENTARY
        self.operand(s.args)

    def value(self, s: Size_) -> None:
        self.defines[s.out] = None
        self.size(s.size)

    def store(self, s: Store) -> None:
        self.buffers[s.buffer] = self.written[s.buffer] = None
        self.index(s.index)
        self.operand((s.value, s.guard))

    def combine(self, s: Combine) -> None:
        self.operand(s.values)

    def nest(self, s: Nest) -> None:
        for axis in s.axes:
            self.defines[axis.name] = None
            self.size(axis.size)
        self.defines.update(dict.fromkeys(a.name for a in s.accs))
        if isinstance(s.schedule, Schedule) and s.schedule.strips:
            self.scratch = larger(self.scratch, strips.scratch_bytes(s))

    def loop(self, s: While) -> None:
        self.can_fail = self.calls_out = True
        self.defines[s.index] = None
        self.size(s.count)
        self.operand((s.test,))
        if s.trips is not None:
            self.defines[s.trips] = None
        if s.binds is not None:
            self.binds[s.binds] = None
        for a, b in s.swaps:
            self.move(a, b)

    def branch(self, s: If) -> None:
        self.operand((s.test,))

    def call(self, s: Call) -> None:
        self.calls_out = True
        self.scratch = larger(self.scratch, control.scratch_bytes(s))
        for size in s.sizes:
            self.size(size)
        for view in s.views:
            self.view(view)
        self.written[s.views[2].buffer] = None

    def host_call(self, s: HostCall) -> None:
        self.can_fail = self.calls_out = True
        for size in s.sizes:
            self.size(size)
        for view in s.views:
            self.view(view)

    def view(self, view: View) -> None:
        self.buffers[view.buffer] = None
        self.index(view.index)
        for stride in view.strides:
            self.size(stride)

    def allocate(self, s: Allocate) -> None:
        self.can_fail = self.calls_out = True
        self.move(s.buffer)
        self.size(s.elements)

    def grow(self, s: Grow) -> None:
        self.can_fail = self.calls_out = True
        self.move(s.buffer)
        self.index(s.elements)

    def free(self, s: Free) -> None:
        self.calls_out = True
        self.move(s.buffer)

    def fail(self, s: Fail) -> None:
        self.can_fail = self.calls_out = True
        self.operand((s.test, *s.details))


_NOTES: dict[type, Callable[[Footprint, Any], None]] = {
    Load: Footprint.load, Compute: Footprint.compute, Size_: Footprint.value, Store: Footprint.store,
    Combine: Footprint.combine, Nest: Footprint.nest, While: Footprint.loop, If: Footprint.branch,
    Call: Footprint.call, Allocate: Footprint.allocate, Grow: Footprint.grow, Free: Footprint.free,
    Fail: Footprint.fail, HostCall: Footprint.host_call,
}  # fmt: skip


def larger(a: Size, b: Size) -> Size:
    return b if a == 0 else a if b == 0 else maximum(a, b)


def atom_names(size: Size) -> tuple[str, ...]:
    return tuple(a.name for a in size.atoms()) if isinstance(size, Dim) else ()
