"""Under which condition is the derivative of an op zero? Said in the op's own words, with the values at hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..core.dispatch import Record
from ..core.tensor import Tensor


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
