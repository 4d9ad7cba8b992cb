"""Loop IR: nests of loops over linear buffers, between graphs and LLVM text.

Everything here is data. A program is a list of statements over buffers of real scalars (complex numbers are
pairs); views are folded into offsets, so no statement copies to change a shape. The interpreter, the
scheduler and the emitter read this file and nothing else of the compiler above it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Union

import numpy as np

from ..core.dim import Dim, Size

#: Where a buffer's memory comes from.
#: input: read only, the entry's input `slot` · output: the entry's output `slot` (counted from 0), memory given by
#: the caller · constant: ctx.constants[slot] · temp: workspace at byte ``offset``, set by the plan · local: at most
#: 32 elements in registers (a stack slot that promotes) · heap: allocated through ctx when the program runs, grown
#: by Grow, released by Free; with a slot it is that output, and handed over to the caller.
KINDS = ("input", "output", "constant", "temp", "local", "heap")


@dataclass(eq=False)
class Buffer:
    """A linear run of `size` elements. Compared by identity; `name` is unique in its program."""

    name: str
    dtype: np.dtype
    size: Size
    kind: str
    slot: int = -1
    offset: Size = -1

    def __str__(self) -> str:
        return self.name


Name = str  # an SSA scalar ("v12"), an axis ("i3") or a loop index; unique in its program


@dataclass(frozen=True)
class Index:
    """A linear element offset: ``const + sum(coefficient * symbol)``.

    Symbols are axes, loop indices or int64 SSA scalars (an index that was itself loaded).
    """

    const: Size = 0
    terms: tuple[tuple[Name, Size], ...] = ()

    def __str__(self) -> str:
        parts = [s if c == 1 else f"({c})*{s}" for s, c in self.terms]
        if self.const != 0 or not parts:
            parts.append(str(self.const))
        return " + ".join(parts)


Operand = Union[Name, "Const"]


@dataclass(frozen=True)
class Const:
    """A literal scalar; floats are kept by their bits so that NaN and -0.0 are themselves."""

    value: float | int | bool
    dtype: np.dtype

    def key(self) -> str:
        return np.asarray(self.value, self.dtype).tobytes().hex()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and self.dtype == other.dtype and self.key() == other.key()

    def __hash__(self) -> int:
        return hash((self.key(), self.dtype))

    def __str__(self) -> str:
        value = np.asarray(self.value, self.dtype)[()]
        return f"{float(value).hex()}" if self.dtype.kind == "f" else str(value)


# ---- scalar statements ----------------------------------------------------------------------------------


@dataclass
class Load:
    """``out = buffer[index]``; with `guard` (a bool scalar) false, ``out`` is `other` and nothing is read."""

    out: Name
    buffer: Buffer
    index: Index
    guard: Operand | None = None
    other: Operand | None = None


@dataclass
class Compute:
    """``out = op(args)``: `dtype` of the result, `argtype` of the arguments (they share one, except select).

    The ops are those of ``scalars.SCALAR_OPS``. ``select`` takes (bool, x, y) and `argtype` is that of x and y;
    ``cast`` converts argtype to dtype; ``index`` turns an axis or loop index into a scalar of `dtype`.
    """

    out: Name
    op: str
    args: tuple[Operand, ...]
    dtype: np.dtype
    argtype: np.dtype


@dataclass
class Size_:
    """``out`` (int64) = the run-time value of a symbolic size."""

    out: Name
    size: Size


@dataclass
class Store:
    """``buffer[index] = value``, or ``+=`` when `add` (then the nest's order is kept: indices may repeat).

    With `guard` false nothing is written.
    """

    buffer: Buffer
    index: Index
    value: Operand
    add: bool = False
    guard: Operand | None = None


@dataclass
class Acc:
    """A scalar accumulated over the reduce axes of its nest: visible in the nest's `tail` under `name`."""

    name: Name
    dtype: np.dtype
    init: Const


@dataclass
class Combine:
    """Fold `values` into the accumulators of the same position.

    Rules: ``add mul min max and or`` on one accumulator (min and max propagate NaN, as NumPy);
    ``argmax argmin`` on (best value, its int64 position): first position wins ties, the first NaN wins all.
    The order of an ``add`` over one nest is not defined, but is the same on every run.
    """

    rule: str
    accs: tuple[Name, ...]
    values: tuple[Operand, ...]


# ---- structure ------------------------------------------------------------------------------------------


@dataclass
class Axis:
    """One loop of a nest. `kind`: parallel (any order), reduce (feeds Combine), scan (ascending order)."""

    name: Name
    size: Size
    kind: str = "parallel"


@dataclass
class Nest:
    """Loops over all `axes`, outermost first, around `body`.

    `body` runs for every index; it may hold nests, which see the axes and scalars of this one. `accs` start
    at their `init` for every index of the parallel axes; when all reduce axes are done, `tail` runs once per
    parallel index. A scan axis keeps `accs` alive from step to step and `body` may read the running value by
    the accumulator's name. Scalars of `body` are not visible in `tail`.
    """

    axes: list[Axis]
    body: list[Statement]
    accs: list[Acc] = field(default_factory=list)
    tail: list[Statement] = field(default_factory=list)
    schedule: object = None


@dataclass
class While:
    """A sequential loop: ``index`` = 0, 1, ... (descending from count-1 when `reverse`).

    Runs `count` times (a size, or an int64 scalar defined before), or, when `count` is None, as long as
    `test`, a bool scalar computed by `cond` before each iteration, holds. Afterwards `trips` (int64) is the
    number of iterations done, and the atom `binds`, if any, has that size for the rest of the program. State
    lives in buffers. `swaps` exchanges the memory of buffer pairs after each iteration. `location` is the place
    in the program's messages of the user's line. `fills` are buffers that temps of the body will be rows of
    (``Program.moves``): what reads them must stay behind.
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


@dataclass
class If:
    """Run `then` when the bool scalar `test` holds, else `orelse`. Results go through buffers."""

    test: Operand
    then: list[Statement]
    orelse: list[Statement]


@dataclass
class View:
    """Operand of a Call: `buffer` from `index`, with element strides per axis."""

    buffer: Buffer
    index: Index
    strides: tuple[Size, ...]


@dataclass
class Call:
    """A library kernel. ``matmul``: views (a[m,k], b[k,n], c[m,n]), sizes (m, k, n), c's columns contiguous.

    Adds to c when `accumulate`.
    """

    function: str
    views: tuple[View, ...]
    sizes: tuple[Size, ...]
    accumulate: bool = False


@dataclass
class HostCall:
    """Hand whole arrays to a Python function, which does not change them.

    `views` have no strides: each is the elements of an array from `index` on, without gaps, whose sizes come next in
    `sizes`. Calls keep their order; `function` says which, see ``hostcalls``.
    """

    function: str
    views: tuple[View, ...]
    sizes: tuple[Size, ...]


@dataclass
class Allocate:
    """Give the heap buffer room for `elements` (a size or int64 scalar)."""

    buffer: Buffer
    elements: Size | Name


@dataclass
class Grow:
    """Ensure the heap buffer holds at least `elements` (an Index), keeping its contents; room doubles."""

    buffer: Buffer
    elements: Index


@dataclass
class Free:
    """Release a heap buffer."""

    buffer: Buffer


@dataclass
class Fail:
    """Return status `code` (an index into the program's messages) when the bool scalar `test` holds."""

    test: Operand
    code: int
    details: tuple[Name, ...] = ()


Statement = (
    Load
    | Compute
    | Size_
    | Store
    | Combine
    | Nest
    | While
    | If
    | Call
    | HostCall
    | Allocate
    | Grow
    | Free
    | Fail
)


@dataclass(frozen=True)
class Move:
    """A temp that turns out to be part of `target`: its element 0 is `target`'s element `index`."""

    temp: Buffer
    target: Buffer
    index: Index


@dataclass
class Program:
    """One entry point: its buffers, its statements, the names of the entry's size atoms in order.

    `atoms` are read from the entry's dims array; `bound` are atoms that While statements bind, written back
    behind them. `output_shapes` are the outputs' shapes over both. `messages` are texts, alone or behind the
    name of a builtin exception. `moves` are temps to become parts of other buffers, once nests are fused. Axes,
    scalars and buffers are named uniquely over the whole program.
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
    moves: list[Move] = field(default_factory=list)


_STRUCTURES = frozenset((Nest, While, If))


def walk(statements: list[Statement]) -> Iterator[Statement]:
    """Every statement in program order, structures before their contents; no recursion."""
    stack = list(reversed(statements))
    while stack:
        statement = stack.pop()
        yield statement
        if statement.__class__ in _STRUCTURES:  # most statements hold none: not asking them halves the time
            for block in reversed(blocks(statement)):
                stack.extend(reversed(block))


def blocks(statement: Statement) -> tuple[list[Statement], ...]:
    """The statement lists inside a statement, in order of execution."""
    match statement:
        case Nest():
            return (statement.body, statement.tail)
        case While():
            return (statement.cond, statement.body)
        case If():
            return (statement.then, statement.orelse)
    return ()


def buffers_of(s: Statement) -> Iterable[Buffer]:
    """The buffers a statement itself reads or writes, its contents apart."""
    match s:
        case Load() | Store() | Allocate() | Grow() | Free():
            return (s.buffer,)
        case Call() | HostCall():
            return (v.buffer for v in s.views)
        case While():
            return (b for pair in s.swaps for b in pair)
    return ()


# ---- text -----------------------------------------------------------------------------------------------


def to_text(program: Program) -> str:
    """The program as text: one statement a line, structure by indentation. Deterministic."""
    lines = [f"program {program.name}({', '.join(program.atoms)})"]
    for b in program.buffers:
        where = f" slot {b.slot}" if b.slot >= 0 else f" at {b.offset}" if b.offset != -1 else ""
        lines.append(f"  {b.kind} {b.name}: {b.dtype.name}[{b.size}]{where}")
    _print_block(program.body, "  ", lines)
    return "\n".join(lines)


def _print_block(statements: list[Statement], indent: str, lines: list[str]) -> None:
    for statement in statements:
        head, *inner = _describe(statement)
        lines.append(indent + head)
        for title, block in inner:
            if title and block:
                lines.append(f"{indent}{title}:")
            _print_block(block, indent + "  ", lines)


def _describe(statement: Statement) -> list:
    match statement:
        case Load(out, buffer, index, guard, other):
            return [f"{out} = {buffer}[{index}]" + (f" if {guard} else {other}" if guard is not None else "")]
        case Compute(out, op, args, dtype):
            return [f"{out}: {dtype.name} = {op}({', '.join(map(str, args))})"]
        case Size_(out, size):
            return [f"{out} = size {size}"]
        case Store(buffer, index, value, add, guard):
            return [
                f"{buffer}[{index}] {'+=' if add else '='} {value}"
                + (f" if {guard}" if guard is not None else "")
            ]
        case Combine(rule, accs, values):
            return [f"{', '.join(accs)} <- {rule}({', '.join(map(str, values))})"]
        case Nest(axes, body, accs, tail, schedule):
            loops = ", ".join(
                f"{a.name} < {a.size}{'' if a.kind == 'parallel' else ' ' + a.kind}" for a in axes
            )
            state = "".join(f" {a.name} = {a.init}" for a in accs)
            plan = f" @ {schedule}" if schedule is not None else ""
            return [f"for {loops}{' with' + state if state else ''}{plan}", ("", body), ("then", tail)]
        case While():
            return _describe_while(statement)
        case If(test, then, orelse):
            return [f"if {test}", ("", then), ("else", orelse)]
        case Call(function, views, sizes, accumulate):
            operands = ", ".join(f"{v.buffer}[{v.index}; {', '.join(map(str, v.strides))}]" for v in views)
            return [
                f"{function}({operands}) sizes {', '.join(map(str, sizes))}{' accumulate' if accumulate else ''}"
            ]
        case HostCall(function, views, sizes):
            operands = ", ".join(f"{v.buffer}[{v.index}]" for v in views)
            return [f"host {function}({operands}) sizes {', '.join(map(str, sizes))}"]
        case Allocate(buffer, elements) | Grow(buffer, elements):
            return [f"{type(statement).__name__.lower()} {buffer} to {elements}"]
        case Free(buffer):
            return [f"free {buffer}"]
        case Fail(test, code, details):
            return [f"fail {code} if {test} ({', '.join(details)})"]
    raise TypeError(f"not a statement: {statement!r}")


def _describe_while(loop: While) -> list:
    bound = f"until {loop.count}" if loop.count is not None else f"while {loop.test}"
    swaps = "".join(f" swap {a}/{b}" for a, b in loop.swaps)
    tail = (f" trips {loop.trips}" if loop.trips else "") + (f" binds {loop.binds}" if loop.binds else "")
    head = f"loop {loop.index} {bound}{' reverse' if loop.reverse else ''}{tail}{swaps}"
    return [head, ("test", loop.cond), ("do", loop.body)]


def sizes_of(program: Program) -> Iterator[Dim]:
    """Every symbolic size the program mentions (with repeats), for the emitter to bind."""
    for b in program.buffers:
        yield from (s for s in (b.size, b.offset) if isinstance(s, Dim))
