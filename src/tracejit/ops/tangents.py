"""Functions that bring the rule of their tangents: one rule for forward mode, its transpose for reverse mode.

The rule is a graph like the body, so it is batched, differentiated again and compiled as anything else. A rule that
calls its own function holds `own_value` in that place, which becomes the function with its rule when the rule is used:
graphs stay finite, and every order of differentiation opens one more. Knows nothing of how users state the rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..core.backprop import gradient_graph
from ..core.batching import Batch, batch_graph
from ..core.dispatch import Record, apply
from ..core.errors import GradientError, at
from ..core.graph import Graph, Value, needed_inputs
from ..core.op import Joint, defop, ops
from ..core.spec import TensorSpec
from ..core.tensor import Tensor
from ..core.trace import replay
from .lowering import Expand
from .regions import REGION, filled, given, inputs_of_op, run_graph, zeros_like


def _split(inputs: Sequence[Any], attrs: Any) -> tuple[Sequence[Any], Sequence[Any]]:
    """The arguments, and what the function uses of its surroundings."""
    return inputs[: attrs["arguments"]], inputs[attrs["arguments"] :]


def _require_rule(record: Record, active: Sequence[bool]) -> None:
    """The rule says nothing of what the function uses beside its arguments."""
    body, n = record.attrs["body"], record.attrs["arguments"]
    asked = (False,) * n + tuple(active)
    if any(asked) and any(gradient_graph(body, asked)[1]):
        raise GradientError(
            f"{body.name} has a rule for the tangents of its arguments, and uses another tensor or Variable that is "
            f"differentiated: pass it as an argument, or stop its gradient{at(record.location)}"
        )


def _jvp(record: Record, ts: list) -> list:
    xs, held = _split(record.inputs, record.attrs)
    t_xs, t_held = _split(ts, record.attrs)
    _require_rule(record, [t is not None for t in t_held])
    tangents = [filled(t, x) for t, x in zip(t_xs, xs, strict=True) if x.spec.differentiable]
    found = iter(replay(_opened(record.attrs), (*xs, *tangents, *held)))
    return [next(found) if y.spec.differentiable else None for y in record.outputs]


def _vjp(record: Record, gs: list, needs: list[bool]) -> list:
    """The rule, linear in the tangents, transposed: what a tangent was does not matter."""
    xs, held = _split(record.inputs, record.attrs)
    n_xs, n_held = _split(needs, record.attrs)
    _require_rule(record, n_held)
    able = [x.spec.differentiable for x in xs]
    zeros = [zeros_like(x) for x, a in zip(xs, able, strict=True) if a]
    wanted = [n for n, a in zip(n_xs, able, strict=True) if a]
    seeded = tuple(g is not None for g, y in zip(gs, record.outputs, strict=True) if y.spec.differentiable)
    rule = _opened(record.attrs)
    graph, connected = gradient_graph(rule, (False,) * len(xs) + tuple(wanted) + (False,) * len(held), seeded)
    tangents = set(graph.inputs[len(xs) : len(xs) + len(zeros)])
    if tangents & needed_inputs(graph, graph.outputs):
        raise GradientError(
            f"the rule for the tangents of {record.attrs['body'].name} is not linear in the tangents, as derivatives "
            f"are{at(record.location)}"
        )
    found = iter(replay(graph, (*xs, *zeros, *held, *given(gs))))
    flags = iter(connected)
    return [next(found) if n and next(flags) else None for n in n_xs] + [None] * len(held)


def _batch(batch: Batch, *inputs: Tensor, **attrs: Any) -> tuple[Tensor, ...]:
    """Body and rule for all lanes; every input has them, here and where the rule calls the function itself."""
    whole = {key: _everywhere(attrs[key], batch) for key in ("body", "rule")}
    return apply(ops.custom_tangents, tuple(batch.all_spread(inputs)), {**attrs, **whole})


def _everywhere(graph: Graph, batch: Batch) -> Graph:
    return batch_graph(graph, [True] * len(graph.inputs), batch.size, [True] * len(graph.outputs))[0]


def _opened(attrs: Any) -> Graph:
    """The rule with the function in it where it calls itself."""
    rule = attrs["rule"]
    if "opened" not in rule.derived:
        held = rule.inputs[len(rule.inputs) - len(attrs["body"].inputs) + attrs["arguments"] :]
        rule.derived["opened"] = _with_itself(rule, attrs, held)
    return rule.derived["opened"]


def _with_itself(graph: Graph, attrs: Any, held: Sequence[Value]) -> Graph:
    copy = Graph(graph.name, guards=graph.guards, finished=True)
    env = {v: copy.add_input(v.spec) for v in graph.inputs}
    for node in graph.nodes:
        if node.op is not ops.own_value:
            copy.add_copy(node, env)
            continue
        inputs = tuple([env[v] for v in (*node.inputs[: attrs["arguments"]], *held)])
        specs = tuple([v.spec for v in node.outputs])
        env.update(
            zip(node.outputs, copy.add(ops.custom_tangents, inputs, attrs, specs, node.location), strict=True)
        )
    copy.outputs = [env[v] for v in graph.outputs]
    return copy


def _not_itself(record: Record, *rest: Any) -> list:
    raise GradientError(
        f"{record.attrs['body'].name} is called by the rule of its own tangents inside of a loop or a branch, and "
        f"differentiated again there: call it outside{at(record.location)}"
    )


@defop(
    kernel=lambda *arrays, body: run_graph(body, arrays),
    vjp=Joint(_not_itself),
    jvp=_not_itself,
    lower=Expand(lambda *tensors, body: replay(body, tensors)),
    batch=lambda batch, *inputs, body: apply(
        ops.own_value, tuple(batch.all_spread(inputs)), {"body": _everywhere(body, batch)}
    ),
    region_specs={"body": inputs_of_op},
    traits=(*REGION, "polls"),
)
def own_value(*inputs: TensorSpec, body: Graph) -> tuple[TensorSpec, ...]:
    """``body(inputs)``, in a rule for the tangents of the function that this is."""
    return tuple(v.spec for v in body.outputs)


def _inputs_of_rule(inputs: Sequence[TensorSpec], attrs: Mapping[str, Any]) -> Sequence[TensorSpec]:
    """The arguments, a tangent for each that is differentiable, and what the function uses of its surroundings."""
    xs, held = _split(inputs, attrs)
    return (*xs, *(x for x in xs if x.differentiable), *held)


@defop(
    kernel=lambda *arrays, body, rule, arguments: run_graph(body, arrays),
    vjp=Joint(_vjp),
    jvp=_jvp,
    lower=Expand(lambda *tensors, body, rule, arguments: replay(body, tensors)),
    batch=_batch,
    region_specs={"body": inputs_of_op, "rule": _inputs_of_rule},
    traits=(*REGION, "polls"),
)
def custom_tangents(*inputs: TensorSpec, body: Graph, rule: Graph, arguments: int) -> tuple[TensorSpec, ...]:
    """``body(arguments, held)`` with the tangents ``rule(arguments, tangents, held)``.

    The rule takes a tangent for each differentiable argument, and returns one for each differentiable result.
    """
    return tuple(v.spec for v in body.outputs)
