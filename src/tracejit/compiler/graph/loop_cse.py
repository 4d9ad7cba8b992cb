"""Common subexpressions of loops: equal values of two regions are matched, and two loops become one.

Nodes are equal when op, attributes and (the images of) inputs are. Two loops of the same length that carry the same
values become one that returns what either does. Valid graphs in, valid graphs out; no value changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.dim import Dim
from ...core.ir.graph import Graph, Node, Value, has_effect, restricted
from ...core.spec import TensorSpec
from ...core.tracing.loop_form import LoopForm, Parts, Results
from .rematerialize import may_keep
from .simplify import call_key


class Matcher:
    """Finds values of other graphs in `target`, whose loops may get more outputs by that.

    Attributes
    ----------
    image : dict
        Values of the other graph to the equal ones of `target`; grows.
    """

    def __init__(self, target: Graph, image: dict[Value, Value]):
        self.target = target
        self.image = image
        self.known: dict[tuple[Any, ...], tuple[Value, ...]] = {
            call_key(n.op, n.inputs, n.attrs): n.outputs for n in reversed(target.nodes)
        }

    def finds(self, node: Node) -> bool:
        """Is a node that equals this one in the target, or can be? Then its outputs have images."""
        if has_effect(node) or any(v not in self.image for v in node.inputs):
            return False
        key = call_key(node.op, self.images(node.inputs), node.attrs)
        outputs: Sequence[Value] | None = self.known.get(key)
        if outputs is None and (loop := LoopForm.of(node)) is not None:
            outputs = self._joined(loop, self.images(loop.inputs))
        if outputs is None:
            return False
        self.image.update(zip(node.outputs, outputs, strict=True))
        return True

    def images(self, values: Sequence[Value]) -> tuple[Value, ...]:
        return tuple([self.image[v] for v in values])

    def _joined(self, other: LoopForm, operands: Sequence[Value]) -> Sequence[Value] | None:
        """Make a loop of the target one that also does what `other` does; the images of its outputs."""
        defined = set(self.target.inputs)
        for position, node in enumerate(self.target.nodes):
            loop = LoopForm.of(node)
            if loop is not None and defined.issuperset(operands):
                merged = _Joint(self.target, loop, other, other.split(operands)).run()
                if merged is not None:
                    joint, results = merged
                    self.target.nodes[position] = joint.node(node.location)
                    return results.of_loop()
            defined.update(node.outputs)
        return None


class _Joint:
    """One loop that returns what `loop` does, and what `other` does on these operands."""

    def __init__(self, graph: Graph, loop: LoopForm, other: LoopForm, operands: Parts):
        self.graph = graph
        self.loop = loop
        self.other = other
        self.operands = operands
        self.xs = list(loop.xs)
        self.consts = list(loop.consts)

    def run(self) -> tuple[LoopForm, Results] | None:
        """The joint loop, and its outputs that are the results of the other."""
        carries = self._carries()
        if carries is None or not _alike(self.loop, self.other):
            return None
        body, image = self._body(carries)
        inner = self.other.body
        matcher = Matcher(body, image)
        for node in inner.nodes:
            if not matcher.finds(node):
                if has_effect(node):
                    return None
                body.add_copy(node, image)
        joint = self.loop.replace(body=body)
        now = [joint.carry_out[k] for k in carries]
        if any(image[v] is not new for v, new in zip(self.other.carry_out, now, strict=True)):
            return None
        ys = [image[v] for v in self.other.ys_out]
        stacks = self._stacks(joint, ys)
        joint = joint.replace(
            xs=tuple(self.xs),
            consts=tuple(self.consts),
            keeps_carries=False,
            outputs=tuple(dict.fromkeys([*self.loop.outputs, *stacks.values()])),
        )
        final = [self.loop.final[k] for k in carries]
        return joint, Results(final, self.loop.trips, [stacks[v] for v in ys])

    def _carries(self) -> list[int] | None:
        """The carry of the loop behind every carry of the other, going by their first values."""
        init, positions = self.loop.init, list[int]()
        for v in self.operands.carry:
            start = positions[-1] + 1 if positions else 0
            position = next((k for k in range(start, len(init)) if init[k] is v), None)
            if position is None:
                return None
            positions.append(position)
        return positions

    def _body(self, carries: Sequence[int]) -> tuple[Graph, dict[Value, Value]]:
        """A copy of the loop's body that also takes what the other reads, and the images of the other's inputs."""
        loop, other = self.loop, self.other
        old, carry_in = loop.body, loop.carry_in
        body = Graph(old.name, guards=old.guards, finished=True)
        env = {v: body.add_input(v.spec) for v in (loop.index_in, *carry_in)}
        image = {other.index_in: env[loop.index_in]}
        image.update((v, env[carry_in[k]]) for v, k in zip(other.carry_in, carries, strict=True))
        for own, operands, theirs, given in (
            (loop.xs_in, self.xs, other.xs_in, self.operands.xs),
            (loop.consts_in, self.consts, other.consts_in, self.operands.consts),
        ):
            inputs = [body.add_input(v.spec) for v in own]
            env.update(zip(own, inputs, strict=True))
            for v, operand in zip(theirs, given, strict=True):
                if operand not in operands:
                    operands.append(operand)
                    inputs.append(body.add_input(v.spec))
                image[v] = inputs[operands.index(operand)]
        for node in old.nodes:
            body.add_copy(node, env)
        body.outputs = [env[v] for v in old.outputs]
        return body, image

    def _stacks(self, joint: LoopForm, wanted: Sequence[Value]) -> dict[Value, Value]:
        """The stacks of rows by the values of the body, which is made to return those that are wanted."""
        stacks = dict(zip(joint.ys_out, joint.ys, strict=True))
        for v in wanted:
            if v not in stacks:
                spec = TensorSpec((joint.length, *v.spec.shape), v.spec.dtype)
                stacks[v] = self.graph.new_value(spec)
                joint.body.outputs.append(v)
        return stacks


def _alike(a: LoopForm, b: LoopForm) -> bool:
    """Do both run as often, by a number known while tracing, in the same direction?"""
    if a.length is None or a.length != b.length or a.reverse != b.reverse:
        return False
    return a.cond is None and b.cond is None and may_keep(a) and may_keep(b)


def whole_copy(graph: Graph) -> Graph:
    """A copy without dead code."""
    return restricted(graph, range(len(graph.inputs)), range(len(graph.outputs)))


def size_atoms(values: Sequence[Value]) -> set[str]:
    """The unknown sizes that these mention."""
    return {a.name for v in values for s in v.spec.shape if isinstance(s, Dim) for a in s.atoms()}
