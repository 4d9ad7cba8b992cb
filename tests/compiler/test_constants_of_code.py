"""Code of a graph serves every graph that has other arrays where that has some: it reads and does not know them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tracejit as tj
from checks import modes
from checks.cases import Case, cases_of, drawn_ops
from checks.levels import derived
from checks.loop_programs import PROGRAMS
from tracejit.compiler import cache, pipeline
from tracejit.core.ir import text
from tracejit.core.ir.graph import Graph
from tracejit.core.op import Op
from tracejit.core.tracing.dispatch import as_tensor
from tracejit.core.tracing.trace import replay, trace


def holding(graph: Graph, arrays: modes.Arrays) -> Graph:
    """The graph with arrays of its own for its inputs."""
    made = trace(lambda: list(replay(graph, [as_tensor(a, a.dtype) for a in arrays])), (), graph.name).graph
    assert not made.inputs
    return made


def others(arrays: modes.Arrays) -> modes.Arrays:
    """Arrays of the same numbers in another order, so that they are in the domain of any op."""
    return [np.roll(a.reshape(-1), 1).reshape(a.shape) for a in arrays]


def alike(graph: Graph, first: modes.Arrays, second: modes.Arrays) -> None:
    """The second's results come from the first's code, and are right."""
    one, two = holding(graph, first), holding(graph, second)
    if text.without_contents(one) != text.without_contents(two):
        return  # what only one of them has equal arrays for, or other single numbers
    for held, arrays in ((one, first), (two, second)):
        found = cache.compile_graph(held)([])
        modes.Reference(graph, arrays).assert_same([*found], "code that holds arrays")
    assert cache.compiled(one) is cache.compiled(two) or cache.names_other_lines(cache.compiled(one), one)


OPS = [op for op in drawn_ops() if any(c.dtype == "float64" for c in cases_of(op))]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_every_op_of_arrays_that_a_program_holds(op: Op, order: int):
    cases: list[Case] = [c for c in cases_of(op) if c.dtype == "float64" and (c.active or not order)]
    for case in cases:
        graph = modes.program([case], order)
        if graph.outputs and not any(v.spec.symbolic for v in graph.inputs):
            arrays = modes.program_arguments([case], graph)
            alike(graph, arrays, others(arrays))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("what", ["value", "gradient", "second"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_code_is_made_for_other_contents(name: str, what: str):
    if what != "value" and what not in PROGRAMS[name].orders:
        return
    graph = derived(trace(PROGRAMS[name].f, PROGRAMS[name].specs, name).graph, what)
    assert graph is not None
    if any(v.spec.symbolic for v in graph.inputs):
        return
    rng = np.random.default_rng(0)
    drawn = [
        [np.asarray(rng.uniform(1.0, 3.0, v.spec.shape)).astype(v.spec.dtype) for v in graph.inputs]
        for _ in range(2)
    ]
    drawn[1] = [b if b.size > 1 else a for a, b in zip(*drawn, strict=True)]
    made = [pipeline.build(holding(graph, arrays)) for arrays in drawn]
    assert made[0] == made[1]


def loss_on(x: np.ndarray, y: np.ndarray):
    return tj.function(tj.value_and_grad(lambda w: tj.reduce_mean((tj.constant(x) @ w - y) ** 2)))


def test_folds_of_a_cross_validation_share_their_code(monkeypatch: pytest.MonkeyPatch, cache_dir: Path):
    """Each closes over data of its own: compiled once, in this process and on disk, with the right numbers."""
    rng = np.random.default_rng(1)
    built = []
    build = pipeline.build
    monkeypatch.setattr(pipeline, "build", lambda graph, *rest: built.append(graph) or build(graph, *rest))
    w = np.array([0.5, -1.0, 2.0])
    for _ in range(5):
        x, y = rng.normal(size=(20, 3)), rng.normal(size=20)
        value, slope = loss_on(x, y)(w)
        np.testing.assert_allclose(value, np.mean((x @ w - y) ** 2), rtol=1e-13)
        np.testing.assert_allclose(slope, 2 / 20 * x.T @ (x @ w - y), rtol=1e-12)
    assert len(built) == 1


def test_which_arrays_are_one_is_a_part_of_the_code():
    """Of two equal arrays the code reads one: it must not serve a program that holds two."""
    a, b, x = np.arange(3.0), np.arange(1.0, 4.0), np.ones(3)

    def f(first: np.ndarray, second: np.ndarray):
        return tj.function(lambda x: x * first + x * second)

    for first, second in ((a, a.copy()), (a, b), (b, a), (b, b), (b, a)):
        np.testing.assert_array_equal(f(first, second)(x), first + second)


def test_single_numbers_types_and_shapes_are_a_part_of_the_code():
    x = np.arange(6.0).reshape(3, 2)
    held = (2.0, 3.0, [2.0], [[3.0]], [2.0, 3.0], [[2.0, 3.0]], [[1.0], [2.0], [3.0]])
    for v in (*map(np.asarray, held), np.float64(3), np.int64(3), np.array([2, 3])):
        np.testing.assert_array_equal(tj.function(lambda x, v=v: x * v)(x), x * v)


def test_arrays_decide_what_is_traced():
    """Contents that Python asks for while it traces give other graphs: sizes, places."""
    x = np.arange(12.0)

    def shaped(shape: list[int]):
        return tj.function(lambda x: tj.reshape(x, tj.constant(shape)) * 2.0)

    def taken(places: np.ndarray):
        return tj.function(lambda x: (tj.gather(x, places), x[places] * 2.0))

    for shape in ([3, 4], [4, 3], [2, 6]):
        np.testing.assert_array_equal(shaped(shape)(x), x.reshape(shape) * 2)
    for places in map(np.array, ([0, 5], [3, 3], [11, 2], [2, 11])):
        once, twice = taken(places)(x)
        np.testing.assert_array_equal(once, x[places])
        np.testing.assert_array_equal(twice, x[places] * 2)
