"""Forms: parts by name, read from calls and written back as they were."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tracejit as tf
from checks import regions
from tracejit.core.ir.graph import Graph, Node, verify, walk
from tracejit.core.ir.text import to_text
from tracejit.core.op import ops
from tracejit.core.spec import TensorSpec
from tracejit.core.tracing.dispatch import as_tensor
from tracejit.core.tracing.forms import (
    BranchForm,
    CallForm,
    CustomForm,
    ImplicitForm,
    OwnValueForm,
    RecomputedForm,
    TangentsForm,
    level_of,
    operands_of,
)
from tracejit.core.tracing.loop_form import INDEX, LoopForm, LoopGradientForm, Parts, Results
from tracejit.core.tracing.trace import trace

VECTOR = TensorSpec((3,), "float64")
ROWS = TensorSpec((5, 3), "float64")
COUNT = TensorSpec((), "int64")


def forward(x, rows, w):
    return regions.loop(lambda i, c, d, r, w: [c * w + r, d, c], [x, x * 2.0], [rows], [w], length=5)


def counted(n, x, w):
    return regions.loop(lambda i, c, w: [c * w], [x], [], [w], count=n)


def until(x, w):
    return regions.loop(lambda i, c, w: [c + w], [x], [], [w], cond=lambda c, w: ops.reduce_max(c) < 9.0)


LOOPS = {
    "length": (forward, [VECTOR, ROWS, VECTOR]),
    "count": (counted, [COUNT, VECTOR, VECTOR]),
    "cond": (until, [VECTOR, VECTOR]),
}


def first_loop(graph: Graph) -> tuple[Node, LoopForm]:
    node = next(n for n in graph.nodes if LoopForm.of(n) is not None)
    form = LoopForm.of(node)
    assert form is not None
    return node, form


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_is_written_as_it_was_read(name: str):
    node, form = first_loop(trace(*LOOPS[name]).graph)
    form = form.replace()
    assert form.inputs == node.inputs
    assert form.attrs == dict(node.attrs)
    again = form.node(node.location)
    assert (again.op, again.inputs, again.outputs, again.attrs) == (
        node.op,
        node.inputs,
        node.outputs,
        node.attrs,
    )


def test_the_parts_of_a_loop():
    node, form = first_loop(trace(*LOOPS["length"]).graph)
    assert [len(p) for p in (form.init, form.xs, form.consts)] == [2, 1, 1]
    assert form.count is None and form.length == form.rows == 5 and form.times == 5
    body = form.body
    assert [form.index_in, *form.carry_in, *form.xs_in, *form.consts_in] == body.inputs
    assert [*form.carry_out, *form.ys_out] == body.outputs
    assert [*form.final, form.trips, *form.ys] == list(node.outputs)
    assert form.specs == Parts([VECTOR, VECTOR], [VECTOR], [VECTOR])
    assert not form.residuals


def test_the_parts_of_a_loop_with_a_count():
    node, form = first_loop(trace(*LOOPS["count"]).graph)
    assert form.count is node.inputs[0] and form.times is form.count
    assert form.split(["n", "c", "w"]) == Parts(["c"], [], ["w"])
    assert form.per_input(Parts(["c"], [], ["w"])) == [None, "c", "w"]


def test_the_parts_of_a_loop_with_a_condition():
    _, form = first_loop(trace(*LOOPS["cond"]).graph)
    assert form.cond is not None
    assert [*form.cond_carry_in, *form.cond_consts_in] == form.cond.inputs


def test_what_goes_with_the_parts():
    _, form = first_loop(trace(*LOOPS["length"]).graph)
    parts = form.split("cdrw")
    assert parts == Parts("cd", "r", "w")
    assert parts.of_body("i") == tuple("icdrw") and parts.of_cond() == tuple("cdw")
    assert form.split_body(parts.of_body("i")) == Parts(("c", "d"), ("r",), ("w",))
    results = form.split_results("cdny")
    assert results == Results("cd", "n", "y") and results.of_loop() == list("cdny")
    assert form.split_rows(results.of_body()) == Results(["c", "d"], None, ["y"])
    flags = Parts([True, False], [True], [False])
    assert flags.spread("ab") == Parts(["a", None], ["b"], [None])
    assert Results([False, True], None, [True]).spread("ab") == Results([None, "a"], None, ["b"])


def slope(x, w):
    with tf.GradientTape() as tape:
        tape.watch(w)
        y = tf.fori_loop(0, 3, lambda i, c: c * c * w, x)
    return [tape.gradient(y, w)]


def test_a_recorded_loop_keeps_its_carries():
    node, form = first_loop(trace(slope, [VECTOR, VECTOR]).graph)
    assert form.keeps_carries
    assert list(form.residuals) == list(form.ys) == list(node.outputs[2:])
    assert form.ys_out == form.carry_in


def test_the_backward_of_a_loop_reads_its_residuals():
    graph = trace(slope, [VECTOR, VECTOR]).graph
    forward, backward = (form for n in graph.nodes if (form := LoopForm.of(n)) is not None)
    assert backward.reverse and backward.xs == tuple(forward.residuals)
    assert len(backward.init) == 2  # the cotangent of the carry, and the sum of those of w
    assert not backward.keeps_carries


def test_a_loop_written_in_python_is_the_loop_by_hand():
    def by_form(x, rows, w):
        def body(i, carry, xs, consts):
            (c, d), (r,), (w,) = carry, xs, consts
            return [c * w + r, d], [c]

        return (
            LoopForm.written(body, (x, x * 2.0), (rows,), (w,), length=5, names=("f", "f")).apply().of_loop()
        )

    assert to_text(trace(by_form, LOOPS["length"][1]).graph) == to_text(trace(*LOOPS["length"]).graph)


def test_graphs_of_loops_capture_nothing():
    def f(x, w):
        return LoopForm.written(lambda i, c, xs, k: ([c[0] * w], []), (x,), length=2).apply().of_loop()

    with pytest.raises(AssertionError, match="take everything as an argument"):
        trace(f, [VECTOR, VECTOR])


def test_replaced_parts():
    _, form = first_loop(trace(*LOOPS["length"]).graph)
    other = form.replace(reverse=True, memory="recompute")
    assert other.reverse and other.memory == other.attrs["memory"] == "recompute"
    assert other.inputs == form.inputs and not form.reverse


def test_a_restricted_loop():
    graph = trace(*LOOPS["length"]).graph
    node, form = first_loop(graph)
    small = form.restricted([0], [0], [0], [])
    assert small.inputs == (node.inputs[0], *node.inputs[2:])
    assert small.outputs == (node.outputs[0], node.outputs[2])
    assert [v.spec for v in small.body.inputs] == [INDEX, VECTOR, VECTOR, VECTOR]
    graph.nodes[graph.nodes.index(node)] = small.node(None)
    graph.outputs = [small.final[0]]
    verify(graph)


@pytest.mark.parametrize("attrs", [{"carries": -1}, {"rows": 7}, {"rows": True}, {"carries": "2"}])
def test_attributes_that_do_not_fit(attrs: dict):
    _, form = first_loop(trace(*LOOPS["length"]).graph)
    assert LoopForm.fits(form.inputs, form.attrs)
    assert not LoopForm.fits(form.inputs, {**form.attrs, **attrs})


def test_the_gradient_of_a_loop_with_a_policy():
    def f(x, w):
        with tf.GradientTape() as tape:
            tape.watch(w)
            y = tf.fori_loop(0, 6, lambda i, c: c * c * w, x, memory="recompute")
        return [tape.gradient(y, w)]

    node = next(n for n in trace(f, [VECTOR, VECTOR]).graph.nodes if LoopGradientForm.of(n) is not None)
    form = LoopGradientForm.of(node)
    assert form is not None
    assert (*form.loop.inputs, *form.cotangents) == node.inputs
    assert form.replace().attrs == dict(node.attrs)
    assert form.replace().inputs == node.inputs
    assert form.split(node.inputs) == (node.inputs[:2], node.inputs[2:])


# ---- other ops that hold graphs -------------------------------------------------------------------------


@tf.custom_gradient
def doubled_slope(x):
    return x * x, lambda g: g * 4.0 * x


@tf.custom_gradient
def growth(x):
    y = tf.exp(x)
    return y, lambda g: g * growth(x)


@tf.custom_jvp
def wave(x):
    return tf.sin(x)


@wave.defjvp
def wave_tangent(primals, tangents):
    (x,), (t,) = primals, tangents
    return wave(x), t * wave(x + 1.5)


PROGRAMS = {
    "cond": lambda x: regions.cond(ops.reduce_max(x) > 0.0, lambda x: x * 2.0, lambda x: x * 3.0, x),
    "call": lambda x: regions.call(lambda x: ops.sin(x), x),
    "custom": lambda x: [doubled_slope(x), growth(x)],
    "custom_tangents": lambda x: [wave(x)],
    "implicit": lambda x: [tf.fixed_point(lambda y: tf.cos(y) * 0.5 + x, x)],
    "recomputed": lambda x: [tf.recompute_grad(tf.sin)(x)],
}
KINDS = {
    "cond": BranchForm,
    "call": CallForm,
    "custom": CustomForm,
    "custom_tangents": TangentsForm,
    "own_value": OwnValueForm,
    "implicit": ImplicitForm,
    "recomputed": RecomputedForm,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_call_is_written_as_it_was_read(name: str):
    nodes = [n for _, n in walk(trace(PROGRAMS[name], [VECTOR]).graph) if n.op.name in KINDS]
    assert name in {n.op.name for n in nodes}
    for node in nodes:
        form = KINDS[node.op.name](node.inputs, node.attrs, node.outputs).replace()
        assert tuple(form.inputs) == node.inputs
        assert form.attrs == dict(node.attrs)


def test_a_function_in_its_own_rule():
    graph = trace(PROGRAMS["custom"], [VECTOR]).graph
    (own,) = (n for _, n in walk(graph) if OwnValueForm.of(n) is not None)
    form = OwnValueForm.of(own)
    assert form is not None and form.inputs == own.inputs and form.attrs == dict(own.attrs)
    custom = next(c for n in graph.nodes if (c := CustomForm.of(n)) is not None and c.level is not None)
    assert custom.level == form.level == level_of(own)


def test_the_parts_of_a_branch():
    (node,) = (n for n in trace(PROGRAMS["cond"], [VECTOR]).graph.nodes if BranchForm.of(n) is not None)
    form = BranchForm.of(node)
    assert form is not None
    assert form.graphs == (form.then, form.orelse)
    assert form.split(node.inputs) == form.consts == operands_of(node)
    assert form.per_input(["a"]) == [None, "a"]
    small = form.restricted([], [])
    assert (small.inputs, list(small.outputs), small.then.inputs) == ((form.pred,), [], [])


def test_the_parts_of_a_split_call():
    graph = trace(lambda x: [ops.sin(x)], [VECTOR]).graph
    x = as_tensor(np.ones(3))
    split = CallForm.make((x,), graph, graph, 1, (True,))
    assert CallForm(split.inputs, split.attrs, (1, 2, 3)).residuals == (2, 3)
    assert split.replace().attrs == split.attrs
    assert CallForm.make((x,), graph).attrs == {"graph": graph}


@pytest.mark.parametrize(
    "read", [LoopForm.of, LoopGradientForm.of, BranchForm.of, CallForm.of, CustomForm.of]
)
def test_other_ops_have_no_such_form(read: Callable):
    graph = trace(lambda x: [ops.sin(x)], [VECTOR]).graph
    assert all(read(node) is None for node in graph.nodes)
