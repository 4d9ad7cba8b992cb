"""What a run of statements touches: buffers, scalars, sizes and the context, found in one walk.

This is what a kernel must be given and what it gives back. It writes nothing.
"""

from __future__ import annotations

from ...core.dim import Dim, Size, maximum
from ..loopir.ir import Allocate, Call, Compute, Fail, Free, Grow, HostCall, Load, Nest, Store, While, walk
from ..loopir.operands import Buffer, Name
from ..loopir.passes.schedule import Schedule
from ..loopir.scalar_ops import ELEMENTARY
from ..loopir.statement import Statement
from .nests import strips
from .writing import kernel_calls

_MOVING = (While, Allocate, Grow, Free)  # they change which memory a buffer is
_CALLING_OUT = (*_MOVING, Call, HostCall, Fail)  # they need ctx


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

    elementary: int

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
        self.can_fail: bool = False
        self.calls_out: bool = False
        for s in walk(statements):
            self.visit(s)

    def atoms(self) -> dict[str, None]:
        """Plain atoms the sizes are made of."""
        return {name: None for size in self.sizes for name in atom_names(size)}

    def visit(self, s: Statement) -> None:
        for name in s.uses():
            self.uses[name] = None
        if isinstance(s, Compute):
            self.elementary += s.op in ELEMENTARY
            self.defines[s.out] = None
            return
        for b in s.buffers():
            self.buffers[b] = None
        for b in s.writes():
            self.written[b] = None
        for name in s.defines():
            self.defines[name] = None
        for size in s.dims():
            self.sizes[size] = None
        if isinstance(s, (Load, Store)):
            return
        self.defines.update(dict.fromkeys(s.introduces()))
        if s.binds is not None:
            self.binds[s.binds] = None
        if isinstance(s, Nest):
            if isinstance(s.schedule, Schedule):
                self.calls_out |= s.schedule.parallel is not None
                if s.schedule.strips:
                    self.scratch = larger(self.scratch, strips.scratch_bytes(s))
        elif isinstance(s, _CALLING_OUT):
            self.calls_out = True
            self.can_fail |= not isinstance(s, (Call, Free))
            if isinstance(s, Call):
                self.scratch = larger(self.scratch, kernel_calls.scratch_bytes(s))
            if isinstance(s, _MOVING):
                self.moved.update(dict.fromkeys(s.writes()))


def larger(a: Size, b: Size) -> Size:
    return b if a == 0 else a if b == 0 else maximum(a, b)


def atom_names(size: Size) -> tuple[str, ...]:
    return tuple(a.name for a in size.atoms()) if isinstance(size, Dim) else ()
