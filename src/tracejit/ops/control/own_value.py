"""Custom rules that call their own function: the op that stands for its value in the rule.

Such a rule holds `own_value` in place of the function. Each time the rule is used it is opened: the function with
its rule takes that place, so that graphs stay finite and every order of differentiation opens one more. Rules lie
inside of each other where functions call each other; the `level` says whose value is meant, 0 being the outermost.
Knows nothing of what kinds of rules there are, nor of how users state them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from ...core.autodiff.batching import Batch, batch_graph
from ...core.errors import GradientError, at
from ...core.ir.graph import Graph, Node, Value
from ...core.op import Joint, defop
from ...core.spec import TensorSpec
from ...core.tensor import Tensor
from ...core.tracing.dispatch import Record
from ...core.tracing.forms import CustomForm, OwnValueForm, TangentsForm, level_of, operands_of
from ...core.tracing.trace import replay
from ..lowering import Expand
from .regions import REGION, inputs_of_op, run_graph

#: The level of a call that cannot be given its rule any more: it has a value and no derivative.
CLOSED = -1


def everywhere(graph: Graph, batch: Batch) -> Graph:
    """The graph for all lanes, every input and output with lanes."""
    return batch_graph(graph, [True] * len(graph.inputs), batch.size, [True] * len(graph.outputs))[0]


def _not_itself(record: Record, *rest: Any) -> list[Any]:
    name = OwnValueForm(record.inputs, record.attrs).body.name
    raise GradientError(
        f"{name} is called by the rule of its own derivative inside of a loop or a branch, and "
        f"differentiated again there: call it outside{at(record.location)}"
    )


def _batch(batch: Batch, *inputs: Tensor, **attrs: Any) -> Sequence[Tensor]:
    form = OwnValueForm(batch.all_spread(inputs), attrs)
    return form.replace(body=everywhere(form.body, batch)).apply()


@defop(
    vjp=Joint(_not_itself),
    jvp=_not_itself,
    kernel=lambda *arrays, **attrs: run_graph(OwnValueForm(arrays, attrs).body, arrays),
    lower=Expand(lambda *tensors, **attrs: replay(OwnValueForm(tensors, attrs).body, tensors)),
    batch=_batch,
    region_specs={"body": inputs_of_op},
    traits=(*REGION, "polls"),
)
def own_value(*inputs: TensorSpec, body: Graph, level: int, arguments: int) -> tuple[TensorSpec, ...]:
    """``body(inputs)``, in a rule of the function that this is: `arguments` inputs, then what it captures."""
    return tuple(v.spec for v in body.outputs)


def opened(
    form: CustomForm | TangentsForm, captured: Sequence[Value], linear: Collection[Value] = ()
) -> Graph:
    """The rule of a function with the function in it where it calls itself.

    Parameters
    ----------
    form
        The function with its rule.
    captured : sequence of Value
        The inputs of the rule that are what the function captures.
    linear : collection of Value
        Inputs of the rule in which it is linear, about to be transposed: where the function is called with what
        depends on them it is linear itself, and its body is transposed, as its rule would call the function again.
    """
    rule = form.rule
    if form.level is None:
        return rule
    key = ("opened", bool(linear))
    if key not in rule.derived:
        rule.derived[key] = _Opening(form, set(linear)).opened(rule, captured)
    return rule.derived[key]


class _Opening:
    """One rule being copied."""

    def __init__(self, form: CustomForm | TangentsForm, linear: set[Value]):
        self.op = form.op
        self.attrs = form.attrs
        self.body = form.body
        self.level = form.level
        self.linear = linear

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
                outputs = copy.add(node.op, inputs, attrs, specs, node.location)
                env.update(zip(node.outputs, outputs, strict=True))
        copy.outputs = [env[v] for v in graph.outputs]
        return copy

    def _is_itself(self, node: Node) -> bool:
        return OwnValueForm.of(node) is not None and level_of(node) == self.level

    def _itself(
        self, node: Node, copy: Graph, env: dict[Value, Value], held: Sequence[Value] | None, depends: bool
    ) -> None:
        """Put the function where the rule calls it."""
        form = OwnValueForm([env[v] for v in node.inputs], node.attrs)
        if held is not None and depends:
            inner = dict(zip(form.body.inputs, form.inputs, strict=True))
            for n in form.body.nodes:
                copy.add_copy(n, inner)
            env.update(zip(node.outputs, [inner[v] for v in form.body.outputs], strict=True))
            return
        if held is not None:
            form = form.replace(captured=[env[v] for v in held])
        if depends or len(form.inputs) != len(self.body.inputs):
            op, attrs, body = node.op, form.replace(level=CLOSED).attrs, form.body
        else:
            op, attrs, body = self.op, self.attrs, self.body
        specs = tuple([v.spec for v in body.outputs])
        outputs = copy.add(op, tuple(form.inputs), attrs, specs, node.location)
        env.update(
            zip(node.outputs, outputs, strict=False)
        )  # with its rule it returns what that keeps besides

    def _region(self, node: Node, graph: Graph) -> Graph:
        """A graph inside of the rule: another function's rule may call the function as well."""
        if level_of(node) == self.level or not self._mentioned(graph):
            return graph
        if not self.linear.isdisjoint(node.inputs):
            given = operands_of(node)
            self.linear.update(
                v for k, v in enumerate(graph.inputs) if given is None or given[k] in self.linear
            )
        return self.opened(graph, None)

    def _mentioned(self, graph: Graph) -> bool:
        """Does the graph call the function, at any depth?"""
        for node in graph.nodes:
            if self._is_itself(node):
                return True
            inner = (v for v in node.attrs.values() if v.__class__ is Graph)
            if level_of(node) != self.level and any(map(self._mentioned, inner)):
                return True
        return False
