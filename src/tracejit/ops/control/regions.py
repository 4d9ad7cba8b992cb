"""What ops that hold graphs share: running a region on arrays, zeros, and positions of flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...core.autodiff.scattered import dense
from ...core.ir.graph import Graph
from ...core.op import ops
from ...core.spec import TensorSpec
from ...core.tensor import Tensor
from ...core.tracing.dispatch import interpreting, state
from ...core.tracing.interpreters import Eager
from ...core.tracing.loop_form import INDEX as INDEX
from ...core.tracing.loop_form import LoopForm
from ...core.tracing.trace import replay

#: Traits of the ops that hold graphs.
REGION = ("multiple", "runs_graphs", "expensive", "internal")


def run_graph(graph: Graph, arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Run a region on arrays, kernel by kernel, under the interpreter in charge if it looks on."""
    onlooker = state.interpreter if isinstance(state.interpreter, Eager) else None
    with interpreting(onlooker):
        return tuple(t.array for t in replay(graph, [Tensor(a) for a in arrays]))


def zeros_like(spec: Any) -> Tensor:
    """Zeros of the shape and dtype of a tensor or spec."""
    return ops.fill(shape=tuple(spec.shape), value=0.0, dtype=spec.dtype)


def recorded_for_reverse(recorders: Sequence[Any] | None = None) -> bool:
    """Does anybody listen who may walk back? A recorder of forward mode says ``reverse = False``."""
    for recorder in state.recorders if recorders is None else recorders:
        if getattr(recorder, "reverse", True):
            return True
    return False


def positions(flags: Sequence[bool]) -> list[int]:
    """Where the flags are set."""
    return [i for i, f in enumerate(flags) if f]


def given(cotangents: Sequence[Any]) -> list[Tensor]:
    """Those that are not None, dense."""
    return [g for g in map(dense, cotangents) if g is not None]


def filled(cotangent: Any, y: Tensor) -> Tensor:
    """The cotangent of `y` as a tensor: zeros for None."""
    g = dense(cotangent)
    return zeros_like(y) if g is None else g


def inputs_of_op(inputs: Sequence[TensorSpec], attrs: Mapping[str, Any]) -> Sequence[TensorSpec]:
    """What a region is run on that takes what its op takes."""
    return inputs


def inputs_of_body(inputs: Sequence[TensorSpec], attrs: Mapping[str, Any]) -> Sequence[TensorSpec]:
    """What the body of a loop is run on: the index, the carries, a row of each of the xs, the consts."""
    return LoopForm(inputs, attrs).specs.of_body(INDEX)


def inputs_of_test(inputs: Sequence[TensorSpec], attrs: Mapping[str, Any]) -> Sequence[TensorSpec]:
    """What the condition of a loop is run on: the carries and the consts."""
    return LoopForm(inputs, attrs).specs.of_cond()
