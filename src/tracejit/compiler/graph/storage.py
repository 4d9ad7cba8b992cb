"""bfloat16 in compiled graphs: values are held as integers, and casts are arithmetic on bits.

The door (`core.tracing.promotion`) lets graphs compute in float32, so that bfloat16 stands only where values are kept
or handed on: inputs and outputs, constants, what loops carry, casts. No later pass and no code hears of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.dtype import BFLOAT16
from ...core.errors import TracejitError, at
from ...core.ir.graph import Constant, Graph, Node, Value, walk
from ...core.op import Op, ops
from ...core.spec import TensorSpec
from ...ops.python_calls import number_of

BITS, WIDE = np.dtype(np.uint16), np.dtype(np.float32)


def as_bits(graph: Graph) -> Graph:
    """The graph with integers in place of bfloat16, made once; itself where it holds none.

    Its inputs and outputs are memory of the same bits, its constants go by the names that they had.
    """
    if "of bits" not in graph.derived:
        graph.derived["of bits"] = _Written(graph).new if BFLOAT16 and _holds(graph) else graph
    made: Graph = graph.derived["of bits"]
    return made


def with_bits(array: np.ndarray) -> np.ndarray:
    """The bits of an array of bfloat16; any other array as it is."""
    return array.view(BITS) if array.dtype.kind == "V" else array


def _holds(graph: Graph) -> bool:
    return any(v.spec.dtype.kind == "V" for v in graph.inputs) or any(
        v.spec.dtype.kind == "V" for _, node in walk(graph) for v in node.outputs
    )


def _kept(spec: TensorSpec) -> TensorSpec:
    return spec.with_dtype(BITS) if spec.dtype.kind == "V" else spec


def _attribute(x: Any) -> Any:
    return as_bits(x) if isinstance(x, Graph) else x


class _Written:
    """The graph that is written in place of another one."""

    def __init__(self, graph: Graph):
        self.new: Graph = Graph(graph.name, state=graph.state, guards=graph.guards, finished=True)
        self.env: dict[Value, Value] = {v: self.new.add_input(_kept(v.spec)) for v in graph.inputs}
        for node in graph.nodes:
            inputs = tuple([self.env[v] for v in node.inputs])
            self.env.update(zip(node.outputs, self.node(node, inputs), strict=True))
        self.new.outputs = [self.env[v] for v in graph.outputs]

    def node(self, node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        """What stands in its place."""
        before = [v.spec.dtype.kind == "V" for v in node.inputs]
        after = [v.spec.dtype.kind == "V" for v in node.outputs]
        if not any(before) and not any(after):
            attrs = {k: _attribute(x) for k, x in node.attrs.items()}
            return self.add(node, node.op, inputs, attrs, [v.spec for v in node.outputs])
        if node.op is ops.cast:
            return [self.cast(node, inputs[0], before[0], after[0])]
        if (
            not any(before) and node.attrs.get("dtype") == BFLOAT16[0]
        ):  # made by rule: as float32, and rounded
            specs = [v.spec.with_dtype(WIDE) if narrow else v.spec for v, narrow in zip(node.outputs, after)]
            made = self.add(node, node.op, inputs, {**node.attrs, "dtype": WIDE}, specs)
            return [self.rounded(node, v) if narrow else v for v, narrow in zip(made, after)]
        if not node.op.takes_bfloat16 and not node.op.literal:
            raise TracejitError(f"compiled code has no bfloat16 in {node.op}{at(node.location)}")
        if node.op is ops.bitcast and inputs[0].spec == _kept(node.outputs[0].spec):
            return inputs
        attrs = self.attributes(node, before)
        return self.add(node, node.op, inputs, attrs, [_kept(v.spec) for v in node.outputs])

    def attributes(self, node: Node, before: Sequence[bool]) -> dict[str, Any]:
        """The attributes that do to bits what the node's do to numbers."""
        attrs = {k: _attribute(x) for k, x in node.attrs.items()}
        if node.op.literal and isinstance(attrs["value"], Constant):
            held = attrs["value"]
            attrs["value"] = Constant(held.array.view(BITS), held.key)
        if attrs.get("type") == "bfloat16":
            attrs["type"] = BITS.name
        if "this_process" in node.op.traits:
            attrs["function"] = number_of(_OfBits(attrs["function"].function, before))
            if "dtypes" in attrs:
                attrs["dtypes"] = tuple([BITS.name if d == "bfloat16" else d for d in attrs["dtypes"]])
        return attrs

    def add(
        self,
        node: Node,
        op: Op,
        inputs: tuple[Value, ...],
        attrs: dict[str, Any],
        specs: Sequence[TensorSpec],
    ) -> Sequence[Value]:
        return self.new.add(op, inputs, attrs, tuple(specs), node.location)

    def cast(self, node: Node, x: Value, before: bool, after: bool) -> Value:
        """A cast: to others, and from them, by way of float32."""
        if before and after:
            return x
        wide = x.spec.with_dtype(WIDE)
        if before:
            (x,) = self.add(node, ops.of_bfloat16_bits, (x,), {}, [wide])
            spec = node.outputs[0].spec
            return (
                x if spec.dtype == WIDE else self.add(node, ops.cast, (x,), {"dtype": spec.dtype}, [spec])[0]
            )
        if x.spec.dtype != WIDE:
            (x,) = self.add(node, ops.cast, (x,), {"dtype": WIDE}, [wide])
        return self.rounded(node, x)

    def rounded(self, node: Node, x: Value) -> Value:
        return self.add(node, ops.bfloat16_bits, (x,), {}, [x.spec.with_dtype(BITS)])[0]


class _OfBits:
    """A function of arrays, as compiled code calls it: with bits in place of bfloat16, in and out."""

    def __init__(self, function: Any, narrow: Sequence[bool]):
        self.function, self.narrow = function, tuple(narrow)

    def __call__(self, *arrays: np.ndarray) -> Any:
        return self._called(self.function, arrays)

    def keeping(self, *arrays: np.ndarray) -> Any:
        """As it is called where the gradient is asked for."""
        return self._called(self.function.keeping, arrays)

    @property
    def notes(self) -> Any:
        return self.function.notes

    def _called(self, f: Any, arrays: Sequence[np.ndarray]) -> Any:
        found = f(
            *[a.view(BFLOAT16[0]) if narrow else a for a, narrow in zip(arrays, self.narrow, strict=True)]
        )
        if found is None:
            return None
        return [with_bits(np.asarray(y)) for y in found]

    def __repr__(self) -> str:
        return repr(self.function)
