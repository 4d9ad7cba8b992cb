"""Partition: split a value-and-gradient graph into a forward that keeps values and a backward that reads them.

What to keep is a minimum cut with two costs per value: keeping it moves its bytes to memory and back, not
keeping it repeats its work in the backward. Matrix products, reductions, loops, calls and effects are never
repeated; views, casts and comparisons always are. Correctness does not depend on the choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..core.backprop import pull_back
from ..core.dim import Dim, evaluate
from ..core.graph import Graph, Node, Value
from ..core.tensor import Tensor
from ..core.trace import trace
from .mincut import FlowNetwork
from .prune import restricted
from .simplify import simplify

#: Cycles to write a byte and read it again, with several kernels between.
CYCLES_PER_BYTE = 0.25
#: Size assumed for an axis that is not known.
USUAL_SIZE = 1000
#: Cycles per element, where it is not 0.5.
CYCLES = {
    "divide": 2.0,
    "sqrt": 2.0,
    "exp": 4.0,
    "log": 5.0,
    "sin": 5.0,
    "cos": 5.0,
    "tanh": 5.0,
    "sigmoid": 5.0,
    "pow": 12.0,
    "erf": 6.0,
    "softplus": 10.0,
    "log1p": 5.0,
    "expm1": 5.0,
}
#: More values than this are kept without thinking about it.
LARGE = 6000


@dataclass(frozen=True)
class Partitioned:
    """A graph and its gradient in two parts.

    Attributes
    ----------
    forward : Graph
        ``xs -> (ys, kept)``.
    backward : Graph
        ``(kept, cotangents of the differentiable ys) -> cotangents of the connected inputs``.
    outputs : int
        Number of ys.
    connected : tuple of bool
        Per input, whether the backward returns its cotangent.
    """

    forward: Graph
    backward: Graph
    outputs: int
    connected: tuple[bool, ...]


def partition(graph: Graph) -> Partitioned:
    """Split `graph` and its reverse-mode gradient; remembered on the graph."""
    if "partitioned" not in graph.derived:
        graph.derived["partitioned"] = _partition(graph)
    return graph.derived["partitioned"]


def _partition(graph: Graph) -> Partitioned:
    joint, connected = joint_graph(graph)
    n, k = len(graph.inputs), len(graph.outputs)
    kept = values_to_keep(joint, n, k)
    forward = Graph(graph.name + "_forward", state=graph.state, guards=graph.guards, finished=True)
    env = {v: forward.add_input(v.spec) for v in joint.inputs[:n]}
    _copy(joint.nodes, forward, env, set(joint.inputs[n:]))
    forward.outputs = [*(env[v] for v in joint.outputs[:k]), *(env[v] for v in kept)]
    backward = Graph(graph.name + "_backward", guards=graph.guards, finished=True)
    env = {v: backward.add_input(v.spec) for v in (*kept, *joint.inputs[n:])}
    _copy(joint.nodes, backward, env, set())
    backward.outputs = [env[v] for v in joint.outputs[k:]]
    return Partitioned(
        restricted(forward, range(n), range(len(forward.outputs))),
        restricted(backward, range(len(backward.inputs)), range(len(backward.outputs))),
        k,
        connected,
    )


def _copy(nodes: Sequence[Node], target: Graph, env: dict[Value, Value], unavailable: set[Value]) -> None:
    """Copy the nodes whose inputs are there and whose outputs are not yet."""
    for node in nodes:
        if node.outputs[0] in env or any(v in unavailable or v not in env for v in node.inputs):
            unavailable.update(v for v in node.outputs if v not in env)
            continue
        kept = {v: env[v] for v in node.outputs if v in env}
        target.add_copy(node, env)
        env.update(kept)


def joint_graph(graph: Graph) -> tuple[Graph, tuple[bool, ...]]:
    """``(xs, cotangents) -> (ys, cotangents of the connected xs)``, simplified, and which xs are connected."""
    n = len(graph.inputs)
    able = [v.spec.differentiable for v in graph.inputs]
    connected: list[bool] = []

    def both(*args: Tensor) -> list[Tensor]:
        take = iter(args[n:])
        seeds = [next(take) if v.spec.differentiable else None for v in graph.outputs]
        ys, cotangents = pull_back(graph, args[:n], seeds, able)
        grads = iter(cotangents)
        found = [next(grads) if a else None for a in able]
        connected[:] = [g is not None for g in found]
        return [*ys, *(g for g in found if g is not None)]

    specs = [v.spec for v in graph.inputs] + [v.spec for v in graph.outputs if v.spec.differentiable]
    return simplify(trace(both, specs, graph.name).graph, final=False), tuple(connected)


def values_to_keep(joint: Graph, inputs: int, outputs: int) -> list[Value]:
    """The values the forward hands to the backward, in graph order."""
    late = set(joint.inputs[inputs:])
    early: list[Node] = []
    needed: set[Value] = set()
    for node in joint.nodes:
        if any(v in late for v in node.inputs):
            late.update(node.outputs)
            needed.update(v for v in node.inputs if v not in late)
        else:
            early.append(node)
    needed.update(v for v in joint.outputs[outputs:] if v not in late)
    order = [*joint.inputs[:inputs], *(v for n in early for v in n.outputs)]
    chosen = needed if len(order) > LARGE else _cut(joint.inputs[:inputs], early, needed)
    return [v for v in order if v in chosen]


def _cut(inputs: Sequence[Value], nodes: Sequence[Node], needed: set[Value]) -> set[Value]:
    """The cheapest set of values from which the backward can make what it needs."""
    number: dict[Value, int] = {}
    for v in (*inputs, *(v for n in nodes for v in n.outputs)):
        number[v] = len(number)
    source, sink = 2 * len(number), 2 * len(number) + 1
    net = FlowNetwork(2 * len(number) + 2)
    for v in inputs:
        net.add(source, 2 * number[v], float("inf"))
        net.add(2 * number[v], 2 * number[v] + 1, 1e-3 * (1 + _bytes(v)))  # inputs are there anyway
    for node in nodes:
        repeat = _repeat_cost(node)
        for v in node.outputs:
            net.add(source, 2 * number[v], repeat)
            net.add(2 * number[v], 2 * number[v] + 1, _keep_cost(node, v))
            for u in node.inputs:
                net.add(2 * number[u] + 1, 2 * number[v], float("inf"))
    for v in needed:
        net.add(2 * number[v] + 1, sink, float("inf"))
    before = net.source_side(source, sink)
    return {v for v, k in number.items() if 2 * k in before and 2 * k + 1 not in before}


def _keep_cost(node: Node, v: Value) -> float:
    """Views and literals are never kept: what they are views of is."""
    if "free" in node.op.traits or node.op.name in ("constant", "cast") or v.spec.dtype == np.dtype(bool):
        return float("inf") if "expensive" not in node.op.traits else _bytes(v) * CYCLES_PER_BYTE
    return _bytes(v) * CYCLES_PER_BYTE + 1.0


def _repeat_cost(node: Node) -> float:
    if node.op.runs_graphs or {"expensive", "effect"} & node.op.traits:
        return float("inf")
    if "free" in node.op.traits or node.op.name == "constant":
        return 0.0
    return CYCLES.get(node.op.name, 0.5) * sum(_elements(v) for v in node.outputs)


def _elements(v: Value) -> int:
    size = v.spec.size
    if not isinstance(size, Dim):
        return size
    return evaluate(size, {a.name: USUAL_SIZE for a in size.atoms()})


def _bytes(v: Value) -> int:
    return _elements(v) * v.spec.dtype.itemsize
