"""Signature: the dtypes and shapes of an entry's inputs and outputs, as plain data.

Sizes are integers or polynomials over two kinds of atoms: entry atoms, read from an axis of an input, and
bound atoms, which the callee determines while it runs. Knows nothing of machine code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tracejit.core import dim
from tracejit.core.dim import Dim, Size

ArraySpec = tuple[np.dtype[Any], tuple[Size, ...]]


@dataclass(frozen=True)
class Signature:
    """What an entry takes and gives.

    Attributes
    ----------
    inputs, outputs : tuple of (dtype, shape)
        Shapes are tuples of ``int | Dim``.
    atoms : tuple of (name, input index, axis)
        Entry atoms, in the order of the entry's `dims` argument.
    bound : tuple of str
        Atoms the callee writes, which follow in `dims`.
    callee_allocated : frozenset of int
        Indices of the outputs that the callee allocates. An output whose shape mentions a bound atom must be
        one; ValueError otherwise.
    """

    inputs: tuple[ArraySpec, ...]
    outputs: tuple[ArraySpec, ...]
    atoms: tuple[tuple[str, int, int], ...] = ()
    bound: tuple[str, ...] = ()
    callee_allocated: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", _normal(self.inputs))
        object.__setattr__(self, "outputs", _normal(self.outputs))
        object.__setattr__(self, "callee_allocated", frozenset(self.callee_allocated))
        entry = {name for name, _, _ in self.atoms}
        for index, (_, shape) in enumerate(self.outputs):
            allowed = entry | set(self.bound) if index in self.callee_allocated else entry
            unknown = {a.name for s in shape if isinstance(s, Dim) for a in s.atoms()} - allowed
            if unknown:
                raise ValueError(
                    f"the shape of output {index} needs {sorted(unknown)}, unknown before the call"
                )

    def to_json(self) -> dict[str, Any]:
        """This signature as JSON data; `from_json` is the inverse."""
        return {
            "inputs": [_spec_to_json(spec) for spec in self.inputs],
            "outputs": [_spec_to_json(spec) for spec in self.outputs],
            "atoms": [list(atom) for atom in self.atoms],
            "bound": list(self.bound),
            "callee_allocated": sorted(self.callee_allocated),
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> Signature:
        """The signature that `to_json` wrote."""
        return Signature(
            tuple(_spec_from_json(spec) for spec in data["inputs"]),
            tuple(_spec_from_json(spec) for spec in data["outputs"]),
            tuple((name, index, axis) for name, index, axis in data["atoms"]),
            tuple(data["bound"]),
            frozenset(data["callee_allocated"]),
        )


def _normal(specs: tuple[ArraySpec, ...]) -> tuple[ArraySpec, ...]:
    return tuple((np.dtype(dtype), tuple(shape)) for dtype, shape in specs)


def _spec_to_json(spec: ArraySpec) -> list[Any]:
    dtype, shape = spec
    return [dtype.str, [size if isinstance(size, int) else str(size) for size in shape]]


def _spec_from_json(spec: list[Any]) -> ArraySpec:
    dtype, shape = spec
    return np.dtype(dtype), tuple(size if isinstance(size, int) else dim.parse(size) for size in shape)
