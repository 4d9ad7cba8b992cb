"""Graphs from files: those of real programs are admitted as they are, and nothing in them is believed."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tracejit as tj
from checks.cases import all_cases
from checks.each import each
from checks.levels import derived
from checks.loop_programs import PROGRAMS
from fuzz.hostile import changed_text
from tracejit.compiler.cache import compile_graph
from tracejit.core.dim import Assumptions, Dim
from tracejit.core.errors import TracejitError
from tracejit.core.ir.attributes import KINDS, NotAdmitted, declared
from tracejit.core.ir.graph import Graph
from tracejit.core.ir.graph import walk as walk_graph
from tracejit.core.ir.text import constants, to_text
from tracejit.core.op import OPS, Op, ops
from tracejit.core.settings import settings
from tracejit.core.spec import TensorSpec
from tracejit.core.tracing.admission import admitted
from tracejit.core.tracing.trace import trace

OURS = [op for op in OPS.values() if op.infer.__module__.startswith("tracejit.")]


def again(graph: Graph, text: str | None = None, limit: int = 1 << 24) -> Graph:
    specs = [v.spec for v in graph.inputs]
    return admitted(to_text(graph) if text is None else text, constants(graph), specs, limit)


@pytest.mark.parametrize("op", OURS, ids=str)
def test_a_file_can_say_what_a_declaration_says(op: Op):
    assert set(declared(op).values()) <= set(KINDS), "add the kind to core.attributes"
    held = {name for name, kind in declared(op).items() if kind.startswith("Graph")} - {"backward"}
    assert held == set(op.region_specs or ()), f"{op} does not say what its graphs are run on"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("what", ["value", "gradient", "second"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_real_programs_are_admitted(name: str, what: str):
    if what != "value" and what not in PROGRAMS[name].orders:
        return
    graph = derived(trace(PROGRAMS[name].f, PROGRAMS[name].specs, name).graph, what)
    assert graph is not None
    found = again(graph, limit=1 << 62)
    ours, theirs = ([n.op.name for _, n in walk_graph(g)] for g in (graph, found))
    assert [v.spec for v in found.outputs] == [v.spec for v in graph.outputs]
    assert [
        n for n in theirs if n not in ("check", "equal", "less_equal", "size_value", "cast", "constant")
    ] == [n for n in ours if n not in ("check", "equal", "less_equal", "size_value", "cast", "constant")]


@pytest.mark.sampled(2)
@each(all_cases(("float64",)))
def test_calls_of_ops_are_admitted_and_changed_ones_do_no_harm(case):
    graph = trace(case, case.specs).graph
    text = to_text(graph)
    assert to_text(again(graph)) == text
    arguments = [np.ascontiguousarray(a) for a in case.arguments()]
    rng = random.Random(str(case))
    head, body = text.split("\n", 1)
    tried = 0
    for _ in range(12):
        try:
            found = again(graph, f"{head}\n{changed_text(body, rng)}")
        except NotAdmitted:
            continue
        tried += 1
        if tried > 2:
            break
        if any(n.op.name == "bessel_j" and n.attrs["order"] > 1000 for n in found.nodes):
            continue  # a recursion of as many steps
        try:
            with settings(cache=False):
                outputs = compile_graph(found)(arguments)
        except TracejitError:
            continue
        assert [y.shape for y in outputs] == [v.spec.shape for v in found.outputs]


def test_sizes_settled_before_are_settled_again():
    n, m = Dim.of("n"), Dim.of("m")
    specs = [TensorSpec((n,), "float64"), TensorSpec((m,), "float64")]
    graph = trace(lambda x, y: [x + y], specs, "f", Assumptions({"n": 3, "m": 3})).graph
    assert graph.guards
    assert to_text(again(graph)) == to_text(graph)
    without = "\n".join(line for line in to_text(graph).split("\n") if "guard" not in line)
    with pytest.raises(NotAdmitted, match=r"known only when|no trace is active"):
        again(graph, without)


def test_a_loop_that_reads_more_rows_than_there_are_ends():
    def rows(count, xs):
        body = trace(lambda i, c, x: [c + x], [ops_index(), TensorSpec(()), TensorSpec(())], "body").graph
        attrs = {"carries": 1, "rows": 1, "length": None, "counted": True, "cond": None, "reverse": False}
        return ops.loop(count, np.float32(0.0), xs, body=body, **attrs)[:1]

    specs = [TensorSpec((), "int64"), TensorSpec((4,), "float32")]
    graph = trace(rows, specs).graph
    run = compile_graph(again(graph))
    xs = np.arange(4, dtype="float32")
    assert run([np.int64(3) + np.zeros((), "int64"), xs])[0] == 3.0
    with pytest.raises(ValueError, match="reads more rows than"):
        run([np.full((), 100_000_000), xs])


def ops_index() -> TensorSpec:
    return TensorSpec((), "int64")


def test_a_print_reaches_outside():
    graph = trace(lambda x: [tj.print(x), x][1:], [TensorSpec(())]).graph
    with pytest.raises(NotAdmitted, match="print is not called in files"):
        again(graph)
