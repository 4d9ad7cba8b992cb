"""Lowering of control flow: `loop`, `cond`, `call` and `custom` become While, If, or are written in place.

Carries have buffers of their own: small ones are locals, which end up in registers; a large new value is
written beside the old one and the two buffers swap, or over it when the body only updates it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...core.dim import Dim, product
from ...core.ir.graph import Node, binding_rows
from ...core.spec import TensorSpec
from ...core.tracing.forms import BranchForm, CallForm, CustomForm
from ...core.tracing.loop_form import LoopForm, Parts, Results
from ..loopir.complexes import Val
from ..loopir.ir import Allocate, Free, Grow, If, While
from ..loopir.operands import Buffer, BufferAlias, Const, Index
from ..loopir.statement import Statement
from .builder import BOOL, INT64
from .liveness import Liveness
from .nodes import Env, Lowering
from .views import View


def lower_call(low: Lowering, node: Node, views: list[View], life: Liveness, position: int) -> Sequence[View]:
    """A call is written in place."""
    return low.inline(CallForm(views, node.attrs).graph, views)


def lower_custom(
    low: Lowering, node: Node, views: list[View], life: Liveness, position: int
) -> Sequence[View]:
    """A function with its own gradient is its body."""
    return low.inline(CustomForm(views, node.attrs).body, views)


# ---- cond -----------------------------------------------------------------------------------------------


def lower_cond(low: Lowering, node: Node, views: list[View], life: Liveness, position: int) -> Sequence[View]:
    b = low.b
    results = [b.empty(low.spec(v.spec), "temp" if b.depth == 0 else None) for v in node.outputs]
    branch = BranchForm(views, node.attrs)
    test = b.scalar(branch.pred)
    branches = []
    for graph in branch.graphs:
        with _region(low) as block:
            for source, target in zip(low.inline(graph, branch.consts), results, strict=True):
                b.copy(source, target)
        branches.append(block)
    b.block.append(If(test.operand, *branches))
    return results


@contextmanager
def _region(low: Lowering) -> Iterator[list[Statement]]:
    """Write into a block inside of a loop or branch.

    Heap buffers made in it are released at the end of the outermost loop or branch: the next iteration uses the
    same memory. Sizes bound in it are forgotten afterwards: the same region may stand in two places.
    """
    b, sizes, known = low.b, low.sizes, set(low.known)
    first = len(b.buffers)
    b.depth += 1
    try:
        with b.writing([]) as block:
            yield block
            if b.depth == 1:
                block.extend(Free(x) for x in b.buffers[first:] if x.kind == "heap")
    finally:
        b.depth -= 1
        low.sizes, low.known = sizes, known


# ---- loop -----------------------------------------------------------------------------------------------


def lower_loop(low: Lowering, node: Node, views: list[View], life: Liveness, position: int) -> Sequence[View]:
    if low.b.depth:
        return _Loop(low, node, views, life, position).lower()
    # Locals live in one function: at the outermost level the loop, its start and its end share one block.
    b, first = low.b, len(low.b.buffers)
    with b.writing([]) as block:
        b.depth += 1
        loop = _Loop(low, node, views, life, position)
        outputs = loop.lower()
        b.depth -= 1
        used = {v.buffer for v in outputs}
        inner = [x for x in b.buffers[first:] if x.kind == "heap" and x not in used]
        results = [b.copied(v) if v.buffer is not None and v.buffer.kind == "local" else v for v in outputs]
        block.extend(map(Free, inner))
    b.block.append(If(Const(True, BOOL), block, []))
    return results


class _Loop:
    """One loop being lowered."""

    def __init__(self, low: Lowering, node: Node, views: list[View], life: Liveness, position: int):
        self.low = low
        self.b = low.b
        self.node = node
        self.life = life
        self.position = position
        #: The loop of views, and as it stands in the graph.
        self.loop = LoopForm(views, low.attrs(node))
        self.form = LoopForm(node.inputs, node.attrs, node.outputs)
        self.index = self.b.fresh("n")
        self.late = False
        self.first = 0
        self.homes: dict[int, int] = {}
        self.whole: dict[int, View] = {}
        self.claimed: set[Any] = set()
        self.fills: list[Buffer] = []

    def _homes(self) -> dict[int, int]:
        """Large carries whose old values are kept row by row: carry to stack.

        Such a carry lives in its stack, which gets one row more: an iteration reads a row and writes the next.
        """
        homes: dict[int, int] = {}
        if self.late and self.loop.reverse:
            return homes  # the row to start from is not known yet
        old = {v: k for k, v in enumerate(self.loop.carry_in)}
        for j, v in enumerate(self.loop.ys_out):
            k = old.get(v)
            if k is not None and k not in homes and self.b.empty_kind(self.low.spec(v.spec)) != "local":
                homes[k] = j
        return homes

    def lower(self) -> list[View]:
        limit = self._limit()
        binds = self._bind_trips()
        self.homes = self._homes()
        stacks = [self._stack(j, v.spec, limit) for j, v in enumerate(self.form.ys)]
        storage = [self._storage(k, stacks) for k in range(len(self.loop.init))]
        self.first = len(self.b.buffers)
        with _region(self.low) as block:
            self._grow(stacks)
            outputs = self._run_body(storage, stacks)
            swaps = self._hand_over(outputs, storage)
        cond: list[Statement] = []
        test = None
        if self.loop.cond is not None:
            with _region(self.low) as cond:
                given = Parts(storage, (), self.loop.consts).of_cond()
                test = self.b.scalar(self.low.inline(self.loop.cond, given)[0]).operand
        trips = self.b.fresh("v")
        loop = While(self.index, limit, block, cond, test, self.loop.reverse, trips, binds, swaps)
        loop.location, loop.fills = self.b.place(self.node.location), self.fills
        self.b.block.append(loop)
        last = [self._end_row(k) if k in self.homes else view for k, view in enumerate(storage)]
        return Results(last, self._trip_count(trips), stacks).of_loop()

    def _limit(self) -> Any:
        """How often to run: a size, a scalar's name, or None for a condition."""
        if self.loop.count is None:
            return self.loop.length
        b = self.b
        given = b.compute("max", b.scalar(self.loop.count), b.constant(0, INT64))
        return given.operand

    def _storage(self, k: int, stacks: Sequence[View]) -> View:
        """The memory of a carry, holding its first value."""
        b, init = self.b, self.loop.init[k]
        if k in self.homes:
            b.copy(init, self._end_row(k, start=True))
            return stacks[self.homes[k]].row(self.index)
        spec = TensorSpec(init.shape, init.dtype)
        last = self.life.ends(self.form.init[k], self.position)
        free = init.is_whole and init.buffer.kind == "temp" and last
        again = sum(v.buffer is init.buffer for v in (*self.loop.init, *self.loop.xs, *self.loop.consts)) > 1
        small = isinstance(spec.size, int) and b.empty_kind(spec) == "local"
        if free and not again and not small and init.buffer not in self.low.swapped:
            return init
        view = self.b.empty(spec)
        b.copy(init, view)
        return view

    def _end_row(self, k: int, start: bool = False) -> View:
        """The row of its stack in which a carry ends, or starts."""
        whole = self.whole[self.homes[k]]
        row = whole.shape[0] - 1 if start == self.loop.reverse else 0
        inner = [(0, d, 1) for d in whole.shape[1:]]
        end_row = whole.sliced([(row, 1, 1), *inner]).reshaped(whole.shape[1:])
        assert end_row is not None
        return end_row

    def _rows_written(self, j: int) -> View:
        """Row ``index`` of this is where iteration ``index`` puts the new value of the carry living in stack `j`."""
        whole = self.whole[j]
        first = 0 if self.loop.reverse else 1
        return whole.sliced([(first, whole.shape[0] - 1, 1), *((0, d, 1) for d in whole.shape[1:])])

    def _bind_trips(self) -> str | None:
        """Give the loop's own trip-count atom, if it has one, a name unique in the program."""
        ys = binding_rows(self.node)
        if not ys:
            return None
        size = ys[0].spec.shape[0]
        assert isinstance(size, Dim)
        if size.atom is None or (size.atom.name in self.low.known and self.b.depth <= 1):
            return None  # inside of a loop or branch the same name is another size
        name = self.b.fresh("t")
        while name in self.low.known:  # an input's size has the name
            name = self.b.fresh("t")
        self.low.known.add(size.atom.name)
        self.low.sizes = {**self.low.sizes, size.atom.name: Dim.of(name)}
        self.b.bound.append(name)
        self.late = True
        return name

    def _stack(self, j: int, spec: TensorSpec, limit: Any) -> View:
        """Room for the rows the body writes: all of it now when the number of rows is known, else grown."""
        spec = self.low.spec(spec)
        more = int(j in self.homes.values())
        count = spec.shape[0]
        whole = self.b.empty(
            spec.with_shape((count + more, *spec.shape[1:])), "heap" if self.late else "temp"
        )
        if self.late:
            self._allocate(whole, limit, more)
        if not more:
            return whole
        self.whole[j] = whole
        first = 1 if self.loop.reverse else 0
        return whole.sliced([(first, count, 1), *((0, d, 1) for d in spec.shape[1:])])

    def _allocate(self, whole: View, limit: Any, more: int) -> None:
        """Room for as many rows as the loop runs and `more`, or for these alone where that is not known."""
        b, row = self.b, product(whole.shape[1:]) * whole.unit
        elements: Any = row * more
        if self.loop.count is not None:
            rows = b.compute("add", Val(limit, INT64), b.constant(more, INT64)) if more else Val(limit, INT64)
            elements = b.compute("mul", rows, b.size(row)).operand
        b.block.append(Allocate(whole.memory, elements))

    def _grow(self, stacks: Sequence[View]) -> None:
        if not self.late or self.loop.count is not None:
            return
        for j, stack in enumerate(stacks):
            row = product(stack.shape[1:]) * stack.unit
            first = 2 * row if j in self.whole else row
            self.b.block.append(Grow(stack.memory, Index(first, ((self.index, row),))))

    def _run_body(self, storage: Sequence[View], stacks: Sequence[View]) -> list[View]:
        """Lower the body; rows that are a carry's old value are written first, so that it may be updated."""
        b, loop = self.b, self.loop
        counter = View.whole(b.buffer(INT64, 1, "local"), (), INT64)
        b.each((), lambda ix: b.store(counter, ix, b.position(self.index, INT64)))
        given = Parts(storage, [x.row(self.index) for x in loop.xs], loop.consts).of_body(counter)
        env: Env = dict(zip(loop.body.inputs, given, strict=True))
        old = set(loop.carry_in)
        at_home = {loop.carry_in[k] for k in self.homes}
        kept = list(zip(loop.ys_out, stacks, strict=True))
        for j, (v, stack) in enumerate(kept):
            if v in old and j not in self.whole:
                b.copy(env[v], stack.row(self.index))
        held = [*loop.carry_out, *(v for v in loop.ys_out if v not in old)]
        self.low.nodes(loop.body, env, old - at_home, held)
        self.claimed = {env[v].buffer for v in loop.carry_out}
        for v, stack in kept:
            if v not in old:
                self._put(env[v], stack.row(self.index))
        self.claimed = set()
        return [env[v] for v in loop.carry_out]

    def _put(self, view: View, target: View) -> None:
        """Bring a value of the body into a row of a stack: it is computed there when it has a temp of its own."""
        if view.buffer is not None and view.buffer.kind == "temp" and self._is_own(view):
            assert target.buffer is not None
            self.claimed.add(view.buffer)
            self.low.swapped.add(view.buffer)
            self.fills.append(target.buffer)
            self.low.moves.append(
                BufferAlias(view.buffer, target.buffer, target.index((0,) * len(target.shape)))
            )
        else:
            self.b.copy(view, target)

    def _is_own(self, view: View) -> bool:
        """Is the value all there is in a buffer made in this body, which nothing else has claimed?"""
        return (
            view.is_whole
            and view.buffer in self.b.buffers[self.first :]
            and view.buffer not in self.claimed
            and view.buffer not in self.low.swapped
        )

    def _hand_over(self, outputs: list[View], storage: list[View]) -> list[Any]:
        """Bring the new carries into the carries' memory: in place, by swapping, or by copying."""
        swaps, copies = [], []
        fresh: list[View] = []
        for k, (new, old) in enumerate(zip(outputs, storage, strict=True)):
            if k in self.homes:
                self._put(new, self._rows_written(self.homes[k]).row(self.index))
                fresh.append(old)
                continue
            if new.buffer is old.buffer and new.is_whole and old.is_whole:
                fresh.append(new)
                continue
            usable = new.buffer is not None and new.buffer.kind in ("temp", "local") and self._is_own(new)
            kept = new if usable else self.b.copied(new)
            self.claimed.add(kept.buffer)
            fresh.append(kept)
        for new, old in zip(fresh, storage, strict=True):
            if new.buffer is old.buffer:
                continue
            if old.memory.kind == "temp" and new.memory.kind == "temp":
                swaps.append((old.memory, new.memory))
                self.low.swapped.update((old.memory, new.memory))
            else:
                copies.append((new, old))
        for new, old in copies:
            self.b.copy(new, old)
        return swaps

    def _trip_count(self, trips: str) -> View:
        view = View.whole(self.b.buffer(INT64, 1, "temp"), (), INT64)
        self.b.each((), lambda ix: self.b.store(view, ix, Val(trips, INT64)))
        return view
