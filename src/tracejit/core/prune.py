"""Dead code: nodes nothing needs, and of loops and branches the carries, rows, captures and results nothing needs.

A loop keeps a carry only if its last value, a live row, or the condition depends on it. Works backwards, once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .graph import (
    Graph,
    Node,
    Value,
    binding_rows,
    has_effect,
    mentions,
    needed_inputs,
    note_node_sizes,
    note_sizes,
    restricted,
)


def prune(graph: Graph) -> Graph:
    """Drop what the outputs do not depend on, in place; returns the graph."""
    live = set(graph.outputs)
    symbolic = any(v.spec.symbolic for node in graph.nodes for v in node.outputs)
    sizes: set[str] = set()
    for v in graph.outputs:
        note_sizes(v.spec, sizes)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        rows = binding_rows(node) if symbolic else ()
        if rows and mentions(rows[0].spec, sizes) and not any(v in live for v in rows):
            live.add(min(rows, key=lambda v: len(v.spec.shape)))  # a row must stay, for its number is a size
        if not any(v in live for v in node.outputs) and not has_effect(node):
            continue
        trimmed = node if node.op.trim is None else node.op.trim(node, live)
        live.update(trimmed.inputs)
        if symbolic:
            note_node_sizes(trimmed, sizes)
        kept.append(trimmed)
    graph.nodes = kept[::-1]
    return graph


def settled(graph: Graph) -> Graph:
    """A copy without what nothing needs, at any depth: an input that it uses is one that its results depend on."""
    if "settled" not in graph.derived:
        graph.derived["settled"] = _settled(graph)
    return graph.derived["settled"]


def _settled(graph: Graph) -> Graph:
    """Outside in to know what of a region is needed, inside out to know what a region needs, until nothing goes."""
    copy = prune(restricted(graph, range(len(graph.inputs)), range(len(graph.outputs))))
    while True:
        before = sum(len(node.inputs) for node in copy.nodes)
        for node in copy.nodes:
            if node.op.trim is not None:
                node.attrs = {k: settled(v) if isinstance(v, Graph) else v for k, v in node.attrs.items()}
        if sum(len(node.inputs) for node in prune(copy).nodes) == before:
            return copy


def trim_loop(node: Node, live: set[Value]) -> Node:
    """A loop with the carries, rows, captures and stacks that the live values depend on."""
    attrs, body = node.attrs, node.attrs["body"]
    c, m, counted = attrs["carries"], attrs["rows"], int(attrs["counted"])
    ys = [k for k in range(len(body.outputs) - c) if node.outputs[c + 1 + k] in live]
    cond = attrs["cond"]
    tested = set() if cond is None else needed_inputs(cond, cond.outputs)
    carries = {
        k for k in range(c) if node.outputs[k] in live or (cond is not None and cond.inputs[k] in tested)
    }
    while True:
        used = needed_inputs(body, [*(body.outputs[k] for k in carries), *(body.outputs[c + k] for k in ys)])
        grown = carries | {k for k in range(c) if body.inputs[1 + k] in used}
        if grown == carries:
            break
        carries = grown
    rows = [k for k in range(m) if body.inputs[1 + c + k] in used]
    captured = [
        k
        for k in range(len(body.inputs) - 1 - c - m)
        if body.inputs[1 + c + m + k] in used or (cond is not None and cond.inputs[c + k] in tested)
    ]
    if (
        len(carries) == c
        and len(rows) == m
        and 1 + c + m + len(captured) == len(body.inputs)
        and (len(ys) == len(body.outputs) - c)
    ):
        return node
    if not rows and m and attrs["length"] is None and not counted and cond is None:
        rows = [0]
    return _loop_of(node, sorted(carries), rows, captured, ys)


def _loop_of(node: Node, carries: list[int], rows: list[int], captured: list[int], ys: list[int]) -> Node:
    """The loop with only the given parts."""
    attrs, body = node.attrs, node.attrs["body"]
    c, m, counted = attrs["carries"], attrs["rows"], int(attrs["counted"])
    inputs = [0, *(1 + k for k in carries), *(1 + c + k for k in rows), *(1 + c + m + k for k in captured)]
    new: dict[str, Any] = {
        **attrs,
        "carries": len(carries),
        "rows": len(rows),
        "body": restricted(body, inputs, [*carries, *(c + k for k in ys)]),
    }
    new.pop(
        "kept", None
    )  # said that the last ys are all the carries: differentiating it again adds them anew
    if attrs["cond"] is not None:
        new["cond"] = restricted(attrs["cond"], [*carries, *(c + k for k in captured)], [0])
    operands = (
        *node.inputs[:counted],
        *(node.inputs[counted + k] for k in carries),
        *(node.inputs[counted + c + k] for k in rows),
        *(node.inputs[counted + c + m + k] for k in captured),
    )
    outputs = (*(node.outputs[k] for k in carries), node.outputs[c], *(node.outputs[c + 1 + k] for k in ys))
    return Node(node.op, operands, new, outputs, node.location)


def trim_cond(node: Node, live: set[Value]) -> Node:
    """A branch with the results that are live and the captures these depend on."""
    then, orelse = node.attrs["then"], node.attrs["orelse"]
    outputs = [k for k, v in enumerate(node.outputs) if v in live]
    used = [needed_inputs(g, [g.outputs[k] for k in outputs]) for g in (then, orelse)]
    captured = [
        k for k in range(len(then.inputs)) if then.inputs[k] in used[0] or orelse.inputs[k] in used[1]
    ]
    if len(outputs) == len(node.outputs) and len(captured) == len(then.inputs):
        return node
    attrs: Mapping[str, Any] = {
        "then": restricted(then, captured, outputs),
        "orelse": restricted(orelse, captured, outputs),
    }
    operands = (node.inputs[0], *(node.inputs[1 + k] for k in captured))
    return Node(node.op, operands, attrs, tuple(node.outputs[k] for k in outputs), node.location)
