"""What to keep: by the cost of its bytes against the cost of its work."""

from __future__ import annotations

import pytest

import tracejit as tf
from tracejit.compiler.graph.rematerialize import held_cost, keep_cost, repeat_cost, values_to_keep
from tracejit.core.ir.graph import Graph
from tracejit.core.spec import TensorSpec
from tracejit.core.tracing.trace import trace


def traced(f) -> Graph:
    return trace(lambda x: [f(x)], [TensorSpec((100,), "float64")], "f").graph


@pytest.mark.parametrize(("f", "kept"), [(tf.exp, True), (tf.negative, False), (tf.cumsum, True)])
def test_what_is_cheap_to_make_again_is_not_kept(f, kept):
    graph = traced(f)
    wanted = set(graph.outputs) if kept else set(graph.inputs)
    held = {v: held_cost(v) for v in graph.inputs}
    assert values_to_keep(held, graph.nodes, set(graph.outputs), keep_cost, repeat_cost) == wanted


def test_views_are_never_kept():
    graph = traced(lambda x: tf.reshape(tf.exp(x), (10, 10)))
    exp, view = graph.nodes
    assert keep_cost(view, view.outputs[0]) == float("inf") and repeat_cost(view) == 0.0
    held = {v: held_cost(v) for v in graph.inputs}
    assert values_to_keep(held, graph.nodes, set(graph.outputs), keep_cost, repeat_cost) == set(exp.outputs)
