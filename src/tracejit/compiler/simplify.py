"""Simplify."""
from ..core.graph import Graph
def simplify(graph: Graph) -> Graph:
    return graph
