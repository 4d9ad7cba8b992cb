"""Functions that a program makes anew for each call: what takes long is worked out for the first few of them."""

import gc
import weakref

import numpy as np
import pytest

import tracejit as tj
from tracejit.compiler.graph import recurring_graphs as module
from tracejit.compiler.graph.recurring_graphs import cached_for_equal
from tracejit.core.op import ops
from tracejit.core.spec import TensorSpec
from tracejit.core.tracing.trace import trace

X = np.linspace(0.5, 1.5, 8)


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(module, "_once", {})
    monkeypatch.setattr(module, "_kept", {})


def long(factor=0.9, steps=120):
    def f(x):
        for _ in range(steps):
            x = ops.sin(x) * factor
        return [ops.reduce_sum(x, axis=(0,))]

    return f


def graph_of(f):
    return trace(f, [TensorSpec(X.shape, X.dtype)]).graph


def made_for(*graphs):
    """How often something was worked out for these graphs, one after the other."""
    made = []
    for graph in graphs:
        result = cached_for_equal(graph, lambda g: made.append(g) or (g.name, len(made)))
        assert result[0] == graph.name
    return len(made)


def test_what_is_met_a_third_time_is_there():
    assert made_for(*(graph_of(long()) for _ in range(5))) == 2


def test_other_numbers_are_other_graphs():
    assert made_for(*(graph_of(long(factor)) for factor in (0.9, 0.8, 0.7) for _ in range(3))) == 6


def test_other_lines_are_other_graphs():
    """They stand in messages."""

    def elsewhere(x):
        for _ in range(120):
            x = ops.sin(x) * 0.9
        return [ops.reduce_sum(x, axis=(0,))]

    assert made_for(*(graph_of(f) for f in (long(), elsewhere) for _ in range(3))) == 4


def test_other_settings_are_others():
    graph = graph_of(long())
    assert made_for(graph, graph, graph) == 2
    with tj.settings(fastmath=True):
        assert made_for(graph, graph, graph) == 2
    with tj.settings(debug_info=True):
        there = graph_of(long())  # its nodes say by whom they were called
        assert made_for(there, there, there) == 3


def test_short_graphs_and_heavy_ones_are_not_kept(monkeypatch):
    assert made_for(*(graph_of(long(steps=5)) for _ in range(4))) == 4
    monkeypatch.setattr(module, "LIGHT", 4)
    assert made_for(*(graph_of(long()) for _ in range(4))) == 4


def test_there_is_room_for_some(monkeypatch):
    monkeypatch.setattr(module, "ROOM", 700)
    first = graph_of(long(0.1))
    alive = weakref.ref(first)
    assert made_for(first, first) == 2
    del first
    gc.collect()
    assert alive() is not None
    for k in range(2, 6):
        graph = graph_of(long(k / 10))
        made_for(graph, graph)
    gc.collect()
    assert alive() is None
    assert sum(len(g.nodes) for g, _ in module._kept.values()) <= 700


def test_a_function_made_for_each_call():
    """As programs have that differentiate within a loop; values and gradients are the same bits each time."""

    def gradient(x):
        def f(x):
            for _ in range(120):
                x = tj.sin(x) * 0.9
            return tj.reduce_sum(x * x)

        with tj.GradientTape() as tape:
            tape.watch(x)
            y = tj.function(f)(x)
        return y.numpy(), tape.gradient(y, x).numpy()

    results = [gradient(tj.constant(X)) for _ in range(5)]
    assert len(module._kept) == 1
    for value, slope in results:
        assert value.tobytes() == results[0][0].tobytes() and slope.tobytes() == results[0][1].tobytes()
    assert gradient(tj.constant(X * 0.5))[0] != results[0][0]
