"""Dead code elimination in graphs: unused nodes, and unused carries, rows, captures and results of loops and branches.

A loop keeps a carry only if its last value, a live row, or the condition depends on it. Works backwards, once.
"""

from __future__ import annotations

from ..ir.graph import (
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
from .forms import BranchForm
from .loop_form import LoopForm


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
    """A loop with the carries, xs, consts and ys that the live values depend on."""
    loop = LoopForm(node.inputs, node.attrs, node.outputs)
    ys = [k for k, v in enumerate(loop.ys) if v in live]
    tested = set() if loop.cond is None else needed_inputs(loop.cond, loop.cond.outputs)
    carry = {k for k, v in enumerate(loop.final) if v in live}
    carry |= {k for k, v in enumerate(loop.cond_carry_in) if v in tested}
    carry_in, carry_out, ys_out = loop.carry_in, loop.carry_out, loop.ys_out
    while True:
        used = needed_inputs(loop.body, [*(carry_out[k] for k in carry), *(ys_out[k] for k in ys)])
        grown = carry | {k for k, v in enumerate(carry_in) if v in used}
        if grown == carry:
            break
        carry = grown
    xs = [k for k, v in enumerate(loop.xs_in) if v in used]
    in_test = {k for k, v in enumerate(loop.cond_consts_in) if v in tested}
    consts = [k for k, v in enumerate(loop.consts_in) if v in used or k in in_test]
    parts = (carry, xs, consts, ys)
    if [len(p) for p in parts] == [len(loop.init), len(loop.xs), len(loop.consts), len(loop.ys)]:
        return node
    if not xs and loop.xs and loop.length is None and loop.count is None and loop.cond is None:
        xs = [0]  # which says how often it runs
    return loop.restricted(sorted(carry), xs, consts, ys).node(node.location)


def trim_cond(node: Node, live: set[Value]) -> Node:
    """A branch with the results that are live and the consts these depend on."""
    branch = BranchForm(node.inputs, node.attrs, node.outputs)
    outputs = [k for k, v in enumerate(node.outputs) if v in live]
    used = [needed_inputs(g, [g.outputs[k] for k in outputs]) for g in branch.graphs]
    pairs = enumerate(zip(branch.then.inputs, branch.orelse.inputs, strict=True))
    consts = [k for k, (a, b) in pairs if a in used[0] or b in used[1]]
    if len(outputs) == len(node.outputs) and len(consts) == len(branch.consts):
        return node
    return branch.restricted(consts, outputs).node(node.location)
