"""Minimum cuts against networkx."""

import math
import random

import networkx as nx
import pytest

from tracejit.compiler.graph.mincut import FlowNetwork


@pytest.mark.parametrize("seed", range(40))
def test_cut_has_the_minimum_value(seed):
    rng = random.Random(seed)
    nodes = rng.randint(2, 14)
    net, oracle = FlowNetwork(nodes), nx.DiGraph()
    oracle.add_nodes_from(range(nodes))
    edges = {}
    for _ in range(rng.randint(1, 40)):
        a, b = rng.sample(range(nodes), 2)
        edges[a, b] = float(rng.randint(0, 9))
    for (a, b), c in edges.items():
        net.add(a, b, c)
        oracle.add_edge(a, b, capacity=c)
    side = net.source_side(0, nodes - 1)
    assert 0 in side and nodes - 1 not in side
    value = sum(c for (a, b), c in edges.items() if a in side and b not in side)
    assert value == nx.minimum_cut_value(oracle, 0, nodes - 1)


def test_infinite_path_is_an_error():
    net = FlowNetwork(2)
    net.add(0, 1, math.inf)
    with pytest.raises(ValueError, match="infinite"):
        net.source_side(0, 1)
