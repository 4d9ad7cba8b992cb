"""Rows of loops: a loop that reads values of its body from arrays, or writes values of its body to arrays.

A valid loop in, a valid one out. Knows nothing of why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..core.dim import Size
from ..core.graph import Graph, Node, Value
from ..core.prune import prune
from ..core.spec import TensorSpec
from ..ops.regions import loop_parts


def reading(loop: Node, values: Mapping[Value, Value]) -> Node:
    """The loop with `values` of its body read from rows of the given arrays, instead of computed."""
    body: Graph = loop.attrs["body"]
    count, init, rows, captured = loop_parts(loop.inputs, loop.attrs)
    end = len(body.inputs) - len(captured)
    copy = Graph(body.name, guards=body.guards, finished=True)
    env = {v: copy.add_input(v.spec) for v in body.inputs[:end]}
    read = {v: copy.add_input(v.spec) for v in values}
    env.update((v, copy.add_input(v.spec)) for v in body.inputs[end:])
    for node in body.nodes:
        copy.add_copy(node, env)
        env.update((v, read[v]) for v in node.outputs if v in read)
    copy.outputs = [env[v] for v in body.outputs]
    attrs = {**loop.attrs, "rows": len(rows) + len(values), "body": prune(copy)}
    return Node(
        loop.op, (*count, *init, *rows, *values.values(), *captured), attrs, loop.outputs, loop.location
    )


def writing(loop: Node, body: Graph, values: Sequence[Value], graph: Graph) -> Node:
    """The loop of `graph` with another body, `values` of which are its further rows; takes the body over."""
    rows = rows_of(loop)
    body.outputs = [*body.outputs, *values]
    attrs = {**loop.attrs, "body": prune(body)}
    attrs.pop("kept", None)  # said that the last rows are the carries
    stacks = (graph.new_value(TensorSpec((rows, *v.spec.shape), v.spec.dtype)) for v in values)
    return Node(loop.op, loop.inputs, attrs, (*loop.outputs, *stacks), loop.location)


def rows_of(loop: Node) -> Size | None:
    """The number of rows a loop reads and writes; None where nothing says it."""
    if loop.attrs["length"] is not None:
        return loop.attrs["length"]
    rows = (*loop_parts(loop.inputs, loop.attrs)[2], *loop.outputs[loop.attrs["carries"] + 1 :])
    return rows[0].spec.shape[0] if rows else None
