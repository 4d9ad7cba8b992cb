"""Batched is looped, generated from the registry: an op on all lanes at once against the op lane by lane."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

import tracejit.ops
import tracejit.ops.tensor.operators  # noqa: F401  completes Tensor
from checks import modes
from checks.cases import Case, all_cases, cases_of, drawn_ops, resized
from checks.derivatives import directions
from checks.each import each
from tracejit.compiler import cache, pipeline
from tracejit.compiler.loopir.ir import Fail, walk
from tracejit.core.autodiff.backprop import gradient_graph
from tracejit.core.autodiff.batching import batch_graph, batch_replay, is_total
from tracejit.core.ir.graph import Graph, verify
from tracejit.core.op import OPS, Op
from tracejit.core.settings import settings
from tracejit.core.tensor import Tensor
from tracejit.core.tracing.trace import replay, trace

#: Ops that are run lane by lane: nothing else is known of them.
LANE_BY_LANE = {
    "loop_gradient",
    "implicit",
    "print",
    "python_call",
    "python_call_again",
    "python_call_given",
    "python_gradient",
    "python_effect",
    "text_call",
}

LANES = 3
CASES = [c for c in all_cases(("float64", "complex128", "int32")) if c.specs]
SMALL = [s for c in all_cases(("float64",)) if c.specs for s in itertools.islice(resized(c, 0), 1)]
DIFFERENTIABLE = [c for c in CASES if c.active and c.dtype != np.int32]


def choices(count: int) -> Iterator[tuple[bool, ...]]:
    """Which inputs have lanes: every choice but none."""
    return (flags for flags in itertools.product([True, False], repeat=count) if any(flags))


def lanes_of(case: Case, size: int = LANES) -> list[list[np.ndarray]]:
    """The arguments of each lane."""
    return [case.arguments(seed) for seed in range(size)]


def together(lanes: Sequence[Sequence[np.ndarray]], flags: Sequence[bool]) -> list[Tensor]:
    """The arguments of all lanes: stacked, or those of the first."""
    columns = list(zip(*lanes, strict=True))
    return [Tensor(np.stack(c) if f else c[0]) for c, f in zip(columns, flags, strict=True)]


def one_by_one(graph: Graph, inputs: Sequence[Tensor], flags: Sequence[bool], size: int) -> list[list]:
    """The results of each lane."""
    return [
        [
            y.array
            for y in replay(
                graph,
                [Tensor(np.asarray(x.array[k])) if f else x for x, f in zip(inputs, flags, strict=True)],
            )
        ]
        for k in range(size)
    ]


def assert_batched_is_looped(graph: Graph, inputs: Sequence[Tensor], flags: Sequence[bool], size: int):
    found, own = batch_replay(graph, inputs, flags, size)
    expected = one_by_one(graph, inputs, flags, size)
    for k, (y, f) in enumerate(zip(found, own, strict=True)):
        wanted = [lane[k] for lane in expected]
        for lane in range(size):
            np.testing.assert_allclose(
                y.array[lane] if f else y.array, wanted[lane], rtol=1e-12, atol=1e-13, err_msg=f"{flags}"
            )
            assert (y.dtype, y.shape[f:]) == (wanted[lane].dtype, wanted[lane].shape)


def test_the_ops_that_have_no_rule_are_known():
    without = {op for op in OPS.values() if op.batch is None and not op.elementwise}
    assert {op.name for op in without if takes_inputs(op)} == LANE_BY_LANE


def takes_inputs(op: Op) -> bool:
    kinds = {p.kind for p in inspect.signature(op.infer).parameters.values()}
    return bool(kinds & {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.VAR_POSITIONAL})


@each([*CASES, *SMALL])
def test_batched_is_looped(case: Case):
    graph = trace(case, case.specs).graph
    lanes = lanes_of(case)
    for flags in choices(len(case.specs)):
        assert_batched_is_looped(graph, together(lanes, flags), flags, LANES)
    everything = (True,) * len(case.specs)
    assert_batched_is_looped(graph, together(lanes[:1], everything), everything, 1)
    none = [Tensor(np.zeros((0, *s.shape), s.dtype)) for s in case.specs]
    found, _ = batch_replay(graph, none, everything, 0)
    assert [y.shape for y in found] == [(0, *v.spec.shape) for v in graph.outputs]


@each(DIFFERENTIABLE)
def test_the_gradient_batched_is_looped(case: Case):
    graph, _ = gradient_graph(trace(case, case.specs).graph)
    if not graph.outputs:
        return
    seeds = [np.zeros(v.spec.shape, v.spec.dtype) for v in graph.inputs[len(case.specs) :]]
    lanes = [[*xs, *directions(seeds, k)] for k, xs in enumerate(lanes_of(case))]
    for flags in choices(len(case.specs)):
        flags = (*flags, *(True for _ in seeds))
        assert_batched_is_looped(graph, together(lanes, flags), flags, LANES)


@each(DIFFERENTIABLE)
def test_the_gradient_of_batched_is_the_gradient_of_looped(case: Case):
    graph = trace(case, case.specs).graph
    wanted = tuple(i in case.active for i in range(len(case.specs)))
    gradient, connected = gradient_graph(graph, wanted)
    lanes = lanes_of(case)
    outputs = [v.spec for v in graph.outputs if v.spec.differentiable]
    seeds = [directions([np.zeros(s.shape, s.dtype) for s in outputs], k) for k in range(LANES)]
    for flags in choices(len(case.specs)):
        everywhere, _ = batch_graph(graph, flags, LANES, [True] * len(graph.outputs))
        batched, reached = gradient_graph(verify(everywhere), wanted)
        assert reached == connected
        inputs = together(lanes, flags)
        found = replay(batched, [*inputs, *together(seeds, [True] * len(outputs))])
        given = [*inputs, *together(seeds, [True] * len(outputs))]
        each = one_by_one(gradient, given, [*flags, *(True for _ in outputs)], LANES)
        active = [f for f, w in zip(flags, wanted, strict=True) if w]
        pairs = [f for f, c in zip(active, connected, strict=True) if c]
        for k, (g, own) in enumerate(zip(found, pairs, strict=True)):
            column = [lane[k] for lane in each]
            expected = np.stack(column) if own else sum(column)
            np.testing.assert_allclose(g.array, expected, rtol=1e-11, atol=1e-12, err_msg=f"{flags}")


def groups() -> list[list[Case]]:
    """One case per op with each number of inputs, several to a program: compiling takes longer than running."""
    chosen = [c for op in drawn_ops() for c in list(cases_of(op, ("float64",)))[:2] if c.specs]
    return [chosen[k::12] for k in range(12)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("cases", groups(), ids=lambda cases: cases[0].op.name)
@pytest.mark.parametrize("order", [0, 1])
def test_a_batched_program_compiles(cases: list[Case], order: int):
    cases = [c for c in cases if c.active] if order else cases
    flags = [k % 2 == 0 or len(c.specs) == 1 for c in cases for k in range(len(c.specs))]
    graph = modes.program(cases, order)
    flags += [True] * (len(graph.inputs) - len(flags))
    batched = verify(batch_graph(graph, flags, LANES)[0])
    lanes = [modes.program_arguments(cases, graph)] + [
        [a for c in cases for a in c.arguments(k)]
        + modes.program_arguments(cases, graph)[len(cases_inputs(cases)) :]
        for k in range(1, LANES)
    ]
    arrays = [x.array for x in together(lanes, flags)]
    with settings(contract=False, cache=False):
        modes.assert_same(batched, arrays, list(cache.compile_graph(batched)(arrays)), "compiled")


def cases_inputs(cases: Sequence[Case]) -> list:
    return [s for c in cases for s in c.specs]


@pytest.mark.parametrize("op", drawn_ops(), ids=str)
def test_an_op_that_may_refuse_values_says_so(op: Op):
    """Lanes that sit out a branch run the other ops of it on any values."""
    for case in itertools.islice(cases_of(op, ("float64",)), 1):
        graph = trace(case, case.specs).graph
        program = pipeline.lower_graph(graph)
        may_fail = any(isinstance(s, Fail) for s in walk(program.body))
        assert not (may_fail and is_total(graph))
        # a program that fails is in tests/compiler/test_object_keys.py for each op that says so, with unknown sizes too
        assert is_total(graph) == op.traits.isdisjoint(("effect", "may_fail"))
