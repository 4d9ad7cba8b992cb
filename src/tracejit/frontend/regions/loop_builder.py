"""The `loop` op as the functions and the converted statements add it to a trace, with the Variables that it assigns."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.dim import Size
from ...core.tensor import Tensor
from ...core.tracing.loop_form import INDEX as INDEX
from ...core.tracing.loop_form import LoopForm, Parts, Results
from ..state.variable import Variable
from .memory_policies import Policy
from .region import Region, share_captures


def add_loop(
    body: Region,
    test: Region | None,
    carry: Sequence[Tensor],
    xs: Sequence[Tensor] = (),
    variables: Sequence[Variable] = (),
    *,
    count: Tensor | None = None,
    length: Size | None = None,
    reverse: bool = False,
    memory: Policy = "save",
) -> Results:
    """Add a loop to the trace; returns its results, Variables apart."""
    consts = share_captures(*((body, test) if test is not None else (body,)))
    state = [v.current() for v in variables]
    for v in variables:
        v.announce()
    _order_outputs(body, len(carry), len(state))
    _order_inputs(body, len(carry), len(xs), len(state))
    loop = LoopForm.make(
        body.graph,
        (*carry, *state),
        xs,
        consts,
        cond=None if test is None else test.graph,
        count=count,
        length=length,
        reverse=reverse,
        memory=memory,
    )
    found, n = loop.apply(), len(carry)
    for v, value in zip(variables, found.carry[n:], strict=True):
        v.store(value)
    return found._replace(carry=found.carry[:n])


def _order_outputs(body: Region, carries: int, state: int) -> None:
    """The region returns (carries, ys, state): in a loop's body Variables are carries."""
    outs = body.graph.outputs
    end = len(outs) - state
    body.graph.outputs = Results([*outs[:carries], *outs[end:]], None, outs[carries:end]).of_body()


def _order_inputs(body: Region, carries: int, xs: int, state: int) -> None:
    """The region takes (i, carries, rows, state, captured): in a loop's body Variables are carries."""
    i, *ins = body.graph.inputs
    a = carries + xs
    b = a + state
    parts = Parts([*ins[:carries], *ins[a:b]], ins[carries:a], ins[b:])
    body.graph.inputs = list(parts.of_body(i))
