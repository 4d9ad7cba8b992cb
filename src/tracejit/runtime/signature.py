"""Signature: the dtypes and shapes of an entry's inputs and outputs, as plain data.

Sizes are integers or polynomials over two kinds of atoms: entry atoms, read from an axis of an input, and
bound atoms, which the callee determines while it runs. Knows nothing of machine code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.core import dim
from tracejit.core.dataclass import dataclass
from tracejit.core.dim import Dim, Size
from tracejit.core.lazy import Later

if TYPE_CHECKING:
    from tracejit.core import dtype as dtypes
else:  # of no use to most calls
    dtypes = Later("tracejit.core.dtype", "")

_MAX_RANK, _MAX_SIZE = 64, 1 << 62
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
        """The signature that `to_json` wrote; ValueError, TypeError or LookupError for what makes no sense."""
        inputs, outputs = ([_spec_from_json(spec) for spec in data[side]] for side in ("inputs", "outputs"))
        atoms = [(str(name), _place(index, inputs), axis) for name, index, axis in data["atoms"]]
        return Signature(
            tuple(inputs),
            tuple(outputs),
            tuple((name, index, _place(axis, inputs[index][1])) for name, index, axis in atoms),
            tuple(map(str, data["bound"])),
            frozenset(_place(index, outputs) for index in data["callee_allocated"]),
        )


def _normal(specs: tuple[ArraySpec, ...]) -> tuple[ArraySpec, ...]:
    return tuple((np.dtype(dtype), tuple(shape)) for dtype, shape in specs)


def _spec_to_json(spec: ArraySpec) -> list[Any]:
    dtype, shape = spec
    return [
        dtype.name if dtype.kind == "V" else dtype.str,
        [size if isinstance(size, int) else str(size) for size in shape],
    ]


def _spec_from_json(spec: list[Any]) -> ArraySpec:
    dtype, shape = spec
    found = dtype_named(str(dtype))
    if found.kind not in "biufcV" or len(shape) > _MAX_RANK:
        raise ValueError(f"no array of a compiled function: {spec}")
    return found, tuple(_size_from_json(size) for size in shape)


def dtype_named(text: str) -> np.dtype[Any]:
    """NumPy's dtype by name or code; bfloat16 loads what adds it to NumPy."""
    if text != "bfloat16":
        return np.dtype(text)
    return dtypes.bfloat16()


def _size_from_json(size: Any) -> Size:
    if not isinstance(size, int):
        return dim.parse(size)
    if isinstance(size, bool) or not 0 <= size < _MAX_SIZE:
        raise ValueError(f"{size} is no size")
    return size


def _place(index: Any, items: Sequence[Any]) -> int:
    """An index of one of the items."""
    if type(index) is not int or not 0 <= index < len(items):
        raise ValueError(f"{index} is no place among {len(items)}")
    return index
