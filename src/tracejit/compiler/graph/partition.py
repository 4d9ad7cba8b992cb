"""Partition: split a value-and-gradient graph into a forward that keeps values and a backward that reads them.

What to keep is a minimum cut, see ``rematerialize``. Correctness does not depend on the choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from ...core import settings
from ...core.autodiff.backprop import pull_back, seed_specs
from ...core.dataclass import dataclass
from ...core.dim import Dim
from ...core.ir.graph import Graph, Node, Value, binding_rows, node_again, note_sizes, silent
from ...core.tensor import Tensor
from ...core.tracing.prune import prune
from ...core.tracing.trace import trace
from ...ops.control.kept_calls import given_by_calls
from .passes import LOOP_PASSES
from .recurring_graphs import cached_for_equal
from .rematerialize import held_cost, keep_cost, repeat_cost, values_to_keep
from .roll import roll
from .simplify import simplify

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
    """Split `graph` and its reverse-mode gradient; remembered on the graph, and for equal ones that are met again."""
    key = ("partitioned", settings.current().fastmath)
    if key not in graph.derived:
        graph.derived[key] = cached_for_equal(graph, _partition)
    return graph.derived[key]


def _partition(graph: Graph) -> Partitioned:
    joint, connected = joint_graph(graph)
    n, k = len(graph.inputs), len(graph.outputs)
    kept = [*kept_values(joint, n, k)]
    kept += [v for v in given_by_calls(joint) if v not in kept and v not in joint.outputs[:k]]
    backward = _backward(joint, kept, n, k)
    telling = sizes_to_keep(joint, backward, kept, n)
    if telling:
        kept = [*kept, *telling]
        backward = _backward(joint, kept, n, k)
    forward = Graph(graph.name + "_forward", guards=graph.guards, finished=True)
    env = {v: forward.add_input(v.spec) for v in joint.inputs[:n]}
    _copy(joint.nodes, forward, env, set(joint.inputs[n:]))
    forward.outputs = [*(env[v] for v in joint.outputs[:k]), *(env[v] for v in kept)]
    backward.name, backward.guards = graph.name + "_backward", graph.guards
    return Partitioned(prune(forward), backward, k, connected)


def _backward(joint: Graph, kept: Sequence[Value], inputs: int, outputs: int) -> Graph:
    """What gives the cotangents, from what is kept and the cotangents of the results."""
    backward = Graph(joint.name, finished=True)
    env = {v: backward.add_input(v.spec) for v in (*kept, *joint.inputs[inputs:])}
    late = _late(joint, inputs)  # the forward runs the others
    nodes = [node_again(node) if late.isdisjoint(node.inputs) else node for node in joint.nodes]
    _copy(nodes, backward, env, set())
    backward.outputs = [env[v] for v in joint.outputs[outputs:]]
    return prune(silent(backward))


def _copy(nodes: Sequence[Node], target: Graph, env: dict[Value, Value], unavailable: set[Value]) -> None:
    """Copy the nodes whose inputs are there and whose outputs are not yet; what only has an effect has none."""
    for node in nodes:
        done = bool(node.outputs) and node.outputs[0] in env
        if done or any(v in unavailable or v not in env for v in node.inputs):
            unavailable.update(v for v in node.outputs if v not in env)
            continue
        kept = {v: env[v] for v in node.outputs if v in env}
        target.add_copy(node, env)
        env.update(kept)


def joint_graph(graph: Graph) -> tuple[Graph, tuple[bool, ...]]:
    """``(xs, cotangents) -> (ys, cotangents of the connected xs)``, simplified, and which xs are connected.

    What repeats in a long one is a loop before it is split: what the backward reads of all rounds is one stack then.
    """
    n = len(graph.inputs)
    able = [v.spec.differentiable for v in graph.inputs]
    connected: list[bool] = []

    def both(*args: Tensor) -> list[Tensor]:
        take = iter(args[n:])
        seeds = [next(take) if v.spec.differentiable else None for v in graph.outputs]
        ys, cotangents = pull_back(graph, args[:n], seeds, able, first=True)
        grads = iter(cotangents)
        per_input = [next(grads) if a else None for a in able]
        connected[:] = [g is not None for g in per_input]
        return [*ys, *(g for g in per_input if g is not None)]

    seeded = [v.spec.differentiable for v in graph.outputs]
    specs = [*(v.spec for v in graph.inputs), *seed_specs(graph, seeded)]
    joint = roll(simplify(trace(both, specs, graph.name).graph, final=False))
    for _, run in LOOP_PASSES:
        joint = run(joint)
    return joint, tuple(connected)


def kept_values(joint: Graph, inputs: int, outputs: int) -> list[Value]:
    """The values the forward hands to the backward, in graph order."""
    late = _late(joint, inputs)
    waiting = [node for node in joint.nodes if not late.isdisjoint(node.inputs)]
    needed = {v for node in waiting for v in node.inputs if v not in late}
    needed.update(v for v in joint.outputs[outputs:] if v not in late)
    order = [*joint.inputs[:inputs], *_early(joint, late)]
    if len(order) <= LARGE:
        early = [node for node in joint.nodes if late.isdisjoint(node.inputs)]
        held = {v: held_cost(v) for v in joint.inputs[:inputs]}
        needed = values_to_keep(held, early, needed, keep_cost, repeat_cost)
    return [v for v in order if v in needed]


def sizes_to_keep(joint: Graph, backward: Graph, kept: Sequence[Value], inputs: int) -> list[Value]:
    """Values whose shapes tell the backward the sizes that it mentions, and that nothing it is given or runs tells."""
    wanted: set[str] = set()
    note_sizes(backward, wanted)
    for v in chain(backward.inputs, *map(binding_rows, backward.nodes)):
        wanted -= _sizes_told(v)
    telling: list[Value] = []
    candidates = [*joint.inputs[:inputs], *_early(joint, _late(joint, inputs))] if wanted else []
    for v in sorted(candidates, key=lambda v: len(v.spec.shape)):
        if not wanted.isdisjoint(_sizes_told(v)):
            telling.append(v)
            wanted -= _sizes_told(v)
    return telling


def _late(joint: Graph, inputs: int) -> set[Value]:
    """The values that depend on cotangents."""
    late = set(joint.inputs[inputs:])
    for node in joint.nodes:
        if not late.isdisjoint(node.inputs):
            late.update(node.outputs)
    return late


def _early(joint: Graph, late: set[Value]) -> list[Value]:
    """The results of nodes that no cotangent goes into."""
    return [v for node in joint.nodes if late.isdisjoint(node.inputs) for v in node.outputs]


def _sizes_told(value: Value) -> set[str]:
    """The sizes that an array's shape has as they are."""
    atoms = [size.atom for size in value.spec.shape if isinstance(size, Dim)]
    return {a.name for a in atoms if a is not None}
