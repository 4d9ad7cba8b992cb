"""Lost derivatives in graphs: where a value that carries a derivative is converted, and which results depend on it.

In a graph that is done by the op `number`, which stands for ``float(x)``. It ends the way of gradients, as it does
eagerly; transforms of functions ask here, and refuse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...core.errors import Location
from ...core.ir.graph import Graph, Node
from ...core.op import ops
from ...core.tracing.forms import BranchForm, CallForm, CustomForm
from ...core.tracing.loop_form import LoopForm, Results
from .recorder import carries


class Flow(NamedTuple):
    """Of a value: does a derivative flow through it, and where was a part of it lost."""

    carries: bool
    lost: Location | None


_NOTHING = Flow(False, None)


def graphs_of(attrs: Any) -> list[Graph]:
    """The graphs among the attributes of a call."""
    return [x for x in attrs.values() if isinstance(x, Graph)]


def takes_out(graph: Graph) -> bool:
    """Is there anything in the graph that takes values out of sight?"""
    graph = whole(graph)
    if "takes_out" not in graph.derived:
        graph.derived["takes_out"] = any(
            "takes_out" in node.op.traits or any(map(takes_out, graphs_of(node.attrs)))
            for node in graph.nodes
        )
    return graph.derived["takes_out"]


def whole(graph: Graph) -> Graph:
    """The graph as it was traced, of one that was split into a forward and a backward."""
    return graph.derived.get("whole", graph)


def flows(graph: Graph, inputs: Sequence[Flow]) -> list[Flow]:
    """What becomes of the results when the inputs are so."""
    graph = whole(graph)
    key = ("flows", tuple(inputs))
    if key not in graph.derived:
        by_value = dict(zip(graph.inputs, inputs, strict=True))
        for node in graph.nodes:
            given = [by_value.get(v, _NOTHING) for v in node.inputs]
            if any(f.carries or f.lost for f in given):
                outputs = call_flows(node, given)
                by_value.update(
                    {v: f for v, f in zip(node.outputs, outputs, strict=False) if f is not _NOTHING}
                )
        graph.derived[key] = [by_value.get(v, _NOTHING) for v in graph.outputs]
    return graph.derived[key]


def call_flows(node: Node | Any, given: list[Flow]) -> list[Flow]:
    """The same for one call, a node or a record."""
    count = len(node.outputs)
    if "takes_out" in node.op.traits:
        return [Flow(False, node.location)] if given[0].carries else [Flow(False, given[0].lost)]
    if node.op is ops.read:
        value, handle = given  # reading starts a new history
        return [Flow(handle.carries, value.lost)]
    if (call := CallForm.of(node)) is not None:
        return _padded(flows(call.graph, given), count)
    if (branch := BranchForm.of(node)) is not None:
        both = [flows(graph, branch.split(given)) for graph in branch.graphs]
        return [_either(a, b) for a, b in zip(*both, strict=True)]
    if (loop := LoopForm.of(node)) is not None:
        return _padded(_loop_flows(loop, given), count)
    joined = _joined(given)
    if (
        custom := CustomForm.of(node)
    ) is not None:  # its rule reads the residuals: what leaves comes back through it
        results, residuals = custom.split(flows(custom.body, given))
        return [*(joined for _ in results), *residuals]
    if joined.carries and joined.lost is None and any(map(takes_out, graphs_of(node.attrs))):
        joined = Flow(True, node.location)
    through = any(f.carries and carries(node, i) for i, f in enumerate(given))
    return [Flow(through and v.spec.differentiable, joined.lost) for v in node.outputs]


def _padded(results: list[Flow], count: int) -> list[Flow]:
    """A recorded call returns more than its graph did when it was traced."""
    return [*results, *[_joined(results)] * (count - len(results))]


def _loop_flows(loop: LoopForm, given: list[Flow]) -> list[Flow]:
    """A loop's carries are fed back until nothing changes."""
    parts = loop.split(given)
    while True:
        outputs = loop.split_rows(flows(loop.body, parts.of_body(_NOTHING)))
        after = [_either(a, b) for a, b in zip(parts.carry, outputs.carry, strict=True)]
        if after == list(parts.carry):
            return Results(after, _NOTHING, outputs.ys).of_loop()
        parts = parts._replace(carry=after)


def _either(a: Flow, b: Flow) -> Flow:
    return Flow(a.carries or b.carries, a.lost or b.lost)


def _joined(given: Sequence[Flow]) -> Flow:
    return Flow(any(f.carries for f in given), next((f.lost for f in given if f.lost is not None), None))
