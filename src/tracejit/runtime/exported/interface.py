"""Interface: the C functions of an exported function, by their names and parameters, as plain data.

One description for whoever emits the code, writes the header or calls it. Knows C's types, not how code is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from tracejit.core import dim
from tracejit.core.dataclass import dataclass
from tracejit.core.dim import RELATIONS, Dim, Size
from tracejit.runtime.signature import Signature

_TYPES = {
    "float64": "double", "float32": "float", "float16": "uint16_t", "bfloat16": "uint16_t", "bool": "uint8_t",
    "complex128": "double", "complex64": "float",
    **{f"{u}int{n}": f"{u}int{n}_t" for u in ("", "u") for n in (8, 16, 32, 64)},
}  # fmt: skip


@dataclass(frozen=True)
class Interface:
    """The C functions of one exported function.

    Attributes
    ----------
    name : str
        Of the function; the names of the others begin with it.
    inputs, outputs : tuple of str
        The parameters, one for each input and output of the signature.
    gradients : tuple of (int, int)
        An output that is the gradient of output 0 by an input: which output, which input.
    checks : tuple of (str, Size, Size)
        What must hold of the sizes: ``("<=", 2, n)``.
    work : int or Dim
        Bytes of memory that the caller provides; 0 when the function needs none.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    gradients: tuple[tuple[int, int], ...] = ()
    checks: tuple[tuple[str, Size, Size], ...] = ()
    work: Size = 0

    @property
    def entry(self) -> str:
        """The symbol with the calling convention of this package; not seen outside of it."""
        return f"{self.name}.entry"

    def functions(self, allocates: bool) -> list[str]:
        """The C functions, by name."""
        some = (("_workspace", isinstance(self.work, Dim)), ("_allocator", allocates))
        return [self.name, f"{self.name}_error", *(self.name + end for end, there in some if there)]

    def to_json(self) -> dict[str, Any]:
        """This interface as JSON data; `from_json` is the inverse."""
        data = asdict(self)
        data["checks"] = [[relation, str(a), str(b)] for relation, a, b in self.checks]
        data["work"] = str(self.work)
        return data

    @staticmethod
    def from_json(data: dict[str, Any]) -> Interface:
        """The interface that `to_json` wrote; ValueError, TypeError or LookupError for what makes no sense."""
        inputs, outputs = (tuple(map(_identifier, data[side])) for side in ("inputs", "outputs"))
        pairs = tuple((int(y), int(x)) for y, x in data["gradients"])
        relations = {str(r) for r, _, _ in data["checks"]} - RELATIONS.keys()
        if relations or not all(0 <= y < len(outputs) and 0 <= x < len(inputs) for y, x in pairs):
            raise ValueError(f"no relations of sizes: {relations}; no gradients: {pairs}")
        return Interface(
            _identifier(data["name"]),
            inputs,
            outputs,
            pairs,
            tuple((str(r), dim.parse(a), dim.parse(b)) for r, a, b in data["checks"]),
            dim.parse(data["work"]),
        )


def _identifier(name: Any) -> str:
    """A name that may stand in a program in any language."""
    if not isinstance(name, str) or not name.isidentifier() or not name.isascii():
        raise ValueError(f"{name!r} is no name")
    return name


def c_type(dtype: np.dtype) -> str:
    """The C type of an element, or of its two parts when it is complex."""
    return _TYPES[dtype.name]


def array_text(dtype: np.dtype, shape: Sequence[Size]) -> str:
    """An array as people write it: ``float64[n,3]``."""
    return f"{dtype.name}[{','.join(map(str, shape))}]"


def signature_text(interface: Interface, signature: Signature) -> str:
    """The function in one line: parameters and results with their dtypes and shapes."""
    sides = (interface.inputs, signature.inputs), (interface.outputs, signature.outputs)
    inputs, outputs = (
        ", ".join(f"{name}: {array_text(*spec)}" for name, spec in zip(names, specs, strict=True))
        for names, specs in sides
    )
    return f"{interface.name}({inputs}) -> ({outputs})"
