"""The branch op: one of two graphs runs; closed under vjp and jvp by the graphs' own derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core.backprop import gradient_graph
from ..core.dispatch import Record, apply
from ..core.errors import require
from ..core.graph import Graph
from ..core.op import Joint, defop, ops
from ..core.prune import trim_cond
from ..core.pushforward import jvp_graph
from ..core.spec import TensorSpec
from ..core.tensor import Tensor
from ..core.trace import replay, trace
from .batch_regions import batch_cond
from .lowering import Structure
from .regions import REGION, given, positions, run_graph, zeros_like


def _cond_kernel(
    pred: np.ndarray, *captured: np.ndarray, then: Graph, orelse: Graph
) -> tuple[np.ndarray, ...]:
    return run_graph(then if pred else orelse, captured)


def _cond_vjp(record: Record, gs: list, needs: list[bool]) -> list:
    seeds = [g is not None for g in gs]
    wanted = tuple(needs[1:])
    both = [gradient_graph(record.attrs[k], wanted, tuple(seeds)) for k in ("then", "orelse")]
    specs = [t.spec for t in record.inputs[1:]]
    chosen = positions(wanted)
    live = [any(flags[i] for _, flags in both) for i in range(len(chosen))]
    if not any(live):
        return [None] * len(needs)
    g_in = given(gs)

    def branch(graph: Graph, flags: tuple[bool, ...]) -> Graph:
        def run(*args: Tensor) -> list[Tensor]:
            take = iter(replay(graph, args))
            found = [next(take) if f else None for f in flags]
            return [
                zeros_like(specs[k]) if g is None else g
                for k, g, on in zip(chosen, found, live, strict=True)
                if on
            ]

        return trace(run, [*specs, *(g.spec for g in g_in)], graph.name).graph

    regions = {k: branch(*pair) for k, pair in zip(("then", "orelse"), both, strict=True)}
    found = iter(apply(ops.cond, (*record.inputs, *g_in), regions))
    result: list[Any] = [None] * len(needs)
    for k, on in zip(chosen, live, strict=True):
        result[k + 1] = next(found) if on else None
    return result


def _cond_jvp(record: Record, ts: list) -> list:
    active = tuple(t is not None for t in ts[1:])
    both = [jvp_graph(record.attrs[k], active) for k in ("then", "orelse")]
    outs = len(record.outputs)
    live = [any(flags[i] for _, flags in both) for i in range(outs)]
    tangents = [t for t in ts[1:] if t is not None]
    specs = [t.spec for t in (*record.inputs[1:], *tangents)]

    def branch(graph: Graph, flags: tuple[bool, ...]) -> Graph:
        def run(*args: Tensor) -> list[Tensor]:
            found = replay(graph, args)
            take = iter(found[outs:])
            given = [next(take) if f else None for f in flags]
            return [
                zeros_like(y) if t is None else t
                for y, t, on in zip(found[:outs], given, live, strict=True)
                if on
            ]

        return trace(run, specs, graph.name).graph

    if not any(live):
        return [None] * outs
    regions = {k: branch(*pair) for k, pair in zip(("then", "orelse"), both, strict=True)}
    found = iter(apply(ops.cond, (*record.inputs, *tangents), regions))
    return [next(found) if on else None for on in live]


def _captured(inputs: Sequence[TensorSpec], attrs: Mapping[str, Any]) -> Sequence[TensorSpec]:
    return inputs[1:]


@defop(
    vjp=Joint(_cond_vjp),
    jvp=_cond_jvp,
    vanishes_where=lambda record, i: (
        f"the branch taken, for {bool(record.inputs[0].array)}, does not depend on the source"
    ),
    kernel=_cond_kernel,
    lower=Structure("cond"),
    batch=batch_cond,
    region_specs={"then": _captured, "orelse": _captured},
    trim=trim_cond,
    traits=REGION,
)
def cond(pred: TensorSpec, *captured: TensorSpec, then: Graph, orelse: Graph) -> tuple[TensorSpec, ...]:
    """Run one of two graphs on the captured tensors, by a scalar bool."""
    require(pred.shape == () and pred.dtype == np.dtype(bool), f"the condition is a scalar bool, got {pred}")
    a, b = ([v.spec for v in g.outputs] for g in (then, orelse))
    require(a == b, f"the branches return {a} and {b}; they must agree in number, shape and dtype")
    return tuple(a)
