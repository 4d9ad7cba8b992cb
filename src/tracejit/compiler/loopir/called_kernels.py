"""The library kernels that programs call: their operands, which of these they write, and a NumPy reference.

A record says all that the verifier, the interpreter and the emitter must know; the code is in ``codegen``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from ...core.dataclass import dataclass
from ...core.dim import Size, product
from ...ops.linalg import kernels

AnySize = TypeVar("AnySize", int, Size)

COUNT = "count"
"""The size that says how many matrices there are."""
LANES = "_lanes"
"""What the name of a kernel ends with that takes many small matrices, one in each lane of a register."""
MOST_ROWS = 16
"""Rows of matrices that such kernels take."""
LARGE = "_large"
"""What the name of a kernel ends with that looks whether a matrix of many rows is symmetric and positive definite."""


@dataclass(frozen=True)
class Argument:
    """An array of a kernel: its extents by names of sizes; whether its columns are adjacent; whether it holds int64."""

    extents: tuple[str, ...]
    dense: bool = False
    integer: bool = False

    @property
    def strides(self) -> int:
        """How many strides the kernel is told."""
        return max(len(self.extents) - (self.dense or self.integer), 0)


@dataclass(frozen=True)
class Kernel:
    """A library kernel: the last `outputs` of its arguments are written, the others read.

    The last `flags` of its sizes say nothing of how much work there is. `meaning` takes the arrays that are read, and
    these.
    """

    sizes: tuple[str, ...]
    arguments: tuple[Argument, ...]
    meaning: Callable[..., Any]
    outputs: int = 1
    flags: int = 0

    def extents(self, sizes: Sequence[AnySize]) -> list[tuple[AnySize, ...]]:
        """Those of every argument."""
        known = dict(zip(self.sizes, sizes, strict=False))
        return [tuple([known[name] for name in a.extents]) for a in self.arguments]

    def work(self, sizes: Sequence[Size]) -> Size:
        """Operations of a call."""
        plain = sizes[: len(sizes) - self.flags]
        if self.sizes[0] == COUNT:
            return plain[0] * self.work_of_one(plain[1:])
        return self.work_of_one(plain)

    def work_of_one(self, sizes: Sequence[Size]) -> Size:
        """Operations of what a call does with one matrix; `sizes` are extents."""
        return product((sizes[0], sizes[0], sizes[-1]) if len(sizes) < 3 else sizes)


def _many(kernel: Kernel) -> Kernel:
    """The kernel that does the same with each of many matrices."""

    def meaning(*given: Any) -> Any:
        arrays, flags = given[: len(given) - kernel.flags], given[len(given) - kernel.flags :]
        rows = [kernel.meaning(*row, *flags) for row in zip(*arrays, strict=True)]
        if not rows:
            return (np.zeros(()),) * kernel.outputs
        if kernel.outputs == 1:
            return np.stack(rows)
        return tuple(np.stack(results) for results in zip(*rows, strict=True))

    arguments = tuple([replace(a, extents=(COUNT, *a.extents)) for a in kernel.arguments])
    return replace(kernel, sizes=(COUNT, *kernel.sizes), arguments=arguments, meaning=meaning)


def _matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a @ b


_SQUARE, _DENSE = Argument(("n", "n")), Argument(("n", "n"), dense=True)
_RIGHT, _SOLUTION = Argument(("n", "columns")), Argument(("n", "columns"), dense=True)
_PIVOTS, _STATE = Argument(("n",), integer=True), Argument((), integer=True)

KERNELS: dict[str, Kernel] = {
    "matmul": Kernel(
        ("m", "k", "n"),
        (Argument(("m", "k")), Argument(("k", "n")), Argument(("m", "n"), dense=True)),
        _matmul,
    ),
    "cholesky": Kernel(("n",), (_SQUARE, _DENSE, _STATE), kernels.cholesky, 2),
    "cholesky_pullback": Kernel(("n",), (_DENSE, _SQUARE, _DENSE), kernels.cholesky_pullback),
    "triangular": Kernel(
        ("n", "columns", "upper"), (_SQUARE, _RIGHT, _SOLUTION, _STATE), kernels.triangular, 2, flags=1
    ),
    "lu": Kernel(("n",), (_SQUARE, _DENSE, _PIVOTS, _STATE), kernels.lu, 3),
    "lu_solve": Kernel(
        ("n", "columns", "transposed"),
        (_DENSE, _PIVOTS, _STATE, _RIGHT, _SOLUTION),
        kernels.lu_solve,
        flags=1,
    ),
    "qr": Kernel(
        ("m", "n", "p", "k", "width"),
        (
            Argument(("m", "n")),
            Argument(("m", "k"), dense=True),
            Argument(("k", "n"), dense=True),
            Argument(("p", "width"), dense=True),
        ),
        kernels.qr,
        3,
        flags=2,
    ),
    "lu_inverse": Kernel(("n",), (_DENSE, _PIVOTS, _STATE, _DENSE), kernels.lu_inverse),
}

KERNELS |= {name + LARGE: KERNELS[name] for name in ("lu", "lu_inverse")}
KERNELS |= {
    name + LANES: _many(KERNELS[name]) for name in ("cholesky", "triangular", "lu", "lu_solve", "lu_inverse")
}
