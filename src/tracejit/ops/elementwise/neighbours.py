"""Floats as they are stored: their neighbours, mantissas and exponents. Compiled code computes with their bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.op import defop, ops, real, sample
from ...core.spec import TensorSpec
from ...core.tensor import Tensor
from ..lowering import Compose
from .arithmetic import ELEMENTWISE, broadcast, matched, pairs

_SINGLE = np.dtype(np.float32)


def float_bits(x: Tensor) -> Tensor:
    """The bits of floats, as unsigned integers."""
    return ops.same_bits(x, dtype=np.dtype(f"u{x.dtype.itemsize}"))


def layout(dtype: np.dtype) -> tuple[int, int]:
    """The number of bits of the mantissa, and the largest exponent, of floats of this dtype."""
    about = np.finfo(dtype)
    return int(about.nmant), int(about.maxexp) - 1


def _next_by_bits(x: Tensor, to: Tensor) -> Tensor:
    """Bits of floats of one sign are in the order of the floats: the neighbour's are one more, or one less."""
    bits = float_bits(x)
    sign = ops.bitwise_and(float_bits(to), 1 << 8 * x.dtype.itemsize - 1)
    outward = ops.equal(ops.less(x, to), ops.less(0.0, x))
    beside = ops.where(outward, ops.add(bits, 1), ops.subtract(bits, 1))
    beside = ops.where(ops.equal(x, 0.0), ops.bitwise_or(sign, 1), beside)
    moved = ops.same_bits(beside, dtype=x.np_dtype)
    found = ops.where(ops.equal(x, to), to, moved)  # zeros may differ in sign
    return ops.where(ops.logical_or(ops.is_nan(x), ops.is_nan(to)), ops.add(x, to), found)


def _next(x: np.ndarray, to: np.ndarray) -> np.ndarray:
    """NumPy's; of zeros the second one, as C has it, of float16 too, where NumPy before 2.5 gives the first."""
    found = np.nextafter(x, to)
    return np.where(np.equal(x, to), to, found) if found.dtype.itemsize == 2 else found


@defop(
    partial=(lambda y, x, to: 1.0, None),
    kernel=_next,
    lower=Compose(_next_by_bits),
    canonicalize=matched,
    traits=ELEMENTWISE,
    samples=pairs(complex=False),
)
def nextafter(x: TensorSpec, to: TensorSpec) -> TensorSpec:
    """The float beside `x` in the direction of `to`; it goes along with `x`."""
    return real(broadcast(x, to))


def _scaled_by_bits(x: Tensor, exponent: Tensor) -> Tensor:
    """Products with powers of two, all exact but the last: the former leave nothing that is rounded twice."""
    if x.dtype.itemsize == 2:  # has too few exponents for that
        wide = [ops.cast(v, dtype=_SINGLE) for v in (x, exponent)]
        return ops.cast(_scaled_by_bits(*wide), dtype=x.np_dtype)
    mantissa, largest = layout(x.np_dtype)
    word, number = np.dtype(f"i{x.dtype.itemsize}"), x.np_dtype.type
    n = ops.where(ops.is_nan(exponent), -5_000.0, ops.maximum(ops.minimum(exponent, 5_000.0), -5_000.0))
    n = ops.cast(n, dtype=word)
    back = largest - 1 - (mantissa + 1)  # leaves results that are not normal for the last product
    for _ in range(2):
        up, down = ops.greater(n, largest), ops.less(n, 1 - largest)
        x = ops.multiply(x, ops.where(up, number(2.0**largest), ops.where(down, number(2.0**-back), 1.0)))
        n = ops.subtract(n, ops.where(up, word.type(largest), ops.where(down, word.type(-back), 0)))
    n = ops.maximum(ops.minimum(n, largest), 1 - largest)
    return ops.multiply(x, ops.same_bits(ops.left_shift(ops.add(n, largest), mantissa), dtype=x.np_dtype))


@defop(
    partial=(lambda y, x, exponent: ops.ldexp(1.0, exponent), None),
    kernel=lambda x, exponent: np.ldexp(x, np.clip(exponent, -5_000, 5_000).astype(np.int32)),
    lower=Compose(_scaled_by_bits),
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
    lower=Compose(lambda x: ops.less(ops.same_bits(x, dtype=np.dtype(f"i{x.dtype.itemsize}")), 0)),
    traits=ELEMENTWISE,
    samples=(sample((2, 3)), sample(())),
)
def signbit(x: TensorSpec) -> TensorSpec:
    """Is the bit of the sign set? It is for -0.0, and may be for NaN."""
    return TensorSpec(real(x).shape, np.dtype(np.bool_))


def whole_exponent(x: Tensor) -> tuple[Tensor, Tensor]:
    """The bits of ``|x|``, and the exponent that they hold, of numbers below the normal ones as of any other.

    The bits of these are of `x` times a power of two, so that all have a leading bit that is left out.
    """
    mantissa, largest = layout(x.np_dtype)
    tiny = ops.less(ops.abs(x), 2.0 ** (1 - largest))
    bits = float_bits(ops.abs(ops.where(tiny, ops.multiply(x, 2.0 ** (mantissa + 1)), x)))
    held = ops.cast(ops.right_shift(bits, mantissa), dtype=np.dtype(np.int32))
    return bits, ops.subtract(held, ops.where(tiny, largest + mantissa + 1, largest))


def _exponent_by_bits(x: Tensor) -> Any:
    number = ops.logical_and(ops.not_equal(x, 0.0), ops.less(ops.abs(x), np.inf))
    return ops.where(number, ops.add(whole_exponent(x)[1], 1), 0)


@defop(
    vjp=(None,),
    kernel=lambda x: np.frexp(x)[1].astype(np.int32),
    lower=Compose(_exponent_by_bits),
    traits=ELEMENTWISE,
    samples=(sample((2, 3)), sample(())),
)
def exponent(x: TensorSpec) -> TensorSpec:
    """The integer (int32) for which ``x / 2**exponent`` is of a size in [0.5, 1); 0 of zeros, infinities and NaN."""
    return TensorSpec(real(x).shape, np.dtype(np.int32))
