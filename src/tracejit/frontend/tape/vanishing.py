"""Why is a gradient that is connected zero, or NaN? The first op at which it vanishes, and the condition there.

The values on a tape are gone through twice: forwards with a random tangent of the source, until all that depends on it
has a tangent of zero, and backwards with the cotangents, until all that reach the source are. Forward comes first, as
it tells which elements depend on the source: a maximum that chose others is found where it chooses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...core.autodiff.backprop import RecordList, backprop
from ...core.autodiff.pushforward import output_tangents
from ...core.autodiff.scattered import dense
from ...core.errors import Location, TracejitError
from ...core.ir.graph import Graph
from ...core.spec import DIFFERENTIABLE
from ...core.tensor import Tensor
from ...core.tracing.dispatch import Record, recording
from ...core.tracing.forms import BranchForm, CallForm
from ...core.tracing.trace import replay
from ..recording.losses import whole


class Finding(NamedTuple):
    """What is wrong, ``zero`` or ``nan``, how it comes about, and where."""

    cause: str
    text: str
    location: Location | None


def vanishing(
    records: Sequence[Record], seeds: dict[int, Any], target: Tensor, source: int
) -> Finding | None:
    """Why the gradient is zero everywhere or NaN somewhere; None where it is neither."""
    (total,) = backprop(list(records), dict(seeds), [source])
    if total is None:
        return None
    array = _dense(total).array
    if np.isnan(array).any():
        return _first_nan(records, seeds, source)
    if array.any() or not array.size:
        return None
    producer = next((r for r in records if any(t.serial == target.serial for t in r.outputs)), None)
    where = producer.location if producer is not None else None
    if not any(_dense(g).array.any() for g in seeds.values()):
        what = (
            f"the output_gradients of the target, which {producer.op} computes,"
            if producer
            else "the output_gradients"
        )
        return Finding("zero", f"{what} are all zero", where)
    path = list(_between(records, source, set(seeds)))
    for search in (_forward, _backward):
        try:
            finding = search(path, seeds, source)
        except (
            TracejitError,
            TypeError,
            LookupError,
        ):  # a value was not kept, or there is no rule for this direction
            continue
        if finding is not None:
            return finding
    ops = ", ".join(dict.fromkeys(str(r.op) for r in path))
    return Finding("zero", f"what {ops} contribute to the gradient cancels", where)


def _dense(g: Any) -> Tensor:
    tensor = dense(g)
    assert tensor is not None
    return tensor


def _between(records: Sequence[Record], source: int, targets: set[int]) -> Iterator[Record]:
    """The records on the way from source to target, in order."""
    needed = set(targets)
    leads = []
    for record in reversed(records):
        if any(t.serial in needed for t in record.outputs):
            leads.append(record)
            needed.update(t.serial for t in record.inputs)
    reached = {source}
    for record in reversed(leads):
        if any(t.serial in reached for t in record.inputs):
            reached.update(t.serial for t in record.outputs)
            yield record


# ---- forwards -------------------------------------------------------------------------------------------


def _random(like: Any) -> Tensor:
    """A tangent that nothing cancels by accident."""
    drawn = np.random.default_rng(0).uniform(0.5, 1.5, like.shape)
    return Tensor(np.asarray(drawn, like.dtype))


def _forward(path: Sequence[Record], seeds: dict[int, Any], source: int) -> Finding | None:
    """The first op at which the tangents of all that lead to the target have become zero."""
    tangents: dict[int, Any] = {}
    for record in path:
        ts = []
        for t in record.inputs:
            if t.serial == source and source not in tangents:
                tangents[source] = _random(t)
            ts.append(tangents.get(t.serial))
        alive = [t is not None and t.array.any() for t in ts]
        if not any(alive):
            continue
        pushed = output_tangents(record, ts)
        if not any(t is not None and t.array.any() for t in pushed):
            return _at(record, [i for i, a in enumerate(alive) if a])
        tangents.update({y.serial: t for y, t in zip(record.outputs, pushed, strict=True) if t is not None})
    return None


# ---- backwards ------------------------------------------------------------------------------------------


def _backward(path: Sequence[Record], seeds: dict[int, Any], source: int) -> Finding | None:
    """The op nearest to the target that passes on nothing of what it is given."""
    for record, given, new in _steps(path, seeds, source):
        if any(g.any() for g in given) and new and not any(g.any() for g in new.values()):
            return _at(record, list(new))
    return None


def _first_nan(records: Sequence[Record], seeds: dict[int, Any], source: int) -> Finding | None:
    """The op at which sound cotangents become NaN."""
    for record, given, new in _steps(list(_between(records, source, set(seeds))), seeds, source):
        if any(np.isnan(g).any() for g in new.values()) and not any(np.isnan(g).any() for g in given):
            seen = ", ".join(shown(t) for t in record.inputs)
            return Finding("nan", f"the gradient of {record.op} is NaN for {seen}", record.location)
    return Finding("nan", "the gradient that the target is given is NaN", None)


def _steps(
    path: Sequence[Record], seeds: dict[int, Any], source: int
) -> Iterator[tuple[Record, list[np.ndarray], dict[int, np.ndarray]]]:
    """Each record, last first, with the cotangents of its outputs and what it makes of them, by input on the way."""
    total = {s: _dense(g) for s, g in seeds.items()}
    on_path = {source, *(t.serial for record in path for t in record.outputs)}
    for record in reversed(path):
        before = {t.serial: total[t.serial] for t in record.outputs if t.serial in total}
        if not before:
            continue
        serials = [s for s in dict.fromkeys(t.serial for t in record.inputs) if s in on_path]
        cotangents = backprop([record], dict(before), serials)
        new: dict[int, np.ndarray] = {}
        for s, g in zip(serials, cotangents, strict=True):
            if g is not None:
                old = total.get(s)
                total[s] = g if old is None else Tensor(np.asarray(old.array + g.array))
                new.update({i: g.array for i, t in enumerate(record.inputs) if t.serial == s})
        yield record, [g.array for g in before.values()], new


# ---- what is said ---------------------------------------------------------------------------------------


def _at(record: Record, positions: list[int]) -> Finding:
    """The gradient vanishes in this record, on its way to the inputs at these positions."""
    asked = [i in positions for i in range(len(record.inputs))]
    for graph, inputs, chosen in _inner(record, asked):
        inner = _inside(graph, inputs, [i for i, on in enumerate(chosen) if on])
        if inner is not None:
            return inner
    why = condition(record, positions)
    return Finding("zero", f"the gradient of {record.op} is zero: {why}", record.location)


def _inner(record: Record, asked: Sequence[bool]) -> Iterator[tuple[Graph, Sequence[Tensor], Sequence[bool]]]:
    """The graph that a compiled function or a branch ran, with what it was run on and which of that is asked for."""
    if (call := CallForm.of(record)) is not None:
        yield whole(call.graph), call.inputs, asked
    elif (branch := BranchForm.of(record)) is not None:
        yield branch.then if branch.pred.array else branch.orelse, branch.consts, branch.split(asked)


def _inside(graph: Graph, inputs: Sequence[Tensor], positions: list[int]) -> Finding | None:
    """The same question inside of a compiled function, run once more op by op."""
    listing = RecordList()
    fresh = [Tensor(t.array) for t in inputs]
    with recording(listing):
        outputs = replay(graph, fresh)
    for i in positions:
        for y in outputs:
            if y.np_dtype.kind not in DIFFERENTIABLE:
                continue
            seeds = {y.serial: Tensor(np.ones(y.shape, y.np_dtype))}
            finding = vanishing(listing.records, seeds, y, fresh[i].serial)
            if finding is not None:
                return finding
    return None


# ---- in words --------------------------------------------------------------------------------------------


def shown(t: Tensor) -> str:
    """The value in short, or the spec of one that was not kept."""
    try:
        return np.array2string(t.array, precision=4, threshold=6)
    except Exception:  # its value was not kept
        return str(t.spec)


def condition(record: Record, positions: Sequence[int]) -> str:
    """Why nothing passes from the result of this call to the inputs at these positions."""
    rule = record.op.vanishes_where
    try:
        if rule is not None and len(positions) >= 1:
            text = rule if isinstance(rule, str) else rule(record, positions[0])
            return _filled(text, record.inputs, positions[0])
    except (TypeError, LookupError):  # a value was not kept
        pass
    seen = ", ".join(shown(t) for t in record.inputs)
    if len(positions) > 1 or record.op.linear:
        return f"what its arguments contribute cancels, at {seen}"
    return f"its derivative vanishes at {seen}"


def _filled(text: str, inputs: Sequence[Tensor], position: int) -> str:
    other = shown(inputs[1 - position]) if len(inputs) == 2 else ""
    return text.format(this=shown(inputs[position]), other=other)
