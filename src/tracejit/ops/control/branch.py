"""The branch op: one of two graphs runs; closed under vjp and jvp by the graphs' own derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...core.autodiff.backprop import gradient_graph
from ...core.autodiff.pushforward import jvp_graph
from ...core.errors import require
from ...core.ir.graph import Graph
from ...core.op import Joint, defop
from ...core.spec import TensorSpec
from ...core.tensor import Tensor
from ...core.tracing.dispatch import Record
from ...core.tracing.forms import BranchForm
from ...core.tracing.prune import trim_cond
from ...core.tracing.trace import replay, trace
from ..lowering import Structure
from .batch_regions import batch_cond
from .kept_calls import given_what_is_kept, with_kept
from .regions import REGION, given, positions, run_graph, zeros_like


def _cond_kernel(*arrays: np.ndarray, **graphs: Graph) -> tuple[np.ndarray, ...]:
    branch = BranchForm(arrays, graphs)
    return run_graph(branch.then if branch.pred else branch.orelse, branch.consts)


def _cond_vjp(record: Record, gs: list[Any], needs: list[bool]) -> list[Any]:
    n, record = len(record.inputs), given_what_is_kept(record)
    needs = [*needs, *(False for _ in record.inputs[n:])]
    return _given_vjp(record, gs, needs)[:n]


def _given_vjp(record: Record, gs: list[Any], needs: list[bool]) -> list[Any]:
    branch = BranchForm(record.inputs, record.attrs)
    wanted = branch.split(needs)
    seeds = tuple(g is not None for g in gs)
    both = [gradient_graph(graph, tuple(wanted), seeds) for graph in branch.graphs]
    specs = [t.spec for t in branch.consts]
    chosen = positions(wanted)
    live = [any(flags[i] for _, flags in both) for i in range(len(chosen))]
    if not any(live):
        return [None] * len(needs)
    g_in = given(gs)

    def side(graph: Graph, flags: tuple[bool, ...]) -> Graph:
        def run(*args: Tensor) -> list[Tensor]:
            take = iter(replay(graph, args))
            gradients = [next(take) if f else None for f in flags]
            return [
                zeros_like(specs[k]) if g is None else g
                for k, g, on in zip(chosen, gradients, live, strict=True)
                if on
            ]

        return trace(run, [*specs, *(g.spec for g in g_in)], graph.name).graph

    then, orelse = (side(*pair) for pair in both)
    cotangents = iter(BranchForm.make(branch.pred, (*branch.consts, *g_in), then, orelse).apply())
    result: list[Any] = [None] * len(wanted)
    for k, on in zip(chosen, live, strict=True):
        result[k] = next(cotangents) if on else None
    return branch.per_input(result)


def _cond_jvp(record: Record, ts: list[Any]) -> list[Any]:
    n, record = len(record.inputs), given_what_is_kept(record)
    ts = [*ts, *(None for _ in record.inputs[n:])]
    branch = BranchForm(record.inputs, record.attrs)
    moving = branch.split(ts)
    both = [jvp_graph(graph, tuple(t is not None for t in moving)) for graph in branch.graphs]
    outs = len(record.outputs)
    live = [any(flags[i] for _, flags in both) for i in range(outs)]
    consts = (*branch.consts, *(t for t in moving if t is not None))

    def side(graph: Graph, flags: tuple[bool, ...]) -> Graph:
        def run(*args: Tensor) -> list[Tensor]:
            outputs = replay(graph, args)
            take = iter(outputs[outs:])
            given = [next(take) if f else None for f in flags]
            return [
                zeros_like(y) if t is None else t
                for y, t, on in zip(outputs[:outs], given, live, strict=True)
                if on
            ]

        return trace(run, [t.spec for t in consts], graph.name).graph

    if not any(live):
        return [None] * outs
    then, orelse = (side(*pair) for pair in both)
    tangents = iter(BranchForm.make(branch.pred, consts, then, orelse).apply())
    return [next(tangents) if on else None for on in live]


def _consts(inputs: Sequence[TensorSpec], attrs: Mapping[str, Any]) -> Sequence[TensorSpec]:
    return BranchForm(inputs, attrs).consts


def _branch_taken(record: Record, i: int) -> str:
    pred = BranchForm(record.inputs, record.attrs).pred
    return f"the branch taken, for {bool(pred.array)}, does not depend on the source"


@defop(
    vjp=Joint(_cond_vjp),
    jvp=_cond_jvp,
    vanishes_where=_branch_taken,
    kernel=_cond_kernel,
    lower=Structure("cond"),
    with_residuals=lambda inputs, attrs: with_kept(BranchForm, inputs, attrs),
    batch=batch_cond,
    region_specs={"then": _consts, "orelse": _consts},
    trim=trim_cond,
    traits=REGION,
)
def cond(pred: TensorSpec, *captured: TensorSpec, then: Graph, orelse: Graph) -> tuple[TensorSpec, ...]:
    """Run one of two graphs on the captured tensors, by a scalar bool."""
    require(pred.shape == () and pred.dtype == np.dtype(bool), f"the condition is a scalar bool, got {pred}")
    a, b = ([v.spec for v in g.outputs] for g in (then, orelse))
    require(a == b, f"the branches return {a} and {b}; they must agree in number, shape and dtype")
    return tuple(a)
