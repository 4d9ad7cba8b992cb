"""Control flow built by hand: the ops `loop`, `cond`, `call` and `custom` around traced Python functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.core.ir.graph import Graph
from tracejit.core.op import OPS
from tracejit.core.spec import TensorSpec
from tracejit.core.tensor import Tensor
from tracejit.core.tracing.dispatch import apply, as_tensor
from tracejit.core.tracing.trace import trace

Function = Callable[..., Any]

INDEX = TensorSpec((), "int64")


def region(f: Function, specs: Sequence[TensorSpec]) -> Graph:
    """The graph of ``f(*tensors)``, which must be closed."""
    traced = trace(lambda *xs: listed(f(*xs)), specs)
    assert not traced.captured, "name what a region captures as an input"
    return traced.graph


def listed(result: Any) -> list:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def row_spec(x: Tensor) -> TensorSpec:
    return TensorSpec(x.shape[1:], x.dtype)


def loop(
    body: Function,
    init: Sequence[Any],
    xs: Sequence[Any] = (),
    captured: Sequence[Any] = (),
    *,
    length: Any = None,
    count: Any = None,
    cond: Function | None = None,
    reverse: bool = False,
) -> tuple[Tensor, ...]:
    """``body(i, *carries, *rows, *captured) -> carries and rows``; returns carries, trip count, rows."""
    init, xs, captured = ([as_tensor(t) for t in group] for group in (init, xs, captured))
    counts = [] if count is None else [as_tensor(np.int64(count) if isinstance(count, int) else count)]
    carried, held = [t.spec for t in init], [t.spec for t in captured]
    attrs = {
        "carries": len(init),
        "rows": len(xs),
        "length": length,
        "counted": count is not None,
        "body": region(body, [INDEX, *carried, *map(row_spec, xs), *held]),
        "cond": None if cond is None else region(cond, [*carried, *held]),
        "reverse": reverse,
    }
    found = apply(OPS["loop"], (*counts, *init, *xs, *captured), attrs)
    return found[: 1 + len(attrs["body"].outputs)]  # a recorded loop returns what its backward needs as well


def cond(pred: Any, then: Function, orelse: Function, *captured: Any) -> tuple[Tensor, ...]:
    """One of two functions of the captured tensors."""
    tensors = [as_tensor(t) for t in captured]
    specs = [t.spec for t in tensors]
    regions = {"then": region(then, specs), "orelse": region(orelse, specs)}
    return apply(OPS["cond"], (as_tensor(pred), *tensors), regions)


def call(f: Function, *xs: Any) -> tuple[Tensor, ...]:
    """A graph that is run as one op."""
    tensors = [as_tensor(x) for x in xs]
    graph = region(f, [t.spec for t in tensors])
    return apply(OPS["call"], tuple(tensors), {"graph": graph})[: len(graph.outputs)]


def custom(
    body: Function, rule: Function, kept: int, *xs: Any, connected: Sequence[bool] | None = None
) -> tuple[Tensor, ...]:
    """``body(*xs) -> (*outputs, *kept)`` with the gradient ``rule(*kept, *cotangents)``: the outputs."""
    tensors = [as_tensor(x) for x in xs]
    graph = region(body, [t.spec for t in tensors])
    specs = [v.spec for v in graph.outputs]
    outputs = len(specs) - kept
    attrs = {
        "body": graph,
        "rule": region(rule, [*specs[outputs:], *specs[:outputs]]),
        "outputs": outputs,
        "connected": tuple(connected or (True,) * len(tensors)),
    }
    return apply(OPS["custom"], tuple(tensors), attrs)[:outputs]
