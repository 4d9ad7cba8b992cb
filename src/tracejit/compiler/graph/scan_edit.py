"""Edits of loops: reading values of the body from arrays (xs), or writing them to arrays (ys).

A valid loop in, a valid one out. Knows nothing of why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...core.ir.graph import Graph, Value
from ...core.spec import TensorSpec
from ...core.tracing.loop_form import LoopForm
from ...core.tracing.prune import prune


def reading(loop: LoopForm, values: Mapping[Value, Value]) -> LoopForm:
    """The loop with `values` of its body read from rows of the given arrays, instead of computed."""
    body = loop.body
    copy = Graph(body.name, guards=body.guards, finished=True)
    env = {v: copy.add_input(v.spec) for v in (loop.index_in, *loop.carry_in, *loop.xs_in)}
    read = {v: copy.add_input(v.spec) for v in values}
    env.update((v, copy.add_input(v.spec)) for v in loop.consts_in)
    for node in body.nodes:
        copy.add_copy(node, env)
        env.update((v, read[v]) for v in node.outputs if v in read)
    copy.outputs = [env[v] for v in body.outputs]
    return loop.replace(xs=(*loop.xs, *values.values()), body=prune(copy))


def writing(loop: LoopForm, body: Graph, values: Sequence[Value], graph: Graph) -> LoopForm:
    """The loop of `graph` with another body, `values` of which are its further rows; takes the body over."""
    rows = loop.rows
    body.outputs = [*body.outputs, *values]
    stacks = (graph.new_value(TensorSpec((rows, *v.spec.shape), v.spec.dtype)) for v in values)
    return loop.replace(body=prune(body), keeps_carries=False, outputs=(*loop.outputs, *stacks))
