"""Tapes on which all that happened is one call of a compiled function: its backward is the gradient.

What backprop comes to there: the rule of the call, once, for cotangents that nothing is added to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import BackwardLocation
from ..op import ops
from ..spec import DIFFERENTIABLE
from ..tensor import Overwritten, Tensor
from ..tracing.dispatch import Mode, Record


def of_one_call(
    mode: Mode, records: Sequence[Record], seeds: dict[int, Any], sources: Sequence[int]
) -> list[Any] | None:
    """The cotangents of sources that are arguments of the call, or Variables that it reads; None for other tapes."""
    last = records[-1]
    if last.op is not ops.call or Overwritten.exist:
        return None
    inputs = last.inputs
    places = {t.serial: i for i, t in enumerate(inputs)}
    read: dict[int, int | None] = {}
    for record in records[:-1]:
        if record.op is not ops.read or record.inputs[1].serial in read:
            return None
        read[record.inputs[1].serial] = places.get(record.outputs[0].serial)
    wanted = [read[s] if s in read else places.get(s) for s in sources]
    gs = [seeds.get(t.serial) for t in last.outputs]
    tensors = [g for g in gs if g.__class__ is Tensor]
    if len(places) < len(inputs) or None in wanted or len(tensors) < len(seeds):
        return None
    needs = [i in wanted and t.np_dtype.kind in DIFFERENTIABLE for i, t in enumerate(inputs)]
    inherited = mode.location
    place = last.location or inherited
    mode.location = place and BackwardLocation(place)
    try:
        found: list[Any] = last.op.vjp.rule(last, gs, needs)
    finally:
        mode.location = inherited
    return [found[i] for i in wanted if i is not None]
