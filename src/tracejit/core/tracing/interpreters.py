"""Two measuring interpreters: Count tells what a program costs, Perturb how well conditioned it is.

Both run kernels eagerly and look at each result; loops and calls run their graphs through them too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import Location
from ..op import Op
from ..tensor import Tensor
from .dispatch import run_kernel

#: Element operations that an elementary function counts for.
ELEMENTARY = 8


class Eager:
    """Runs the kernels; the base of interpreters that look on."""

    def run(
        self, op: Op, inputs: tuple[Tensor, ...], attrs: Mapping[str, Any], location: Location | None
    ) -> tuple[Tensor, ...]:
        outputs = run_kernel(op, inputs, attrs, location)
        return outputs if op.runs_graphs else self.seen(op, inputs, outputs)

    def seen(self, op: Op, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return outputs

    def constant(self, array: np.ndarray) -> Tensor:
        return Tensor(array)


class Count(Eager):
    """Counts what runs.

    Attributes
    ----------
    elements : int
        Element operations: results of arithmetic, for contractions the products, for elementary functions
        as many as such a one takes.
    bytes : int
        Bytes of all results that are not views of an input.
    allocations : int
        Number of such results.
    calls : Counter
        Calls by op name.
    """

    bytes: int
    allocations: int
    elements: int

    def __init__(self) -> None:
        self.elements = 0
        self.bytes = 0
        self.allocations = 0
        self.calls: Counter[str] = Counter()

    def seen(self, op: Op, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        if op.literal:
            return outputs
        self.calls[op.name] += 1
        for out in outputs:
            if out.array.base is None:
                self.bytes += out.array.nbytes
                self.allocations += 1
        if "view" not in op.traits:
            self.elements += _work(op, inputs, outputs)
        return outputs


def _work(op: Op, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> int:
    if op.work is not None:
        return op.work(inputs, outputs)
    if op.elementwise:
        return outputs[0].array.size * (ELEMENTARY if "elementary" in op.traits else 1)
    if "partial_access" in op.traits:
        return _part(inputs, outputs)
    return max([t.array.size for t in (*inputs, *outputs)], default=1)


def _part(inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> int:
    """Size of the part of a tensor that is read (the result) or written (the smallest operand of its dtype)."""
    whole, result = inputs[0], outputs[0]
    if result.shape != whole.shape:
        return result.array.size
    return min(t.array.size for t in inputs if t.np_dtype == whole.np_dtype)


class Perturb(Eager):
    """Moves every floating result by -1, 0 or +1 units in the last place, at random.

    The spread of several runs is the program's own sensitivity to rounding: it sets the tolerance within
    which two correct implementations may differ. Results that are an element of an operand stay: choosing one
    (a maximum, a gather) rounds nothing.
    """

    random: np.random.Generator

    def __init__(self, seed: int):
        self.random = np.random.default_rng(seed)

    def seen(self, op: Op, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        if "view" in op.traits:
            return outputs
        return tuple(Tensor(self._moved(t.array, inputs)) for t in outputs)

    def _moved(self, array: np.ndarray, inputs: tuple[Tensor, ...]) -> np.ndarray:
        if array.dtype.kind == "c":
            return np.asarray(self._moved(array.real, ()) + 1j * self._moved(array.imag, ()), array.dtype)
        if array.dtype.kind != "f":
            return array
        chosen = np.zeros(array.shape, bool)
        for t in inputs:
            if t.np_dtype == array.dtype:
                chosen |= np.isin(array, t.array)
        steps = self.random.integers(-1, 2, array.shape)
        direction = np.where(steps > 0, np.inf, -np.inf).astype(array.dtype)
        moved = np.nextafter(array, direction)
        keep = (steps == 0) | ~np.isfinite(array) | (array == 0) | chosen
        return np.asarray(np.where(keep, array, moved), dtype=array.dtype)
