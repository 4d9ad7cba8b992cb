"""Straight-line backwards: the backward of one kind of tape as a Python function of kernel calls, one after another.

The function first verifies that a tape is of its kind: the same ops with the same attributes, who feeds whom, shapes
and dtypes of what comes from outside. Knows no op by name but `multiply`, of which a factor that is ones is
left out, and nothing of which tapes are worth a function.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from ..ir.graph import Graph, Node, Value
from ..op import ops
from ..tensor import Tensor, next_serial
from ..tracing.dispatch import Record
from ..tracing.trace import constant

#: Arrays of fewer bytes may live to the end.
_WORTH_DELETING = 4096

#: ``(records, seeds, sources) -> cotangents``, or None for a tape of another kind.
Backward = Callable[[list[Record], dict[int, Any], Sequence[int]], list[Tensor | None] | None]


def attributes_key(attrs: Mapping[str, Any]) -> Hashable:
    """Attributes to compare and, where they are plain data, to hash: 0.0 and -0.0 are equal and differ."""
    return tuple([(k, v.__class__, v or repr(v)) for k, v in attrs.items()])


def straight_line(
    graph: Graph,
    records: Sequence[Record],
    slots: Sequence[Tensor],
    seeds: Mapping[int, Tensor],
    sources: Sequence[int],
    connected: Sequence[bool],
    units: Mapping[int, Tensor],
) -> Backward:
    """The function for tapes like this one.

    Parameters
    ----------
    graph : Graph
        From the tensors of the tape and its seeds to the cotangents of the sources that are connected.
    records : sequence of Record
    slots : sequence of Tensor
        The tensors of the tape in order of their first use.
    seeds : mapping
        Serial number of a tensor to the cotangent it starts with.
    sources : sequence of int
        Serial numbers.
    connected : sequence of bool
        Per source whether the graph has an output for it.
    units : mapping
        Those seeds that are ones, always the same tensor, by serial number.
    """
    code = _Code()
    code.verify_records(records, {t.serial: i for i, t in enumerate(slots)})
    code.verify_ends(seeds, sources, units)
    code.compute(graph, len(slots), seeds, units, connected)
    return code.function()


class _Code:
    """The lines of a function, and what they name.

    Names: ``r`` a record, ``t`` a tensor of a record, ``g`` a seed, ``v`` an array, ``p`` an op, ``s`` a shape, ``d`` a
    dtype, ``a`` attributes, ``k`` a kernel, ``c`` a literal, ``u`` a seed that is ones, ``y`` a result.

    Attributes
    ----------
    first : dict
        Serial number to the name of the tensor where it comes first.
    held : dict
        Slot to the name of the tensor where it comes first with its value: a record holds the values its own rule uses.
    """

    def __init__(self) -> None:
        self.lines = ["def backward(records, seeds, sources):"]
        self.names: dict[str, Any] = {
            "Tensor": Tensor,
            "new": Tensor.__new__,
            "next_serial": next_serial,
            "ndarray": np.ndarray,
            "asarray": np.asarray,
            "attributes_key": attributes_key,
        }
        self.first: dict[int, str] = {}
        self.held: dict[int, str] = {}

    def add(self, line: str) -> None:
        self.lines.append("    " + line)

    def name(self, prefix: str, thing: Any) -> str:
        name = f"{prefix}{len(self.names)}"
        self.names[name] = thing
        return name

    def refuse_if(self, conditions: Sequence[str]) -> None:
        if conditions:
            self.add(f"if {' or '.join(conditions)}: return None")

    def verify_records(self, records: Sequence[Record], slot: Mapping[int, int]) -> None:
        """Ops, attributes and who feeds whom. Too few or too many of anything fail to unpack."""
        self.add(_unpacked([f"r{i}" for i in range(len(records))], "records"))
        for i, record in enumerate(records):
            attrs = record.attrs
            wrong = [
                f"r{i}.op is not {self.name('p', record.op)}",
                f"attributes_key(r{i}.attrs) != {self.name('a', attributes_key(attrs))}"
                if attrs
                else f"r{i}.attrs",
            ]
            names = [f"t{i}_{j}" for j in range(len(record.inputs) + len(record.outputs))]
            inputs, outputs = names[: len(record.inputs)], names[len(record.inputs) :]
            self.add(_unpacked(inputs, f"r{i}.inputs"))
            self.add(_unpacked(outputs, f"r{i}.outputs"))
            for name, t in zip(inputs, record.inputs, strict=True):
                before = self.first.setdefault(t.serial, name)
                if before is not name:
                    wrong.append(f"{name}.serial != {before}.serial")
                    continue
                shape, dtype = self.name("s", t.shape), self.name("d", t.np_dtype)
                wrong.append(f"{name}._payload.shape != {shape} or {name}.np_dtype is not {dtype}")
            self.refuse_if(wrong)
            for name, t in zip(names, (*record.inputs, *record.outputs), strict=True):
                self.first.setdefault(t.serial, name)
                if t._payload.__class__ is np.ndarray:
                    self.held.setdefault(slot[t.serial], name)
        self.add(f"seen = {{{', '.join(f'{name}.serial' for name in self.first.values())}}}")
        self.refuse_if([f"len(seen) != {len(self.first)}"])

    def verify_ends(
        self, seeds: Mapping[int, Tensor], sources: Sequence[int], units: Mapping[int, Tensor]
    ) -> None:
        """Where it starts, and what is asked for."""
        wrong = [f"len(seeds) != {len(seeds)}", f"len(sources) != {len(sources)}"]
        for i, serial in enumerate(seeds):
            self.add(f"g{i} = seeds.get({self.first[serial]}.serial)")
            wrong.append(
                f"g{i} is not {self.name('u', units[serial])}"
                if serial in units
                else f"g{i}.__class__ is not Tensor"
            )
        for i, serial in enumerate(sources):
            name = self.first.get(serial)
            wrong.append(f"sources[{i}] in seen" if name is None else f"sources[{i}] != {name}.serial")
        self.refuse_if(wrong)

    def compute(
        self,
        graph: Graph,
        slots: int,
        seeds: Mapping[int, Tensor],
        units: Mapping[int, Tensor],
        connected: Sequence[bool],
    ) -> None:
        """The kernels, and the cotangents. What is large is let go as soon as nobody needs it."""
        same = without_units(
            graph, {v for v, s in zip(graph.inputs[slots:], seeds, strict=True) if s in units}
        )
        outputs = [same.get(v, v) for v in graph.outputs]
        nodes, last = needed(graph, outputs, same)
        place: dict[Value, str] = {}
        for i, v in enumerate(graph.inputs):
            if v in last:
                place[v] = f"v{len(place)}"
                self.add(f"{place[v]} = {self.held[i] if i < slots else f'g{i - slots}'}._payload")
                if v in outputs:
                    self.refuse_if([f"{place[v]}.__class__ is not ndarray"])
        for node in nodes:
            (result,) = node.outputs
            if node.op is constant:
                place[result] = self.name("c", node.op.kernel(**node.attrs))
                continue
            place[result] = f"v{len(place)}"
            inputs = [same.get(v, v) for v in node.inputs]
            self.call(node, place[result], [place[v] for v in inputs])
            gone = [
                place[v] for v in dict.fromkeys(inputs) if last[v] is node and _bytes(v) > _WORTH_DELETING
            ]
            gone = [name for name in gone if name.startswith("v")]
            if gone:
                self.add(f"del {', '.join(gone)}")
        take = iter(outputs)
        gradients: list[str] = []
        for c in connected:
            gradients.append(self.tensor(place[next(take)], f"y{len(gradients)}") if c else "None")
        self.add(f"return [{', '.join(gradients)}]")

    def tensor(self, array: str, name: str) -> str:
        """A tensor of an array, as ``Tensor(array)`` makes it, without the calls; its name."""
        self.add(f"{name} = new(Tensor)")
        self.add(f"{name}._payload, {name}._spec = {array}, None")
        self.add(f"{name}.np_dtype, {name}.serial = {array}.dtype, next_serial()")
        return name

    def call(self, node: Node, result: str, inputs: list[str]) -> None:
        kernel = self.name("k", node.op.kernel)
        if node.op.ufunc and not node.attrs:
            usual = f"{result} = {kernel}({', '.join(inputs)}, out=...)"
            if node.op.small is not None:
                self.add(f"{result} = {self.name('k', node.op.small)}({', '.join(inputs)})")
                usual = f"if {result} is None: {usual}"
            self.add(usual)
            return
        attrs = [f"{k}={self.name('a', v)}" for k, v in node.attrs.items()]
        self.add(f"{result} = {kernel}({', '.join(inputs + attrs)})")
        self.add(f"if {result}.__class__ is not ndarray: {result} = asarray({result})")

    def function(self) -> Backward:
        exec(compile("\n".join(self.lines), "<straight-line backward>", "exec"), self.names)
        return self.names["backward"]


def _unpacked(names: Sequence[str], what: str) -> str:
    return f"[{', '.join(names)}] = {what}"


def _bytes(v: Value) -> int:
    size = v.spec.size
    return size * v.spec.dtype.itemsize if isinstance(size, int) else 0


def needed(
    graph: Graph, outputs: Sequence[Value], same: Mapping[Value, Value]
) -> tuple[list[Node], dict[Value, Node | None]]:
    """The nodes that the outputs depend on, in order; all values in use, and their last use, None for outputs."""
    last: dict[Value, Node | None] = dict.fromkeys(outputs)
    nodes = []
    for node in reversed(graph.nodes):
        if node.outputs[0] in last:
            nodes.append(node)
            for v in node.inputs:
                last.setdefault(same.get(v, v), node)
    return nodes[::-1], last


def without_units(graph: Graph, units: set[Value]) -> dict[Value, Value]:
    """Products with a seed that is ones, and the other factor, which they equal unless they are complex."""
    same: dict[Value, Value] = {}
    for node in graph.nodes:
        if node.op is ops.multiply and node.outputs[0].spec.dtype.kind != "c":
            a, b = node.inputs
            for one, other in ((a, b), (b, a)):
                if one in units and other.spec == node.outputs[0].spec:
                    same[node.outputs[0]] = same.get(other, other)
    return same
