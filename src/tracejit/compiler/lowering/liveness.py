"""Liveness: the last read of the memory behind each value, through all views of it.

Decides nothing; the lowering asks it before an update takes a buffer over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.ir.graph import Graph, Node, Value
from ...ops.lowering import Formula, Reindex, Scalar

REACH = 64  # values looked at to see what an update is computed from


class Liveness:
    """Last uses of the tensors behind the values of one graph.

    Parameters
    ----------
    graph : Graph
    donatable : set of Value
        Inputs whose memory belongs to this graph (the carries of a loop), so that it may be overwritten.
    held : sequence of Value
        What is read after the last node.
    order : sequence of Node, optional
        The graph's nodes in the order in which they run.
    """

    def __init__(
        self, graph: Graph, donatable: set[Value], held: Sequence[Value], order: Sequence[Node] | None = None
    ):
        self._root: dict[Value, Value] = {}
        self._made_by: dict[Value, Node] = {}
        self._last: dict[Value, int] = {}
        self._foreign = {v for v in graph.inputs if v not in donatable}
        nodes = graph.nodes if order is None else order
        for position, node in enumerate(nodes):
            for value in node.inputs:
                self._last[self.root(value)] = position
            if isinstance(node.op.lower, Reindex):
                self._root[node.outputs[0]] = self.root(node.inputs[0])
            if isinstance(node.op.lower, (Reindex, Scalar, Formula)):
                self._made_by[node.outputs[0]] = node
        end = len(nodes)
        for value in held:
            self._last[self.root(value)] = end

    def root(self, value: Value) -> Value:
        """The value whose memory `value` is a view of."""
        return self._root.get(value, value)

    def ends(self, value: Value, position: int) -> bool:
        """May the node at `position` overwrite the memory of `value`: is it the last to read it?"""
        root = self.root(value)
        return root not in self._foreign and self._last.get(root, -1) <= position

    def views_in(self, value: Value, target: Value) -> set[tuple[Any, ...] | None]:
        """How `value`, worked out element by element from its last nodes on, reads `target`.

        The slices it takes of it, or None for any other view; the walk ends at what is not element-wise.
        """
        views: set[tuple[Any, ...] | None] = set()
        todo, seen = [value], {value}
        while todo:
            v = todo.pop()
            node = self._made_by.get(v)
            if v is target:
                views.add(tuple((0, d, 1) for d in v.spec.shape))
            elif (
                node is not None and isinstance(node.op.lower, Reindex) and self.root(v) is self.root(target)
            ):
                whole = node.inputs[0] is target and "slices" in node.attrs
                views.add(node.attrs["slices"] if whole else None)
            elif node is not None and len(seen) < REACH:
                todo.extend(x for x in node.inputs if x not in seen)
                seen.update(node.inputs)
        return views
