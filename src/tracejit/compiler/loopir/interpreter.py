"""An interpreter of the loop IR in NumPy, which defines what a program means.

It stands between the eager kernels and the machine code, so that a wrong number can be blamed on one side. It
knows the data in ``loops.py`` and nothing of graphs, schedules or LLVM. A nest runs as array expressions
where its iterations cannot see each other, else index by index. Memory starts as all-ones bytes (NaN, -1),
and temps that have an offset share one workspace, so that unwritten reads and overlapping plans show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...core.dim import Size, evaluate
from .. import hostcalls
from . import ir
from .called_kernels import KERNELS
from .operands import Acc, Axis, Buffer, Const, Index, Name, Operand, View
from .scalar_ops import SCALAR_OPS
from .statement import Statement

Values = tuple[np.ndarray, ...]

# ---- scalar operations ----------------------------------------------------------------------------------


def compute(op: str, args: Sequence[np.ndarray], dtype: np.dtype) -> np.ndarray:
    """The scalar operation `op` on every element of `args`, as `dtype`."""
    if op == "bitcast":
        return args[0].view(dtype)
    return np.asarray(SCALAR_OPS[op].meaning(*args)).astype(dtype, copy=False)


# ---- combining ------------------------------------------------------------------------------------------


def combine(rule: str, state: Values, values: Values) -> Values:
    """One step of a Combine. Every rule is associative, so states may be combined in any grouping."""
    if rule not in ("argmax", "argmin"):
        return (np.asarray(SCALAR_OPS[rule].meaning(state[0], values[0])),)
    (best, at), (value, position) = state, values
    earlier = position < at
    better = value > best if rule == "argmax" else value < best
    better |= (value == best) & earlier
    better |= (value != value) & ((best == best) | earlier)
    return np.where(better, value, best), np.where(better, position, at)


def fold(rule: str, values: Values, axes: Sequence[int]) -> Values:
    """Combine `values`, none of them empty, over `axes` by halving; the axes stay, with size 1."""
    shape = values[0].shape
    kept = [p for p in range(len(shape)) if p not in axes]
    rows = tuple(v.transpose(*axes, *kept).reshape(-1, *(shape[p] for p in kept)) for v in values)
    while (half := len(rows[0]) // 2) > 0:
        folded = combine(rule, tuple(r[:half] for r in rows), tuple(r[half : 2 * half] for r in rows))
        rows = tuple(np.concatenate([f, r[2 * half :]]) for f, r in zip(folded, rows, strict=True))
    return tuple(r.reshape([1 if p in axes else n for p, n in enumerate(shape)]) for r in rows)


# ---- programs -------------------------------------------------------------------------------------------


class ProgramFailure(RuntimeError):
    """A Fail statement's test held.

    Attributes
    ----------
    code : int
        Index into the program's messages.
    details : tuple
        Values of the scalars the statement names.
    """

    def __init__(self, code: int, message: str, details: tuple[Any, ...]):
        super().__init__(f"status {code}: {message} {details}")
        self.code = code
        self.details = details


def run(
    program: ir.Program,
    inputs: Sequence[np.ndarray],
    sizes: Mapping[str, int],
    constants: Sequence[np.ndarray] = (),
) -> tuple[list[np.ndarray], dict[str, int]]:
    """Execute `program`.

    Parameters
    ----------
    inputs, constants : sequence of ndarray
        By the slots of the input and constant buffers; read in C order, complex numbers as pairs.
    sizes : mapping
        The program's atoms, by name.

    Returns
    -------
    outputs : list of ndarray
        The memory of the buffers handed to the caller, flat, in order of their slots.
    bound : dict
        The sizes of the atoms that loops bound.

    Raises
    ------
    ProgramFailure
        If a Fail statement's test holds.
    IndexError
        If a statement reaches outside a buffer.
    """
    machine = _Machine(program, inputs, sizes, constants)
    with np.errstate(all="ignore"):
        machine.execute(program.body)
    handed = [b for b in program.buffers if b.kind == "output" or (b.kind == "heap" and b.slot >= 0)]
    outputs = [machine.memory[b][: machine.size(b.size)] for b in sorted(handed, key=lambda b: b.slot)]
    return outputs, {atom: machine.sizes[atom] for atom in program.bound}


def _fresh(elements: int, dtype: np.dtype) -> np.ndarray:
    return np.full(elements * dtype.itemsize, 0xFF, np.uint8).view(dtype)


def _flat(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """A read-only linear view of `array`, a copy where its elements are not in C order."""
    flat = np.ascontiguousarray(array).reshape(-1).view(dtype)
    flat.flags.writeable = False
    return flat


class _Machine:
    """The state of one run: memory by buffer, sizes by atom, scalars by name.

    While a nest runs as arrays, a scalar is an array that broadcasts to `lanes`, one position per axis.
    """

    def __init__(
        self, program: ir.Program, inputs: Sequence[Any], sizes: Mapping[str, int], constants: Sequence[Any]
    ):
        self.program = program
        self.sizes = dict(sizes)
        self.scalars: dict[Name, np.ndarray] = {}
        self.lanes: tuple[int, ...] = ()
        self.nest: ir.Nest | None = None
        self.workspace = _fresh(self.size(program.workspace), np.dtype(np.uint8))
        given = {"input": inputs, "constant": constants}
        self.memory: dict[Buffer, np.ndarray] = {
            b: _flat(given[b.kind][b.slot], b.dtype) if b.kind in given else self.place(b)
            for b in program.buffers
            if b.kind != "heap"
        }
        for b, memory in self.memory.items():
            if len(memory) != self.size(b.size):
                raise ValueError(f"{b.kind} {b} has {len(memory)} elements, not {self.size(b.size)}")

    def place(self, b: Buffer) -> np.ndarray:
        if b.kind != "temp" or b.offset == -1:
            return _fresh(self.size(b.size), b.dtype)
        start = self.size(b.offset)
        return self.workspace[start : start + self.size(b.size) * b.dtype.itemsize].view(b.dtype)

    # -- reading --

    def size(self, size: Size) -> int:
        return evaluate(size, self.sizes)

    def value(self, operand: Operand) -> np.ndarray:
        if isinstance(operand, Const):
            return np.asarray(operand.value, operand.dtype)
        return np.asarray(self.scalars[operand])

    def count(self, count: Size | Name) -> int:
        return int(self.value(count)) if isinstance(count, str) else self.size(count)

    def offset(self, index: Index) -> np.ndarray:
        total = np.asarray(self.size(index.const))
        for symbol, coefficient in index.terms:
            total = total + self.value(symbol) * self.size(coefficient)
        return np.asarray(total)

    def within(self, buffer: Buffer, offsets: np.ndarray) -> np.ndarray:
        bad = offsets[(offsets < 0) | (offsets >= len(self.memory[buffer]))]
        if bad.size:
            raise IndexError(f"element {bad.flat[0]} of {buffer}, which has {len(self.memory[buffer])}")
        return offsets

    # -- statements --

    def execute(self, statements: Sequence[Statement]) -> None:
        for statement in statements:
            getattr(self, f"do_{type(statement).__name__}")(statement)

    def do_Load(self, s: ir.Load) -> None:
        offsets = self.offset(s.index)
        if s.guard is None:
            self.scalars[s.out] = self.memory[s.buffer][self.within(s.buffer, offsets)]
            return
        assert s.other is not None  # a guarded load has a value for when its guard is false
        offsets, guard, other = np.broadcast_arrays(offsets, self.value(s.guard), self.value(s.other))
        loaded = other.copy()
        loaded[guard] = self.memory[s.buffer][self.within(s.buffer, offsets[guard])]
        self.scalars[s.out] = loaded

    def do_Compute(self, s: ir.Compute) -> None:
        self.scalars[s.out] = compute(s.op, [self.value(a) for a in s.args], s.dtype)

    def do_Size_(self, s: ir.Size_) -> None:
        self.scalars[s.out] = np.asarray(self.size(s.size))

    def do_Store(self, s: ir.Store) -> None:
        written = True if s.guard is None else self.value(s.guard)
        parts = (self.offset(s.index), self.value(s.value), np.asarray(written))
        offsets, values, guard = (np.broadcast_to(p, self.lanes) for p in parts)
        offsets, values = self.within(s.buffer, offsets[guard]), values[guard]
        if s.add:
            np.add.at(self.memory[s.buffer], offsets, values)
        else:
            self.memory[s.buffer][offsets] = values  # where offsets repeat, the last one stays

    def do_Combine(self, s: ir.Combine) -> None:
        values = tuple(np.broadcast_to(self.value(v), self.lanes) for v in s.values)
        if self.nest is not None:
            own = any(a.name == s.accs[0] for a in self.nest.accs)
            axes = [p for p, a in enumerate(self.nest.axes) if a.kind == "reduce" or not own]
            values = fold(s.rule, values, axes)
            values = values if own else tuple(v.reshape(()) for v in values)
        state = combine(s.rule, tuple(self.value(a) for a in s.accs), values)
        self.scalars.update(zip(s.accs, state, strict=True))

    def do_If(self, s: ir.If) -> None:
        self.execute(s.then if self.value(s.test) else s.orelse)

    def do_While(self, s: ir.While) -> None:
        trips = 0
        total = None if s.count is None else self.count(s.count)
        while total is None or trips < total:
            self.scalars[s.index] = np.asarray(total - 1 - trips if total and s.reverse else trips)
            self.execute(s.cond)
            if s.test is not None and not self.value(s.test):
                break
            self.execute(s.body)
            for a, b in s.swaps:
                self.memory[a], self.memory[b] = self.memory[b], self.memory[a]
            trips += 1
        if s.trips is not None:
            self.scalars[s.trips] = np.asarray(trips)
        if s.binds is not None:
            self.sizes[s.binds] = trips

    def do_Allocate(self, s: ir.Allocate) -> None:
        self.memory[s.buffer] = _fresh(self.count(s.elements), s.buffer.dtype)

    def do_Grow(self, s: ir.Grow) -> None:
        old, needed = self.memory[s.buffer], int(self.offset(s.elements))
        if needed > len(old):
            self.memory[s.buffer] = _fresh(max(needed, 2 * len(old)), old.dtype)
            self.memory[s.buffer][: len(old)] = old

    def do_Free(self, s: ir.Free) -> None:
        del self.memory[s.buffer]

    def do_Clock(self, s: ir.Clock) -> None:
        pass  # time is no part of what a program means

    def do_Fail(self, s: ir.Fail) -> None:
        if self.value(s.test):
            details = tuple(self.value(d).item() for d in s.details)
            message = self.program.messages[s.code]
            raise ProgramFailure(s.code, message if isinstance(message, str) else message[1], details)

    def do_Call(self, s: ir.Call) -> None:
        kernel, sizes = KERNELS[s.function], [self.size(size) for size in s.sizes]
        cells = [self.cells(v, shape) for v, shape in zip(s.views, kernel.extents(sizes), strict=True)]
        arrays = [self.memory[v.buffer] for v in s.views]
        inputs = len(arrays) - kernel.outputs
        read = [array[c] for array, c in zip(arrays[:inputs], cells, strict=False)]
        results = kernel.meaning(*read, *sizes[len(sizes) - kernel.flags :])
        results = results if isinstance(results, tuple) else (results,)
        for array, c, result in zip(arrays[inputs:], cells[inputs:], results, strict=True):
            array[c] = result + (array[c] if s.accumulate else array.dtype.type(0))

    def do_HostCall(self, s: ir.HostCall) -> None:
        dims = iter([self.size(size) for size in s.sizes])
        arrays = []
        for view, (dtype, rank) in zip(s.views, hostcalls.arguments(s.function), strict=True):
            shape = tuple(next(dims) for _ in range(rank))
            first = self.offset(view.index)
            count = int(np.prod(shape, dtype=np.int64)) * (2 if dtype.kind == "c" else 1)
            arrays.append(self.memory[view.buffer][first : first + count].view(dtype).reshape(shape))
        given = len(arrays) - s.results
        for target, result in zip(
            arrays[given:], hostcalls.function(s.function)(*arrays[:given]), strict=True
        ):
            target[...] = result

    def cells(self, view: View, shape: tuple[int, ...]) -> np.ndarray:
        strides = [self.size(stride) for stride in view.strides]
        steps = sum(step * stride for step, stride in zip(np.indices(shape), strides, strict=True))
        return self.within(view.buffer, self.offset(view.index) + steps)

    # -- nests --

    def do_Nest(self, s: ir.Nest) -> None:
        (self.run_as_arrays if self.independent(s) else self.run_by_index)(s)

    def independent(self, nest: ir.Nest) -> bool:
        """May every statement run for all indices before the next one starts?"""
        statements = [*nest.body, *nest.tail]
        simple = all(isinstance(s, (ir.Load, ir.Compute, ir.Size_, ir.Store, ir.Combine)) for s in statements)
        if not simple or any(a.kind == "scan" for a in nest.axes):
            return False
        accesses = [s for s in statements if isinstance(s, (ir.Load, ir.Store))]
        stores = [s for s in accesses if isinstance(s, ir.Store)]
        return all(s is t or self.apart(s, t, nest.axes) for s in stores for t in accesses)

    def apart(self, s: ir.Store, t: ir.Load | ir.Store, axes: list[Axis]) -> bool:
        """Do `s` and `t` use different memory, or the same cell, one that each index has to itself?"""
        a, b = self.memory[s.buffer], self.memory[t.buffer]
        if not np.may_share_memory(a, b):
            return True
        owned = {symbol for symbol, _ in s.index.terms}.issuperset(x.name for x in axes if x.size != 1)
        return owned and s.index == t.index and a.ctypes.data == b.ctypes.data and a.itemsize == b.itemsize

    def run_as_arrays(self, nest: ir.Nest) -> None:
        extents = tuple(max(0, self.size(a.size)) for a in nest.axes)
        positions = np.ogrid[tuple(slice(n) for n in extents)]
        self.scalars.update((a.name, p) for a, p in zip(nest.axes, positions, strict=True))
        self.scalars.update(_initial(nest.accs))
        kept = tuple(1 if a.kind == "reduce" else n for a, n in zip(nest.axes, extents, strict=True))
        self.nest = nest
        for lanes, statements in ((extents, nest.body), (kept, nest.tail)):
            self.lanes = lanes
            if 0 not in lanes:
                self.execute(statements)
        self.nest, self.lanes = None, ()

    def run_by_index(self, nest: ir.Nest) -> None:
        """In the nest's order; the tail follows as soon as the outermost other axis has run through."""
        split = next((p for p, a in enumerate(nest.axes) if a.kind != "parallel"), len(nest.axes))
        outer, inner = nest.axes[:split], nest.axes[split:]
        parallel = [a for a in inner if a.kind == "parallel"]
        for _ in self.indices(outer):
            states: dict[tuple[Any, ...], dict[Name, np.ndarray]] = {}
            for _ in self.indices(inner):
                key = tuple(int(self.scalars[a.name]) for a in parallel)
                self.scalars.update(states.get(key) or _initial(nest.accs))
                self.execute(nest.body)
                states[key] = {a.name: self.scalars[a.name] for a in nest.accs}
            for key in self.indices(parallel):
                self.scalars.update(states.get(key) or _initial(nest.accs))
                self.execute(nest.tail)

    def indices(self, axes: Sequence[Axis]) -> Iterator[tuple[int, ...]]:
        """Every index of `axes` in order, bound to their names meanwhile."""
        for point in np.ndindex(*(max(0, self.size(a.size)) for a in axes)):
            self.scalars.update((a.name, np.asarray(p)) for a, p in zip(axes, point, strict=True))
            yield point


def _initial(accs: Sequence[Acc]) -> dict[Name, np.ndarray]:
    return {a.name: np.asarray(a.init.value, a.dtype) for a in accs}
