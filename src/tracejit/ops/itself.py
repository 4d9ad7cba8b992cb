"""Functions with a rule of their own for derivatives, whose rule calls the function itself.

Such a rule holds `own_value` in place of the function. Each time the rule is used it is opened: the function with
its rule takes that place, so that graphs stay finite and every order of differentiation opens one more. Rules lie
inside of each other where functions call each other; the `level` says whose value is meant, 0 being the outermost.
Knows nothing of what kinds of rules there are, nor of how users state them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ..core.batching import Batch, batch_graph
from ..core.dispatch import Record, apply
from ..core.errors import GradientError, at
from ..core.graph import Graph, Node, Value
from ..core.op import Joint, Op, defop, ops
from ..core.spec import TensorSpec
from ..core.tensor import Tensor
from ..core.trace import replay
from .lowering import Expand
from .regions import REGION, inputs_of_op, run_graph

#: The level of a call that cannot be given its rule any more: it has a value and no derivative.
CLOSED = -1


def everywhere(graph: Graph, batch: Batch) -> Graph:
    """The graph for all lanes, every input and output with lanes."""
    return batch_graph(graph, [True] * len(graph.inputs), batch.size, [True] * len(graph.outputs))[0]


def _not_itself(record: Record, *rest: Any) -> list:
    raise GradientError(
        f"{record.attrs['body'].name} is called by the rule of its own derivative inside of a loop or a branch, and "
        f"differentiated again there: call it outside{at(record.location)}"
    )


def _batch(batch: Batch, *inputs: Tensor, body: Graph, **attrs: Any) -> tuple[Tensor, ...]:
    return apply(ops.own_value, tuple(batch.all_spread(inputs)), {"body": everywhere(body, batch), **attrs})


@defop(
    vjp=Joint(_not_itself),
    jvp=_not_itself,
    kernel=lambda *arrays, body, level, arguments: run_graph(body, arrays),
    lower=Expand(lambda *tensors, body, level, arguments: replay(body, tensors)),
    batch=_batch,
    region_specs={"body": inputs_of_op},
    traits=(*REGION, "polls"),
)
def own_value(*inputs: TensorSpec, body: Graph, level: int, arguments: int) -> tuple[TensorSpec, ...]:
    """``body(inputs)``, in a rule of the function that this is: `arguments` inputs, then what it captures."""
    return tuple(v.spec for v in body.outputs)


def opened(
    op: Op, attrs: Mapping[str, Any], rule: Graph, held: Sequence[Value], linear: Collection[Value] = ()
) -> Graph:
    """The rule with the function in it where it calls itself.

    Parameters
    ----------
    op, attrs
        The function with its rule.
    held : sequence of Value
        The inputs of the rule that are what the function captures.
    linear : collection of Value
        Inputs of the rule in which it is linear, about to be transposed: where the function is called with what
        depends on them it is linear itself, and its body is transposed, as its rule would call the function again.
    """
    if "level" not in attrs:
        return rule
    key = ("opened", bool(linear))
    if key not in rule.derived:
        rule.derived[key] = _Opening(op, attrs, set(linear)).opened(rule, held)
    return rule.derived[key]


class _Opening:
    """One rule being copied."""

    def __init__(self, op: Op, attrs: Mapping[str, Any], linear: set[Value]):
        self.op, self.attrs, self.linear = op, attrs, linear

    def opened(self, graph: Graph, held: Sequence[Value] | None) -> Graph:
        copy = Graph(graph.name, state=graph.state, guards=graph.guards, finished=True)
        env = {v: copy.add_input(v.spec) for v in graph.inputs}
        for node in graph.nodes:
            depends = not self.linear.isdisjoint(node.inputs)
            if depends:
                self.linear.update(node.outputs)
            if self._is_itself(node):
                self._itself(node, copy, env, held, depends)
            else:
                attrs = {
                    k: self._region(node, v) if v.__class__ is Graph else v for k, v in node.attrs.items()
                }
                inputs, specs = tuple([env[v] for v in node.inputs]), tuple([v.spec for v in node.outputs])
                found = copy.add(node.op, inputs, attrs, specs, node.location)
                env.update(zip(node.outputs, found, strict=True))
        copy.outputs = [env[v] for v in graph.outputs]
        return copy

    def _is_itself(self, node: Node) -> bool:
        return node.op is ops.own_value and node.attrs["level"] == self.attrs["level"]

    def _itself(
        self, node: Node, copy: Graph, env: dict[Value, Value], held: Sequence[Value] | None, depends: bool
    ) -> None:
        """Put the function where the rule calls it."""
        own = tuple([env[v] for v in node.inputs])
        if held is not None and depends:
            body = node.attrs["body"]
            inner = dict(zip(body.inputs, own, strict=True))
            for n in body.nodes:
                copy.add_copy(n, inner)
            env.update(zip(node.outputs, [inner[v] for v in body.outputs], strict=True))
            return
        if held is not None:
            own = (*own[: node.attrs["arguments"]], *(env[v] for v in held))
        op, attrs = self.op, self.attrs
        if depends or len(own) != len(attrs["body"].inputs):
            op, attrs = node.op, {**node.attrs, "level": CLOSED}
        specs = tuple([v.spec for v in attrs["body"].outputs])
        found = copy.add(op, own, attrs, specs, node.location)
        env.update(zip(node.outputs, found, strict=False))  # with its rule it returns what that keeps besides

    def _region(self, node: Node, graph: Graph) -> Graph:
        """A graph inside of the rule: another function's rule may call the function as well."""
        if node.attrs.get("level") == self.attrs["level"] or not self._mentioned(graph):
            return graph
        if not self.linear.isdisjoint(node.inputs):
            skipped = 1 if node.op is ops.cond else 0
            fits = node.op in (ops.cond, ops.call, ops.recomputed)
            pairs = enumerate(graph.inputs, skipped)
            self.linear.update(v for k, v in pairs if not fits or node.inputs[k] in self.linear)
        return self.opened(graph, None)

    def _mentioned(self, graph: Graph) -> bool:
        """Does the graph call the function, at any depth?"""
        for node in graph.nodes:
            if self._is_itself(node):
                return True
            inner = (v for v in node.attrs.values() if v.__class__ is Graph)
            if node.attrs.get("level") != self.attrs["level"] and any(map(self._mentioned, inner)):
                return True
        return False
