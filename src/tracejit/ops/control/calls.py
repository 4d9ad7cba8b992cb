"""Graphs called from graphs: a compiled function inside of another program, and functions with their own gradient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ...core.autodiff.backprop import NoGradient, gradient_graph
from ...core.autodiff.pushforward import jvp_graph
from ...core.autodiff.scattered import add_cotangents
from ...core.errors import at
from ...core.ir.graph import Graph, again, silent
from ...core.op import Joint, defop
from ...core.seams import direct, executable, split
from ...core.spec import DIFFERENTIABLE, TensorSpec
from ...core.tensor import Tensor
from ...core.tracing.dispatch import Record, rule_of, state
from ...core.tracing.forms import CallForm, CustomForm
from ...core.tracing.trace import replay
from ..lowering import Structure
from .batch_regions import batch_call, batch_custom
from .kept_calls import given_what_is_kept, with_kept
from .own_value import opened
from .regions import REGION, filled, given, inputs_of_op, recorded_for_reverse, run_graph


def _call_kernel(*arrays: np.ndarray, **attrs: Any) -> tuple[np.ndarray, ...]:
    graph = CallForm(arrays, attrs).graph
    if state.interpreter is not None:
        return run_graph(graph, arrays)
    return tuple(executable(graph)(arrays))


def _keeping_values(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> Mapping[str, Any]:
    """The recorded form of a call for reverse mode: its graph also returns what its backward reads."""
    call = CallForm(inputs, attrs)
    splits = state.interpreter is None and call.backward is None and recorded_for_reverse()
    parts = split(call.graph) if splits else None
    if parts is None:
        return with_kept(CallForm, inputs, attrs)
    parts.forward.derived["whole"] = call.graph
    return CallForm.make(inputs, parts.forward, parts.backward, parts.outputs, parts.connected).attrs


def _call_vjp(record: Record, gs: list[Any], needs: list[bool]) -> list[Any]:
    """Run the split backward; cotangents of some outputs only, or of kept values, take a gradient graph."""
    call = CallForm(record.inputs, record.attrs, record.outputs)
    backward, results = call.backward, call.results
    seeded = [g is not None for g in gs]
    able = [i < results and y.np_dtype.kind in DIFFERENTIABLE for i, y in enumerate(record.outputs)]
    if backward is not None and (seeded == able or _must_not_run_again(call, seeded, able)):
        connected = call.connected
        kept = record.outputs[results:]
        seeds = [filled(g, y) for g, y, a in zip(gs, record.outputs, able, strict=True) if a]
        gradients = iter(_run(backward, (*kept, *seeds)) if True in connected else ())
        cotangents = [next(gradients) if c else None for c in connected]
        return [g if need else None for g, need in zip(cotangents, needs, strict=True)]
    n, call = len(needs), _given(record)
    needs = [*needs, *(False for _ in call.inputs[n:])]
    graph, connected = gradient_graph(call.graph, tuple(needs), tuple(seeded))
    gradients = iter(CallForm.make((*call.inputs, *given(gs)), graph).apply())
    flags = iter(connected)
    return [next(gradients) if need and next(flags) else None for need in needs[:n]]


def _given(record: Record) -> CallForm:
    """The call of the graph, which makes none of the calls that it has kept."""
    attrs = CallForm.make(record.inputs, CallForm(record.inputs, record.attrs).graph).attrs
    record = given_what_is_kept(Record(record.op, record.inputs, attrs, record.outputs, record.location))
    return CallForm(record.inputs, record.attrs)


def _must_not_run_again(call: CallForm, seeded: Sequence[bool], able: Sequence[bool]) -> bool:
    """Does it call Python, and is no cotangent given for what it keeps? The other results then have zeros."""
    graph = call.graph
    return again(graph) is not silent(graph) and all(a for s, a in zip(seeded, able, strict=True) if s)


def _run(graph: Graph, tensors: tuple[Tensor, ...]) -> Sequence[Tensor]:
    """The results of a graph, without a record where nobody listens."""
    mode = state.mode
    if not mode.busy and not mode.slow:
        with suppress(Exception):  # to be worded, with the user's line, where it is raised again
            return direct(graph)(*tensors)
    return CallForm.make(tensors, graph).apply()


def _call_jvp(record: Record, ts: list[Any]) -> list[Any]:
    n, call = len(record.inputs), _given(record)
    ts = [*ts, *(None for _ in call.inputs[n:])]
    graph, connected = jvp_graph(call.graph, tuple(t is not None for t in ts))
    outputs = CallForm.make((*call.inputs, *(t for t in ts if t is not None)), graph).apply()
    take = iter(outputs[len(record.outputs) :])
    return [next(take) if c else None for c in connected]


@defop(
    vjp=Joint(_call_vjp),
    jvp=_call_jvp,
    kernel=_call_kernel,
    lower=Structure("call"),
    with_residuals=_keeping_values,
    batch=batch_call,
    region_specs={"graph": inputs_of_op},
    traits=REGION,
)
def call(
    *inputs: TensorSpec,
    graph: Graph,
    backward: Graph | None = None,
    outputs: int = 0,
    connected: tuple[bool, ...] = (),
) -> tuple[TensorSpec, ...]:
    """Run a graph: a compiled function inside of another program.

    With a `backward`, the graph returns `outputs` results and then what the backward reads, which takes those
    and the cotangents of all differentiable results and returns the cotangents of the `connected` inputs.
    """
    return tuple(v.spec for v in graph.outputs)


def _custom_kernel(*arrays: np.ndarray, **attrs: Any) -> tuple[np.ndarray, ...]:
    return run_graph(CustomForm(arrays, attrs).body, arrays)


def _custom_vjp(record: Record, gs: list[Any], needs: list[bool]) -> list[Any]:
    """The user's rule for the results, plus the body's own derivative for the residuals."""
    n, record = len(record.inputs), given_what_is_kept(record)
    needs = [*needs, *(False for _ in record.inputs[n:])]
    custom = CustomForm(record.inputs, record.attrs)
    ys, residuals = custom.split(record.outputs)
    g_ys, g_residuals = custom.split(gs)
    result: list[Any] = [None] * len(needs)
    if any(g is not None for g in g_ys):
        seeds = [filled(g, y) for g, y in zip(g_ys, ys, strict=True) if y.spec.differentiable]
        rule = opened(custom, custom.captured_by_rule)
        with rule_of(custom.body.name, record.location):
            gradients = iter(replay(rule, (*residuals, *seeds)))
        result = [next(gradients) if c else None for c in custom.connected]
    if any(g is not None for g in g_residuals):
        seeded = (*(False for _ in ys), *(g is not None for g in g_residuals))
        graph, flags = gradient_graph(custom.body, tuple(needs), seeded)
        gradients = iter(replay(graph, (*custom.inputs, *given(g_residuals))))
        more = iter([next(gradients) if f else None for f in flags])
        extra = [next(more) if need else None for need in needs]
        result = [
            a if b is None else b if a is None else add_cotangents(a, b)
            for a, b in zip(result, extra, strict=True)
        ]
    return result[:n]


def _no_forward(record: Record, ts: list[Any]) -> list[Any]:
    name = CustomForm(record.inputs, record.attrs).body.name
    raise NoGradient(
        f"{name}: a function with a custom gradient has a vjp only; forward mode cannot go through it: give its "
        f"tangents by custom_jvp{at(record.location)}"
    )


def _inputs_of_rule(inputs: Sequence[TensorSpec], attrs: Mapping[str, Any]) -> Sequence[TensorSpec]:
    """The residuals, then a cotangent for each differentiable result."""
    custom = CustomForm(inputs, attrs)
    results, residuals = custom.split([v.spec for v in custom.body.outputs])
    return (*residuals, *(s for s in results if s.differentiable))


@defop(
    vjp=Joint(_custom_vjp),
    jvp=_no_forward,
    kernel=_custom_kernel,
    lower=Structure("custom"),
    with_residuals=lambda inputs, attrs: with_kept(CustomForm, inputs, attrs),
    batch=batch_custom,
    region_specs={"body": inputs_of_op, "rule": _inputs_of_rule},
    traits=REGION,
)
def custom(
    *inputs: TensorSpec,
    body: Graph,
    rule: Graph,
    outputs: int,
    connected: tuple[bool, ...],
    level: int = 0,
    arguments: int = 0,
) -> tuple[TensorSpec, ...]:
    """A function with its own gradient: ``body(inputs) -> (outputs, kept)``, ``rule(kept, cotangents) -> cotangents``.

    `connected` says per input whether the rule returns a cotangent for it. Where the rule calls the function itself
    there are a `level`, see ``own_value``, and how many of the inputs are `arguments`.
    """
    return tuple(v.spec for v in body.outputs)
