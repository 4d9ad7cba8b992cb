"""Functions with a custom JVP: one rule for forward mode, and its transpose for reverse mode.

The rule is a graph like the body, so it is batched, differentiated again and compiled as anything else. Knows nothing
of how users state the rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.autodiff.backprop import gradient_graph
from ...core.autodiff.batching import Batch
from ...core.errors import GradientError, at
from ...core.ir.graph import Graph, needed_inputs
from ...core.op import Joint, defop
from ...core.spec import TensorSpec
from ...core.tensor import Tensor
from ...core.tracing.dispatch import Record
from ...core.tracing.forms import TangentsForm
from ...core.tracing.prune import settled
from ...core.tracing.trace import replay
from ..lowering import Expand
from .own_value import everywhere, opened
from .regions import REGION, filled, given, inputs_of_op, run_graph, zeros_like


def _require_rule(form: TangentsForm, record: Record, active: Sequence[bool]) -> None:
    """The rule says nothing of what the function uses beside its arguments."""
    asked = (*(False for _ in form.arguments), *active)
    if any(asked) and any(gradient_graph(form.body, asked)[1]):
        raise GradientError(
            f"{form.body.name} has a rule for the tangents of its arguments, and uses another tensor or Variable that "
            f"is differentiated: pass it as an argument, or stop its gradient{at(record.location)}"
        )


def _jvp(record: Record, ts: list[Any]) -> list[Any]:
    form = TangentsForm(record.inputs, record.attrs)
    t_xs, t_held = form.split(ts)
    _require_rule(form, record, [t is not None for t in t_held])
    tangents = [filled(t, x) for t, x in zip(t_xs, form.arguments, strict=True) if x.spec.differentiable]
    t_ys = iter(replay(_opened(form), (*form.arguments, *tangents, *form.captured)))
    return [next(t_ys) if y.spec.differentiable else None for y in record.outputs]


def _vjp(record: Record, gs: list[Any], needs: list[bool]) -> list[Any]:
    """The rule, linear in the tangents, transposed: what a tangent was does not matter."""
    form = TangentsForm(record.inputs, record.attrs)
    xs, held = form.arguments, form.captured
    n_xs, n_held = form.split(needs)
    _require_rule(form, record, n_held)
    able = [x.spec.differentiable for x in xs]
    zeros = [zeros_like(x) for x, a in zip(xs, able, strict=True) if a]
    wanted = [n for n, a in zip(n_xs, able, strict=True) if a]
    seeded = tuple(g is not None for g, y in zip(gs, record.outputs, strict=True) if y.spec.differentiable)
    rule = _opened(form, transposed=True)
    graph, connected = gradient_graph(rule, (False,) * len(xs) + tuple(wanted) + (False,) * len(held), seeded)
    graph = settled(graph)
    tangents = set(form.split_rule(graph.inputs[: len(rule.inputs)])[1])
    if tangents & needed_inputs(graph, graph.outputs):
        raise GradientError(
            f"the rule for the tangents of {form.body.name} is not linear in the tangents, as derivatives are"
            f"{at(record.location)}"
        )
    gradients = iter(replay(graph, (*xs, *zeros, *held, *given(gs))))
    flags = iter(connected)
    return [next(gradients) if n and next(flags) else None for n in n_xs] + [None] * len(held)


def _batch(batch: Batch, *inputs: Tensor, **attrs: Any) -> Sequence[Tensor]:
    """Body and rule for all lanes; every input has them, here and where the rule calls the function itself."""
    form = TangentsForm(batch.all_spread(inputs), attrs)
    return form.replace(body=everywhere(form.body, batch), rule=everywhere(form.rule, batch)).apply()


def _opened(form: TangentsForm, transposed: bool = False) -> Graph:
    """The rule with the function in it where it calls itself."""
    _, tangents, captured = form.split_rule(form.rule.inputs)
    return opened(form, captured, tangents if transposed else ())


def _inputs_of_rule(inputs: Sequence[TensorSpec], attrs: Mapping[str, Any]) -> Sequence[TensorSpec]:
    """The arguments, a tangent for each that is differentiable, and what the function uses of its surroundings."""
    form = TangentsForm(inputs, attrs)
    return (*form.arguments, *(x for x in form.arguments if x.differentiable), *form.captured)


@defop(
    vjp=Joint(_vjp),
    jvp=_jvp,
    kernel=lambda *arrays, **attrs: run_graph(TangentsForm(arrays, attrs).body, arrays),
    lower=Expand(lambda *tensors, **attrs: replay(TangentsForm(tensors, attrs).body, tensors)),
    batch=_batch,
    region_specs={"body": inputs_of_op, "rule": _inputs_of_rule},
    traits=(*REGION, "polls"),
)
def custom_tangents(
    *inputs: TensorSpec, body: Graph, rule: Graph, arguments: int, level: int = 0
) -> tuple[TensorSpec, ...]:
    """``body(arguments, held)`` with the tangents ``rule(arguments, tangents, held)``.

    The rule takes a tangent for each differentiable argument, and returns one for each differentiable result. It has
    a `level` where it calls the function itself, see ``own_value``.
    """
    return tuple(v.spec for v in body.outputs)
