"""Under which condition is the derivative of an op zero? Said in words, with the values at hand; by op name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

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
    rule = _RULES.get(record.op.name)
    try:
        if rule is not None and len(positions) >= 1:
            return rule(record, positions[0])
    except (TypeError, LookupError):  # a value was not kept
        pass
    seen = ", ".join(shown(t) for t in record.inputs)
    if len(positions) > 1 or record.op.linear:
        return f"what its arguments contribute cancels, at {seen}"
    return f"its derivative vanishes at {seen}"


def _other(record: Record, i: int) -> Tensor:
    return record.inputs[1 - i]


def _extreme(relation: str) -> Callable[[Record, int], str]:
    def rule(record: Record, i: int) -> str:
        mine, other = shown(record.inputs[i]), shown(_other(record, i))
        return f"the other argument, {other}, is {relation} than this one, {mine}, everywhere"

    return rule


def _product(record: Record, i: int) -> str:
    if record.inputs[0].serial == record.inputs[1].serial:
        return "its argument is 0"
    other = _other(record, i)
    if not other.array.any():
        return f"the other factor is 0: {shown(other)}"
    return f"the other factor, {shown(other)}, is 0 where this argument matters, or the product too small for its dtype"


def _chosen(record: Record, i: int) -> str:
    which = {0: "the condition", 1: "false", 2: "true"}[i]
    if i == 0:
        return "its condition has no derivative"
    return f"the condition is {which} everywhere that this argument would matter, so the other one is chosen"


def _power(record: Record, i: int) -> str:
    base, exponent = record.inputs
    if i == 0 and not exponent.array.any():
        return "the exponent is 0, and the result 1 whatever the base"
    if i == 0:
        return f"the base is {shown(base)} with the exponent {shown(exponent)}"
    return f"the base is {shown(base)}, so that the exponent, {shown(exponent)}, does not matter"


def _argument(text: str) -> Callable[[Record, int], str]:
    def rule(record: Record, i: int) -> str:
        return f"{text}: {shown(record.inputs[i])}"

    return rule


def _quotient(record: Record, i: int) -> str:
    a, b = record.inputs
    if i == 0:
        return f"the divisor is infinite, or so large that the result is 0: {shown(b)}"
    return f"the dividend is 0: {shown(a)}" if not a.array.any() else f"the divisor is very large: {shown(b)}"


def _loop(record: Record, i: int) -> str:
    attrs: Any = record.attrs
    trips = record.outputs[attrs["carries"]].array if attrs["carries"] < len(record.outputs) else None
    if trips is not None and not trips:
        return "it runs for no iteration"
    return "no iteration passes the gradient on"


_SATURATED = "its argument is so large that the result no longer changes"
_RULES: dict[str, Callable[[Record, int], str]] = {
    "relu": _argument("no element of its argument is positive"),
    "abs": _argument("its argument is 0"),
    "sign": _argument("it is flat: its derivative is 0 everywhere, also at"),
    "square": _argument("its argument is 0"),
    "maximum": _extreme("larger"),
    "minimum": _extreme("smaller"),
    "multiply": _product,
    "matmul": _product,
    "divide": _quotient,
    "where": _chosen,
    "pow": _power,
    "sigmoid": _argument(_SATURATED),
    "tanh": _argument(_SATURATED),
    "erf": _argument(_SATURATED),
    "exp": _argument("its argument is so small that the result is 0"),
    "softplus": _argument("its argument is so small that the result is 0"),
    "cos": _argument("its argument is 0, where it is flat"),
    "reduce_max": _argument("the maximum is at elements that do not depend on the source, in"),
    "reduce_min": _argument("the minimum is at elements that do not depend on the source, in"),
    "gather": _argument("the indices name no element that depends on the source, in"),
    "slice": _argument("the elements taken do not depend on the source, in"),
    "dynamic_slice": _argument("the elements taken do not depend on the source, in"),
    "scatter_set": _argument("every element that depends on the source is overwritten, in"),
    "slice_set": _argument("every element that depends on the source is overwritten, in"),
    "cond": lambda record, i: (
        f"the branch taken, for {bool(record.inputs[0].array)}, does not depend on the source"
    ),
    "loop": _loop,
}
