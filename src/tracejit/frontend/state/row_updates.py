"""In-place updates: tables of which a compiled function changes some rows are not copied.

A graph that ends by adding to rows of a large Variable would write the Variable's new value beside the old one. The
graph made here gives the rows instead; whoever runs it adds them afterwards, when nothing can fail any more. Knows
graphs; neither compiles nor runs them.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from ...core.ir.graph import Graph, Node, Value

#: Copying a smaller Variable takes less time than adding rows to it outside of compiled code.
LARGE_BYTES = 1 << 22


class RowUpdates(NamedTuple):
    """A graph without its row updates, and these.

    Attributes
    ----------
    graph : Graph
        Its outputs are those that are left, in their order, and then the rows.
    rows : tuple of (input, ((indices, values), ...))
        Per Variable the position of its input, and the positions of the outputs with which it is updated, in order.
    """

    graph: Graph
    rows: tuple[tuple[int, tuple[tuple[int, int], ...]], ...]


def row_updates(graph: Graph) -> RowUpdates | None:
    """Take the row updates of large Variables out of a graph; None when it has none."""
    large = [(i, o) for i, o in graph.state if _is_large(graph.inputs[i])]
    if not large:
        return None
    made = {v: node for node in graph.nodes for v in node.outputs}
    uses = Counter([*graph.outputs, *(v for node in graph.nodes for v in node.inputs)])
    chains = {o: (i, _chain(graph.inputs[i], graph.outputs[o], made, uses)) for i, o in large}
    chains = {o: chain for o, chain in chains.items() if chain[1]}
    return _taken_out(graph, chains) if chains else None


def _is_large(value: Value) -> bool:
    spec = value.spec
    return isinstance(spec.size, int) and spec.size * spec.dtype.itemsize >= LARGE_BYTES


def _chain(entry: Value, value: Value, made: dict[Value, Node], uses: Counter[Value]) -> list[Node]:
    """The updates of rows that lead from `entry` to `value`, which nothing else reads; none where others do."""
    updates: list[Node] = []
    while value is not entry:
        node = made.get(value)
        if node is None or not _adds_rows(node) or uses[value] != 1:
            return []
        updates.append(node)
        value = node.inputs[0]
    return updates[::-1]


def _adds_rows(node: Node) -> bool:
    """Does it add its third input to rows of its first, those that its second names?"""
    return "adds_rows" in node.op.traits and node.attrs["axis"] == 0


def _taken_out(graph: Graph, chains: dict[int, tuple[int, list[Node]]]) -> RowUpdates:
    dropped = {id(node) for _, chain in chains.values() for node in chain}
    kept = [o for o in range(len(graph.outputs)) if o not in chains]
    outputs, rows = [graph.outputs[o] for o in kept], []
    for entry, chain in chains.values():
        places = []
        for node in chain:
            places.append((len(outputs), len(outputs) + 1))
            outputs += node.inputs[1:]
        rows.append((entry, tuple(places)))
    rest = Graph(
        graph.name,
        list(graph.inputs),
        [node for node in graph.nodes if id(node) not in dropped],
        outputs,
        tuple((i, kept.index(o)) for i, o in graph.state if o not in chains),
        graph.guards,
        graph.finished,
    )
    return RowUpdates(rest, tuple(rows))


def in_range(indices: np.ndarray, size: int) -> bool:
    """Are these rows of a table of that many?"""
    return not indices.size or bool(-size <= indices.min() and indices.max() < size)
