"""Checkpointed functions: intermediate values are computed again in the backward, at any order.

The backward is a graph of the inputs and the cotangents. What it computes again must not be merged with what the
forward computed, so it starts from the inputs as they are once the cotangents are known.
"""

from __future__ import annotations

from typing import Any

from ...core.autodiff.backprop import gradient_graph
from ...core.autodiff.batching import Batch, Shared
from ...core.autodiff.pushforward import jvp_graph
from ...core.ir.graph import Graph
from ...core.op import Joint, defop, ops, sample
from ...core.spec import TensorSpec
from ...core.tensor import Tensor
from ...core.tracing.dispatch import Record
from ...core.tracing.forms import RecomputedForm
from ...core.tracing.trace import replay
from ..lowering import Expand, Nests
from .batch_regions import batch_recomputed
from .kept_calls import given_what_is_kept, with_kept
from .regions import REGION, given, inputs_of_op, run_graph


def _batch_late(batch: Batch, x: Tensor, after: Tensor) -> Any:
    y = ops.late(x, after)
    return y if batch.flags[0] else Shared(y)


@defop(
    vjp=(lambda g, y, x, after: g, None),
    jvp=lambda record, ts: [ts[0]],
    kernel=lambda x, after: x,
    lower=Nests(lambda b, out, x, after: b.copied(x)),
    batch=_batch_late,
    samples=(sample((2, 3), (2,), complex=True), sample((), (3, 1))),
)
def late(x: TensorSpec, after: TensorSpec) -> TensorSpec:
    """`x`, not before `after` is known: what is computed from it is not what was computed before from `x`."""
    return x


def _vjp(record: Record, gs: list[Any], needs: list[bool]) -> list[Any]:
    seeds = given(gs)
    n, record = len(record.inputs), given_what_is_kept(record)
    needs = [*needs, *(False for _ in record.inputs[n:])]
    form = RecomputedForm(record.inputs, record.attrs)
    graph, connected = gradient_graph(form.graph, tuple(needs), tuple(g is not None for g in gs))
    if not any(connected):
        return [None] * n
    inputs = [ops.late(x, seeds[0]) for x in form.inputs]
    gradients = iter(RecomputedForm.make((*inputs, *seeds), graph).apply())
    flags = iter(connected)
    return [next(gradients) if need and next(flags) else None for need in needs[:n]]


def _jvp(record: Record, ts: list[Any]) -> list[Any]:
    n, record = len(record.inputs), given_what_is_kept(record)
    ts = [*ts, *(None for _ in record.inputs[n:])]
    form = RecomputedForm(record.inputs, record.attrs)
    graph, connected = jvp_graph(form.graph, tuple(t is not None for t in ts))
    outputs = RecomputedForm.make((*form.inputs, *(t for t in ts if t is not None)), graph).apply()
    take = iter(outputs[len(record.outputs) :])
    return [next(take) if c else None for c in connected]


def _in_place(*inputs: Any, **attrs: Any) -> Any:
    return replay(RecomputedForm(inputs, attrs).graph, inputs)


@defop(
    vjp=Joint(_vjp),
    jvp=_jvp,
    kernel=lambda *xs, **attrs: run_graph(RecomputedForm(xs, attrs).graph, xs),
    lower=Expand(_in_place),
    with_residuals=lambda inputs, attrs: with_kept(RecomputedForm, inputs, attrs),
    batch=batch_recomputed,
    region_specs={"graph": inputs_of_op},
    traits=(*REGION, "polls"),
)
def recomputed(*inputs: TensorSpec, graph: Graph) -> tuple[TensorSpec, ...]:
    """Run a graph; its backward runs it again."""
    return tuple(v.spec for v in graph.outputs)
