"""Which values a forward keeps: the cheapest set from which the backward can compute all it needs.

A minimum cut with two costs per value: keeping it moves its bytes to memory and back, not keeping it repeats its
work. Knows nothing of who keeps: a forward for its backward, or a loop for another loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ...core.dim import Dim, Size, evaluate
from ...core.ir.graph import Node, Value
from ...core.op import Op
from ...core.tracing.loop_form import LoopForm
from ...ops.lowering import Formula, Scalar
from ..loopir.scalar_ops import SCALAR_OPS
from .mincut import FlowNetwork

#: Cycles to write a byte and read it again, with several kernels between.
CYCLES_PER_BYTE = 0.25
#: Cycles per element of most ops.
CYCLES = 0.5
#: The same of a formula that iterates.
ITERATION_CYCLES = 500.0
#: Size assumed for an axis that is not known.
USUAL_SIZE = 1000


def values_to_keep(
    inputs: Mapping[Value, float],
    nodes: Sequence[Node],
    needed: set[Value],
    keep: Callable[[Node, Value], float],
    repeat: Callable[[Node], float],
) -> set[Value]:
    """The cheapest set of values from which all the `needed` can be made.

    Parameters
    ----------
    inputs : mapping
        What is there before the nodes run, and the cost of keeping it.
    nodes : sequence of Node
        What may be repeated, in an order it can run in.
    needed : set of Value
    keep, repeat : callable
        Costs in cycles: of keeping a value that a node makes, and of running a node again. Infinite is never.
    """
    number: dict[Value, int] = {}
    for v in (*inputs, *(v for n in nodes for v in n.outputs)):
        number[v] = len(number)
    source, sink = 2 * len(number), 2 * len(number) + 1
    net = FlowNetwork(2 * len(number) + 2)
    for v, cost in inputs.items():
        net.add(source, 2 * number[v], float("inf"))
        net.add(2 * number[v], 2 * number[v] + 1, cost)
    for node in nodes:
        again = repeat(node)
        for v in node.outputs:
            net.add(source, 2 * number[v], again)
            net.add(2 * number[v], 2 * number[v] + 1, keep(node, v))
            for u in node.inputs:
                net.add(2 * number[u] + 1, 2 * number[v], float("inf"))
    for v in needed:
        net.add(2 * number[v] + 1, sink, float("inf"))
    before = net.source_side(source, sink)
    return {v for v, k in number.items() if 2 * k in before and 2 * k + 1 not in before}


def may_keep(loop: LoopForm) -> bool:
    """May this loop write further rows, as far as its memory policy goes?"""
    return loop.memory == "save"


def held_cost(v: Value) -> float:
    """Of keeping what is there anyway: next to nothing, and less for less."""
    return 1e-3 * (1 + nbytes(v))


def keep_cost(node: Node, v: Value) -> float:
    """Views, literals and what is cheap are never kept: what they are made of is."""
    if node.op.traits & {"view", "cheap"} or v.spec.dtype == np.dtype(bool):
        return float("inf") if "expensive" not in node.op.traits else nbytes(v) * CYCLES_PER_BYTE
    return nbytes(v) * CYCLES_PER_BYTE + 1.0


def repeat_cost(node: Node) -> float:
    """Matrix products, reductions, loops, calls and effects are never repeated; views always."""
    if node.op.runs_graphs or {"expensive", "effect"} & node.op.traits:
        return float("inf")
    if "view" in node.op.traits:
        return 0.0
    return cycles(node.op) * sum(map(elements, node.outputs))


def cycles(op: Op) -> float:
    """About what an element costs: as the op's scalar operation, if it is one."""
    if isinstance(op.lower, Formula):
        return ITERATION_CYCLES
    scalar = SCALAR_OPS.get(op.lower.name) if isinstance(op.lower, Scalar) else None
    return CYCLES if scalar is None else scalar.cycles


def elements(v: Value) -> int:
    """The number of elements, with a guess for what is not known."""
    return usual(v.spec.size)


def nbytes(v: Value) -> int:
    """The number of bytes, with a guess for what is not known."""
    return elements(v) * v.spec.dtype.itemsize


def usual(size: Size) -> int:
    """A size, where every unknown axis has the usual one."""
    return evaluate(size, {a.name: USUAL_SIZE for a in size.atoms()}) if isinstance(size, Dim) else size
