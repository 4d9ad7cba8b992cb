"""Flat products: a stack of matrices times one matrix is one product of all their rows.

So are gradients of that one matrix, a sum of products over the stack, which then need no stack of results. One large
product packs the matrix once, not once per matrix of the stack. Results differ by the order in which products are
summed. Knows nothing of loops, whose rows `batch_matmuls` does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.dim import UnknownSize, product
from ...core.ir.graph import Graph, Node, Value
from ...core.op import Op, ops
from ...core.spec import TensorSpec
from ...core.tracing.prune import prune
from ..report import REWRITES, fired, wants

#: Multiplications of one matrix of the stack up to which products are written out in registers.
SMALLEST = 512


def flatten_products(graph: Graph) -> Graph:
    """A valid graph of the same values, but for the order of sums: products of stacks with one matrix are flat."""
    regions = any(isinstance(a, Graph) for n in graph.nodes for a in n.attrs.values())
    if not regions and not any(_is_stack(node) for node in graph.nodes):
        return graph
    return prune(_Flattened(graph).run())


def _is_stack(node: Node) -> bool:
    """Is the node a large product with a stack of matrices?"""
    if node.op is not ops.matmul or len(node.outputs[0].spec.shape) < 3:
        return False
    spec = node.outputs[0].spec
    work = product((*spec.shape[-2:], node.inputs[0].spec.shape[-1]))
    return spec.dtype in (np.float32, np.float64) and not (isinstance(work, int) and work <= SMALLEST)


class _Flattened:
    """Copies a graph; products go through `of_rows` and their sums through `summed`."""

    def __init__(self, graph: Graph):
        self.old = graph
        self.new = Graph(graph.name, state=graph.state, guards=graph.guards, finished=True)
        self.made: dict[Value, Node] = {}
        self.uses = Counter(v for n in graph.nodes for v in n.inputs) + Counter(graph.outputs)

    def run(self) -> Graph:
        env = {v: self.new.add_input(v.spec) for v in self.old.inputs}
        for old in self.old.nodes:
            attrs = {k: flatten_products(a) if isinstance(a, Graph) else a for k, a in old.attrs.items()}
            node = Node(old.op, tuple([env[v] for v in old.inputs]), attrs, old.outputs, old.location)
            env.update(zip(old.outputs, self.copied(old, node), strict=True))
        self.new.outputs = [env[v] for v in self.old.outputs]
        return self.new

    def copied(self, old: Node, node: Node) -> Sequence[Value]:
        flat = None
        try:
            if _is_stack(node):
                flat = self.of_rows(node)
            elif node.op is ops.reduce_sum and self.uses[old.inputs[0]] == 1:
                flat = self.summed(node)
        except UnknownSize:  # sizes that are equal by an assumption of the trace, which is over
            flat = None
        if flat is None:
            return self.add(node.op, node.inputs, node.attrs, [v.spec for v in node.outputs], node.location)
        if wants(REWRITES):
            fired(flatten_products, node.location, "flat product", node.op.name)
        return [flat]

    def of_rows(self, node: Node) -> Value | None:
        """``stack @ matrix``."""
        stack, matrix = node.inputs
        if len(matrix.spec.shape) != 2 or self.repeats(stack):
            return None
        *lead, m, k = stack.spec.shape
        rows = self.reshaped(stack, (product((*lead, m)), k))
        return self.reshaped(self.make(ops.matmul, rows, matrix), (*lead, m, matrix.spec.shape[1]))

    def summed(self, node: Node) -> Value | None:
        """The sum over a stack of ``transpose(left) @ right``: one product, its inner axis the whole stack."""
        matmul = self.made.get(node.inputs[0])
        if matmul is None or not _is_stack(matmul) or node.attrs.get("keepdims"):
            return None
        turned, right = matmul.inputs
        transpose = self.made.get(turned)
        lead = right.spec.shape[:-2]
        rank = len(lead) + 2
        swap = (*range(rank - 2), rank - 1, rank - 2)
        if transpose is None or transpose.op is not ops.transpose or transpose.attrs["perm"] != swap:
            return None
        if turned.spec.shape[:-2] != lead or tuple(sorted(node.attrs["axis"])) != tuple(range(rank - 2)):
            return None
        left = transpose.inputs[0]
        if self.repeats(left) or self.repeats(right):
            return None
        flat = [self.reshaped(v, (product(v.spec.shape[:-1]), v.spec.shape[-1])) for v in (left, right)]
        return self.make(ops.matmul, self.make(ops.transpose, flat[0], perm=(1, 0)), flat[1])

    def repeats(self, value: Value) -> bool:
        """Does the stack hold the same matrix again and again, or lie in memory in another order?"""
        node = self.made.get(value)
        return node is not None and node.op in (ops.broadcast_to, ops.transpose)

    def reshaped(self, value: Value, shape: tuple) -> Value:
        return value if value.spec.shape == shape else self.make(ops.reshape, value, shape=shape)

    def make(self, op: Op, *values: Value, **attrs: Any) -> Value:
        return self.add(op, values, attrs, op.specs(tuple(v.spec for v in values), attrs), None)[0]

    def add(
        self, op: Op, inputs: Sequence[Value], attrs: Any, specs: Sequence[TensorSpec], location: Any
    ) -> Sequence[Value]:
        outputs = self.new.add(op, tuple(inputs), attrs, tuple(specs), location)
        self.made.update(dict.fromkeys(outputs, self.new.nodes[-1]))
        return outputs
