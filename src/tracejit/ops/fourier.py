"""The discrete Fourier transform of complex numbers along the last axis; the others are written with it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.errors import DtypeError, require
from ..core.op import defop, ops
from ..core.spec import TensorSpec, shape_text
from .lowering import Callback


def _kernel(x: np.ndarray, *, inverse: bool) -> np.ndarray:
    if not x.size:
        return np.array(x)
    return np.fft.ifft(x, norm="forward") if inverse else np.fft.fft(x)


@defop(
    vjp=(lambda g, y, x, *, inverse: ops.fft(g, inverse=not inverse),),
    linear=True,
    kernel=_kernel,
    lower=Callback(),
    batch=lambda batch, x, *, inverse: ops.fft(x, inverse=inverse),
    traits=("expensive",),
)
def fft(x: TensorSpec, *, inverse: bool) -> TensorSpec:
    """The sums ``x[k] exp(-2 pi i j k / n)`` over the last axis, for each j; of ``exp(+2 pi i ...)`` if `inverse`.

    Neither is divided by anything: the one is the conjugate transpose of the other, and its derivative.
    """
    if x.dtype.kind != "c":
        raise DtypeError(f"takes complex numbers, got {x.dtype.name}; cast it first")
    require(len(x.shape) >= 1, f"takes an axis to transform, got {shape_text(x.shape)}")
    return x


def transformed(x: Any, axis: int, inverse: bool) -> Any:
    """:func:`fft` along any axis, counted from the front."""
    last = len(x.shape) - 1
    if axis == last:
        return fft(x, inverse=inverse)
    perm = list(range(last + 1))
    perm[axis], perm[last] = last, axis
    return ops.transpose(fft(ops.transpose(x, perm=tuple(perm)), inverse=inverse), perm=tuple(perm))
