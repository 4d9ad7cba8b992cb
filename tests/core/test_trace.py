"""Tracing and replaying: captures, constants, leaks, locations, and graphs run at other sizes."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import tracejit as tf
from checks.regions import cond, loop
from tracejit.core.dim import Assumptions, Dim
from tracejit.core.errors import LeakedTensor, ShapeError, SymbolicValue
from tracejit.core.ir.graph import verify
from tracejit.core.ir.text import to_text
from tracejit.core.op import ops
from tracejit.core.spec import TensorSpec
from tracejit.core.tensor import Tensor
from tracejit.core.tracing import dispatch
from tracejit.core.tracing.trace import replay, resize_graph, trace

FLOAT = TensorSpec((3,), "float64")
N = Dim.of("n")


def numbers(tensors: tuple) -> list:
    return [t.numpy().tolist() for t in tensors]


def test_replay_runs_what_was_traced():
    graph = verify(trace(lambda x, y: [x * y, x + 1.0], [FLOAT, FLOAT]).graph)
    assert numbers(replay(graph, [Tensor(np.ones(3)), Tensor(np.full(3, 2.0))])) == [[2.0] * 3, [2.0] * 3]


def test_python_runs_once():
    seen = []

    def f(x):
        seen.append(x.is_symbolic)
        return [x * 2.0]

    graph = trace(f, [FLOAT]).graph
    for _ in range(3):
        replay(graph, [Tensor(np.ones(3))])
    assert seen == [True]


def test_tensors_from_outside_become_inputs_in_order_of_use():
    a, b = Tensor(np.full(3, 5.0)), Tensor(np.full(3, 7.0))
    traced = trace(lambda x: [x * b + a + b], [FLOAT])
    assert [t.serial for t in traced.captured] == [b.serial, a.serial]
    assert len(traced.graph.inputs) == 3
    assert numbers(replay(traced.graph, [Tensor(np.ones(3)), *traced.captured])) == [[19.0] * 3]


def test_a_constant_is_held_once():
    graph = trace(lambda x: [x * 2.0 + 2.0 + np.ones(3) + np.ones(3)], [FLOAT]).graph
    assert sum(n.op.name == "constant" for n in graph.nodes) == 2


def test_a_trace_inside_of_a_trace_captures_from_it():
    def outer(x):
        y = x * 2.0
        inner = trace(lambda z: [z + y], [FLOAT])
        assert [t.serial for t in inner.captured] == [y.serial]
        return replay(inner.graph, [x, *inner.captured])

    graph = verify(trace(outer, [FLOAT]).graph)
    assert numbers(replay(graph, [Tensor(np.ones(3))])) == [[3.0] * 3]


def test_replay_inlines_into_a_trace():
    inner = trace(lambda x: [ops.sin(x), x * x], [FLOAT]).graph
    outer = verify(trace(lambda x: replay(inner, replay(inner, [x])[:1]), [FLOAT]).graph)
    assert [n.op.name for n in outer.nodes] == ["sin", "multiply", "sin", "multiply"]


def line_of(code: str) -> int:
    """The number of the line of this file that is just this code."""
    lines = inspect.getsource(inspect.getmodule(line_of)).splitlines()
    return [text.strip() for text in lines].index(code) + 1


# ---- leaks ----------------------------------------------------------------------------------------------


def test_a_leaked_tensor_says_so_and_where():
    kept = []
    trace(lambda x: [kept.append(x * 2.0) or x], [FLOAT], "leaky")
    with pytest.raises(LeakedTensor, match="was traced in 'leaky' and used after that trace ended") as raised:
        kept[0] + 1.0
    assert f"{__file__}:{line_of('kept[0] + 1.0')}\n" in str(raised.value)
    with pytest.raises(LeakedTensor):
        kept[0].numpy()


def test_a_leaked_tensor_cannot_enter_another_trace():
    kept = []
    trace(lambda x: [kept.append(x) or x], [FLOAT])
    with pytest.raises(LeakedTensor):
        trace(lambda x: [x + kept[0]], [FLOAT])


def test_a_value_asked_while_tracing_says_what_to_use():
    with pytest.raises(
        SymbolicValue, match=r"use tracejit.cond, tracejit.while_loop or tracejit.where"
    ) as raised:
        trace(lambda x: [x] if bool(ops.reduce_sum(x) > 0.0) else [x * 2.0], [FLOAT], "f")
    assert __file__ in str(raised.value)


def test_a_failed_trace_leaves_nothing_behind():
    with pytest.raises(ShapeError):
        trace(lambda x: [x + np.ones(4)], [FLOAT])
    assert float(Tensor(np.array(2.0)) * 3.0) == 6.0


# ---- locations ------------------------------------------------------------------------------------------


def helper(x: Tensor) -> Tensor:
    return ops.matmul(x, x)


def test_a_shape_error_names_the_line_of_the_call_that_failed():
    with pytest.raises(
        ShapeError, match=r"matmul\(float64\[2,3\], float64\[2,3\]\): inner sizes differ"
    ) as raised:
        trace(lambda x: [helper(x)], [TensorSpec((2, 3), "float64")])
    line = inspect.getsourcelines(helper)[1] + 1
    assert f"{__file__}:{line}" in str(raised.value)


def test_nodes_know_their_line():
    graph = trace(lambda x: [helper(x)], [TensorSpec((2, 2), "float64")]).graph
    assert graph.nodes[0].location.line == inspect.getsourcelines(helper)[1] + 1
    assert graph.nodes[0].location.file == __file__


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: ops.matmul(x, x), "takes matrices, got"),
        (lambda x: ops.scatter_add(x, np.array([0, 1]), np.array([2.0]), axis=0), "values of .* belong"),
        (lambda x: ops.dynamic_slice(x, np.array([0]), sizes=(4,)), "a window of"),
        (lambda x: ops.argmax(ops.slice(x, slices=((0, 0, 1),)), axis=0), "an axis without elements"),
        (lambda x: ops.reshape(x, shape=(2, 2)), "cannot reshape"),
        (lambda x: ops.broadcast_to(x, shape=(2,)), r"Incompatible shapes for broadcasting: \(3,\) to \(2,\)"),
        (lambda x: ops.broadcast_to(x, shape=()), r"Cannot broadcast to shape with fewer dimensions: \(3,\) to"),
        (lambda x: ops.concat(x, ops.reshape(x, shape=(1, 3)), axis=0), "cannot join"),
    ],
)
def test_shapes_are_refused_eagerly_as_in_a_trace(f, message: str):
    for x in (np.ones(3), np.zeros(3)):  # the second time its dtype has been seen
        with pytest.raises(ShapeError, match=message):
            f(Tensor(x))
    with pytest.raises(ShapeError, match=message):
        trace(lambda x: [f(x)], [FLOAT])


# ---- sizes ----------------------------------------------------------------------------------------------


def unknown(f, *shapes: tuple, **hints: int):
    specs = [TensorSpec(s, "float64") for s in shapes]
    return verify(trace(f, specs, "f", Assumptions(hints)).graph)


def test_a_graph_of_unknown_size_runs_at_every_size():
    def f(x):
        flat = ops.reshape(x, shape=(-1,))
        return [flat * 2.0, ops.reduce_sum(x, axis=0), ops.concat(x, x, axis=0), tf.reduce_mean(x)]

    graph = unknown(f, (N, 3), n=4)
    for n in (1, 2, 5, 0):
        x = np.arange(3.0 * n).reshape(n, 3)
        flat, total, twice, mean = (t.numpy() for t in replay(graph, [Tensor(x)]))
        np.testing.assert_array_equal(flat, x.reshape(-1) * 2.0)
        np.testing.assert_array_equal(total, x.sum(axis=0))
        np.testing.assert_array_equal(twice, np.concatenate([x, x]))
        np.testing.assert_array_equal(mean, x.mean() if n else np.nan)


def with_regions(x, a):
    """Attributes and regions that mention the size."""

    def body(i, s, row):
        return s + ops.reduce_sum(row), row * 2.0

    total, _, rows = loop(body, [a], [x], length=x.shape[0])
    return [
        *cond(
            total > 0.0,
            lambda x: ops.reshape(x, shape=(-1,)),
            lambda x: ops.reshape(x * 0.0, shape=(-1,)),
            rows,
        )
    ]


def test_regions_follow_the_size():
    graph = unknown(with_regions, (N, 3), (), n=4)
    for n in (4, 1, 6):
        x = np.ones((n, 3))
        assert numbers(replay(graph, [Tensor(x), Tensor(np.array(0.5))])) == [[2.0] * 3 * n]


def test_resizing_leaves_no_mention_of_the_old_size():
    graph = unknown(with_regions, (N, 3), (), n=4)
    small = verify(resize_graph(graph, {"n": 2}))
    assert "n" not in [word.strip("%,<>[]()") for word in to_text(small).replace(",", " ").split()]
    assert small.inputs[0].spec == TensorSpec((2, 3), "float64")
    assert resize_graph(small, {"n": 5}) is small
    renamed = resize_graph(graph, {"n": Dim.of("m") * 2})
    assert str(renamed.inputs[0].spec) == "float64[2*m,3]"


def test_what_was_assumed_is_kept_as_guards():
    graph = unknown(lambda x, y: [x + y], (N,), (Dim.of("m"),), n=4, m=4)
    assert graph.guards == (("==", N, Dim.of("m")),)
    with pytest.raises(ShapeError, match="do not broadcast"):
        unknown(lambda x, y: [x + y], (N,), (Dim.of("m"),), n=4, m=5)


def test_errors_of_calls_with_many_operands_are_short():
    rows = [tf.ones((2, 3))] * 400
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.concat([*rows, tf.ones((2, 4))], axis=0)
    text = str(caught.value)
    assert "float32[2,3], … 401 in all …, float32[2,4], axis=0)" in text and len(text) < 500
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.concat([*rows[:7], tf.ones((2, 4))], axis=0)
    assert str(caught.value).count("float32[2,3]") >= 7


def test_an_interrupt_at_the_end_of_a_trace_leaves_nothing_in_charge(monkeypatch):
    replacing, pressed = type(dispatch.interpreting(None)), []
    left = replacing.__exit__

    def interrupted(self, *exc):
        if pressed:
            raise pressed.pop()
        left(self, *exc)

    def f(x):
        pressed.append(KeyboardInterrupt)
        return [x]

    monkeypatch.setattr(replacing, "__exit__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        trace(f, [FLOAT])
    assert dispatch.state.interpreter is None
