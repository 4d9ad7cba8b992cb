"""Verification: a graph that breaks one rule of its structure is refused with that rule."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tracejit  # noqa: F401  completes Tensor
from checks.regions import cond
from tracejit.core.ir.graph import Constant, Graph, InvalidGraph, Value, is_canonical, verify, walk
from tracejit.core.op import OPS, ops
from tracejit.core.spec import TensorSpec
from tracejit.core.tracing.trace import trace

FLOAT = TensorSpec((3,), "float32")
SIN = OPS["sin"]


def valid() -> Graph:
    graph = Graph("f")
    x = graph.add_input(FLOAT)
    (y,) = graph.add(SIN, (x,), {}, (FLOAT,))
    (z,) = graph.add(SIN, (y,), {}, (FLOAT,))
    graph.outputs = [z]
    return graph


def used_before_definition(graph: Graph) -> None:
    graph.nodes.reverse()


def of_another_graph(graph: Graph) -> None:
    other = Graph("other")
    graph.inputs.append(Value(FLOAT, other))


def defined_twice(graph: Graph) -> None:
    graph.nodes.append(graph.nodes[0])


def input_twice(graph: Graph) -> None:
    graph.inputs.append(graph.inputs[0])


def attribute_not_data(graph: Graph) -> None:
    graph.nodes[0].attrs["rule"] = lambda: None


def wrong_spec(graph: Graph) -> None:
    graph.nodes[0].outputs[0].spec = TensorSpec((4,), "float32")


def returns_a_stranger(graph: Graph) -> None:
    graph.outputs.append(Value(FLOAT, graph))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (used_before_definition, "sin uses a value that is not defined before it"),
        (of_another_graph, "the value defined by input belongs to other"),
        (defined_twice, "a value is defined twice, again by sin"),
        (input_twice, "a value is defined twice, again by input"),
        (attribute_not_data, "sin has the attribute rule=.*, which is not data"),
        (wrong_spec, r"sin.* gives .*float32\[3\].*, the node says .*float32\[4\]"),
        (returns_a_stranger, "f returns a value that is not defined in it"),
    ],
    ids=lambda p: getattr(p, "__name__", ""),
)
def test_each_rule(spoil: Callable, message: str):
    graph = valid()
    verify(graph)
    spoil(graph)
    with pytest.raises(InvalidGraph, match=message):
        verify(graph)


def test_regions_are_verified_and_walked():
    def f(p, x):
        return cond(p, lambda x: ops.sin(x), lambda x: ops.cos(x) * 2.0, x)

    graph = verify(trace(f, [TensorSpec((), "bool"), FLOAT]).graph)
    assert {n.op.name for _, n in walk(graph)} == {"cond", "sin", "cos", "constant", "multiply"}
    region = graph.nodes[0].attrs["then"]
    region.outputs.append(Value(FLOAT, region))
    with pytest.raises(InvalidGraph, match="returns a value that is not defined"):
        verify(graph)


@pytest.mark.parametrize(
    "data", [None, True, 3, 2.5, 1j, "a", np.dtype("int8"), (1, ("b", None)), Constant.of(np.ones(2))]
)
def test_data(data: object):
    assert is_canonical(data)


@pytest.mark.parametrize("other", [len, [1], {}, np.ones(2), (1, [2]), object(), np.float32(1.0)])
def test_what_is_not_data(other: object):
    assert not is_canonical(other)
