"""The NaN mode of compiled code: the graph also computes a flag that is NaN where any value is not finite.

``v * 0`` is NaN where `v` is not finite, and so are sums with it. Most ops pass on what is not finite, so that only the
last of several is looked at; which do is found by trying. Where one does not, its result is made NaN; where none reads
a value element by element, a flag is taken. Carries that pass on to themselves are looked at behind their loop, which
carries flags only where it must. Which op it was is not told: that is found by running the graph again, op by op.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import product

import numpy as np

from ...core.dim import nonnegative
from ...core.ir.graph import Constant, Graph, Node, Value
from ...core.op import Op, ops
from ...core.spec import TensorSpec
from ...core.tracing.forms import BranchForm
from ...core.tracing.loop_form import LoopForm
from ...ops.lowering import Reduce, Structure

FLAG = TensorSpec((), np.dtype(np.float32))
#: Elements of a row that is too short for a sum of its own.
SHORT_ROW = 16
#: Elements of a result for each of an input from which the input has a flag of its own.
SPREAD = 8


def watched(graph: Graph) -> Graph:
    """The graph with a last output of spec `FLAG` that says whether all is finite; remembered on the graph."""
    if "watched" not in graph.derived:
        watch = _Watch(graph)
        graph.derived["watched"] = watch.finished([*watch.outputs(), watch.flag()])
    return graph.derived["watched"]


def guarded(graph: Graph) -> Graph:
    """The graph with a check behind all else: FloatingPointError where something that it computes is not finite."""
    watch = _Watch(graph)
    flag = watch.flag()
    holds = watch.add(ops.equal, (flag, flag), TensorSpec((), np.dtype(bool)))
    test = watch.add(ops.cast, (holds,), FLAG, dtype=FLAG.dtype)
    watch.add(ops.check, (test,), FLAG, message="not finite", error="FloatingPointError")
    return watch.finished(watch.outputs())


class _Watch:
    """Builds the copy of one graph, or of the body of a loop.

    Parameters
    ----------
    graph : Graph
    seen : iterable of Value
        Outputs that are looked at outside.
    paths : iterable of Value
        Values on the way of carries to themselves: each passes on what is not finite to the next, or is made to.
    """

    def __init__(self, graph: Graph, seen: Iterable[Value] = (), paths: Iterable[tuple[Value, Node]] = ()):
        self.old = graph
        self.new = Graph(graph.name, state=graph.state, guards=graph.guards, finished=True)
        self.env = {v: self.new.add_input(v.spec) for v in graph.inputs}
        self.flags: list[Value] = []
        self._zeros: dict[np.dtype, Value] = {}
        self._cover = _Cover(graph, seen, paths)
        for node in graph.nodes:
            self._node(node)

    def outputs(self) -> list[Value]:
        return [self.env[v] for v in self.old.outputs]

    def finished(self, outputs: list[Value]) -> Graph:
        self.new.outputs = outputs
        return self.new

    def leaves_to_others(self, value: Value) -> bool:
        """Is an output made here, and looked at outside alone?"""
        return value not in self._cover.passed_on and value not in self.old.inputs

    def _node(self, node: Node) -> None:
        if (loop := LoopForm.of(node)) is not None:
            self._loop(node, loop)
        elif (branch := BranchForm.of(node)) is not None:
            both = branch.replace(then=watched(branch.then), orelse=watched(branch.orelse))
            self.flags.append(self._structured(node, both, len(node.outputs)))
        else:
            self.new.add_copy(node, self.env)
            for v in self._cover.poisons.get(node, ()):
                self._poison(node.outputs[0], v)
            self.flags += [self._of(v) for v in node.outputs if self._cover.must_look(node, v)]

    def _loop(self, node: Node, loop: LoopForm) -> None:
        """A loop that carries a flag more, behind its own, unless all it computes is looked at outside."""
        body, carries = loop.body, len(loop.init)
        persistent = {k: path for k in range(carries) if (path := _path(body, loop, k)) is not None}
        seen = [*(loop.carry_out[k] for k in persistent), *loop.ys_out]
        watch = _Watch(body, seen, [step for path in persistent.values() for step in path])
        rows = [y for y, v in zip(loop.ys, loop.ys_out, strict=True) if watch.leaves_to_others(v)]
        if not watch.flags:
            own = loop.replace(body=watch.finished(watch.outputs()), keeps_carries=False)
            self._structured(node, own, None)
        else:
            watch.flags.append(watch.new.add_input(FLAG))
            watch.new.inputs.insert(1 + carries, watch.new.inputs.pop())
            outputs = watch.outputs()
            outputs.insert(carries, watch.flag())
            cond = None if loop.cond is None else _with_input(loop.cond, carries)
            init = (*loop.init, self._literal(np.float32(0.0)))
            own = loop.replace(body=watch.finished(outputs), cond=cond, init=init, keeps_carries=False)
            self.flags.append(self._structured(node, own, carries))
        outside = [*(loop.final[k] for k in persistent), *rows]
        self.flags += [self._of(v) for v in outside if self._cover.must_look(node, v)]

    def _structured(self, node: Node, form: LoopForm | BranchForm, flag: int | None) -> Value:
        """Copy a node with regions, and its output `flag` that is not the old one's; the last output without one."""
        operands = tuple([self.env.get(v, v) for v in form.inputs])
        specs = [v.spec for v in node.outputs]
        if flag is not None:
            specs.insert(flag, FLAG)
        outputs = list(self.new.add(node.op, operands, form.attrs, tuple(specs), node.location))
        found = outputs[-1] if flag is None else outputs.pop(flag)
        self.env.update(zip(node.outputs, outputs, strict=True))
        return found

    def _poison(self, result: Value, value: Value) -> None:
        """Make a result NaN where `value` is not finite: ``result - abs(value * 0)`` is itself, its sign too."""
        y, x = self.env[result], self.env[value]
        nothing = self.add(ops.abs, (self._times_zero(x),), x.spec)
        self.env[result] = self.add(ops.subtract, (y, nothing), y.spec)

    # ---- the flags ----------------------------------------------------------------------------------------

    def _of(self, value: Value) -> Value:
        """0.0 or NaN, of all elements of a value."""
        x = self.env[value]
        if x.spec.dtype.kind == "c":
            parts = [self._sum(self.add(op, (x,), _real(x.spec))) for op in (ops.real, ops.imag)]
            return self.add(ops.add, tuple(parts), FLAG)
        return self._sum(x)

    def _times_zero(self, x: Value) -> Value:
        dtype = x.spec.dtype
        zero = self._zeros.get(dtype)
        if zero is None:
            zero = self._zeros[dtype] = self._literal(dtype.type(0))
        return self.add(ops.multiply, (x, zero), x.spec)

    def _sum(self, x: Value) -> Value:
        """The sum of all elements times zero; of long rows row by row, as what makes them may go."""
        dtype, x = x.spec.dtype, self._times_zero(x)
        rank, last = len(x.spec.shape), x.spec.shape[-1:]
        if rank > 1 and not (isinstance(last[0], int) and last[0] < SHORT_ROW):
            x = self.add(ops.reduce_sum, (x,), TensorSpec(x.spec.shape[:-1], dtype), axis=(rank - 1,))
            rank -= 1
        if rank:
            x = self.add(ops.reduce_sum, (x,), TensorSpec((), dtype), axis=tuple(range(rank)))
        return x if dtype == FLAG.dtype else self.add(ops.cast, (x,), FLAG, dtype=FLAG.dtype)

    def flag(self) -> Value:
        """All that was found, as one."""
        if not self.flags:
            return self._literal(np.float32(0.0))
        total = self.flags[0]
        for flag in self.flags[1:]:
            total = self.add(ops.add, (total, flag), FLAG)
        return total

    def _literal(self, number: np.generic) -> Value:
        held = Constant.of(np.asarray(number))
        return self.add(ops.constant, (), TensorSpec((), held.array.dtype), value=held)

    def add(self, op: Op, inputs: tuple[Value, ...], spec: TensorSpec, **attrs: object) -> Value:
        return self.new.add(op, inputs, attrs, (spec,))[0]


def _real(spec: TensorSpec) -> TensorSpec:
    return TensorSpec(spec.shape, np.dtype(f"float{spec.dtype.itemsize * 4}"))


def _with_input(graph: Graph, position: int) -> Graph:
    """A copy of a graph with one input more, which it does not read."""
    copy = Graph(graph.name, state=graph.state, guards=graph.guards, finished=True)
    env = {v: copy.add_input(v.spec) for v in graph.inputs}
    copy.add_input(FLAG)
    copy.inputs.insert(position, copy.inputs.pop())
    for node in graph.nodes:
        copy.add_copy(node, env)
    copy.outputs = [env[v] for v in graph.outputs]
    return copy


# ---- what is looked at where ----------------------------------------------------------------------------


class _Cover:
    """Which values of a region need a look of their own, and which results are to be made NaN.

    Attributes
    ----------
    poisons : dict
        Nodes to the inputs that they would let disappear.
    passed_on : set of Value
        What some node passes on.
    """

    def __init__(self, graph: Graph, seen: Iterable[Value], paths: Iterable[tuple[Value, Node]]):
        self.poisons: dict[Node, list[Value]] = {}
        readers = [(v, node) for node in graph.nodes for v in node.inputs]
        self.passed_on = {v for v, node in readers if passes_on(node, v)}
        self._covered = self.passed_on.union(seen)
        for value, node in paths:
            self._poison(value, node)
        made = {v for node in graph.nodes if not node.op.literal for v in node.outputs}
        for value, node in readers:
            if value in made and value not in self._covered and is_cheaply_made_to(node, value):
                self._poison(value, node)

    def _poison(self, value: Value, node: Node) -> None:
        self._covered.add(value)
        if value not in self.poisons.setdefault(node, []):
            self.poisons[node].append(value)

    def must_look(self, node: Node, value: Value) -> bool:
        return not node.op.literal and bool(node.inputs) and _is_float(value) and value not in self._covered


def _path(body: Graph, loop: LoopForm, carry: int) -> list[tuple[Value, Node]] | None:
    """How a carry passes on to itself what is not finite: what must be made to on the way; None where it does not."""
    start, end = loop.carry_in[carry], loop.carry_out[carry]
    if start is end or not _is_float(start):
        return None
    for follows in (passes_on, lambda node, v: passes_on(node, v) or can_be_made_to(node, v)):
        came_by = _reached(body, start, follows)
        if end in came_by:
            path, value = [], end
            while value is not start:
                before, node = came_by[value]
                if not passes_on(node, before):
                    path.append((before, node))
                value = before
            return path
    return None


def _reached(
    body: Graph, start: Value, follows: Callable[[Node, Value], bool]
) -> dict[Value, tuple[Value, Node]]:
    """What is reached from a value by steps that `follows` allows, and the last step to each."""
    came_by: dict[Value, tuple[Value, Node]] = {}
    for node in body.nodes:
        for v in node.inputs:
            if (v is start or v in came_by) and follows(node, v):
                came_by[node.outputs[0]] = (v, node)
                break
    return came_by


def _is_float(value: Value) -> bool:
    return value.spec.dtype.kind in "fc"


def can_be_made_to(node: Node, value: Value) -> bool:
    """Is there an element of the result for each of an input, so that it can be made NaN?"""
    kinds = value.spec.dtype.kind + node.outputs[0].spec.dtype.kind
    alike = kinds == "ff" and value.spec.dtype == node.outputs[0].spec.dtype
    return node.op.elementwise and alike and _is_whole(node, value)


def is_cheaply_made_to(node: Node, value: Value) -> bool:
    """Can it be, and has the result not many elements for each of the input? Then a flag of the few costs less."""
    many = nonnegative(node.outputs[0].spec.size - SPREAD * value.spec.size)
    return can_be_made_to(node, value) and not many


def passes_on(node: Node, value: Value) -> bool:
    """Is a result never finite where this input is not?"""
    op, result = node.op, node.outputs[0] if node.outputs else value
    if not _is_float(value) or not _is_float(result):
        return False
    if op.elementwise:
        spreads = any(v is value and _spreads(op, len(node.inputs), k) for k, v in enumerate(node.inputs))
        return not node.attrs and spreads and _is_whole(node, value)
    if isinstance(op.lower, Reduce):
        return op.lower.rule == "add"
    if isinstance(op.lower, Structure) and op.lower.name == "matmul":
        return _is_full(result)
    whole = "view" in op.traits and "partial_access" not in op.traits
    return whole and len(node.inputs) == 1 and result.spec.size == value.spec.size


def _is_full(value: Value) -> bool:
    return all(isinstance(s, int) and s > 0 for s in value.spec.shape)


def _is_whole(node: Node, value: Value) -> bool:
    """Is every element of the input in the result? It is not where the result is empty."""
    return _is_full(node.outputs[0]) or node.outputs[0].spec.shape == value.spec.shape


@cache
def _spreads(op: Op, arity: int, position: int) -> bool:
    """Does an element-wise op make NaN or infinity of each, whatever the other inputs are?"""
    rows: list[Sequence[float]] = [[0.0, 1.0, -2.0, 1e300, np.inf, -np.inf, np.nan] for _ in range(arity)]
    rows[position] = [np.inf, -np.inf, np.nan]
    columns = [np.array(c) for c in zip(*product(*rows), strict=True)]
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            result = op.kernel(*columns)
    except Exception:  # of other dtypes
        return False
    return result.__class__ is np.ndarray and result.dtype.kind == "f" and not np.isfinite(result).any()
