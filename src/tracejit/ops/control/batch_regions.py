"""Batch rules of branches, calls and functions with their own gradient, and how lanes that sit out are kept harmless.

Where lanes decide differently each side runs for all of them and the results are selected. What a lane that sits out
would compute must not matter: not its NaN, not in a gradient, and it must neither fail nor run forever. So such
a lane is given the values of one that takes part (or, in graphs where nothing can happen, its own), through
which no gradient flows; a graph that must not run for nobody is put into a branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...core.autodiff.batching import Batch, Shared, batch_graph, batch_replay, closed, is_total, lane_specs
from ...core.errors import TracejitError, at
from ...core.ir.graph import Graph, walk
from ...core.op import ops
from ...core.tensor import Tensor
from ...core.tracing.forms import BranchForm, CallForm, CustomForm, RecomputedForm
from ...core.tracing.trace import replay
from ..batch import any_of


def per_lane(flags: Tensor, rank: int) -> Tensor:
    """A bool per lane so that it broadcasts against lanes of this rank, the lanes' axis included."""
    return flags if rank == 1 else ops.reshape(flags, shape=(flags.shape[0], *(1,) * (rank - 1)))


def select(flags: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Lane by lane `a` or `b`."""
    return ops.where(per_lane(flags, len(a.shape)), a, b)


def harmless(graph: Graph, flags: Sequence[bool]) -> bool:
    """May lanes that sit out run the graph on values of their own?

    Yes where it takes any values and no gradient of theirs is summed into that of an input all lanes share.
    """
    used = {v for n in graph.nodes for v in n.inputs} | set(graph.outputs)
    shared = [v for v, f in zip(graph.inputs, flags, strict=True) if not f and v in used]
    return is_total(graph) and not any(v.spec.differentiable for v in shared)


def without_effects(graph: Graph) -> Graph:
    """The graph, which lanes that sit out run too: nothing in it may be seen from outside."""
    for _, node in walk(graph):
        if "effect" in node.op.traits and node.op.batch is None:
            raise TracejitError(
                f"vmap: {node.op} stands in a loop or branch that not all examples go through, which is run for all "
                f"of them: move it outside{at(node.location)}"
            )
    return graph


def sat_out(active: Tensor, tensors: Sequence[Tensor], flags: Sequence[bool], own: bool) -> list[Tensor]:
    """The inputs of a graph that only the `active` lanes take part in.

    The others get their `own` values, else those of the first active lane; no gradient flows back through them.
    """
    nobody = isinstance(active.shape[0], int) and active.shape[0] == 0
    first = None if own or nobody else ops.argmax(ops.cast(active, dtype=np.dtype(np.int32)), axis=0)
    return [_sat_out(active, x, first) if f else x for x, f in zip(tensors, flags, strict=True)]


def _sat_out(active: Tensor, x: Tensor, first: Tensor | None) -> Tensor:
    if first is None:
        return select(active, x, ops.stop_gradient(x)) if x.spec.differentiable else x
    return ops.where(per_lane(active, len(x.shape)), x, ops.stop_gradient(ops.gather(x, first, axis=0)))


# ---- branches -------------------------------------------------------------------------------------------


def batch_cond(batch: Batch, *inputs: Tensor, **attrs: Any) -> tuple[Any, ...]:
    """A branch with other inputs where all lanes go the same way, else both branches and a selection."""
    branch = BranchForm(inputs, attrs)
    flags = branch.split(batch.flags)
    if batch.flags[0]:
        a = _taken(batch, branch.then, branch.pred, branch.consts)
        b = _taken(batch, branch.orelse, ops.logical_not(branch.pred), branch.consts)
        return tuple([select(branch.pred, x, y) for x, y in zip(a, b, strict=True)])
    both = [batch_graph(g, flags, batch.size)[1] for g in branch.graphs]
    lanes = [a or b for a, b in zip(*both, strict=True)]
    then, orelse = (batch_graph(g, flags, batch.size, lanes)[0] for g in branch.graphs)
    outputs = branch.replace(then=then, orelse=orelse).apply()
    return tuple([y if f else Shared(y) for y, f in zip(outputs, lanes, strict=True)])


def _taken(batch: Batch, graph: Graph, active: Tensor, captured: Sequence[Tensor]) -> Sequence[Tensor]:
    """What a branch returns in the lanes that take it, and anything in the others."""
    flags = batch.flags[1:]
    everywhere, _ = batch_graph(without_effects(graph), flags, batch.size, [True] * len(graph.outputs))
    if harmless(graph, flags):
        return replay(everywhere, sat_out(active, captured, flags, True))

    def run(active: Tensor, *captured: Tensor) -> Sequence[Tensor]:
        return replay(everywhere, sat_out(active, captured, flags, False))

    def skip(active: Tensor, *captured: Tensor) -> list[Tensor]:
        return [ops.fill(shape=v.spec.shape, value=0, dtype=v.spec.dtype) for v in everywhere.outputs]

    specs = [x.spec for x in (active, *captured)]
    regions = closed(run, specs, graph.name), closed(skip, specs, f"no_{graph.name}")
    return BranchForm.make(any_of(active), (active, *captured), *regions).apply()


# ---- calls ----------------------------------------------------------------------------------------------


def batch_call(batch: Batch, *inputs: Tensor, **attrs: Any) -> tuple[Any, ...]:
    """The call of the graph for all lanes; its derivatives are found anew."""
    graph, lanes = batch_graph(CallForm(inputs, attrs).graph, batch.flags, batch.size)
    outputs = CallForm.make(inputs, graph).apply()
    return tuple([y if f else Shared(y) for y, f in zip(outputs, lanes, strict=False)])


def batch_recomputed(batch: Batch, *inputs: Tensor, **attrs: Any) -> tuple[Any, ...]:
    """The graph for all lanes, computed again in the backward as well."""
    graph, lanes = batch_graph(RecomputedForm(inputs, attrs).graph, batch.flags, batch.size)
    outputs = RecomputedForm.make(inputs, graph).apply()
    return tuple([y if f else Shared(y) for y, f in zip(outputs, lanes, strict=True)])


def batch_custom(batch: Batch, *inputs: Tensor, **attrs: Any) -> tuple[Any, ...]:
    """Body and rule for all lanes: every result has lanes, so that its cotangent is one per lane.

    Where the rule calls the function itself all inputs have them too, here and there.
    """
    custom = CustomForm(inputs, attrs)
    body, rule, itself = custom.body, custom.rule, custom.level is not None
    if itself:
        custom = custom.replace(inputs=batch.all_spread(inputs))
        batch = replace(batch, flags=(True,) * len(inputs))
    results, residuals = custom.split(body.outputs)
    forced = [*(True for _ in results), *(itself for _ in residuals)]
    everywhere, lanes = batch_graph(body, batch.flags, batch.size, forced)
    targets = [(v.spec, f) for v, f, c in zip(body.inputs, batch.flags, custom.connected, strict=True) if c]
    given = [*custom.split(lanes)[1], *(True for v in results if v.spec.differentiable)]

    def pull(*args: Tensor) -> list[Tensor]:
        cotangents, has = batch_replay(rule, args, given, batch.size)
        spread = [g if h else batch.spread(g) for g, h in zip(cotangents, has, strict=True)]
        return [
            g if own else ops.reduce_sum(g, axis=(0,)) for g, (_, own) in zip(spread, targets, strict=True)
        ]

    pairs = zip(rule.inputs, given, strict=True)
    specs = [lane_specs(v.spec, batch.size) if f else v.spec for v, f in pairs]
    outputs = custom.replace(body=everywhere, rule=closed(pull, specs, rule.name)).apply()
    return tuple([y if f else Shared(y) for y, f in zip(outputs, lanes, strict=True)])
