"""The library kernels that programs call: what they take, which of it they write, and what they mean in NumPy.

A record says all that the verifier, the interpreter and the emitter must know; the code is in ``codegen``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ...core.dim import Size, product
from ...ops.linalg import kernels

AnySize = TypeVar("AnySize", int, Size)


@dataclass(frozen=True)
class Argument:
    """An array of a kernel: its extents by names of sizes; whether its columns are adjacent; whether it holds int64."""

    extents: tuple[str, ...]
    dense: bool = False
    integer: bool = False

    @property
    def strides(self) -> int:
        """How many strides the kernel is told."""
        return 0 if self.integer else 1 if self.dense else 2


@dataclass(frozen=True)
class Kernel:
    """A library kernel: the last `outputs` of its arguments are written, the others read.

    The last `flags` of its sizes are no extents. `meaning` takes the arrays that are read, and the flags.
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
        return product((plain[0], plain[0], plain[-1]) if len(plain) < 3 else plain)


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
    "lu_inverse": Kernel(("n",), (_DENSE, _PIVOTS, _STATE, _DENSE), kernels.lu_inverse),
}
