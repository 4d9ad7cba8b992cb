"""Backward tables: straight-line backwards as tables that machine code reads, in place of functions of Python.

What they verify and compute is what `core.autodiff.straightline` says; see `compiler.codegen.lane.backwards`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from tracejit.core.autodiff.straightline import Backward, attributes_key, needed, without_units
from tracejit.core.ir.graph import Graph, Node, Value
from tracejit.core.tensor import Tensor
from tracejit.core.tracing.dispatch import Record
from tracejit.core.tracing.trace import constant
from tracejit.runtime.lane import builtin
from tracejit.runtime.lane.backward_words import BACKWARD, KNOWN, NEW, NOTHING, OUTSIDE, Call, Plan
from tracejit.runtime.lane.entries import Words


def maker(code: int, small_kernels: Mapping[Any, Words]) -> Callable[..., Backward]:
    """What takes what :func:`straight_line` takes, and gives a function of the machine code at that address.

    `small_kernels` are the tables of ops that have one.
    """
    method = builtin.described(BACKWARD, code, builtin.FASTCALL)

    def made(
        graph: Graph,
        records: Sequence[Record],
        slots: Sequence[Tensor],
        seeds: Mapping[int, Tensor],
        sources: Sequence[int],
        connected: Sequence[bool],
        units: Mapping[int, Tensor],
    ) -> Backward:
        table = _Table(small_kernels)
        starts = {v for v, s in zip(graph.inputs[len(slots) :], seeds, strict=True) if s in units}
        table.compute(graph, without_units(graph, starts), connected)
        held = {t.serial: v for t, v in zip(slots, graph.inputs, strict=False)}
        table.verify_records(records, held)
        table.verify_ends(seeds, sources, units, graph.inputs[len(slots) :])
        return builtin.function_of(method, table.written())

    return made


class _Table:
    """The rows of a plan, and what they point to."""

    def __init__(self, small_kernels: Mapping[Any, Words]) -> None:
        self.small_kernels = small_kernels
        self.kept: list[Any] = []
        self.head = dict.fromkeys(Plan, 0)
        self.value: dict[Value, int] = {}
        self.slot: dict[int, int] = {}

    def written(self) -> Words:
        self.head[Plan.SLOTS], self.head[Plan.VALUES] = len(self.slot), len(self.value)
        table = np.array([self.head[word] for word in Plan], np.int64).view(Words)
        table.kept = self.kept
        return table

    # ---- what points and what is pointed to ----------------------------------------------------------------

    def at(self, thing: Any) -> int:
        """The address of an object, which lives as long as the table."""
        self.kept.append(thing)
        return id(thing)

    def numbers(self, numbers: Sequence[int]) -> int:
        """The address of some numbers."""
        array = np.array([*numbers, 0], np.int64)
        self.kept.append(array)
        return array.ctypes.data

    def rows(self, count: Plan, begin: Plan, rows: Sequence[Sequence[int]]) -> None:
        self.head[count], self.head[begin] = len(rows), self.numbers([word for row in rows for word in row])

    def place(self, v: Value) -> int:
        """Where a value is kept."""
        return self.value.setdefault(v, len(self.value))

    # ---- what a tape must be ---------------------------------------------------------------------------------

    def verify_records(self, records: Sequence[Record], held: Mapping[int, Value]) -> None:
        """Ops, attributes and who feeds whom; values are taken where they first are there."""
        waiting = {s: self.value[v] for s, v in held.items() if v in self.value}
        rows, tensors = [], []
        for record in records:
            used = [(t, OUTSIDE) for t in record.inputs] + [(t, NEW) for t in record.outputs]
            for t, kind in used:
                serial, has_value = t.serial, t._payload.__class__ is np.ndarray
                kind = KNOWN if serial in self.slot else kind
                slot = self.slot.setdefault(serial, len(self.slot))
                like = (0, 0, 0, 0) if kind != OUTSIDE else self._like(t)
                tensors.append((slot, kind, *like, waiting.pop(serial, NOTHING) if has_value else NOTHING))
            key = attributes_key(record.attrs)
            same = self.at(partial(_same_attributes, key)) if record.attrs else 0
            rows.append((self.at(record.op), len(used), len(record.inputs), len(record.outputs), same))
        self.rows(Plan.RECORDS, Plan.RECORDS_AT, rows)
        self.head[Plan.TENSORS_AT] = self.numbers([word for row in tensors for word in row])
        if waiting:
            raise KeyError("a value of the tape has been dropped")

    def _like(self, t: Tensor) -> tuple[int, ...]:
        return self.at(t.np_dtype), self.at(t.shape), len(t.shape), self.numbers(t.shape)

    def verify_ends(
        self,
        seeds: Mapping[int, Tensor],
        sources: Sequence[int],
        units: Mapping[int, Tensor],
        inputs: Sequence[Value],
    ) -> None:
        """Where it starts, and what is asked for."""
        rows = [
            (self.slot[s], self.at(units[s]) if s in units else 0, self.value.get(v, NOTHING))
            for s, v in zip(seeds, inputs, strict=True)
        ]
        self.rows(Plan.SEEDS, Plan.SEEDS_AT, rows)
        self.rows(Plan.SOURCES, Plan.SOURCES_AT, [(self.slot.get(s, NOTHING),) for s in sources])

    # ---- what is computed ------------------------------------------------------------------------------------

    def compute(self, graph: Graph, same: Mapping[Value, Value], connected: Sequence[bool]) -> None:
        """The kernels, and the cotangents; what nobody needs any more is let go."""
        outputs = [same.get(v, v) for v in graph.outputs]
        nodes, last = needed(graph, outputs, same)
        for v in graph.inputs:
            if v in last:
                self.place(v)
        constants, steps = [], []
        for node in nodes:
            (result,) = node.outputs
            if node.op is constant:
                array = np.asarray(node.op.kernel(**node.attrs))
                constants.append((self.place(result), self.at(array)))
                continue
            inputs = [same.get(v, v) for v in node.inputs]
            gone = [self.place(v) for v in dict.fromkeys(inputs) if last[v] is node]
            steps.append(self._call(node, [self.place(v) for v in inputs], gone))
        self.rows(Plan.CONSTANTS, Plan.CONSTANTS_AT, constants)
        self.rows(Plan.STEPS, Plan.STEPS_AT, steps)
        given = iter(outputs)
        results = [(self.place(next(given)) if c else NOTHING,) for c in connected]
        self.rows(Plan.RESULTS, Plan.RESULTS_AT, results)

    def _call(self, node: Node, inputs: list[int], gone: list[int]) -> list[int]:
        op, kernel = node.op, node.op.kernel
        plain = op.ufunc and not node.attrs
        if plain:
            kernel = partial(kernel, out=...)
        elif node.attrs:
            kernel = partial(kernel, **node.attrs)
        table = self.small_kernels.get(op) if plain and op.small is not None else None
        row = {
            Call.SMALL: 0 if table is None else table.ctypes.data,
            Call.KERNEL: self.at(kernel),
            Call.RESULT: self.place(node.outputs[0]),
            Call.INPUTS: len(inputs),
            Call.INPUTS_AT: self.numbers(inputs),
            Call.GONE: len(gone),
            Call.GONE_AT: self.numbers(gone),
        }
        if table is not None:
            self.kept.append(table)
        return [row[word] for word in Call]


def _same_attributes(key: Any, attrs: Mapping[str, Any]) -> bool:
    return attributes_key(attrs) == key
