"""Floats as they are stored: their neighbours, their mantissas and exponents."""

from __future__ import annotations

import numpy as np

from ...core.op import defop, ops, real, sample
from ...core.spec import TensorSpec
from ..lowering import Callback
from .arithmetic import ELEMENTWISE, broadcast, matched, pairs


@defop(
    partial=(lambda y, x, to: 1.0, None),
    kernel=np.nextafter,
    lower=Callback(),
    canonicalize=matched,
    traits=ELEMENTWISE,
    samples=pairs(complex=False),
)
def nextafter(x: TensorSpec, to: TensorSpec) -> TensorSpec:
    """The float beside `x` in the direction of `to`; it goes along with `x`."""
    return real(broadcast(x, to))


@defop(
    partial=(lambda y, x, exponent: ops.ldexp(1.0, exponent), None),
    kernel=lambda x, exponent: np.ldexp(x, np.clip(exponent, -5_000, 5_000).astype(np.int32)),
    lower=Callback(),
    canonicalize=matched,
    traits=ELEMENTWISE,
    samples=pairs(0.1, 1.0, complex=False),
)
def ldexp(x: TensorSpec, exponent: TensorSpec) -> TensorSpec:
    """``x * 2**exponent``, rounded once, for a whole `exponent` of any size in the dtype of `x`."""
    return real(broadcast(x, exponent))


@defop(
    vjp=(None,),
    kernel=np.signbit,
    lower=Callback(),
    traits=ELEMENTWISE,
    samples=(sample((2, 3)), sample(())),
)
def signbit(x: TensorSpec) -> TensorSpec:
    """Is the bit of the sign set? It is for -0.0, and may be for NaN."""
    return TensorSpec(real(x).shape, np.dtype(np.bool_))


@defop(
    vjp=(None,),
    kernel=lambda x: np.frexp(x)[1].astype(np.int32),
    lower=Callback(),
    traits=ELEMENTWISE,
    samples=(sample((2, 3)), sample(())),
)
def exponent(x: TensorSpec) -> TensorSpec:
    """The integer (int32) for which ``x / 2**exponent`` is of a size in [0.5, 1); 0 of zeros, infinities and NaN."""
    return TensorSpec(real(x).shape, np.dtype(np.int32))
