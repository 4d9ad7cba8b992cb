"""Recording: the recorder behind tapes and gradient transforms, which keeps the calls that depend on what it tracks.

Knows tensors by their serial numbers only, so that nothing it tracks is kept alive by being tracked. For reverse
mode a record keeps the values its gradient rule uses and no others: which these are is found by tracing the
rule, once per op and kind of arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np

from ...core.autodiff.backprop import gradient_graph, input_cotangents
from ...core.autodiff.scattered import dense
from ...core.errors import TracejitError, take
from ...core.op import Joint
from ...core.spec import DIFFERENTIABLE
from ...core.tensor import Tensor, elided
from ...core.tracing.dispatch import Record
from ...core.tracing.forms import CallForm
from ...core.tracing.trace import trace

#: Bytes of values of one call that are not worth the time to drop them; and those that are, at once or once there are
#: so many of them.
SMALL, LARGE, MANY = 1 << 12, 1 << 16, 1 << 20

#: Kinds of records remembered by the shapes they came with.
KEPT = 4096

_uses: dict[Hashable, tuple[bool, ...]] = {}
_kinds: dict[Hashable, tuple[bool, ...]] = {}


class Recording:
    """Keeps the records that depend on tracked tensors, in order.

    Parameters
    ----------
    tracked : iterable of int
        Serial numbers to begin with.
    reverse : bool
        The records are for reverse mode only: values that no gradient rule uses are dropped.

    Attributes
    ----------
    records : list of Record
    tracked : set of int
        Serial numbers of what is watched and of everything computed from it.
    held : int
        Bytes of values of its calls that are not small, of the first input and the first output.
    large : bool
        Are there values worth the time to drop them?
    """

    __slots__ = ("records", "tracked", "reverse", "held", "large", "__weakref__")

    def __init__(self, tracked: Iterable[int] = (), reverse: bool = True):
        self.records: list[Record] = []
        self.tracked: set[int] = set(tracked)
        self.reverse: bool = reverse
        self.held: int = 0
        self.large: bool = False

    def record(self, record: Record) -> None:
        """Listen to one call."""
        tracked = self.tracked
        for t in record.inputs:
            if t.serial in tracked:
                break
        else:
            self.passed_over(record)
            return
        outputs = record.outputs
        if not outputs:  # a function called for its effects
            self.passed_over(record)
            return
        first = outputs[0]
        if len(outputs) == 1:
            if first.np_dtype.kind not in DIFFERENTIABLE:
                self.passed_over(record)
                return
            tracked.add(first.serial)
        else:
            tracked.update([t.serial for t in outputs])
        if self.reverse:
            held = first._payload.nbytes + record.inputs[0]._payload.nbytes
            if held > SMALL:
                self.held += held
                if held > LARGE or self.held > MANY:
                    self.large = True
                    record = without_unused_values(
                        record, tuple([t.serial in tracked for t in record.inputs])
                    )
        self.records.append(record)

    def passed_over(self, record: Record) -> None:
        """A call that is not kept."""

    def hand_over(self, tensor: Tensor, other: Tensor) -> None:
        """Keep `other`, which is the same tensor, in place of `tensor`, which is about to become another one."""
        for record in reversed(self.records):
            if record.outputs[-1].serial < tensor.serial:
                return  # from before there was the tensor
            record.inputs = tuple([other if t is tensor else t for t in record.inputs])
            record.outputs = tuple([other if t is tensor else t for t in record.outputs])

    def snapshot(self) -> Callable[[], None]:
        """How to forget what comes after this point, while it goes on recording."""
        records, length = self.records, len(self.records)

        def undo() -> None:
            self.records = records
            del records[length:]

        return undo


def without_unused_values(record: Record, tracked: tuple[bool, ...]) -> Record:
    """The record with nothing but specs in place of the values that its gradient rule does not use."""
    op, inputs, outputs = record.op, record.inputs, record.outputs
    if op.runs_graphs:
        return record
    attrs = tuple(record.attrs.items()) if record.attrs else ()
    tensors = inputs + outputs
    try:
        key = (op, attrs, tracked, *[(t.np_dtype.num, _sizes(t)) for t in tensors])
        uses = _uses.get(key)
    except TypeError:  # an attribute that is not plain data
        return record
    if uses is None:
        if len(_uses) >= KEPT:
            _uses.clear()
        uses = _uses[key] = _used_by_kind(record, tracked, attrs)
    if all(uses):
        return record
    kept = tuple([t if u else elided(t) for t, u in zip(tensors, uses, strict=True)])
    n = len(inputs)
    return Record(op, kept[:n], record.attrs, kept[n:], record.location)


def _sizes(t: Tensor) -> tuple[Any, ...]:
    """Its shape, without what a user's has besides."""
    payload = t._payload
    return payload.shape if payload.__class__ is np.ndarray else t.shape


def _used_by_kind(record: Record, tracked: tuple[bool, ...], attrs: tuple[Any, ...]) -> tuple[bool, ...]:
    """What `_used` finds, once for all shapes that have their ones at the same axes."""
    tensors = (*record.inputs, *record.outputs)
    kinds = tuple([(t.dtype, tuple([d == 1 for d in t.shape])) for t in tensors])
    key = (record.op, attrs, tracked, kinds)
    if key not in _kinds:
        _kinds[key] = _used(record, tracked)
    return _kinds[key]


def _used(record: Record, tracked: tuple[bool, ...]) -> tuple[bool, ...]:
    """Per input and output: does the gradient rule use its value?"""
    n, m = len(record.inputs), len(record.outputs)
    tensors = (*record.inputs, *record.outputs)
    needs = [t and x.spec.differentiable for t, x in zip(tracked, record.inputs, strict=True)]

    def rule(*args: Tensor) -> list[Tensor]:
        seen = Record(record.op, args[:n], record.attrs, args[n : n + m], record.location)
        cotangents = input_cotangents(seen, list(args[n + m :]), needs)
        return [g for g in map(dense, cotangents) if g is not None]

    try:
        graph = trace(rule, [t.spec for t in (*tensors, *record.outputs)], record.op.name).graph
    except (
        TracejitError
    ) as error:  # a rule that needs a value to decide, or that fails: let it do so when asked
        take(error)
        return (True,) * len(tensors)
    used = {v for node in graph.nodes for v in node.inputs} | set(graph.outputs)
    return tuple(v in used for v in graph.inputs[: n + m])


def carries(step: Any, i: int) -> bool:
    """Does a cotangent flow from this call, a record or a step, to its i-th input?"""
    op = step.op
    if (call := CallForm.of(step)) is not None:
        return _call_carries(call, i)
    if isinstance(op.vjp, Joint):
        return True
    rules = op.partial if op.partial is not None else op.vjp
    if rules is None:
        return False
    return (rules[i] if len(rules) == len(step.inputs) else rules[0]) is not None


def _call_carries(call: CallForm, i: int) -> bool:
    if call.backward is not None:
        return call.connected[i]
    inputs = call.graph.inputs
    wanted = tuple(k == i for k in range(len(inputs)))
    return inputs[i].spec.differentiable and gradient_graph(call.graph, wanted)[1][0]
