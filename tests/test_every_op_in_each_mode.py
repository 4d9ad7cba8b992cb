"""Kernels, loop IR and machine code give the same values, for every op, its gradient and second derivative."""

from __future__ import annotations

import pytest

import tracejit.ops
import tracejit.ops.operators  # noqa: F401  completes Tensor
from checks import modes
from checks.cases import DTYPES, Case, cases_of, drawn_ops, resized
from tracejit.compiler import loopinterp, loopverify, lower
from tracejit.core.graph import Graph
from tracejit.core.op import Op


def loops(graph: Graph, arrays: modes.Arrays) -> modes.Arrays:
    program, constants = lower.lower(graph, contract=False)
    loopverify.verify(program)
    flat, _ = loopinterp.run(program, arrays, {}, constants)
    return [f.view(v.spec.dtype).reshape(v.spec.shape) for f, v in zip(flat, graph.outputs, strict=True)]


MODES = {"loops": loops}
every_mode = pytest.mark.parametrize("mode", MODES)


def _families() -> list[tuple[Op, str, list[Case]]]:
    """Per op and dtype the cases that go into one program."""
    found = []
    for op in drawn_ops():
        cases = list(cases_of(op))
        for dtype in DTYPES:
            chosen = [c for c in cases if c.dtype == dtype]
            if dtype in ("float64", "complex128"):
                chosen += [small for c in chosen for size in (0, 1) for small in resized(c, size)]
            if chosen:
                found.append((op, dtype, chosen))
    return found


FAMILIES = _families()
names = [f"{op.name}-{dtype}" for op, dtype, _ in FAMILIES]


@every_mode
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize(("op", "dtype", "cases"), FAMILIES, ids=names)
def test_values(op: Op, dtype: str, cases: list[Case], order: int, mode: str):
    if order and not any(c.active for c in cases):
        return
    chosen = [c for c in cases if c.active] if order else cases
    graph = modes.program(chosen, order)
    if not graph.outputs:
        return
    arrays = modes.program_arguments(chosen, graph)
    modes.assert_same(graph, arrays, MODES[mode](graph, arrays), mode)
