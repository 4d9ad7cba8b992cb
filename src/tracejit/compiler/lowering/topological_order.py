"""The order in which nodes are lowered: readers of a tensor come before nodes that may overwrite it.

An update takes its operand's memory over only when nothing reads that afterwards. Gradients read what an update
replaced in whatever order their rules were asked. A valid order in, a valid order out.
"""

from __future__ import annotations

from ...core.dim import Dim
from ...core.ir.graph import Graph, Node, Value
from ...ops.lowering import Nests, Reindex

WINDOW = 64  # nodes behind an update that are looked at


def topological_order(graph: Graph) -> list[Node]:
    """The nodes of a graph, readers of what an update replaces moved in front of it where they do not need it."""
    nodes = list(graph.nodes)
    root: dict[Value, Value] = {}
    for node in nodes:
        if isinstance(node.op.lower, Reindex):
            root[node.outputs[0]] = root.get(node.inputs[0], node.inputs[0])
    position = 0
    while position < len(nodes):
        node = nodes[position]
        if isinstance(node.op.lower, Nests) and node.op.lower.updates is not None:
            target = node.inputs[node.op.lower.updates]
            position += _brought_forward(nodes, position, root.get(target, target), root)
        position += 1
    return nodes


def _counts(node: Node) -> bool:
    """May it be what tells how large others are, which do not name it?"""
    return node.op.runs_graphs and any(isinstance(s, Dim) for v in node.outputs for s in v.spec.shape)


def _brought_forward(nodes: list[Node], position: int, memory: Value, root: dict[Value, Value]) -> int:
    """Move the readers of `memory`, and what they need, in front of the node at `position`; how many moved."""
    later = nodes[position + 1 : position + 1 + WINDOW]
    waiting = set(nodes[position].outputs)  # what cannot be had before
    wanted: set[Value] = set()
    readers = []
    for node in later:
        if not waiting.isdisjoint(node.inputs) or "effect" in node.op.traits:
            waiting.update(node.outputs)
        elif not isinstance(node.op.lower, Reindex) and any(root.get(v, v) is memory for v in node.inputs):
            readers.append(node)
    if not readers or any(map(_counts, later)):
        return 0  # sizes may show in between
    moved = []
    for node in reversed(later):
        if node in readers or not wanted.isdisjoint(node.outputs):
            wanted.update(node.inputs)
            moved.append(node)
    chosen = set(map(id, moved))
    nodes[position : position + 1 + len(later)] = [
        *moved[::-1],
        nodes[position],
        *(n for n in later if id(n) not in chosen),
    ]
    return len(moved)
