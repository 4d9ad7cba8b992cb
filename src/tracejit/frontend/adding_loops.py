"""The `loop` op as the functions and the converted statements add it to a trace, with the Variables that it assigns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.dispatch import apply
from ..core.op import ops
from ..core.spec import TensorSpec
from ..core.tensor import Tensor
from .regions import Region, share_captures
from .variable import Variable

INDEX = TensorSpec((), np.dtype(np.int64))


def add_loop(
    count: list[Tensor],
    carry: list[Tensor],
    rows: list[Tensor],
    variables: Sequence[Variable],
    body: Region,
    test: Region | None,
    attrs: dict[str, Any],
) -> tuple[Tensor, ...]:
    """Add a loop to the trace; returns its carries, trip count and stacks, Variables' carries apart."""
    captured = share_captures(*((body, test) if test is not None else (body,)))
    state = [v.current() for v in variables]
    for v in variables:
        v.announce()
    _order_outputs(body, len(carry), len(state))
    _order_inputs(body, len(carry), len(rows), len(state))
    found = apply(
        ops.loop,
        (*count, *carry, *state, *rows, *captured),
        {
            "carries": len(carry) + len(state),
            "rows": len(rows),
            "length": attrs["length"],
            "counted": attrs["counted"],
            "body": body.graph,
            "cond": None if test is None else test.graph,
            "reverse": attrs["reverse"],
            **({"memory": attrs["memory"]} if "memory" in attrs else {}),
        },
    )
    n = len(carry)
    for v, value in zip(variables, found[n : n + len(state)], strict=True):
        v.store(value)
    return (*found[:n], *found[n + len(state) :])


def _order_outputs(body: Region, carries: int, state: int) -> None:
    """The region returns (carries, ys, state); a loop's body (carries, state, ys)."""
    outs = body.graph.outputs
    end = len(outs) - state
    body.graph.outputs = [*outs[:carries], *outs[end:], *outs[carries:end]]


def _order_inputs(body: Region, carries: int, rows: int, state: int) -> None:
    """The region takes (i, carries, rows, state, captured); a loop's body (i, carries, state, rows, captured)."""
    ins = body.graph.inputs
    a = 1 + carries
    b = a + rows
    body.graph.inputs = [*ins[:a], *ins[b : b + state], *ins[a:b], *ins[b + state :]]
