"""Graphs as text: everything a graph holds is written, the same way in every process, and read back."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tracejit as tf
from checks.regions import cond, loop
from tracejit.core.autodiff.backprop import gradient_graph
from tracejit.core.dim import Assumptions, Dim
from tracejit.core.ir.graph import Constant, Graph, verify
from tracejit.core.ir.text import constants, equal, parse, to_text
from tracejit.core.op import OPS, ops
from tracejit.core.spec import TensorSpec
from tracejit.core.tracing.trace import trace

N = Dim.of("n")
FLOAT = TensorSpec((3,), "float32")


def with_attribute(value: object) -> Graph:
    """A graph of one node that has this attribute."""
    graph = Graph("f", finished=True)
    graph.outputs = list(graph.add(OPS["fill"], (), {"value": value, "other": 1}, (FLOAT,)))
    return graph


def read_back(graph: Graph) -> Graph:
    return parse(to_text(graph), constants(graph))


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(),
    st.text(),
    st.sampled_from([np.dtype(d) for d in ("bool", "int8", "uint64", "float32", "complex128")]),
    st.sampled_from([N, 2 * N + 1, (N + 1) // 2]),
)
attributes = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=6)


def the_same(a: object, b: object) -> bool:
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(the_same, a, b))
    if isinstance(a, complex) and isinstance(b, complex):
        return the_same(a.real, b.real) and the_same(a.imag, b.imag)
    if isinstance(a, float) and isinstance(b, float):
        return (a == b and math.copysign(1, a) == math.copysign(1, b)) or (a != a and b != b)
    return type(a) is type(b) and a == b


@given(attributes)
def test_attributes_are_read_back_exactly(value):
    graph = with_attribute(value)
    again = read_back(graph)
    assert the_same(value, again.nodes[0].attrs["value"])
    assert again.nodes[0].attrs["other"] == 1
    assert to_text(again) == to_text(graph)


def test_what_is_not_data_is_refused():
    with pytest.raises(TypeError, match="not canonical"):
        to_text(with_attribute(object()))


def test_constants_are_written_by_content():
    def f(x):
        return [x + np.arange(3, dtype="float32") + np.arange(3, dtype="float32") * 2.0]

    graph = trace(f, [FLOAT]).graph
    text = to_text(graph)
    assert text.count("constant()") == 2  # the array once, the number once
    assert len(constants(graph)) == 2
    assert equal(graph, read_back(graph))
    with pytest.raises(KeyError):
        parse(text, {})


def control_flow(x, a):
    """Regions inside of regions, unknown trip counts, a Variable that is assigned."""

    def body(i, x, a):
        return cond(ops.less(ops.reduce_sum(x), 1.0), lambda x, a: x * a, lambda x, a: ops.sin(x), x, a)[0], x

    y, _, rows = loop(body, [x], captured=[a], cond=lambda x, a: ops.less(ops.reduce_sum(x * a), 9.0))
    return [y, ops.reduce_sum(rows, axis=0)]


SPECS = [TensorSpec((3,), "float64"), TensorSpec((), "float64")]


@pytest.mark.parametrize("order", [0, 1, 2])
def test_regions_are_read_back(order: int):
    graph = trace(control_flow, SPECS, "flow").graph
    for _ in range(order):
        graph, _ = gradient_graph(graph)
    again = verify(read_back(graph))
    assert to_text(again) == to_text(graph)


def test_sizes_and_guards_are_read_back():
    def f(x, y):
        return [ops.reshape(x + y, shape=(-1, 2)), ops.iota(size=x.shape[0] // 2, dtype=np.dtype("int64"))]

    context = Assumptions({"n": 6, "m": 6})
    graph = trace(
        f, [TensorSpec((N, 2), "float32"), TensorSpec((Dim.of("m"), 1), "float32")], "f", context
    ).graph
    again = read_back(graph)
    assert graph.guards and again.guards == graph.guards
    assert to_text(again) == to_text(graph)


def test_state_is_read_back():
    v = tf.Variable([1.0, 2.0, 3.0])

    def f(x):
        v.assign_add(x)
        return [v * 2.0]

    graph = trace(f, [FLOAT]).graph
    assert graph.state and read_back(graph).state == graph.state


def test_a_graph_prints_itself():
    graph = trace(lambda x: [ops.sin(x) * 2.0], [FLOAT], "wave").graph
    assert str(graph) == to_text(graph)
    assert str(graph).splitlines()[0] == "graph wave(%0: float32[3]) {"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sin(x)", "not the head of a graph"),
        ("graph f(%0: float32[3]) {\n  return %0", "ends early"),
        ("graph f(%0: float32[3]) {\n  nonsense\n}", "not a node"),
    ],
)
def test_broken_text_is_refused(text: str, message: str):
    with pytest.raises(ValueError, match=message):
        parse(text)


def test_the_text_is_the_same_in_another_process():
    code = (
        "import sys; sys.path[:0] = [{0!r}, {1!r}]\n"
        "import importlib.util\n"
        "spec = importlib.util.spec_from_file_location('same', {2!r}); m = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(m); graph = m.trace(m.control_flow, m.SPECS, 'flow').graph\n"
        "print(m.to_text(m.gradient_graph(graph)[0]))"
    )
    tests = Path(__file__).resolve().parents[1]
    code = code.format(str(tests.parent / "src"), str(tests), __file__)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    here = to_text(gradient_graph(trace(control_flow, SPECS, "flow").graph)[0])
    assert done.stdout.strip() == here


def test_equal_content_has_an_equal_key_whatever_the_layout():
    a = np.arange(6.0).reshape(2, 3)
    assert Constant.of(a) == Constant.of(np.asfortranarray(a))
    assert Constant.of(a) != Constant.of(a.reshape(3, 2))
    assert Constant.of(a) != Constant.of(a.astype("float32"))
    assert Constant.of(np.array(0.0)) != Constant.of(np.array(-0.0))
