"""Liveness: when the memory behind a value is read for the last time, seen through views.

Decides nothing; the lowering asks it before an update takes a buffer over.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core.graph import Graph, Value
from ..ops.lowering import Reindex


class Liveness:
    """Last uses of the tensors behind the values of one graph.

    Parameters
    ----------
    graph : Graph
    donatable : set of Value
        Inputs whose memory belongs to this graph (the carries of a loop), so that it may be overwritten.
    held : sequence of Value
        What is read after the last node.
    """

    def __init__(self, graph: Graph, donatable: set[Value], held: Sequence[Value]):
        self._root: dict[Value, Value] = {}
        self._last: dict[Value, int] = {}
        self._foreign = {v for v in graph.inputs if v not in donatable}
        for position, node in enumerate(graph.nodes):
            for value in node.inputs:
                self._last[self.root(value)] = position
            if isinstance(node.op.lower, Reindex):
                self._root[node.outputs[0]] = self.root(node.inputs[0])
        end = len(graph.nodes)
        for value in held:
            self._last[self.root(value)] = end

    def root(self, value: Value) -> Value:
        """The value whose memory `value` is a view of."""
        return self._root.get(value, value)

    def ends(self, value: Value, position: int) -> bool:
        """May the node at `position` overwrite the memory of `value`: is it the last to read it?"""
        root = self.root(value)
        return root not in self._foreign and self._last.get(root, -1) <= position
