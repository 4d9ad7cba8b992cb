"""Cases: an op, one of its samples and a dtype, with the arguments drawn from them.

Knows how samples are read; knows nothing of what is checked with them.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import tracejit.ops.cross_entropy
import tracejit.ops.dense_layer  # noqa: F401  ops that load with what calls them
from tracejit.core.errors import DtypeError, ShapeError
from tracejit.core.op import OPS, Op, Sample
from tracejit.core.spec import TensorSpec
from tracejit.core.tensor import Tensor
from tracejit.core.tracing.trace import trace

#: Ops that hold graphs or state, that print or call the program, or that need a matrix far from singular or a
#: probability: their arguments cannot be drawn from a sample; they have tests of their own.
BY_NAME = frozenset(
    "loop loop_gradient blank cond call custom custom_tangents own_value recomputed implicit read constant print"
    " solve triangular_solve det slogdet inverse cholesky cholesky_pullback"
    " substitute lu_factor lu_solve lu_inverse cholesky_factor cholesky_backward qr_factor"
    " svd eigh eig qr lu row_order column_order pinv expm fft ndtri"
    " python_call python_call_again python_call_given python_gradient python_effect text_call".split()
)

FLOATS = ("float32", "float64", "complex64", "complex128")
DTYPES = (*FLOATS, "int32", "int64", "bool")

#: Ways for the same elements to lie in memory.
LAYOUTS = {
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "reversed": lambda a: np.ascontiguousarray(a[..., ::-1])[..., ::-1],
    "fortran": np.asfortranarray,
    "swapped": lambda a: a.astype(a.dtype.newbyteorder("S")),
    "offset": lambda a: np.concatenate([a[:1], a], axis=0)[1:] if len(a) else a.copy(),
}


@dataclass(frozen=True)
class Case:
    """One op called one way."""

    op: Op
    sample: Sample
    dtype: np.dtype
    label: str

    def __str__(self) -> str:
        return f"{self.op.name}-{self.label}-{self.dtype.name}"

    @property
    def dtypes(self) -> tuple[np.dtype, ...]:
        """The dtype of each input."""
        names = self.sample.dtypes or ("float",) * len(self.sample.shapes)
        return tuple(_dtype(name, self.dtype) for name in names)

    @property
    def specs(self) -> list[TensorSpec]:
        return [TensorSpec(s, d) for s, d in zip(self.sample.shapes, self.dtypes, strict=True)]

    def is_wide(self) -> bool:
        """Are the differentiable inputs and results all of double precision, as differences need?"""
        graph = trace(self, self.specs).graph
        floats = [v.spec.dtype for v in (*graph.inputs, *graph.outputs) if v.spec.differentiable]
        return all(d in (np.dtype("float64"), np.dtype("complex128")) for d in floats)

    @property
    def active(self) -> list[int]:
        """Positions of the inputs that carry derivatives: differentiable, and not declared None."""
        if not self.op.differentiable:
            return []
        rules = self.op.partial if self.op.partial is not None else self.op.vjp
        declared = rules if isinstance(rules, tuple) and len(rules) == len(self.specs) else None
        return [
            i
            for i, s in enumerate(self.specs)
            if s.differentiable and (declared is None or declared[i] is not None)
        ]

    def arguments(self, seed: int = 0) -> list[np.ndarray]:
        """Random arguments from the sample's range; the same for the same seed."""
        random = np.random.default_rng([zlib.crc32(str(self).encode()), seed])
        names = self.sample.dtypes or ("float",) * len(self.sample.shapes)
        return [
            _draw(random, shape, dtype, name, self.sample)
            for shape, dtype, name in zip(self.sample.shapes, self.dtypes, names, strict=True)
        ]

    def __call__(self, *tensors: Any) -> tuple[Tensor, ...]:
        """The op's results for `tensors`, always as a tuple."""
        found = self.op(*tensors, **self.sample.attrs)
        return found if isinstance(found, tuple) else (found,)

    def legal(self) -> bool:
        """Does the shape rule accept these inputs?"""
        try:
            trace(self, self.specs)
        except (ShapeError, DtypeError):
            return False
        return True


def _dtype(name: str, dtype: np.dtype) -> np.dtype:
    if name == "float":
        return dtype
    if name == "real":
        return np.dtype(f"float{dtype.itemsize * 4}") if dtype.kind == "c" else dtype
    return np.dtype("int64") if name.startswith("index:") else np.dtype(name)


def _draw(random: np.random.Generator, shape: tuple, dtype: np.dtype, name: str, s: Sample) -> np.ndarray:
    if name.startswith("index:"):
        return random.integers(0, max(int(name[6:]), 1), shape)
    if dtype.kind == "b":
        return np.asarray(random.integers(0, 2, shape), bool)
    if dtype.kind in "iu":
        return np.asarray(random.integers(math.ceil(s.low), math.floor(s.high), shape, endpoint=True), dtype)
    values = random.uniform(s.low, s.high, shape)
    if dtype.kind == "c":
        values = values + 1j * random.uniform(s.low, s.high, shape)
    return np.asarray(values, dtype)


def cases_of(op: Op, dtypes: Sequence[str] = DTYPES) -> Iterator[Case]:
    """Every sample with every dtype that its shape rule accepts; float64 whether it does or not."""
    for position, sample in enumerate(op.samples):
        names = sample.dtypes or ("float",) * len(sample.shapes)
        takes_any = "float" in names
        for dtype in dtypes if takes_any else dtypes[:1]:
            case = Case(op, sample, np.dtype(dtype), str(position))
            if case.dtype.kind == "c" and not sample.complex and takes_any:
                continue
            if dtype == "float64" or case.legal():
                yield case


def all_cases(dtypes: Sequence[str] = DTYPES) -> list[Case]:
    """The cases of the whole registry."""
    return [c for op in drawn_ops() for c in cases_of(op, dtypes)]


def refused_cases() -> list[Case]:
    """Samples with dtypes that the shape rule does not accept."""
    found = []
    for op in drawn_ops():
        for position, s in enumerate(op.samples):
            names = s.dtypes or ("float",) * len(s.shapes)
            cases = [Case(op, s, np.dtype(d), str(position)) for d in DTYPES if "float" in names]
            found += [c for c in cases if not c.legal()]
    return found


def drawn_ops() -> list[Op]:
    """The ops whose arguments are drawn from samples."""
    return [op for name, op in OPS.items() if name not in BY_NAME]


def resized(case: Case, size: int) -> Iterator[Case]:
    """The case with each size in its shapes, and its attributes, replaced by `size`, where that is legal."""
    sizes = sorted({d for shape in case.sample.shapes for d in shape if d > 1})
    for old in sizes:
        change = {old: size}
        sample = replace(
            case.sample,
            shapes=tuple(tuple(change.get(d, d) for d in s) for s in case.sample.shapes),
            attrs=_changed(case.sample.attrs, change),
            dtypes=tuple(_index_below(n, change) for n in case.sample.dtypes) if case.sample.dtypes else None,
        )
        small = replace(case, sample=sample, label=f"{case.label}-{old}to{size}")
        if not _reads_nothing(sample) and small.legal():
            yield small


def _changed(attrs: Mapping[str, Any], change: Mapping[int, int]) -> dict[str, Any]:
    """Attributes that are shapes follow the change."""
    found = dict(attrs)
    for key in ("shape", "sizes"):
        if key in attrs:
            found[key] = tuple(change.get(d, d) for d in attrs[key])
    if "size" in attrs:
        found["size"] = change.get(attrs["size"], attrs["size"])
    return found


def _index_below(name: str, change: Mapping[int, int]) -> str:
    if not name.startswith("index:"):
        return name
    limit = int(name[6:])
    return f"index:{change.get(limit, min(limit, *change.values()) if 0 not in change.values() else limit)}"


def _reads_nothing(sample: Sample) -> bool:
    """Are there indices into an axis without elements?"""
    return any(
        name == "index:0" and math.prod(shape) > 0
        for name, shape in zip(sample.dtypes or (), sample.shapes, strict=False)
    )
