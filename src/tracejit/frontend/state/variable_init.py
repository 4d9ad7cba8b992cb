"""Variables that a function creates while it is traced: whether this is allowed, and their initial values.

Knows a Variable only as the owner of what a trace holds for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from ...core.errors import Untraceable, at, user_location
from ...core.ir.graph import Graph, Node, Value
from ...core.tensor import Tensor
from ...core.tracing.trace import Trace, replay
from ...core.tracing.transaction import remember


class CreationError(Untraceable, ValueError):
    """A Variable was created where a compiled function may not create one.

    Examples
    --------
    >>> import tracejit as tf
    >>> f = tf.function(lambda x: tf.Variable(1.0) + x)
    >>> try:
    ...     f(1.0)
    ... except tf.errors.CreationError as error:
    ...     print(type(error).__name__)
    CreationError
    """

    __module__ = "tracejit.errors"


def permit_creation(now: Trace, variable: Any) -> None:
    """A traced function may create Variables on its first call only."""
    created = getattr(now, "created", None)
    if created is None:
        raise CreationError(
            "a compiled function creates Variables on its first call only, outside of loops and branches; make them "
            f"before, or keep them in an object that lives on{at(user_location())}"
        )
    created.append(variable)


def begin_anew(now: Trace, state: Any, first: Any) -> None:
    """A random generator is made while tracing: let it begin with its seed wherever the traced code makes it.

    On a function's first call it may be meant to live on, as Variables are that are created there: the function is
    traced again, and a generator that is then made again is the call's own, which nobody else need keep.
    """
    outer: Any = now
    while outer is not None and not hasattr(outer, "generators"):
        outer = outer.parent
    if outer is not None:
        if outer.created is not None:
            outer.created.append(state)
        if outer.created is not None and outer is now:
            return
        outer.generators.append(state)
    state.assign(first)
    now.held[id(state)].local = True


def initial_value_of(now: Trace, tensor: Tensor) -> Tensor:
    """The value of a traced tensor that depends on nothing but constants and Variables.

    It is computed at once, from what the Variables were before the call; numbers drawn for it count as drawn.
    """
    graph = tensor.value.graph
    held = {h.entry.value: h for h in now.held.values()}
    known = {value: t for t, value in now.captures.values() if not t.is_symbolic}
    nodes, needed = _needed(graph, [tensor.value])
    drawn = [h for v, h in held.items() if v in needed and h.owner.counts_draws]
    outputs = [tensor.value, *(h.now.value for h in drawn)]
    nodes, needed = _needed(graph, outputs)
    inputs = [v for v in graph.inputs if v in needed]
    if any(v not in held and v not in known for v in inputs):
        raise CreationError(
            "the initial value of a Variable depends on the function's arguments: make the Variable once, outside of "
            "the function or with a value that needs no argument, and assign to it what the arguments give"
            f"{at(user_location())}"
        )
    before = _BEFORE.setdefault(now, {})
    values = [
        known[v] if v in known else before.setdefault(id(held[v].owner), held[v].owner._value) for v in inputs
    ]
    part = Graph("initial_value", inputs=inputs, nodes=nodes, outputs=outputs)
    initial, *counted = replay(part, values)
    for h, count in zip(drawn, counted, strict=True):
        remember(id(h.owner), partial(_as_now, h.owner))
        h.owner.commit(count.array)
    return initial


def _as_now(owner: Any) -> Callable[[], None]:
    """How to give it the value back that it has now."""
    return partial(owner.commit, owner._value.array)


#: By trace, what Variables were before it, by identity: initial values may have moved them on since.
_BEFORE: WeakKeyDictionary[Trace, dict[int, Tensor]] = WeakKeyDictionary()


def _needed(graph: Graph, outputs: list[Value]) -> tuple[list[Node], set[Value]]:
    """The nodes that the outputs depend on, in order, and all values they use."""
    needed, nodes = set(outputs), []
    for node in reversed(graph.nodes):
        if any(v in needed for v in node.outputs):
            nodes.append(node)
            needed.update(node.inputs)
    return nodes[::-1], needed
