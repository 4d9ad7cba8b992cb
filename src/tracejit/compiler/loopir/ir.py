"""Loop IR: nests of loops over linear buffers, between graphs and LLVM text.

Everything here is data. A program is a list of statements over buffers of real scalars (complex numbers are
pairs); views are folded into offsets, so no statement copies to change a shape. Each statement says what it uses,
defines, reads and writes; ``effects`` folds that over blocks. The interpreter, the scheduler and the emitter read this
file and nothing else of the compiler above it; ``text`` writes and reads programs as text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from ...core.dataclass import dataclass
from ...core.dim import Dim, Size
from .called_kernels import KERNELS
from .operands import Acc, Axis, Buffer, BufferAlias, Index, Name, Names, Operand, dims, renamed, scalars
from .statement import Access, OfElement, OfViews, Statement, all_renamed


@dataclass
class Load(OfElement):
    """``out = buffer[index]``; with `guard` (a bool scalar) false, ``out`` is `other` and nothing is read."""

    out: Name
    buffer: Buffer
    index: Index
    guard: Operand | None = None
    other: Operand | None = None

    def operands(self) -> tuple[Name, ...]:
        return () if self.guard is None else scalars(self.guard, self.other)

    def defines(self) -> tuple[Name, ...]:
        return (self.out,)

    def reads(self) -> tuple[Buffer, ...]:
        return (self.buffer,)

    def renamed(self, names: Names) -> Load:
        index, guard = self.index.renamed(names), renamed(self.guard, names)
        if index is self.index and self.guard is None and self.out not in names:
            return self
        return Load(renamed(self.out, names), self.buffer, index, guard, renamed(self.other, names))


@dataclass
class Compute(Statement):
    """``out = op(args)``: `dtype` of the result, `argtype` of the arguments (they share one, except select).

    The ops are those of ``scalars.SCALAR_OPS``. ``select`` takes (bool, x, y) and `argtype` is that of x and y;
    ``cast`` converts argtype to dtype; ``index`` turns an axis or loop index into a scalar of `dtype`.
    """

    out: Name
    op: str
    args: tuple[Operand, ...]
    dtype: np.dtype
    argtype: np.dtype

    def operands(self) -> tuple[Name, ...]:
        return scalars(*self.args)

    def defines(self) -> tuple[Name, ...]:
        return (self.out,)

    def renamed(self, names: Names) -> Compute:
        args = tuple([renamed(a, names) for a in self.args])
        if args == self.args and self.out not in names:
            return self
        return Compute(renamed(self.out, names), self.op, args, self.dtype, self.argtype)


@dataclass
class Size_(Statement):
    """``out`` (int64) = the run-time value of a symbolic size."""

    out: Name
    size: Size

    def defines(self) -> tuple[Name, ...]:
        return (self.out,)

    def dims(self) -> Sequence[Dim]:
        return dims(self.size)

    def renamed(self, names: Names) -> Size_:
        return Size_(renamed(self.out, names), self.size)


@dataclass
class Store(OfElement):
    """``buffer[index] = value``, or ``+=`` when `add` (then the nest's order is kept: indices may repeat).

    With `guard` false nothing is written.
    """

    buffer: Buffer
    index: Index
    value: Operand
    add: bool = False
    guard: Operand | None = None

    only_writes = True

    def operands(self) -> tuple[Name, ...]:
        return scalars(self.value, self.guard)

    def reads(self) -> tuple[Buffer, ...]:
        return (self.buffer,) if self.add or self.guard is not None else ()

    def writes(self) -> tuple[Buffer, ...]:
        return (self.buffer,)

    def renamed(self, names: Names) -> Store:
        index, value = self.index.renamed(names), renamed(self.value, names)
        return Store(self.buffer, index, value, self.add, renamed(self.guard, names))


@dataclass
class Combine(Statement):
    """Fold `values` into the accumulators of the same position.

    Rules: ``add mul min max and or`` on one accumulator (min and max propagate NaN, as NumPy);
    ``argmax argmin`` on (best value, its int64 position): first position wins ties, the first NaN wins all.
    The order of an ``add`` over one nest is not defined, but is the same on every run.
    """

    rule: str
    accs: tuple[Name, ...]
    values: tuple[Operand, ...]

    def operands(self) -> tuple[Name, ...]:
        return scalars(*self.values)

    def renamed(self, names: Names) -> Combine:
        accs = tuple([names.get(a, a) for a in self.accs])
        return Combine(self.rule, accs, tuple([renamed(v, names) for v in self.values]))


# ---- structure ------------------------------------------------------------------------------------------


@dataclass
class Nest(Statement):
    """Loops over all `axes`, outermost first, around `body`.

    `body` runs for every index; it may hold nests, which see the axes and scalars of this one. `accs` start
    at their `init` for every index of the parallel axes; when all reduce axes are done, `tail` runs once per
    parallel index. A scan axis keeps `accs` alive from step to step and `body` may read the running value by
    the accumulator's name. Scalars of `body` are not visible in `tail`. `location` is the user's line, to be told.
    """

    axes: list[Axis]
    body: list[Statement]
    accs: list[Acc] = field(default_factory=list)
    tail: list[Statement] = field(default_factory=list)
    schedule: Any = None
    location: object = field(default=None, compare=False)

    has_blocks = True

    def introduces(self) -> tuple[Name, ...]:
        return (*[a.name for a in self.axes], *[a.name for a in self.accs])

    def dims(self) -> Sequence[Dim]:
        return dims(*[a.size for a in self.axes])

    def blocks(self) -> tuple[list[Statement], ...]:
        return (self.body, self.tail)

    def renamed(self, names: Names) -> Nest:
        axes = [Axis(renamed(a.name, names), a.size, a.kind) for a in self.axes]
        accs = [Acc(renamed(a.name, names), a.dtype, a.init) for a in self.accs]
        return Nest(
            axes, all_renamed(self.body, names), accs, all_renamed(self.tail, names), location=self.location
        )


@dataclass
class While(Access):
    """A sequential loop: ``index`` = 0, 1, ... (descending from count-1 when `reverse`).

    Runs `count` times (a size, or an int64 scalar defined before), or, when `count` is None, as long as
    `test`, a bool scalar computed by `cond` before each iteration, holds. Afterwards `trips` (int64) is the
    number of iterations done, and the atom `binds`, if any, has that size for the rest of the program. State
    lives in buffers. `swaps` exchanges the memory of buffer pairs after each iteration. `location` is the place
    in the program's messages of the user's line. `fills` are buffers that temps of the body will be rows of
    (``Program.moves``): what reads them must stay behind. `parallel` says how iterations may be given to threads.
    """

    index: Name
    count: Size | Name | None
    body: list[Statement]
    cond: list[Statement] = field(default_factory=list)
    test: Operand | None = None
    reverse: bool = False
    trips: Name | None = None
    binds: str | None = None
    swaps: list[tuple[Buffer, Buffer]] = field(default_factory=list)
    location: int | None = None
    fills: list[Buffer] = field(default_factory=list)
    parallel: Any = field(default=None, compare=False)

    has_blocks = True

    def operands(self) -> tuple[Name, ...]:
        return scalars(self.count, self.test)

    def defines(self) -> tuple[Name, ...]:
        return () if self.trips is None else (self.trips,)

    def introduces(self) -> tuple[Name, ...]:
        return (self.index,)

    def reads(self) -> tuple[Buffer, ...]:
        return tuple([b for pair in self.swaps for b in pair])

    def writes(self) -> tuple[Buffer, ...]:
        return self.reads()

    def dims(self) -> Sequence[Dim]:
        return dims(self.count)

    def blocks(self) -> tuple[list[Statement], ...]:
        return (self.cond, self.body)

    def renamed(self, names: Names) -> While:
        count, test, index = (renamed(x, names) for x in (self.count, self.test, self.index))
        body, cond, trips = (
            all_renamed(self.body, names),
            all_renamed(self.cond, names),
            renamed(self.trips, names),
        )
        return replace(self, index=index, count=count, test=test, body=body, cond=cond, trips=trips)


@dataclass
class If(Statement):
    """Run `then` when the bool scalar `test` holds, else `orelse`. Results go through buffers."""

    test: Operand
    then: list[Statement]
    orelse: list[Statement]

    has_blocks = True

    def operands(self) -> tuple[Name, ...]:
        return scalars(self.test)

    def blocks(self) -> tuple[list[Statement], ...]:
        return (self.then, self.orelse)

    def renamed(self, names: Names) -> If:
        return If(renamed(self.test, names), all_renamed(self.then, names), all_renamed(self.orelse, names))


@dataclass
class Call(OfViews):
    """A library kernel: its record in ``called_kernels.KERNELS`` says what the views are and which of them it writes.

    ``matmul``: views (a[m,k], b[k,n], c[m,n]), sizes (m, k, n); adds to c when `accumulate`.
    """

    accumulate: bool = False
    only_writes = True

    def reads(self) -> tuple[Buffer, ...]:
        buffers = super().reads()
        return buffers if self.accumulate else buffers[: -KERNELS[self.function].outputs]

    def writes(self) -> tuple[Buffer, ...]:
        return super().reads()[-KERNELS[self.function].outputs :]


@dataclass
class HostCall(OfViews):
    """Hand whole arrays to a Python function, which writes the last `results` of them and does not change the others.

    `views` have no strides: each is the elements of an array from `index` on, without gaps, whose sizes come next in
    `sizes`. Calls keep their order; `function` says which, see ``hostcalls``.
    """

    results: int = 0

    ordered = True

    def reads(self) -> tuple[Buffer, ...]:
        return super().reads()[: len(self.views) - self.results]

    def writes(self) -> tuple[Buffer, ...]:
        return super().reads()[len(self.views) - self.results :]


@dataclass
class Allocate(Access):
    """Give the heap buffer room for `elements` (a size or int64 scalar)."""

    buffer: Buffer
    elements: Size | Name

    only_writes = True

    def operands(self) -> tuple[Name, ...]:
        return scalars(self.elements)

    def writes(self) -> tuple[Buffer, ...]:
        return (self.buffer,)

    def dims(self) -> Sequence[Dim]:
        return dims(self.elements)

    def renamed(self, names: Names) -> Allocate:
        return Allocate(self.buffer, renamed(self.elements, names))


@dataclass
class Grow(Access):
    """Ensure the heap buffer holds at least `elements` (an Index), keeping its contents; room doubles."""

    buffer: Buffer
    elements: Index

    only_writes = True

    def indices(self) -> Sequence[Index]:
        return (self.elements,)

    def reads(self) -> tuple[Buffer, ...]:
        return (self.buffer,)

    def writes(self) -> tuple[Buffer, ...]:
        return (self.buffer,)

    def renamed(self, names: Names) -> Grow:
        return Grow(self.buffer, self.elements.renamed(names))


@dataclass
class Free(Access):
    """Release a heap buffer."""

    buffer: Buffer

    only_writes = True

    def writes(self) -> tuple[Buffer, ...]:
        return (self.buffer,)


@dataclass
class Fail(Statement):
    """Return status `code` (an index into the program's messages) when the bool scalar `test` holds."""

    test: Operand
    code: int
    details: tuple[Name, ...] = ()

    def operands(self) -> tuple[Name, ...]:
        return scalars(self.test, *self.details)

    def renamed(self, names: Names) -> Fail:
        return Fail(renamed(self.test, names), self.code, tuple([names.get(d, d) for d in self.details]))


@dataclass
class Clock(Access):
    """Charge the time since the last Clock to a `number`: for profiles alone, which put it in behind all passes.

    ``buffer[0]`` is the processor's clock when the last one ran, ``buffer[1 + 2 * number]`` the ticks charged and the
    next element how often that was. Nothing but clocks reads it.
    """

    buffer: Buffer
    number: int

    ordered = True

    def reads(self) -> tuple[Buffer, ...]:
        return (self.buffer,)


@dataclass
class Program:
    """One entry point: its buffers, its statements, the names of the entry's size atoms in order.

    `atoms` are read from the entry's dims array; `bound` are atoms that While statements bind, written back
    behind them. `output_shapes` are the outputs' shapes over both. `messages` are texts, alone or behind the
    name of a builtin exception. `moves` are temps to become parts of other buffers, once nests are fused. Axes,
    scalars and buffers are named uniquely over the whole program. `located`: statements have a `source`.
    """

    name: str
    buffers: list[Buffer]
    body: list[Statement]
    atoms: tuple[str, ...] = ()
    bound: tuple[str, ...] = ()
    workspace: Size = 0
    messages: tuple[str | tuple[str, str], ...] = ()
    contract: bool = True
    output_shapes: tuple[tuple[Size, ...], ...] = ()
    moves: list[BufferAlias] = field(default_factory=list)
    located: bool = False


def walk(statements: list[Statement]) -> Iterator[Statement]:
    """Every statement in program order, structures before their contents; no recursion."""
    stack = list(reversed(statements))
    while stack:
        statement = stack.pop()
        yield statement
        if statement.has_blocks:  # most have none: not asking them halves the time
            for block in reversed(statement.blocks()):
                stack.extend(reversed(block))
