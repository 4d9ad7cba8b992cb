"""Straight-line backwards: the backward of one kind of tape as a Python function of kernel calls, one after another.

The function first verifies that a tape is of its kind: the same ops with the same attributes, who feeds whom, shapes
and dtypes of what comes from outside. Knows no op by name but `multiply`, of which a factor that is the number one is
left out, and nothing of which tapes are worth a function.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from .dispatch import Record
from .graph import Graph, Node, Value
from .tensor import Tensor
from .trace import constant

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
        Those seeds that are the number one and stay so, by serial number.
    """
    code = _Code()
    code.verify_records(records, {t.serial: i for i, t in enumerate(slots)})
    code.verify_ends(seeds, sources, units)
    code.compute(graph, slots, seeds, units, connected)
    return code.function()


class _Code:
    """The lines of a function, and what they name.

    Names: ``r`` a record, ``t`` a tensor of the tape by its slot, ``g`` a seed, ``x`` a tensor to be compared, ``v`` an
    array, ``p`` an op, ``s`` a shape, ``d`` a dtype, ``a`` attributes, ``k`` a kernel.
    """

    def __init__(self) -> None:
        self.lines = ["def backward(records, seeds, sources):"]
        self.names: dict[str, Any] = {
            "Tensor": Tensor,
            "ndarray": np.ndarray,
            "asarray": np.asarray,
            "attributes_key": attributes_key,
        }
        self.number: dict[int, int] = {}

    def add(self, line: str) -> None:
        self.lines.append("    " + line)

    def name(self, prefix: str, thing: Any) -> str:
        found = f"{prefix}{len(self.names)}"
        self.names[found] = thing
        return found

    def refuse_if(self, conditions: Sequence[str]) -> None:
        if conditions:
            self.add(f"if {' or '.join(conditions)}: return None")

    def verify_records(self, records: Sequence[Record], number: dict[int, int]) -> None:
        """Ops, attributes and who feeds whom. Too few or too many of anything fail to unpack."""
        self.number = number
        self.add(_unpacked([f"r{i}" for i in range(len(records))], "records"))
        known: set[int] = set()
        for i, record in enumerate(records):
            wrong = [f"r{i}.op is not {self.name('p', record.op)}"]
            attrs = record.attrs
            wrong.append(
                f"attributes_key(r{i}.attrs) != {self.name('a', attributes_key(attrs))}"
                if attrs
                else f"r{i}.attrs"
            )
            inputs = []
            for j, t in enumerate(record.inputs):
                n = number[t.serial]
                if n in known:
                    inputs.append(f"x{j}")
                    wrong.append(f"x{j} is not t{n}")
                else:
                    known.add(n)
                    inputs.append(f"t{n}")
                    shape, dtype = self.name("s", t.shape), self.name("d", t.dtype)
                    wrong.append(f"t{n}._payload.shape != {shape} or t{n}.dtype is not {dtype}")
            self.add(_unpacked(inputs, f"r{i}.inputs"))
            self.refuse_if(wrong)
            outputs = [number[t.serial] for t in record.outputs]
            known.update(outputs)
            self.add(_unpacked([f"t{n}" for n in outputs], f"r{i}.outputs"))
        self.add(f"seen = {{{', '.join(f't{n}.serial' for n in sorted(known))}}}")
        self.refuse_if([f"len(seen) != {len(known)}"])

    def verify_ends(
        self, seeds: Mapping[int, Tensor], sources: Sequence[int], units: Mapping[int, Tensor]
    ) -> None:
        """Where it starts, and what is asked for."""
        wrong = [f"len(seeds) != {len(seeds)}", f"len(sources) != {len(sources)}"]
        for i, serial in enumerate(seeds):
            self.add(f"g{i} = seeds.get(t{self.number[serial]}.serial)")
            wrong.append(
                f"g{i} is not {self.name('u', units[serial])}"
                if serial in units
                else f"g{i}.__class__ is not Tensor"
            )
        for i, serial in enumerate(sources):
            n = self.number.get(serial)
            wrong.append(f"sources[{i}] in seen" if n is None else f"sources[{i}] != t{n}.serial")
        self.refuse_if(wrong)

    def compute(
        self,
        graph: Graph,
        slots: Sequence[Tensor],
        seeds: Mapping[int, Tensor],
        units: Mapping[int, Tensor],
        connected: Sequence[bool],
    ) -> None:
        """The kernels, and the cotangents."""
        given = graph.inputs[len(slots) :]
        same = _without_units(graph, {v for v, s in zip(given, seeds, strict=True) if s in units})
        outputs = [same.get(v, v) for v in graph.outputs]
        nodes, needed = _needed(graph, outputs, same)
        place: dict[Value, str] = {}
        for i, v in enumerate(graph.inputs):
            if v in needed:
                place[v] = f"v{len(place)}"
                tensor = f"t{i}" if i < len(slots) else f"g{i - len(slots)}"
                self.add(f"{place[v]} = {tensor}._payload")
        for node in nodes:
            (v,) = node.outputs
            if node.op is constant:
                place[v] = self.name("c", node.op.kernel(**node.attrs))
            else:
                place[v] = f"v{len(place)}"
                self.call(node, place[v], [place[same.get(x, x)] for x in node.inputs])
        take = iter(outputs)
        found = [f"Tensor({place[next(take)]})" if c else "None" for c in connected]
        self.add(f"return [{', '.join(found)}]")

    def call(self, node: Node, result: str, inputs: list[str]) -> None:
        kernel = self.name("k", node.op.kernel)
        if node.op.ufunc and not node.attrs:
            self.add(f"{result} = {kernel}({', '.join(inputs)}, out=...)")
            return
        attrs = [f"{k}={self.name('a', v)}" for k, v in node.attrs.items()]
        self.add(f"{result} = {kernel}({', '.join(inputs + attrs)})")
        self.add(f"if {result}.__class__ is not ndarray: {result} = asarray({result})")

    def function(self) -> Backward:
        exec(compile("\n".join(self.lines), "<straight-line backward>", "exec"), self.names)
        return self.names["backward"]


def _unpacked(names: Sequence[str], what: str) -> str:
    return f"[{', '.join(names)}] = {what}"


def _needed(
    graph: Graph, outputs: Sequence[Value], same: Mapping[Value, Value]
) -> tuple[list[Node], set[Value]]:
    """The nodes that the outputs depend on, in order, and all that these and the outputs use."""
    needed, nodes = set(outputs), []
    for node in reversed(graph.nodes):
        if node.outputs[0] in needed:
            nodes.append(node)
            needed.update(same.get(v, v) for v in node.inputs)
    return nodes[::-1], needed


def _without_units(graph: Graph, units: set[Value]) -> dict[Value, Value]:
    """Products with a seed that is one, and the other factor, which they equal."""
    same: dict[Value, Value] = {}
    for node in graph.nodes:
        if node.op.name == "multiply":
            a, b = node.inputs
            for one, other in ((a, b), (b, a)):
                if one in units and other.spec == node.outputs[0].spec:
                    same[node.outputs[0]] = same.get(other, other)
    return same
