"""Kernels, loop IR and machine code give the same values: every op, its gradient, its second derivative."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tracejit.ops
import tracejit.ops.tensor.operators  # noqa: F401  completes Tensor
from checks import modes
from checks.cases import DTYPES, LAYOUTS, Case, cases_of, drawn_ops, resized
from checks.levels import lowered, machine_code
from tracejit.compiler.loopir import interpreter as loopinterp
from tracejit.core.ir.graph import Graph
from tracejit.core.op import Op
from tracejit.core.settings import settings


def loops(graph: Graph, arrays: modes.Arrays) -> modes.Arrays:
    with settings(contract=False):
        program, constants = lowered(graph)
    flat, _ = loopinterp.run(program, arrays, {}, [*constants.values()])
    return [f.view(v.spec.dtype).reshape(v.spec.shape) for f, v in zip(flat, graph.outputs, strict=True)]


def compiled(graph: Graph, arrays: modes.Arrays, contract: bool = False) -> modes.Arrays:
    with settings(contract=contract, cache=False):
        return list(machine_code(graph)(arrays))


MODES = {"loops": loops, "compiled": compiled}


def _families() -> list[tuple[Op, str, list[Case]]]:
    """Per op and dtype the cases that go into one program."""
    found = []
    for op in drawn_ops():
        cases = list(cases_of(op))
        # formulas that iterate compute in float64 whatever is asked: tests/compiler/test_iterated_functions
        for dtype in ["float64"] if modes.iterates(op) else DTYPES:
            chosen = [c for c in cases if c.dtype == dtype]
            if dtype in ("float64", "complex128"):
                chosen += [small for c in chosen for size in (0, 1) for small in resized(c, size)]
            if chosen:
                found.append((op, dtype, chosen))
    return found


FAMILIES = _families()
EACH_FAMILY = [
    pytest.param(*f, id=f"{f[0].name}-{f[1]}", marks=[] if f[1] == "float64" else pytest.mark.sampled(2))
    for f in FAMILIES
]


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize(("op", "dtype", "cases"), EACH_FAMILY)
def test_values(op: Op, dtype: str, cases: list[Case], order: int):
    if order and not any(c.active for c in cases):
        return
    chosen = [c for c in cases if c.active] if order else cases
    graph = modes.program(chosen, order)
    if not graph.outputs:
        return
    arrays = modes.program_arguments(chosen, graph)
    reference = modes.Reference(graph, arrays)
    for mode, run in MODES.items():
        reference.assert_same(run(graph, arrays), mode)
    if order == 0:
        assert_taken_in_any_layout(graph, arrays)
    if order == 1:
        reference.assert_same(compiled(graph, arrays, contract=True), "contracted", contracted=True)


def assert_taken_in_any_layout(graph: Graph, arrays: modes.Arrays) -> None:
    """Machine code takes read-only arrays that lie in memory in any way."""
    expected = compiled(graph, arrays)
    for layout, arrange in LAYOUTS.items():
        arranged = [arrange(a) if a.ndim else a.copy() for a in arrays]
        for a in arranged:
            a.flags.writeable = False
        for found, wanted in zip(compiled(graph, arranged), expected, strict=True):
            np.testing.assert_array_equal(found, wanted, err_msg=layout)


#: Complex numbers are pairs of floats, of either size; formulas that iterate are met with many elements elsewhere.
LARGE = [f for f in FAMILIES if f[1] != "complex64" and not modes.iterates(f[0])]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("op", "dtype", "cases"), LARGE, ids=[f"{op.name}-{dtype}" for op, dtype, _ in LARGE])
def test_more_elements_than_registers_hold(op: Op, dtype: str, cases: list[Case]):
    """Machine code is made of the loop IR, whose interpreter takes seconds for some of them."""
    large = [c for case in cases if "to" not in case.label for c in resized(case, 67)]
    for order in (0, 1):
        chosen = [c for c in large if c.active] if order else large
        graph = modes.program(chosen, order)
        if graph.outputs:
            arrays = modes.program_arguments(chosen, graph)
            reference = modes.Reference(graph, arrays)
            with settings(contract=False):
                lowered(graph)
            reference.assert_same(compiled(graph, arrays), "compiled")


# ---- special values -------------------------------------------------------------------------------------


def _special_families() -> list[tuple[Op, str, Case]]:
    """Element-wise ops and reductions, with each real dtype they take."""
    return [
        (op, dtype, cases[0])
        for op, dtype, cases in FAMILIES
        if (op.elementwise or "reduce" in op.traits) and np.dtype(dtype).kind != "c"
    ]


SPECIAL = _special_families()


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize(("op", "dtype", "case"), SPECIAL, ids=[f"{o.name}-{d}" for o, d, _ in SPECIAL])
def test_special_values(op: Op, dtype: str, case: Case, order: int):
    if op.elementwise:
        arrays = modes.in_domain(op, modes.grid(case.dtypes), case)
    else:
        arrays = [modes.rows(case.dtype)]
        case = replace(case, sample=replace(case.sample, attrs={"axis": 1 if op.name == "argmax" else (1,)}))
    sized = replace(case, sample=replace(case.sample, shapes=tuple(a.shape for a in arrays)))
    if order and not sized.active:
        return
    graph = modes.program([sized], order)
    if graph.outputs:
        arrays += [np.ones(v.spec.shape, v.spec.dtype) for v in graph.inputs[len(arrays) :]]
        reference = modes.Reference(graph, arrays)
        for mode, run in MODES.items():
            reference.assert_same(run(graph, arrays), mode)
