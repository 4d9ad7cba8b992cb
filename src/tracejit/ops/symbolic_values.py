"""Sizes from numbers: the sizes that a traced integer tensor such as ``tf.shape(x)[0]`` holds.

Read off the graph, where what was computed from sizes is a size again. A number that nobody knows becomes one by
counting: a loop that runs so often makes an axis as long. Knows of no op but how it passes sizes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..core.dim import Size, maximum
from ..core.errors import DtypeError, at, user_location
from ..core.ir.graph import Graph, Node, Value
from ..core.ir.literals import of_literals
from ..core.op import ops
from ..core.seams import known_while_tracing
from ..core.spec import TensorSpec
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor, interpreting, state
from ..core.tracing.loop_form import LoopForm
from ..core.tracing.trace import Trace

_INDEX = TensorSpec((), np.dtype(np.int64))

SymbolicValues = tuple[Size, ...]


def symbolic_values(x: Tensor) -> SymbolicValues | None:
    """The sizes in a scalar or vector of integers, in order; None where they are not known to be sizes."""
    return _symbolic_values(x._payload) if x.np_dtype.kind in "iu" and len(x.shape) < 2 else None


def _symbolic_values(value: Any) -> SymbolicValues | None:
    """Worked out once per value, and without recursion: what counts while tracing is a chain as long as the program."""
    waiting = [value]
    while waiting:
        v = waiting[-1]
        missing = [] if _is_known(v) else [u for u in _sources(v) if not _is_known(u)]
        if missing:
            waiting += missing
            continue
        if not _is_known(v):
            _memo(v.graph)[v] = _passed_on(v)
        waiting.pop()
    return _known(value)


def _memo(graph: Graph) -> dict[Value, SymbolicValues | None]:
    """What was worked out of the values of a graph."""
    return graph.derived.setdefault("symbolic values", {})


def _is_known(value: Any) -> bool:
    return value.__class__ is not Value or value in _memo(value.graph)


def _known(value: Any) -> SymbolicValues | None:
    return _memo(value.graph)[value] if value.__class__ is Value else tuple(np.ravel(value).tolist())


def _sources(value: Value) -> Sequence[Any]:
    """What the sizes in it come from: the inputs of an op that passes them on, or what was captured."""
    node = value.node
    if len(value.spec.shape) > 1:
        return ()
    if node is not None:
        return node.inputs if node.op.size_rule is not None else ()
    outside = _outside(value)
    return () if outside is value else (outside,)


def _passed_on(value: Value) -> SymbolicValues | None:
    sources = _sources(value)
    held = [_known(v) for v in sources]
    node = value.node
    if len(value.spec.shape) > 1:
        return None
    if node is None:
        return held[0] if held else None
    sizes = [h for h in held if h is not None]
    rule = node.op.size_rule
    found = None if rule is None or len(sizes) < len(held) else rule(node, sizes)
    if found is not None or value.spec.dtype.kind not in "iu":
        return found
    made = of_literals(value)
    return None if made is None else tuple(made.ravel().tolist())


def _outside(value: Any) -> Any:
    """What a loop or branch being traced has captured, as it is outside."""
    now: Any = state.interpreter
    while isinstance(now, Trace) and value.__class__ is Value:
        captured = next((t for t, v in now.captures.values() if v is value), None)
        value = value if captured is None else captured._payload
        now = now.parent
    return value


# ---- how ops pass sizes on ------------------------------------------------------------------------------


def each_size(
    f: Callable[[Size, Size], Size],
) -> Callable[[Node, Sequence[SymbolicValues]], SymbolicValues | None]:
    """The rule of arithmetic: `f` of one size of either input, element by element."""

    def rule(node: Node, inputs: Sequence[SymbolicValues]) -> SymbolicValues | None:
        a, b = inputs
        n = max(len(a), len(b))
        if {len(a), len(b)} - {1, n}:
            return None
        return tuple(map(f, a * (n // len(a)), b * (n // len(b)))) if n else ()

    return rule


def same_sizes(node: Node, inputs: Sequence[SymbolicValues]) -> SymbolicValues | None:
    """The rule of what leaves integers as they are."""
    return inputs[0] if node.outputs[0].spec.dtype.kind in "iu" else None


def known_array(x: Tensor) -> np.ndarray | None:
    """The array of a traced tensor that the numbers of the program alone make, also outside of a loop; else None."""
    return of_literals(origin(x))


known_while_tracing.provide(known_array)


# ---- sizes by counting ----------------------------------------------------------------------------------

_counted: WeakKeyDictionary[Trace, dict[Value, Tensor]] = WeakKeyDictionary()


def size_of(x: Tensor) -> Size:
    """The size that a traced scalar integer stands for; the same for the same tensor."""
    if x.np_dtype.kind not in "iu":
        raise DtypeError(f"a size is an integer, not {x.spec}: cast it first{at(user_location())}")
    held = symbolic_values(x)
    if held is not None:
        return held[0]
    node = x._payload.node
    if node is not None and node.op is ops.multiply and not any(v.spec.shape for v in node.inputs):
        a, b = (size_of(Tensor(v, v.spec)) for v in node.inputs)
        return a * b
    (size,) = counting(x).shape
    return size


def checked_size_of(x: Tensor) -> Size:
    """The same, where the program fails if the integer is negative."""
    size = size_of(x)
    if not x.shape and symbolic_values(x) is None:
        enough = ops.cast(ops.greater_equal(x, 0), dtype=np.dtype(np.float32))
        ops.check(enough, message="sizes are not negative, and one of this shape is", error="ValueError")
    return size


def counting(x: Tensor) -> Tensor:
    """``[0, 1, ...]``, int64, as many as the traced scalar integer `x` says; made where `x` is known first."""
    number = _original(x._payload)
    now: Any = home_of([number])
    made = _counted.setdefault(now, {}).get(number)
    if made is None or made._payload.graph is not now.graph:  # an iteration that was taken back had made it
        with interpreting(now):
            made = _counted[now][number] = _loop(Tensor(number, number.spec))
            now.counting.add(made._payload.node)
    return made


def origin(x: Tensor) -> Value:
    """What a traced tensor was before loops and branches captured it."""
    value = _outside(x._payload)
    return value if value.__class__ is Value else x._payload  # what has a value is known where it is captured


def home_of(numbers: Sequence[Any]) -> Trace | None:
    """The innermost trace that one of these traced values is in; None where none is traced."""
    graphs = [n.graph for n in numbers if n.__class__ is Value]
    now: Any = state.interpreter
    while isinstance(now, Trace) and isinstance(now.parent, Trace) and now.graph not in graphs:
        now = now.parent
    return now if isinstance(now, Trace) else None


def _original(value: Value) -> Value:
    value = _outside(value)
    node = value.node
    if node is None or node.op not in (ops.cast, ops.identity) or node.inputs[0].spec.dtype.kind not in "iu":
        return value
    return _original(node.inputs[0])


def _loop(x: Tensor) -> Tensor:
    held = symbolic_values(x)
    length = None if held is None else maximum(held[0], 0)
    count = ops.cast(x, dtype=_INDEX.dtype) if x.np_dtype != _INDEX.dtype else x
    times = None if held else ops.maximum(count, as_tensor(np.int64(0)))
    loop = LoopForm.written(lambda i, carry, xs, consts: ((), [i]), count=times, length=length)
    return loop.apply().ys[0]


def sizes_in(shape: Any) -> tuple[Size, ...] | None:
    """The sizes in a traced vector or scalar of integers; None for a vector of which they are not known."""
    if shape.shape == ():
        return (size_of(shape),)
    return symbolic_values(shape)
