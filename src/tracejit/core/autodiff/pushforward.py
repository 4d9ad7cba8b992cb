"""Forward mode, once: `pushforward` walks records in order and carries tangents with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir.graph import Graph, again
from ..op import ops
from ..tensor import Tensor
from ..tracing.dispatch import Record, apply, located, recording
from ..tracing.trace import replay, trace
from .backprop import RecordList, backprop, restore_overwritten, with_sizes_of

Tangent = Any  # Tensor | None


class _Forward(RecordList):
    """Keeps every call, for forward mode alone: a loop need not return what its backward would read."""

    reverse = False


def pushforward(
    records: Sequence[Record], tangents: dict[int, Tangent], targets: Sequence[Tensor]
) -> list[Tangent]:
    """Carry tangents (by serial number) forward to `targets`; None where nothing connects them."""
    restore_overwritten(records)
    for record in records:
        ts = [tangents.get(t.serial) for t in record.inputs]
        if all(t is None for t in ts):
            continue
        with located(record.location):
            for out, tangent in zip(record.outputs, output_tangents(record, ts), strict=True):
                if tangent is not None:
                    tangents[out.serial] = with_sizes_of(tangent, out)
    return [tangents.get(t.serial) for t in targets]


def output_tangents(record: Record, ts: list[Tangent]) -> list[Tangent]:
    """Apply the op's rule: one tangent, or None, per output."""
    op = record.op
    if op.jvp is not None:
        tangents = list(op.jvp(record, ts))
        return (
            [_shaped(t, y) for t, y in zip(tangents, record.outputs, strict=True)]
            if op.elementwise
            else tangents
        )
    if op.partial is not None:
        parts = [
            scaled_tangent(t, rule(record.outputs[0], *record.inputs, **record.attrs))
            for rule, t in zip(op.partial, ts, strict=True)
            if t is not None and rule is not None
        ]
        return [_shaped(_total(parts), record.outputs[0])]
    if op.linear:
        return [_total([_in_place_of(record, i, t) for i, t in enumerate(ts) if t is not None])]
    return _transposed(record, ts)


def scaled_tangent(t: Tensor, partial: Any) -> Tensor:
    """``t * partial``; the constant partials 1 and -1 cost no multiplication."""
    if partial.__class__ is float and partial in (1.0, -1.0):
        return t if partial == 1.0 else ops.negative(t)
    return ops.multiply(t, partial)


def _total(parts: list[Tensor]) -> Tangent:
    if not parts:
        return None
    total = parts[0]
    for part in parts[1:]:
        total = ops.add(total, part)
    return total


def _shaped(t: Tangent, y: Tensor) -> Tangent:
    """Stretch a tangent to the output's shape: the input it came from may have been broadcast."""
    if t is None or t.shape == y.shape:
        return t
    return ops.broadcast_to(t, shape=y.shape)


def _in_place_of(record: Record, position: int, tangent: Tensor) -> Tangent:
    inputs = (*record.inputs[:position], tangent, *record.inputs[position + 1 :])
    return _shaped(apply(record.op, inputs, record.attrs), record.outputs[0])


def _transposed(record: Record, ts: list[Tangent]) -> list[Tangent]:
    """The jvp as the adjoint of the vjp, which is linear in the cotangent; conjugates are in both rules already."""
    outputs = [y for y in record.outputs if y.spec.differentiable]
    seeds = [ops.fill(shape=y.shape, value=0.0, dtype=y.np_dtype) for y in outputs]
    listing = RecordList()
    with recording(listing):
        replacement = {y.serial: ops.identity(s) for y, s in zip(outputs, seeds, strict=True)}
        inner = dict(replacement)
        marks = list(replacement.values())
        sources = [t for t, tangent in zip(record.inputs, ts, strict=True) if tangent is not None]
        back = backprop([record], inner, [t.serial for t in sources])
    cotangents: dict[int, Tensor] = {}
    for g, tangent in zip(back, [t for t in ts if t is not None], strict=True):
        if g is not None:
            known = cotangents.get(g.serial)
            cotangents[g.serial] = tangent if known is None else ops.add(known, tangent)
    tangents = backprop(listing.records, cotangents, [m.serial for m in marks])
    by_serial = {y.serial: f for y, f in zip(outputs, tangents, strict=True)}
    return [by_serial.get(y.serial) for y in record.outputs]


def jvp_graph(graph: Graph, active: tuple[bool, ...]) -> tuple[Graph, tuple[bool, ...]]:
    """``(xs, tangents of the active xs) -> (ys, tangents of the connected ys)``, and which ys are connected."""
    key = ("jvp", active)
    if key not in graph.derived:
        graph.derived[key] = _jvp_graph(graph, active)
    return graph.derived[key]


def _jvp_graph(graph: Graph, active: tuple[bool, ...]) -> tuple[Graph, tuple[bool, ...]]:
    n = len(graph.inputs)
    connected: list[bool] = []

    def rule(*args: Tensor) -> list[Tensor]:
        xs = args[:n]
        listing = _Forward()
        with recording(listing):
            ys = replay(again(graph), xs)
        chosen = [x for x, a in zip(xs, active, strict=True) if a]
        tangents: dict[int, Tangent] = {x.serial: t for x, t in zip(chosen, args[n:], strict=True)}
        t_ys = pushforward(listing.records, tangents, ys)
        connected[:] = [t is not None for t in t_ys]
        return [*ys, *(t for t in t_ys if t is not None)]

    specs = [v.spec for v in graph.inputs]
    traced = trace(rule, [*specs, *(s for s, a in zip(specs, active, strict=True) if a)], graph.name + "_jvp")
    return traced.graph, tuple(connected)
