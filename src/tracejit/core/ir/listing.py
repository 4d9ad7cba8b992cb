"""A graph as a list of named nodes, the form in which programs for other libraries read it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..dataclass import dataclass


@dataclass
class ListedNode:
    """One node.

    Attributes
    ----------
    name : str
        Unique in the list.
    op : str
        Of which op it is a call; ``Placeholder`` for what the graph is given.
    input : list of str
        The names of what it takes, with ``:1`` and so on behind for a further result of a node.
    """

    name: str
    op: str
    input: list[str]


class GraphListing:
    """The nodes of a graph in the order they run in; as text, the text of the graph.

    Attributes
    ----------
    node : list of ListedNode
        Inputs first. The bodies of loops and branches are graphs of their own and not among them.
    """

    def __init__(self, graph: Any):
        self.node: list[ListedNode] = []
        self._graph = graph
        names: dict[Any, str] = {}
        used: Counter[str] = Counter()

        def add(name: str, op: str, inputs: list[str], outputs: tuple[Any, ...]) -> None:
            unique = f"{name}_{used[name]}" if used[name] else name
            used[name] += 1
            self.node.append(ListedNode(unique, op, inputs))
            names.update((v, f"{unique}:{i}" if i else unique) for i, v in enumerate(outputs))

        for value in graph.inputs:
            add("input", "Placeholder", [], (value,))
        for node in graph.nodes:
            add(node.op.name, node.op.name, [names[v] for v in node.inputs], node.outputs)

    def __repr__(self) -> str:
        return str(self._graph)
