"""Simplification: rewrite rules, common subexpressions, constant folding, inlining of calls, dead code.

One pass forwards builds the new graph node by node, applying rules until none fits; one pass backwards drops
what nothing needs. Both visit each node once, so the work is linear in the graph. Regions are simplified with
their node, and what a loop computes from its captures alone moves in front of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...core import settings
from ...core.dim import Dim, Size
from ...core.ir.graph import Constant, Graph, Node, Value, binding_rows, note_node_sizes, note_sizes
from ...core.op import Op, ops
from ...core.spec import TensorSpec
from ...core.tracing.dispatch import in_place_of, state
from ...core.tracing.forms import CallForm, CustomForm
from ...core.tracing.loop_form import LoopForm
from ...core.tracing.prune import prune
from ...core.tracing.trace import resize, resized, trace
from ...ops.lowering import Expand, is_by_kernel
from ..report import REWRITES, fired, wants
from .rules import Pattern, Rule, by_root


def simplify(graph: Graph, final: bool = True) -> Graph:
    """A smaller graph of the same values, and unless `final` of the same derivatives; remembered on the graph."""
    fast = settings.current().fastmath
    key = ("simplified", fast, final)
    if key not in graph.derived:
        rewriter = Rewriter(graph, by_root(fast, final), final)
        graph.derived[key] = prune(rewriter.run())
    return graph.derived[key]


class Rewriter:
    """Builds the simplified copy of one graph.

    Attributes
    ----------
    sizes : dict
        Names of trips that are those of an equal loop, to these.
    visits, rewrites : int
        Nodes looked at and rules applied: tests assert that both grow linearly.
    """

    visits: int
    rewrites: int

    def __init__(self, graph: Graph, rules: Mapping[Op, tuple[Rule, ...]], final: bool = True):
        self.old = graph
        self.final = final
        self.new: Graph = Graph(graph.name, state=graph.state, guards=graph.guards, finished=True)
        self.rules = rules
        self.env: dict[Value, Value] = {}
        self.made: dict[Value, Node] = {}
        self.known: dict[tuple[Any, ...], tuple[Value, ...]] = {}
        self.sizes: dict[str, Size] = {}
        self.location: Any = None
        self.visits = self.rewrites = 0
        self.tells: bool = wants(REWRITES)

    def run(self) -> Graph:
        for v in self.old.inputs:
            self.env[v] = self.new.add_input(v.spec)
        self.copy(self.old, self.env)
        self.new.outputs = [self.env[v] for v in self.old.outputs]
        return self.new

    def copy(self, graph: Graph, env: dict[Value, Value]) -> None:
        """Emit the nodes of a graph: the old one's, or those of a call written in place."""
        for node in graph.nodes:
            self.location = node.location
            inputs = tuple([env[v] for v in node.inputs])
            env.update(zip(node.outputs, self.node(node, inputs), strict=True))

    def node(self, node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        inner = self.inlined(node)
        if inner is not None:
            self.report(Rewriter.node, "written in place", node.op)
            env = dict(zip(inner.inputs, inputs, strict=True))
            self.copy(inner, env)
            return [env[v] for v in inner.outputs]
        attrs: Mapping[str, Any] = node.attrs
        specs = tuple([v.spec for v in node.outputs])
        if self.sizes:
            attrs = {k: resize(v, self.sizes) for k, v in attrs.items()}
            specs = tuple([resized(spec, self.sizes) for spec in specs])
        if node.op.runs_graphs:
            attrs = {k: simplify(v, self.final) if isinstance(v, Graph) else v for k, v in attrs.items()}
            if LoopForm.of(node) is not None:
                attrs, inputs = self.hoist(LoopForm(inputs, attrs))
        return self.emit(node.op, inputs, attrs, specs)

    def inlined(self, node: Node) -> Graph | None:
        """The graph that is written in place of the node, if one is."""
        if node.op.runs_graphs:
            if (call := CallForm.of(node)) is not None:
                return call.graph
            if self.final and (custom := CustomForm.of(node)) is not None:
                return custom.body
        written = self.final and isinstance(node.op.lower, Expand)
        if not written or is_by_kernel(node.op, node.outputs[0].spec.dtype, node.attrs):
            return None
        return expanded(node)

    def emit(
        self, op: Op, inputs: tuple[Value, ...], attrs: Mapping[str, Any], specs: tuple[TensorSpec, ...]
    ) -> Sequence[Value]:
        """A node, or the value that makes it unnecessary."""
        self.visits += 1
        key = call_key(op, inputs, attrs)
        if key in self.known:
            self.report(Rewriter.emit, "common subexpression", op)
            if op.binds is not None:
                self.rename(specs, self.known[key])
            return self.known[key]
        outputs = self.folded(op, inputs, attrs, specs) or self.rewritten(op, inputs, attrs, specs)
        if outputs is None:
            outputs = self.new.add(op, inputs, attrs, specs, self.location)
            node = self.new.nodes[-1]
            for v in outputs:
                self.made[v] = node
        if not {"effect", "no_cse"} & op.traits:
            self.known[key] = tuple(outputs)
        return outputs

    def rename(self, specs: Sequence[TensorSpec], outputs: Sequence[Value]) -> None:
        """What has followed a loop that is another's equal knows its trips by that one's name from now on."""
        for spec, v in zip(specs, outputs, strict=True):
            for old, new in zip(spec.shape, v.spec.shape, strict=True):
                if isinstance(old, Dim) and old.atom is not None and old != new:
                    self.sizes[old.atom.name] = new

    def report(self, rule: Callable[..., Any], name: str, op: Op) -> None:
        """Say that something became of an op, if anybody listens."""
        if self.tells:
            fired(rule, self.location, name, op.name)

    # ---- rules -------------------------------------------------------------------------------------------

    def rewritten(
        self, op: Op, inputs: tuple[Value, ...], attrs: Mapping[str, Any], specs: tuple[TensorSpec, ...]
    ) -> Sequence[Value] | None:
        rules = self.rules.get(op)
        if rules is None:
            return None
        node = Node(op, inputs, attrs, tuple(Value(s, self.new) for s in specs), self.location)
        for rule in rules:
            bound: dict[str, Value] = {}
            if self.matches(rule.pattern, node, bound):
                replacement = rule.replace(_Make(self), node, **bound)
                if replacement is not None:
                    self.rewrites += 1
                    self.report(rule.replace, rule.name, op)
                    return (replacement,)
        return None

    def matches(self, pattern: Pattern, node: Node | None, bound: dict[str, Value]) -> bool:
        if node is None or node.op is not pattern.op or len(node.inputs) != len(pattern.args):
            return False
        for arg, value in zip(pattern.args, node.inputs, strict=True):
            if isinstance(arg, str):
                if bound.setdefault(arg, value) is not value:
                    return False
            elif isinstance(arg, Pattern):
                if not self.matches(arg, self.made.get(value), bound):
                    return False
            elif not _is(self.literal_of(value), arg):
                return False
        return True

    # ---- literals ----------------------------------------------------------------------------------------

    def literal_of(self, value: Value) -> Any:
        """The number every element of `value` is, or None."""
        node = self.made.get(value)
        while node is not None and node.op in (ops.reshape, ops.broadcast_to):
            node = self.made.get(node.inputs[0])
        if node is None:
            return None
        if node.op is ops.fill:
            return node.attrs["value"]
        if node.op.literal and node.attrs["value"].array.size == 1:
            return node.attrs["value"].array.reshape(())[()]
        return None

    def folded(
        self, op: Op, inputs: tuple[Value, ...], attrs: Mapping[str, Any], specs: tuple[TensorSpec, ...]
    ) -> Sequence[Value] | None:
        """Element-wise ops of literals, computed now."""
        if not (op.elementwise and inputs and len(specs) == 1):
            return None
        numbers = [self.literal_of(v) for v in inputs]
        if any(n is None for n in numbers):
            return None
        arrays = [np.asarray(n, v.spec.dtype) for n, v in zip(numbers, inputs, strict=True)]
        result = np.asarray(state.ignoring_fp_errors.run(op.kernel, *arrays, **attrs), specs[0].dtype)
        self.report(Rewriter.folded, "literal", op)
        scalar = self.constant(result)
        return (
            (scalar,)
            if specs[0].shape == ()
            else self.emit(ops.broadcast_to, (scalar,), {"shape": specs[0].shape}, specs)
        )

    def constant(self, array: np.ndarray) -> Value:
        held = Constant.of(array)
        return self.emit(ops.constant, (), {"value": held}, (TensorSpec(array.shape, array.dtype),))[0]

    # ---- loop invariants ---------------------------------------------------------------------------------

    def hoist(self, loop: LoopForm) -> tuple[Mapping[str, Any], tuple[Value, ...]]:
        """Move what the body computes from its consts alone in front of the loop; its attributes and inputs."""
        outside = dict(zip(loop.consts_in, loop.consts, strict=True))
        moved: dict[Value, Value] = {}
        bound: set[str] = set()  # sizes that are known in the body only
        for node in loop.body.nodes:
            for row in binding_rows(node)[:1]:
                note_sizes(row.spec.shape[:1], bound)
            if all(v in outside for v in node.inputs) and _may_move(node, bound):
                hoisted = self.emit(
                    node.op,
                    tuple(outside[v] for v in node.inputs),
                    node.attrs,
                    tuple(v.spec for v in node.outputs),
                )
                outside.update(zip(node.outputs, hoisted, strict=True))
                if node.inputs:  # a literal is made where it is used
                    self.report(Rewriter.hoist, "loop invariant", node.op)
                    moved.update(zip(node.outputs, hoisted, strict=True))
        if moved:
            loop = self.captured(loop, moved)
        return loop.attrs, tuple(loop.inputs)

    def captured(self, loop: LoopForm, moved: Mapping[Value, Value]) -> LoopForm:
        """The loop with `moved` values as further consts."""
        body = loop.body
        copy = Graph(body.name, guards=body.guards, finished=True)
        env = {v: copy.add_input(v.spec) for v in body.inputs}
        env.update({v: copy.add_input(v.spec) for v in moved})
        for node in body.nodes:
            if not any(v in moved for v in node.outputs):
                copy.add_copy(node, env)
        copy.outputs = [env[v] for v in body.outputs]
        cond = loop.cond
        if cond is not None:
            cond = _with_inputs(cond, [v.spec for v in moved])
        return loop.replace(body=copy, cond=cond, consts=(*loop.consts, *moved.values()))


def call_key(op: Op, inputs: tuple[Value, ...], attrs: Mapping[str, Any]) -> tuple[Any, ...]:
    """Equal for nodes that compute the same; floats as text, for -0.0 equals 0.0."""
    return op, inputs, tuple([(k, v.hex() if v.__class__ is float else v) for k, v in attrs.items()])


def expanded(node: Node) -> Graph:
    """The graph of an op that is written with other ops."""
    rule = node.op.lower.rule
    with in_place_of(node.location):
        return trace(lambda *xs: rule(*xs, **node.attrs), [v.spec for v in node.inputs], node.op.name).graph


def _may_move(node: Node, bound: set[str]) -> bool:
    if node.op.runs_graphs or node.op.traits & {"effect", "may_fail"}:  # a loop may run no iteration at all
        return False
    sizes: set[str] = set()
    if bound:
        note_node_sizes(node, sizes)
    return sizes.isdisjoint(bound)


def _with_inputs(graph: Graph, specs: Sequence[TensorSpec]) -> Graph:
    """The graph with unused further inputs."""
    copy = Graph(graph.name, guards=graph.guards, finished=True)
    env = {v: copy.add_input(v.spec) for v in graph.inputs}
    for spec in specs:
        copy.add_input(spec)
    for node in graph.nodes:
        copy.add_copy(node, env)
    copy.outputs = [env[v] for v in graph.outputs]
    return copy


def _is(literal: Any, number: float) -> bool:
    """Equal, and of the same sign where it is zero."""
    if literal is None or isinstance(literal, (bool, np.bool_)) or literal != number:
        return False
    return number != 0 or not np.signbit(np.real(literal))


class _Make:
    """Builds the nodes of a replacement."""

    def __init__(self, rewriter: Rewriter):
        self.rewriter = rewriter

    def __call__(self, op: Op, *values: Value, spec: TensorSpec | None = None, **attrs: Any) -> Value:
        """One node; its `spec` is given where it is that of the node replaced: sizes agreed when that was traced."""
        specs = op.specs(tuple(v.spec for v in values), attrs) if spec is None else (spec,)
        return self.rewriter.emit(op, values, attrs, specs)[0]

    def producer(self, value: Value) -> Node:
        return self.rewriter.made[value]

    def number(self, value: Value) -> Any:
        return self.rewriter.literal_of(value)

    def literal(self, number: float, dtype: np.dtype) -> Value:
        return self.rewriter.constant(np.asarray(number, dtype))

    def filled(self, number: float, spec: TensorSpec) -> Value:
        return self(ops.fill, shape=spec.shape, value=number, dtype=spec.dtype)
