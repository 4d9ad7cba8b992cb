"""What holds of every op, generated from the registry: declare an op and all of this is asked of it."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import tracejit.ops
import tracejit.ops.tensor.operators  # noqa: F401  completes Tensor
from checks.cases import BY_NAME, LAYOUTS, Case, all_cases, drawn_ops, refused_cases, resized
from checks.derivatives import (
    difference,
    differentiable,
    directions,
    gradient_of,
    numeric_pull,
    pair,
    pull,
    pull_tensors,
    push,
    values,
)
from checks.each import each
from tracejit.core.autodiff.backprop import RecordList, gradient_graph
from tracejit.core.errors import DtypeError, ShapeError
from tracejit.core.ir.graph import verify
from tracejit.core.ir.text import constants, parse, to_text
from tracejit.core.op import OPS, Joint, Op
from tracejit.core.tensor import Tensor
from tracejit.core.tracing.dispatch import recording
from tracejit.core.tracing.trace import replay, trace

#: Ops that cannot be compiled and run on the host instead.
HOST: frozenset[str] = frozenset()
#: Ops without any gradient rule: differentiating them is an error that tutorials show.
WITHOUT_GRADIENT = frozenset({"adjust_contrastv2"})

CASES = all_cases()
SMALL = [small for c in all_cases(("float64", "complex128")) for size in (0, 1) for small in resized(c, size)]
DIFFERENTIABLE = [c for c in [*CASES, *SMALL] if c.active]
EXACT = [c for c in DIFFERENTIABLE if c.is_wide()]


every_op = pytest.mark.parametrize("op", list(OPS.values()), ids=str)
every_case = each([*CASES, *SMALL])
every_derivative = each(DIFFERENTIABLE)
every_exact_derivative = each(EXACT)


# ---- no holes -------------------------------------------------------------------------------------------


@every_op
def test_an_op_is_documented(op: Op):
    assert len(op.doc.split()) >= 2, f"{op} has no documentation"


@every_op
def test_the_traits_of_an_op_are_explained(op: Op):
    assert all(f"``{trait}``" in Op.__doc__ for trait in op.traits)


@every_op
def test_an_op_has_samples(op: Op):
    assert op.samples or op.name in BY_NAME


@every_op
def test_an_op_has_a_derivative_or_none_for_each_input(op: Op):
    assert op.differentiable or op.name in WITHOUT_GRADIENT, f"{op} says nothing about its derivative"
    if not op.differentiable:
        return
    rules = op.partial if op.partial is not None else op.vjp
    parameters = inspect.signature(op.infer).parameters.values()
    inputs = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    assert variadic or isinstance(rules, Joint) or len(rules) == len(inputs)


@every_op
def test_an_op_can_be_compiled(op: Op):
    assert op.lower is not None or op.name in HOST


@every_op
def test_an_op_takes_complex_numbers_in_a_sample_or_not_at_all(op: Op):
    drawn = [s for s in op.samples if "float" in (s.dtypes or ("float",) * len(s.shapes))]
    if any(s.complex for s in drawn):
        return
    taken = [s for s in drawn if Case(op, s, np.dtype("complex128"), "").legal()]
    assert not taken, f"{op} accepts complex numbers but no sample of it is complex"


def test_cases_cover_the_registry():
    covered = {c.op.name for c in CASES}
    assert covered == {op.name for op in drawn_ops()}
    assert len(SMALL) > len(drawn_ops())


# ---- values, shapes, text -------------------------------------------------------------------------------


@every_case
def test_the_shape_rule_says_what_the_kernel_returns(case: Case):
    listing = RecordList()
    with recording(listing):
        outputs = case(*map(Tensor, case.arguments()))
    for record in listing.records:
        assert record.op.specs(tuple(t.spec for t in record.inputs), record.attrs) == tuple(
            t.spec for t in record.outputs
        )
    traced = trace(case, case.specs).graph
    assert [v.spec for v in traced.outputs] == [y.spec for y in outputs]


@each(refused_cases())
def test_what_the_shape_rule_refuses_is_refused_eagerly_too(case: Case):
    with pytest.raises((DtypeError, ShapeError), match=case.op.name):
        case(*map(Tensor, case.arguments()))


@every_case
def test_an_op_leaves_its_inputs_alone(case: Case):
    arguments = case.arguments()
    for a in arguments:
        a.flags.writeable = False
    before = [a.copy() for a in arguments]
    case(*map(Tensor, arguments))
    for a, b in zip(arguments, before, strict=True):
        np.testing.assert_array_equal(a, b)


@every_case
def test_a_graph_of_the_op_is_text_and_back(case: Case):
    graphs = [verify(trace(case, case.specs).graph)]
    if case.active:
        graphs.append(verify(gradient_graph(graphs[0])[0]))
    for graph in graphs:
        text = to_text(graph)
        again = verify(parse(text, constants(graph)))
        assert to_text(again) == text
    xs = [Tensor(a) for a in case.arguments()]
    xs += _seeds(graphs)
    for a, b in zip(replay(again, xs), replay(graph, xs), strict=True):
        np.testing.assert_array_equal(a.array, b.array)


def _seeds(graphs: list) -> list[Tensor]:
    """Ones for the outputs of the graph when its gradient is among `graphs`."""
    outputs = [v.spec for v in graphs[0].outputs if v.spec.differentiable] if len(graphs) > 1 else []
    return [Tensor(np.ones(s.shape, s.dtype)) for s in outputs]


@every_case
def test_memory_layout_does_not_matter(case: Case):
    arguments = case.arguments()
    expected = case(*map(Tensor, arguments))
    for layout, arrange in LAYOUTS.items():
        arranged = [arrange(a) if a.ndim else a for a in arguments]
        for found in (case(*arranged), case(*map(Tensor, arranged)) if layout != "swapped" else expected):
            for a, b in zip(found, expected, strict=True):
                assert a.spec == b.spec, layout
                tolerance = 100 * _epsilon(a.dtype)
                np.testing.assert_allclose(a.array, b.array, rtol=0, atol=tolerance, err_msg=layout)


def _epsilon(dtype: np.dtype) -> float:
    return float(np.finfo(dtype).eps) if dtype.kind in "fc" else 0.0


# ---- first derivatives ----------------------------------------------------------------------------------


@every_derivative
def test_jvp_is_the_transpose_of_vjp(case: Case):
    xs = case.arguments()
    ts = directions([xs[i] for i in case.active], 1)
    gs = directions(values(case, xs), 2)
    left, right = pair(gs, push(case, xs, ts, case.active)), pair(pull(case, xs, gs, case.active), ts)
    epsilon = max(_epsilon(a.dtype) for a in (*ts, *gs))
    assert left == pytest.approx(right, rel=1e3 * epsilon, abs=1e3 * epsilon)


@every_derivative
def test_cotangents_have_the_spec_of_their_input(case: Case):
    xs = [Tensor(x) for x in case.arguments()]
    gs = [Tensor(g) for g in directions(values(case, case.arguments()), 2)]
    for i, g in zip(case.active, pull_tensors(case, xs, gs, case.active), strict=True):
        assert g is None or g.spec == xs[i].spec


@every_exact_derivative
def test_vjp_agrees_with_finite_differences(case: Case):
    xs = case.arguments()
    gs = directions(values(case, xs), 2)
    expected = numeric_pull(lambda moved: values(case, moved), xs, gs, case.active)
    for found, wanted in zip(pull(case, xs, gs, case.active), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-8)


@every_derivative
def test_a_traced_gradient_is_the_recorded_one(case: Case):
    xs = case.arguments()
    graph = trace(case, case.specs).graph
    gs = directions(values(case, xs), 2)
    wanted = tuple(i in case.active for i in range(len(xs)))
    traced, connected = gradient_graph(graph, wanted)
    found = iter(replay(traced, [Tensor(a) for a in (*xs, *gs)]))
    expected = pull_tensors(case, ts := [Tensor(x) for x in xs], [Tensor(g) for g in gs], case.active)
    assert list(connected) == [g is not None for g in expected] and len(ts) == len(xs)
    for g in expected:
        if g is not None:
            np.testing.assert_array_equal(next(found).array, g.array)


@each([c for c in CASES if c.op.differentiable and not c.active and c.dtype == np.float64])
def test_a_declared_none_is_none(case: Case):
    xs = [Tensor(a) for a in case.arguments()]
    active = [i for i, x in enumerate(xs) if x.spec.differentiable]
    outputs = differentiable(case(*xs))
    gs = [Tensor(np.ones_like(y.array)) for y in outputs]
    assert pull_tensors(case, xs, gs, active) == [None] * len(active)


# ---- second derivatives ---------------------------------------------------------------------------------


@every_exact_derivative
def test_the_second_derivative_is_symmetric_and_agrees_with_differences(case: Case):
    xs, active = case.arguments(), case.active
    gradient = gradient_of(case, directions(values(case, xs), 2))
    us, ws = (directions([xs[i] for i in active], seed) for seed in (3, 4))
    along_u, along_w = (pull(gradient, xs, v, active) for v in (us, ws))
    scale = 1.0 + sum(np.abs(h).sum() for h in (*along_u, *along_w))
    assert pair(ws, along_u) == pytest.approx(pair(us, along_w), rel=1e-10, abs=1e-10 * scale)
    expected = difference(lambda moved: [g.array for g in gradient(*map(Tensor, moved))], xs, us, active)
    for found, wanted in zip(along_u, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-8 * scale)


@every_exact_derivative
def test_the_vjp_differentiated_by_its_cotangent_is_the_jvp(case: Case):
    xs, active = case.arguments(), case.active
    gs = directions(values(case, xs), 2)
    us = directions([xs[i] for i in active], 3)

    def of_cotangents(*seeds: Tensor) -> list[Tensor]:
        found = pull_tensors(case, [Tensor(x) for x in xs], seeds, active)
        return [Tensor(np.zeros_like(xs[i])) if g is None else g for i, g in zip(active, found, strict=True)]

    found = pull(of_cotangents, gs, us, list(range(len(gs))))
    for a, b in zip(found, push(case, xs, us, active), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
