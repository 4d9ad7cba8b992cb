"""Gradients of what a function has computed so far while it is traced, for programs that record on no tape.

The part of the graph that leads from the sources to the targets is differentiated as any graph is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.autodiff.backprop import pull_back
from ...core.errors import at, user_location
from ...core.ir.graph import Graph, Node, Value, silent
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor
from ...core.tracing.trace import Trace
from ...ops.arrays.shape import ones, zeros
from ..state.variable import Variable, tracer
from ..structure import flatten
from .unconnected import UnconnectedGradients, wants_zeros


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
) -> list[Any]:
    """The gradients of the sum of `ys` with respect to each of `xs`, in a function that is being compiled.

    Parameters
    ----------
    ys : Tensor or sequence of Tensors
        What the function has computed.
    xs : Tensor, Variable or sequence of these
        What it was computed from: arguments, Variables, and results on the way.
    grad_ys : sequence like `ys`, optional
        Weights of their elements; None is 1.
    name, gate_gradients, aggregation_method
        Accepted for programs written for other libraries, and ignored.
    stop_gradients : Tensor or sequence of Tensors, optional
        Taken as constants.
    unconnected_gradients : UnconnectedGradients or str
        ``"none"`` or ``"zero"``: what to give where nothing connects.

    Returns
    -------
    list
        One for each of `xs`, of its shape and dtype, or None.

    Raises
    ------
    RuntimeError
        Outside of compiled functions: record on a :class:`GradientTape`.
    ValueError
        In a loop or branch, for what was computed outside of it; for a Variable that the function has assigned.

    Examples
    --------
    >>> import tracejit as tf
    >>> @tf.function
    ... def f(x):
    ...     y = x**3
    ...     return tf.gradients(y, [x, y])
    >>> [float(g) for g in f(tf.constant(2.0))]
    [12.0, 1.0]
    """
    trace = tracer()
    if trace is None:
        raise RuntimeError(
            f"gradients() is for functions that are being compiled: record on a GradientTape{at(user_location())}"
        )
    sources = [_source(trace, x) for x in _several(xs)]
    targets = [_own(trace, as_tensor(y)) for y in _several(ys)]
    weights = [None] * len(targets) if grad_ys is None else _several(grad_ys)
    if len(weights) != len(targets):
        raise ValueError(f"{len(targets)} ys have {len(weights)} grad_ys{at(user_location())}")
    seeds = [
        ones(y.spec.shape, y.spec.dtype) if g is None else as_tensor(g, y.spec.dtype)
        for y, g in zip(targets, weights, strict=True)
    ]
    fixed = {_own(trace, as_tensor(x)) for x in _several(stop_gradients)}
    found = [_gradient(trace, targets, seeds, x, fixed) for x in sources]
    if wants_zeros(unconnected_gradients):
        found = [
            zeros(x.spec.shape, x.spec.dtype) if g is None else g for g, x in zip(found, sources, strict=True)
        ]
    return found


def _several(given: Any) -> list[Any]:
    return [] if given is None else flatten(given)[0]


def _own(trace: Trace, tensor: Tensor) -> Value:
    """The value of a tensor in the trace; ValueError for what was computed around a loop or branch."""
    payload: Any = tensor._payload
    if payload.__class__ is Value and payload.graph is not trace.graph:
        raise ValueError(
            f"gradients() in a loop or branch is of what is computed there, and from there: {tensor.spec} comes from "
            f"outside{at(user_location())}"
        )
    return trace.value(tensor)


def _source(trace: Trace, x: Any) -> Value:
    if not isinstance(x, Variable):
        return _own(trace, as_tensor(x))
    held = trace.hold(x, x.spec)
    if held.assigned:
        raise ValueError(
            f"{x.name!r} has another value by now than it was computed with: ask for gradients() before it is assigned"
            f"{at(user_location())}"
        )
    return _own(trace, held.now)


def _gradient(
    trace: Trace, targets: Sequence[Value], seeds: Sequence[Tensor], x: Value, fixed: set[Value]
) -> Tensor | None:
    """The gradient of the targets, weighted by seeds, with respect to one value."""
    if not x.spec.differentiable:
        return None
    nodes = _between(trace.graph, x, targets, fixed)
    part, env = Graph("gradients", finished=True), dict[Value, Value]()
    made = {v for node in nodes for v in node.outputs} - fixed
    around = [x, *(v for node in nodes for v in node.inputs if v not in made and v is not x)]
    around = list(dict.fromkeys(around))
    given = {v: part.add_input(v.spec) for v in around}
    for node in nodes:
        env.update(given)
        part.add_copy(node, env)
    env.update(given)
    reached = [(y, g) for y, g in zip(targets, seeds, strict=True) if y in made or y is x]
    if not reached:
        return None
    part.outputs = [env[y] for y, _ in reached]
    wanted = [v is x for v in around]
    primals = [Tensor(v, v.spec) for v in around]
    _, (found,) = pull_back(silent(part), primals, [g for _, g in reached], wanted)
    return found


def _between(graph: Graph, x: Value, targets: Sequence[Value], fixed: set[Value]) -> list[Node]:
    """The nodes through which targets depend on `x`, in order."""
    reached, after = {x}, list[Node]()
    for node in graph.nodes:
        if (
            x not in node.outputs
            and not fixed.issuperset(node.outputs)
            and not reached.isdisjoint(node.inputs)
        ):
            after.append(node)
            reached.update(v for v in node.outputs if v not in fixed)
    needed, nodes = set(targets), list[Node]()
    for node in reversed(after):
        if not needed.isdisjoint(node.outputs):
            nodes.append(node)
            needed.update(node.inputs)
    return nodes[::-1]
