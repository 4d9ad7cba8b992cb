"""Reverse mode: what is None and what is zero, broadcasting undone, rules that are wrong, graphs of gradients."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import tracejit  # noqa: F401  completes Tensor
from checks.derivatives import pull_tensors, push
from tracejit.core.autodiff.backprop import NoGradient, RecordList, backprop, gradient_graph, pull_back
from tracejit.core.autodiff.pushforward import jvp_graph
from tracejit.core.errors import GradientError
from tracejit.core.ir.graph import verify
from tracejit.core.op import OPS, Op, ops
from tracejit.core.spec import TensorSpec
from tracejit.core.tensor import Tensor
from tracejit.core.tracing.dispatch import recording
from tracejit.core.tracing.trace import replay, trace

FLOAT = TensorSpec((3,), "float64")


def tensor(*values: float) -> Tensor:
    return Tensor(np.array(values))


def gradients(f, *xs: Tensor, sources=None) -> list:
    """Cotangents with ones as seeds: a list of numbers, or None, per source."""
    active = list(range(len(xs))) if sources is None else sources
    seeds = [Tensor(np.ones(y.shape, y.dtype)) for y in f(*xs)]
    return [None if g is None else g.numpy().tolist() for g in pull_tensors(f, xs, seeds, active)]


# ---- None is the only zero ------------------------------------------------------------------------------


def test_what_nothing_connects_is_none():
    assert gradients(lambda x, y: [x * 2.0], tensor(1.0), tensor(1.0)) == [[2.0], None]


def test_a_tensor_given_twice_is_two_inputs():
    graph = trace(lambda x, y: [x * y * y], [FLOAT, FLOAT]).graph
    x = tensor(1.0, 2.0, 3.0)
    _, (by_x, by_y) = pull_back(graph, [x, x], [tensor(1.0, 1.0, 1.0)], [True, True])
    assert by_x.numpy().tolist() == [1.0, 4.0, 9.0]
    assert by_y.numpy().tolist() == [2.0, 8.0, 18.0]


def test_integers_are_none():
    assert gradients(lambda x, k: [x * ops.cast(k, dtype=x.dtype)], tensor(1.0), Tensor(np.array([3]))) == [
        [3.0],
        None,
    ]


@pytest.mark.parametrize(
    "blocked",
    [
        ops.stop_gradient,
        ops.floor,
        ops.round,
        lambda x: ops.cast(ops.cast(x, dtype=np.dtype("int32")), dtype=np.dtype("float64")),
        lambda x: ops.cast(ops.less(x, 0.0), dtype=x.dtype),
    ],
)
def test_ops_that_nothing_flows_through(blocked):
    assert gradients(lambda x: [blocked(x) + 1.0], tensor(1.5)) == [None]
    assert gradients(lambda x: [blocked(x) * x], tensor(1.5))[0] is not None


def test_the_sign_has_the_gradient_zero():
    assert gradients(lambda x: [ops.sign(x) + 1.0], tensor(1.5)) == [[0.0]]


def test_where_leaves_the_condition_alone_and_never_multiplies_by_zero():
    def f(x):
        return [ops.where(ops.less(0.0, x), ops.sqrt(ops.where(ops.less(0.0, x), x, 1.0)), 0.0)]

    assert gradients(f, tensor(4.0, -1.0)) == [[0.25, 0.0]]


def test_an_output_that_is_an_input_passes_its_cotangent_on():
    assert gradients(lambda x: [x, x], tensor(1.0, 2.0)) == [[2.0, 2.0]]


def test_a_source_in_the_middle_keeps_its_cotangent():
    x = tensor(3.0)
    listing = RecordList()
    with recording(listing):
        y = x * x
        z = y * y
    found = backprop(listing.records, {z.serial: tensor(1.0)}, [y.serial, x.serial])
    assert [g.numpy().tolist() for g in found] == [[18.0], [108.0]]


def test_the_same_source_twice():
    x = tensor(3.0)
    listing = RecordList()
    with recording(listing):
        y = x * x
    found = backprop(listing.records, {y.serial: tensor(1.0)}, [x.serial, x.serial])
    assert [g.numpy().tolist() for g in found] == [[6.0], [6.0]]


def test_consumed_records_and_cotangents_are_gone():
    x = tensor(3.0)
    listing = RecordList()
    with recording(listing):
        y = ops.sin(ops.exp(x) * 2.0)
    cotangents = {y.serial: tensor(1.0)}
    backprop(listing.records, cotangents, [x.serial], consume=True)
    assert listing.records == [] and set(cotangents) == {x.serial}


# ---- broadcasting ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 3), (2, 1), (2, 3), (1, 1, 1), (4, 2, 3), (4, 1, 1)])
def test_a_cotangent_has_the_shape_of_its_input(shape: tuple):
    big = Tensor(np.arange(24.0).reshape(4, 2, 3))
    found = gradients(lambda x: [x * big], Tensor(np.ones(shape)))
    lead = (1,) * (3 - len(shape)) + shape
    axes = tuple(i for i, d in enumerate(lead) if d == 1)
    assert np.array(found[0]).shape == shape
    np.testing.assert_array_equal(found[0], big.numpy().sum(axis=axes, keepdims=True).reshape(shape))


def test_a_real_input_among_complex_ones_gets_a_real_cotangent():
    x, z = tensor(2.0), Tensor(np.array([1 + 2j]))
    found = pull_tensors(lambda x, z: [x * z], [x, z], [Tensor(np.array([1 + 1j]))], [0, 1])
    assert found[0].dtype == np.float64 and found[0].numpy() == [3.0]  # Re(g * conj(z))
    assert found[1].numpy() == [2 + 2j]


def test_the_gradient_of_a_complex_square_points_uphill():
    """Steepest ascent: the conjugate of the holomorphic derivative."""
    (g,) = pull_tensors(lambda z: [z * z], [Tensor(np.array(1 + 2j))], [Tensor(np.array(1 + 0j))], [0])
    assert g.numpy() == 2 - 4j


# ---- wrong rules ----------------------------------------------------------------------------------------


@pytest.fixture
def declared() -> Iterator:
    """Ops of one test: ``declared(vjp=...)``."""
    names = []

    def declare(**parts) -> Op:
        name = f"of_this_test_{len(names)}"
        names.append(name)
        op = OPS[name] = Op(name, lambda x: x, kernel=lambda x: x * 2.0, **parts)
        return op

    yield declare
    for name in names:
        del OPS[name]


def test_an_op_without_any_rule_says_so(declared):
    op = declared()
    with pytest.raises(NoGradient, match=f"gradient registry has no entry for: {op.type_name}") as raised:
        gradients(lambda x: [op(x)], tensor(1.0))
    assert issubclass(NoGradient, LookupError) and f"{__file__}:" in str(raised.value)
    assert gradients(lambda x: [op(x)], tensor(1.0), sources=[]) == []


@pytest.mark.parametrize("shape", [(4,), (3, 2)])
def test_a_rule_of_the_wrong_shape_names_op_and_line(declared, shape: tuple):
    op = declared(vjp=(lambda g, y, x: Tensor(np.ones(shape)),))
    with pytest.raises(GradientError, match=rf"{op.name}") as raised:
        gradients(lambda x: [op(x)], Tensor(np.ones(3)))
    assert __file__ in str(raised.value)


def test_a_rule_may_return_none(declared):
    op = declared(vjp=(lambda g, y, x: None,))
    assert gradients(lambda x: [op(x)], tensor(1.0)) == [None]


# ---- scattered cotangents -------------------------------------------------------------------------------


def test_reads_of_all_kinds_and_a_dense_cotangent_add_up():
    at, indices = Tensor(np.array([1])), Tensor(np.array([0, 2, 2]))

    def f(x):
        return [
            ops.slice(x, slices=((0, 2, 1),)),
            ops.slice(x, slices=((3, 2, -2),)),
            ops.dynamic_slice(x, at, sizes=(2,)),
            ops.gather(x, indices, axis=0),
            x * 10.0,
        ]

    assert gradients(f, tensor(1.0, 2.0, 3.0, 4.0)) == [[12.0, 13.0, 13.0, 11.0]]
    for order in ([4, 0, 1, 2, 3], [3, 2, 4, 1, 0], [2, 4, 0]):
        chosen = gradients(lambda x, order=order: [f(x)[k] for k in order], tensor(1.0, 2.0, 3.0, 4.0))
        singles = [gradients(lambda x, k=k: [f(x)[k]], tensor(1.0, 2.0, 3.0, 4.0))[0] for k in order]
        np.testing.assert_array_equal(chosen[0], np.sum(singles, axis=0))


def test_a_window_that_sticks_out_is_moved_for_the_gradient_too():
    at = Tensor(np.array([9]))
    assert gradients(lambda x: [ops.dynamic_slice(x, at, sizes=(2,))], tensor(1.0, 2.0, 3.0)) == [
        [0.0, 1.0, 1.0]
    ]


# ---- graphs of gradients --------------------------------------------------------------------------------


def three(x, y, k):
    return [x * y, ops.sin(x), ops.reduce_sum(y * y)]


SPECS = [FLOAT, FLOAT, TensorSpec((), "int64")]


@pytest.mark.parametrize(
    ("wanted", "seeded", "connected"),
    [
        (None, None, (True, True)),
        ((True, False, False), (True, True, True), (True,)),
        ((True, True, False), (False, True, False), (True, False)),
        ((False, True, False), (False, True, False), (False,)),
    ],
)
def test_a_gradient_graph_has_the_connected_outputs_only(wanted, seeded, connected):
    graph = trace(three, SPECS).graph
    found, flags = gradient_graph(graph, wanted, seeded)
    verify(found)
    assert flags == connected
    assert len(found.outputs) == sum(connected)
    seeds = [v.spec for v, s in zip(graph.outputs, seeded or (True,) * 3, strict=True) if s]
    assert [v.spec for v in found.inputs] == [*SPECS, *seeds]


def test_a_gradient_graph_is_made_once():
    graph = trace(three, SPECS).graph
    assert gradient_graph(graph)[0] is gradient_graph(graph)[0]
    assert gradient_graph(graph, (True, False, False))[0] is not gradient_graph(graph)[0]


def test_nodes_of_a_gradient_have_the_line_of_what_they_differentiate():
    graph = trace(lambda x: [ops.sin(x)], [FLOAT]).graph
    found = gradient_graph(graph)[0]
    assert {(n.location.file, n.location.line) for n in found.nodes} == {
        (__file__, graph.nodes[0].location.line)
    }


@pytest.mark.parametrize(
    ("active", "connected"),
    [((True, False, False), (True, True, False)), ((False, True, False), (True, False, True))],
)
def test_a_jvp_graph_returns_values_and_connected_tangents(active, connected):
    graph = trace(three, SPECS).graph
    found, flags = jvp_graph(graph, active)
    verify(found)
    assert flags == connected
    xs = [tensor(1.0, 2.0, 3.0), tensor(4.0, 5.0, 6.0), Tensor(np.array(1))]
    results = replay(found, [*xs, tensor(1.0, 0.0, 0.0)])
    expected = push(
        lambda *xs: three(*xs), [x.numpy() for x in xs], [np.array([1.0, 0.0, 0.0])], [active.index(True)]
    )
    assert len(results) == 3 + sum(connected)
    kept = [t for t, c in zip(expected, connected, strict=True) if c]
    for a, b in zip(results[3:], kept, strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-14)
