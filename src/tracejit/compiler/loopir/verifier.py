"""The verifier of loop programs, which runs after lowering and after every pass that rewrites loops.

What ``loops.py`` says in words is decided here as far as it can be without running: names and where they are
visible, dtypes, who may store where, what may feed an accumulator, indices that must leave their buffer. It
knows the data in ``loops.py`` and nothing of what produced it.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import NoReturn

import numpy as np

from ...core.dataclass import dataclass
from ...core.dim import Dim, Size
from . import ir
from .called_kernels import KERNELS
from .operands import KINDS, Acc, Buffer, Const, Index, Name, Operand
from .scalar_ops import SCALAR_OPS
from .statement import Statement
from .text import to_text

BOOL, INT64 = np.dtype(bool), np.dtype(np.int64)
MAX_LOCAL = 32
AXIS_KINDS = ("parallel", "reduce", "scan")

#: What each rule of Combine takes: that of a scalar operation what this takes.
_KINDS_OF_RULE = {
    **{op.name: op.kinds for op in SCALAR_OPS.values() if "combines" in op.traits},
    **dict.fromkeys(("argmax", "argmin"), "biuf"),
}


class InvalidProgram(ValueError):
    """A loop program breaks a rule; the message shows the statement, where it stands, and the rule."""


def verify(program: ir.Program) -> None:
    """Check every rule that can be decided without running.

    Raises
    ------
    InvalidProgram
        At the first statement that breaks a rule, with the statement, the loops around it, and what is wrong.
    """
    _Checker(program).check()


@dataclass(frozen=True)
class _Symbol:
    """A visible name. Axes and loop indices are not scalars; they run over 0 .. extent-1 if that is known."""

    dtype: np.dtype
    scalar: bool = True
    extent: Size | None = None


@dataclass
class _Scope:
    """What is visible: scalars and axes, size atoms, and accumulators with the nest each belongs to."""

    symbols: ChainMap[Name, _Symbol] = field(default_factory=ChainMap)
    atoms: ChainMap[str, None] = field(default_factory=ChainMap)
    accs: ChainMap[Name, tuple[Acc, ir.Nest]] = field(default_factory=ChainMap)

    def inner(self) -> _Scope:
        return _Scope(self.symbols.new_child(), self.atoms.new_child(), self.accs.new_child())


class _Checker:
    """One walk over a program; `path` is the statement being checked, behind the structures around it."""

    def __init__(self, program: ir.Program):
        self.program = program
        self.path: list[Statement] = []
        self.taken: set[Name] = set()
        self.buffers = {id(b) for b in program.buffers}
        self.on_the_heap: set[int] = set()  # buffers there that are read or written

    # -- reporting --

    def fail(self, message: str) -> NoReturn:
        heads = [to_text(ir.Program("", [], [s])).splitlines()[1].strip() for s in self.path]
        lines = [f"program {self.program.name}({', '.join(self.program.atoms)})", *heads]
        text = [f"{'  ' * depth}{line}" for depth, line in enumerate(lines)]
        raise InvalidProgram("\n".join([*text, f"{'  ' * len(heads)}^ {message}"]))

    def require(self, holds: object, message: str, *values: object) -> None:
        """Formatting waits until the rule is broken: most of the time of a check would go there."""
        if not holds:
            self.fail(message.format(*values) if values else message)

    # -- the program --

    def check(self) -> None:
        scope = _Scope()
        scope.atoms.update(dict.fromkeys(self.program.atoms))
        self.sizes(scope, self.program.workspace)
        for b in self.program.buffers:
            self.take(b.name)
            self.buffer(b, scope)
        slots = [(b.kind, b.slot) for b in self.program.buffers if b.slot >= 0]
        self.require(len(set(slots)) == len(slots), f"a slot is given twice in {slots}")
        for move in self.program.moves:
            self.known(move.temp)
            self.known(move.target)
        self.block(self.program.body, scope)
        allocated = {
            id(s.buffer) for s in ir.walk(self.program.body) if isinstance(s, (ir.Allocate, ir.Grow))
        }
        for b in self.program.buffers:
            self.require(id(b) not in self.on_the_heap or id(b) in allocated, "{} is never allocated", b)
        for atom in self.program.bound:
            self.require(atom in scope.atoms, f"no loop at the top level binds {atom}")
        self.sizes(scope, *(b.size for b in self.program.buffers if b.slot >= 0))

    def buffer(self, b: Buffer, scope: _Scope) -> None:
        self.require(b.kind in KINDS, f"{b} is of the unknown kind {b.kind!r}")
        placed = b.slot >= 0 or b.kind not in ("input", "output", "constant")
        self.require(placed, f"{b.kind} {b} has no slot")
        if b.kind != "heap":
            self.sizes(scope, b.size, b.offset)
        fits = b.kind != "local" or (isinstance(b.size, int) and b.size <= MAX_LOCAL)
        self.require(fits, f"local {b} has {b.size} elements, not a constant up to {MAX_LOCAL}")

    def block(self, statements: Sequence[Statement], scope: _Scope) -> None:
        for s in statements:
            self.path.append(s)
            getattr(self, f"check_{type(s).__name__}")(s, scope)
            self.path.pop()

    # -- names, sizes, operands --

    def take(self, name: Name) -> None:
        self.require(name not in self.taken, "the name {} is taken", name)
        self.taken.add(name)

    def define(self, name: Name, symbol: _Symbol, scope: _Scope) -> None:
        self.take(name)
        scope.symbols[name] = symbol

    def sizes(self, scope: _Scope, *sizes: Size) -> None:
        for size in sizes:
            for atom in size.atoms() if isinstance(size, Dim) else ():
                self.require(atom.name in scope.atoms, "the size {} uses {}, not known here", size, atom)

    def symbol(self, name: Name, scope: _Scope) -> _Symbol:
        if name not in scope.symbols:
            self.fail(f"{name} is not {'visible here' if name in self.taken else 'defined'}")
        return scope.symbols[name]

    def operand(self, operand: Operand, dtype: np.dtype, scope: _Scope) -> None:
        if isinstance(operand, Const):
            self.require(operand.dtype == dtype, "{} is {}, not {}", operand, operand.dtype, dtype)
            return
        symbol = self.symbol(operand, scope)
        self.require(symbol.scalar, "{} is an axis or loop index; op index makes it a scalar", operand)
        self.require(symbol.dtype == dtype, "{} is {}, not {}", operand, symbol.dtype, dtype)

    def count(self, count: Size | Name, scope: _Scope) -> None:
        if isinstance(count, str):
            self.require(self.symbol(count, scope).dtype == INT64, f"{count} is not int64")
        else:
            self.sizes(scope, count)

    # -- memory --

    def known(self, b: Buffer) -> None:
        self.require(id(b) in self.buffers, "{} is not among the program's buffers", b)

    def stored(self, b: Buffer) -> None:
        self.known(b)
        self.require(b.kind not in ("input", "constant"), "{} {} is read only", b.kind, b)

    def on_heap(self, b: Buffer) -> None:
        self.known(b)
        self.require(b.kind == "heap", f"{b} is {b.kind}, not heap")

    def index(self, index: Index, scope: _Scope) -> list[tuple[Size, Size | None]]:
        """Check the symbols; the (coefficient, extent) pairs."""
        self.sizes(scope, index.const, *(c for _, c in index.terms))
        symbols = [self.symbol(name, scope) for name, _ in index.terms]
        for (name, _), symbol in zip(index.terms, symbols, strict=True):
            self.require(symbol.dtype == INT64, "the index {} is {}, not int64", name, symbol.dtype)
        return [(c, s.extent) for (_, c), s in zip(index.terms, symbols, strict=True)]

    def access(self, b: Buffer, index: Index, guard: Operand | None, scope: _Scope) -> None:
        terms = self.index(index, scope)
        if b.kind == "heap":
            self.on_the_heap.add(id(b))
        if guard is not None:
            self.operand(guard, BOOL, scope)
        else:
            self.reach(b, index.const, terms)

    def reach(self, b: Buffer, const: Size, terms: Iterable[tuple[Size, Size | None]]) -> None:
        """Fail if ``const + sum(coefficient * (0 .. extent-1))`` must leave `b`, if it runs at all."""
        low = high = const
        for coefficient, extent in terms:
            direction = _direction(coefficient)
            if extent is None or extent == 0 or direction == 0:
                return
            span = coefficient * (extent - 1)
            low, high = (low, high + span) if direction > 0 else (low + span, high)
        if b.kind == "heap" or any(_may_not_run(s) for s in self.path):
            return
        past = high + 1 - b.size
        self.require(not _above(-low, 0), "the index goes down to {}", low)
        self.require(not _above(past, 0), "the index goes up to {}, but {} has {} elements", high, b, b.size)

    # -- scalar statements --

    def check_Load(self, s: ir.Load, scope: _Scope) -> None:
        self.known(s.buffer)
        self.access(s.buffer, s.index, s.guard, scope)
        self.require((s.guard is None) == (s.other is None), "guard and other come together")
        if s.other is not None:
            self.operand(s.other, s.buffer.dtype, scope)
        self.define(s.out, _Symbol(s.buffer.dtype), scope)

    def check_Compute(self, s: ir.Compute, scope: _Scope) -> None:
        self.require(s.op in SCALAR_OPS, "there is no op {}", s.op)
        op = SCALAR_OPS[s.op]
        self.require(len(s.args) == op.arity, "{} takes {} arguments", s.op, op.arity)
        self.require(s.argtype.kind in op.kinds, "{} does not take {}", s.op, s.argtype)
        if s.op == "index":
            self.index(Index(0, ((str(s.args[0]), 1),)), scope)
        else:
            types = [BOOL, s.argtype, s.argtype] if s.op == "select" else [s.argtype] * len(s.args)
            for arg, dtype in zip(s.args, types, strict=True):
                self.operand(arg, dtype, scope)
        result = BOOL if op.result == "bool" else s.argtype
        self.require(op.result == "asked" or s.dtype == result, "the result is {}, not {}", result, s.dtype)
        same_size = s.op != "bitcast" or s.dtype.itemsize == s.argtype.itemsize
        self.require(same_size, "{} and {} differ in size", s.argtype, s.dtype)
        self.define(s.out, _Symbol(s.dtype), scope)

    def check_Size_(self, s: ir.Size_, scope: _Scope) -> None:
        self.sizes(scope, s.size)
        self.define(s.out, _Symbol(INT64), scope)

    def check_Store(self, s: ir.Store, scope: _Scope) -> None:
        self.stored(s.buffer)
        self.access(s.buffer, s.index, s.guard, scope)
        self.operand(s.value, s.buffer.dtype, scope)
        computed = any(scope.symbols[name].scalar for name, _ in s.index.terms)
        if s.buffer.kind == "output" and not (s.add or s.guard is not None or computed):
            self.once(s)

    def once(self, s: ir.Store) -> None:
        """Fail where iterations that may run in any order leave different values in one element."""
        nest = self.path[-2] if len(self.path) > 1 else None
        axes = nest.axes if isinstance(nest, ir.Nest) else []
        used = {name for name, _ in s.index.terms}
        runs = all(a.size != 0 for a in axes)
        lost = [a.name for a in axes if runs and a.kind == "parallel" and a.size != 1 and a.name not in used]
        self.require(not lost, f"iterations of the parallel {', '.join(lost)} overwrite each other")

    def check_Combine(self, s: ir.Combine, scope: _Scope) -> None:
        self.require(s.rule in _KINDS_OF_RULE, f"there is no rule {s.rule}")
        wanted = 2 if s.rule in ("argmax", "argmin") else 1
        self.require(len(s.accs) == len(s.values) == wanted, f"{s.rule} combines {wanted} value(s)")
        for name in s.accs:
            self.require(name in scope.accs, f"{name} is not an accumulator of an enclosing nest")
        accs = [scope.accs[name] for name in s.accs]
        owner = accs[0][1]
        self.require(all(nest is owner for _, nest in accs), "the accumulators belong to different nests")
        kind = accs[0][0].dtype.kind
        self.require(kind in _KINDS_OF_RULE[s.rule], f"{s.rule} does not combine {accs[0][0].dtype}")
        self.require(wanted == 1 or accs[-1][0].dtype == INT64, f"the position {s.accs[-1]} is not int64")
        for value, (acc, _) in zip(s.values, accs, strict=True):
            self.operand(value, acc.dtype, scope)
        inside = self.path[next(i for i, p in enumerate(self.path) if p is owner) + 1 :]
        racing = [a.name for n in inside if isinstance(n, ir.Nest) for a in n.axes if a.kind == "parallel"]
        self.require(not racing, f"the parallel {', '.join(racing)} may not feed an outer nest's accs")

    # -- structure --

    def check_Nest(self, s: ir.Nest, scope: _Scope) -> None:
        body, tail = scope.inner(), scope.inner()
        for axis in s.axes:
            self.require(axis.kind in AXIS_KINDS, f"axis {axis.name} is of the unknown kind {axis.kind!r}")
            self.sizes(scope, axis.size)
            self.define(axis.name, _Symbol(INT64, scalar=False, extent=axis.size), body)
            if axis.kind == "parallel":
                tail.symbols[axis.name] = body.symbols[axis.name]
        scans = any(axis.kind == "scan" for axis in s.axes)
        for acc in s.accs:
            self.operand(acc.init, acc.dtype, scope)
            self.define(acc.name, _Symbol(acc.dtype), tail)
            body.accs[acc.name] = (acc, s)
            if scans:
                body.symbols[acc.name] = tail.symbols[acc.name]
        self.block(s.body, body)
        self.block(s.tail, tail)

    def check_While(self, s: ir.While, scope: _Scope) -> None:
        self.require((s.count is None) != (s.test is None), "a loop has either a count or a test")
        self.require(s.count is not None or not s.reverse, "a loop without a count cannot run in reverse")
        self.require(s.test is not None or not s.cond, "statements of a test, but no test")
        if s.location is not None:
            self.require(0 <= s.location < len(self.program.messages), f"there is no message {s.location}")
        inner = scope.inner()
        extent = None if isinstance(s.count, str) else s.count
        self.define(s.index, _Symbol(INT64, scalar=False, extent=extent), inner)
        if s.count is not None:
            self.count(s.count, scope)
        if s.test is not None:
            testing = inner.inner()
            self.block(s.cond, testing)
            self.operand(s.test, BOOL, testing)
        self.block(s.body, inner.inner())
        for pair in s.swaps:
            self.swap(*pair)
        for b in s.fills:
            self.known(b)
        if s.trips is not None:
            self.define(s.trips, _Symbol(INT64), scope)
        if s.binds is not None:
            self.require(s.binds not in scope.atoms, f"the size {s.binds} is bound already")
            scope.atoms[s.binds] = None

    def swap(self, a: Buffer, b: Buffer) -> None:
        self.known(a)
        self.known(b)
        movable = a is not b and a.kind == b.kind and a.kind in ("temp", "heap")
        self.require(movable, f"{a.kind} {a} and {b.kind} {b} do not swap")
        alike = a.dtype == b.dtype and (a.kind == "heap" or a.size == b.size)
        self.require(alike, f"{a}: {a.dtype}[{a.size}] and {b}: {b.dtype}[{b.size}] do not swap")

    def check_If(self, s: ir.If, scope: _Scope) -> None:
        self.operand(s.test, BOOL, scope)
        then = scope.inner()
        self.block(s.then, then)
        self.block(s.orelse, scope.inner())
        if isinstance(s.test, Const) and s.test.value:  # a block that always runs: sizes bound in it stay
            scope.atoms.update(then.atoms.maps[0])

    def check_Call(self, s: ir.Call, scope: _Scope) -> None:
        self.require(s.function in KERNELS, f"there is no kernel {s.function}")
        kernel = KERNELS[s.function]
        shaped = len(s.views) == len(kernel.arguments) and len(s.sizes) == len(kernel.sizes)
        shaped = shaped and all(
            len(v.strides) == len(a.extents) for v, a in zip(s.views, kernel.arguments, strict=True)
        )
        self.require(shaped, f"{s.function} takes other views or sizes")
        self.sizes(scope, *s.sizes, *(stride for v in s.views for stride in v.strides))
        for v, a, extents in zip(s.views, kernel.arguments, kernel.extents(s.sizes), strict=True):
            self.known(v.buffer)
            dtype = INT64 if a.integer else s.views[0].buffer.dtype
            self.require(v.buffer.dtype == dtype, f"{v.buffer} is {v.buffer.dtype}")
            terms = self.index(v.index, scope) + list(zip(v.strides, extents, strict=True))
            self.reach(v.buffer, v.index.const, terms)
            adjacent = not a.dense or v.strides[-1] == 1 or extents[-1] == 1
            self.require(adjacent, f"{v.buffer}'s columns are not contiguous")
        for buffer in s.writes():
            self.stored(buffer)

    def check_HostCall(self, s: ir.HostCall, scope: _Scope) -> None:
        for buffer in s.writes():
            self.stored(buffer)
        self.sizes(scope, *s.sizes)
        for v in s.views:
            self.known(v.buffer)
            self.index(v.index, scope)
            self.require(not v.strides, f"{v.buffer} is handed over as a whole, without strides")

    def check_Allocate(self, s: ir.Allocate, scope: _Scope) -> None:
        self.on_heap(s.buffer)
        self.count(s.elements, scope)

    def check_Grow(self, s: ir.Grow, scope: _Scope) -> None:
        self.on_heap(s.buffer)
        self.index(s.elements, scope)

    def check_Free(self, s: ir.Free, scope: _Scope) -> None:
        self.on_heap(s.buffer)

    def check_Clock(self, s: ir.Clock, scope: _Scope) -> None:
        self.known(s.buffer)
        size = s.buffer.size
        fits = s.buffer.dtype == INT64 and isinstance(size, int) and 3 + 2 * s.number <= size
        self.require(s.buffer.kind == "constant" and fits, f"{s.buffer} has no room for clock {s.number}")

    def check_Fail(self, s: ir.Fail, scope: _Scope) -> None:
        self.operand(s.test, BOOL, scope)
        self.require(0 <= s.code < len(self.program.messages), f"there is no message {s.code}")
        for name in s.details:
            self.symbol(name, scope)


def _direction(coefficient: Size) -> int:
    """+1 or -1 as the size, with all atoms at least 0, cannot be negative or cannot be positive; else 0."""
    factors = [f for _, f in coefficient.terms] if isinstance(coefficient, Dim) else [coefficient]
    return 1 if min(factors) >= 0 else -1 if max(factors) <= 0 else 0


def _above(size: Size, bound: int) -> bool:
    return isinstance(size, int) and size > bound


def _may_not_run(s: Statement) -> bool:
    """May the inside of `s` be passed over, whatever the sizes are?"""
    match s:
        case ir.If():
            return True
        case ir.While():
            return s.count is None or isinstance(s.count, str) or s.count == 0
        case ir.Nest():
            return any(a.size == 0 for a in s.axes)
    return False
